"""Word documents (.docx): paragraphs and tables in their order, the headings as sections.

The XML is read as a stream: a tree of a document with two million paragraphs takes 1.4 GB.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from pagerag.ingest.builder import Piece, TextBuilder, cells_of, number_of
from pagerag.ingest.documents import Document, IngestSettings, SourceFile
from pagerag.ingest.formats.archive import Archive, attribute, local, parse_xml

_HEADING = re.compile(r"heading (\d)", re.IGNORECASE)
_WIDEST_SPAN = 100


def read_docx(file: SourceFile, settings: IngestSettings) -> Iterator[Document]:
    """Read a document; the title is its property, or the first paragraph in the style Title."""
    archive = Archive(file, settings)
    if "word/document.xml" not in archive:
        raise file.bad("is not a Word document: it has no word/document.xml")
    builder = TextBuilder(limit=settings.max_text_chars, name=file.name)
    body = _Body(builder, _levels(file, archive))
    for event, element in parse_xml(file, archive.read("word/document.xml")):
        if event == "start":
            body.start(element)
        else:
            body.end(element)
            element.clear()
    title = _title(file, archive) or body.title
    yield builder.document(title, file.stem)


def _title(file: SourceFile, archive: Archive) -> str:
    title = ""
    for event, element in parse_xml(file, archive.read("docProps/core.xml") or b"<none/>"):
        if event == "end" and local(element) == "title":
            title = (element.text or "").strip()
    return title


def _levels(file: SourceFile, archive: Archive) -> dict[str, int]:
    """Return the heading levels of the styles, by id; the style Title counts as the highest."""
    levels: dict[str, int] = {}
    style = ""
    for event, element in parse_xml(file, archive.read("word/styles.xml") or b"<none/>"):
        name = local(element)
        if event == "start":
            if name == "style":
                style = attribute(element, "styleId")
            elif name == "name" and style:
                value = attribute(element, "val")
                if found := _HEADING.match(value):
                    levels[style] = int(found.group(1))
                elif value.lower() == "title":
                    levels[style] = -1
            elif name == "outlineLvl" and style and attribute(element, "val").isdigit():
                levels.setdefault(style, min(int(attribute(element, "val")) + 1, 9))
        elif name == "style":
            element.clear()
            style = ""
    return levels


@dataclass(slots=True)
class _Table:
    number: int
    rows: int = 0
    header: bool = False
    headers: list[str] = field(default_factory=list)
    cells: list[tuple[str, int]] = field(default_factory=list)
    text: list[str] = field(default_factory=list)
    span: int = 1


class _Body:
    """Gathers paragraphs and rows while the elements go by."""

    def __init__(self, builder: TextBuilder, levels: dict[str, int]) -> None:
        self.builder, self.levels = builder, levels
        self.title = ""
        self.words: list[str] = []
        self.style = ""
        self.item = False
        self.paragraphs = self.tables = 0
        self.open: list[_Table] = []
        self.skipped = 0

    def start(self, element: Any) -> None:
        name = local(element)
        if name in ("Fallback", "del", "moveFrom"):
            self.skipped += 1  # a second form of the same content, or removed text
        elif name == "p":
            if not self.open:
                self.paragraphs += 1
            self.words, self.style, self.item = [], "", False
        elif name == "pStyle":
            self.style = attribute(element, "val")
        elif name == "numPr":
            self.item = True
        elif name == "tbl":
            self.tables += 1
            self.open.append(_Table(self.tables))
        elif self.open:
            self._start_in_table(self.open[-1], name, element)

    def _start_in_table(self, table: _Table, name: str, element: Any) -> None:
        if name == "tr":
            table.rows, table.cells, table.header = table.rows + 1, [], False
        elif name == "tc":
            table.text, table.span = [], 1
        elif name == "tblHeader":
            table.header = True
        elif name == "gridSpan":
            table.span = max(1, min(number_of(attribute(element, "val"), 1), _WIDEST_SPAN))

    def end(self, element: Any) -> None:
        name = local(element)
        if name in ("Fallback", "del", "moveFrom"):
            self.skipped -= 1
        elif name == "t" and not self.skipped:
            self.words.append(element.text or "")
        elif name in ("tab", "br", "cr"):
            self.words.append("\t" if name == "tab" else "\n")
        elif name == "noBreakHyphen":
            self.words.append("-")
        elif name == "p" and not self.skipped:
            self._paragraph()
        elif self.open and name == "tc":
            table = self.open[-1]
            table.cells.append((" ".join(part for part in table.text if part), table.span))
        elif self.open and name == "tr":
            self._row(self.open[-1])
        elif self.open and name == "tbl":
            table = self.open.pop()
            if table.rows == 1 and table.headers:
                self.builder.part(f"table {table.number}, row 1", text := " | ".join(table.headers))
                self.builder.plain(text)

    def _paragraph(self) -> None:
        text = "".join(self.words)
        self.words = []
        if self.open:
            self.open[-1].text.append(" ".join(text.split()))
            return
        if not text.strip():
            return
        level = self.levels.get(self.style, 0)
        if level < 0:
            level = 1
            self.title = self.title or text
        self.builder.part(f"paragraph {self.paragraphs}", text)
        self.builder.plain(text, heading=level, atom=self.item)

    def _row(self, table: _Table) -> None:
        if len(self.open) > 1:  # a table in a cell: its text belongs to the cell
            self.open[-2].text.extend(text for text, _ in table.cells)
            return
        texts = [text for text, _ in table.cells]
        if table.rows == 1 and (table.header or _heads(texts)):
            table.headers = [text for text, span in table.cells for _ in range(span)]
            return
        self.builder.part(f"table {table.number}, row {table.rows}", "\t".join(texts))
        cells: list[list[Piece]] = []
        for cell, (_, span) in zip(cells_of(texts), table.cells, strict=True):
            cells += [cell, *([] for _ in range(span - 1))]
        self.builder.row(cells, table.headers)


def _heads(texts: list[str]) -> bool:
    """Return whether a first row looks like headers: several short texts, no numbers."""
    return len(texts) > 1 and all(0 < len(text) <= 60 and not text[0].isdigit() for text in texts)
