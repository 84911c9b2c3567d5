"""Fuse several rankings into one, by reciprocal rank."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import TypeVar

from pagerag.units import Hit

Key = TypeVar("Key", bound=Hashable)


def reciprocal_rank_fusion(
    rankings: Iterable[Sequence[Key]],
    weights: Iterable[float] | None = None,
    *,
    constant: float = 60.0,
) -> dict[Key, float]:
    """Return each id's sum of ``weight / (constant + rank)`` over the rankings, ranks from 1, best first.

    Ids with equal sums keep the order in which the rankings first name them.
    """
    lists = list(rankings)
    factors = list(weights) if weights is not None else [1.0] * len(lists)
    fused: dict[Key, float] = {}
    for ranking, weight in zip(lists, factors, strict=True):
        for rank, item in enumerate(ranking, start=1):
            fused[item] = fused.get(item, 0.0) + weight / (constant + rank)
    return dict(sorted(fused.items(), key=lambda pair: -pair[1]))


def fuse_hits(rankings: Iterable[Sequence[Hit]]) -> dict[int, float]:
    """Return the fused score of each row of these rankings of one snapshot, best first."""
    return reciprocal_rank_fusion([[hit.row for hit in ranking] for ranking in rankings])
