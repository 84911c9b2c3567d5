"""BM25 in memory: exact, NumPy alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from pagerag.errors import InputError
from pagerag.retrieve.ranking import best, encoded_text
from pagerag.store.terms import terms
from pagerag.units import Candidate, Pool

__all__ = ["BM25", "BM25Retriever"]


class BM25:
    """Postings of a fixed list of texts, with each posting's whole contribution computed beforehand.

    A text's score is the sum over the query's terms t (with repetition) of::

        ln(1 + (N - df(t) + 1/2) / (df(t) + 1/2)) · tf · (k1 + 1) / (tf + k1 · (1 - b + b · |text| / mean))
    """

    def __init__(
        self,
        texts: Iterable[str],
        *,
        k1: float = 1.2,
        b: float = 0.75,
        tokenize: Callable[[str], Sequence[str]] = terms,
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
            counts = Counter(tokenize(text))
            lengths.append(counts.total())
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
        mean = length.mean() if len(length) and length.any() else 1.0
        norm = k1 * (1 - b + b * length / mean)
        self._weights = (self.idf[kinds] * tf * (k1 + 1) / (tf + norm[self._texts])).astype(np.float32)

    def scores(self, query: str) -> NDArray[np.float32]:
        """One score per text; zero where no term is shared."""
        total = np.zeros(self.size, dtype=np.float64)
        for term, count in Counter(self._tokenize(query)).items():
            number = self._numbers.get(term)
            if number is not None:
                part = slice(self._starts[number], self._starts[number + 1])
                total[self._texts[part]] += count * self._weights[part]
        return total.astype(np.float32)


class BM25Retriever:
    """BM25 over a list of units, whose text is read as ``title. text``. Units that share no term with
    the question are not returned."""

    name = "bm25"

    def __init__(self, candidates: Sequence[Candidate], *, k1: float = 1.2, b: float = 0.75) -> None:
        self.candidates = tuple(candidates)
        self.index = BM25(map(encoded_text, self.candidates), k1=k1, b=b)

    def retrieve(self, question: str, k: int = 20) -> Pool:
        """The ``k`` best units, best first, each with its score."""
        return Pool(question, self.search_text(question, k), origin=self.name)

    def search_text(self, text: str, k: int) -> tuple[Candidate, ...]:
        """The ``k`` best units for any text."""
        return tuple(replace(self.candidates[place], score=score) for place, score in self.rank(text, k))

    def rank(self, text: str, k: int) -> list[tuple[int, float]]:
        """The places of the ``k`` best units for any text, and their scores."""
        scores = self.index.scores(text)
        return [(int(place), float(scores[place])) for place in best(scores, k) if scores[place] > 0]
