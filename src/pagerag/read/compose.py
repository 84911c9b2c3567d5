"""Make the answer of what a network found: one span, several where several things are asked, yes or no."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from pagerag.text.sub_questions import parts_asked
from pagerag.units import Citation, State

__all__ = ["SIGNS", "Composed", "Span", "Window", "compose", "ranked_spans", "together"]

SIGNS = ("p", "support", "parts", "filled", "enough", "lacking")
"""What confidence is read from, as ``Composed.signs`` tells it."""
_WANTED = re.compile(r"\b(?:who|when|where)\b", re.IGNORECASE)
"""Words of which two questions may want the same; "which" and "how many" want what their nouns say."""
_NEVER = -30.0
"""The log probability of what is no answer."""
BESIDE = 0.15
"""A further part is as probable as the best span times this, at least."""


@dataclass(frozen=True, slots=True)
class Span:
    """Words of the context that may be the answer, or a part of it.

    ``p`` is the probability of this text among all spans, its places added up; ``support`` tells how well the
    network thinks of the unit it stands in.
    """

    text: str
    p: float
    support: float
    citation: Citation


@dataclass(frozen=True, slots=True)
class Window:
    """What the network says of one window: log probabilities of the kinds of answer, and the best spans."""

    kinds: dict[str, float]
    spans: tuple[Span, ...]
    supporting: tuple[Citation, ...]
    """The units that a yes or a no rests on."""
    best_support: float


@dataclass(frozen=True, slots=True)
class Composed:
    """An answer with what its confidence is read from."""

    text: str
    citations: tuple[Citation, ...]
    raw: float
    """log P(kind) + log P(span), the spans of an answer in parts added up."""
    none: float
    """The probability that the context holds no answer, in the window that thinks least so."""
    support: float
    """How well the network thinks of the units that the answer stands in, as a logit."""
    parts: int
    kind: str = "span"
    margin: float = 0.0
    """Of a yes or a no: by how much its log probability is above the other's."""
    ceiling: float = 1.0
    """The confidence that it has at most: what nothing in the text bears out is not sure."""
    asked: str = ""
    """Of one of several parts: the words that ask for it."""
    of: tuple[Composed, ...] = ()
    """The parts that this is put together of."""

    @property
    def hope(self) -> float:
        """Return the log probability of the answer, or of its best part."""
        return max((part.raw for part in self.of), default=self.raw)

    def signs(self, state: State, *, filled: bool = False) -> dict[str, float]:
        """Return what confidence is read from, each from 0 to 1.

        ``state`` is promotion's of the evidence; ``filled`` tells that more than the core was read.
        """
        p, support = math.exp(min(self.raw, 0.0)), 0.5 + 0.5 * math.tanh(0.5 * self.support)
        told = (self.parts > 1, filled, state == "enough", state == "insufficient")
        return dict(zip(SIGNS, (p, support, *map(float, told)), strict=True))


def compose(question: str, windows: Sequence[Window]) -> Composed | None:
    """Return the best answer of all windows, or nothing where there is none to read."""
    if not windows:
        return None
    none = min(math.exp(window.kinds["none"]) for window in windows)
    best = max(windows, key=_worth)
    kind = max(("span", "yes", "no"), key=lambda name: best.kinds[name])
    if kind != "span":
        margin = best.kinds[kind] - best.kinds["no" if kind == "yes" else "yes"]
        return Composed(kind, best.supporting, best.kinds[kind], none, best.best_support, 1, kind, margin)
    spans = ranked_spans(windows)
    if not spans:
        return Composed("", (), best.kinds["span"], none, -6.0, 1)
    wanted = parts_asked(question)
    taken = [spans[0]]
    for p, span in spans[1:]:
        if len(taken) < wanted and p >= BESIDE * spans[0][0] and not any(_meets(span, t) for _, t in taken):
            taken.append((p, span))
    chosen = [span for _, span in taken]
    return Composed(
        "; ".join(span.text for span in chosen),
        tuple(span.citation for span in chosen),
        math.log(max(sum(p for p, _ in taken), 1e-30)),
        none,
        sum(span.support for span in chosen) / len(chosen),
        len(chosen),
    )


def ranked_spans(windows: Sequence[Window]) -> list[tuple[float, Span]]:
    """Return the spans of all windows, best first: P(the answer is a span) · P(this span) in its window."""
    spans = [(math.exp(w.kinds["span"]) * span.p, span) for w in windows for span in w.spans]
    return sorted(spans, key=lambda pair: -pair[0])


def together(parts: Sequence[Composed], *, each: bool = False) -> Composed:
    """Return one answer of the answers to the questions that one asks; it is as sure as its weakest part.

    What is the same is said once, unless it is asked of ``each`` of several things. One place is no answer to
    "who?" and "when?": the less probable of the two is none.
    """
    if not each:
        parts = [
            replace(part, text="", raw=_NEVER)
            if any(_has_place_of(other, part, later=place < n) for n, other in enumerate(parts) if n != place)
            else part
            for place, part in enumerate(parts)
        ]
    said = [part.text for part in parts if part.text]
    texts = said if each else list(dict.fromkeys(said))
    return Composed(
        "; ".join(texts),
        tuple(dict.fromkeys(citation for part in parts if part.text for citation in part.citations)),
        min(part.raw for part in parts),
        max(part.none for part in parts),
        min(part.support for part in parts),
        max(2, len(texts)),
        "parts",
        ceiling=min(part.ceiling for part in parts),
        of=tuple(parts),
    )


def _has_place_of(other: Composed, part: Composed, *, later: bool) -> bool:
    """Tell whether another part stands where this one does, is surer of it, and asks for something else.

    "Who wrote it, and who drew it?" may have one answer.
    """
    if other.raw < part.raw or (later and other.raw == part.raw):
        return False
    kinds = [found[0].lower() if (found := _WANTED.search(one.asked)) else "" for one in (part, other)]
    same = kinds[0] != "" and kinds[0] == kinds[1]
    return not same and any(_overlap(one, two) for one in part.citations for two in other.citations)


def _overlap(one: Citation, other: Citation) -> bool:
    """Tell whether two citations have characters of a text in common."""
    if one.candidate_id != other.candidate_id or None in (one.start, one.end, other.start, other.end):
        return False
    return max(one.start or 0, other.start or 0) < min(one.end or 0, other.end or 0)


def _worth(window: Window) -> float:
    """Return the log probability of a window's best answer."""
    span = window.kinds["span"] + (math.log(max(window.spans[0].p, 1e-30)) if window.spans else -math.inf)
    return max(span, window.kinds["yes"], window.kinds["no"])


def _meets(one: Span, other: Span) -> bool:
    """Tell whether two spans say the same: they overlap, or the words of one are in the other."""
    if _overlap(one.citation, other.citation):
        return True
    words, others = set(one.text.lower().split()), set(other.text.lower().split())
    return words <= others or others <= words
