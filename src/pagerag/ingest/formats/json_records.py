"""Read JSON Lines and JSON, each record with the way back to its characters."""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Callable, Iterator

from pagerag.errors import FormatError
from pagerag.ingest.documents import BadRecord, Document, IngestSettings, SourceFile
from pagerag.ingest.formats.encoding import decode
from pagerag.ingest.formats.json_places import elements, in_json, members
from pagerag.ingest.formats.records import Row, documents_of, sniffed, unusable
from pagerag.places import SourceMap

_LISTS = ("data", "documents", "passages", "corpus", "records", "rows")


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
                yield unusable(settings, file.bad(f"is not JSON ({broken})", line=number))
            except FormatError as problem:
                yield unusable(settings, problem)
            else:
                yield Row(number, at, value, in_json(body, 0, start, _always(number)))
            finally:
                characters += len(body) or len(line)


def _always(line: int) -> Callable[[int], int]:
    return lambda _: line


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
            begin = next((start for key, start, _ in reversed(members(source, 0)) if key == name), -1)
        value = [value] if name is None else value[name]
    if not isinstance(value, list):
        raise file.bad(f"must hold a list of records, is {type(value).__name__}")
    step = len(data) / max(1, len(value))
    newlines = [match.start() for match in re.finditer("\n", source)]

    def line_of(at: int) -> int:
        return 1 + bisect_left(newlines, at)

    def rows() -> Iterator[Row | BadRecord]:
        starts = elements(source, begin)
        for number, record in enumerate(value, start=1):
            start = next(starts, -1)
            if isinstance(record, dict):
                place = in_json(source, start, 0, line_of) if start >= 0 else lambda *_: SourceMap()
                yield Row(number, int(number * step), record, place)
            else:
                problem = file.bad(f"must be an object, is {type(record).__name__}", field=f"[{number - 1}]")
                yield unusable(settings, problem)

    yield from documents_of(file, settings, rows())
