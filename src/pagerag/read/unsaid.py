"""Which characters of a unit say nothing: numbers of headings, and questions. No answer stands in them.

Time is linear in the text.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import pairwise

from pagerag.text import split_sentences
from pagerag.units import Candidate

__all__ = ["cut_blocks", "unsaid"]

_MARKS = " \t#*_=>-"
_NUMBERED = re.compile(r"(?:\d{1,3}|[A-Z])(?:\.\d{1,3})*[.)]?(?=[ \t])")
_SEVERAL = re.compile(r"\d{1,3}(?:\.\d{1,3}){2,}")
_ASKED = re.compile(r"[?\uff1f][*_)]*$")
_LONGEST_HEADING = 300


def unsaid(unit: Candidate, starts: Sequence[int]) -> list[tuple[int, int]]:
    """Return the runs of characters, in order and apart, in which no answer may stand.

    ``starts`` is where the blocks of its text begin. A heading is what the unit's section path or title
    names, a line behind ``#``, or a question.
    """
    text = unit.text
    if not any(sign.isdigit() or sign in "?\uff1f" for sign in text):
        return []
    names = {_bare(name) for name in (unit.title or "", *unit.sections)}
    found = []
    for start, end in pairwise([0, *starts, len(text)]):
        line_end = text.find("\n", start, min(end, start + _LONGEST_HEADING))
        line = text[start : line_end if line_end >= 0 else min(end, start + _LONGEST_HEADING)]
        low = start + len(line) - len(line.lstrip(_MARKS))
        number = _NUMBERED.match(text, low, end)
        heads = _bare(line) in names or line.startswith("#") or _ASKED.search(line.rstrip()) is not None
        if number is not None and (heads or _SEVERAL.match(number[0])):
            found.append(number.span())
    if "?" in text or "\uff1f" in text:
        for start, end in split_sentences(text):
            after = text[end : end + 3].lstrip()[:1]
            if _ASKED.search(text, max(start, end - 10), end) and not after.islower():
                # a heading of another block may stand before it
                block = bisect_right(starts, end - 1) - 1
                found.append((max(start, starts[block]) if block >= 0 else start, end))
    return _apart(found)


def cut_blocks(
    blocks: Sequence[tuple[int, int]], offsets: Sequence[tuple[int, int]], runs: Sequence[tuple[int, int]]
) -> list[tuple[int, int]]:
    """Return the runs of tokens of ``blocks`` without those that lie in ``runs`` of characters."""
    if not runs:
        return list(blocks)
    begins = [start for start, _ in offsets]
    gaps = [(bisect_left(begins, low), bisect_left(begins, high)) for low, high in runs]
    lows = [low for low, _ in gaps]
    found = []
    for first, last in blocks:
        place = max(0, bisect_right(lows, first) - 1)
        while place < len(gaps) and gaps[place][0] < last:
            low, high = gaps[place]
            if low > first:
                found.append((first, low))
            first = max(first, min(high, last))
            place += 1
        if first < last:
            found.append((first, last))
    return found


def _apart(runs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return runs in order, those that touch as one."""
    found: list[tuple[int, int]] = []
    for low, high in sorted(runs):
        if found and low <= found[-1][1]:
            found[-1] = found[-1][0], max(high, found[-1][1])
        else:
            found.append((low, high))
    return found


def _bare(name: str) -> str:
    return " ".join(name[:_LONGEST_HEADING].strip(_MARKS).split()).lower()
