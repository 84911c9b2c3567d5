"""HTML: the text that a reader of the page sees, the headings as sections, each character's place kept."""

from __future__ import annotations

import contextlib
import html
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest

from pagerag.ingest.builder import Block, Piece, TextBuilder, added, bind, number_of, term_of, words_of
from pagerag.ingest.documents import Document, IngestSettings, SourceFile
from pagerag.ingest.formats.encoding import decode, read_marked_up
from pagerag.ingest.formats.markup import BLOCKS, HEADINGS, VOID, Tag, attributes, hidden, pieces_of, tokens

# Not text of the page, or not its own: scripts, controls, and what surrounds the article on every page.
_DROPPED = frozenset(
    """script style noscript template svg head nav footer button select datalist textarea iframe object audio
    video canvas map rp annotation annotation-xml noframes noembed""".split()
)
_ROLES = frozenset("navigation banner contentinfo search menu menubar toolbar".split())
_NAVIGATION = frozenset(
    """nav navbar navigation breadcrumb breadcrumbs sidebar menu toc pagination pager footer header
    path""".split()
)
# An opening tag of the key ends an open element of the values, nearer than the boundary.
_CLOSES = {
    "li": (("li",), ("ul", "ol", "menu")),
    "dt": (("dt", "dd"), ("dl",)),
    "dd": (("dt", "dd"), ("dl",)),
    "tr": (("td", "th", "tr"), ("table",)),
    "td": (("td", "th"), ("tr", "table")),
    "th": (("td", "th"), ("tr", "table")),
    "thead": (("td", "th", "tr", "thead", "tbody"), ("table",)),
    "tbody": (("td", "th", "tr", "thead", "tbody"), ("table",)),
    "option": (("option",), ("select",)),
}
_NOT_IN_P = BLOCKS - {"td", "th", "tr", "tbody", "thead", "tfoot", "caption", "html", "body"}
_CHARSET = re.compile(
    rb"<meta[^>]{0,200}charset\s{0,8}=\s{0,8}[\"']?\s{0,8}([A-Za-z0-9_:.-]{2,40})", re.IGNORECASE
)
_DECLARED = re.compile(rb"<\?xml[^>]{0,100}encoding\s{0,8}=\s{0,8}[\"']([A-Za-z0-9_:.-]{2,40})")
_WORD = re.compile(r"[A-Za-z]+")
_SEPARATORS = (" - ", " – ", " — ", " | ", " · ", " :: ", " « ", " • ")
_PERMALINKS = frozenset(("¶", "#", "§", "🔗"))
_WIDEST_SPAN = 100


def read_html(file: SourceFile, settings: IngestSettings) -> Iterator[Document]:
    """Read a page; the title is the page's own, or its first heading of the first level."""
    return read_marked_up(file, settings, add_page, _decoded)


def _decoded(file: SourceFile, data: bytes) -> str:
    """Decode a page: what its bytes say, then what it declares, then a guess."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        found = _DECLARED.search(data[:1024]) or _CHARSET.search(data[:4096])
    if found is not None and b"\0" not in data[:4096]:
        with contextlib.suppress(LookupError, UnicodeDecodeError):
            return data.decode(found.group(1).decode("ascii"))
    return decode(file, data)


def add_page(source: str, builder: TextBuilder) -> str:
    """Add the blocks of a page to ``builder`` and return the page's title."""
    page = _Page(source)
    builder.add(page.blocks)
    first = next((words_of(b.pieces) for b in page.blocks if b.heading == 1), "")
    title = " ".join(page.title.split())
    if first and any(title.startswith(first + mark) for mark in _SEPARATORS):
        return first  # "Leave – Handbook – Company": the page's own part of it
    return title or first


def page_blocks(source: str, start: int, end: int) -> list[Block]:
    """Return the blocks of a part of a file that is written in HTML."""

    def moved(pieces: Iterable[Piece]) -> list[Piece]:
        return [Piece(p.text, p.start + start, p.end + start) if p.start >= 0 else p for p in pieces]

    blocks = _Page(source[start:end]).blocks
    for block in blocks:
        block.pieces = moved(block.pieces)
        block.cells = None if block.cells is None else list(map(moved, block.cells))
    return blocks


@dataclass(slots=True)
class _Open:
    """An element that has not ended: what to undo when it does."""

    name: str
    hidden: bool = False
    menu: bool = False
    blocks: int = 0
    linked: int = 0
    length: int = 0


@dataclass(slots=True)
class _Table:
    headers: list[str] = field(default_factory=list)
    rows: int = 0
    cells: list[list[Piece]] = field(default_factory=list)
    spans: list[tuple[int, int]] = field(default_factory=list)
    all_headers: bool = True
    carried: dict[int, tuple[int, str]] = field(default_factory=dict)
    in_cell: bool = False
    layout: bool = False


class _Page:
    """One walk over the tags of a page, with the elements that are open."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.blocks: list[Block] = []
        self.title = ""
        self.open: list[_Open] = []
        self.names: Counter[str] = Counter()
        self.unseen = 0
        self.line: list[Piece] = []
        self.tables: list[_Table] = []
        self.term: list[Piece] = []
        self.linked = self.length = 0
        for tag in tokens(source):
            if tag.kind == "text":
                self._text(tag)
            elif tag.kind == "start":
                self._start(tag)
            elif tag.kind == "end":
                self._end(tag.name)
        while self.open:
            self._close()
        self._flush()

    # -- text

    def _text(self, tag: Tag) -> None:
        if tag.name == "title" and not self.title:
            self.title = "".join(piece.text for piece in pieces_of(self.source, tag.start, tag.end))
            return
        if self.unseen or tag.name in ("title", "script", "style"):
            return
        size = tag.end - tag.start
        self.length += size
        if self.names["a"]:
            self.linked += size
            if size <= 8 and html.unescape(self.source[tag.start : tag.end]).strip() in _PERMALINKS:
                return
        if tag.name == "cdata":
            self.line.append(Piece(self.source[tag.start : tag.end], tag.start, tag.end))
        else:
            self.line.extend(pieces_of(self.source, tag.start, tag.end))

    def _flush(self, *, heading: int = 0) -> None:
        """End the block of the text so far."""
        if self.tables and self.tables[-1].in_cell:
            self.line += [added(" ")] if self.line else []
            return
        pieces, self.line = self.line, []
        if all(piece.text.isspace() for piece in pieces):
            return
        if self.term and self.names["dd"]:
            pieces = [*term_of(self.term), *pieces]
            self.term = []
        atom = bool(self.names["li"] or self.names["dd"])
        self.blocks.append(Block(pieces, heading, atom, bool(self.names["pre"])))

    # -- elements

    def _start(self, tag: Tag) -> None:
        name = tag.name
        if name == "br":
            if not self.unseen:
                self.line.append(Piece("\n" if self.names["pre"] else " ", tag.start, tag.end))
            return
        if name in BLOCKS:
            self._imply(name)
            self._flush()
        if name in VOID or (tag.empty and name not in BLOCKS):
            return
        element = _Open(name, name in _DROPPED, False, len(self.blocks), self.linked, self.length)
        if tag.end - tag.start > len(name) + 2:
            self._attributes(tag, element)
        self.open.append(element)
        self.names[name] += 1
        self.unseen += element.hidden
        if name == "table":
            if self.tables and not self.tables[-1].layout:
                self._to_layout(self.tables[-1])
            self.tables.append(_Table())
        elif self.tables and not self.unseen:
            self._table_part(tag)
        if tag.empty:
            self._close()

    def _attributes(self, tag: Tag, element: _Open) -> None:
        values = attributes(self.source, tag)
        if hidden(values) or values.get("role", "").lower() in _ROLES:
            element.hidden = element.name not in ("html", "body")
        if element.name in BLOCKS and element.name not in HEADINGS:
            labels = f"{values.get('class', '')} {values.get('id', '')}"
            element.menu = not _NAVIGATION.isdisjoint(map(str.lower, _WORD.findall(labels[:300])))

    def _imply(self, name: str) -> None:
        """Close what an opening tag ends without saying so."""
        if name in _NOT_IN_P:
            self._end("p", within=("td", "th", "table", "button", "object"))
        ended, boundary = _CLOSES.get(name, ((), ()))
        for other in ended:
            self._end(other, within=boundary)

    def _end(self, name: str, within: Sequence[str] = ()) -> None:
        """Close the nearest open element of this name, and what is open inside it."""
        if not self.names[name]:
            return
        if within:
            # An element beyond a boundary stays open; looking for it never goes far.
            for element in self.open[: -min(len(self.open), 64) - 1 : -1]:
                if element.name == name:
                    break
                if element.name in within:
                    return
            else:
                return
        while self._close() != name:
            pass

    def _close(self) -> str:
        """Close what was opened last; returns its name."""
        element = self.open[-1]
        name = element.name
        if name in ("td", "th") and self.tables and not self.unseen:
            self._end_cell()
        elif name == "tr" and self.tables and not self.unseen:
            self._end_row()
        elif name == "dt" and self.line and not self.unseen:
            if self.term:
                self.term.append(added(", "))
            self.term += self.line
            self.line = []
        elif name in BLOCKS:
            self._flush(heading=0 if self.unseen else HEADINGS.get(name, 0))
        if name == "dl" and self.term:
            self.line, self.term = self.term, []
            self._flush()
        elif name in ("dd", "li") and not self.unseen:
            bind(self.blocks[element.blocks :])
        if name == "table" and self.tables:
            table = self.tables.pop()
            if not table.layout and table.headers and table.rows == 1:
                self.blocks.append(Block([added(" | ".join(filter(None, table.headers)))]))
        self.open.pop()
        self.names[name] -= 1
        self.unseen -= element.hidden
        if element.menu:
            length, linked = self.length - element.length, self.linked - element.linked
            if length and linked / length > 0.4:
                del self.blocks[element.blocks :]  # named like a menu, and made of links
        return name

    # -- tables

    def _to_layout(self, table: _Table) -> None:
        """Treat a table as a way to place things on a page: its cells are blocks like others."""
        table.layout, table.in_cell = True, False
        self.blocks += [Block(cell) for cell in table.cells if words_of(cell)]
        table.cells = []
        self._flush()

    def _table_part(self, tag: Tag) -> None:
        table = self.tables[-1]
        if table.layout:
            return
        if tag.name in HEADINGS and table.in_cell:
            self._to_layout(table)
        elif tag.name == "tr":
            self._flush()
            table.cells, table.spans, table.all_headers = [], [], True
        elif tag.name in ("td", "th"):
            self._flush()
            self.line, table.in_cell = [], True
            values = attributes(self.source, tag) if tag.end - tag.start > 4 else {}
            table.spans.append((_count(values, "colspan"), _count(values, "rowspan")))
            table.all_headers = table.all_headers and tag.name == "th"

    def _end_cell(self) -> None:
        table = self.tables[-1]
        if table.layout:
            self._flush()
        elif table.in_cell:
            table.cells.append(self.line)
            self.line, table.in_cell = [], False

    def _end_row(self) -> None:
        table = self.tables[-1]
        if table.layout or not table.cells:
            self._flush()
            return
        cells = _placed(table)
        table.rows += 1
        head = table.all_headers or bool(self.names["thead"])
        table.cells = []
        if head and (table.rows == 1 or self.names["thead"]):
            # A second row of headers goes below the first.
            both = zip_longest(table.headers, map(words_of, cells), fillvalue="")
            table.headers = [f"{up} {low}".strip() if up != low else up for up, low in both]
            return
        self.blocks.append(Block(cells=cells, headers=tuple(table.headers)))


def _placed(table: _Table) -> list[list[Piece]]:
    """Return the cells of a row by column: wide cells take several, tall ones come down from above."""
    cells: list[list[Piece]] = []

    def carry() -> None:
        while (held := table.carried.get(len(cells), (0, "")))[0]:
            table.carried[len(cells)] = (held[0] - 1, held[1])
            cells.append([added(held[1])])

    for cell, (width, height) in zip(table.cells, table.spans, strict=False):
        carry()
        if height > 1:
            words = words_of(cell)
            table.carried.update({len(cells) + place: (height - 1, words) for place in range(width)})
        cells += [cell, *([] for _ in range(width - 1))]
    carry()
    return cells


def _count(values: Mapping[str, str], name: str) -> int:
    return max(1, min(number_of(values.get(name, "").strip(), 1), _WIDEST_SPAN))
