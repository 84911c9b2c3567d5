"""Measures as values: ``SupF1``, ``Recall @ 5``, ``AnsEM``; each scores one question.

>>> judged = Judged(gold=frozenset({"a", "b"}), core=("a",), context=("a", "x", "b"))
>>> SupF1(judged), (FullRecall @ 3)(judged), (FullRecall @ 2)(judged)
(0.6666666666666666, 1.0, 0.0)
>>> str(Recall @ 5), parse_measure("SupF1[filled]@5").key
('Recall@5', 'sup_f1_filled_at_5')

A measure of a question without a prediction is its ``default`` (0); the question is counted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from pagerag.errors import InputError
from pagerag_lab.metrics.answers import AnswerRule, score_answer

__all__ = [
    "MEASURES",
    "AnsEM",
    "AnsF1",
    "FullRecall",
    "JointEM",
    "JointF1",
    "Judged",
    "Measure",
    "Recall",
    "SupEM",
    "SupF1",
    "SupPrecision",
    "SupRecall",
    "ceiling",
    "parse_measure",
    "support",
]

Which = Literal["core", "filled"]


@dataclass(frozen=True, slots=True)
class Judged:
    """What a measure sees of one question: gold keys, the two selections' keys, answers.

    ``core`` is what minimal selection kept, ``context`` the same filled to the budget, best first; None
    means that there is no prediction (an error row). ``answer`` None means that no reader ran.
    """

    gold: frozenset[str]
    core: Sequence[str] | None = None
    context: Sequence[str] | None = None
    answer: str | None = None
    answers: Sequence[str] = ()
    rule: AnswerRule = "hotpotqa"


def support(gold: frozenset[str], units: Sequence[str]) -> tuple[float, float, float, float]:
    """Return (EM, F1, precision, recall) of a set of units against gold, as HotpotQA's script has them.

    Exactness is "nothing missed and nothing extra"; precision of nothing is 0, so is recall of nothing.
    """
    chosen = set(units)
    hits = len(chosen & gold)
    precision = hits / len(chosen) if chosen else 0.0
    recall = hits / len(gold) if gold else 0.0
    f1 = 2 * precision * recall / (precision + recall) if precision + recall > 0 else 0.0
    return float(chosen == gold), f1, precision, recall


def ceiling(gold: int, units: int) -> float:
    """Return the best Sup F1 of exactly ``units`` units: 2n/(n+k), for n gold units of which k fit."""
    return 2 * min(gold, units) / (gold + units) if gold and units else 0.0


@dataclass(frozen=True, slots=True)
class Measure:
    """One number per question. ``@ k`` looks at the first k units only, ``[which]`` at core or filled."""

    name: str
    score: Callable[[Judged, Sequence[str]], float]
    which: Which = "core"
    cutoff: int | None = None
    default: float = 0.0
    answers: bool = False

    def __call__(self, judged: Judged) -> float:
        """Return the question's score."""
        units = judged.core if self.which == "core" else judged.context
        if units is None:
            return self.default
        units = list(dict.fromkeys(units))
        return self.score(judged, units if self.cutoff is None else units[: self.cutoff])

    def __matmul__(self, cutoff: int) -> Measure:
        if cutoff < 1:
            raise InputError(f"{self.name}@{cutoff}: the cutoff must be at least 1")
        return replace(self, cutoff=cutoff)

    def __getitem__(self, which: Which) -> Measure:
        if which not in ("core", "filled"):
            raise InputError(f"{self.name}[{which}]: one of core, filled")
        return replace(self, which=which)

    def __str__(self) -> str:
        shown = f"[{self.which}]" if self.name in _SELECTIVE else ""
        return f"{self.name}{shown}" + (f"@{self.cutoff}" if self.cutoff else "")

    @property
    def key(self) -> str:
        """The name in result.json: sup_f1_core, recall_at_5, ans_f1."""
        words = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", self.name).lower()
        if self.name in _SELECTIVE:
            words += f"_{self.which}"
        return words + (f"_at_{self.cutoff}" if self.cutoff else "")


def _answer_f1(judged: Judged, _: Sequence[str]) -> float:
    return score_answer(judged.answer, judged.answers, judged.rule).f1


def _answer_em(judged: Judged, _: Sequence[str]) -> float:
    return score_answer(judged.answer, judged.answers, judged.rule).em


def _joint_f1(judged: Judged, units: Sequence[str]) -> float:
    """Return F1 of the products: precision · precision and recall · recall of answer and support."""
    answer = score_answer(judged.answer, judged.answers, judged.rule)
    _, _, precision, recall = support(judged.gold, units)
    precision, recall = precision * answer.precision, recall * answer.recall
    return 2 * precision * recall / (precision + recall) if precision + recall > 0 else 0.0


def _joint_em(judged: Judged, units: Sequence[str]) -> float:
    return _answer_em(judged, units) * support(judged.gold, units)[0]


SupF1 = Measure("SupF1", lambda judged, units: support(judged.gold, units)[1])
SupEM = Measure("SupEM", lambda judged, units: support(judged.gold, units)[0])
SupPrecision = Measure("SupPrecision", lambda judged, units: support(judged.gold, units)[2])
SupRecall = Measure("SupRecall", lambda judged, units: support(judged.gold, units)[3])
Recall = Measure("Recall", lambda judged, units: support(judged.gold, units)[3], which="filled")
FullRecall = Measure(
    "FullRecall",
    lambda judged, units: float(bool(judged.gold) and judged.gold <= set(units)),
    which="filled",
)
AnsF1 = Measure("AnsF1", _answer_f1, which="filled", answers=True)
AnsEM = Measure("AnsEM", _answer_em, which="filled", answers=True)
JointF1 = Measure("JointF1", _joint_f1, answers=True)
JointEM = Measure("JointEM", _joint_em, answers=True)

_SELECTIVE = frozenset({"SupF1", "SupEM", "SupPrecision", "SupRecall", "JointF1", "JointEM"})

MEASURES = {
    measure.name: measure
    for measure in (
        SupF1,
        SupEM,
        SupPrecision,
        SupRecall,
        Recall,
        FullRecall,
        AnsF1,
        AnsEM,
        JointF1,
        JointEM,
    )
}

_SPELLING = re.compile(r"(?P<name>[A-Za-z0-9]+)(\[(?P<which>\w+)\])?(@(?P<cutoff>\d+))?")


def parse_measure(text: str) -> Measure:
    """Return the measure that ``str`` writes: ``SupF1[core]``, ``Recall@5``."""
    spelled = _SPELLING.fullmatch(text.strip())
    if spelled is None or spelled["name"] not in MEASURES:
        raise InputError(f"unknown measure {text!r}; one of: {', '.join(MEASURES)}, with [filled] and @k")
    measure = MEASURES[spelled["name"]]
    if spelled["which"]:
        measure = measure[spelled["which"]]  # type: ignore[index]
    return measure @ int(spelled["cutoff"]) if spelled["cutoff"] else measure
