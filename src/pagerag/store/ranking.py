"""Choose the best of many scores. Ties go to the earlier place, so that results never vary."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pagerag.units import Hit


def best(scores: NDArray[np.floating[Any]], k: int) -> NDArray[np.intp]:
    """Return the places of the ``k`` highest scores, best first, equal ones in order of place."""
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


def best_hits(
    scores: NDArray[np.floating[Any]], k: int, rows: NDArray[np.integer] | None = None
) -> list[Hit]:
    """Return the ``k`` best, each with its score; ``rows`` are the rows of the places, if not the same."""
    places = best(scores, k)
    chosen = places if rows is None else rows[places]
    return list(map(Hit, chosen.tolist(), scores[places].tolist()))
