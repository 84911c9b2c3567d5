"""Find where the answer of a question over documents stands.

That is the best span of a passage that the answer's pattern accepts.

Such a question comes with an answer in the words of its author, a pattern that right answers fit, and the
quotes that support it. The passage often says the answer in other words ("14 characters" where the text has
"at least 14"), so the span is looked for: of all spans of a line that the pattern accepts, the one that
shares most with the answer, the shorter of two equal ones, and of two places the one whose neighbourhood is
quoted.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass

__all__ = ["Place", "said", "spots"]

WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|[^\W_]+|[^\w\s]|_")
LONGEST = 24
"""Words of a span, signs among them."""
LEAST = 0.25
"""A span that shares less with the answer (F1 of words) is met by chance."""
NEAR = 10
"""Words on both sides of a span that are compared with the quotes."""
PART = re.compile(r"\(\?=\[\\s\\S\]\*")
NOT_FIRST, NOT_LAST = frozenset(",.;:!?)]}>»”’/|*"), frozenset(",.;:!?([{<«“‘/|*#")
YES_NO = re.compile(r"(yes|no)(?=$|[,;.:!]|\s+[-–—(])", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Place:
    """A span of a text (characters), and which part of the answer it is."""

    text: int
    start: int
    end: int
    part: int = 0


@dataclass(frozen=True, slots=True)
class _Found:
    share: float
    quoted: float
    length: int
    start: int
    end: int


def said(answers: Sequence[str], pattern: str | None) -> str | None:
    """Return yes or no where the answer begins with that word and the word alone would be accepted."""
    for answer in answers:
        found = YES_NO.match(answer.strip())
        if found:
            word = found[1].lower()
            return word if pattern is None or re.search(pattern, word, re.IGNORECASE) else None
    return None


def spots(
    texts: Sequence[str], answers: Sequence[str], pattern: str | None, quotes: Collection[str]
) -> tuple[list[Place], bool]:
    """Return the places of the answer in gold texts, and whether they are the whole answer.

    An answer of several things is looked for as one span and then, where the pattern names its parts, part by
    part.
    """
    told = frozenset(word for quote in quotes for word in _words(quote))
    wanted = re.compile(pattern, re.IGNORECASE) if pattern else None
    whole = _best(texts, [_words(a) for a in answers], wanted, told, 0)
    parts = _parts(pattern) if pattern else []
    if whole or len(parts) < 2:
        return whole, bool(whole)
    pieces = [
        _words(piece) for a in answers for piece in re.split(r"[;,/]|\band\b|，|、|；", a) if piece.strip()
    ]
    found: list[Place] = []
    for number, part in enumerate(parts):
        found += _best(texts, pieces, re.compile(part, re.IGNORECASE), told, number)
    return found, len({place.part for place in found}) == len(parts)


def _best(
    texts: Sequence[str],
    accepted: Sequence[list[str]],
    wanted: re.Pattern[str] | None,
    told: Collection[str],
    part: int,
) -> list[Place]:
    """Return the best place of each text, of those texts that have one as good as the best of all."""
    found = [(number, _in_text(text, accepted, wanted, told)) for number, text in enumerate(texts)]
    there = [(number, one) for number, one in found if one is not None]
    if not there:
        return []
    share = max(one.share for _, one in there)
    quoted = max(one.quoted for _, one in there if one.share > share - 0.01)
    return [
        Place(number, one.start, one.end, part)
        for number, one in there
        if one.share > share - 0.01 and one.quoted > 0.6 * quoted - 0.01
    ]


def _in_text(
    text: str, accepted: Sequence[list[str]], wanted: re.Pattern[str] | None, told: Collection[str]
) -> _Found | None:
    best: _Found | None = None
    counts = [Counter(words) for words in accepted]
    known = frozenset(word for words in accepted for word in words)
    begin = 0
    for line in text.split("\n"):
        if wanted is None or _may(wanted, line):
            best = _in_line(line, begin, counts, known, wanted, told, best)
        begin += len(line) + 1
    return best


def _may(wanted: re.Pattern[str], line: str) -> bool:
    """Tell whether a span of the line may be accepted; a pattern with a negation is asked of spans alone."""
    return "(?!" in wanted.pattern or "^" in wanted.pattern or wanted.search(line) is not None


def _in_line(
    line: str,
    begin: int,
    counts: Sequence[Counter[str]],
    known: Collection[str],
    wanted: re.Pattern[str] | None,
    told: Collection[str],
    best: _Found | None,
) -> _Found | None:
    words = [(m[0].lower(), m.start(), m.end()) for m in WORD.finditer(line)]
    for first, (opening, start, _) in enumerate(words):
        if opening in NOT_FIRST:
            continue
        near = {w for w, _, _ in words[max(0, first - NEAR) : first + NEAR]}
        quoted = len(near & set(told)) / max(1, len(near))
        inside: Counter[str] = Counter()
        for last in range(first, min(len(words), first + LONGEST)):
            closing, _, end = words[last]
            inside[closing] += 1
            if closing in NOT_LAST or not ({opening, closing} & set(known)):
                continue
            length = last - first + 1
            share = max((_f1(inside, length, one) for one in counts), default=0.0)
            if share < LEAST or (best is not None and (share, quoted) < (best.share - 0.01, 0.0)):
                continue
            new = _Found(share, quoted, length, begin + start, begin + end)
            if (best is None or _order(new) > _order(best)) and (
                wanted is None or wanted.search(line[start:end])
            ):
                best = new
    return best


def _order(found: _Found) -> tuple[float, float, int]:
    return (round(found.share, 2), round(found.quoted, 1), -found.length)


def _f1(inside: Counter[str], length: int, one: Counter[str]) -> float:
    same = sum(min(count, one[word]) for word, count in inside.items() if word in one)
    return 2 * same / (length + one.total()) if same else 0.0


def _words(text: str) -> list[str]:
    return [m[0].lower() for m in WORD.finditer(text)]


def _parts(pattern: str) -> list[str]:
    """Return the parts of a pattern that wants several things in any order."""
    found = []
    for match in PART.finditer(pattern):
        depth, place = 1, match.end()
        while place < len(pattern) and depth:
            step = 2 if pattern[place] == "\\" else 1
            depth += {"(": 1, ")": -1}.get(pattern[place], 0) if step == 1 else 0
            place += step
        found.append(pattern[match.end() : place - 1])
    return found
