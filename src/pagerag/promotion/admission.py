"""Which units of a large pool take part: the best by the retriever, and what leads on from them.

The paper's pool is twenty units. A pool of hundreds is mostly units that nobody would miss; letting them in
shifts every measure that is taken over the pool (idf, ranks, hubs) and costs time. So at most ``WIDTH`` +
``REACH`` units take part: the ``WIDTH`` best by the retriever's order, then those that the first of them
name, or that have more of the question's words than any of them. All others are ranked behind, and change
nothing.

Of the benchmarks' train questions, with documents of other questions added, what one of the first five
names is often evidence; what only the sixth to twentieth name, or what merely has the usual number of the
question's words, hardly ever.
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

__all__ = ["REACH", "WIDTH", "admit_best", "admit_reached"]

WIDTH = 20
REACH = 12
_LEADING = 5  # what the first so many units name is reached

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

    Those that the first of ``best`` name, or that have more of the question's words than any of ``best``;
    ``analyses`` are those of ``best``.
    """
    if len(pool) <= len(best):
        return []
    inside = set(best)
    named = {key for analysis in analyses[:_LEADING] for keys in analysis.entities for key in keys}
    tokens = [token for token in dict.fromkeys(asked.tokens) if len(token) > 2]

    def words(unit: Candidate) -> int:
        text = unit.text[:_READ].lower()
        title = unit.title.lower() if unit.title else ""
        return sum([token in text or token in title for token in tokens])

    most = max([words(pool[place]) for place in best])
    worth: list[tuple[float, int]] = []
    for place, unit in enumerate(pool):
        if place in inside:
            continue
        reached = bool(unit.title) and title_reading(unit.title or "").key in named
        found = words(unit)
        if reached or found > most:
            worth.append((-(found + 2.0 * reached), place))
    reached_first = (place for _, place in sorted(worth) if statements.first(place) == place)
    return sorted(islice(reached_first, REACH))
