"""The verdict in plain words: what is there, and what is missing when the evidence is not enough."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from pagerag.explain.coverage import Coverage, coverage, evidence_places, listed
from pagerag.promotion import Promotion
from pagerag.units import Answer


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a person should take from a result.

    ``tone`` is good, unsure or bad and never contradicts ``label``. ``words`` is one line; ``covered`` and
    ``missing`` are the phrases of the question that the evidence speaks of and those it does not. Where the
    evidence is enough, words may be paraphrased: missing are only numbers, versions, ordinals and names.
    """

    tone: str
    label: str
    words: str
    covered: tuple[str, ...]
    missing: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-able copy."""
        return {**asdict(self), "covered": list(self.covered), "missing": list(self.missing)}


def verdict(promotion: Promotion, answer: Answer | None = None) -> Verdict:
    """Return the verdict on the evidence, together with what the reader made of it."""
    found = coverage(promotion, answer)
    state, count = promotion.state, len(evidence_places(promotion, answer))
    silent = answer is not None and not answer.text
    if state == "enough" and not silent:
        what = "an answer" if answer is None else "the answer"
        if found.unsaid:
            these = "1 passage speaks" if count == 1 else f"{count} passages speak"
            words = f"{these} for {what}, but nothing there says {listed(found.unsaid, 'or')}{_sure(answer)}."
            return Verdict("unsure", "not every detail found", words, found.covered, found.unsaid)
        these = "1 passage supports" if count == 1 else f"{count} passages together support"
        return Verdict("good", "enough evidence", f"{these} {what}{_sure(answer)}.", found.covered, ())
    told = _told(found, answered=answer is not None and not silent)
    if state == "enough":
        tone, label = "unsure", "no answer found"
        words = f"The reader saw no answer in the evidence: {told}."
    else:
        tone, label = ("unsure", "may be enough") if state == "ambiguous" else ("bad", "not enough evidence")
        if answer is None or silent:
            words = f"{told[:1].upper()}{told[1:]}."
        elif state == "ambiguous":
            words = f"Not certain{_sure(answer, ' (', ')')}: {told}."
        else:
            words = f"A guess from the nearest passages: {told}."
    return Verdict(tone, label, words, found.covered, found.missing)


def _told(found: Coverage, *, answered: bool) -> str:
    """Return in words what is there and what is not; above an answer, nothing is said against it."""
    if found.covered and found.missing:
        return f"found {listed(found.covered)}, not {listed(found.missing, 'or')}"
    if found.missing:
        return f"found nothing about {listed(found.missing, 'or')}"
    if found.covered:
        return f"found {listed(found.covered)}{'' if answered else ', but not clearly what is asked'}"
    return "the question names nothing to look for"


def _sure(answer: Answer | None, opens: str = "; ", closes: str = "") -> str:
    """Return the reader's confidence in words, where it has one."""
    if answer is None or answer.confidence is None:
        return ""
    return f"{opens}confidence {answer.confidence:.2f}{closes}"
