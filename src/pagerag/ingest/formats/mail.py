"""E-mail: single messages (.eml) and mailboxes (.mbox), each message a document with its sender and date."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import replace
from email import policy
from email.message import EmailMessage
from email.parser import BytesParser
from itertools import groupby
from typing import Any

from pagerag.errors import FormatError
from pagerag.ingest.builder import Piece, TextBuilder
from pagerag.ingest.documents import BadRecord, Document, IngestSettings, SourceFile
from pagerag.ingest.formats.html import add_page
from pagerag.ingest.formats.records import unusable
from pagerag.ingest.formats.stretch import FileSpan, Stretch, lines_of
from pagerag.places import SourceMap

_SHOWN = ("From", "To", "Cc", "Date")
_QUOTE = re.compile(r"(?:>[ \t]?){1,50}")
_LONGEST_LINE = 2**20
_TRIPPED = (ValueError, LookupError, AttributeError, TypeError)
"""What the library raises over messages that it cannot take apart."""
_MOST_PARTS = 200


def read_message(file: SourceFile, settings: IngestSettings) -> Iterator[Document]:
    """Read one message; its title is its subject."""
    yield _document(file, settings, file.read(settings.max_file_bytes), 0, 1, None)


def read_mbox(file: SourceFile, settings: IngestSettings) -> Iterator[Document | BadRecord]:
    """Read a mailbox, a message at a time."""
    seen: set[str] = set()
    for number, data, start, line, at in _messages(file, settings.max_record_bytes):
        try:
            made = _document(file, settings, data, start, line, number)
        except FormatError as problem:
            yield unusable(settings, problem)
            continue
        key = f"{made.record}-{number}" if made.record in seen else str(made.record)
        seen.add(key)
        yield replace(made, record=key, at=at)


def _messages(file: SourceFile, limit: int) -> Iterator[tuple[int, bytes, int, int, int]]:
    """Yield each message's number and bytes, its first character and line, and how far reading had come."""
    number = size = start = first = line = at = characters = 0
    message: list[bytes] = []
    blank = True
    with file.path.open("rb") as stream:
        while raw := stream.readline(_LONGEST_LINE):
            if blank and raw.startswith(b"From "):
                if number:
                    yield number, b"".join(message), start, first, at
                number += 1
                message, size = [], 0
                start, first = characters + len(_decoded(raw)), line + 2
            elif number:
                size += len(raw)
                if size > limit:
                    raise file.bad(f"message {number} is longer than {limit:,} bytes")
                message.append(raw)
            elif raw.strip():
                raise file.bad('is not a mailbox: it does not begin with a "From " line')
            blank = not raw.strip()
            line += raw.endswith(b"\n")
            at += len(raw)
            characters += len(_decoded(raw))
    if number:
        yield number, b"".join(message), start, first, at


def _decoded(data: bytes) -> str:
    """Return the characters of a file of mail; see ``_document``."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        lines = data.splitlines(keepends=True)
        return data.decode("latin-1") if len(lines) == 1 else "".join(map(_decoded, lines))


def _document(
    file: SourceFile, settings: IngestSettings, data: bytes, start: int, line: int, number: int | None
) -> Document:
    """Read a message whose bytes begin ``start`` characters into the file, on ``line``.

    Places count the characters of the file, each line as UTF-8, or as Latin-1 where it is not: the parts
    of one message can be in several encodings.
    """
    try:
        message = BytesParser(policy=policy.default).parsebytes(data)
        subject = str(message.get("Subject", "") or "")
        name = str(message.get("Message-ID", "") or "").strip("<> \t\n")
    except _TRIPPED as broken:
        raise file.bad(f"is not a readable message ({broken})", line=line) from broken
    original = _decoded(data)
    builder = TextBuilder(original, limit=settings.max_text_chars, name=file.name)
    heads = {head: value for head in _SHOWN if (value := _header(message, head))}
    for head, value in heads.items():
        place = 0 if original.startswith(f"{head}:") else original.find(f"\n{head}:") + 1
        end = original.find("\n", place + 1)
        end = end if end >= 0 else len(original)
        builder.block(_located(f"{head}: {value}", original, place, end))
    at = 0
    for part in _parts(message):
        at = _body(part, original, builder, at)
    made = builder.document(subject, file.stem)
    shifted = SourceMap(
        tuple(run._replace(original=run.original + start) for run in made.origin.runs),
        tuple(place + start for place in made.origin.newlines),
        line,
    )
    record = None if number is None else (name or str(number))
    fields = {head.lower(): heads[head] for head in ("From", "Date") if head in heads}
    return replace(made, origin=shifted, record=record, fields=fields)


def _header(message: EmailMessage, name: str) -> str:
    try:
        return " ".join(str(message.get(name, "") or "").split())[:1000]
    except _TRIPPED:
        return ""


def _parts(message: EmailMessage) -> Iterator[EmailMessage]:
    """Yield the parts with text: of alternatives the plain one, or the one in HTML."""
    plain = [part for part in _walk(message) if part.get_content_type() == "text/plain"]
    yield from plain or [part for part in _walk(message) if part.get_content_type() == "text/html"]


def _walk(message: EmailMessage) -> Iterator[EmailMessage]:
    waiting: list[Any] = [message]
    for _ in range(_MOST_PARTS):
        if not waiting:
            return
        part = waiting.pop(0)
        if part.is_multipart():
            waiting[:0] = list(part.iter_parts())
        elif not part.is_attachment():
            yield part


def _body(part: EmailMessage, original: str, builder: TextBuilder, at: int) -> int:
    """Add the text of a part; returns where to look for the next part."""
    raw = part.get_payload(decode=False)
    if not isinstance(raw, str):
        return at
    try:
        text = str(part.get_content())
    except _TRIPPED:
        content = part.get_payload(decode=True)
        text = content.decode("utf-8", "replace") if isinstance(content, bytes) else ""
    body = _decoded(raw.encode("utf-8", "surrogateescape"))
    begin = original.find(body[:200], at)
    begin = begin if body and begin >= 0 else at
    end = min(begin + len(body), len(original))
    encoding = str(part.get("Content-Transfer-Encoding", "") or "").lower()
    if part.get_content_type() == "text/html":
        inner = TextBuilder(text)
        add_page(text, inner)
        for block in inner.document(None, "").text.split("\n\n"):
            builder.block(_located(block, original, begin, end))
        return end
    places = _places(text, original, begin, end, encoding)
    for paragraph in _paragraphs(text):
        pieces = Stretch(text, paragraph).pieces()
        builder.block([Piece(words, *places(first, last)) for words, first, last in pieces], lines=True)
    return end


def _located(text: str, original: str, begin: int, end: int) -> Piece:
    """Return ``text`` at its place between ``begin`` and ``end``, or for all of that when it is encoded."""
    place = original.find(text, begin, end)
    return Piece(text, place, place + len(text)) if place >= 0 else Piece(text, begin, end)


def _paragraphs(text: str) -> Iterator[list[FileSpan]]:
    """Yield paragraphs as lines without the marks of quotation."""
    lines = []
    for span in lines_of(text):
        mark = _QUOTE.match(text, *span)
        lines.append(FileSpan(mark.end(), span.end) if mark else span)
    for filled, paragraph in groupby(lines, lambda span: bool(text[span.start : span.end].strip())):
        if filled:
            yield list(paragraph)


def _places(text: str, original: str, begin: int, end: int, encoding: str) -> Any:
    """Return a function from characters of a decoded body to those of the file.

    A body that is not encoded corresponds line by line. Lines of quoted-printable text are cut and their
    letters encoded: there, and in base64, the line or the whole body is what can be named.
    """
    source = original[begin:end]
    if "base64" in encoding:
        return lambda *_: (begin, end)
    theirs, ours = _logical(source, encoding), lines_of(text)
    starts = [span.start for span in ours]

    def place(first: int, last: int) -> tuple[int, int]:
        line = bisect_right(starts, first) - 1
        if not 0 <= line < len(theirs):
            return begin, end
        low, high = theirs[line]
        words = text[first:last]
        there = low + first - starts[line]
        if source.startswith(words, there, high):
            return begin + there, begin + there + len(words)
        return begin + low, begin + high

    return place


def _logical(source: str, encoding: str) -> list[FileSpan]:
    """Return the lines of a body; those that quoted-printable has cut are one."""
    found: list[FileSpan] = []
    soft = False
    for span in lines_of(source):
        if soft:
            found[-1] = FileSpan(found[-1].start, span.end)
        else:
            found.append(span)
        soft = "quoted-printable" in encoding and source[span.start : span.end].endswith("=")
    return found
