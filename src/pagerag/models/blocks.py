"""Where the blocks of a text lie, and how a span of it becomes a clean answer. Time is linear in the text.

An answer stands in one paragraph, heading or list item. A network that reads tokens does not see line breaks,
so a span of its choice may run from a heading into the paragraph below; these rules keep it inside.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import pairwise

__all__ = ["block_starts", "clean_span", "token_blocks"]

_HEADING = re.compile(r"#{1,6}[ \t]")
_ITEM = re.compile(r"(?:[-*+•‣◦·]|\d{1,3}[.)])[ \t]")
_RULE = re.compile(r"([=\-~^\"*+#`_])\1{2,}$")
_CLOSING = {"(": ")", "[": "]", "{": "}", "«": "»", "“": "”"}
_OPENING = {closing: opening for opening, closing in _CLOSING.items()}
_LOOSE = frozenset(",;:|*`，；：、")
_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\U0010ffff]")
_PROMPT = re.compile(r"(?:^|(?<=\n))([ \t]{0,40}[$%][ \t]{1,8})(?=[^\W\d]|[./~])")
"""What stands before a command in a line of a terminal; "$ 5" is money."""
_LONGEST_COMMAND = 300
_ROUNDS = 8
"""How often the rules for the ends are tried again after one of them changed something."""
_WORD_REACH = 40
"""Characters that a span grows by, at most, to end with a whole word."""


def block_starts(text: str) -> list[int]:
    """Return the characters at which a new block begins: after blank lines, at and after headings, at items.

    A heading is a line that begins with ``#`` or has a line of ``===`` or ``---`` under it.
    """
    starts: set[int] = set()
    place, before, fresh = 0, -1, False
    for line in text.split("\n"):
        bare = line.strip()
        rule = _RULE.match(bare) is not None
        heading = _HEADING.match(bare) is not None
        if rule and before >= 0:
            starts.add(before)
        if fresh or rule or heading or not bare or _ITEM.match(bare):
            starts.add(place)
        fresh = rule or heading or not bare
        before = -1 if fresh else place
        place += len(line) + 1
    return sorted(starts)


def token_blocks(starts: Sequence[int], offsets: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the runs of tokens, as (first, one past the last), that lie in one block.

    ``starts`` are the blocks of the text (``block_starts``), ``offsets`` the places of some of its tokens.
    """
    if not offsets:
        return []
    begins = [start for start, _ in offsets]
    inside = starts[bisect_left(starts, begins[0]) : bisect_right(starts, begins[-1])]
    bounds = sorted({0, *(bisect_left(begins, start) for start in inside), len(begins)})
    return list(pairwise(bounds))


def clean_span(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the span grown to whole words and without loose punctuation or brackets that have no partner.

    A span that begins with a terminal's prompt is the whole command behind it: of "$ pip install x" the words
    "$ pip" tell nobody what to type.
    """
    start, end = _whole_words(text, start, end)
    for _ in range(_ROUNDS):
        given = start, end
        while start < end and (text[start].isspace() or text[start] in _LOOSE):
            start += 1
        while end > start and (
            text[end - 1].isspace() or text[end - 1] in _LOOSE or _stops(text, start, end)
        ):
            end -= 1
        start, end = _pairs(text, start, end)
        if end > start and text.count('"', start, end) % 2:  # a quotation mark without its partner
            if text[start] == '"':
                start += 1
            elif text[end - 1] == '"':
                end -= 1
            elif start > 0 and text[start - 1] == '"':
                start -= 1
            elif end < len(text) and text[end] == '"':
                end += 1
        if (start, end) == given:
            break
    return _command(text, start, end)


def _command(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the command line that a span begins with the prompt of, without the prompt; else the span."""
    begin = text.rfind("\n", max(0, start - _WORD_REACH), start) + 1
    prompt = _PROMPT.match(text, begin) if start < end else None
    if prompt is None or not prompt.start(1) <= start < prompt.end() or "\n" in text[start:end]:
        return start, end
    line = text[prompt.end() : prompt.end() + _LONGEST_COMMAND].partition("\n")[0].rstrip()
    return prompt.end(), max(end, prompt.end() + len(line))


def _whole_words(text: str, start: int, end: int) -> tuple[int, int]:
    first, last = start, end
    while first > 0 and start - first <= _WORD_REACH and _joined(text, first):
        first -= 1
    while last < len(text) and last - end <= _WORD_REACH and _joined(text, last):
        last += 1
    return (first if start - first <= _WORD_REACH else start, last if last - end <= _WORD_REACH else end)


def _joined(text: str, place: int) -> bool:
    """Tell whether one word goes on across ``place``; scripts that write no spaces have no such words."""
    return all(c.isalnum() and not _UNSPACED.match(c) for c in text[place - 1 : place + 1])


def _stops(text: str, start: int, end: int) -> bool:
    """Tell whether the span ends with a full stop of no abbreviation: behind five letters or a figure."""
    if text[end - 1] == "。":
        return True
    word = text[max(start, end - 6) : end - 1]
    return text[end - 1] == "." and (word[-1:].isdigit() or (len(word) == 5 and word.isalpha()))


def _pairs(text: str, start: int, end: int) -> tuple[int, int]:
    """Take in a bracket's partner that stands beside the span; leave out brackets at its ends without one."""
    opened: list[int] = []
    for place in range(start, end):
        if text[place] in _CLOSING:
            opened.append(place)
        elif text[place] in _OPENING:
            if opened and text[opened[-1]] == _OPENING[text[place]]:
                opened.pop()
            elif start > 0 and text[start - 1] == _OPENING[text[place]]:
                return start - 1, end
            elif place == start:
                return start + 1, end
            else:
                return start, place
    if not opened:
        return start, end
    if end < len(text) and text[end] == _CLOSING[text[opened[-1]]]:
        return start, end + 1
    return (start + 1, end) if opened[0] == start else (start, opened[0])
