"""AsciiDoc: titles, sections, lists, tables and blocks, each character's place kept."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain

from pagerag.ingest.builder import TextBuilder, term_of
from pagerag.ingest.documents import Document, IngestSettings, SourceFile
from pagerag.ingest.formats.encoding import read_marked_up
from pagerag.ingest.formats.stretch import Cut, FileSpan, LineReader, Marks, lines_of

_HEADING = re.compile(r"(={1,6}|#{1,6})[ \t]+(?=\S)")
_ATTRIBUTE = re.compile(r":!?([\w-]{1,80})!?:(?:[ \t]+([^\n]{0,2000}))?\Z")
_BLOCK_LINE = re.compile(r"\[(?:\[[^\[\]\n]{0,300}\]|[^\[\]\n]{0,1000})\][ \t]{0,20}\Z")
_MACRO = re.compile(r"(?:include|image|video|audio|toc|ifdef|ifndef|ifeval|endif)::")
_RULE = re.compile(r"(?:'{3,}|-{3}|\*{3}|<{3})[ \t]{0,20}\Z")
_ITEM = re.compile(
    r"[ \t]{0,40}(?:\*{1,5}|-|\.{1,5}|\d{1,4}\.|[a-z]\.|<[\d.]{1,4}>)[ \t]+(?:\[[ x*]\][ \t]+)?(?=\S)"
)
_TERM = re.compile(r"[ \t]{0,40}(\S[^\n]{0,300}?)(?::{2,4}|;;)(?:[ \t]+|\Z)")
_TABLE = re.compile(r"[|!,:]={3,}[ \t]{0,20}\Z")
_CELL = re.compile(r"(?:(?:\d{1,3}(?:\.\d{1,3})?[+*]|\.\d{1,3}\+)?[<^>]?(?:\.[<^>])?[adehlmsv]?)\|")
_VERBATIM = re.compile(r"(?:-{4,}|\.{4,}|`{3,}[\w,+-]{0,40}|\+{4,}|/{4,})[ \t]{0,20}\Z")
_WRAPPING = re.compile(r"(?:={4,}|\*{4,}|_{4,}|-{2})[ \t]{0,20}\Z")
_COLUMNS = re.compile(r"cols[ \t]{0,4}=[ \t]{0,4}(?:\"([^\"\n]{1,500})\"|([^\s,\]]{1,100}))")


def read_asciidoc(file: SourceFile, settings: IngestSettings) -> Iterator[Document]:
    """Read a file; its title is the document's, or the first heading."""
    return read_marked_up(file, settings, add_asciidoc)


def add_asciidoc(source: str, builder: TextBuilder) -> str:
    """Add the blocks of a text to ``builder`` and return its title."""
    _Reader(source, builder).read()
    return builder.sections[0].title if builder.sections else ""


class _Reader(LineReader):
    """Reads one line after the other; a paragraph goes on until something else begins."""

    def __init__(self, source: str, builder: TextBuilder) -> None:
        super().__init__(source, builder)
        self.lines = lines_of(source)
        self.paragraph: list[FileSpan] = []
        self.atom = False
        self.entry = -1  # where the item or the definition begins that the next blocks may belong to
        self.options = ""
        self.code = False
        self.attributes: dict[str, str] = {}

    def inline(self, text: str) -> list[Cut]:
        """Return which characters of a paragraph a reader does not see."""
        return _Marks(text, self.attributes).read()

    def _done(self, *, atom: bool = False, joined: bool = False) -> None:
        """End the paragraph; with ``joined`` what follows belongs to its item."""
        if self.code:
            self.literal(self.paragraph)
        elif self.paragraph:
            self.builder.block([*self.before, *self.pieces(self.paragraph)], atom=self.atom)
            self.before = []
        if self.paragraph:
            self._belongs(joined=joined)
        self.paragraph, self.atom, self.code = [], atom, False

    def _belongs(self, *, joined: bool = False) -> None:
        """Take the last block into the entry that is open, if one is."""
        if self.entry >= 0:
            self.builder.together(self.entry)
            self.entry = self.entry if joined else -1

    def read(self) -> None:
        at = 0
        while at < len(self.lines):
            at = self._line(at)
        self._done()
        self.builder.block(self.before, atom=True)

    def _line(self, at: int) -> int:
        """Read the line; returns the next one to read."""
        span = self.lines[at]
        words = self.words(span).rstrip()
        if not words.strip() or _MACRO.match(words) or _RULE.match(words) or _WRAPPING.match(words):
            self._done()
            if not self.before:
                self.entry = -1
        elif words == "+":
            self._done(atom=self.atom, joined=True)
        elif _VERBATIM.match(words):
            self._done()
            return self._verbatim(at, words)
        elif _TABLE.match(words):
            self._done()
            return self._table(at, words)
        elif not words.startswith("//") and (self.paragraph or not self._marks(span, words)):
            self._text(span, words)
        return at + 1

    def _marks(self, span: FileSpan, words: str) -> bool:
        """Read what can only begin a block: headings, attributes, titles of blocks."""
        if found := _HEADING.match(words):
            self._done()
            heading = self.pieces([FileSpan(span.start + found.end(), span.start + len(words))])
            self.builder.block(heading, heading=len(found.group(1)))
            return True
        if found := _ATTRIBUTE.match(words):
            if found.group(2):
                self.attributes[found.group(1)] = found.group(2).strip()
            return True
        if _BLOCK_LINE.match(words):
            self.options = words
            self.code = words.startswith(("[source", "[listing", "[literal", "[,"))
            return True
        if words[0] == "." and len(words) > 1 and words[1] not in ". ":
            self.builder.block(self.pieces([FileSpan(span.start + 1, span.start + len(words))]))
            return True
        return False

    def _text(self, span: FileSpan, words: str) -> None:
        """Read a line of a paragraph, an item or a definition."""
        if self.code:
            pass
        elif found := _ITEM.match(words):
            self._done(atom=True)
            self.entry = self.builder.next
            span = span.behind(found.end())
        elif (found := _TERM.match(words)) and not words.startswith(("http", "link:", "xref:")):
            self._done(atom=True)
            self.entry = self.builder.next
            term = FileSpan(span.start + found.start(1), span.start + found.end(1))
            self.before = term_of(self.pieces([term]))
            if found.end() == len(words):
                return
            span = span.behind(found.end())
        else:
            # An indented paragraph is literal.
            self.code = not self.paragraph and words[0] in " \t" and not self.before
            self.atom = self.atom or bool(self.before)
        self.paragraph.append(span)

    def _verbatim(self, at: int, mark: str) -> int:
        """Read a block whose content is taken as it is, or left out (comments, raw output)."""
        end = self._closing(at, mark[:3] if mark.startswith("```") else mark)
        if mark[0] not in "/+":
            self.literal(self.lines[at + 1 : end])
            self._belongs(joined=True)
        return end + 1

    def _closing(self, at: int, mark: str) -> int:
        """Return the line behind ``at`` that is ``mark``, or the end of the text."""
        end = at + 1
        while end < len(self.lines) and self.words(self.lines[end]).rstrip() != mark:
            end += 1
        return end

    def _table(self, at: int, mark: str) -> int:
        end = self._closing(at, mark)
        body = self.lines[at + 1 : end]
        parts = [list(self._cells(line)) for line in body]
        begun = [sum(begins for begins, _ in found) for found in parts]
        cells: list[list[FileSpan]] = []
        for begins, span in chain.from_iterable(parts):
            if begins:
                cells.append([span])
            elif cells:
                cells[-1].append(span)
        blank = next((n for n, line in enumerate(body) if self.blank(line)), 0)
        width = self._columns() or next(filter(None, begun), 1)
        head = "header" in self.options or (sum(begun[:blank]) == width and blank < len(body))
        rows = (cells[start : start + width] for start in range(0, len(cells), width))
        self.builder.rows((list(map(self.cell, row)) for row in rows), int(head))
        self._belongs(joined=True)
        self.options = ""
        return end + 1

    def _columns(self) -> int:
        """Return how many columns the block's attributes name, 0 when they do not."""
        found = _COLUMNS.search(self.options)
        if found is None:
            return 0
        parts = (found.group(1) or found.group(2)).replace(";", ",").split(",")
        times = (re.match(r"\s{0,9}(\d{1,3})\*", part) for part in parts)
        return sum(min(int(found.group(1)), 200) if found else 1 for found in times)

    def _cells(self, line: FileSpan) -> Iterator[tuple[bool, FileSpan]]:
        """Yield the parts of a table's line: whether a cell begins with it, and where it stands."""
        words = self.words(line)
        at = 0
        began = False
        for match in _CELL.finditer(words):
            start = match.start()
            if start and words[start - 1] == "\\":
                continue
            if start and words[start - 1] not in " \t|":
                start = match.end() - 1
            if start > at or began:
                yield began, FileSpan(line.start + at, line.start + start)
            at, began = match.end(), True
        if at < len(words) or began:
            yield began, FileSpan(line.start + at, line.end)


# -- inline markup

_MACROS = "(?:link|xref|image|kbd|btn|menu|footnote|pass|icon|mailto|anchor|stem):"
_URL = re.compile(r"https?://[^\s\[\]<>]{1,2000}\[")
_MACRO_START = re.compile(_MACROS + r"[^\s\[\]]{0,2000}\[")
_REFERENCE = re.compile(r"<<([^<>,\n]{1,300})(?:,\s{0,8}([^\n]{1,500}?))?>>")
_ANCHOR = re.compile(r"\[\[[^\[\]\n]{1,300}\]\]|\[[#.][^\[\]\n]{1,200}\](?=[#*_`])")
_NAMED = re.compile(r"\{([\w-]{1,80})\}")
_CHARACTERS = {
    "nbsp": " ", "amp": "&", "lt": "<", "gt": ">", "sp": " ", "empty": "", "plus": "+", "asterisk": "*",
}  # fmt: skip


class _Marks(Marks):
    """Marks of links and emphasis; attributes have values."""

    special = re.compile(rf"[*_`#+^~<\[\\&{{]|{_MACROS}|https?://")

    def __init__(self, text: str, attributes: dict[str, str]) -> None:
        super().__init__(text)
        self.attributes = attributes
        self.last_bracket = text.rfind("]")
        self.waiting: dict[str, list[tuple[int, int]]] = {}

    def _mark(self, found: re.Match[str]) -> int:
        text, start = self.text, found.start()
        mark = text[start]
        if mark in "*_`#+^~":
            return self._emphasis(start, self.run(start))
        if mark == "\\":
            return self.cut(start, start + 1) + 1
        if mark == "<" and (link := _REFERENCE.match(text, start)):
            return self.only(link, 2 if link.group(2) else 1)
        if mark == "[" and (anchor := _ANCHOR.match(text, start)):
            return self.cut(start, anchor.end())
        if mark == "&":
            return self.entity(start)
        if mark == "{" and (named := _NAMED.match(text, start)):
            value = _CHARACTERS.get(named.group(1), self.attributes.get(named.group(1)))
            return named.end() if value is None else self.cut(start, named.end(), value or " ")
        return start + 1 if mark in "<[{" else self._link(start, found.end())

    def _link(self, start: int, at: int) -> int:
        """Read ``link:target[words]`` and the like; without words the target is what is seen."""
        text = self.text
        macro = _URL.match(text, start) or _MACRO_START.match(text, start)
        if macro is None or self.last_bracket < macro.end():
            return macro.end() - 1 if macro else at
        first, colon = macro.end(), text.find(":", start) + 1
        close = text.find("]", first)
        if close == first:
            if not text.startswith("http", start):
                if text.startswith(("image", "icon", "anchor")):
                    return self.cut(start, close + 1)
                self.cut(start, colon)
            return self.cut(close - 1, close + 1)
        # A caret or attributes behind the words are not seen.
        last = close - 1 if text[close - 1] == "^" else close
        shown = ""
        if text.startswith("menu:", start):
            self.cut(start, colon)
            self.cut(first - 1, first, " > ")
            last = close
        elif text.startswith("footnote:", start):
            self.cut(start, first, " (")
            last, shown = close, ")"
        else:
            self.cut(start, first)
            comma = text.find(",", first, close) if text.startswith("image:", start) else -1
            last = comma if comma >= 0 else last
        self.cut(last, close + 1, shown)
        return first

    def _emphasis(self, start: int, end: int) -> int:
        """Take out a mark that stands around words when its partner comes; returns where to go on."""
        text = self.text
        before = text[start - 1] if start else " "
        after = text[end] if end < len(text) else " "
        double = end - start == 2 or text[start] in "^~"
        closes = not before.isspace() and (double or not after.isalnum())
        opens = not after.isspace() and (double or not before.isalnum())
        stack = self.waiting.setdefault(text[start:end], [])
        if end - start > 2:
            return end
        if closes and stack:
            self.cut(*stack.pop())
            self.cut(start, end)
        elif opens:
            stack.append((start, end))
        return end
