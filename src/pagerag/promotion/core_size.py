"""What each size of the core would be worth: one row per prefix of the ranking, judged by trees.

The expected F1 of ``expected_f1.py`` takes units as independent; but the second of two linked units is worth
more, a long question has more hops, and a ranking that falls off a cliff ends there. These rows say so.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pagerag.promotion.features import OF_QUESTION, View

__all__ = ["LARGEST", "SIZE", "best_size", "size_rows"]

LARGEST = 5
"""Larger sets than the paper's budget were never seen in training."""
_RANKED = 7

SIZE: tuple[str, ...] = (
    "size", "expected_f1", *(f"p{n}" for n in range(1, _RANKED + 1)), "p_last", "p_next", "p_after", "kept",
    "total", "rest", "fall", "linked", "named", "documents", "next_linked", "next_named", *OF_QUESTION,
)  # fmt: skip
"""What the worth of a prefix is read from."""


def best_size(worth: NDArray[Any], expected: Sequence[float]) -> int:
    """Return the size of highest worth; past those that were learned, the one of highest expected F1."""
    size = 1 + int(worth.argmax())
    if size == LARGEST < len(expected):
        return max(size, 1 + max(range(len(expected)), key=lambda place: (expected[place], -place)))
    return size


def size_rows(
    view: View, ranked: Sequence[int], p: Sequence[float], expected: Sequence[float], asked: NDArray[Any]
) -> NDArray[np.float32]:
    """Return a row for each of the first ``len(expected)`` prefixes of ``ranked``.

    ``ranked`` holds rows of the view by falling ``p``.


    ``expected`` has the prefixes' expected F1, ``asked`` the features of the question.
    """
    near = list(ranked[: len(expected) + 1])
    names = view.names.take(near, axis=0).take(near, axis=1)
    named = (names | names.T).tolist()
    linked = view.linked.take(near, axis=0).take(near, axis=1).tolist()
    documents = view.document.take(near).tolist()
    falling = [*[p[i] for i in ranked[: len(expected) + _RANKED]], *[0.0] * (_RANKED + 1)]
    total = sum(p)
    question = asked.tolist()
    rows, kept = [], 0.0
    for size, value in enumerate(expected, 1):
        last = size - 1
        kept += falling[last]
        after = size < len(near)
        rows.append(
            [
                size,
                value,
                *falling[:_RANKED],
                falling[last],
                falling[size],
                falling[size + 1],
                kept,
                total,
                total - kept,
                falling[size] / max(falling[last], 1e-6),
                any(linked[last][:last]),
                any(named[last][:last]),
                len(set(documents[:size])),
                after and any(linked[size][:size]),
                after and any(named[size][:size]),
                *question,
            ]
        )
    return np.array(rows, dtype=np.float32).reshape(-1, len(SIZE))
