"""Boosted trees, evaluated with NumPy alone and stored as plain arrays."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Trees"]

Floats = NDArray[np.float32]
_MOST_KEPT = 64  # rows; training judges thousands at a time
_DIGITS = np.left_shift(1, np.arange(8)).astype(np.uint8)[:, None]


@dataclass(frozen=True, slots=True, eq=False)
class Trees:
    """An additive model of symmetric trees of one depth, for log-odds.

    All nodes of one level of such a tree ask the same thing: is this feature above this threshold? The
    answers, read as the digits of a number, name the leaf, so that a handful of array operations judges all
    rows by all trees. ``feature`` and ``threshold`` have one row per level (the first is the lowest digit)
    and one column per tree, ``leaf`` one row per tree. NaN is above nothing. At most seven levels.
    """

    feature: NDArray[np.int64]
    threshold: NDArray[np.float32]
    leaf: NDArray[np.float32]
    bias: float
    _asked: NDArray[np.int64] = field(init=False, repr=False)  # the features in one row
    _leaves: NDArray[np.float32] = field(init=False, repr=False)  # ... and the leaves
    _first: NDArray[np.intp] = field(init=False, repr=False)  # where each tree's leaves start
    _tile: NDArray[np.float32] = field(init=False, repr=False)  # the thresholds, once for each row

    def __post_init__(self) -> None:
        depth, trees = self.feature.shape
        object.__setattr__(self, "_asked", self.feature.ravel())
        object.__setattr__(self, "_leaves", self.leaf.ravel())
        object.__setattr__(self, "_first", (np.arange(trees, dtype=np.intp) << depth)[:, None])
        object.__setattr__(self, "_tile", self.threshold.reshape(-1, 1))

    def _thresholds(self, rows: int) -> NDArray[np.float32]:
        """Return every threshold ``rows`` times.

        Kept for the next pool, which most often has as many: two arrays of one shape are compared in half the
        time that one and a column take.
        """
        tile = self._tile
        if tile.shape[1] != rows:
            tile = self.threshold.reshape(-1, 1).repeat(rows, axis=1)
            if rows <= _MOST_KEPT:
                object.__setattr__(self, "_tile", tile)
        return tile

    def log_odds(self, rows: Floats) -> Floats:
        """Return Σ over trees of the leaf that each row reaches, plus the bias."""
        depth, trees = self.feature.shape
        columns = np.ascontiguousarray(rows.T)
        answers = columns.take(self._asked, axis=0) > self._thresholds(len(rows))
        digits = answers.view(np.uint8).reshape(depth, trees * len(rows))
        np.multiply(digits, _DIGITS[:depth], out=digits)
        place = np.bitwise_or.reduce(digits, axis=0).reshape(trees, len(rows))
        reached = self._leaves.take(place + self._first)
        return np.asarray(np.add.reduce(reached, axis=0) + np.float32(self.bias))

    def to_arrays(self, prefix: str) -> dict[str, Any]:
        """Return the arrays by name, to be saved with others."""
        return {
            f"{prefix}.feature": self.feature.astype(np.int16),
            f"{prefix}.threshold": self.threshold,
            f"{prefix}.leaf": self.leaf,
            f"{prefix}.bias": np.float64(self.bias),
        }

    @classmethod
    def from_arrays(cls, prefix: str, arrays: Any) -> Trees:
        """Read what ``to_arrays`` gave."""
        return cls(
            feature=arrays[f"{prefix}.feature"].astype(np.int64),
            threshold=arrays[f"{prefix}.threshold"],
            leaf=arrays[f"{prefix}.leaf"],
            bias=float(arrays[f"{prefix}.bias"]),
        )
