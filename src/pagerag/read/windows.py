"""A context as the networks read it: token sequences, and their logits as spans with places in the units."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from pagerag.models.blocks import block_starts, clean_span, token_blocks
from pagerag.models.decode import KINDS, SPAN_CHANNELS, UNIT_CHANNELS, best_spans, log_softmax, unit_logits
from pagerag.models.files import Model, Tokens
from pagerag.models.packing import Packed, TokenUnit, pack, windows
from pagerag.read.compose import Composed, Span, Window, compose, together
from pagerag.units import Candidate, Citation

__all__ = ["AskedContext", "AskedPart", "TokenContext", "cite"]

TITLE_CAP = 20
PIECE, STRIDE = 400, 340
"""A longer unit is read in overlapping pieces of so many tokens."""
SPANS = 24
"""Spans that are looked at in each window."""

Logits = tuple[NDArray[np.float32], NDArray[np.float32]]
"""Of tokens and of kinds."""


@dataclass(frozen=True, slots=True)
class _Piece:
    """A run of one unit's tokens: which unit, where they lie in its text, and which of them are one block."""

    unit: int
    offsets: list[tuple[int, int]]
    blocks: list[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class TokenContext:
    """A context as tokens: the units that are packed, what each is a piece of, and the titles with places."""

    context: Sequence[Candidate]
    units: list[TokenUnit]
    pieces: list[_Piece]
    titles: Sequence[tuple[list[int], list[tuple[int, int]]]]

    @classmethod
    def of(cls, context: Sequence[Candidate], tokens: Tokens) -> Self:
        """Return the context as the networks read it, whatever is asked of it."""
        encoded = tokens([*(u.title or "" for u in context), *(u.text for u in context)])
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
        return cls(context, units, pieces, titles)

    def only(self, places: Collection[int]) -> Self:
        """Return the units at ``places`` alone; they keep their numbers."""
        kept = [n for n, piece in enumerate(self.pieces) if piece.unit in places]
        return replace(self, units=[self.units[n] for n in kept], pieces=[self.pieces[n] for n in kept])

    def packed(self, asked: Sequence[int]) -> list[Packed]:
        """Return the sequences that the networks read, each of the question and as many units as fit."""
        return [pack(asked, self.units, chosen) for chosen in windows(asked, self.units)]

    def window(
        self, packed: Packed, tokens: NDArray[np.float32], kinds: NDArray[np.float32], *, longest: int
    ) -> Window:
        """Return what the logits of a sequence say; a span has at most ``longest`` tokens."""
        context, pieces, titles = self.context, self.pieces, self.titles
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
            start, end, [bounds for bounds, _ in segments], longest=longest, count=SPANS
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
                support, cited = float(logits[segment]), cite(context, piece.unit, cut)
            else:
                title = packed.titles[segment - count]
                owner = max((i for i in range(count) if packed.titles[i] == title), key=lambda i: logits[i])
                number = pieces[packed.units[owner]].unit
                offsets = titles[number][1]
                text, _ = _cut(
                    context[number].title or "", offsets[first - title[0]][0], offsets[last - title[0]][1]
                )
                support, cited = float(logits[owner]), cite(context, number, None, text)
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


@dataclass(slots=True)
class AskedPart:
    """One question over a context: the sequences, and what the networks that read them say so far."""

    question: str
    read: TokenContext
    packed: list[Packed]
    longest: int
    heard: list[tuple[Model, float, list[Logits]]] = field(default_factory=list)

    @property
    def tokens(self) -> int:
        """How many tokens there are to read."""
        return sum(len(each.ids) for each in self.packed)

    def hear(self, model: Model, share: float) -> None:
        """Have a network read, unless it has; ``share`` tells how much its logits count."""
        if all(model is not other for other, _, _ in self.heard):
            logits = [model(each.ids, each.types) for each in self.packed]
            self.heard.append((model, share, logits))

    def windows(self) -> list[Window]:
        """Return what the networks that have read say of each sequence."""
        shares = [share for _, share, _ in self.heard]
        found = []
        for place, each in enumerate(self.packed):
            tokens, kinds = (
                np.average([logits[place][which] for _, _, logits in self.heard], axis=0, weights=shares)
                for which in range(2)
            )
            one, other = tokens.astype(np.float32), kinds.astype(np.float32)
            found.append(self.read.window(each, one, other, longest=self.longest))
        return found


@dataclass(slots=True)
class AskedContext:
    """The questions that a text asks, ``each`` of several things or one after another, over a context."""

    parts: list[AskedPart]
    each: bool = False

    @property
    def tokens(self) -> int:
        """How many tokens there are to read."""
        return sum(part.tokens for part in self.parts)

    def hear(self, model: Model, share: float) -> None:
        """Have a network read every part."""
        for part in self.parts:
            part.hear(model, share)

    def composed(self) -> Composed | None:
        """Return the best answer of the networks that have read, or nothing where there is none to read."""
        found = [compose(part.question, part.windows()) for part in self.parts]
        parts = [part for part in found if part is not None]
        if not parts or len(parts) < len(found):
            return None
        return parts[0] if len(parts) == 1 else together(parts, each=self.each)


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


def cite(
    context: Sequence[Candidate], unit: int, place: tuple[int, int] | None, quote: str | None = None
) -> Citation:
    """Return the citation of a unit of the context: of the characters at ``place``, or of the unit."""
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
    return tuple(cite(context, unit, None) for unit in units)
