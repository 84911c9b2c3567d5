"""A question that asks several things: each is judged by itself, and its best unit has a place in the core.

Judged by the whole question, the thing that is told best takes all places: of "which address do A, B and C
listen on?" three passages about A.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from pagerag.promotion.strategy import Fits, Judgement, state_of

__all__ = ["LEAST", "Part", "with_parts"]

LEAST = 0.1
"""The best unit for a part has a place when it is evidence for it with at least this probability.

Over the train corpora of documents 62 of 100 such units are evidence, and 27 of 100 below it (one-off).
"""


@dataclass(frozen=True, slots=True)
class Part:
    """One of the things that a question asks: the words that ask for it, and the pool judged by them."""

    asked: str
    judgement: Judgement


def with_parts(whole: Judgement, parts: Sequence[Part], fits: Fits) -> tuple[Judgement, dict[int, str]]:
    """Return the judgement with a unit for each part in its core, and which unit stands for what.

    The least units of the core make room. All parts must be told for the evidence to suffice:
    sufficiency = (that of the whole + that of the part which is told least) / 2, where a part without a place
    is not told at all; the state is never better than that of the whole.
    """
    if not parts:
        return whole, {}
    best = [int(part.judgement.scores.argmax()) for part in parts]
    wanted = dict.fromkeys(
        unit for unit, part in zip(best, parts, strict=True) if part.judgement.scores[unit] >= LEAST
    )
    ranked = sorted(whole.core, key=whole.ranking.index) if whole.ranking else list(whole.core)
    for unit in wanted:
        ranked = _with_unit(ranked, unit, wanted, fits)
    core = (*(unit for unit in whole.core if unit in ranked), *(u for u in ranked if u not in whole.core))
    least = min(
        part.judgement.sufficiency if unit in core else 0.0 for unit, part in zip(best, parts, strict=True)
    )
    sufficiency = min(whole.sufficiency, (whole.sufficiency + least) / 2)
    lower = state_of(sufficiency, whole.enough, whole.some)
    state = min(whole.state, lower, key=("insufficient", "ambiguous", "enough").index)
    placed: dict[int, str] = {}
    for unit, part in zip(best, parts, strict=True):
        if unit in core and unit in wanted:
            placed.setdefault(unit, part.asked)
    return replace(whole, core=core, sufficiency=sufficiency, state=state), placed


def _with_unit(ranked: list[int], unit: int, wanted: Collection[int], fits: Fits) -> list[int]:
    """Return the units with one more; the last that are not wanted go until it fits, or it stays out."""
    if unit in ranked:
        return ranked
    kept = list(ranked)
    spare = [other for other in ranked if other not in wanted]
    while not fits({*kept, unit}):
        if not spare:
            return ranked
        kept.remove(spare.pop())
    return [*kept, unit]
