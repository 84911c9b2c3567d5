"""A context as the networks read it: token sequences, and their logits as spans with places in the units."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from pagerag.models.blocks import block_starts, clean_span, token_blocks
from pagerag.models.decode import KINDS, SPAN_CHANNELS, UNIT_CHANNELS, best_spans, log_softmax, unit_logits
from pagerag.models.excerpts import TITLE_CAP
from pagerag.models.files import Model, Tokens
from pagerag.models.packing import Packed, TokenUnit, pack, windows
from pagerag.read.compose import Composed, Span, Window, compose, together
from pagerag.read.polar import borne_out
from pagerag.read.unsaid import cut_blocks, unsaid
from pagerag.text.sub_questions import SubQuestion
from pagerag.units import Candidate, Citation

__all__ = ["AskedContext", "TokenContext"]

PIECE, STRIDE = 400, 340
"""A longer unit is read in overlapping pieces of so many tokens."""
SPANS = 24
"""Spans that are looked at in each window."""

Floats = NDArray[np.float32]
Logits = tuple[Floats, Floats]
"""Of tokens and of kinds."""


@dataclass(frozen=True, slots=True)
class _Piece:
    """A run of one unit's tokens: as it is packed, whose it is, where they lie, and which are one block.

    Tokens of the blocks may be words of an answer; those of questions and of headings' numbers are in none.
    """

    packed: TokenUnit
    unit: int
    offsets: list[tuple[int, int]]
    blocks: list[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class TokenContext:
    """A context as tokens: the titles with their places, and the pieces of the units."""

    context: Sequence[Candidate]
    titles: Sequence[tuple[list[int], list[tuple[int, int]]]]
    pieces: list[_Piece]

    @classmethod
    def of(cls, context: Sequence[Candidate], tokens: Tokens) -> Self:
        """Return the context as the networks read it, whatever is asked of it."""
        encoded = tokens([*(u.title or "" for u in context), *(u.text for u in context)])
        titles, texts = encoded[: len(context)], encoded[len(context) :]
        pieces = []
        for number, (unit, (title, _), (ids, offsets)) in enumerate(zip(context, titles, texts, strict=True)):
            begins = block_starts(unit.text)
            silent = unsaid(unit, begins)
            for start in range(0, len(ids) - (PIECE - STRIDE), STRIDE) if len(ids) > PIECE else (0,):
                run = slice(start, start + PIECE)
                place = (unit.position or 0) * 1000 + start // STRIDE
                packed = TokenUnit(unit.document, place, title[:TITLE_CAP], ids[run])
                blocks = cut_blocks(token_blocks(begins, offsets[run]), offsets[run], silent)
                pieces.append(_Piece(packed, number, offsets[run], blocks))
        return cls(context, titles, pieces)

    def only(self, places: Collection[int]) -> Self:
        """Return the units at ``places`` alone; they keep their numbers."""
        return replace(self, pieces=[piece for piece in self.pieces if piece.unit in places])

    def packed(self, asked: Sequence[int]) -> list[Packed]:
        """Return the sequences that the networks read, each of the question and as many units as fit."""
        units = [piece.packed for piece in self.pieces]
        return [pack(asked, units, chosen) for chosen in windows(asked, units)]

    def window(self, packed: Packed, tokens: Floats, kinds: Floats, *, longest: int) -> Window:
        """Return what the logits of a sequence say; a span has at most ``longest`` tokens."""
        logits = unit_logits(tokens, UNIT_CHANNELS["support"], packed.markers, packed.spans)
        question = np.array(packed.types) == 0
        start, end = (
            log_softmax(np.where(question, np.float32(-1e4), tokens[:, SPAN_CHANNELS[name]]))
            for name in ("start", "end")
        )
        pieces = [self.pieces[place] for place in packed.units]
        # The runs of tokens that a span may not leave: each with its piece, or None for a title.
        segments: list[tuple[int, int, int | None]] = [
            (low + first, low + last, row)
            for row, (piece, (low, _)) in enumerate(zip(pieces, packed.spans, strict=True))
            for first, last in piece.blocks
        ]
        segments += [(*bounds, None) for bounds in packed.titles]
        # Training counted every place of the answer as right, so the places of one text share its
        # probability: they are added up before the best text is taken.
        total: dict[str, float] = {}
        best: dict[str, tuple[str, float, Citation]] = {}
        seen: set[tuple[int, int]] = set()
        for score, first, last, place in best_spans(
            start, end, [(low, high) for low, high, _ in segments], longest=longest, count=SPANS
        ):
            if (first, last) in seen:  # units of one document share its title
                continue
            seen.add((first, last))
            low, high, row = segments[place]
            titled = row is None
            if row is None:
                shared = [i for i, title in enumerate(packed.titles) if title == (low, high)]
                row = max(shared, key=lambda i: logits[i])
            number = pieces[row].unit
            unit = self.context[number]
            text, offsets, low = (
                (unit.title or "", self.titles[number][1], low)
                if titled
                else (unit.text, pieces[row].offsets, packed.spans[row][0])
            )
            cut = clean_span(text, offsets[first - low][0], offsets[last - low][1])
            said = text[slice(*cut)]
            if key := " ".join(said.lower().split()):
                told = (None, None) if titled else cut
                cited = Citation(number + 1, unit.id, told[0], told[1], said)
                total[key] = total.get(key, 0.0) + float(np.exp(score))
                best.setdefault(key, (" ".join(said.split()), float(logits[row]), cited))
        spans = [Span(best[key][0], p, *best[key][1:]) for key, p in total.items()]
        # A yes or a no rests on the units that the network calls supporting, on the best one at least.
        order = np.argsort(-logits, kind="stable").tolist()
        chosen = dict.fromkeys(pieces[i].unit for i in ([i for i in order if logits[i] > 0] or order[:1]))
        return Window(
            dict(zip(KINDS, log_softmax(kinds).tolist(), strict=True)),
            tuple(sorted(spans, key=lambda span: -span.p)),
            tuple(Citation(unit + 1, self.context[unit].id) for unit in chosen),
            float(logits.max(initial=-20.0)),
        )


@dataclass(slots=True)
class AskedContext:
    """The questions that a text asks, ``each`` of several things or one after another, over a context.

    A part is one question, the units it is asked of, and the sequences; ``heard`` is what networks say.
    """

    parts: list[tuple[SubQuestion, TokenContext, list[Packed]]]
    longest: int
    each: bool = False
    heard: list[tuple[Model, float, list[list[Logits]]]] = field(default_factory=list)

    @property
    def tokens(self) -> int:
        """How many tokens there are to read."""
        return sum(len(one.ids) for _, _, packed in self.parts for one in packed)

    def hear(self, model: Model, share: float) -> None:
        """Have a network read, unless it has; ``share`` tells how much its logits count."""
        if all(model is not other for other, _, _ in self.heard):
            logits = [[model(one.ids, one.types) for one in packed] for _, _, packed in self.parts]
            self.heard.append((model, share, logits))

    def windows(self) -> list[list[Window]]:
        """Return what the networks that have read say of each sequence of each part."""
        shares = [share for _, share, _ in self.heard]
        found: list[list[Window]] = []
        for number, (_, read, packed) in enumerate(self.parts):
            found.append([])
            for place, one in enumerate(packed):
                said = zip(*(logits[number][place] for _, _, logits in self.heard), strict=True)
                tokens, kinds = (np.average(x, axis=0, weights=shares).astype(np.float32) for x in said)
                found[-1].append(read.window(one, tokens, kinds, longest=self.longest))
        return found

    def composed(self) -> Composed | None:
        """Return the best answer of the networks that have read, or nothing where there is none to read."""
        parts = [
            (compose(question.text, said), question, read.context)
            for (question, read, _), said in zip(self.parts, self.windows(), strict=True)
        ]
        found = [
            replace(borne_out(part, question.text, context), asked=question.asked)
            for part, question, context in parts
            if part is not None
        ]
        if not found or len(found) < len(parts):
            return None
        return found[0] if len(found) == 1 else together(found, each=self.each)
