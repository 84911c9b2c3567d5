"""Read JSON Lines and JSON, each record with the way back to its characters."""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence

from pagerag.errors import FormatError
from pagerag.ingest.documents import BadRecord, Document, IngestSettings, SourceFile
from pagerag.ingest.formats.encoding import decode
from pagerag.ingest.formats.records import Row, documents_of, runs_of, sniffed, unusable
from pagerag.places import Run, SourceMap

_LISTS = ("data", "documents", "passages", "corpus", "records", "rows")
_ESCAPE = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|.)", re.DOTALL
)
_SPACE = re.compile(r"[ \t\n\r]*")


def read_jsonl(file: SourceFile, settings: IngestSettings) -> Iterator[Document | BadRecord]:
    """Read one JSON object a line; empty lines are passed over."""
    return documents_of(file, settings, _json_lines(file, settings))


def _json_lines(file: SourceFile, settings: IngestSettings) -> Iterator[Row | BadRecord]:
    limit = settings.max_record_bytes
    with file.path.open("rb") as stream:
        encoding = sniffed(file, stream)
        if encoding not in ("utf-8", "utf-8-sig"):
            raise file.bad(f"is in {encoding}; JSON Lines must be UTF-8: convert it first")
        at = number = characters = 0
        while line := stream.readline(limit + 1):
            number += 1
            at += len(line)
            if len(line) > limit:
                raise file.bad(f"the line is longer than {limit:,} bytes", line=number)
            body, start = "", characters
            try:
                body = line.decode("utf-8-sig" if number == 1 else "utf-8")
                if not body.strip():
                    continue
                value = json.loads(body)
                if not isinstance(value, dict):
                    raise file.bad(f"must be a JSON object, is {type(value).__name__}", line=number)
                yield Row(number, at, value, _finder(body, 0, start, (), number))
            except FormatError as problem:
                yield unusable(settings, problem)
            except (ValueError, RecursionError) as broken:  # of the decoders
                yield unusable(settings, file.bad(f"is not JSON ({broken})", line=number))
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
    begin, single = 0, False
    if isinstance(value, dict):
        name = next((name for name in _LISTS if isinstance(value.get(name), list)), None)
        single = name is None
        if name is not None:
            begin = {key: start for key, start, _ in _inside(source, 0)}[name]
        value = [value] if name is None else value[name]
    if not isinstance(value, list):
        raise file.bad(f"must hold a list of records, is {type(value).__name__}")
    step = len(data) / max(1, len(value))
    newlines = [match.start() for match in re.finditer("\n", source)]

    def rows() -> Iterator[Row | BadRecord]:
        spans = iter([("", _skipped(source, 0), 0)]) if single else _inside(source, begin)
        for number, (record, (_, start, _)) in enumerate(zip(value, spans, strict=True), start=1):
            if isinstance(record, dict):
                yield Row(number, int(number * step), record, _finder(source, start, 0, newlines, 1))
            else:
                problem = file.bad(f"must be an object, is {type(record).__name__}", field=f"[{number - 1}]")
                yield unusable(settings, problem)

    yield from documents_of(file, settings, rows())


def _finder(
    source: str, begin: int, shift: int, newlines: Sequence[int], line: int
) -> Callable[[str, str], SourceMap]:
    """Return a function that finds the text of a member of the object at ``begin``.

    ``source`` begins ``shift`` characters into the file, on ``line``.
    """
    known: dict[str, tuple[int, int]] = {}

    def place(name: str, text: str) -> SourceMap:
        if not known:
            known.update((key, (start, end)) for key, start, end in _inside(source, begin))
        start, end = known.get(name, (begin, begin))
        first = line + bisect_left(newlines, start)
        if start == end:
            return SourceMap(line=first)
        if source[start] != '"':  # a list of sentences: all of it
            return SourceMap((Run(0, len(text), shift + start, end - start),), line=first)
        escapes = _ESCAPE.finditer(source, start, end) if source.find("\\", start, end) >= 0 else ()
        runs = runs_of(start + 1, end - 1, (match.span() for match in escapes), shift)
        return SourceMap(tuple(runs), line=first)

    return place


def _inside(source: str, begin: int) -> Iterator[tuple[str, int, int]]:
    """Yield where the values of a JSON object (each with its name) or list stand."""
    decoded = json.JSONDecoder().raw_decode
    at = _skipped(source, begin)
    named = source.startswith("{", at)
    at = _skipped(source, at + 1)
    while at < len(source) and source[at] not in "]}":
        name = ""
        if named:
            name, at = decoded(source, at)
            at = _skipped(source, _skipped(source, at) + 1)
        _, end = decoded(source, at)
        yield name, at, end
        at = _skipped(source, end)
        at = _skipped(source, at + 1) if source.startswith(",", at) else at


def _skipped(source: str, at: int) -> int:
    found = _SPACE.match(source, at)
    return found.end() if found else at
