"""What a site's generator reads of a Markdown file and its visitors do not see.

Front matter, comments, template tags (Liquid, Jinja, Hugo, erb), attribute lists, link definitions and
HTML tags are replaced character for character, so that the rest keeps its places. Code is left alone.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field

from pagerag.ingest.documents import holding
from pagerag.ingest.formats.markup import BLOCKS, HEADINGS, KNOWN, RAW, Tag, attributes, hidden, markup_at

DROP = "\ue000"
"""Stands for a character that is not seen."""
BREAK = "\ue001"
"""The same where a block begins or ends."""

_FENCE = re.compile(r"^(?:[ \t>]|[-*+][ ]|\d{1,9}[.)][ ]){0,40}(`{3,}|~{3,})", re.MULTILINE)
_TITLE = re.compile(r"^title[ \t]{0,20}[:=][ \t]{0,20}(\S[^\n]{0,500})$", re.MULTILINE | re.IGNORECASE)
_DEFINITION = re.compile(
    r"^[ ]{0,3}\[[^\[\]\n^][^\[\]\n]{0,500}\]:[ \t]{0,20}(?:<[^<>\n]{0,2000}>|\S{1,2000})"
    r"(?:[ \t]{1,20}(?:\"[^\"\n]{0,500}\"|'[^'\n]{0,500}'|\([^()\n]{0,500}\)))?[ \t]{0,20}$",
    re.MULTILINE,
)
_LABEL = re.compile(r"^\([\w:./-]{1,200}\)=[ \t]{0,20}$", re.MULTILINE)
_MODULE = re.compile(
    r"^(?:import[ \t][^\n]{1,500}[ \t]from[ \t]{1,20}[\"'][^\"'\n]{1,500}[\"'];?"
    r"|import[ \t]{1,20}[\"'][^\"'\n]{1,500}[\"'];?"
    r"|export[ \t]{1,20}(?:const|default|function|let|var)\b[^\n]{0,2000})[ \t]{0,20}$",
    re.MULTILINE,
)
_CONTAINER = re.compile(r"^[ \t]{0,20}:{3,20}[ \t]{0,20}(?:\{[\w:.+-]{1,60}\}|[\w-]{1,40})?", re.MULTILINE)
_ADMONITION = re.compile(
    r"^[ \t]{0,20}(?:!!!|\?\?\?\+?|===)[ \t]{1,20}(?:[\w-]{1,40}(?:[ \t]{1,20}[\w-]{1,40}){0,4}[ \t]{0,20})?"
    r"(?:\"[^\"\n]{0,300}\")?[ \t]{0,20}$",
    re.MULTILINE,
)
_ATTRIBUTES = re.compile(r"\{:[^{}]{0,3000}\}|\{[ \t]{0,20}[#.][\w-]{1,100}[^{}\n]{0,300}\}")
_SHOWN = re.compile(r"(?:^|\s)text\s{0,8}=\s{0,8}(?:\"([^\"]{1,300})\"|'([^']{1,300})'|([^\s\"'>}%]{1,100}))")
_PAIRS = [pair.split() for pair in ("{{< >}}", "{{% %}}", "{{!-- --}}", "{{{ }}}", "{{ }}", "{% %}", "{# #}")]
_VERBATIM = ("code", "math", "mermaid", "literal", "raw", "eval")
_LONGEST_TEMPLATE = 3000
_COMMENT = re.compile(r"(?:\{%-?|\{\{[%<])[ \t]{0,8}comment\b")
_COMMENT_END = re.compile(
    r"(?:\{%-?[ \t]{0,8}endcomment[ \t]{0,8}-?%\}|\{\{[%<][ \t]{0,8}/[ \t]{0,8}comment[ \t]{0,8}[%>]\}\})"
)
_SPECIAL = re.compile(r"[\\`<{]")
_TICKS = re.compile(r"`+")
_JSX = re.compile(r"<>|</>")
_Mask = tuple[int, int, str]  # from where to where, and with which character
_NOT_NEWLINE = re.compile(r"[^\n]")


@dataclass(slots=True)
class Masked:
    """The masked text; the title of its front matter; tables and headings that are written in HTML."""

    text: str
    title: str = ""
    tables: list[tuple[int, int]] = field(default_factory=list)
    headings: list[tuple[int, int, int]] = field(default_factory=list)


def tick_runs(text: str, start: int, end: int) -> dict[int, list[int]]:
    """Return where the runs of backticks begin, by their length."""
    found: dict[int, list[int]] = {}
    for match in _TICKS.finditer(text, start, end):
        found.setdefault(match.end() - match.start(), []).append(match.start())
    return found


def front_matter(source: str) -> tuple[int, str]:
    """Return where the front matter ends (0 without one) and the title it gives."""
    begin = len(source) - len(source.lstrip(" \n\t"))
    mark = source[begin : begin + 3]
    if mark not in ("---", "+++", ";;;") or source[begin + 3 : begin + 4].strip(" \t") not in ("", "\n"):
        return 0, ""
    first = source.find("\n", begin)
    at = first
    while at >= 0:
        line_end = source.find("\n", at + 1)
        line = source[at + 1 : line_end if line_end >= 0 else len(source)].rstrip()
        if line == mark or (line == "..." and mark == "---"):
            break
        if line.startswith("# ") and mark == "---" and at == first:
            return 0, ""  # a rule above a heading, not front matter
        at = line_end
    if at < 0:
        return 0, ""
    body = source[first : at + 1]
    named = _TITLE.search(body)
    title = named.group(1).strip() if named else ""
    if title[:1] in "\"'" and title[-1:] == title[:1]:
        title = title[1:-1]
    return at + 1 + len(mark), title


def mask(source: str) -> Masked:
    """Return ``source`` with what is not seen masked."""
    end, title = front_matter(source)
    found = Masked(source, title)
    cuts = [(0, end, " ")]
    protected = _fences(source, end)
    at = end
    for first, last in [*protected, (len(source), len(source))]:
        if first > at:
            _Scanner(source, at, first, cuts, found).scan()
        at = max(at, last)
    found.text = _masked_lines(_applied(source, cuts), protected)
    found.tables.sort()
    found.headings.sort()
    return found


def _applied(source: str, cuts: list[_Mask]) -> str:
    parts: list[str] = []
    at = 0
    for first, last, fill in sorted(cuts):
        first = max(first, at)
        if last > first:
            parts += (source[at:first], _NOT_NEWLINE.sub(fill, source[first:last]))
            at = last
    return "".join([*parts, source[at:]])


def _masked_lines(text: str, protected: list[tuple[int, int]]) -> str:
    """Mask lines that only a generator reads: link definitions, labels, imports, marks of containers."""
    cuts: list[_Mask] = []
    for pattern in (_DEFINITION, _LABEL, _MODULE, _CONTAINER, _ADMONITION):
        for match in pattern.finditer(text):
            start, end = match.span()
            if holding(protected, start):
                continue
            quote = text.find('"', start, end) if pattern is _ADMONITION else -1
            if quote >= 0:  # the title of an admonition stays
                cuts += [(start, quote + 1, BREAK), (text.find('"', quote + 1, end), end, BREAK)]
            else:
                cuts.append((start, end, BREAK if pattern is _ADMONITION else " "))
    return _applied(text, cuts)


def _fences(source: str, at: int) -> list[tuple[int, int]]:
    """Return the fenced code blocks, marks included."""
    found = []
    opened: tuple[int, str] | None = None
    for match in _FENCE.finditer(source, at):
        mark = match.group(1)
        line_end = source.find("\n", match.end())
        line_end = line_end if line_end >= 0 else len(source)
        info = source[match.end() : line_end]
        if opened is None:
            directive = info.strip().startswith("{") and not any(word in info.lower() for word in _VERBATIM)
            if (mark[0] == "~" or "`" not in info) and not directive:  # whose content is text
                opened = (match.start(), mark)
        elif mark.startswith(opened[1]) and not info.strip():
            found.append((opened[0], line_end))
            opened = None
    if opened is not None:
        found.append((opened[0], len(source)))
    return found


class _Scanner:
    """Masks the tags of one stretch of text without fences."""

    def __init__(self, source: str, start: int, end: int, cuts: list[_Mask], found: Masked) -> None:
        self.source, self.start, self.end, self.cuts, self.found = source, start, end, cuts, found
        self.last = {
            mark: source.rfind(mark, start, end) for mark in (">", '"', "'", "-->", "?>", "]]>", "%>")
        }
        self.no_table = False
        self.ticks = tick_runs(source, start, end)
        self.blank = [match.start() for match in re.finditer(r"\n[ \t]{0,200}\n", source[start:end])]

    def scan(self) -> None:
        readers = {"\\": lambda start: start + 2, "`": self._code, "<": self._tag, "{": self._template}
        at = self.start
        while found := _SPECIAL.search(self.source, at, self.end):
            at = readers[found.group()](found.start())

    def _cut(self, first: int, last: int, fill: str = DROP) -> int:
        self.cuts.append((first, min(last, self.end), fill))
        return max(last, first + 1)

    def _code(self, start: int) -> int:
        """Return the end of the code span that begins here, or of its marks when there is none."""
        match = _TICKS.match(self.source, start, self.end)
        length = (match.end() if match else start + 1) - start
        same = self.ticks.get(length, [])
        close = next(iter(same[(place := bisect_right(same, start)) : place + 1]), self.end)
        # A span does not go beyond its paragraph.
        blank = bisect_right(self.blank, start - self.start)
        limit = self.blank[blank] + self.start if blank < len(self.blank) else self.end
        return (close if close < limit else start) + length

    def _template(self, start: int) -> int:
        source = self.source
        if _COMMENT.match(source, start) and (
            ended := _COMMENT_END.search(source, start, min(self.end, start + 100_000))
        ):
            return self._cut(start, ended.end())
        listed = _ATTRIBUTES.match(source, start, self.end)
        for opening, closing in _PAIRS:
            if source.startswith(opening, start) and not (opening == "{#" and listed):
                end = source.find(closing, start + len(opening), min(self.end, start + _LONGEST_TEMPLATE))
                if end < 0:
                    return start + len(opening)
                return self._shown(start, end + len(closing))
        return self._cut(start, listed.end()) if listed else start + 1

    def _shown(self, start: int, end: int) -> int:
        """Mask a template tag; the words it shows itself stay (``{{< tooltip text="words" >}}``)."""
        shown = _SHOWN.search(self.source, start, end)
        if shown is None:
            return self._cut(start, end)
        first, last = shown.span(shown.lastindex or 0)
        self._cut(start, first)
        return self._cut(last, end)

    def _tag(self, start: int) -> int:
        source = self.source
        for opening, closing in (("<%", "%>"), ("<!--", "-->")):
            if source.startswith(opening, start):
                if self.last[closing] < start:
                    return start + len(opening)
                return self._cut(start, source.find(closing, start) + len(closing))
        if jsx := _JSX.match(source, start):
            return self._cut(start, jsx.end())
        if self.last[">"] < start:
            return start + 1
        tag = markup_at(source, start, self.last)
        if tag.kind not in ("start", "end") or tag.end > self.end or not self._is_tag(tag):
            return start + 1
        return self._start_tag(tag) if tag.kind == "start" else self._cut(start, tag.end, _fill(tag))

    def _start_tag(self, tag: Tag) -> int:
        """Mask a start tag, and what a reader does not see of its element."""
        source, start = self.source, tag.start
        if tag.name == "table" and not self.no_table:
            close = source.find("</table", tag.end, self.end)
            if close < 0:
                self.no_table = True
            else:
                end = source.find(">", close, self.end) + 1 or self.end
                self.found.tables.append((start, end))
                return self._cut(start, end, BREAK)
        inside = source[start : tag.end]
        seen = not ("hidden" in inside or "style" in inside) or not hidden(attributes(source, tag))
        if not tag.empty and (tag.name in RAW or not seen):
            return self._cut(start, self._element_end(tag), _fill(tag))
        if tag.name in HEADINGS:
            close = source.find(f"</{tag.name}", tag.end, min(self.end, tag.end + 1000))
            if close >= 0:
                self.found.headings.append((tag.end, close, HEADINGS[tag.name]))
        return self._cut(start, tag.end, _fill(tag))

    def _element_end(self, tag: Tag) -> int:
        """Return where an element ends whose content is not seen; what is never closed ends with the text."""
        depth = 1
        inner = re.compile(rf"<(/?){re.escape(tag.name)}(?![\w-])", re.IGNORECASE)
        for found in inner.finditer(self.source, tag.end, self.end):
            depth += -1 if found.group(1) else int(tag.name not in RAW)
            if not depth:
                return self.source.find(">", found.end(), self.end) + 1 or self.end
        return self.end

    def _is_tag(self, tag: Tag) -> bool:
        """Tell a tag from other words in angle brackets, which a reader is meant to see."""
        inside = self.source[tag.start : tag.end]
        return (
            tag.name in KNOWN
            or tag.empty
            or "=" in inside
            or "-" in tag.name
            or ":" in tag.name
            or tag.kind == "end"
            or self.source.find(f"</{inside[1 : 1 + len(tag.name)]}", tag.end, tag.end + 5000) >= 0
        )


def _fill(tag: Tag) -> str:
    return BREAK if tag.name in BLOCKS or tag.name == "br" else DROP
