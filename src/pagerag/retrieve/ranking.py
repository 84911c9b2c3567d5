"""Scores to ranks. Ties go to the earlier one, so that results never vary."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pagerag.units import Candidate

__all__ = ["best", "encoded_text"]


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
