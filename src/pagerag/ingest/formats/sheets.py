"""Spreadsheets (.xlsx, .ods): each row behind its headers, each sheet a document."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from pagerag._extras import need
from pagerag.ingest.builder import TextBuilder, cells_of, number_of
from pagerag.ingest.documents import Document, IngestSettings, SourceFile
from pagerag.ingest.formats.archive import Archive, attribute, local, parse_xml

_WIDEST = 1000
"""Columns of a row that are read."""


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


def _sheet(
    file: SourceFile, settings: IngestSettings, name: str, rows: Iterable[list[Any]]
) -> Iterator[Document]:
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
        _add(builder, name, number, texts, headers)
    if waiting is not None:
        _add(builder, name, waiting[0], waiting[1], [])
    if not builder.empty:
        yield builder.document(f"{file.stem}: {name}", file.stem, record=name)


def _add(builder: TextBuilder, name: str, number: int, texts: list[str], headers: list[str]) -> None:
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
