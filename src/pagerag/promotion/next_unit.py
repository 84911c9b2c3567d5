"""Rank units one after the other by what each adds to those before it.

A unit's own probability says nothing of what is chosen already: the fourth paragraph of one page adds less
than the first of another that the question also names. So the first unit is the most probable one, and each
next is the one that most probably is evidence that the set still lacks, judged by trees over the values of
``NEXT``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pagerag.promotion.features import OF_QUESTION, View

__all__ = ["CONSIDERED", "NEXT", "Standing", "next_rows", "rank_units"]

Floats = NDArray[np.float32]

CONSIDERED = 16
"""The most probable units are weighed; the rest follow by their probability."""

NEXT: tuple[str, ...] = (
    "p", "p_rank", "p_left", "p_share", "step", "chosen_p", "in_document", "document_p", "gain", "gain_title",
    "cover_set", "cover_own", "cover_title", "left_after", "linked", "named", "names", "follows", "precedes",
    "alike", *OF_QUESTION,
)  # fmt: skip
"""What is read of a unit when others are chosen already."""


@dataclass(frozen=True, slots=True, eq=False)
class Standing:
    """What ranking reads: the view's rows with their probabilities and the question's words that they hold.

    ``cover`` and ``titles`` are rows x question words: each word's share of the question where the unit, or
    its title alone, holds it. ``asked`` has the features of the question and the pool.
    """

    view: View
    p: Floats
    cover: Floats
    titles: Floats
    asked: Floats


def next_rows(standing: Standing, chosen: Sequence[int], left: Sequence[int]) -> Floats:
    """Return one row of ``NEXT`` for each unit of ``left``, the rows of ``chosen`` being in the set."""
    view, p = standing.view, standing.p
    inside, rest = list(chosen), list(left)
    cover, titles = standing.cover.take(rest, axis=0), standing.titles.take(rest, axis=0)
    have = standing.cover.take(inside, axis=0).max(axis=0)
    named = standing.titles.take(inside, axis=0).max(axis=0)
    same = view.document.take(rest)[:, None] == view.document.take(inside)
    apart = view.place.take(rest)[:, None] - view.place.take(inside)
    held = p.take(inside)
    own = p.take(rest)
    best = max(float(own.max()), 1e-6)
    gain = np.maximum(cover - have, 0.0).sum(axis=1)
    whole = cover.sum(axis=1)
    alike = np.minimum(cover[:, None], standing.cover.take(inside, axis=0)).sum(axis=2)
    table = np.empty((len(NEXT), len(rest)), dtype=np.float32)
    table[0] = own
    table[1] = np.arange(len(rest))
    table[2] = own.sum()
    table[3] = own / best
    table[4] = len(inside)
    table[5] = held.sum()
    table[6] = same.sum(axis=1)
    table[7] = np.where(same, held, 0.0).max(axis=1)
    table[8] = gain
    table[9] = np.maximum(titles - named, 0.0).sum(axis=1)
    table[10] = have.sum()
    table[11] = whole
    table[12] = titles.sum(axis=1)
    table[13] = 1.0 - have.sum() - gain
    table[14] = view.linked[np.ix_(rest, inside)].any(axis=1)
    table[15] = view.names[np.ix_(inside, rest)].any(axis=0)
    table[16] = view.names[np.ix_(rest, inside)].any(axis=1)
    table[17] = (same & (apart == 1)).any(axis=1)
    table[18] = (same & (apart == -1)).any(axis=1)
    table[19] = (alike / np.maximum(whole, 1e-6)[:, None]).max(axis=1)
    table[20:] = standing.asked[:, None]
    return table.T


def rank_units(standing: Standing, worth: Any, most: int, usable: Sequence[bool] | None = None) -> list[int]:
    """Return the view's rows best first: up to ``most`` by what each adds, the others by probability.

    ``worth`` gives the log-odds of rows of ``NEXT``; rows that are not ``usable`` come last.
    """
    order = np.argsort(-standing.p, kind="stable").tolist()
    if usable is not None:
        order = [i for i in order if usable[i]] + [i for i in order if not usable[i]]
        able = sum(map(bool, usable))
    else:
        able = len(order)
    near = order[: min(CONSIDERED, able)]
    chosen = near[:1]
    left = near[1:]
    while left and len(chosen) < most:
        best = left[int(np.argmax(worth(next_rows(standing, chosen, left))))]
        chosen.append(best)
        left.remove(best)
    inside = set(chosen)
    return chosen + [i for i in order if i not in inside]
