"""Answers compared as the benchmarks' own scripts compare them.

Both scripts normalise alike: lower case, no ASCII punctuation, no English article, single spaces. They
differ twice. HotpotQA's (and 2Wiki's) gives 0 when one side says yes, no or noanswer and the other says
anything else, and 0 to an empty side. MuSiQue's has no such rule, gives 1 to two empty sides, and takes
the best over the answer's aliases.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

__all__ = ["AnswerRule", "AnswerScore", "normalise", "score_answer"]

AnswerRule = Literal["hotpotqa", "musique"]
"""Whose script scores the answer: they differ in yes/no answers and in empty ones."""

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)
_SPECIAL = frozenset({"yes", "no", "noanswer"})


@dataclass(frozen=True, slots=True)
class AnswerScore:
    """How one answer compares with the best-matching accepted answer."""

    em: float
    f1: float
    precision: float
    recall: float


NOTHING = AnswerScore(em=0.0, f1=0.0, precision=0.0, recall=0.0)
"""The score of a question without a prediction."""


def normalise(answer: str) -> str:
    """Return the official normal form: lower case, punctuation, articles and extra white space removed."""
    text = answer.lower().translate(_PUNCTUATION)
    return " ".join(_ARTICLES.sub(" ", text).split())


def _overlap(prediction: str, truth: str, rule: AnswerRule) -> tuple[float, float, float]:
    """Return (F1, precision, recall) of the two normalised answers' tokens."""
    if rule == "hotpotqa" and prediction != truth and (prediction in _SPECIAL or truth in _SPECIAL):
        return 0.0, 0.0, 0.0
    said, asked = prediction.split(), truth.split()
    if rule == "musique" and not (said and asked):
        same = float(said == asked)
        return same, same, same
    common = sum((Counter(said) & Counter(asked)).values())
    if common == 0:
        return 0.0, 0.0, 0.0
    precision, recall = common / len(said), common / len(asked)
    return 2 * precision * recall / (precision + recall), precision, recall


def score_answer(
    prediction: str | None, answers: Sequence[str], rule: AnswerRule = "hotpotqa"
) -> AnswerScore:
    """Return EM and F1, each the best over the accepted answers; precision and recall go with the best F1.

    None (no prediction) and a question without an accepted answer score 0 everywhere.
    """
    if prediction is None or not answers:
        return NOTHING
    said = normalise(prediction)
    truths = [normalise(answer) for answer in answers]
    f1, precision, recall = max(_overlap(said, truth, rule) for truth in truths)
    return AnswerScore(em=float(said in truths), f1=f1, precision=precision, recall=recall)
