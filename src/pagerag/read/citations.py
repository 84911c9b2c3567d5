"""Citations: read from a reader's reply, checked against the context, or found where none was given."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from pagerag._visible import composed
from pagerag.read.prompts import DECLINE
from pagerag.units import Answer, Candidate, Citation, State

__all__ = ["Reply", "answer_from", "locate", "parse"]

# Replies are written by others: every pattern here takes time linear in the text (tests/read/test_linear.py).
# A run of spaces is entered at its first character alone (look-behind) and never given back (possessive).
# [2], [2, 5], [2][5], [1-3], 【2】, [unit 2]
_MARK = re.compile(
    r"(?<!\s)\s*+[\[【]\s*+((?:units?\s*+)?\d{1,6}(?:\s*+(?:,|;|and|-|–)\s*+\d{1,6})*+)\s*+[\]】]",
    re.IGNORECASE,
)
_DIGITS = re.compile(r"\d+")
_RANGE = re.compile(r"(\d{1,6})\s*+[-–]\s*+(\d{1,6})")
_THOUGHT = re.compile(r"<think>.*?(?:</think>|\Z)", re.DOTALL | re.IGNORECASE)
_LEAD = re.compile(r"^(?:(?:the\s+)?(?:short\s+|final\s+)?answer(?:\s+is)?)\s*[:：]\s*", re.IGNORECASE)
_DECLINED = re.compile(r"^\W*(?:not enough (?:evidence|information)|insufficient evidence)\b", re.IGNORECASE)
_BLANKS = re.compile(r"[ \t]+")
_BEFORE_STOP = re.compile(r"(?<!\s)\s++([.,;:!?])")
_WORD = re.compile(r"\w+")
_LONGEST_RANGE = 50
_MOST_NUMBERS = 1_000
"""Cited numbers that are looked at; no context has so many units that are cited together."""
_MOST_WORDS, _LONGEST_WORDS = 60, 600
"""A longer answer is no quotation, and is not looked for in the units."""


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply taken apart: the words, the citations that hold, the numbers that do not, a refusal."""

    text: str
    citations: tuple[Citation, ...]
    rejected: tuple[int, ...]
    declined: bool


def parse(reply: str, context: Sequence[Candidate]) -> Reply:
    """Take ``reply`` apart. A cited number that names no unit of the context is rejected, not guessed."""
    said = _THOUGHT.sub("", reply).strip()
    cited = (n for mark in _MARK.finditer(said) for n in _numbers(mark[1]))
    numbers = list(dict.fromkeys(islice(cited, _MOST_NUMBERS)))
    words = _tidy(_MARK.sub("", said))
    declined = bool(_DECLINED.match(words)) or words.upper().startswith(DECLINE)
    valid = [n for n in numbers if 1 <= n <= len(context)]
    citations = tuple(_cite(n, context[n - 1], words) for n in valid)
    rejected = tuple(n for n in numbers if not 1 <= n <= len(context))
    return Reply("" if declined else words, citations, rejected, declined)


def locate(answer: str, context: Sequence[Candidate], *, most: int = 3) -> tuple[Citation, ...]:
    """Return the units that literally hold ``answer``, in context order, for a reader that gave no citations.

    Of "Frankfurt, Germany" the part before the comma is looked for when no unit holds the whole.
    """
    for words in dict.fromkeys((answer.strip(), answer.partition(",")[0].strip())):
        if len(words) < 2 or words.lower() in {"yes", "no"}:
            return ()
        cited = (_cite(number, unit, words) for number, unit in enumerate(context, 1))
        if found := tuple(one for one in cited if one.quote)[:most]:
            return found
    return ()


def answer_from(
    reply: str,
    context: Sequence[Candidate],
    *,
    reader: str,
    state: State,
    usage: Mapping[str, Any],
    strict: bool = False,
) -> Answer:
    """Return a model's reply as an Answer: citations checked, or located where the model gave none.

    ``strict`` is for models too weak to say that they do not know: with state ``insufficient`` their
    words count only when they stand in the context.
    """
    said = parse(reply, context)
    citations = said.citations or locate(said.text, context)
    text = "" if strict and state == "insufficient" and not citations else said.text
    notes: dict[str, Any] = {"citations": "given" if said.citations else "located" if citations else "none"}
    if said.rejected:
        notes["rejected_citations"] = list(said.rejected)
    if state == "insufficient" and text:
        notes["tentative"] = True
    return Answer(text, citations, abstained=not text, reader=reader, usage={**usage, **notes}, raw=reply)


def _cite(number: int, unit: Candidate, answer: str) -> Citation:
    span = _find(answer, unit.text) if len(answer) >= 2 else None
    return Citation(number, unit.id, *span, unit.text[slice(*span)]) if span else Citation(number, unit.id)


def _find(answer: str, text: str) -> tuple[int, int] | None:
    """Return where ``answer`` stands in ``text``, by whole words, whatever the case and the spaces."""
    words = _WORD.findall(composed(answer)) if len(answer) <= _LONGEST_WORDS else []
    if not words or len(words) > _MOST_WORDS:
        return None
    pattern = r"(?<!\w)" + r"\W{1,3}".join(map(re.escape, words)) + r"(?!\w)"
    hit = re.search(pattern, text, re.IGNORECASE)
    return None if hit is None else hit.span()


def _numbers(mark: str) -> Iterator[int]:
    """Yield the numbers in a mark, ranges spelled out."""
    at = 0
    for found in _RANGE.finditer(mark):
        yield from map(int, _DIGITS.findall(mark[at : found.start()]))
        first, last = int(found[1]), int(found[2])
        yield from range(first, last + 1) if first <= last <= first + _LONGEST_RANGE else (first, last)
        at = found.end()
    yield from map(int, _DIGITS.findall(mark[at:]))


def _tidy(words: str) -> str:
    words = _BEFORE_STOP.sub(r"\1", _BLANKS.sub(" ", words)).strip()
    words = _LEAD.sub("", words).strip()
    if len(words) > 1 and words[0] == words[-1] and words[0] in "\"'*":
        words = words.strip(words[0]).strip()
    # A short answer is not a sentence: its full stop is not part of it.
    if words.endswith(".") and "." not in words[:-1] and len(words.split()) <= 6:
        words = words[:-1]
    return words
