"""How sure a mean is: bootstrap intervals, and paired tests between two runs on the same questions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pagerag.errors import InputError

__all__ = ["Comparison", "auroc", "average", "bootstrap", "bootstrap_many", "compare", "compare_many"]

K = TypeVar("K")

_BLOCK = 1 << 22  # numbers held at once


def bootstrap(
    values: ArrayLike, *, samples: int = 2000, level: float = 0.95, seed: int = 20
) -> tuple[float, float]:
    """Return the percentile interval of the mean under resampling; (mean, mean) for fewer than two values."""
    low, high = bootstrap_many({"": values}, samples=samples, level=level, seed=seed)[""]
    return low, high


def bootstrap_many(
    columns: Mapping[K, ArrayLike], *, samples: int = 2000, level: float = 0.95, seed: int = 20
) -> dict[K, tuple[float, float]]:
    """Return ``bootstrap`` of several measures on the same questions, all under the same resamplings."""
    if not columns:
        return {}
    table = np.stack([np.asarray(values, dtype=np.float64) for values in columns.values()], axis=1)
    n = len(table)
    if n < 2:
        means = table.mean(axis=0) if n else np.zeros(len(columns))
        return {name: (float(mean), float(mean)) for name, mean in zip(columns, means, strict=True)}
    rng = np.random.default_rng(seed)
    step = max(1, _BLOCK // n)
    parts = []
    for start in range(0, samples, step):
        rows = min(step, samples - start)
        drawn = rng.integers(0, n, size=(rows, n)) + n * np.arange(rows)[:, None]
        # How often each question was drawn, times its values: one product for all measures.
        times = np.bincount(drawn.ravel(), minlength=rows * n).reshape(rows, n).astype(np.float64)
        parts.append(times @ table / n)
    ends = np.quantile(np.concatenate(parts), [(1 - level) / 2, (1 + level) / 2], axis=0)
    return {name: (float(ends[0, i]), float(ends[1, i])) for i, name in enumerate(columns)}


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two runs on the same questions: the mean difference (first − second), its interval, and a p value.

    ``p`` is two-sided, from random sign flips of the paired differences; ``wins``, ``losses`` and ``ties``
    count questions.
    """

    n: int
    difference: float
    low: float
    high: float
    p: float
    wins: int
    losses: int
    ties: int

    def to_dict(self) -> dict[str, float | int]:
        """Return a JSON-able copy."""
        return {name: getattr(self, name) for name in self.__slots__}


def compare(
    first: Sequence[float], second: Sequence[float], *, samples: int = 10_000, seed: int = 20
) -> Comparison:
    """Return the paired comparison of two runs; both must be in the same order of questions."""
    return compare_many({"": (first, second)}, samples=samples, seed=seed)[""]


def compare_many(
    pairs: Mapping[str, tuple[Sequence[float], Sequence[float]]], *, samples: int = 10_000, seed: int = 20
) -> dict[str, Comparison]:
    """Return ``compare`` of several measures on the same questions, under the same flips and resamplings."""
    columns: dict[str, NDArray[np.float64]] = {}
    for name, (first, second) in pairs.items():
        if len(first) != len(second):
            raise InputError(
                f"the runs have {len(first)} and {len(second)} questions; "
                "compare runs on the same file and limit"
            )
        columns[name] = np.asarray(first, dtype=np.float64) - np.asarray(second, dtype=np.float64)
    if not columns:
        return {}
    table = np.stack(list(columns.values()), axis=1)
    n = len(table)
    if n == 0:
        raise InputError("there is nothing to compare: the runs hold no question")
    ends = bootstrap_many(columns, seed=seed)
    total = table.sum(axis=0)
    rng = np.random.default_rng(seed)
    step = max(1, _BLOCK // n)
    at_least = np.zeros(len(columns), dtype=np.int64)
    for start in range(0, samples, step):
        flipped = rng.integers(0, 2, size=(min(step, samples - start), n), dtype=np.int8).astype(np.float64)
        sums = total - 2.0 * (flipped @ table)
        # The margin keeps sums that differ by rounding alone on the side of "as extreme".
        at_least += (np.abs(sums) >= np.abs(total) - 1e-9).sum(axis=0)
    return {
        name: Comparison(
            n=n,
            difference=float(difference.mean()),
            low=ends[name][0],
            high=ends[name][1],
            p=(int(at_least[place]) + 1) / (samples + 1),
            wins=int((difference > 1e-12).sum()),
            losses=int((difference < -1e-12).sum()),
            ties=int((np.abs(difference) <= 1e-12).sum()),
        )
        for place, (name, difference) in enumerate(columns.items())
    }


def average(means: Mapping[str, float], sizes: Mapping[str, int]) -> tuple[float, float]:
    """Return (weighted by N, plain) averages over datasets; they differ, so both are kept."""
    if not means:
        raise InputError("there is nothing to average")
    total = sum(sizes[name] for name in means)
    weighted = sum(mean * sizes[name] for name, mean in means.items()) / total if total else 0.0
    return weighted, sum(means.values()) / len(means)


def auroc(positive: ArrayLike, negative: ArrayLike) -> float:
    """Return the chance that a random positive scores above a random negative, ties counting half."""
    high, low = np.asarray(positive, dtype=np.float64), np.asarray(negative, dtype=np.float64)
    if not high.size or not low.size:
        raise InputError("AUROC needs at least one positive and one negative")
    ordered = np.sort(low)
    below = np.searchsorted(ordered, high, side="left")
    not_above = np.searchsorted(ordered, high, side="right")
    return float((below + not_above).sum() / (2 * high.size * low.size))
