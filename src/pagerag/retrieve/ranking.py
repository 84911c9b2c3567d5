"""Scores to ranks, ranks to one ranking. Ties go to the earlier one, so that results never vary."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pagerag.units import Candidate

__all__ = ["best", "encoded_text", "reciprocal_ranks"]


def encoded_text(candidate: Candidate) -> str:
    """What a retriever reads of a unit: ``title. text``, or the text alone when it has no title."""
    return f"{candidate.title}. {candidate.text}" if candidate.title else candidate.text


def best(scores: NDArray[np.floating[Any]], k: int) -> NDArray[np.intp]:
    """The places of the ``k`` highest scores, best first, equal ones in order of place."""
    size = len(scores)
    k = min(k, size)
    if k <= 0:
        return np.empty(0, dtype=np.intp)
    if k < size:
        # Everything that reaches the k-th score, so that ties are cut by place and not by chance.
        floor = np.partition(scores, size - k)[size - k]
        places = np.flatnonzero(scores >= floor)
    else:
        places = np.arange(size)
    order = np.argsort(-scores[places], kind="stable")
    return places[order[:k]]


def reciprocal_ranks(
    rankings: Iterable[Sequence[str]],
    weights: Iterable[float] | None = None,
    *,
    constant: float = 60.0,
) -> dict[str, float]:
    """Reciprocal-rank fusion: each id's sum of ``weight / (constant + rank)``, ranks from 1, best first.

    Equal sums keep the order in which the rankings first name them.
    """
    lists = list(rankings)
    factors = list(weights) if weights is not None else [1.0] * len(lists)
    fused: dict[str, float] = {}
    for ranking, weight in zip(lists, factors, strict=True):
        for rank, item in enumerate(ranking, start=1):
            fused[item] = fused.get(item, 0.0) + weight / (constant + rank)
    return dict(sorted(fused.items(), key=lambda pair: -pair[1]))
