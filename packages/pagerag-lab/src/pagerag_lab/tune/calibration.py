"""Tell how well probabilities are calibrated."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["expected_calibration_error", "reliability"]


def reliability(
    probabilities: NDArray[Any], outcomes: NDArray[Any], bins: int = 10
) -> list[tuple[float, float, int]]:
    """Return, per bin of equal width, its mean probability, the share that came true, and its size."""
    place = np.minimum((np.asarray(probabilities) * bins).astype(int), bins - 1)
    return [
        (float(probabilities[here].mean()), float(outcomes[here].mean()), int(here.sum()))
        for number in range(bins)
        if (here := place == number).any()
    ]


def expected_calibration_error(probabilities: NDArray[Any], outcomes: NDArray[Any], bins: int = 10) -> float:
    """Return ECE = Σ_b |B_b| / n · |mean probability of B_b − share of true outcomes in B_b|."""
    told = reliability(probabilities, outcomes, bins)
    total = sum(size for _, _, size in told)
    return sum(size * abs(p - true) for p, true, size in told) / max(total, 1)
