"""Read CSV and Parquet, a record for each row."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from pagerag._extras import need
from pagerag.ingest.documents import BadRecord, Document, IngestSettings, SourceFile
from pagerag.ingest.formats.records import Row, documents_of, names_text, runs_of, sniffed, unusable
from pagerag.places import Run, SourceMap

# Parquet packs repeated values very tightly: a file may give this many characters for each of its bytes.
_PARQUET_EXPANSION = 100
_DOUBLED = re.compile('""')  # a quotation mark in a field


def read_csv(file: SourceFile, settings: IngestSettings) -> Iterator[Document | BadRecord]:
    """Read a header line, then a record a line; fields may hold line breaks in quotes.

    Where no column is a text, each row is told behind its headers: "item: kiln shelf; price: 45 EUR".
    """
    return documents_of(file, settings, _csv_rows(file, settings))


def _csv_rows(file: SourceFile, settings: IngestSettings) -> Iterator[Row]:
    limit = settings.max_record_bytes
    before = csv.field_size_limit(min(limit, 2**31 - 1))
    try:
        with file.path.open("rb") as raw:
            encoding = sniffed(file, raw)
            stream = io.TextIOWrapper(raw, encoding=encoding, newline="")
            header = stream.readline(limit)
            stream.seek(0)
            taken: list[str] = []  # the lines of the record that is being read

            def lines() -> Iterator[str]:
                while line := stream.readline(limit + 1):
                    taken.append(line)
                    if sum(map(len, taken[-2:])) > limit:
                        raise file.bad(f"a record is longer than {limit:,} characters")
                    yield line

            marks = ("\t",) if file.path.suffix.lower() == ".tsv" else (",", ";", "\t", "|")
            reader = csv.DictReader(lines(), delimiter=max(marks, key=header.count), strict=True)
            names = list(reader.fieldnames or ())
            characters, line = sum(map(len, taken)), reader.line_num + 1
            taken.clear()
            # A table of things (item, price, stock) has no text column: each row is told behind its headers.
            told = len(names) > 1 and "text" not in settings.fields and not names_text(names)
            for number, row in enumerate(reader, start=1):
                if None in row:
                    raise file.bad("has more fields than the header", line=reader.line_num)
                source = "".join(taken)
                values = {key: value for key, value in row.items() if value}
                cells = [(name, row.get(name) or "") for name in names]
                place = partial(_in_csv, source, cells, characters, line)
                if told:
                    text = "; ".join(f"{name}: {value}" for name, value in cells if value)
                    values = {"title": file.stem, "text": text}
                    place = partial(_behind_headers, place, cells)
                yield Row(number, raw.tell(), values, place)
                characters, line = characters + len(source), reader.line_num + 1
                taken.clear()
    except (csv.Error, UnicodeDecodeError) as broken:
        raise file.bad(f"is not readable CSV ({broken})") from broken
    finally:
        csv.field_size_limit(before)


def _in_csv(
    source: str, cells: list[tuple[str, str]], shift: int, line: int, name: str, text: str
) -> SourceMap:
    """Find a field in the lines of its record, which begin ``shift`` characters into the file."""
    at = 0
    for key, value in cells:
        # A quotation mark is written twice, or, in a field without quotation marks around it, as it is.
        writings = (value.replace('"', '""'), value)
        start, end = next(((p, p + len(w)) for w in writings if (p := source.find(w, at)) >= 0), (-1, -1))
        if start < 0:
            break
        if key == name:
            newlines = tuple(shift + m.start() for m in re.finditer("\n", source))
            doubled = (m.span() for m in _DOUBLED.finditer(source, start, end))
            return SourceMap(tuple(runs_of(start, end, doubled, shift)), newlines, line)
        at = end
    return SourceMap((Run(0, len(text), shift, len(source)),), line=line)


def _behind_headers(
    inside: Callable[[str, str], SourceMap], cells: list[tuple[str, str]], _name: str, _text: str
) -> SourceMap:
    """Find the values of a row that is told as "header: value; header: value"."""
    runs: list[Run] = []
    found, at = SourceMap(), 0
    for name, value in cells:
        if value:
            found = inside(name, value)
            at += len(f"{name}: ") + (2 if runs else 0)
            runs += [run._replace(start=run.start + at) for run in found.runs]
            at += len(value)
    return SourceMap(tuple(runs), found.newlines, found.line)


def read_parquet(file: SourceFile, settings: IngestSettings) -> Iterator[Document | BadRecord]:
    """Read a record a row; a place names the row and counts characters of its text."""
    parquet = need("pyarrow.parquet", "pyarrow", "parquet", "to read Parquet files")
    size = file.path.stat().st_size

    def rows() -> Iterator[Row | BadRecord]:
        schema = parquet.read_schema(file.path)
        plain = parquet.ParquetFile(file.path)
        leaves = [plain.schema.column(place) for place in range(len(plain.schema.names))]
        texts = [leaf.path for leaf in leaves if leaf.physical_type == "BYTE_ARRAY"]
        # Values that repeat stay what they are in the file, one value and many references to it: 512
        # rows of one long text would take 512 times its size.
        table = parquet.ParquetFile(file.path, read_dictionary=texts)
        step = size / max(1, table.metadata.num_rows)
        number = given = 0
        for batch in table.iter_batches(batch_size=512):
            columns = [batch.column(place) for place in range(batch.num_columns)]
            for row in range(batch.num_rows):
                number += 1
                values = {
                    name: value
                    for name, column in zip(schema.names, columns, strict=True)
                    if (value := column[row].as_py()) is not None
                }
                length = sum(map(_weight, values.values()))
                given += length
                if given > settings.max_text_chars + _PARQUET_EXPANSION * size:
                    raise file.bad(f"gives more than {given:,} characters of {size:,} bytes")
                if length > settings.max_record_bytes:
                    problem = f"the record is longer than {settings.max_record_bytes:,} characters"
                    yield unusable(settings, file.bad(problem, line=number))
                    continue
                yield Row(number, int(number * step), values, partial(_in_row, number))

    return documents_of(file, settings, rows())


def _weight(value: Any) -> int:
    """Return how much room a value takes, about."""
    if isinstance(value, str | bytes):
        return len(value)
    if isinstance(value, list):
        return sum(map(_weight, value))
    return 8


def _in_row(number: int, name: str, text: str) -> SourceMap:
    return SourceMap((Run(0, len(text), 0, len(text)),), parts=((0, f"row {number}, {name}"),))
