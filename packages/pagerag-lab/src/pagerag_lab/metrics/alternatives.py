"""Score a ranking or a selection against alternative gold sets: the one that fits best counts."""

from __future__ import annotations

from collections.abc import Collection, Sequence

__all__ = ["best_f1", "best_recall", "reciprocal_rank"]

Gold = Sequence[frozenset[str]]


def best_f1(chosen: Collection[str], gold: Gold) -> float:
    """Return the highest F1 of the chosen ids against a gold set: 2·|hits| / (|chosen| + |gold|)."""
    taken = set(chosen)
    return max(2 * len(taken & one) / max(len(chosen) + len(one), 1) for one in gold)


def best_recall(chosen: Collection[str], gold: Gold) -> float:
    """Return the highest share of a gold set that is among the chosen ids."""
    taken = set(chosen)
    return max(len(taken & one) / len(one) for one in gold)


def reciprocal_rank(ranked: Sequence[str], gold: Gold) -> float:
    """Return 1 / the place of the first id that is in any gold set; 0 when none is."""
    wanted = frozenset().union(*gold)
    return next((1 / place for place, one in enumerate(ranked, start=1) if one in wanted), 0.0)
