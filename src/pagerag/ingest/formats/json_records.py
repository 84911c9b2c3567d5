"""Read JSON Lines and JSON, each record with the way back to its characters."""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from pagerag.errors import FormatError
from pagerag.ingest.documents import BadRecord, Document, IngestSettings, SourceFile
from pagerag.ingest.formats.encoding import decode
from pagerag.ingest.formats.records import Lines, Row, documents_of, has_text, runs_of, sniffed, unusable
from pagerag.places import Run, SourceMap

_LISTS = ("data", "documents", "passages", "corpus", "records", "rows")
_ESCAPE = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|.)", re.DOTALL
)
_SPACE = re.compile(r"[ \t\n\r]*")


def read_jsonl(file: SourceFile, settings: IngestSettings) -> Iterator[Document | BadRecord]:
    """Read one JSON object or string a line; empty lines are passed over."""
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
                row = _Text(body, start, (), number).row(file, settings, value, number, at)
                if row is None:
                    raise file.bad(f"must be a JSON object, is {type(value).__name__}", line=number)
                yield row
            except FormatError as problem:
                yield unusable(settings, problem)
            except (ValueError, RecursionError) as broken:  # of the decoders
                yield unusable(settings, file.bad(f"is not JSON ({broken})", line=number))
            finally:
                characters += len(body) or len(line)


def read_json(file: SourceFile, settings: IngestSettings) -> Iterator[Document | BadRecord]:
    """Read a list of records or strings, an object that holds such lists, or one record.

    Where an object holds lists, what else it says is a record of its own, if it says anything in words.
    """
    data = file.read(settings.max_file_bytes)
    source = decode(file, data)
    try:
        value = json.loads(source)
    except (ValueError, RecursionError) as broken:
        raise file.bad(f"is not JSON ({broken})") from broken
    if not isinstance(value, list | dict):
        raise file.bad(f"must hold a list of records, is {type(value).__name__}")
    names = _lists(value, settings) if isinstance(value, dict) else []
    lists = [value[name] for name in names] if isinstance(value, dict) else [value]
    step = len(data) / max(1, sum(map(len, lists)))
    newlines = [match.start() for match in re.finditer("\n", source)]
    text = _Text(source, 0, newlines, 1)

    def rows() -> Iterator[Row | BadRecord]:
        number = 0
        starts = {key: start for key, start, _ in _inside(source, 0)} if names else {"": 0}
        for name, records in zip(names or [""], lists, strict=False):
            spans = _inside(source, starts[name])
            for place, (record, (_, *span)) in enumerate(zip(records, spans, strict=True)):
                number += 1
                row = text.row(file, settings, record, number, int(number * step), *span)
                if row is None:
                    where = f"{name}[{place}]"
                    problem = file.bad(f"must be an object, is {type(record).__name__}", field=where)
                    yield unusable(settings, problem)
                else:
                    yield row
        if isinstance(value, dict):
            chosen = set(names)
            rest = {key: said for key, said in value.items() if key not in chosen}
            if not names or ("text" not in settings.fields and _speaks(rest)):
                row = text.row(file, settings, rest, number + 1, len(data))
                yield from (row,) if row is not None else ()

    yield from documents_of(file, settings, rows())


def _lists(value: Mapping[str, Any], settings: IngestSettings) -> list[str]:
    """Return which members of an object are lists of records; none where it is a record itself."""
    if settings.fields.get("text") in value:
        return []
    held = {name: member for name, member in value.items() if isinstance(member, list) and member}
    usual = [name for name in _LISTS if name in held]
    for kind in (dict, str):
        found = next((name for name in usual if any(isinstance(one, kind) for one in held[name])), None)
        if found is not None:
            return [found]
        if has_text(value):
            return []
    return [name for name, member in held.items() if all(isinstance(one, dict) for one in member)]


def _speaks(record: Mapping[str, Any]) -> bool:
    """Return whether a record has a value of more than one word."""
    return any(isinstance(value, str) and len(value.split(None, 2)) > 1 for value in record.values())


@dataclass(frozen=True, slots=True)
class _Text:
    """JSON as it is written: ``source`` begins ``shift`` characters into the file, on ``line``."""

    source: str
    shift: int
    newlines: Sequence[int]
    line: int

    def row(
        self,
        file: SourceFile,
        settings: IngestSettings,
        value: Any,
        number: int,
        at: int,
        start: int | None = None,
        end: int | None = None,
    ) -> Row | None:
        """Return the row of a record that is written from ``start`` to ``end``; None for what is none."""
        begin = _skipped(self.source, 0) if start is None else start
        stop = len(self.source.rstrip()) if end is None else end
        known: dict[str, tuple[int, int]] = {}
        if isinstance(value, str) and "text" not in settings.fields:
            value, known = {"title": file.stem, "text": value}, {"text": (begin, stop)}
        if not isinstance(value, dict):
            return None
        place = partial(self._place, begin, known)
        return Row(number, at, value, place, partial(self._lines, begin, stop))

    def _lines(self, start: int, end: int) -> Lines:
        first, last = bisect_left(self.newlines, start), bisect_left(self.newlines, end)
        return tuple(self.shift + at for at in self.newlines[first:last]), self.line + first

    def _place(self, begin: int, known: dict[str, tuple[int, int]], name: str, text: str) -> SourceMap:
        """Find the text of a member of the object at ``begin``; ``known`` remembers where they stand."""
        if not known:
            known.update((key, (start, end)) for key, start, end in _inside(self.source, begin))
        start, end = known.get(name, (begin, begin))
        first = self.line + bisect_left(self.newlines, start)
        if start == end:
            return SourceMap(line=first)
        if self.source[start] != '"':  # a list of sentences, a number, an object: all of it
            return SourceMap((Run(0, len(text), self.shift + start, end - start),), line=first)
        escaped = self.source.find("\\", start, end) >= 0
        escapes = _ESCAPE.finditer(self.source, start, end) if escaped else ()
        runs = runs_of(start + 1, end - 1, (match.span() for match in escapes), self.shift)
        return SourceMap(tuple(runs), line=first)


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
