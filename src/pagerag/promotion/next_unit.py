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


class _GrowingSet:
    """The rows of ``NEXT`` of a few units, while one after the other of them joins the set.

    What a pair of units tells is computed once for all of them; a unit that joins raises maxima.
    """

    def __init__(self, standing: Standing, units: Sequence[int]) -> None:
        view = standing.view
        self.p = p = standing.p.take(units)
        self.inside: list[int] = []
        # what the units hold of the question, and what their titles do
        cover = standing.cover.take(units, axis=0)
        self.cover = np.array((cover, standing.titles.take(units, axis=0)))
        self.have = np.zeros((2, 1, cover.shape[1]), dtype=np.float32)
        document, place = view.document.take(units), view.place.take(units)
        names = view.names.take(units, axis=0).take(units, axis=1)
        apart = place - place[:, None]
        self.same = same = document[:, None] == document
        self.same_p = same * p[:, None]
        self.table = table = np.zeros((len(NEXT), len(p)), dtype=np.float32)
        table[0] = p
        table[11:13] = np.add.reduce(self.cover, axis=2)
        table[20:] = standing.asked[:, None]
        # [i, value, j]: what j gains when i joins the set, in the order of NEXT from "linked" to "alike"
        self.pairs = np.empty((len(p), 6, len(p)), dtype=np.float32)
        self.pairs[:, 0] = view.linked.take(units, axis=0).take(units, axis=1).T
        self.pairs[:, 1] = names
        self.pairs[:, 2] = names.T
        self.pairs[:, 3] = same & (apart == 1)
        self.pairs[:, 4] = same & (apart == -1)
        alike = np.add.reduce(np.minimum(cover[:, None], cover), axis=2)
        np.divide(alike, np.maximum(table[11], 1e-6), out=self.pairs[:, 5])

    def add(self, unit: int) -> None:
        """Let a unit, by its place among those given, join the set."""
        table = self.table
        self.inside.append(unit)
        np.maximum(self.have, self.cover[:, unit, None], out=self.have)
        table[6] += self.same[unit]
        np.maximum(table[7], self.same_p[unit], out=table[7])
        np.maximum(table[14:20], self.pairs[unit], out=table[14:20])

    def rows(self, left: Sequence[int]) -> Floats:
        """Return one row of ``NEXT`` for each unit; those of ``left``, the others that remain, have meaning.

        The others are there so that the trees judge equally many rows at every step.
        """
        table, own = self.table, self.p.take(left)
        table[1].put(left, np.arange(len(own)))
        table[2] = np.add.reduce(own)
        np.divide(self.p, max(float(np.maximum.reduce(own)), 1e-6), out=table[3])
        table[4] = len(self.inside)
        table[5] = np.add.reduce(self.p.take(self.inside))
        np.add.reduce(np.maximum(self.cover - self.have, 0.0), axis=2, out=table[8:10])
        table[10] = covered = np.add.reduce(self.have[0, 0])
        np.subtract(1.0 - covered, table[8], out=table[13])
        return table.T


def next_rows(standing: Standing, chosen: Sequence[int], left: Sequence[int]) -> Floats:
    """Return one row of ``NEXT`` for each unit of ``left``, the rows of ``chosen`` being in the set."""
    growing = _GrowingSet(standing, [*chosen, *left])
    for place in range(len(chosen)):
        growing.add(place)
    return growing.rows(range(len(chosen), len(chosen) + len(left)))[len(chosen) :]


def rank_units(standing: Standing, worth: Any, most: int, usable: Sequence[bool] | None = None) -> list[int]:
    """Return the view's rows best first: up to ``most`` by what each adds, the others by probability.

    ``worth`` gives the log-odds of rows of ``NEXT``; rows that are not ``usable`` come last.
    """
    order = (-standing.p).argsort(kind="stable").tolist()
    able = len(order)
    if usable is not None and not all(usable):
        able = sum(map(bool, usable))
        order = [i for i in order if usable[i]] + [i for i in order if not usable[i]]
    if able < 2:
        return order
    near = order[: min(CONSIDERED, able)]
    chosen = near[:1]
    growing = _GrowingSet(standing, near)
    left = list(range(len(near)))
    joins = 0
    while len(left) > 1 and len(chosen) < most:
        growing.add(left.pop(joins))
        joins = int(worth(growing.rows(left)).take(left).argmax())
        chosen.append(near[left[joins]])
    inside = set(chosen)
    return chosen + [i for i in order if i not in inside]
