"""reStructuredText: titles, sections, directives, lists and tables, each character's place kept.

docutils does not say where a text stands in the file, and stops at the roles and directives that other
tools (Sphinx among them) add; so the lines are read here.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from pagerag.ingest.builder import Piece, TextBuilder, added, number_of, term_of, words_of
from pagerag.ingest.documents import Document, IngestSettings, SourceFile
from pagerag.ingest.formats.encoding import read_marked_up
from pagerag.ingest.formats.restructured_inline import RestructuredMarks
from pagerag.ingest.formats.stretch import Cut, FileSpan, LineReader, lines_of

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
_RULE = re.compile(r"(?<![=\- \t])[=\-][=\- \t]{0,5000}\Z")
_OPTION = re.compile(r":[\w-]{1,60}:")
_DOMAIN_ROLE = re.compile(r":[\w:-]{1,60}:`")

_CODE = frozenset(
    """code code-block sourcecode parsed-literal math doctest testcode testsetup testoutput productionlist
    literalinclude highlight-block console ipython prompt graphviz digraph plot mermaid""".split()
)
_SILENT = frozenset(
    """toctree contents index highlight currentmodule image include raw meta role default-role sectnum
    section-numbering header footer target-notes default-domain tabularcolumns autosummary automodule
    autoclass autofunction automethod autodata autoexception autoattribute sectionauthor codeauthor module
    testcleanup date unicode replace title""".split()
)
_ADMONITIONS = frozenset(
    "attention caution danger error hint important note tip warning seealso todo epigraph footer".split()
)
_VERSIONS = {
    "versionadded": "New in version ", "versionchanged": "Changed in version ",
    "deprecated": "Deprecated since version ", "versionremoved": "Removed in version ",
}  # fmt: skip
_DEEPEST = 40


def read_restructured(file: SourceFile, settings: IngestSettings) -> Iterator[Document]:
    """Read a file; its title is the first one, however it is underlined."""
    return read_marked_up(file, settings, add_restructured)


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


class _Reader(LineReader):
    """Reads lines as blocks; what is indented is read by itself, without its indentation."""

    def __init__(self, source: str, builder: TextBuilder) -> None:
        super().__init__(source, builder)
        self.title = ""
        self.styles: list[str] = []
        self.targets = {
            match.group(1).strip("`").lower()
            for match in re.finditer(r"^\s{0,40}\.\. _([^:\n]{1,200}):", source, re.MULTILINE)
        }
        self.items = 0

    # -- lines

    def inline(self, text: str) -> list[Cut]:
        """Return which characters of a paragraph a reader does not see."""
        return RestructuredMarks(text, self.targets).read()

    def words(self, span: FileSpan) -> str:
        """Return the characters of a line, tabs as spaces."""
        return super().words(span).replace("\t", " ")

    def _indent(self, span: FileSpan) -> int:
        words = self.words(span)
        return len(words) - len(words.lstrip())

    def _filled(self, spans: Iterable[FileSpan]) -> bool:
        return not all(map(self.blank, spans))

    def _block(self, lines: Sequence[FileSpan], at: int, indent: int = 1) -> int:
        """Return where a block that is indented by at least ``indent`` ends."""
        last = at
        for place in range(at, len(lines)):
            if not self.blank(lines[place]):
                if self._indent(lines[place]) < indent:
                    break
                last = place + 1
        return last

    def _inner(self, lines: Sequence[FileSpan]) -> list[FileSpan]:
        """Return lines without their common indentation."""
        less = min((self._indent(span) for span in lines if not self.blank(span)), default=0)
        return [span.behind(less) for span in lines]

    def _behind(self, lines: Sequence[FileSpan], mark: int) -> list[FileSpan]:
        """Return a block without the ``mark`` characters that begin it and the indentation of its rest."""
        return [lines[0].behind(mark), *self._inner(lines[1:])]

    def _emit(self, spans: Sequence[FileSpan], *, heading: int = 0, atom: bool = False) -> None:
        if spans:
            pieces = self.pieces(spans)
            if not heading:
                pieces, self.before = [*self.before, *pieces], []
            self.builder.block(pieces, heading=heading, atom=atom or self.items > 0)

    def _literal(self, lines: Sequence[FileSpan]) -> None:
        self.literal(self._inner(lines), atom=self.items > 0)

    # -- blocks

    def read(self, lines: Sequence[FileSpan], depth: int) -> None:
        """Add the blocks of these lines."""
        at = 0
        while at < len(lines):
            words = self.words(lines[at])
            if not words.strip():
                at += 1
            elif depth == 0 and (after := self._section(lines, at)):
                at = after
            elif words[0] == " ":
                end = self._block(lines, at)
                self._nested(self._inner(lines[at:end]), depth)
                at = end
            else:
                at = self._one(lines, at, words, depth)

    def _nested(self, lines: Sequence[FileSpan], depth: int, *, item: bool = False) -> None:
        """Add what stands inside a block; what is nested too deeply is taken as it is."""
        self.items += item
        start = self.builder.next
        if depth < _DEEPEST:
            self.read(lines, depth + 1)
        else:
            self._literal(lines)
        if item:
            self.builder.together(start)
        self.items -= item

    def _one(self, lines: Sequence[FileSpan], at: int, words: str, depth: int) -> int:
        """Read the block that begins at this line; returns where the next one does."""
        if found := _EXPLICIT.match(words):
            end = self._block(lines, at + 1)
            self._explicit(lines[at:end], found.end(), depth)
            return end
        if _GRID.match(words):
            return _grid_table(self, lines, at)
        if _SIMPLE.match(words) and (end := _simple_table(self, lines, at)):
            return end
        if _ADORNED.match(words) and len(words.strip()) >= 4:
            return at + 1  # a rule
        if found := _BULLET.match(words) or self._numbered(lines, at, words):
            end = self._block(lines, at + 1, min(found.end(), 2))
            self._nested(self._behind(lines[at:end], found.end()), depth, item=True)
            return end
        if found := _FIELD.match(words):
            end = self._block(lines, at + 1)
            body = self._behind(lines[at:end], found.end())
            if self._filled(body):
                start = lines[at].start
                self._named([FileSpan(start + found.start(1), start + found.end(1))], body, depth)
            return end
        if _LINE_BLOCK.match(words):
            end = at + 1
            while end < len(lines) and _LINE_BLOCK.match(self.words(lines[end])):
                end += 1
            self._emit([span.behind(2) for span in lines[at:end]])
            return end
        return self._paragraph(lines, at, depth)

    def _section(self, lines: Sequence[FileSpan], at: int) -> int:
        """Read a title at this line, with a line below it or lines on both sides; 0 when there is none."""
        words = self.words(lines[at])
        if _ADORNED.match(words):
            if at + 2 >= len(lines) or self.words(lines[at + 2]).strip() != words.strip():
                return 0
            span, style, after = lines[at + 1], f"over{words[0]}", at + 3
        else:
            if words[0] == " " or at + 1 >= len(lines):
                return 0
            below = self.words(lines[at + 1])
            if not _ADORNED.match(below) or len(below.strip()) < min(len(words.strip()), 4):
                return 0
            if _SIMPLE.match(below) and len(below.split()) > 1:
                return 0
            span, style, after = lines[at], below[0], at + 2
        if self.blank(span):
            return 0
        if style not in self.styles:
            self.styles.append(style)
        self._emit([span], heading=self.styles.index(style) + 1)
        if not self.title:
            self.title = self.builder.sections[-1].title if self.builder.sections else ""
        return after

    def _numbered(self, lines: Sequence[FileSpan], at: int, words: str) -> re.Match[str] | None:
        """Match an enumerated item; "A. Smith said" before a line that goes on is none."""
        found = _NUMBER.match(words)
        if found is None or at + 1 >= len(lines):
            return found
        below = self.words(lines[at + 1])
        return found if not below.strip() or below[0] == " " or _NUMBER.match(below) else None

    def _named(self, name: Sequence[FileSpan], body: Sequence[FileSpan], depth: int) -> None:
        """Add blocks of which the first stands behind a name: a definition, a field."""
        self.before = [*self.before, *term_of(self.pieces(name))]
        self._nested(body, depth, item=True)
        self.builder.block(self.before[:-1], atom=True)
        self.before = []

    def _paragraph(self, lines: Sequence[FileSpan], at: int, depth: int) -> int:
        end = at + 1
        while end < len(lines) and not self.blank(lines[end]) and self._indent(lines[end]) == 0:
            end += 1
        spans = list(lines[at:end])
        last = self.words(spans[-1]).rstrip()
        if end == at + 1 and end < len(lines) and not self.blank(lines[end]) and not last.endswith("::"):
            # A line with indented ones right below it: a term and its definition.
            stop = self._block(lines, end)
            self._named(spans, self._inner(lines[end:stop]), depth)
            return stop
        if self.words(spans[0]).startswith(">>> "):
            self._literal(spans)
            return end
        if last.endswith("::"):
            start = spans.pop().start
            spans.append(FileSpan(start, start + len(last) - (2 if (" " + last).endswith(" ::") else 1)))
            if self._filled(spans):
                self._emit(spans)
            stop = self._block(lines, end)
            self._literal(lines[end:stop])
            return stop
        self._emit(spans)
        return end

    # -- explicit markup

    def _explicit(self, lines: Sequence[FileSpan], indent: int, depth: int) -> None:
        first = lines[0].behind(indent)
        words = self.words(first)
        if _TARGET.match(words):
            return
        if found := _FOOTNOTE.match(words):
            self._nested(self._behind(lines, indent + found.end()), depth)
            return
        directive = _DIRECTIVE.match(words)
        if directive is None or words.startswith("|"):
            return  # a comment, or a substitution
        name = directive.group(1).lower()
        self._directive(name, first.behind(directive.end()), lines[1:], depth)

    def _directive(self, name: str, argument: FileSpan, rest: Sequence[FileSpan], depth: int) -> None:
        plain = name.rpartition(":")[2]
        if plain in _SILENT:
            return
        arguments, options, content = self._parts(argument, self._inner(rest))
        if plain in _CODE:
            self._literal(content)
        elif plain in _ADMONITIONS:
            # What stands behind the name is the beginning of the content.
            self._nested([*arguments, *content], depth)
        elif plain in ("list-table", "flat-table"):
            self._emit(arguments)
            rows = (list(map(self.cell, self._items(row))) for row in self._items(content))
            self.builder.rows(rows, number_of(options.get("header-rows", ""), 0))
        elif plain == "csv-table":
            self._emit(arguments)
            self._csv_table(content, options)
        elif plain in _VERSIONS:
            self._version(plain, arguments, content, depth)
        elif name in ("figure", "only", "ifconfig", "container", "class", "rst-class", "table"):
            if plain == "table" or (plain == "class" and content and "(" in self.words(argument)):
                self._emit(arguments)
            self._nested(content, depth)
        elif arguments and self._filled(content):
            self._named(arguments, content, depth)
        else:
            self._emit(arguments)
            self._nested(content, depth)

    def _parts(
        self, argument: FileSpan, inner: Sequence[FileSpan]
    ) -> tuple[list[FileSpan], dict[str, str], Sequence[FileSpan]]:
        """Return a directive's arguments, options and content."""
        arguments = [] if self.blank(argument) else [argument]
        options: dict[str, str] = {}
        at = 0
        while at < len(inner) and not self.blank(inner[at]):
            words = self.words(inner[at])
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
        if not options and at and at == len(inner) and len(arguments) > 1 and not self.blank(argument):
            return [argument], options, inner  # ".. note:: words" whose words go on below
        return arguments, options, inner[at:]

    def _version(
        self, name: str, arguments: Sequence[FileSpan], content: Sequence[FileSpan], depth: int
    ) -> None:
        if not arguments:
            self._nested(content, depth)
            return
        self.before = [*self.before, added(_VERSIONS[name])]
        if self._filled(content):
            self._named(arguments, content, depth)
        else:
            self._emit(arguments, atom=True)

    def _items(self, lines: Sequence[FileSpan]) -> Iterator[list[FileSpan]]:
        at = 0
        while at < len(lines):
            words = self.words(lines[at])
            end = at + 1
            if found := _BULLET.match(words) or re.match(r"[-*+](?:\s|\Z)", words):
                end = self._block(lines, end)
                yield self._behind(lines[at:end], found.end())
            at = end

    def _csv_table(self, content: Sequence[FileSpan], options: dict[str, str]) -> None:
        headers = _values(options.get("header", ""))
        heads = number_of(options.get("header-rows", ""), 0)
        for span in content:
            if self.blank(span):
                continue
            values = _values(self.words(span))
            if heads:
                headers, heads = values, heads - 1
                continue
            at, cells = span.start, []
            for value in values:
                place = self.source.find(value, at, span.end) if value else -1
                cells.append([Piece(value, place, place + len(value))] if place >= 0 else [added(value)])
                at = place + len(value) if place >= 0 else at
            self.builder.row(cells, headers)


def _values(line: str) -> list[str]:
    return next(csv.reader([line], skipinitialspace=True), [])


def _grid_table(reader: LineReader, lines: Sequence[FileSpan], at: int) -> int:
    """Add a table drawn with ``+---+`` and bars; returns where it ends."""
    end = at
    while end < len(lines) and reader.words(lines[end])[:1] in ("+", "|"):
        end += 1
    drawn = [reader.words(line) for line in lines[at:end]]
    borders = [words.startswith("+") and ("--" in words or "==" in words) for words in drawn]
    corners = (words for words, border in zip(drawn, borders, strict=True) if border)
    columns = sorted({place for words in corners for place, sign in enumerate(words) if sign == "+"})
    headers: list[str] = []
    row: list[FileSpan] = []
    rows: list[dict[int, list[Piece]]] = []
    for line, words, border in zip(lines[at:end], drawn, borders, strict=True):
        if not border:
            row.append(line)
            continue
        if row:
            wide = _wide(reader.words(row[0]), columns)
            rows.append({n: reader.cell(_column(row, a, b)) for n, a, b in wide})
            row = []
        if "==" in words and rows:
            heads = rows.pop()
            headers = [words_of(heads[max(k for k in heads if k <= n)]) for n in range(len(columns) - 1)]
    for cells in rows:
        reader.builder.row(list(cells.values()), [headers[n] for n in cells] if headers else [])
    return end


def _wide(first: str, columns: Sequence[int]) -> list[tuple[int, int, int]]:
    """Return the cells of a row by its first line, each with the number of its first column.

    Where a column has no bar, the cell before it takes several.
    """
    ends = (0, len(columns) - 1)
    kept = [(n, place) for n, place in enumerate(columns) if n in ends or first[place : place + 1] in "|+"]
    return [(n, a + 1, b) for (n, a), (_, b) in pairwise(kept)]


def _column(row: Sequence[FileSpan], first: int, last: int) -> list[FileSpan]:
    return [FileSpan(min(s.start + first, s.end), min(s.start + last, s.end)) for s in row]


def _simple_table(reader: LineReader, lines: Sequence[FileSpan], at: int) -> int:
    """Add a table drawn with ``====`` lines; returns where it ends, 0 when it is none."""
    rules = [at]
    for end in range(at + 1, len(lines)):
        words = reader.words(lines[end])
        if words.startswith("==") and _RULE.match(words):
            rules.append(end)
            if end + 1 == len(lines) or reader.blank(lines[end + 1]):
                break
    if len(rules) < 2:
        return 0
    columns = [match.span() for match in re.finditer(r"=+", reader.words(lines[at]))]
    edges = list(pairwise([*(first for first, _ in columns), 10**9]))
    heads = [lines[rules[0] + 1 : rules[1]]] if len(rules) > 2 else []
    rows: list[list[FileSpan]] = []
    for line in lines[rules[-2] + 1 : rules[-1]]:
        words = reader.words(line)
        if not words.strip() or _RULE.match(words):
            continue
        if rows and not words[slice(*columns[0])].strip():
            rows[-1].append(line)
        else:
            rows.append([line])
    cells = ([reader.cell(_column(row, a, b)) for a, b in edges] for row in (*heads, *rows))
    reader.builder.rows(cells, len(heads))
    return rules[-1] + 1
