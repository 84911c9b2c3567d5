"""Inline markup of Markdown: which characters of a paragraph a reader sees, in linear time."""

from __future__ import annotations

import html
import re
from bisect import bisect_left
from collections.abc import Iterator
from unicodedata import category

from pagerag.ingest.formats.markdown_mask import BREAK, DROP
from pagerag.ingest.formats.markup import ENTITY
from pagerag.ingest.formats.stretch import Cut, Kept, kept_between

_TICKS = re.compile(r"`+")
_SPECIAL = re.compile(rf"[\\*_~\[\]!<&{{{DROP}]")
_DESTINATION = re.compile(
    r"\(\s{0,20}(?:<[^<>\n]{0,2000}>|[^\s()]{0,2000}(?:\([^\s()]{0,500}\)[^\s()]{0,2000}){0,20})"
    r"(?:\s{1,20}(?:\"[^\"]{0,2000}\"|'[^']{0,2000}'|\([^()]{0,2000}\)))?\s{0,20}\)"
)
_LOOSE = re.compile(r"\([^()\n]{0,1000}\)")
_REFERENCE = re.compile(r"\[[^\[\]]{0,500}\]")
_FOOTNOTE = re.compile(r"\[\^[^\[\]\s]{1,100}\]:?")
_AUTOLINK = re.compile(r"<((?:https?|ftp|mailto|irc|tel):[^\s<>]{1,2000}|[^\s<>@]{1,200}@[^\s<>@]{1,200})>")
_ROLE = re.compile(r"\{[\w:.+-]{1,60}\}(?=`)")
_TARGET = re.compile(r"\s{0,20}<[^<>`]{1,500}>\Z")
_PUNCTUATION = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
_SPACE = frozenset(" \t\n\r\xa0\u3000")


def _code_spans(text: str) -> list[tuple[int, int, int]]:
    """Return (start, end, number of backticks) of the code spans in ``text``, marks included."""
    runs = [(match.start(), match.end()) for match in _TICKS.finditer(text)]
    if len(runs) < 2:
        return []
    by_length: dict[int, list[int]] = {}
    for start, end in runs:
        by_length.setdefault(end - start, []).append(start)
    spans = []
    behind = 0
    for start, end in runs:
        if start < behind or (start and text[start - 1] == "\\"):
            continue
        same = by_length[end - start]
        place = bisect_left(same, end)
        if place < len(same):
            behind = same[place] + end - start
            spans.append((start, behind, end - start))
    return spans


def inline(text: str) -> Iterator[Kept]:
    """Return what is seen of a paragraph: emphasis, links and escapes lose their marks."""
    return kept_between(text, _cuts(text))


def _cuts(text: str) -> list[Cut]:
    """Return what is taken out: (start, end, what stands there instead)."""
    cuts: list[Cut] = []
    spans = _code_spans(text)
    for start, end, ticks in spans:
        cuts += [(start, start + ticks, ""), (end - ticks, end, "")]
    brackets: list[int] = []
    runs: list[tuple[int, int]] = []
    at = span = 0
    while found := _SPECIAL.search(text, at):
        start, mark = found.start(), found.group()
        while span < len(spans) and spans[span][1] <= start:
            span += 1
        if span < len(spans) and spans[span][0] <= start:
            at = spans[span][1]
        elif mark in "*_~":
            at = start + 1
            while at < len(text) and text[at] == mark:
                at += 1
            runs.append((start, at))
        elif mark in "[]!":
            at = _bracket(text, start, brackets, cuts)
        elif mark == "{":
            at = _role(text, start, spans, span, cuts)
        else:
            at = _sign(text, start, cuts)
    cuts += _emphasis(text, runs)
    return cuts


def _bracket(text: str, start: int, brackets: list[int], cuts: list[Cut]) -> int:
    """Read the beginning or end of a link or an image; returns where to go on."""
    if text[start] == "]":
        return _closed(text, start, brackets, cuts)
    if text[start] == "[":
        if note := _FOOTNOTE.match(text, start):
            cuts.append((start, note.end(), ""))
            return note.end()
        brackets.append(start)
        return start + 1
    if text[start + 1 : start + 2] == "[":
        brackets.append(start)
        return start + 2
    return start + 1


def _sign(text: str, start: int, cuts: list[Cut]) -> int:
    """Read an escape, a masked character, a link in angle brackets or an entity; returns where to go on."""
    mark = text[start]
    if mark == "\\":
        if text[start + 1 : start + 2] in _PUNCTUATION or text[start + 1 : start + 2] == "\n":
            cuts.append((start, start + 1, ""))
            return start + 2
    elif mark == DROP:
        cuts.append((start, start + 1, ""))
    elif mark == "<":
        if link := _AUTOLINK.match(text, start):
            cuts += [(start, start + 1, ""), (link.end() - 1, link.end(), "")]
            return link.end()
    elif entity := ENTITY.match(text, start):
        plain = html.unescape(entity.group())
        if plain != entity.group():
            cuts.append((start, entity.end(), plain))
            return entity.end()
    return start + 1


def _role(text: str, start: int, spans: list[tuple[int, int, int]], span: int, cuts: list[Cut]) -> int:
    """Read the name of a role before its text; returns where to go on."""
    role = _ROLE.match(text, start)
    if role is None:
        return start + 1
    at = role.end()
    cuts.append((start, at, ""))
    while span < len(spans) and spans[span][0] < at:
        span += 1
    if span < len(spans) and spans[span][0] == at:
        _, end, ticks = spans[span]
        # The text may end in a target, which is not seen: ``{ref}`words <target>```.
        if found := _TARGET.search(text, max(at, end - ticks - 600), end - ticks):
            cuts.append((found.start(), found.end(), ""))
    return at


def _closed(text: str, close: int, brackets: list[int], cuts: list[Cut]) -> int:
    """Read what follows the end of a link's text; returns where to go on."""
    if not brackets:
        return close + 1
    begin = brackets.pop()
    image = text[begin] == "!"
    head = (begin, begin + 2 if image else begin + 1, "")
    after = text[close + 1 : close + 2]
    if after == "(":
        found = _DESTINATION.match(text, close + 1) or _LOOSE.match(text, close + 1)
        if found:
            cuts += [head, (close, found.end(), "")]
            return found.end()
    elif after == "[" and (found := _REFERENCE.match(text, close + 1)):
        cuts += [head, (close, found.end(), "")]
        return found.end()
    if image:
        cuts += [head, (close, close + 1, "")]
    elif after == "]" and brackets and brackets[-1] == begin - 1:
        # [[Page|words]] of a wiki
        brackets.pop()
        bar = text.rfind("|", begin, close)
        cuts += [(begin - 1, bar + 1 if bar >= 0 else begin + 1, ""), (close, close + 2, "")]
        return close + 2
    return close + 1


def _emphasis(text: str, runs: list[tuple[int, int]]) -> list[Cut]:
    """Return the marks of emphasis that have a partner."""
    cuts: list[Cut] = []
    waiting: dict[str, list[list[int]]] = {"*": [], "_": [], "~": []}
    for start, end in runs:
        mark = text[start]
        before = text[start - 1] if start else " "
        after = text[end] if end < len(text) else " "
        behind, ahead = _edge(before), _edge(after)
        left = after not in _SPACE and (not ahead or behind or before in _SPACE)
        right = before not in _SPACE and (not behind or ahead or after in _SPACE)
        if mark == "_":
            opens = left and (not right or behind)
            closes = right and (not left or ahead)
        elif mark == "~":
            opens, closes = left and end - start == 2, right and end - start == 2
        else:
            opens, closes = left, right
        open_ones = waiting[mark]
        at = start
        while closes and at < end and open_ones:
            first, last = open_ones.pop()
            used = min(end - at, last - first)
            cuts += [(last - used, last, ""), (at, at + used, "")]
            at += used
            if last - used > first:
                open_ones.append([first, last - used])
        if opens and at < end:
            open_ones.append([at, end])
    return cuts


def _edge(sign: str) -> bool:
    """Return whether a character ends a word for emphasis: punctuation, or something masked.

    Letters of scripts without spaces do as well; a reader of those sees no mark either.
    """
    if sign.isascii():
        return sign in _PUNCTUATION
    return sign in (DROP, BREAK) or category(sign)[0] in "PS" or category(sign) == "Lo"
