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
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, BinaryIO

from pagerag._extras import need
from pagerag.errors import FormatError
from pagerag.ingest.documents import BadRecord, Document, IngestSettings, SourceFile
from pagerag.ingest.formats.text import decode, encoding_of

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

_Row = tuple[int, int, Mapping[str, Any]]
"""A record's line or number, from 1; how far into the file it ends; its values."""


def read_jsonl(file: SourceFile, settings: IngestSettings) -> Iterator[Document | BadRecord]:
    """One JSON object a line; empty lines are passed over."""
    return _documents(file, settings, _json_lines(file, settings))


def _json_lines(file: SourceFile, settings: IngestSettings) -> Iterator[_Row | BadRecord]:
    limit = settings.max_record_bytes
    with file.path.open("rb") as stream:
        encoding = _sniffed(file, stream)
        if encoding not in ("utf-8", "utf-8-sig"):
            raise file.bad(f"is in {encoding}; JSON Lines must be UTF-8: convert it first")
        at = number = 0
        while line := stream.readline(limit + 1):
            number += 1
            at += len(line)
            if len(line) > limit:
                raise file.bad(f"the line is longer than {limit:,} bytes", line=number)
            try:
                body = line.decode("utf-8-sig" if number == 1 else "utf-8").strip()
                if not body:
                    continue
                value = json.loads(body)
                if not isinstance(value, dict):
                    raise file.bad(f"must be a JSON object, is {type(value).__name__}", line=number)
            except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as broken:
                yield _unusable(settings, file.bad(f"is not JSON ({broken})", line=number))
            except FormatError as problem:
                yield _unusable(settings, problem)
            else:
                yield number, at, value


def read_json(file: SourceFile, settings: IngestSettings) -> Iterator[Document | BadRecord]:
    """A list of records, an object that holds such a list, or one record."""
    data = file.read(settings.max_file_bytes)
    try:
        value = json.loads(decode(file, data))
    except (json.JSONDecodeError, RecursionError) as broken:
        raise file.bad(f"is not JSON ({broken})") from broken
    if isinstance(value, dict):
        inner = next((value[name] for name in _LISTS if isinstance(value.get(name), list)), None)
        value = [value] if inner is None else inner
    if not isinstance(value, list):
        raise file.bad(f"must hold a list of records, is {type(value).__name__}")
    step = len(data) / max(1, len(value))

    def rows() -> Iterator[_Row | BadRecord]:
        for number, record in enumerate(value, start=1):
            if isinstance(record, dict):
                yield number, int(number * step), record
            else:
                problem = file.bad(f"must be an object, is {type(record).__name__}", field=f"[{number - 1}]")
                yield _unusable(settings, problem)

    yield from _documents(file, settings, rows())


def read_csv(file: SourceFile, settings: IngestSettings) -> Iterator[Document | BadRecord]:
    """A header line, then a record a line; fields may hold line breaks in quotes."""
    return _documents(file, settings, _csv_rows(file, settings))


def _csv_rows(file: SourceFile, settings: IngestSettings) -> Iterator[_Row]:
    before = csv.field_size_limit(min(settings.max_record_bytes, 2**31 - 1))
    try:
        with file.path.open("rb") as raw:
            encoding = _sniffed(file, raw)
            stream = io.TextIOWrapper(raw, encoding=encoding, newline="")
            header = stream.readline(settings.max_record_bytes)
            stream.seek(0)
            marks = ("\t",) if file.path.suffix.lower() == ".tsv" else (",", ";", "\t", "|")
            reader = csv.DictReader(stream, delimiter=max(marks, key=header.count), strict=True)
            for number, row in enumerate(reader, start=1):
                if None in row:
                    raise file.bad("has more fields than the header", line=reader.line_num)
                yield number, raw.tell(), {key: value for key, value in row.items() if value}
    except (csv.Error, UnicodeDecodeError) as broken:
        raise file.bad(f"is not readable CSV ({broken})") from broken
    finally:
        csv.field_size_limit(before)


def read_parquet(file: SourceFile, settings: IngestSettings) -> Iterator[Document | BadRecord]:
    """A record a row."""
    parquet = need("pyarrow.parquet", "pyarrow", "parquet", "to read Parquet files")
    size = file.path.stat().st_size

    def rows() -> Iterator[_Row]:
        table = parquet.ParquetFile(file.path)
        step = size / max(1, table.metadata.num_rows)
        number = 0
        for batch in table.iter_batches(batch_size=512):
            for row in batch.to_pylist():
                number += 1
                yield number, int(number * step), {key: val for key, val in row.items() if val is not None}

    return _documents(file, settings, rows())


def _documents(
    file: SourceFile, settings: IngestSettings, rows: Iterable[_Row | BadRecord]
) -> Iterator[Document | BadRecord]:
    seen: dict[str, str] = {}
    for row in rows:
        if isinstance(row, BadRecord):
            yield row
            continue
        number, at, record = row
        try:
            found = list(_read(file, settings, number, record))
        except FormatError as problem:
            yield _unusable(settings, problem)
            continue
        for name, title, text, fields in found:
            content = hashlib.sha256(f"{title}\0{text}".encode("utf-8", "replace")).hexdigest()
            key = name or content[:16]
            if seen.get(key) == content:
                continue  # the same record again: benchmarks repeat paragraphs from question to question
            if key in seen:
                key = f"{key}-{number}"  # two records share an id: both are kept
            seen[key] = content
            yield Document(text, title, record=key, whole=True, fields=fields, at=at)


_Found = tuple[str | None, str | None, str, dict[str, Any]]


def _read(
    file: SourceFile, settings: IngestSettings, number: int, record: Mapping[str, Any]
) -> Iterator[_Found]:
    if "question" in record and isinstance(record.get("paragraphs"), list):
        for paragraph in record["paragraphs"]:
            yield None, paragraph.get("title"), str(paragraph["paragraph_text"]), {}
        return
    if "question" in record and isinstance(record.get("context"), list | dict):
        context = record["context"]
        if isinstance(context, dict):
            context = zip(context["title"], context["sentences"], strict=True)
        for title, sentences in context:
            yield None, str(title), _joined(sentences), {}
        return
    names = {kind: _name(file, settings, number, record, kind) for kind in _USUAL}
    text = _text(file, number, record, str(names["text"]))
    title = record.get(names["title"]) if names["title"] else None
    if title is None and names["text"] == "contents" and "\n" in text:
        # The common layout of retrieval corpora: the title in quotes on the first line.
        head, _, rest = text.partition("\n")
        title, text = head.strip().strip('"'), rest
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
        str(own) if own is not None and str(own).strip() else str(number),
        str(title) if title is not None and str(title).strip() else None,
        text,
        fields,
    )


def _name(
    file: SourceFile, settings: IngestSettings, number: int, record: Mapping[str, Any], kind: str
) -> str | None:
    """What this kind of value is called in the record."""
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
