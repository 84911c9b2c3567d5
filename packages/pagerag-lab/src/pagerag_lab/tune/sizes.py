"""Rankings and the worth of their prefixes: what the learned size of the core is fitted on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pagerag.promotion.core_size import LARGEST, best_size, size_rows
from pagerag.promotion.expected_f1 import prefix_values
from pagerag.promotion.features import View
from pagerag.promotion.next_unit import Standing
from pagerag_lab.tune.boosting import Growth, boost, predict
from pagerag_lab.tune.labelled import LabelledPool

__all__ = ["Prefixes", "fit_size"]

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True, eq=False)
class Prefixes:
    """A ranking, the expected F1 of its prefixes, and what their worth is read from."""

    order: list[int]
    expected: list[float]
    table: Floats

    @classmethod
    def of(cls, standing: Standing, order: list[int], k: int) -> Prefixes:
        """Return the prefixes of a ranking of the view's rows."""
        ranked = standing.p[order].tolist()
        expected = prefix_values(ranked[:k], ranked[k:])
        rows = size_rows(standing.view, order, standing.p.tolist(), expected[:LARGEST], standing.asked)
        return cls(order, expected, rows)

    def f1(self, item: LabelledPool, view: View) -> Floats:
        """Return the F1 that each prefix has."""
        # units that say the same evidence in another place count once
        hits = np.minimum(np.cumsum(item.gold[view.unit[self.order[: len(self.table)]]]), item.total)
        return np.asarray(2 * hits / (np.arange(1, len(hits) + 1) + item.total), dtype=np.float32)

    def chosen(self, model: Any | None) -> tuple[list[int], float]:
        """Return the prefix worth most by ``model``, or by expected F1 alone, with its expected F1."""
        worth = np.array(self.expected) if model is None else predict(model, self.table)
        size = best_size(worth, self.expected)
        return self.order[:size], self.expected[size - 1]


def fit_size(rankings: Sequence[tuple[Prefixes, Floats, float]], growth: Growth) -> Any:
    """Grow trees that tell the F1 of a prefix, from prefixes, their F1 and a weight.

    The rankings must be of questions that their scorers had not seen.
    """
    table = np.concatenate([prefixes.table for prefixes, _, _ in rankings])
    worth = np.concatenate([f1 for _, f1, _ in rankings])
    weights = np.concatenate([np.full(len(f1), weight) for _, f1, weight in rankings])
    return boost(table, worth, weights, growth, values=True)
