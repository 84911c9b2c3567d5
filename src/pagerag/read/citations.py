"""Citations: read from a reader's reply, checked against the context, or found where none was given."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pagerag.read.prompts import DECLINE
from pagerag.units import Answer, Candidate, Citation, State

__all__ = ["Reply", "answer_from", "locate", "parse"]

# [2], [2, 5], [2][5], [1-3], 【2】, [unit 2]
_MARK = re.compile(
    r"\s*[\[【]\s*((?:units?\s*)?\d{1,6}(?:\s*(?:,|;|and|-|–)\s*\d{1,6})*)\s*[\]】]",
    re.IGNORECASE,
)
_RANGE = re.compile(r"(\d+)\s*[-–]\s*(\d+)")
_THOUGHT = re.compile(r"<think>.*?(?:</think>|\Z)", re.DOTALL | re.IGNORECASE)
_LEAD = re.compile(r"^(?:(?:the\s+)?(?:short\s+|final\s+)?answer(?:\s+is)?)\s*[:：]\s*", re.IGNORECASE)
_DECLINED = re.compile(r"^\W*(?:not enough (?:evidence|information)|insufficient evidence)\b", re.IGNORECASE)
_LONGEST_RANGE = 50


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
    numbers = list(dict.fromkeys(n for mark in _MARK.finditer(said) for n in _numbers(mark[1])))
    words = _tidy(_MARK.sub("", said))
    declined = bool(_DECLINED.match(words)) or words.upper().startswith(DECLINE)
    valid = [n for n in numbers if 1 <= n <= len(context)]
    citations = tuple(_cite(n, context[n - 1], words) for n in valid)
    return Reply(
        text="" if declined else words,
        citations=citations,
        rejected=tuple(n for n in numbers if n not in set(valid)),
        declined=declined,
    )


def locate(answer: str, context: Sequence[Candidate], *, most: int = 3) -> tuple[Citation, ...]:
    """The units that literally hold ``answer``, in context order: citations for a reader that gave none.

    Of "Frankfurt, Germany" the part before the comma is looked for when no unit holds the whole.
    """
    for words in dict.fromkeys((answer.strip(), answer.partition(",")[0].strip())):
        if len(words) < 2 or words.lower() in {"yes", "no"}:
            return ()
        found = []
        for number, unit in enumerate(context, 1):
            span = _find(words, unit.text)
            if span is not None:
                found.append(Citation(number, unit.id, *span, quote=unit.text[slice(*span)]))
        if found:
            return tuple(found[:most])
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
    """A model's reply as an Answer: citations checked, or located where the model gave none.

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
    return Answer(
        text,
        citations,
        abstained=not text,
        reader=reader,
        usage={**usage, **notes},
        raw=reply,
    )


def _cite(number: int, unit: Candidate, answer: str) -> Citation:
    span = _find(answer, unit.text) if len(answer) >= 2 else None
    if span is None:
        return Citation(number, unit.id)
    return Citation(number, unit.id, *span, quote=unit.text[slice(*span)])


def _find(answer: str, text: str) -> tuple[int, int] | None:
    """Where ``answer`` stands in ``text``, by whole words, whatever the case and the spaces."""
    words = re.findall(r"\w+", unicodedata.normalize("NFC", answer))
    if not words:
        return None
    pattern = r"(?<!\w)" + r"\W{1,3}".join(map(re.escape, words)) + r"(?!\w)"
    hit = re.search(pattern, text, re.IGNORECASE)
    return None if hit is None else hit.span()


def _numbers(mark: str) -> list[int]:
    spread = _RANGE.sub(_spell_out, mark)
    return [int(n) for n in re.findall(r"\d+", spread)]


def _spell_out(found: re.Match[str]) -> str:
    first, last = int(found[1]), int(found[2])
    if first > last or last - first > _LONGEST_RANGE:
        return f"{first},{last}"
    return ",".join(map(str, range(first, last + 1)))


def _tidy(words: str) -> str:
    words = re.sub(r"[ \t]+", " ", words)
    words = re.sub(r"\s+([.,;:!?])", r"\1", words).strip()
    words = _LEAD.sub("", words).strip()
    if len(words) > 1 and words[0] == words[-1] and words[0] in "\"'*":
        words = words.strip(words[0]).strip()
    # A short answer is not a sentence: its full stop is not part of it.
    if words.endswith(".") and "." not in words[:-1] and len(words.split()) <= 6:
        words = words[:-1]
    return words
