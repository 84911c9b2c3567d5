"""Formats that are zip archives: Word, PowerPoint, spreadsheets (.xlsx, .ods) and EPUB books.

Archives have a bound on what they unpack to; XML is refused with the declarations that can explode, and read
as a stream: a tree of a document with two million paragraphs takes 1.4 GB.
"""

from __future__ import annotations

import datetime
import io
import posixpath
import re
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any
from urllib.parse import unquote
from xml.etree import ElementTree

from pagerag._extras import need
from pagerag.ingest.builder import Piece, TextBuilder, cells_of, number_of
from pagerag.ingest.documents import Document, IngestSettings, SourceFile

_HEADING = re.compile(r"heading (\d)", re.IGNORECASE)
_WIDEST_SPAN = 100
_WIDEST = 1000
"""Columns of a row of a sheet that are read."""
_DEEPEST_GROUP = 20
_Shown = str | list[list[str]]  # on a slide: a paragraph, or the rows of a table


class Archive:
    """The members of a zip file, which is ``whole``; one that unpacks to too much is refused.

    Reading a member twice counts twice.
    """

    def __init__(self, file: SourceFile, settings: IngestSettings) -> None:
        self.file, self.limit = file, settings.max_file_bytes
        self.whole = io.BytesIO(file.read(self.limit))
        self._zip = zipfile.ZipFile(self.whole)
        self._sizes = {part.filename: part.file_size for part in self._zip.infolist()}
        self._taken = 0
        # The sizes that an archive declares are the most that reading gives; what is longer is an error.
        unpacked = sum(self._sizes.values())
        if unpacked > self.limit:
            raise file.bad(
                f"unpacks to {unpacked:,} bytes; at most {self.limit:,} are read: raise --max-file-mb"
            )

    def __contains__(self, name: str) -> bool:
        return name in self._sizes

    def read(self, name: str) -> bytes:
        """Return the bytes of a member; one that is not there is empty."""
        if name not in self._sizes:
            return b""
        self._taken += self._sizes[name]
        if self._taken > self.limit:
            raise self.file.bad(f"gives more than {self.limit:,} bytes; raise --max-file-mb")
        return self._zip.read(name)


def parse_xml(file: SourceFile, data: bytes) -> Iterator[tuple[str, Any]]:
    """Yield the beginning and the end of every element; a document type is refused.

    Elements are emptied by the caller when they end, so that no tree grows.
    """
    if b"<!DOCTYPE" in data[:4096] or b"<!ENTITY" in data:
        raise file.bad("declares XML entities, which documents of this format do not need")
    return ElementTree.iterparse(io.BytesIO(data), events=("start", "end"))  # noqa: S314 - see above


def local(element: Any) -> str:
    """Return an element's name without its namespace."""
    return str(element.tag).rpartition("}")[2]


def attribute(element: Any, name: str) -> str:
    """Return an attribute by its name without namespace, empty when it is not there."""
    for key, value in element.attrib.items():
        if key == name or key.endswith(f"}}{name}"):
            return str(value)
    return ""


# -- Word: paragraphs and tables in their order, the headings as sections


def read_docx(file: SourceFile, settings: IngestSettings) -> Iterator[Document]:
    """Read a document; the title is its property, or the first paragraph in the style Title."""
    archive = Archive(file, settings)
    if "word/document.xml" not in archive:
        raise file.bad("is not a Word document: it has no word/document.xml")
    builder = TextBuilder(limit=settings.max_text_chars, name=file.name)
    body = _Body(builder, _styles(file, archive))
    for event, element in parse_xml(file, archive.read("word/document.xml")):
        if event == "start":
            body.start(element)
        else:
            body.end(element)
            element.clear()
    title = ""
    for event, element in parse_xml(file, archive.read("docProps/core.xml") or b"<none/>"):
        if event == "end" and local(element) == "title":
            title = (element.text or "").strip()
    yield builder.document(title or body.title, file.stem)


def _styles(file: SourceFile, archive: Archive) -> dict[str, int]:
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
        for table in self.open[-1:]:
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
        elif text.strip():
            level = self.levels.get(self.style, 0)
            if level < 0:
                self.title = self.title or text
            self.builder.part(f"paragraph {self.paragraphs}", text)
            self.builder.plain(text, heading=abs(level), atom=self.item)

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


# -- PowerPoint: the text, tables and notes of each slide


def read_pptx(file: SourceFile, settings: IngestSettings) -> Iterator[Document]:
    """Read a presentation; each slide is a section, and a place names the slide."""
    pptx = need("pptx", "python-pptx", "pptx", "to read PowerPoint presentations")
    presentation = pptx.Presentation(Archive(file, settings).whole)
    builder = TextBuilder(limit=settings.max_text_chars, name=file.name)
    for number, slide in enumerate(presentation.slides, start=1):
        heading = slide.shapes.title
        name = " ".join(heading.text_frame.text.split()) if heading is not None else ""
        blocks = list(_blocks(slide.shapes, heading, 0))
        if slide.has_notes_slide and slide.notes_slide.notes_text_frame is not None:
            notes = slide.notes_slide.notes_text_frame.text
            blocks += [line for line in notes.split("\n") if line.strip()]
        _add_slide(builder, number, name, blocks)
    yield builder.document(presentation.core_properties.title or None, file.stem)


def _add_slide(builder: TextBuilder, number: int, name: str, blocks: Iterable[_Shown]) -> None:
    lines = [name]
    for block in blocks:
        lines += [block] if isinstance(block, str) else map("\t".join, block)
    builder.part(f"slide {number}", "\n".join(lines))
    builder.plain(name, heading=1)
    at = len(name) + 1
    for block in blocks:
        if isinstance(block, str):
            builder.plain(block, at, atom=True)
            at += len(block) + 1
            continue
        headers = block[0] if len(block) > 1 else []
        for place, row in enumerate(block):
            if place or not headers:
                builder.row(cells_of(row, at), headers)
            at += sum(len(text) + 1 for text in row)


def _blocks(shapes: Any, heading: Any, depth: int) -> Iterator[_Shown]:
    """Yield the paragraphs (texts) and tables (lists of rows) of shapes, groups included."""
    for shape in shapes:
        if heading is not None and shape.shape_id == heading.shape_id:
            continue
        if hasattr(shape, "shapes") and depth < _DEEPEST_GROUP:
            yield from _blocks(shape.shapes, heading, depth + 1)
        elif getattr(shape, "has_table", False):
            yield [[" ".join(cell.text.split()) for cell in row.cells] for row in shape.table.rows]
        elif shape.has_text_frame:
            for paragraph in shape.text_frame.paragraphs:
                text = paragraph.text.replace("\v", " ").replace("\n", " ")
                if text.strip():
                    yield text


# -- spreadsheets: each row behind its headers, each sheet a document


def read_xlsx(file: SourceFile, settings: IngestSettings) -> Iterator[Document]:
    """Read a workbook; values as they were last calculated, hidden sheets left out."""
    openpyxl = need("openpyxl", "openpyxl", "xlsx", "to read Excel workbooks")
    book = openpyxl.load_workbook(Archive(file, settings).whole, read_only=True, data_only=True)
    try:
        for sheet in book.worksheets:
            if sheet.sheet_state != "visible":
                continue
            # The size that a sheet declares can be made up; rows are then as wide as their cells.
            sheet.reset_dimensions()
            rows = (list(islice(row, _WIDEST)) for row in sheet.iter_rows(values_only=True))
            yield from _sheet(file, settings, sheet.title, rows)
    finally:
        book.close()


def read_ods(file: SourceFile, settings: IngestSettings) -> Iterator[Document]:
    """Read an OpenDocument spreadsheet."""
    archive = Archive(file, settings)
    if "content.xml" not in archive:
        raise file.bad("is not an OpenDocument file: it has no content.xml")
    for name, rows in _ods_sheets(file, archive.read("content.xml")):
        yield from _sheet(file, settings, name, rows)


def _ods_sheets(file: SourceFile, data: bytes) -> Iterator[tuple[str, list[list[Any]]]]:
    name = ""
    rows: list[list[Any]] = []
    row: list[Any] = []
    words: list[str] = []
    for event, element in parse_xml(file, data):
        tag = local(element)
        if event == "start":
            if tag == "table":
                name, rows = attribute(element, "name"), []
            elif tag == "table-row":
                row = []
            elif tag == "table-cell":
                words = []
            continue
        if tag == "p":
            words.append("".join(element.itertext()))
        elif tag in ("table-cell", "covered-table-cell"):
            text = " ".join(words) if tag == "table-cell" else ""
            words = []
            times = number_of(attribute(element, "number-columns-repeated"), 1)
            row.extend([text] * min(times, _WIDEST - len(row)))
        elif tag == "table-row":
            rows.append(row)
            element.clear()
        elif tag == "table":
            yield name, rows
            element.clear()


def _sheet(file: SourceFile, settings: IngestSettings, name: str, rows: Iterable[Any]) -> Iterator[Document]:
    """Yield a sheet as a document; a place names the row (``Prices!A4``)."""
    builder = TextBuilder(limit=settings.max_text_chars, name=file.name)
    headers: list[str] = []
    waiting: tuple[int, list[str]] | None = None
    for number, row in enumerate(rows, start=1):
        texts = [_shown(value) for value in row]
        if not any(texts):
            continue
        several = sum(map(bool, texts)) > 1
        if not headers and waiting is None and several and all(isinstance(v, str) for v in row if v):
            waiting = (number, texts)
            continue
        if waiting is not None:
            headers, waiting = waiting[1], None
        _add_row(builder, name, number, texts, headers)
    if waiting is not None:
        _add_row(builder, name, waiting[0], waiting[1], [])
    if not builder.empty:
        yield builder.document(f"{file.stem}: {name}", file.stem, record=name)


def _add_row(builder: TextBuilder, name: str, number: int, texts: list[str], headers: list[str]) -> None:
    builder.part(f"{name}!A{number}", "\t".join(texts))
    builder.row(cells_of(texts), [" ".join(header.split()) for header in headers])


def _shown(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    if isinstance(value, datetime.datetime) and value.time() == datetime.time(0):
        return value.date().isoformat()
    return str(value)  # dates and times as ISO 8601 has them


# -- EPUB: the chapters in their order, read as the web pages that they are


def read_epub(file: SourceFile, settings: IngestSettings) -> Iterator[Document]:
    """Read a book; a place names the chapter's file and characters of it."""
    from pagerag.ingest.formats.html import add_page  # of these formats, this one alone holds pages

    archive = Archive(file, settings)
    package = ""
    for event, element in parse_xml(file, archive.read("META-INF/container.xml") or b"<none/>"):
        if event == "start" and local(element) == "rootfile" and not package:
            package = attribute(element, "full-path")
    if package not in archive:
        raise file.bad("is not an EPUB book: it names no package file")
    title, chapters = _package(file, archive, package)
    builder = TextBuilder(limit=settings.max_text_chars, name=file.name)
    for name in chapters:
        source = archive.read(name).decode("utf-8-sig", "replace")
        builder.part(name, source)
        add_page(source, builder)
    yield builder.document(title, file.stem)


def _package(file: SourceFile, archive: Archive, package: str) -> tuple[str, list[str]]:
    """Return the book's title and the files of its chapters in reading order."""
    title = ""
    files: dict[str, str] = {}
    order: list[str] = []
    folder = posixpath.dirname(package)
    for event, element in parse_xml(file, archive.read(package)):
        name = local(element)
        if event == "end":
            if name == "title":
                title = title or (element.text or "").strip()
        elif name == "item" and "nav" not in attribute(element, "properties").split():
            target = posixpath.normpath(posixpath.join(folder, unquote(attribute(element, "href"))))
            if "html" in attribute(element, "media-type"):
                files[attribute(element, "id")] = target
        elif name == "itemref":
            order.append(attribute(element, "idref"))
    return title, list(dict.fromkeys(files[ref] for ref in order if ref in files))
