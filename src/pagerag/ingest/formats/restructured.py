"""reStructuredText: titles, sections, directives, lists and tables, each character's place kept.

docutils does not say where a text stands in the file, and stops at the roles and directives that other
tools (Sphinx among them) add; so the lines are read here.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence

from pagerag.ingest.builder import Piece, TextBuilder, added, words_of
from pagerag.ingest.documents import Document, IngestSettings, SourceFile
from pagerag.ingest.formats.encoding import decode
from pagerag.ingest.formats.restructured_inline import inline
from pagerag.ingest.formats.restructured_tables import grid_table, simple_table
from pagerag.ingest.formats.stretch import FileSpan, Stretch, lines_of

__all__ = ["add_restructured", "looks_restructured", "read_restructured"]

_ADORNED = re.compile(r"([!-/:-@\[-`{-~])\1{2,}[ \t]{0,200}\Z")
_EXPLICIT = re.compile(r"\.\.(?:[ \t]+|\Z)")
_DIRECTIVE = re.compile(r"(?:\|[^|\n]{1,100}\|[ \t]{1,8})?([A-Za-z][\w:.+-]{0,80}?)[ \t]{0,4}::(?:[ \t]+|\Z)")
_FOOTNOTE = re.compile(r"\[(?:\d{1,6}|#[\w-]{0,80}|\*|[\w.-]{1,80})\][ \t]+")
_TARGET = re.compile(r"(?:_(?:`[^`]{1,300}`|[^:\n]{1,300}|_)?:|__(?:[ \t]|\Z))")
_BULLET = re.compile(r"[-*+•‣⁃][ \t]+(?=\S)")
_NUMBER = re.compile(
    r"(?:\(?(?:\d{1,4}|[A-Za-z]|[ivxlcIVXLC]{1,7}|#)\)"
    r"|(?:\d{1,4}|[A-Za-z]|[ivxlcIVXLC]{1,7}|#)\.)[ \t]+(?=\S)"
)
_FIELD = re.compile(r":(?![:\s])([^:\n]{1,120}):(?:[ \t]+|\Z)")
_LINE_BLOCK = re.compile(r"\|(?:[ \t]+|\Z)")
_SIMPLE = re.compile(r"(?<!=)={2,}(?:[ \t]+={2,})+[ \t]{0,200}\Z")
_GRID = re.compile(r"\+[-=]{2,}[-=+]{0,5000}\+[ \t]{0,200}\Z")
_OPTION = re.compile(r":[\w-]{1,60}:")
_DOMAIN_ROLE = re.compile(r":[\w:-]{1,60}:`")

_CODE = frozenset(
    (
        "code code-block sourcecode parsed-literal math doctest testcode testsetup testoutput productionlist "
        "literalinclude highlight-block console ipython prompt graphviz digraph plot mermaid"
    ).split()
)
_SILENT = frozenset(
    (
        "toctree contents index highlight currentmodule image include raw meta role default-role sectnum "
        "section-numbering header footer target-notes default-domain tabularcolumns autosummary automodule "
        "autoclass autofunction automethod autodata autoexception autoattribute sectionauthor codeauthor "
        "module testcleanup date unicode replace title"
    ).split()
)
_ADMONITIONS = frozenset(
    "attention caution danger error hint important note tip warning seealso todo epigraph footer".split()
)
_VERSIONS = {
    "versionadded": "New in version ",
    "versionchanged": "Changed in version ",
    "deprecated": "Deprecated since version ",
    "versionremoved": "Removed in version ",
}
_DEEPEST = 40


def read_restructured(file: SourceFile, settings: IngestSettings) -> Iterator[Document]:
    """Read a file; its title is the first one, however it is underlined."""
    source = decode(file, file.read(settings.max_file_bytes))
    builder = TextBuilder(source, limit=settings.max_text_chars, name=file.name)
    yield builder.document(add_restructured(source, builder), file.stem)


def looks_restructured(source: str) -> bool:
    """Return whether a text uses the marks of reStructuredText: directives, roles, underlined titles."""
    marks = titles = 0
    before = ""
    for line in source[:200_000].split("\n"):
        text = line.strip()
        if text.startswith(".. ") and ("::" in text or text.endswith(":")):
            marks += 2
        elif "``" in text or _DOMAIN_ROLE.search(line) or text.endswith("`_"):
            marks += 1
        elif before and _ADORNED.match(text) and len(text) >= len(before) >= 3:
            titles += 1
        before = text
    return marks >= 3 and (titles >= 1 or marks >= 8)


def add_restructured(source: str, builder: TextBuilder) -> str:
    """Add the blocks of a text to ``builder`` and return its title."""
    reader = _Reader(source, builder)
    reader.read(lines_of(source.replace("\t", " ")), 0)
    return reader.title


class _Reader:
    """Reads lines as blocks; what is indented is read by itself, without its indentation."""

    def __init__(self, source: str, builder: TextBuilder) -> None:
        self.source, self.builder = source, builder
        self.title = ""
        self.styles: list[str] = []
        self.targets = {
            match.group(1).strip("`").lower()
            for match in re.finditer(r"^\s{0,40}\.\. _([^:\n]{1,200}):", source, re.MULTILINE)
        }
        self.before: list[Piece] = []
        self.items = 0

    # -- lines

    def _words(self, span: FileSpan) -> str:
        return self.source[span.start : span.end].replace("\t", " ")

    def _indent(self, span: FileSpan) -> int:
        words = self._words(span)
        return len(words) - len(words.lstrip())

    def _blank(self, span: FileSpan) -> bool:
        return not self.source[span.start : span.end].strip()

    def _block(self, lines: Sequence[FileSpan], at: int, indent: int = 1) -> int:
        """Return where a block that is indented by at least ``indent`` ends."""
        last = at
        while at < len(lines):
            if not self._blank(lines[at]):
                if self._indent(lines[at]) < indent:
                    break
                last = at + 1
            at += 1
        return last

    def _inner(self, lines: Sequence[FileSpan], indent: int | None = None) -> list[FileSpan]:
        """Return lines without their common indentation."""
        depths = [self._indent(span) for span in lines if not self._blank(span)]
        less = min(depths, default=0) if indent is None else indent
        return [FileSpan(min(span.start + less, span.end), span.end) for span in lines]

    def _emit(self, spans: Sequence[FileSpan], *, heading: int = 0, atom: bool = False) -> None:
        stretch = Stretch(self.source, spans)
        pieces = list(stretch.pieces(inline(stretch.text, self.targets)))
        if not heading and self.before:
            pieces = [*self.before, *pieces]
            self.before = []
        self.builder.block(pieces, heading=heading, atom=atom or self.items > 0)

    def _literal(self, lines: Sequence[FileSpan]) -> None:
        inner = self._inner(lines)
        while inner and self._blank(inner[0]):
            inner = inner[1:]
        if inner:
            self.builder.block(Stretch(self.source, inner).all(), code=True, atom=self.items > 0)

    # -- blocks

    def read(self, lines: Sequence[FileSpan], depth: int) -> None:
        """Add the blocks of these lines."""
        at = 0
        while at < len(lines):
            span = lines[at]
            words = self._words(span)
            if not words.strip():
                at += 1
                continue
            if depth == 0 and (after := self._section(lines, at)):
                at = after
                continue
            if words[0] == " ":
                end = self._block(lines, at)
                if depth < _DEEPEST:
                    self.read(self._inner(lines[at:end]), depth + 1)
                else:
                    self._literal(lines[at:end])
                at = end
                continue
            at = self._one(lines, at, words, depth)

    def _one(self, lines: Sequence[FileSpan], at: int, words: str, depth: int) -> int:
        """Read the block that begins at this line; returns where the next one does."""
        if found := _EXPLICIT.match(words):
            end = self._block(lines, at + 1)
            self._explicit(lines[at:end], found.end(), depth)
            return end
        if _GRID.match(words):
            return grid_table(self.source, self.builder, lines, at, self.targets)
        if _SIMPLE.match(words) and (end := simple_table(self.source, self.builder, lines, at, self.targets)):
            return end
        if _ADORNED.match(words) and len(words.strip()) >= 4:
            return at + 1  # a rule
        if found := _BULLET.match(words) or self._numbered(lines, at, words):
            return self._item(lines, at, found.end(), depth)
        if found := _FIELD.match(words):
            return self._field(lines, at, found, depth)
        if _LINE_BLOCK.match(words):
            end = at
            while end < len(lines) and _LINE_BLOCK.match(self._words(lines[end])):
                end += 1
            self._emit([FileSpan(min(s.start + 2, s.end), s.end) for s in lines[at:end]])
            return end
        return self._paragraph(lines, at, depth)

    def _section(self, lines: Sequence[FileSpan], at: int) -> int:
        """Read a title at this line, with a line below it or lines on both sides; 0 when there is none."""
        words = self._words(lines[at])
        adorned = _ADORNED.match(words)
        if adorned:
            if at + 2 >= len(lines) or self._words(lines[at + 2]).strip() != words.strip():
                return 0
            span, style, after = lines[at + 1], f"over{words[0]}", at + 3
        else:
            if words[0] == " " or at + 1 >= len(lines):
                return 0
            below = self._words(lines[at + 1])
            if not _ADORNED.match(below) or len(below.strip()) < min(len(words.strip()), 4):
                return 0
            if _SIMPLE.match(below) and len(below.split()) > 1:
                return 0
            span, style, after = lines[at], below[0], at + 2
        if self._blank(span):
            return 0
        if style not in self.styles:
            self.styles.append(style)
        level = self.styles.index(style) + 1
        self._emit([span], heading=level)
        if not self.title:
            self.title = self.builder.sections[-1].title if self.builder.sections else ""
        return after

    def _numbered(self, lines: Sequence[FileSpan], at: int, words: str) -> re.Match[str] | None:
        """Match an enumerated item; "A. Smith said" before a line that goes on is none."""
        found = _NUMBER.match(words)
        if found is None or at + 1 >= len(lines):
            return found
        below = self._words(lines[at + 1])
        return found if not below.strip() or below[0] == " " or _NUMBER.match(below) else None

    def _item(self, lines: Sequence[FileSpan], at: int, indent: int, depth: int) -> int:
        end = self._block(lines, at + 1, min(indent, 2))
        first = FileSpan(lines[at].start + indent, lines[at].end)
        self.items += 1
        rest = self._inner(lines[at + 1 : end])
        if depth < _DEEPEST:
            self.read([first, *rest], depth + 1)
        else:
            self._literal(lines[at:end])
        self.items -= 1
        return end

    def _field(self, lines: Sequence[FileSpan], at: int, found: re.Match[str], depth: int) -> int:
        end = self._block(lines, at + 1)
        start = lines[at].start
        body = [FileSpan(start + found.end(), lines[at].end), *self._inner(lines[at + 1 : end])]
        if any(not self._blank(span) for span in body):
            name = FileSpan(start + 1, start + 1 + len(found.group(1)))
            self._named([name], body, depth)
        return end

    def _named(self, name: Sequence[FileSpan], body: Sequence[FileSpan], depth: int) -> None:
        """Add blocks of which the first stands behind a name: a definition, a field."""
        stretch = Stretch(self.source, name)
        self.before = [*self.before, *stretch.pieces(inline(stretch.text, self.targets)), added(": ")]
        self.items += 1
        if depth < _DEEPEST:
            self.read(body, depth + 1)
        else:
            self._literal(body)
        self.items -= 1
        if self.before:
            self.builder.block(self.before[:-1], atom=True)
            self.before = []

    def _paragraph(self, lines: Sequence[FileSpan], at: int, depth: int) -> int:
        end = at + 1
        while end < len(lines) and not self._blank(lines[end]) and self._indent(lines[end]) == 0:
            end += 1
        spans = list(lines[at:end])
        last = self._words(spans[-1]).rstrip()
        if end == at + 1 and end < len(lines) and not self._blank(lines[end]) and not last.endswith("::"):
            # A line with indented ones right below it: a term and its definition.
            stop = self._block(lines, end)
            self._named(spans, self._inner(lines[end:stop]), depth)
            return stop
        if self._words(spans[0]).startswith(">>> "):
            self._literal(spans)
            return end
        if last.endswith("::"):
            tail = spans[-1]
            stop = tail.start + len(last) - (2 if last in ("::",) or last.endswith(" ::") else 1)
            spans[-1] = FileSpan(tail.start, stop)
            if any(not self._blank(span) for span in spans):
                self._emit(spans)
            stop = self._block(lines, end)
            self._literal(lines[end:stop])
            return max(stop, end)
        self._emit(spans)
        return end

    # -- explicit markup

    def _explicit(self, lines: Sequence[FileSpan], indent: int, depth: int) -> None:
        first = FileSpan(min(lines[0].start + indent, lines[0].end), lines[0].end)
        words = self._words(first)
        rest = lines[1:]
        if _TARGET.match(words):
            return
        if found := _FOOTNOTE.match(words):
            body = [FileSpan(first.start + found.end(), first.end), *self._inner(rest)]
            self.read(body, min(depth + 1, _DEEPEST))
            return
        directive = _DIRECTIVE.match(words)
        if directive is None or words.startswith("|"):
            return  # a comment, or a substitution
        name = directive.group(1).lower()
        argument = FileSpan(first.start + directive.end(), first.end)
        self._directive(name, argument, rest, depth)

    def _directive(self, name: str, argument: FileSpan, rest: Sequence[FileSpan], depth: int) -> None:
        plain = name.rpartition(":")[2]
        if plain in _SILENT:
            return
        inner = self._inner(rest)
        arguments, options, content = self._parts(argument, inner)
        if plain in _CODE:
            self._literal(content)
        elif plain in _ADMONITIONS:
            # What stands behind the name is the beginning of the content.
            self.read([*arguments, *content], min(depth + 1, _DEEPEST))
        elif plain in ("list-table", "flat-table"):
            self._title(arguments)
            self._list_table(content, options)
        elif plain == "csv-table":
            self._title(arguments)
            self._csv_table(content, options)
        elif plain in _VERSIONS:
            self._version(plain, arguments, content, depth)
        elif (
            plain in ("figure", "only", "ifconfig", "container", "class", "rst-class", "table")
            and name == plain
        ):
            if plain == "table" or (plain == "class" and content and "(" in self._words(argument)):
                self._title(arguments)
            self.read(content, min(depth + 1, _DEEPEST))
        elif arguments and any(not self._blank(span) for span in content):
            self._named(arguments, content, depth)
        else:
            self._title(arguments)
            self.read(content, min(depth + 1, _DEEPEST))

    def _parts(
        self, argument: FileSpan, inner: Sequence[FileSpan]
    ) -> tuple[list[FileSpan], dict[str, str], Sequence[FileSpan]]:
        """Return a directive's arguments, options and content."""
        arguments = [] if self._blank(argument) else [argument]
        options: dict[str, str] = {}
        at = 0
        while at < len(inner) and not self._blank(inner[at]):
            words = self._words(inner[at])
            if _OPTION.match(words):
                name, _, value = words[1:].partition(":")
                options[name] = value.strip()
            elif options and words[0] == " ":
                pass
            elif arguments and not options:
                arguments.append(inner[at])  # an argument over several lines, or several signatures
            else:
                break
            at += 1
        if not options and at and at == len(inner) and len(arguments) > 1 and not self._blank(argument):
            return [argument], options, inner  # ".. note:: words" whose words go on below
        return arguments, options, inner[at:]

    def _title(self, arguments: Sequence[FileSpan]) -> None:
        if arguments:
            self._emit(arguments)

    def _version(
        self, name: str, arguments: Sequence[FileSpan], content: Sequence[FileSpan], depth: int
    ) -> None:
        prefix = added(_VERSIONS[name])
        if not arguments:
            self.read(content, min(depth + 1, _DEEPEST))
            return
        self.before = [*self.before, prefix]
        if any(not self._blank(span) for span in content):
            self._named(arguments, content, depth)
        else:
            self._emit(arguments, atom=True)

    def _list_table(self, content: Sequence[FileSpan], options: dict[str, str]) -> None:
        """Add a table that is written as a list of lists."""
        heads = int(options["header-rows"]) if options.get("header-rows", "").isdigit() else 0
        headers: list[str] = []
        for number, row in enumerate(self._items(content)):
            cells = []
            for cell in self._items(row):
                stretch = Stretch(self.source, [span for span in cell if not self._blank(span)])
                cells.append(list(stretch.pieces(inline(stretch.text, self.targets))))
            if number < heads:
                headers = list(map(words_of, cells))
            else:
                self.builder.row(cells, headers)

    def _items(self, lines: Sequence[FileSpan]) -> Iterator[list[FileSpan]]:
        at = 0
        while at < len(lines):
            words = self._words(lines[at])
            found = _BULLET.match(words) or re.match(r"[-*+](?:\s|\Z)", words)
            if found is None:
                at += 1
                continue
            end = self._block(lines, at + 1)
            first = FileSpan(min(lines[at].start + found.end(), lines[at].end), lines[at].end)
            yield [first, *self._inner(lines[at + 1 : end])]
            at = end

    def _csv_table(self, content: Sequence[FileSpan], options: dict[str, str]) -> None:
        headers: list[str] = []
        if options.get("header"):
            headers = next(csv.reader([options["header"]], skipinitialspace=True), [])
        heads = int(options["header-rows"]) if options.get("header-rows", "").isdigit() else 0
        for span in content:
            if self._blank(span):
                continue
            values = next(csv.reader([self._words(span)], skipinitialspace=True), [])
            if heads:
                headers, heads = values, heads - 1
                continue
            at, cells = span.start, []
            for value in values:
                place = self.source.find(value, at, span.end) if value else -1
                cells.append([Piece(value, place, place + len(value))] if place >= 0 else [added(value)])
                at = place + len(value) if place >= 0 else at
            self.builder.row(cells, headers)
