"""What joins a core whose evidence is not enough.

A minimal set is one that suffices: where none does, leaving out is the greater risk. What bears on a claim,
and the answer to how, why or "list", seldom stands in one unit; who, when and where are mostly answered by
one, and more of them are then more likely to be beside the point.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pagerag.promotion.strategy import Fits
from pagerag.text.questions import Question
from pagerag.units import State

__all__ = ["NEVER", "Joins", "joined"]

NEVER = 2.0
"""More than any probability."""
_OPEN = frozenset({"claim", "how", "why", "list"})


@dataclass(frozen=True, slots=True)
class Joins:
    """From which probability on a unit joins: for a question of one ``fact``, and for an ``open`` one."""

    fact: float = NEVER
    open: float = NEVER

    def least(self, question: Question, state: State) -> float:
        """Return the probability that counts for this question; none is enough where the evidence is."""
        if state == "enough":
            return NEVER
        return self.open if question.asks in _OPEN else self.fact


def joined(
    core: Sequence[int],
    ranked: Sequence[int],
    least: float,
    p: Sequence[float],
    unit: Sequence[int],
    fits: Fits,
) -> tuple[int, ...]:
    """Return the core with those of the ``ranked`` rows that are evidence with a probability of ``least``.

    ``p`` and ``unit`` are every row's probability and the place of its unit in the pool.
    """
    chosen = list(core)
    for index in ranked:
        if p[index] >= least and index not in chosen and fits({unit[i] for i in (*chosen, index)}):
            chosen.append(index)
    return tuple(chosen)
