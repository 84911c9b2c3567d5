"""BM25 over a store: the postings of one of its versions, in memory, exact.

LanceDB has a full-text index of its own. Ours is here because a reader must see one version of the store
and nothing else while another process writes, because follow-up search asks many short questions at once,
and because a ranking should be the same over a store and over a list (``pagerag.retrieve.BM25``): same
terms, same formula. The store keeps each unit's terms as numbers, so that no text is read to build it.

Postings are kept in segments. A new version of the store adds a segment of the units that were not there
before; units that are gone are passed over; small segments are joined, so that there are never many.
Document frequencies and lengths are always those of the units that are there: the ranking depends on the
version alone, and not on the way a reader came to it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pagerag.store.hashing import word_hash
from pagerag.store.terms import terms

__all__ = ["LexicalIndex", "Segment", "counted_terms"]

K1, B = 1.2, 0.75
_MOST = (1 << 16) - 1


def counted_terms(text: str) -> tuple[list[int], list[int]]:
    """The terms of a text as numbers, and how often each occurs."""
    counts = Counter(terms(text))
    return [_signed(word_hash(term)) for term in counts], [min(n, _MOST) for n in counts.values()]


def _counted(text: str) -> Counter[int]:
    """The terms of a query as numbers, with their counts."""
    return Counter(map(_signed, map(word_hash, terms(text))))


def _signed(number: int) -> int:
    return number - (1 << 64) if number >> 63 else number


@dataclass(frozen=True, slots=True, eq=False)
class Segment:
    """The postings of some units: of each term (sorted) the places of the units that have it, and counts."""

    rows: NDArray[np.uint64]
    lengths: NDArray[np.int64]
    terms: NDArray[np.int64]
    starts: NDArray[np.int64]
    places: NDArray[np.int32]
    counts: NDArray[np.uint16]

    def __len__(self) -> int:
        return len(self.rows)

    @classmethod
    def build(
        cls,
        rows: NDArray[np.uint64],
        places: NDArray[np.int32],
        hashes: NDArray[np.int64],
        counts: NDArray[np.uint16],
    ) -> Segment:
        """From one entry for each unit and term: the unit's place among ``rows``, the term, its count."""
        order = np.argsort(hashes)
        ordered = hashes[order]
        fresh = np.empty(len(ordered), dtype=bool)
        fresh[:1] = True
        np.not_equal(ordered[1:], ordered[:-1], out=fresh[1:])
        starts = np.flatnonzero(fresh)
        return cls(
            rows=rows,
            lengths=np.bincount(places, weights=counts, minlength=len(rows)).astype(np.int64),
            terms=ordered[starts],
            starts=np.append(starts, len(ordered)).astype(np.int64),
            places=places[order],
            counts=counts[order],
        )

    @classmethod
    def joined(cls, segments: Sequence[Segment], alive: Sequence[NDArray[np.bool_]]) -> Segment:
        """One segment of the units of several that are alive."""
        parts = []
        first = 0
        for segment, here in zip(segments, alive, strict=True):
            number = np.cumsum(here) - 1 + first
            kept = here[segment.places]
            hashes = np.repeat(segment.terms, np.diff(segment.starts))[kept]
            parts.append((number[segment.places[kept]].astype(np.int32), hashes, segment.counts[kept]))
            first += int(here.sum())
        places, hashes, counts = (np.concatenate(columns) for columns in zip(*parts, strict=True))
        rows = np.concatenate([segment.rows[here] for segment, here in zip(segments, alive, strict=True)])
        return cls.build(rows, places, hashes, counts)

    @classmethod
    def read(cls, table: Any, rows: NDArray[np.uint64] | None) -> Segment:
        """The segment of these rows of a table, or of all."""
        columns = ["terms", "term_counts"]
        if rows is None:
            read = table.search().select(columns).with_row_id(True).limit(None).to_arrow()
        else:
            read = table.take_row_ids(rows.tolist()).with_row_id().select(columns).to_arrow()
        lists, counts = read["terms"].combine_chunks(), read["term_counts"].combine_chunks()
        sizes = lists.value_lengths().to_numpy(zero_copy_only=False).astype(np.int64)
        return cls.build(
            read["_rowid"].to_numpy().astype(np.uint64),
            np.repeat(np.arange(read.num_rows, dtype=np.int32), sizes),
            lists.flatten().to_numpy(zero_copy_only=False),
            counts.flatten().to_numpy(zero_copy_only=False),
        )

    def slices(self, wanted: NDArray[np.int64]) -> list[slice]:
        """Where the postings of each of these terms stand; an empty slice for one that is not there."""
        if not len(self.terms):
            return [slice(0, 0)] * len(wanted)
        found = np.minimum(np.searchsorted(self.terms, wanted), len(self.terms) - 1)
        here = self.terms[found] == wanted
        starts, ends = self.starts[found], self.starts[found + 1]
        return [slice(int(a), int(b) if h else int(a)) for a, b, h in zip(starts, ends, here, strict=True)]


class LexicalIndex:
    """BM25 (``K1``, ``B``) over the segments of one version of a store."""

    def __init__(self, segments: Sequence[Segment], alive: Sequence[NDArray[np.bool_]]) -> None:
        self.segments, self.alive = tuple(segments), tuple(alive)
        self._whole = [bool(here.all()) for here in self.alive]
        self._firsts = np.cumsum([0, *map(len, self.segments)])
        self.size = int(sum(here.sum() for here in self.alive))
        total = sum(int(s.lengths[here].sum()) for s, here in zip(self.segments, self.alive, strict=True))
        mean = total / self.size if total else 1.0
        self._norms = [(K1 * (1 - B + B * s.lengths / mean)).astype(np.float32) for s in self.segments]

    @classmethod
    def load(cls, table: Any, rows: NDArray[np.uint64], before: LexicalIndex | None) -> LexicalIndex:
        """The index of a table whose rows (sorted) are ``rows``, from what is known of it before."""
        segments, alive = [], []
        known = np.zeros(len(rows), dtype=bool)
        for segment in before.segments if before is not None else ():
            here = _among(segment.rows, rows)
            if here.any():
                segments.append(segment)
                alive.append(here)
                known[np.searchsorted(rows, segment.rows[here])] = True
        fresh = rows[~known]
        if 4 * len(fresh) > len(rows):
            segment = Segment.read(table, None)
            return cls([segment], [np.ones(len(segment), dtype=bool)])
        if len(fresh):
            segments.append(Segment.read(table, fresh))
            alive.append(np.ones(len(fresh), dtype=bool))
        while len(segments) > 1 and 2 * alive[-1].sum() >= alive[-2].sum():
            segments[-2:] = [Segment.joined(segments[-2:], alive[-2:])]
            alive[-2:] = [np.ones(len(segments[-1]), dtype=bool)]
        return cls(segments, alive)

    def best(self, text: str, k: int) -> list[tuple[int, float]]:
        """The ``k`` rows with the highest scores above zero, best first, ties by row."""
        parts = [part for term, count in _counted(text).items() for part in self._weighed(term, count)]
        return self._highest(parts, k) if parts and k > 0 else []

    def best_of_each(self, pairs: Iterable[tuple[str, str]], k: int) -> list[list[tuple[int, float]]]:
        """``best`` for the words of each pair of texts; what pairs with the same second text share is
        computed once."""
        shared: dict[str, NDArray[np.float32]] = {}
        result = []
        for text, common in pairs:
            if common not in shared:
                shared[common] = np.zeros(int(self._firsts[-1]), dtype=np.float32)
                for term, count in _counted(common).items():
                    for places, shares in self._weighed(term, count):
                        shared[common][places] += shares
            scores = shared[common].copy()
            for term, count in _counted(text).items():
                for places, shares in self._weighed(term, count):
                    scores[places] += shares
            result.append(self._above(scores, k))
        return result

    def _weighed(self, term: int, repeated: int) -> list[tuple[NDArray[np.int64], NDArray[np.float32]]]:
        """Of each segment the units that have a term, and what it adds to their scores."""
        wanted = np.array([term], dtype=np.int64)
        postings = [self._postings(s, one.slices(wanted)[0]) for s, one in enumerate(self.segments)]
        df = sum(len(places) for places, _ in postings)
        if not df:
            return []
        idf = np.float32(repeated * np.log1p((self.size - df + 0.5) / (df + 0.5)))
        return [(places + self._firsts[s], idf * shares) for s, (places, shares) in enumerate(postings)]

    def _above(self, scores: NDArray[np.float32], k: int) -> list[tuple[int, float]]:
        """The ``k`` highest of all units' scores, for a small ``k``."""
        left, floor = scores.copy(), np.float32(0.0)
        for _ in range(min(k, len(scores))):
            place = int(left.argmax())
            floor, left[place] = left[place], 0.0
        if k <= 0 or not len(scores):
            return []
        touched = np.flatnonzero(scores >= floor if floor > 0 else scores)
        return self._ordered(touched, scores[touched], k)

    def _postings(self, number: int, part: slice) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """The units of a posting list that are alive, and the share of the idf that each gets."""
        segment = self.segments[number]
        places, counts = segment.places[part], segment.counts[part]
        if not self._whole[number]:
            here = self.alive[number][places]
            places, counts = places[here], counts[here]
        tf = counts.astype(np.float32)
        return places, tf * np.float32(K1 + 1) / (tf + self._norms[number][places])

    def _highest(
        self, parts: Sequence[tuple[NDArray[np.int64], NDArray[np.float32]]], k: int
    ) -> list[tuple[int, float]]:
        size = int(self._firsts[-1])
        if 8 * sum(len(places) for places, _ in parts) < size:
            every = np.concatenate([places for places, _ in parts])
            touched, inverse = np.unique(every, return_inverse=True)
            scores = np.zeros(len(touched), dtype=np.float32)
            at = 0
            for places, shares in parts:
                scores[inverse[at : at + len(places)]] += shares
                at += len(places)
        else:
            whole = np.zeros(size, dtype=np.float32)
            for places, shares in parts:
                whole[places] += shares
            touched = np.flatnonzero(whole)
            scores = whole[touched]
        if len(scores) > k:
            reach = scores >= np.partition(scores, len(scores) - k)[len(scores) - k]
            touched, scores = touched[reach], scores[reach]
        return self._ordered(touched, scores, k)

    def _ordered(
        self, places: NDArray[np.int64], scores: NDArray[np.float32], k: int
    ) -> list[tuple[int, float]]:
        rows = self._rows(places)
        order = np.lexsort((rows, -scores))[:k]
        return list(zip(rows[order].tolist(), scores[order].tolist(), strict=True))

    def _rows(self, places: NDArray[np.int64]) -> NDArray[np.uint64]:
        owner = np.searchsorted(self._firsts, places, side="right") - 1
        rows = np.empty(len(places), dtype=np.uint64)
        for number, segment in enumerate(self.segments):
            mine = owner == number
            rows[mine] = segment.rows[places[mine] - self._firsts[number]]
        return rows


def _among(values: NDArray[np.uint64], held: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Which of ``values`` are in ``held``, which is sorted."""
    if not len(held):
        return np.zeros(len(values), dtype=bool)
    found = np.minimum(np.searchsorted(held, values), len(held) - 1)
    return np.asarray(held[found] == values)
