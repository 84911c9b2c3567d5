"""The expected F1 of sets, given each unit's probability of support."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from operator import truediv

__all__ = ["expected_f1", "gold_count", "prefix_values"]

_MOST = 10
"""Gold sets larger than this are counted as this large; no benchmark question has so many."""


def gold_count(probabilities: Iterable[float], start: Sequence[float] = (1.0,)) -> list[float]:
    """Return the distribution of how many of these units support, added to the one in ``start``.

    It is a Poisson binomial, cut off at ``_MOST``.
    """
    weights = list(start)
    for p in probabilities:
        weights = _with(weights, p)
    return weights


def _with(weights: list[float], p: float) -> list[float]:
    """Return the distribution with one unit more."""
    rest = 1.0 - p
    grown = [same * rest + fewer * p for fewer, same in pairwise((0.0, *weights))]
    if len(weights) <= _MOST:
        grown.append(weights[-1] * p)
    else:
        grown[-1] += weights[-1] * p
    return grown


def expected_f1(chosen: Sequence[float], left: Sequence[float]) -> float:
    """Return E[F1] = Σ_{a,b} P(a of the chosen support) P(b of the others do) · 2a / (|chosen| + a + b).

    Units are taken as independent given their probabilities.
    """
    return _expected(gold_count(chosen), gold_count(left), len(chosen))


def prefix_values(ordered: Sequence[float], left: Sequence[float]) -> list[float]:
    """Return the expected F1 of keeping the first one, two, ... of ``ordered``; ``left`` is never kept."""
    outside = [gold_count(left)]
    for p in reversed(ordered):
        outside.append(_with(outside[-1], p))
    outside.reverse()  # outside[m]: what is left when m are kept
    inside: list[float] = [1.0]
    values = []
    for size, p in enumerate(ordered, 1):
        inside = _with(inside, p)
        values.append(_expected(inside, outside[size], size))
    return values


def _expected(inside: Sequence[float], outside: Sequence[float], size: int) -> float:
    total = 0.0
    for a in range(1, len(inside)):
        weight = inside[a] * 2.0 * a
        if weight:
            total += weight * sum(map(truediv, outside, range(size + a, size + a + len(outside))))
    return min(total, 1.0)
