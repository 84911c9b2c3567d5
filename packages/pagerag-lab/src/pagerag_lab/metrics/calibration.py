"""Tell whether probabilities mean what they say: reliability bins and the expected calibration error."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from pagerag.errors import InputError

__all__ = ["ReliabilityBin", "calibration_error", "reliability_bins"]


@dataclass(frozen=True, slots=True)
class ReliabilityBin:
    """What was predicted between two bounds: mean probability, share that was true, and how many."""

    probability: float
    share: float
    count: int


def reliability_bins(probabilities: ArrayLike, truths: ArrayLike, bins: int = 10) -> list[ReliabilityBin]:
    """Return the filled bins of equal width on [0, 1], lowest first; 1.0 belongs to the last bin."""
    told = np.asarray(probabilities, dtype=np.float64)
    true = np.asarray(truths, dtype=np.float64)
    if told.shape != true.shape or told.ndim != 1:
        raise InputError(f"{told.shape} probabilities for {true.shape} outcomes; they go in pairs")
    if told.size and not (told.min() >= 0.0 and told.max() <= 1.0):
        raise InputError("a probability lies outside [0, 1]")
    places = np.minimum((told * bins).astype(np.int64), bins - 1)
    counts = np.bincount(places, minlength=bins)
    sums = np.bincount(places, weights=told, minlength=bins)
    hits = np.bincount(places, weights=true, minlength=bins)
    return [
        ReliabilityBin(float(sums[b] / counts[b]), float(hits[b] / counts[b]), int(counts[b]))
        for b in range(bins)
        if counts[b]
    ]


def calibration_error(bins: Sequence[ReliabilityBin]) -> float:
    """Return the expected calibration error: the mean of |probability - share| over all predictions."""
    total = sum(one.count for one in bins)
    if not total:
        return 0.0
    return sum(one.count * abs(one.probability - one.share) for one in bins) / total
