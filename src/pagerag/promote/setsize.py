"""How many units to keep: the set whose expected F1 is highest, given each unit's probability of support."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["expected_f1", "gold_count"]

_MOST = 10
"""Gold sets larger than this are counted as this large; no benchmark question has so many."""


def gold_count(probabilities: Sequence[float]) -> list[float]:
    """The distribution of how many of these units support (Poisson binomial, cut off at ``_MOST``)."""
    weights = [1.0]
    for p in probabilities:
        rest = 1.0 - p
        last = len(weights)
        grown = [weights[0] * rest]
        grown += [weights[i] * rest + weights[i - 1] * p for i in range(1, last)]
        if last <= _MOST:
            grown.append(weights[-1] * p)
        else:
            grown[-1] += weights[-1] * p
        weights = grown
    return weights


def expected_f1(chosen: Sequence[float], left: Sequence[float]) -> float:
    """E[F1] = Σ_{a,b} P(a of the chosen support) P(b of the others do) · 2a / (|chosen| + a + b).

    Units are taken as independent given their probabilities.
    """
    inside, outside = gold_count(chosen), gold_count(left)
    size = len(chosen)
    total = 0.0
    for a in range(1, len(inside)):
        weight = inside[a] * 2.0 * a
        if weight:
            total += weight * sum(p / (size + a + b) for b, p in enumerate(outside))
    return min(total, 1.0)
