"""Which units of a large pool take part: the best by the retriever, and what leads on from them.

The paper's pool is twenty units. A pool of hundreds is mostly units that nobody would miss; letting them in
shifts every measure that is taken over the pool (idf, ranks, hubs) and costs time. So at most ``WIDTH`` +
``REACH`` units take part: the ``WIDTH`` best by the retriever's order, then those that the best of them name,
or that have about as many of the question's words as the pool's best usually do. All others are ranked
behind.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from pagerag.promotion.near_duplicates import Statements
from pagerag.promotion.sentence_arrays import title_reading
from pagerag.text.analysis import Analysis
from pagerag.text.questions import Question
from pagerag.units import Candidate

__all__ = ["REACH", "WIDTH", "admit_best", "admit_reached", "anchored"]

WIDTH = 20
REACH = 12

_READ = 20_000  # characters of a unit that are searched for the question's words


def admit_best(retrieved: NDArray[np.float32], statements: Statements) -> list[int]:
    """Return the ``WIDTH`` best units by the retriever, in pool order.

    Of units that say the same the best one.
    """
    found: list[int] = []
    for place in np.argsort(-retrieved, kind="stable").tolist():
        if statements.first(place) == place:
            found.append(place)
            if len(found) == WIDTH:
                break
    return sorted(found)


def admit_reached(
    asked: Question,
    pool: Sequence[Candidate],
    best: Sequence[int],
    analyses: Sequence[Analysis],
    statements: Statements,
) -> list[int]:
    """Return up to ``REACH`` more units, in pool order.

    Those that units of ``best`` name, or that have as many of the question's words; ``analyses`` are those of
    ``best``.
    """
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
        reached = bool(unit.title) and title_reading(unit.title or "").key in named
        found = words(unit)
        if reached or found >= usual - 1:
            worth.append((-(found + 2.0 * reached), place))
    reached_first = (place for _, place in sorted(worth) if statements.first(place) == place)
    return sorted(islice(reached_first, REACH))


def anchored(retrieved: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the retriever's scores with the ``WIDTH``-th best at 0.

    In a larger pool they stay what they were.
    """
    if len(retrieved) <= WIDTH:
        return retrieved
    floor = float(np.partition(retrieved, -WIDTH)[-WIDTH])
    top = float(retrieved.max())
    if not top > floor:
        return retrieved
    return np.maximum((retrieved - floor) / (top - floor), 0.0).astype(np.float32)
