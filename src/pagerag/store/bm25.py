"""BM25: the formula, an exact ranking of posting lists, and an index of a fixed list of texts in memory.

A text's score is the sum over the query's terms t (with repetition) of::

    ln(1 + (N - df(t) + 1/2) / (df(t) + 1/2)) · tf · (k1 + 1) / (tf + k1 · (1 - b + b · |text| / mean))
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pagerag.errors import InputError
from pagerag.store.ranking import best_hits
from pagerag.text.terms import terms
from pagerag.units import Hit

K1, B = 1.2, 0.75

MOST = 255
"""A term that occurs more often in a text counts as often as this: so a count takes one byte, and in the
formula above 255 and 2,550 are nearly the same."""

MAX_QUERY_TERMS = 256
"""How many different terms of a query are looked for: a query may be a text of any length."""

Tokenize = Callable[[str], Sequence[str]]


def counted(text: str, tokenize: Tokenize = terms) -> dict[str, int]:
    """Return the terms of a text and how often each occurs."""
    return {term: min(count, MOST) for term, count in Counter(tokenize(text)).items()}


def query_terms(text: str, tokenize: Tokenize = terms) -> dict[str, int]:
    """Return the first terms of a query and how often each occurs."""
    return dict(list(counted(text, tokenize).items())[:MAX_QUERY_TERMS])


def length_norms(
    lengths: NDArray[np.floating], mean: float, k1: float = K1, b: float = B
) -> NDArray[np.float64]:
    """Return k1 · (1 - b + b · |text| / mean) for texts of these lengths."""
    return np.asarray(k1 * (1 - b + b * lengths / (mean or 1.0)), dtype=np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class PostingList:
    """The texts that hold one query term, by ascending place, and how often they do.

    ``weight`` is the term's part of the formula that is the same for all texts: its idf times how often the
    query has it. No text gains as much as ``weight`` · (k1 + 1) by it.
    """

    places: NDArray[np.integer]
    counts: NDArray[np.uint8]
    weight: float

    def gains(self, norms: NDArray[np.float64], some: NDArray[np.intp] | None = None) -> NDArray[np.float64]:
        """Return what each text, or those at these indexes of the list, gain by the term."""
        places = self.places if some is None else self.places[some]
        tf = (self.counts if some is None else self.counts[some]).astype(np.float64)
        return np.asarray(self.weight * (K1 + 1) * tf / (tf + norms[places]))


def idf(size: int, df: int) -> float:
    """Return the inverse document frequency of a term that ``df`` of ``size`` texts hold."""
    return math.log1p((size - df + 0.5) / (df + 0.5))


def rank_lists(lists: Sequence[PostingList], norms: NDArray[np.float64], k: int) -> list[Hit]:
    """Return the ``k`` best places by the sum of their gains, best first; exact.

    Lists are taken in order of what they can add (rare terms first). As soon as the k-th best so far is above
    what all remaining lists can add together, no new text can come in: of the long lists of common words only
    the entries of texts that are still in question are looked up (MaxScore, after Turtle and Flood).
    """
    if k <= 0 or not lists:
        return []
    ordered = sorted(lists, key=lambda one: -one.weight)
    left = sum(one.weight for one in ordered) * (K1 + 1)
    total = np.zeros(len(norms), dtype=np.float64)
    held: NDArray[np.intp] | None = None
    # The places that have a score: to look for them in ``total`` would take time with the corpus's size.
    seen: list[NDArray[np.integer]] = []
    for one in ordered:
        left -= one.weight * (K1 + 1)
        if held is None:
            before = total[one.places]
            seen.append(one.places[before == 0])
            total[one.places] = before + one.gains(norms)
            held = _settled(total, seen, left, k)
            continue
        at = np.minimum(np.searchsorted(one.places, held), len(one.places) - 1)
        there = one.places[at] == held
        total[held[there]] += one.gains(norms, at[there])
        held = _still(total, held, left, k)
    if held is None:
        held = np.sort(np.concatenate(seen))
    return best_hits(total[held].astype(np.float32), k, held)


def _settled(
    total: NDArray[np.float64], seen: Sequence[NDArray[np.integer]], left: float, k: int
) -> NDArray[np.intp] | None:
    """Return the places that can still be among the best, ascending; None while a new place can come in."""
    if sum(map(len, seen)) < k:
        return None
    held = np.concatenate(seen)
    scores = total[held]
    floor = np.partition(scores, len(held) - k)[len(held) - k]
    return np.sort(held[scores + left + _SLACK >= floor]) if floor > left + _SLACK else None


def _still(total: NDArray[np.float64], held: NDArray[np.intp], left: float, k: int) -> NDArray[np.intp]:
    """Return those of ``held`` that can still be among the best."""
    floor = np.partition(total[held], len(held) - k)[len(held) - k]
    return np.asarray(held[total[held] + left + _SLACK >= floor])


_SLACK = 1e-6  # scores are compared as float32 in the end: what rounding may tie is kept


class BM25:
    """Postings of a fixed list of texts, with each posting's whole contribution computed beforehand."""

    def __init__(
        self, texts: Iterable[str], *, k1: float = K1, b: float = B, tokenize: Tokenize = terms
    ) -> None:
        if k1 < 0 or not 0 <= b <= 1:
            raise InputError(f"BM25 needs k1 ≥ 0 and 0 ≤ b ≤ 1; got k1={k1}, b={b}")
        self._tokenize = tokenize
        self._numbers: dict[str, int] = {}
        term_of: list[int] = []
        text_of: list[int] = []
        count_of: list[int] = []
        lengths: list[int] = []
        for place, text in enumerate(texts):
            counts = counted(text, tokenize)
            lengths.append(sum(counts.values()))
            for term, count in counts.items():
                term_of.append(self._numbers.setdefault(term, len(self._numbers)))
                text_of.append(place)
                count_of.append(count)
        self.size = len(lengths)
        order = np.argsort(np.array(term_of, dtype=np.int64), kind="stable")
        kinds = np.array(term_of, dtype=np.int64)[order]
        self._texts = np.array(text_of, dtype=np.int32)[order]
        tf = np.array(count_of, dtype=np.float64)[order]
        df = np.bincount(kinds, minlength=len(self._numbers))
        self._starts = np.concatenate([[0], np.cumsum(df)]).astype(np.int64)
        self.idf = np.log1p((self.size - df + 0.5) / (df + 0.5))
        length = np.array(lengths, dtype=np.float64)
        norm = length_norms(length, float(length.mean()) if len(length) else 0.0, k1, b)
        self._weights = (self.idf[kinds] * tf * (k1 + 1) / (tf + norm[self._texts])).astype(np.float32)

    def scores(self, query: str) -> NDArray[np.float32]:
        """Return one score per text; zero where no term is shared."""
        total = np.zeros(self.size, dtype=np.float64)
        for term, count in query_terms(query, self._tokenize).items():
            number = self._numbers.get(term)
            if number is not None:
                part = slice(self._starts[number], self._starts[number + 1])
                total[self._texts[part]] += count * self._weights[part]
        return total.astype(np.float32)

    def rank(self, query: str, k: int) -> list[Hit]:
        """Return the places of the ``k`` best texts that share a term with the query, and their scores."""
        return [hit for hit in best_hits(self.scores(query), k) if hit.score > 0]
