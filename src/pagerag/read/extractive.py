"""The extractive reader: a span of the context, yes, no, or nothing, with the unit it stands in."""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pagerag.errors import InputError, WeightsError
from pagerag.models.blocks import block_starts, clean_span, token_blocks
from pagerag.models.decode import (
    KINDS,
    SPAN_CHANNELS,
    UNIT_CHANNELS,
    best_spans,
    log_softmax,
    sigmoid,
    unit_logits,
)
from pagerag.models.files import Model, package_folder, reader_folder
from pagerag.models.packing import Packed, TokenUnit, pack, windows
from pagerag.protocols import ContextPreference
from pagerag.read.amounts import Amount, contest, decide, told_amount, units_about
from pagerag.read.base import AtOnceReader, bounded
from pagerag.read.compose import SIGNS, Composed, Span, Window, compose, ranked_spans, together
from pagerag.read.dates import compare
from pagerag.text.sub_questions import sub_questions
from pagerag.units import Answer, Candidate, Citation, State

__all__ = ["ExtractiveReader", "extractive_reader"]

QUESTION_CAP, TITLE_CAP = 80, 20
PIECE, STRIDE = 400, 340
"""A longer unit is read in overlapping pieces of so many tokens."""
LONGEST_UNIT, LONGEST_CONTEXT = 60_000, 200_000
"""Characters that are read of one unit and of all; a passage has some 1,000."""
SPANS = 24
"""Spans that are looked at in each window."""
COMPARED = 0.95
"""Confidence in an answer that dates decide: 74 of 75 were right among all units of 2Wiki train questions."""
WEIGHED, LEAST_AMOUNT = 0.85, 0.35
"""Confidence in an answer that amounts decide, and the least probability of each amount among its spans.

Of twenty train questions over documents that compare amounts seven are decided so, all of them rightly.
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


@dataclass(frozen=True, slots=True)
class _Piece:
    """A run of one unit's tokens: which unit, where they lie in its text, and which of them are one block."""

    unit: int
    offsets: list[tuple[int, int]]
    blocks: list[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class _Tokenized:
    """A context as tokens: the units that are packed, what each is a piece of, and the titles with places."""

    units: list[TokenUnit]
    pieces: list[_Piece]
    titles: Sequence[tuple[list[int], list[tuple[int, int]]]]

    def only(self, places: Collection[int]) -> _Tokenized:
        """Return the units at ``places`` alone; they keep their numbers."""
        kept = [n for n, piece in enumerate(self.pieces) if piece.unit in places]
        return _Tokenized([self.units[n] for n in kept], [self.pieces[n] for n in kept], self.titles)


class ExtractiveReader(AtOnceReader):
    """Answer with words of the context, and say where they stand.

    The first citation is the span's unit with character offsets (a span of the title cites the unit of
    that document which supports most, without offsets); yes and no cite the units that support them.
    A question that compares the dates of two is decided by the dates (``compare.py``) and cites their units.
    Text in the context is never obeyed: there is nothing that could obey it. ``confidence`` is the
    calibrated probability that the answer is right, and for an abstention the probability that the
    context holds no answer. A context longer than one window is read in several, up to 60,000 characters of a
    unit and 200,000 of all units.

    Where ``pagerag-reader`` is installed two networks read: its larger one and the small one of
    ``pagerag-models``, and the mean of their logits counts. They err in different places: the larger knows
    more words, the small one is less led by the order of the units. ``folder`` names files of another
    network, ``beside`` those of a second one; both must use one tokenizer.

    It abstains when the probability of "no answer" is above ``none_threshold`` (shipped: more likely than
    not), and when the answer's confidence, in which promotion's state counts, is below ``least_confidence``
    (a wrong answer costs more than none; by default what was fitted, docs/models.md has what other values
    cost and save). With 0 it always answers, unless ``none_threshold`` is given too.
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
        self._models = [Model("reader", folder=place, threads=threads) for place in places]
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
        return f"{self.name} {networks} {self.none_threshold} {least} {self.longest} dates amounts"

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
        found, tokens = self.find(question, context[:core])
        confidence = 0.0 if found is None else self._confidence(found, state)
        if core < len(context) and DOUBT[0] <= confidence < DOUBT[1]:
            wider, more = self.find(question, context)
            tokens += more
            if wider is not None and (surer := self._confidence(wider, state, filled=True)) > confidence:
                found, confidence = wider, surer
        if found is None:
            return Answer("", (), 1.0, abstained=True, reader=self.name), tokens
        if not found.text or confidence < self.least_confidence or found.none > self.none_threshold:
            return Answer("", (), found.none, abstained=True, reader=self.name, raw=found.text), tokens
        return Answer(found.text, found.citations, confidence, reader=self.name, raw=found.text), tokens

    def _compared(self, question: str, context: Sequence[Candidate]) -> tuple[Answer | None, int]:
        """Return the answer to a question that compares dates or amounts, and how many tokens were read."""
        dated = compare(question, context)
        if dated is not None and self.least_confidence <= COMPARED:
            cited = tuple(_cite(context, unit, None) for unit in dated.units)
            return Answer(dated.option, cited, COMPARED, reader=self.name, raw=dated.option), 0
        asked = contest(question) if self.least_confidence <= WEIGHED else None
        if asked is None:
            return None, 0
        found: list[tuple[Amount, Citation]] = []
        tokens, read = 0, self._tokenized(context)
        for option, each in zip(asked.options, asked.asked, strict=True):
            windows, count = self._windows(
                each, context, read.only(units_about(option, asked.options, context))
            )
            tokens += count
            spans = (span for _, span in ranked_spans(windows) if span.p >= LEAST_AMOUNT)
            told = ((told_amount(span.text, each), span) for span in spans)
            amount, span = next(((a, s) for a, s in told if a is not None), (None, None))
            if amount is None or span is None:
                return None, tokens
            found.append((amount, span.citation))
        winner = decide([amount for amount, _ in found], asked)
        if winner is None:
            return None, tokens
        found = [found[winner], *(one for place, one in enumerate(found) if place != winner)]
        cited = tuple(citation for _, citation in found)
        text = asked.options[winner]
        return Answer(text, cited, WEIGHED, reader=self.name, raw=text), tokens

    def find(self, question: str, context: Sequence[Candidate]) -> tuple[Composed | None, int]:
        """Return the best answer with what its confidence is read from, and how many tokens were read.

        A text that asks several questions is read once for each: one span seldom holds two answers. What is
        asked of each thing of an enumeration is read in the units about it, where there are any.
        """
        parts: list[Composed] = []
        tokens = 0
        read = self._tokenized(context)
        asked = sub_questions(question)
        things = [each.thing for each in asked]
        for text, thing in asked:
            places = units_about(thing, things, context) if thing else []
            seen, count = self._windows(text, context, read.only(places) if places else read)
            tokens += count
            part = compose(text, seen)
            if part is None:
                return None, tokens
            parts.append(part)
        return (parts[0] if len(parts) == 1 else together(parts, each=any(things))), tokens

    def _confidence(self, found: Composed, state: State, *, filled: bool = False) -> float:
        """Return P(right) = sigmoid(offset + Σ weight · sign), fitted on questions that were held out."""
        signs = found.signs(state, filled=filled)
        total = self._offset + sum(weight * signs[name] for name, weight in self._weights.items())
        return float(sigmoid(np.array(total)))

    def _tokenized(self, context: Sequence[Candidate]) -> _Tokenized:
        """Return the context as the network reads it, whatever is asked of it."""
        encoded = self._models[0].tokens([*(u.title or "" for u in context), *(u.text for u in context)])
        titles = encoded[: len(context)]
        units: list[TokenUnit] = []
        pieces: list[_Piece] = []
        for number, (unit, (ids, offsets)) in enumerate(zip(context, encoded[len(context) :], strict=True)):
            begins = block_starts(unit.text)
            for start in _starts(len(ids)):
                place = (unit.position or 0) * 1000 + start // STRIDE
                title = titles[number][0][:TITLE_CAP]
                units.append(TokenUnit(unit.document, place, title, ids[start : start + PIECE]))
                there = offsets[start : start + PIECE]
                pieces.append(_Piece(number, there, token_blocks(begins, there)))
        return _Tokenized(units, pieces, titles)

    def _windows(
        self, question: str, context: Sequence[Candidate], read: _Tokenized
    ) -> tuple[list[Window], int]:
        """Return what the networks say of each window, and how many tokens were read."""
        asked = self._models[0].tokens([question[:LONGEST_UNIT]])[0][0][:QUESTION_CAP]
        found, total = [], 0
        for window in windows(asked, read.units):
            packed = pack(asked, read.units, window)
            total += len(packed.ids)
            each = [model(packed.ids, packed.types) for model in self._models]
            shares = SHARES if len(each) > 1 else None
            tokens, kinds = (
                np.average(parts, axis=0, weights=shares).astype(np.float32)
                for parts in zip(*each, strict=True)
            )
            found.append(self._window(tokens, kinds, packed, context, read))
        return found, total

    def _window(
        self,
        tokens: NDArray[np.float32],
        kinds: NDArray[np.float32],
        packed: Packed,
        context: Sequence[Candidate],
        read: _Tokenized,
    ) -> Window:
        pieces, titles = read.pieces, read.titles
        logits = unit_logits(tokens, UNIT_CHANNELS["support"], packed.markers, packed.spans)
        question = np.array(packed.types) == 0
        start, end = (
            log_softmax(np.where(question, np.float32(-1e4), tokens[:, SPAN_CHANNELS[name]]))
            for name in ("start", "end")
        )
        count = len(packed.units)
        segments = _segments(packed, pieces)
        # Training counted every place of the answer as right, so the places of one text share its
        # probability: they are added up before the best text is taken.
        total: dict[str, float] = {}
        best: dict[str, tuple[str, float, Citation]] = {}
        seen: set[tuple[int, int]] = set()
        for score, first, last, place in best_spans(
            start, end, [bounds for bounds, _ in segments], longest=self.longest, count=SPANS
        ):
            segment = segments[place][1]
            if (first, last) in seen:  # units of one document share its title
                continue
            seen.add((first, last))
            if segment < count:
                piece = pieces[packed.units[segment]]
                low = packed.spans[segment][0]
                text, cut = _cut(
                    context[piece.unit].text, piece.offsets[first - low][0], piece.offsets[last - low][1]
                )
                support, cited = float(logits[segment]), _cite(context, piece.unit, cut)
            else:
                title = packed.titles[segment - count]
                owner = max((i for i in range(count) if packed.titles[i] == title), key=lambda i: logits[i])
                number = pieces[packed.units[owner]].unit
                offsets = titles[number][1]
                text, _ = _cut(
                    context[number].title or "", offsets[first - title[0]][0], offsets[last - title[0]][1]
                )
                support, cited = float(logits[owner]), _cite(context, number, None, text)
            key = " ".join(text.lower().split())
            if key:
                total[key] = total.get(key, 0.0) + float(np.exp(score))
                best.setdefault(key, (text, support, cited))
        spans = [Span(best[key][0], p, *best[key][1:]) for key, p in total.items()]
        spans.sort(key=lambda span: -span.p)
        return Window(
            dict(zip(KINDS, log_softmax(kinds).tolist(), strict=True)),
            tuple(spans),
            _supporting(logits, packed, pieces, context),
            float(logits.max(initial=-20.0)),
        )


def _starts(length: int) -> range:
    """Return where the pieces of a unit of so many tokens begin; an empty unit is one empty piece."""
    return range(0, max(1, length - (PIECE - STRIDE)), STRIDE) if length > PIECE else range(1)


def _segments(packed: Packed, pieces: Sequence[_Piece]) -> list[tuple[tuple[int, int], int]]:
    """Return the runs of tokens that a span may not leave, each with its unit's number.

    A title has the number of its unit plus the number of units.
    """
    found = [
        ((low + first, low + last), number)
        for number, (low, _) in enumerate(packed.spans)
        for first, last in pieces[packed.units[number]].blocks
    ]
    return found + [(title, len(packed.units) + number) for number, title in enumerate(packed.titles)]


def _cut(text: str, start: int, end: int) -> tuple[str, tuple[int, int]]:
    """Return the span as whole words without loose punctuation at its ends, and its place."""
    start, end = clean_span(text, start, end)
    return text[start:end], (start, end)


def _cite(
    context: Sequence[Candidate], unit: int, place: tuple[int, int] | None, quote: str | None = None
) -> Citation:
    if place is None:
        return Citation(unit + 1, context[unit].id, quote=quote)
    return Citation(unit + 1, context[unit].id, *place, context[unit].text[slice(*place)])


def _supporting(
    logits: NDArray[np.float32], packed: Packed, pieces: Sequence[_Piece], context: Sequence[Candidate]
) -> tuple[Citation, ...]:
    """Return the units that a yes or a no rests on, best first; the best one at least."""
    order = np.argsort(-logits, kind="stable")
    chosen = [int(i) for i in order if logits[i] > 0] or [int(order[0])]
    units = list(dict.fromkeys(pieces[packed.units[i]].unit for i in chosen))
    return tuple(_cite(context, unit, None) for unit in units)


def extractive_reader(
    *,
    folder: str | Path | None = None,
    beside: str | Path | None = None,
    threads: int | None = None,
    none_threshold: float | None = None,
    least_confidence: float | None = None,
) -> ExtractiveReader:
    """Open the shipped reader, or one whose files lie in ``folder`` (and a second, ``beside`` it)."""
    return ExtractiveReader(
        folder=folder,
        beside=beside,
        threads=threads,
        none_threshold=none_threshold,
        least_confidence=least_confidence,
    )
