"""Which units of a large pool take part: the best by the retriever, and what leads on from them.

The paper's pool is twenty units. A pool of hundreds is mostly units that nobody would miss; letting them in
shifts every measure that is taken over the pool (idf, ranks, hubs) and costs time. So at most ``WIDTH`` +
``REACH`` units take part: the ``WIDTH`` best by the retriever's order, then those that the best of them name,
or that have about as many of the question's words as the pool's best usually do. All others are ranked behind.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pagerag.promotion.sentence_arrays import title_reading
from pagerag.text.analysis import Analysis
from pagerag.text.questions import Question
from pagerag.units import Candidate

__all__ = ["REACH", "WIDTH", "admit_best", "admit_reached", "anchored"]

WIDTH = 20
REACH = 12

_READ = 20_000  # characters of a unit that are searched for the question's words


def admit_best(retrieved: NDArray[np.float32]) -> list[int]:
    """The ``WIDTH`` best units by the retriever, in pool order."""
    if len(retrieved) <= WIDTH:
        return list(range(len(retrieved)))
    return sorted(np.argsort(-retrieved, kind="stable")[:WIDTH].tolist())


def admit_reached(
    asked: Question, pool: Sequence[Candidate], best: Sequence[int], analyses: Sequence[Analysis]
) -> list[int]:
    """Up to ``REACH`` more units that deserve a hearing, in pool order; ``analyses`` are those of ``best``."""
    if len(pool) <= len(best):
        return []
    inside = set(best)
    named = {key for analysis in analyses for keys in analysis.entities for key in keys}
    tokens = [token for token in dict.fromkeys(asked.tokens) if len(token) > 2]

    def words(unit: Candidate) -> int:
        text = unit.text[:_READ].lower()
        title = unit.title.lower() if unit.title else ""
        return sum([token in text or token in title for token in tokens])

    usual = float(np.median([words(pool[place]) for place in best]))
    worth: list[tuple[float, int]] = []
    for place, unit in enumerate(pool):
        if place in inside:
            continue
        reached = bool(unit.title) and title_reading(unit.title).key in named
        found = words(unit)
        if reached or found >= usual - 1:
            worth.append((-(found + 2.0 * reached), place))
    return sorted(place for _, place in sorted(worth)[:REACH])


def anchored(retrieved: NDArray[np.float32]) -> NDArray[np.float32]:
    """The retriever's scores with the ``WIDTH``-th best at 0: in a larger pool they stay what they were."""
    if len(retrieved) <= WIDTH:
        return retrieved
    floor = float(np.partition(retrieved, -WIDTH)[-WIDTH])
    top = float(retrieved.max())
    if not top > floor:
        return retrieved
    return np.maximum((retrieved - floor) / (top - floor), 0.0).astype(np.float32)
