"""Turn records (of JSON, CSV, Parquet, and of the benchmarks' files) into documents.

A record is a document: its text, title and id are found under the usual names or those that
``IngestSettings.fields`` gives; its other plain values are kept as fields. A record of a multi-hop
benchmark (a question with its context paragraphs) stands for its paragraphs; nothing else of it, least
of all which of them support the answer, is read.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, BinaryIO, NamedTuple

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


class Row(NamedTuple):
    """A record: its line or number, from 1; how far into the file it ends; its values.

    ``place`` gives the way back to the file for the text of one of the values.
    """

    number: int
    at: int
    values: Mapping[str, Any]
    place: Callable[[str, str], SourceMap]


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
        for made in found:
            told = f"{made.title}\0{made.text}".encode("utf-8", "replace")
            content = hashlib.sha256(told).hexdigest()[:32]
            key = made.record or content[:16]
            if seen.get(key) == content:
                continue  # the same record again: benchmarks repeat paragraphs from question to question
            if key in seen:
                key = f"{key}-{row.number}"  # two records share an id: both are kept
            seen[key] = content
            yield replace(made, record=key, at=row.at)


def _read(file: SourceFile, settings: IngestSettings, row: Row) -> Iterator[Document]:
    """Yield the documents of a record."""
    number, record = row.number, row.values
    if "question" in record and isinstance(record.get("paragraphs"), list):
        for paragraph in record["paragraphs"]:
            text = str(paragraph["paragraph_text"])
            yield Document(text, paragraph.get("title"), whole=True, origin=row.place("paragraphs", text))
        return
    if "question" in record and isinstance(record.get("context"), list | dict):
        context = record["context"]
        if isinstance(context, dict):
            context = zip(context["title"], context["sentences"], strict=True)
        for title, sentences in context:
            text = _joined(sentences)
            yield Document(text, str(title), whole=True, origin=row.place("context", text))
        return
    names = {kind: _name(file, settings, number, record, kind) for kind in _USUAL}
    value = record[str(names["text"])]
    listed = isinstance(value, list) and all(isinstance(part, str) for part in value)
    if not listed and not isinstance(value, str):
        raise file.bad(f"must be text, is {type(value).__name__}", line=number, field=names["text"])
    text = _joined(value) if listed else value
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
    yield Document(
        text,
        str(title) if title is not None and str(title).strip() else None,
        record=clean(str(own)) if own is not None and str(own).strip() else str(number),
        whole=True,
        fields=fields,
        origin=origin,
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


def names_text(names: Iterable[str]) -> bool:
    """Tell whether one of these is a usual name of a record's text."""
    return any(name in _USUAL["text"] for name in names)


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
