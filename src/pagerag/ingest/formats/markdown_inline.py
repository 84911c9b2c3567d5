"""Inline markup of Markdown: which characters of a paragraph a reader sees, in linear time."""

from __future__ import annotations

import re
from bisect import bisect_left
from unicodedata import category

from pagerag.ingest.formats.markdown_mask import BREAK, DROP, tick_runs
from pagerag.ingest.formats.stretch import Cut, Marks

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
_ESCAPED = _PUNCTUATION | {"\n"}
_SPACE = frozenset(" \t\n\r\xa0\u3000")


class MarkdownMarks(Marks):
    """The marks of Markdown: emphasis, links and escapes lose them."""

    special = re.compile(rf"[\\*_~\[\]!<&{{{DROP}]")

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.brackets: list[int] = []
        self.runs: list[tuple[int, int]] = []
        self.codes = _code_spans(text)
        self.code = 0  # the first span that does not end before the mark that is read

    def read(self) -> list[Cut]:
        """Return what is not seen of the paragraph."""
        for start, end, ticks in self.codes:
            self.cut(start, start + ticks)
            self.cut(end - ticks, end)
        super().read()
        self._emphasis()
        return self.cuts

    def _mark(self, found: re.Match[str]) -> int:
        start, mark = found.start(), found.group()
        while self.code < len(self.codes) and self.codes[self.code][1] <= start:
            self.code += 1
        if self.code < len(self.codes) and self.codes[self.code][0] <= start:
            return self.codes[self.code][1]
        if mark == DROP:
            return self.cut(start, self.run(start))
        if mark in "*_~":
            self.runs.append((start, self.run(start)))
            return self.runs[-1][1]
        if mark == "]":
            return self._closed(start)
        if mark == "[" and (note := _FOOTNOTE.match(self.text, start)):
            return self.cut(start, note.end())
        if mark == "[" or self.text.startswith("![", start):
            self.brackets.append(start)
            return start + len(mark) + (mark == "!")
        if mark == "{":
            return self._role(start)
        if mark == "\\" and self.text[start + 1 : start + 2] in _ESCAPED:
            return self.cut(start, start + 1) + 1
        if mark == "<" and (link := _AUTOLINK.match(self.text, start)):
            return self.only(link)
        return self.entity(start)

    def _role(self, start: int) -> int:
        """Read the name of a role before its text; returns where to go on."""
        role = _ROLE.match(self.text, start)
        if role is None:
            return start + 1
        at = self.cut(start, role.end())
        for begin, end, ticks in self.codes[self.code : self.code + 1]:
            # The text may end in a target, which is not seen: ``{ref}`words <target>```.
            if begin == at and (found := _TARGET.search(self.text, max(at, end - ticks - 600), end - ticks)):
                self.cut(*found.span())
        return at

    def _closed(self, close: int) -> int:
        """Read what follows the end of a link's text; returns where to go on."""
        if not self.brackets:
            return close + 1
        text, begin = self.text, self.brackets.pop()
        image = text[begin] == "!"
        first = begin + 1 + image
        after = text[close + 1 : close + 2]
        found = None
        if after == "(":
            found = _DESTINATION.match(text, close + 1) or _LOOSE.match(text, close + 1)
        elif after == "[":
            found = _REFERENCE.match(text, close + 1)
        if found or image:
            self.cut(begin, first)
            return self.cut(close, found.end() if found else close + 1)
        if after == "]" and self.brackets and self.brackets[-1] == begin - 1:
            # [[Page|words]] of a wiki
            self.brackets.pop()
            self.cut(begin - 1, max(text.rfind("|", begin, close), begin) + 1)
            return self.cut(close, close + 2)
        return close + 1

    def _emphasis(self) -> None:
        """Take out the marks of emphasis that have a partner."""
        text = self.text
        waiting: dict[str, list[tuple[int, int]]] = {"*": [], "_": [], "~": []}
        for at, end in self.runs:
            mark = text[at]
            before = text[at - 1] if at else " "
            after = text[end] if end < len(text) else " "
            behind, ahead = _edge(before), _edge(after)
            opens = after not in _SPACE and (not ahead or behind or before in _SPACE)
            closes = before not in _SPACE and (not behind or ahead or after in _SPACE)
            if mark == "_":
                opens, closes = opens and (not closes or behind), closes and (not opens or ahead)
            elif mark == "~" and end - at != 2:
                continue
            while closes and at < end and waiting[mark]:
                first, last = waiting[mark].pop()
                used = min(end - at, last - first)
                self.cut(last - used, last)
                at = self.cut(at, at + used)
                if last - used > first:
                    waiting[mark].append((first, last - used))
            if opens and at < end:
                waiting[mark].append((at, end))


def _code_spans(text: str) -> list[tuple[int, int, int]]:
    """Return (start, end, number of backticks) of the code spans in ``text``, marks included."""
    spans: list[tuple[int, int, int]] = []
    behind = 0
    by_length = tick_runs(text, 0, len(text)) if "`" in text else {}
    for start, length in sorted((start, length) for length, same in by_length.items() for start in same):
        if start < behind or (start and text[start - 1] == "\\"):
            continue
        same = by_length[length]
        place = bisect_left(same, start + length)
        if place < len(same):
            behind = same[place] + length
            spans.append((start, behind, length))
    return spans


def _edge(sign: str) -> bool:
    """Return whether a character ends a word for emphasis: punctuation, or something masked.

    Letters of scripts without spaces do as well; a reader of those sees no mark either.
    """
    if sign.isascii():
        return sign in _PUNCTUATION
    return sign in (DROP, BREAK) or category(sign)[0] in "PS" or category(sign) == "Lo"
