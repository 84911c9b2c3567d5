"""The extractive reader: a span of the context, yes, no, or nothing, with the unit it stands in."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from pagerag.errors import InputError, WeightsError
from pagerag.models.decode import sigmoid
from pagerag.models.excerpts import QUESTION_CAP
from pagerag.models.files import open_model, package_folder, reader_folder
from pagerag.models.packing import Packed
from pagerag.protocols import ContextPreference
from pagerag.read.amounts import contest, decide, told_amount, units_about
from pagerag.read.base import AtOnceReader, bounded
from pagerag.read.compose import SIGNS, Composed, ranked_spans, together
from pagerag.read.dates import compare
from pagerag.read.evidence import quotations, quoting, speaks_of
from pagerag.read.polar import said_outright
from pagerag.read.windows import AskedContext, TokenContext
from pagerag.text.questions import read_question, told_at_length
from pagerag.text.sub_questions import SubQuestion, sub_questions
from pagerag.units import Answer, Candidate, Citation, State

__all__ = ["ExtractiveReader", "extractive_reader"]

LONGEST_UNIT, LONGEST_CONTEXT = 60_000, 200_000
"""Characters that are read of one unit and of all; a passage has some 1,000."""
COMPARED = 0.95
"""Confidence in an answer that dates decide: 74 of 75 were right among all units of 2Wiki train questions."""
SAID = 0.85
"""Confidence in a yes or a no that a sentence of the context says in the question's own words.

Of 951 questions made of sentences of train documents (386 ask what one says, 162 what one denies, 403 what
none says) 416 are decided so, 410 of them rightly. They use the sentences' words; people do less.
"""
WEIGHED, LEAST_AMOUNT = 0.85, 0.35
"""Confidence in an answer that amounts decide, and the least probability of each amount among its spans.

Of twenty train questions over documents that compare amounts seven are decided so, all of them rightly.
"""
QUOTED = 0.75
"""Confidence in quoted sentences as the answer to how, why and what something means.

Of 30 such train questions over documents promotion calls ten enough, all ten with the evidence in the core's
first unit, none of them unanswerable; over two folders of strangers what is quoted told eight of eleven.
"""
DOUBT = (0.1, 0.55)
"""From which confidence on and up to which the units beyond the core are read as well.

Of 588 held-out train questions over documents 42 % are in doubt. Where the core leaves less hope, the others
hardly ever tell (5 right answers in 203 questions); above, the core tells better alone.
"""
SHARES = [0.45, 0.55]
"""How much the logits of two networks count, the larger one's first.

Of 588 held-out train questions over documents the answers of confidence 0.4 and more are right 159 times in
238 with equal shares, 161 in 246 like this, 152 in 239 with 0.4. The less it is, the less the order of units
matters.
"""
HOPE, WITHHELD = (0.05, 0.005), 0.4
"""Below which probability of the small network's best answer the larger one does not read, or not yet.

The first is for the core while there are others to read, the second for what is read last. A core that is put
off is read after all where the whole context is worth reading and leaves doubt; the context is looked at
unless promotion calls it insufficient. Both networks read everything in a reader that gives answers of less
confidence than ``WITHHELD``; in others, what is spared would be withheld: of 588 held-out train questions
over documents 135 are answered rightly and 29 wrongly with the rule and without it, of those that have no
answer 18 instead of 19, and the larger network reads 491 tokens a question, not 683.
"""


class ExtractiveReader(AtOnceReader):
    """Answer with words of the context, and say where they stand.

    The first citation is the span's unit with character offsets; of a span of the title it is the sentence
    that says what is asked, the place that repeats it, or the document's first unit with an empty quotation.
    Yes and no cite the sentences of the units that support them. A yes or no that no sentence bears out is
    hardly sure, nor is an answer of another year than the question's; a sentence that says yes or no in the
    question's words decides (``polar.py``).
    A question that compares the dates of two is decided by the dates (``compare.py``) and cites their units.
    Text in the context is never obeyed: there is nothing that could obey it. ``confidence`` is the
    calibrated probability that the answer is right; an abstention has none. A context longer than one window
    is read in several, up to 60,000 characters of a unit and 200,000 of all units.

    Where ``pagerag-reader`` is installed two networks read: its larger one and the small one of
    ``pagerag-models``, and the mean of their logits counts. They err in different places: the larger knows
    more words, the small one is less led by the order of the units. The small one reads first; where it finds
    nothing that could be answered the larger one is spared. ``folder`` names files of another
    network, ``beside`` those of a second one; both must use one tokenizer.

    It abstains when the probability of "no answer" is above ``none_threshold`` (shipped: more likely than
    not), and when the answer's confidence, in which promotion's state counts, is below ``least_confidence``
    (a wrong answer costs more than none; by default what was fitted, docs/models.md has what other values
    cost and save). With 0 it always answers, unless ``none_threshold`` is given too. Where it would abstain
    and the evidence is enough, how, why and what something means are answered by quoting the core.
    """

    name = "extractive"
    prefers: ContextPreference = "core"

    def __init__(
        self,
        *,
        folder: str | Path | None = None,
        beside: str | Path | None = None,
        threads: int | None = None,
        none_threshold: float | None = None,
        least_confidence: float | None = None,
        longest: int = 30,
    ) -> None:
        if folder is None and (larger := reader_folder()) is not None:
            folder, beside = larger, package_folder()
        places = [Path(folder) if folder else None, *([Path(beside)] if beside else [])]
        self._models = [open_model("reader", place, threads) for place in places]
        facts = self._models[0].facts["calibration"]
        try:
            self._offset = float(facts["offset"])
            fitted_least = float(facts["least_confidence"])
            self._weights = {name: float(facts["weights"][name]) for name in SIGNS}
        except (KeyError, TypeError, ValueError) as error:
            raise WeightsError(
                f"the reader's calibration is of another version ({error}); install its package again"
            ) from error
        least = fitted_least if least_confidence is None else least_confidence
        fitted = float(facts["none_threshold"]) if least > 0 else 1.0
        given = fitted if none_threshold is None else none_threshold
        for name, value in (("none_threshold", given), ("least_confidence", least)):
            if not 0 <= value <= 1:
                raise InputError(f"{name} is {value}; it must be between 0 and 1")
        self.none_threshold, self.least_confidence = float(given), least
        self.longest = longest

    @property
    def identity(self) -> str:
        """Everything that decides an answer besides the question and the context."""
        networks = " ".join(model.digest[:12] for model in self._models)
        least = self.least_confidence
        return (
            f"{self.name} {networks} {self.none_threshold} {least} {self.longest} {HOPE} "
            "dates amounts polar sides parts quotes"
        )

    def read(self, question: str, context: Sequence[Candidate], *, state: State = "enough") -> Answer:
        """Return the best answer that ``context`` holds, or an abstention."""
        return self.read_on(question, context, (), state=state)

    def read_on(
        self,
        question: str,
        core: Sequence[Candidate],
        others: Sequence[Candidate],
        *,
        state: State = "enough",
    ) -> Answer:
        """Return the best answer that the core holds or, where that leaves doubt, the core with the others.

        Citations number the units of the core first.
        """
        if not question.strip():
            raise InputError("the question is empty")
        began = time.perf_counter()
        context = bounded([*core, *others], unit=LONGEST_UNIT, total=LONGEST_CONTEXT)
        decided, tokens = self._compared(question, context)
        if decided is None:
            decided, more = self._answered(question, context, len(core), state)
            tokens += more
        return replace(decided, usage={"tokens": tokens, "seconds": time.perf_counter() - began})

    def _answered(
        self, question: str, context: Sequence[Candidate], core: int, state: State
    ) -> tuple[Answer, int]:
        """Return what the networks answer, and how many tokens they read."""
        near = self._asked(question, context[:core])
        more_to_read, filled = core < len(context), False
        first, last = HOPE if self.least_confidence >= WITHHELD else (0.0, 0.0)
        found, whole = self._heard(near, first if more_to_read else last)
        confidence, tokens = self._confidence(found, state), near.tokens
        doubtful = DOUBT[0] <= confidence < DOUBT[1] if whole else state != "insufficient"
        if more_to_read and doubtful:
            far = self._asked(question, context)
            wider, hopeful = self._heard(far, last)
            surer, tokens = self._confidence(wider, state, filled=True), tokens + far.tokens
            if hopeful and not whole and surer < DOUBT[1]:
                found, _ = self._heard(near)
                confidence = self._confidence(found, state)
            if surer > confidence:
                found, confidence, filled = wider, surer, True
        if found is None:
            return Answer("", (), abstained=True, reader=self.name), tokens
        told, raw = found, found.text
        unfound = tuple(part.asked for part in found.of if not part.text)
        if not self._given(found, confidence) and found.of:
            # What one part lacks is no reason to keep back another.
            sure = [self._confidence(part, state, filled=filled) for part in found.of]
            kept = [part for part, p in zip(found.of, sure, strict=True) if self._given(part, p)]
            unfound = tuple(part.asked for part in found.of if part not in kept)
            if kept:
                told = together(kept, each=near.each) if len(kept) > 1 else kept[0]
                confidence = min(p for part, p in zip(found.of, sure, strict=True) if part in kept)
        if not self._given(told, confidence):
            if state == "enough" and (quoted := self._quoted(question, context, core)) is not None:
                return replace(quoted, raw=raw), tokens
            return Answer("", (), abstained=True, reader=self.name, raw=raw), tokens
        return Answer(
            told.text, told.citations, confidence, reader=self.name, raw=raw, unfound=unfound
        ), tokens

    def _quoted(self, question: str, context: Sequence[Candidate], core: int) -> Answer | None:
        """Return the core's sentences as the answer to how, why and what something means; else None.

        No span of thirty words is such an answer, and the evidence is enough: the passage itself tells it,
        and what the context has of the rest of its section.
        """
        if self.least_confidence > QUOTED or not told_at_length(read_question(question)):
            return None
        if not speaks_of(question, context[:core]):
            return None
        first = context[0]
        near = [
            place
            for place, unit in enumerate(context)
            if place < core
            or (first.sections and (unit.document, unit.sections) == (first.document, first.sections))
        ]
        units, numbers = [context[place] for place in near], [place + 1 for place in near]
        citations = quotations(question, units, numbers, whole=True)
        return replace(quoting(citations, self.name), confidence=QUOTED) if citations else None

    def _given(self, found: Composed, confidence: float) -> bool:
        """Tell whether an answer of this confidence is given, not withheld."""
        sure = confidence >= self.least_confidence and found.none <= self.none_threshold
        return bool(found.text) and sure

    def _compared(self, question: str, context: Sequence[Candidate]) -> tuple[Answer | None, int]:
        """Return the answer that dates, amounts or a sentence decide, and how many tokens were read."""
        dated = compare(question, context)
        if dated is not None and self.least_confidence <= COMPARED:
            cited = tuple(Citation(unit + 1, context[unit].id) for unit in dated.units)
            return Answer(dated.option, cited, COMPARED, reader=self.name, raw=dated.option), 0
        reason = said_outright(question, context) if self.least_confidence <= SAID else None
        if reason is not None:
            return Answer(reason.said, (reason.cited(context),), SAID, reader=self.name, raw=reason.said), 0
        asked = contest(question) if self.least_confidence <= WEIGHED else None
        if asked is None:
            return None, 0
        found = []
        tokens, read = 0, TokenContext.of(context, self._models[0].tokens)
        for places, each in zip(units_about(asked.options, context), asked.asked, strict=True):
            part = AskedContext([self._part(SubQuestion(each), read.only(places))], self.longest)
            self._heard(part)
            tokens += part.tokens
            spans = (span for _, span in ranked_spans(part.windows()[0]) if span.p >= LEAST_AMOUNT)
            told = ((told_amount(span.text, each), span.citation) for span in spans)
            amount, citation = next((one for one in told if one[0] is not None), (None, None))
            if amount is None or citation is None:
                return None, tokens
            found.append((amount, citation))
        winner = decide([amount for amount, _ in found], asked)
        if winner is None:
            return None, tokens
        cited = tuple(dict.fromkeys((found[winner][1], *(citation for _, citation in found))))
        text = asked.options[winner]
        return Answer(text, cited, WEIGHED, reader=self.name, raw=text), tokens

    def find(self, question: str, context: Sequence[Candidate]) -> tuple[Composed | None, int]:
        """Return the best answer with what its confidence is read from, and how many tokens were read.

        A text that asks several questions is read once for each: one span seldom holds two answers. What is
        asked of each thing of an enumeration is read in the units about it, where there are any.
        """
        asked = self._asked(question, context)
        return self._heard(asked)[0], asked.tokens

    def _asked(self, question: str, context: Sequence[Candidate]) -> AskedContext:
        """Return the question, or those that it asks one after another, over the context."""
        read = TokenContext.of(context, self._models[0].tokens)
        asked = sub_questions(question)
        enumerated = len(asked) > 1 and all(one.thing for one in asked)
        about = units_about([one.thing for one in asked], context) if enumerated else [[]] * len(asked)
        parts = [
            self._part(one, read.only(places) if places else read)
            for one, places in zip(asked, about, strict=True)
        ]
        return AskedContext(parts, self.longest, enumerated)

    def _part(
        self, question: SubQuestion, read: TokenContext
    ) -> tuple[SubQuestion, TokenContext, list[Packed]]:
        asked = self._models[0].tokens([question.text[:LONGEST_UNIT]])[0][0][:QUESTION_CAP]
        return question, read, read.packed(asked)

    def _heard(self, asked: AskedContext, hope: float = 0.0) -> tuple[Composed | None, bool]:
        """Return the answer of the networks, and whether all of them read.

        The last one reads first; where it gives its best answer less than ``hope``, the others do not.
        """
        for place, model in reversed(list(enumerate(self._models))):
            asked.hear(model, SHARES[place])
            if place and hope and ((best := asked.composed()) is None or best.hope < math.log(hope)):
                return best, False
        return asked.composed(), True

    def _confidence(self, found: Composed | None, state: State, *, filled: bool = False) -> float:
        """Return P(right) = sigmoid(offset + Σ weight · sign), fitted on questions that were held out."""
        if found is None:
            return 0.0
        signs = found.signs(state, filled=filled)
        total = self._offset + sum(weight * signs[name] for name, weight in self._weights.items())
        return min(found.ceiling, float(sigmoid(np.array(total))))


extractive_reader = ExtractiveReader
"""Open the shipped reader, or one whose files lie in ``folder`` (and a second, ``beside`` it)."""
