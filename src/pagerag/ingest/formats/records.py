"""Turn records (of JSON, CSV, Parquet, and of the benchmarks' files) into documents; read CSV and Parquet.

A record is a document: its text, title and id are found under the usual names or those that
``IngestSettings.fields`` gives; its other plain values are kept as fields. A record of things (item, price,
stock), which has no text, is told behind its keys: "item: kiln shelf; price: 45 EUR". A record of a multi-hop
benchmark (a question with its context paragraphs) stands for its paragraphs; nothing else of it, least
of all which of them support the answer, is read.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property, partial
from typing import Any, BinaryIO, NamedTuple

from pagerag._extras import need
from pagerag.errors import FormatError
from pagerag.ingest.documents import BadRecord, Document, IngestSettings, SourceFile, clean
from pagerag.ingest.formats.encoding import encoding_of
from pagerag.places import Run, SourceMap

_USUAL = {
    "text": (
        "text", "contents", "content", "body", "passage", "paragraph_text", "paragraph", "document",
        "passage_text", "abstract",
    ),
    "title": ("title", "name", "heading", "wikipedia_title", "page_title", "subject"),
    "id": ("id", "_id", "doc_id", "docid", "pid", "passage_id", "idx", "key", "url"),
}  # fmt: skip
_LONGEST_FIELD = 1000
_MOST_NUMBERS = 20  # a longer list of numbers is a vector, and nothing to read
_DEEPEST = 20
# Parquet packs repeated values very tightly: a file may give this many characters for each of its bytes.
_PARQUET_EXPANSION = 100
_DOUBLED = re.compile('""')  # a quotation mark in a field


Lines = tuple[tuple[int, ...], int]
"""Where the lines of a record end in the file, and the number of its first line."""


class Row(NamedTuple):
    """A record: its line or number, from 1; how far into the file it ends; its values.

    ``place`` gives the way back to the file for the text of one of the values. ``lines`` is there where a
    record without a text may be told behind its keys.
    """

    number: int
    at: int
    values: Mapping[str, Any]
    place: Callable[[str, str], SourceMap]
    lines: Callable[[], Lines] | None = None


def documents_of(
    file: SourceFile, settings: IngestSettings, rows: Iterable[Row | BadRecord]
) -> Iterator[Document | BadRecord]:
    """Yield the documents of records; the same record again is passed over."""
    seen: dict[str, str] = {}
    for row in rows:
        if isinstance(row, BadRecord):
            yield row
            continue
        try:
            found = list(_read(file, settings, row))
        except FormatError as problem:
            yield unusable(settings, problem)
            continue
        for name, title, text, fields, origin in found:
            content = hashlib.sha256(f"{title}\0{text}".encode("utf-8", "replace")).hexdigest()[:32]
            key = name or content[:16]
            if seen.get(key) == content:
                continue  # the same record again: benchmarks repeat paragraphs from question to question
            if key in seen:
                key = f"{key}-{row.number}"  # two records share an id: both are kept
            seen[key] = content
            yield Document(text, title, record=key, whole=True, fields=fields, at=row.at, origin=origin)


_Found = tuple[str | None, str | None, str, dict[str, Any], SourceMap]


def _read(file: SourceFile, settings: IngestSettings, row: Row) -> Iterator[_Found]:
    """Yield (id, title, text, other fields, way back) of the documents of a record."""
    number, record = row.number, row.values
    if "question" in record and isinstance(record.get("paragraphs"), list):
        for paragraph in record["paragraphs"]:
            text = str(paragraph["paragraph_text"])
            yield None, paragraph.get("title"), text, {}, row.place("paragraphs", text)
        return
    if "question" in record and isinstance(record.get("context"), list | dict):
        context = record["context"]
        if isinstance(context, dict):
            context = zip(context["title"], context["sentences"], strict=True)
        for title, sentences in context:
            text = _joined(sentences)
            yield None, str(title), text, {}, row.place("context", text)
        return
    names = {kind: _name(file, settings, row, kind) for kind in _USUAL}
    own = record.get(names["id"]) if names["id"] else None
    name = clean(str(own)) if own is not None and str(own).strip() else str(number)
    if names["text"] is None:
        text, origin = _told(file, settings, row)
        given = str(record.get(settings.fields.get("title", ""), "")).strip()
        yield name, given or file.stem, text, {}, origin
        return
    value = record[names["text"]]
    if not is_text(value):
        raise file.bad(f"must be text, is {type(value).__name__}", line=number, field=names["text"])
    text = value if isinstance(value, str) else _joined(value)
    title = record.get(names["title"]) if names["title"] else None
    origin = row.place(names["text"], text)
    if title is None and names["text"] == "contents" and "\n" in text:
        # The common layout of retrieval corpora: the title in quotes on the first line.
        head, _, rest = text.partition("\n")
        title, text = head.strip().strip('"'), rest
        origin = origin.cut(len(head) + 1, len(head) + 1 + len(rest))
    used = {name for name in names.values() if name}
    fields = {
        key: value
        for key, value in record.items()
        if key not in used
        and isinstance(value, str | int | float | bool)
        and not (isinstance(value, str) and len(value) > _LONGEST_FIELD)
    }
    yield name, str(title) if title is not None and str(title).strip() else None, text, fields, origin


def is_text(value: Any) -> bool:
    """Return whether a value is a text, whole or as a list of sentences."""
    return isinstance(value, str) or (
        isinstance(value, list) and all(isinstance(part, str) for part in value)
    )


def has_text(record: Mapping[str, Any]) -> bool:
    """Return whether a record holds a text under one of the usual names, or stands for its paragraphs."""
    return "question" in record or any(is_text(record.get(name)) for name in _USUAL["text"])


def _told(file: SourceFile, settings: IngestSettings, row: Row) -> tuple[str, SourceMap]:
    """Return a record as "key: value; key: value", with the way back from each value."""
    chunks: list[str] = []
    runs: list[Run] = []
    at = 0
    for key, value in row.values.items():
        if said := _said(value):
            head = f"{'; ' if chunks else ''}{key}: "
            at += len(head)
            runs += [run._replace(start=run.start + at) for run in row.place(key, said).runs]
            at += len(said)
            chunks += head, said
        if at > settings.max_record_bytes:
            problem = f"the record is longer than {settings.max_record_bytes:,} characters"
            raise file.bad(problem, line=row.number)
    newlines, line = row.lines() if row.lines is not None else ((), 1)
    return "".join(chunks), SourceMap(tuple(runs), newlines, line)


def _said(value: Any, depth: int = 0) -> str:
    """Return a value in words, an object as "(key: value; key: value)"; nothing of a vector."""
    if value is None or depth > _DEEPEST:
        return ""
    if isinstance(value, str):
        return value if value.strip() else ""
    if isinstance(value, list):
        if len(value) > _MOST_NUMBERS and all(isinstance(part, int | float) for part in value):
            return ""
        parts = [(part, _said(part, depth + 1)) for part in value]
        return ", ".join(f"({said})" if isinstance(part, list) else said for part, said in parts if said)
    if isinstance(value, dict):
        told = ((key, _said(part, depth + 1)) for key, part in value.items())
        inside = "; ".join(f"{key}: {said}" for key, said in told if said)
        return f"({inside})" if inside else ""
    return json.dumps(value)


def _name(file: SourceFile, settings: IngestSettings, row: Row, kind: str) -> str | None:
    """Return what this kind of value is called in the record; None for the text of one that is to be told."""
    number, record = row.number, row.values
    given = settings.fields.get(kind)
    if given is not None:
        if given in record or kind != "text":
            return given if given in record else None
        raise file.bad(f"is missing; the record has: {', '.join(map(str, record))}", line=number, field=given)
    found = next((name for name in _USUAL[kind] if name in record), None)
    if found is None and kind == "text" and row.lines is None:
        raise file.bad(
            f"no text field; the record has: {', '.join(map(str, record)) or 'nothing'}. "
            "Name it with --field text=NAME",
            line=number,
        )
    return found


def _joined(sentences: Iterable[str]) -> str:
    return " ".join(sentence.strip() for sentence in sentences if sentence.strip())


def unusable(settings: IngestSettings, problem: FormatError) -> BadRecord:
    """Return a record that is reported and passed over, or raise, as the settings say."""
    if settings.bad_records == "fail":
        raise problem
    return BadRecord(problem)


def sniffed(file: SourceFile, stream: BinaryIO) -> str:
    """Return the encoding of a stream by its beginning, and go back there."""
    sample = stream.read(2**16)
    more = bool(stream.read(1))
    stream.seek(0)
    return encoding_of(file, sample, more=more)


def runs_of(start: int, end: int, escapes: Iterable[tuple[int, int]], shift: int) -> Iterator[Run]:
    """Yield the runs of a text that is written from ``start`` to ``end``; an escape is one character of it.

    The first character of what is read stands ``shift`` characters into the file.
    """
    at = 0
    for first, last in escapes:
        if first > start:
            yield Run(at, first - start, shift + start, first - start)
        at += first - start
        yield Run(at, 1, shift + first, last - first)
        at, start = at + 1, last
    if end > start:
        yield Run(at, end - start, shift + start, end - start)


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
            told = len(names) > 1 and "text" not in settings.fields and not set(names) & set(_USUAL["text"])
            for number, row in enumerate(reader, start=1):
                if None in row:
                    raise file.bad("has more fields than the header", line=reader.line_num)
                source = "".join(taken)
                values = {key: value for key, value in row.items() if value}
                cells = [(name, row.get(name) or "") for name in names]
                places = _CsvPlaces(source, cells, characters, line)
                yield Row(number, raw.tell(), values, places.place, places.lines if told else None)
                characters, line = characters + len(source), reader.line_num + 1
                taken.clear()
    except (csv.Error, UnicodeDecodeError) as broken:
        raise file.bad(f"is not readable CSV ({broken})") from broken
    finally:
        csv.field_size_limit(before)


class _CsvPlaces:
    """Finds the fields of a record in its lines: ``shift`` characters into the file, from ``line`` on."""

    def __init__(self, source: str, cells: list[tuple[str, str]], shift: int, line: int) -> None:
        self.source, self.cells, self.shift, self.line = source, cells, shift, line

    def lines(self) -> Lines:
        """Return the line ends of the record."""
        return self._ends, self.line

    def place(self, name: str, text: str) -> SourceMap:
        """Return the way back from a field."""
        if name not in self._spans:
            return SourceMap((Run(0, len(text), self.shift, len(self.source)),), line=self.line)
        start, end = self._spans[name]
        doubled = (found.span() for found in _DOUBLED.finditer(self.source, start, end))
        return SourceMap(tuple(runs_of(start, end, doubled, self.shift)), self._ends, self.line)

    @cached_property
    def _ends(self) -> tuple[int, ...]:
        return tuple(self.shift + found.start() for found in re.finditer("\n", self.source))

    @cached_property
    def _spans(self) -> dict[str, tuple[int, int]]:
        spans: dict[str, tuple[int, int]] = {}
        at = 0
        for key, value in self.cells:
            written = value.replace('"', '""')
            start = self.source.find(written, at)
            if start < 0:  # a field without quotation marks around it, which has some inside
                written = value
                start = self.source.find(written, at)
            if start < 0:
                break
            at = start + len(written)
            spans.setdefault(key, (start, at))
        return spans


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
