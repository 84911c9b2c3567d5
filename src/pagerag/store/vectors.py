"""Dense search in memory: all vectors of one version of a store, brought up to date when it has changed.

Up to some tens of thousands of units every vector is compared: one matrix product. Above that, a first look
at the signs of the vectors (turned by fixed random rotations: 512 bits a unit) leaves two thousand units
or so, which are compared exactly. On 100,000 passages and 256 dimensions that takes 2.7 ms of processor time
for the nearest 50 with a recall of .993; all vectors take 10.7 ms; LanceDB's IVF_HNSW_SQ index takes 11 ms
with a recall of .983, and a minute and a half to build.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["VectorIndex"]

_BITS = 512
_SCREENED = 40  # units that the signs leave for each one asked for, and never fewer than ...
_AT_LEAST = 1000
_FEW = 10  # so few neighbours are found by the first half of the bits


@lru_cache(maxsize=2)
def _rotations(dimension: int) -> NDArray[np.float32]:
    """As many columns of fixed random rotations as there are bits."""
    generator = np.random.default_rng(dimension)
    width = min(dimension, _BITS)
    turns = -(-_BITS // width)
    columns = [np.linalg.qr(generator.normal(size=(dimension, width)))[0] for _ in range(turns)]
    return np.ascontiguousarray(np.hstack(columns)[:, :_BITS], dtype=np.float32)


def _signs(vectors: NDArray[np.float32], rotations: NDArray[np.float32]) -> NDArray[np.uint64]:
    """One row of bits for each 64 columns: bits of all vectors for one word stand together."""
    parts = [
        np.packbits(vectors[start : start + 8192] @ rotations > 0, axis=1).view(np.uint64)
        for start in range(0, len(vectors), 8192)
    ]
    words = rotations.shape[1] // 64
    return np.ascontiguousarray(np.concatenate(parts).T) if parts else np.empty((words, 0), np.uint64)


@dataclass(frozen=True, slots=True, eq=False)
class VectorIndex:
    """The vectors of one version of a store, in order of their rows; ``signs`` where there are many.

    A row never changes in LanceDB: what is updated gets a new row. So of a new version only the rows that
    were not there before are read.
    """

    rows: NDArray[np.uint64]
    vectors: NDArray[np.float32]
    signs: NDArray[np.uint64] | None

    @classmethod
    def load(
        cls,
        table: Any,
        rows: NDArray[np.uint64],
        dimension: int,
        before: VectorIndex | None,
        *,
        screened: bool,
    ) -> VectorIndex:
        """The index of a table whose rows (sorted) are ``rows``, from what is known of it before."""
        known = (
            np.isin(rows, before.rows, assume_unique=True)
            if before is not None
            else np.zeros(len(rows), bool)
        )
        fresh = rows[~known]
        vectors = np.empty((len(rows), dimension), dtype=np.float32)
        if before is not None and known.any():
            vectors[known] = before.vectors[np.searchsorted(before.rows, rows[known])]
        if len(fresh):
            if 4 * len(fresh) > len(rows):
                read = table.search().select(["vector"]).with_row_id(True).limit(None).to_arrow()
            else:
                read = table.take_row_ids(fresh.tolist()).with_row_id().select(["vector"]).to_arrow()
            flat = read["vector"].combine_chunks().flatten().to_numpy(zero_copy_only=False)
            places = np.searchsorted(rows, read["_rowid"].to_numpy().astype(np.uint64))
            vectors[places] = np.asarray(flat, dtype=np.float32).reshape(-1, dimension)
        signs = None
        if screened and hasattr(np, "bitwise_count"):  # NumPy 2
            signs = _signs(vectors, _rotations(dimension))
        return cls(rows, vectors, signs)

    def of(self, rows: NDArray[np.uint64]) -> NDArray[np.float32]:
        """The vectors of some of the rows."""
        return self.vectors[np.searchsorted(self.rows, rows)]

    def nearest(self, points: NDArray[np.float32], k: int) -> list[list[tuple[int, float]]]:
        """For each point the ``k`` rows with the highest inner product, best first, ties by row."""
        k = min(k, len(self.rows))
        if k <= 0:
            return [[] for _ in points]
        return [self._nearest(point, k) for point in points]

    def _nearest(self, point: NDArray[np.float32], k: int) -> list[tuple[int, float]]:
        among = self._screened(point, k)
        scores = self.vectors @ point if among is None else self.vectors[among] @ point
        floor = np.partition(scores, -k)[-k]
        places = np.flatnonzero(scores >= floor)
        places = places[np.argsort(-scores[places], kind="stable")][:k]
        rows = self.rows[places if among is None else among[places]]
        return list(zip(rows.tolist(), scores[places].tolist(), strict=True))

    def _screened(self, point: NDArray[np.float32], k: int) -> NDArray[np.intp] | None:
        """The places whose signs agree most with the point's; None where all are to be compared."""
        left = max(_AT_LEAST, _SCREENED * k)
        if self.signs is None or 4 * left > len(self.rows):
            return None
        signs = self.signs[: len(self.signs) // 2] if k <= _FEW else self.signs
        mine = _signs(point[None, :], _rotations(len(point))[:, : 64 * len(signs)])[:, 0]
        apart = np.zeros(len(self.rows), dtype=np.uint16)
        for theirs, word in zip(signs, mine, strict=True):
            apart += np.bitwise_count(theirs ^ word)
        return np.flatnonzero(apart <= np.partition(apart, left)[left])
