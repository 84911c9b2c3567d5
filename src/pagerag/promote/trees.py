"""Boosted trees, evaluated with NumPy alone and stored as plain arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Trees"]

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True, eq=False)
class Trees:
    """An additive model of complete binary trees of one depth, for log-odds.

    ``feature``, ``threshold`` and ``missing`` have one row per tree and one column per inner node, in
    breadth-first order; ``leaf`` one column per leaf. A row of features goes right when its value is above
    the threshold, or, where the value is NaN, when ``missing`` says so. Completeness costs a few unused
    nodes and buys a descent without a branch: depth gathers for all rows and trees at once.
    """

    feature: NDArray[np.int16]
    threshold: NDArray[np.float64]
    missing: NDArray[np.bool_]
    leaf: NDArray[np.float32]
    bias: float

    def log_odds(self, rows: Floats) -> Floats:
        """Σ over trees of the leaf that each row reaches, plus the bias."""
        trees, inner = self.feature.shape
        depth = int(np.log2(inner + 1))
        count = len(rows)
        flat = rows.ravel()
        base = np.arange(trees) * inner
        row_base = (np.arange(count) * rows.shape[1])[:, None]
        feature, threshold, missing = self.feature.ravel(), self.threshold.ravel(), self.missing.ravel()
        has_gaps = bool(np.isnan(flat).any())
        at = np.zeros((count, trees), dtype=np.intp)
        for _ in range(depth):
            node = at + base
            value = flat[row_base + feature[node]]
            right = value > threshold[node]
            if has_gaps:
                right = np.where(np.isnan(value), missing[node], right)
            at = 2 * at + 1 + right
        leaves = self.leaf.ravel()[(at - inner) + np.arange(trees) * self.leaf.shape[1]]
        return np.asarray(leaves.sum(axis=1) + np.float32(self.bias), dtype=np.float32)

    def to_arrays(self, prefix: str) -> dict[str, Any]:
        """The arrays by name, to be saved with others."""
        return {
            f"{prefix}.feature": self.feature,
            f"{prefix}.threshold": self.threshold,
            f"{prefix}.missing": self.missing,
            f"{prefix}.leaf": self.leaf,
            f"{prefix}.bias": np.float64(self.bias),
        }

    @classmethod
    def from_arrays(cls, prefix: str, arrays: Any) -> Trees:
        """Read what ``to_arrays`` gave."""
        return cls(
            feature=arrays[f"{prefix}.feature"],
            threshold=arrays[f"{prefix}.threshold"],
            missing=arrays[f"{prefix}.missing"],
            leaf=arrays[f"{prefix}.leaf"],
            bias=float(arrays[f"{prefix}.bias"]),
        )
