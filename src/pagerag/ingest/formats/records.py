"""Files of records: JSON Lines, JSON, CSV and Parquet, and the benchmarks' files.

A record is a document: its text, title and id are found under the usual names or those that
``IngestSettings.fields`` gives; its other plain values are kept as fields. A record of a multi-hop
benchmark (a question with its context paragraphs) stands for its paragraphs; nothing else of it, least
of all which of them support the answer, is read.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, BinaryIO, NamedTuple

from pagerag._extras import need
from pagerag.errors import FormatError
from pagerag.ingest.documents import BadRecord, Document, IngestSettings, SourceFile, clean
from pagerag.ingest.formats.encoding import decode, encoding_of
from pagerag.places import Run, SourceMap

__all__ = ["read_csv", "read_json", "read_jsonl", "read_parquet"]

_USUAL = {
    "text": (
        "text", "contents", "content", "body", "passage", "paragraph_text", "paragraph", "document",
        "passage_text", "abstract",
    ),
    "title": ("title", "name", "heading", "wikipedia_title", "page_title", "subject"),
    "id": ("id", "_id", "doc_id", "docid", "pid", "passage_id", "idx", "key", "url"),
}  # fmt: skip
_LISTS = ("data", "documents", "passages", "corpus", "records", "rows")
_LONGEST_FIELD = 1000

# Parquet packs repeated values very tightly: a file may give this many characters for each of its bytes.
_PARQUET_EXPANSION = 100

_ESCAPE = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|.)", re.DOTALL
)
_SPACE = re.compile(r"[ \t\n\r]*")


class _Row(NamedTuple):
    """A record: its line or number, from 1; how far into the file it ends; its values.

    ``place`` gives the way back to the file for the text of one of the values.
    """

    number: int
    at: int
    values: Mapping[str, Any]
    place: Callable[[str, str], SourceMap]


def read_jsonl(file: SourceFile, settings: IngestSettings) -> Iterator[Document | BadRecord]:
    """Read one JSON object a line; empty lines are passed over."""
    return _documents(file, settings, _json_lines(file, settings))


def _json_lines(file: SourceFile, settings: IngestSettings) -> Iterator[_Row | BadRecord]:
    limit = settings.max_record_bytes
    with file.path.open("rb") as stream:
        encoding = _sniffed(file, stream)
        if encoding not in ("utf-8", "utf-8-sig"):
            raise file.bad(f"is in {encoding}; JSON Lines must be UTF-8: convert it first")
        at = number = characters = 0
        while line := stream.readline(limit + 1):
            number += 1
            at += len(line)
            if len(line) > limit:
                raise file.bad(f"the line is longer than {limit:,} bytes", line=number)
            body = ""
            start = characters
            try:
                body = line.decode("utf-8-sig" if number == 1 else "utf-8")
                if not body.strip():
                    continue
                value = json.loads(body)
                if not isinstance(value, dict):
                    raise file.bad(f"must be a JSON object, is {type(value).__name__}", line=number)
            except (ValueError, RecursionError) as broken:  # of the decoders
                yield _unusable(settings, file.bad(f"is not JSON ({broken})", line=number))
            except FormatError as problem:
                yield _unusable(settings, problem)
            else:
                yield _Row(number, at, value, _in_json(body, 0, start, _always(number)))
            finally:
                characters += len(body) or len(line)


def read_json(file: SourceFile, settings: IngestSettings) -> Iterator[Document | BadRecord]:
    """Read a list of records, an object that holds such a list, or one record."""
    data = file.read(settings.max_file_bytes)
    source = decode(file, data)
    try:
        value = json.loads(source)
    except (ValueError, RecursionError) as broken:
        raise file.bad(f"is not JSON ({broken})") from broken
    begin = 0
    if isinstance(value, dict):
        name = next((name for name in _LISTS if isinstance(value.get(name), list)), None)
        if name is not None:
            begin = next((start for key, start, _ in reversed(_members(source, 0)) if key == name), -1)
        value = [value] if name is None else value[name]
    if not isinstance(value, list):
        raise file.bad(f"must hold a list of records, is {type(value).__name__}")
    step = len(data) / max(1, len(value))
    newlines = [match.start() for match in re.finditer("\n", source)]

    def line_of(at: int) -> int:
        return 1 + bisect_left(newlines, at)

    def rows() -> Iterator[_Row | BadRecord]:
        starts = _elements(source, begin)
        for number, record in enumerate(value, start=1):
            start = next(starts, -1)
            if isinstance(record, dict):
                place = _in_json(source, start, 0, line_of) if start >= 0 else _nowhere
                yield _Row(number, int(number * step), record, place)
            else:
                problem = file.bad(f"must be an object, is {type(record).__name__}", field=f"[{number - 1}]")
                yield _unusable(settings, problem)

    yield from _documents(file, settings, rows())


# -- where the values of a record stand


def _nowhere(*_: str) -> SourceMap:
    return SourceMap()


def _always(line: int) -> Callable[[int], int]:
    return lambda _: line


def _in_json(
    source: str, begin: int, shift: int, line_of: Callable[[int], int]
) -> Callable[[str, str], SourceMap]:
    """Return a function that finds the text of a member of the object at ``begin``.

    ``source`` begins ``shift`` characters into the file; ``line_of`` gives the line of a character.
    """
    known: list[tuple[str, int, int]] = []

    def place(name: str, text: str) -> SourceMap:
        if not known:
            known.extend(_members(source, begin))
        spans = [(start, end) for key, start, end in known if key == name]
        if not spans:
            return SourceMap(line=line_of(begin))
        start, end = spans[-1]
        line = line_of(start)
        if source[start] != '"':  # a list of sentences: all of it
            return SourceMap((Run(0, len(text), shift + start, end - start),), line=line)
        return SourceMap(tuple(_unescaped(source, start + 1, end - 1, shift)), line=line)

    return place


def _unescaped(source: str, start: int, end: int, shift: int) -> Iterator[Run]:
    """Yield the runs of a JSON string whose characters stand from ``start`` to ``end``."""
    at = 0
    for match in _ESCAPE.finditer(source, start, end) if source.find("\\", start, end) >= 0 else ():
        first, last = match.span()
        if first > start:
            yield Run(at, first - start, shift + start, first - start)
        at += first - start
        yield Run(at, 1, shift + first, last - first)
        at, start = at + 1, last
    if end > start:
        yield Run(at, end - start, shift + start, end - start)


def _members(source: str, begin: int) -> list[tuple[str, int, int]]:
    """Return the names of a JSON object's members, each with the place of its value."""
    decoder = json.JSONDecoder()
    found: list[tuple[str, int, int]] = []
    at = _skipped(source, begin)
    if source[at : at + 1] != "{":
        return found
    at = _skipped(source, at + 1)
    while source[at : at + 1] == '"':
        name, at = decoder.raw_decode(source, at)
        start = _skipped(source, _skipped(source, at) + 1)
        _, end = decoder.raw_decode(source, start)
        found.append((name, start, end))
        at = _skipped(source, end)
        at = _skipped(source, at + 1) if source[at : at + 1] == "," else at
    return found


def _elements(source: str, begin: int) -> Iterator[int]:
    """Yield where the elements of a JSON list begin; of anything else, where it begins itself."""
    decoder = json.JSONDecoder()
    at = _skipped(source, begin)
    if begin < 0 or source[at : at + 1] != "[":
        yield at
        return
    at = _skipped(source, at + 1)
    while at < len(source) and source[at] != "]":
        yield at
        _, end = decoder.raw_decode(source, at)
        at = _skipped(source, end)
        at = _skipped(source, at + 1) if source[at : at + 1] == "," else at


def _skipped(source: str, at: int) -> int:
    found = _SPACE.match(source, at)
    return found.end() if found else at


# -- tables


def read_csv(file: SourceFile, settings: IngestSettings) -> Iterator[Document | BadRecord]:
    """Read a header line, then a record a line; fields may hold line breaks in quotes."""
    return _documents(file, settings, _csv_rows(file, settings))


def _csv_rows(file: SourceFile, settings: IngestSettings) -> Iterator[_Row]:
    limit = settings.max_record_bytes
    before = csv.field_size_limit(min(limit, 2**31 - 1))
    try:
        with file.path.open("rb") as raw:
            encoding = _sniffed(file, raw)
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
            for number, row in enumerate(reader, start=1):
                if None in row:
                    raise file.bad("has more fields than the header", line=reader.line_num)
                source = "".join(taken)
                values = {key: value for key, value in row.items() if value}
                place = _in_csv(source, [(name, row.get(name) or "") for name in names], characters, line)
                yield _Row(number, raw.tell(), values, place)
                characters, line = characters + len(source), reader.line_num + 1
                taken.clear()
    except (csv.Error, UnicodeDecodeError) as broken:
        raise file.bad(f"is not readable CSV ({broken})") from broken
    finally:
        csv.field_size_limit(before)


def _in_csv(
    source: str, values: list[tuple[str, str]], shift: int, line: int
) -> Callable[[str, str], SourceMap]:
    """Return a function that finds a field in the lines of its record."""

    def place(name: str, text: str) -> SourceMap:
        at = 0
        for key, value in values:
            written = value.replace('"', '""')
            start = source.find(written, at)
            if start < 0:
                start = source.find(value, at)
                written = value
            if start < 0:
                break
            if key == name:
                newlines = tuple(shift + m.start() for m in re.finditer("\n", source))
                return SourceMap(tuple(_doubled(source, start, written, shift)), newlines, line)
            at = start + len(written)
        return SourceMap((Run(0, len(text), shift, len(source)),), line=line)

    return place


def _doubled(source: str, start: int, written: str, shift: int) -> Iterator[Run]:
    """Yield the runs of a field in which quotation marks are doubled."""
    at = 0
    end = start + len(written)
    while (quote := source.find('""', start, end)) >= 0:
        if quote > start:
            yield Run(at, quote - start, shift + start, quote - start)
        at += quote - start
        yield Run(at, 1, shift + quote, 2)
        at, start = at + 1, quote + 2
    if end > start:
        yield Run(at, end - start, shift + start, end - start)


def read_parquet(file: SourceFile, settings: IngestSettings) -> Iterator[Document | BadRecord]:
    """Read a record a row; a place names the row and counts characters of its text."""
    parquet = need("pyarrow.parquet", "pyarrow", "parquet", "to read Parquet files")
    size = file.path.stat().st_size

    def rows() -> Iterator[_Row | BadRecord]:
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
                    yield _unusable(settings, file.bad(problem, line=number))
                    continue
                yield _Row(number, int(number * step), values, _in_row(number))

    return _documents(file, settings, rows())


def _weight(value: Any) -> int:
    """Return how much room a value takes, about."""
    if isinstance(value, str | bytes):
        return len(value)
    if isinstance(value, list):
        return sum(map(_weight, value))
    return 8


def _in_row(number: int) -> Callable[[str, str], SourceMap]:
    def place(name: str, text: str) -> SourceMap:
        return SourceMap((Run(0, len(text), 0, len(text)),), parts=((0, f"row {number}, {name}"),))

    return place


# -- records to documents


def _documents(
    file: SourceFile, settings: IngestSettings, rows: Iterable[_Row | BadRecord]
) -> Iterator[Document | BadRecord]:
    seen: dict[str, str] = {}
    for row in rows:
        if isinstance(row, BadRecord):
            yield row
            continue
        number, at = row.number, row.at
        try:
            found = list(_read(file, settings, row))
        except FormatError as problem:
            yield _unusable(settings, problem)
            continue
        for name, title, text, fields, origin in found:
            content = hashlib.sha256(f"{title}\0{text}".encode("utf-8", "replace")).hexdigest()[:32]
            key = name or content[:16]
            if seen.get(key) == content:
                continue  # the same record again: benchmarks repeat paragraphs from question to question
            if key in seen:
                key = f"{key}-{number}"  # two records share an id: both are kept
            seen[key] = content
            yield Document(text, title, record=key, whole=True, fields=fields, at=at, origin=origin)


_Found = tuple[str | None, str | None, str, dict[str, Any], SourceMap]


def _read(file: SourceFile, settings: IngestSettings, row: _Row) -> Iterator[_Found]:
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
    names = {kind: _name(file, settings, number, record, kind) for kind in _USUAL}
    text = _text(file, number, record, str(names["text"]))
    title = record.get(names["title"]) if names["title"] else None
    origin = row.place(str(names["text"]), text)
    if title is None and names["text"] == "contents" and "\n" in text:
        # The common layout of retrieval corpora: the title in quotes on the first line.
        head, _, rest = text.partition("\n")
        title, text = head.strip().strip('"'), rest
        origin = origin.cut(len(head) + 1, len(head) + 1 + len(rest))
    own = record.get(names["id"]) if names["id"] else None
    used = {name for name in names.values() if name}
    fields = {
        key: value
        for key, value in record.items()
        if key not in used
        and isinstance(value, str | int | float | bool)
        and not (isinstance(value, str) and len(value) > _LONGEST_FIELD)
    }
    yield (
        clean(str(own)) if own is not None and str(own).strip() else str(number),
        str(title) if title is not None and str(title).strip() else None,
        text,
        fields,
        origin,
    )


def _name(
    file: SourceFile, settings: IngestSettings, number: int, record: Mapping[str, Any], kind: str
) -> str | None:
    """Return what this kind of value is called in the record."""
    given = settings.fields.get(kind)
    if given is not None:
        if given in record or kind != "text":
            return given if given in record else None
        raise file.bad(f"is missing; the record has: {', '.join(map(str, record))}", line=number, field=given)
    found = next((name for name in _USUAL[kind] if name in record), None)
    if found is None and kind == "text":
        raise file.bad(
            f"no text field; the record has: {', '.join(map(str, record)) or 'nothing'}. "
            "Name it with --field text=NAME",
            line=number,
        )
    return found


def _text(file: SourceFile, number: int, record: Mapping[str, Any], name: str) -> str:
    value = record[name]
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(part, str) for part in value):
        return _joined(value)
    raise file.bad(f"must be text, is {type(value).__name__}", line=number, field=name)


def _joined(sentences: Iterable[str]) -> str:
    return " ".join(sentence.strip() for sentence in sentences if sentence.strip())


def _unusable(settings: IngestSettings, problem: FormatError) -> BadRecord:
    if settings.bad_records == "fail":
        raise problem
    return BadRecord(problem)


def _sniffed(file: SourceFile, stream: BinaryIO) -> str:
    sample = stream.read(2**16)
    more = bool(stream.read(1))
    stream.seek(0)
    return encoding_of(file, sample, more=more)
