"""Where a quotation stands in the file it came from.

Reading a file strips markup, decodes entities and joins lines, so that characters of the extracted text and
characters of the file have different numbers. A ``SourceMap`` keeps how they correspond; each stored
passage carries the part of it that it needs, as a short text.
"""

from __future__ import annotations

import json
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from operator import itemgetter
from typing import Any, NamedTuple

from pagerag._remember import remember
from pagerag.units import Candidate

SECTION_MARK = " › "
"""Stands between the headings of a section path."""

_COMPACT = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode


class Run(NamedTuple):
    """Characters of the extracted text that stand together in the file.

    When both lengths are equal, the characters correspond one to one; otherwise (a decoded entity, an
    escape) the whole run corresponds to the whole stretch of the file.
    """

    start: int
    length: int
    original: int
    original_length: int


class Located(NamedTuple):
    """A stretch of a file: characters of the part it names, or of the file, and the line of the first."""

    start: int
    end: int
    line: int
    part: str | None


@dataclass(frozen=True, slots=True)
class SourceMap:
    """The way back from an extracted text to its file.

    ``runs`` are in the order of the text; text between them was added by the reader. ``newlines`` are the
    offsets of line ends in the file, of which ``line - 1`` came before. ``parts`` are the places inside a
    container (a slide, a page, a file of an archive) with the offset at which each begins; offsets and
    lines count from the beginning of their part.
    """

    runs: tuple[Run, ...] = ()
    newlines: tuple[int, ...] = ()
    line: int = 1
    parts: tuple[tuple[int, str], ...] = ()

    def locate(self, start: int, end: int) -> Located:
        """Return where characters ``start`` to ``end`` of the text stand in the file."""
        runs = self._cut(start, end)
        if not runs and self.runs:
            nearest = self.runs[self._run_at(start)]  # only text that the reader added: the place before it
            runs = [Run(0, 0, nearest.original + nearest.original_length, 0)]
        low, high = _extent(runs) if runs else (0, 0)
        part = bisect_right(self.parts, low, key=itemgetter(0)) - 1
        base, name = self.parts[part] if part >= 0 else (0, None)
        if part + 1 < len(self.parts):
            high = min(high, self.parts[part + 1][0])
        return Located(low - base, max(high, low) - base, self._line_of(low, part), name)

    def _line_of(self, original: int, part: int) -> int:
        # Only the first part can have begun before this map, with lines that ``line`` counts.
        first = 1 - bisect_left(self.newlines, self.parts[part][0]) if part > 0 else self.line
        return first + bisect_left(self.newlines, original)

    def _run_at(self, start: int) -> int:
        """Return the place of the last run that begins at or before ``start``, 0 where none does."""
        return max(0, bisect_right(self.runs, start, key=lambda run: run.start) - 1)

    def _cut(self, start: int, end: int) -> list[Run]:
        """Return what runs have between ``start`` and ``end``, counted from ``start``."""
        found = []
        for place in range(self._run_at(start), len(self.runs)):
            run = self.runs[place]
            if run.start >= end:
                break
            stop = run.start + run.length
            if stop > start and run.length == run.original_length:
                first, length = max(run.start, start), min(stop, end) - max(run.start, start)
                found.append(Run(first - start, length, first - run.start + run.original, length))
            elif stop > start:
                found.append(run._replace(start=max(run.start - start, 0)))
        return found

    def cut(self, start: int, end: int) -> SourceMap:
        """Return the map of the text from ``start`` to ``end``, counted from ``start``."""
        runs = self._cut(start, end)
        if not runs:
            return SourceMap(line=self.line)
        low, high = _extent(runs)
        part = max(0, bisect_right(self.parts, low, key=itemgetter(0)) - 1)
        parts = tuple(item for item in self.parts[part:] if item[0] < high)
        # Lines count from the beginning of a part, so that those before this passage are only counted.
        newlines = self.newlines[bisect_left(self.newlines, low) : bisect_left(self.newlines, high)]
        return SourceMap(tuple(runs), newlines, self._line_of(low, part if parts else 0), parts)

    def to_text(self) -> str:
        """Return the map as a short text that ``from_text`` reads."""
        flat: list[int] = []
        at = origin = 0
        for run in self.runs:
            flat += (run.start - at, run.length, run.original - origin, run.original_length)
            at, origin = run.start + run.length, run.original + run.original_length
        steps = [after - before for before, after in zip((0, *self.newlines), self.newlines, strict=False)]
        return _COMPACT([flat, self.line, steps, self.parts])

    @classmethod
    def from_text(cls, text: str) -> SourceMap:
        """Return the map that ``to_text`` wrote, an empty one for an empty text; others raise ValueError."""
        try:
            return _decoded(text) if text else cls()
        except (TypeError, OverflowError, RecursionError) as broken:
            raise ValueError(f"not a map to a source: {broken}") from broken


def _extent(runs: Sequence[Run]) -> tuple[int, int]:
    """Return where the first characters of runs begin in the file, and where the last end."""
    return min(run.original for run in runs), max(run.original + run.original_length for run in runs)


@remember(8 << 20)
def _decoded(text: str) -> SourceMap:
    flat, line, steps, parts = json.loads(text)
    runs = []
    at = origin = 0
    for place in range(0, len(flat), 4):
        gap, length, original_gap, original_length = map(int, flat[place : place + 4])
        run = Run(at + gap, length, origin + original_gap, original_length)
        runs.append(run)
        at, origin = run.start + length, run.original + original_length
    newlines = tuple(accumulate(map(int, steps)))
    named = tuple((int(start), str(name)) for start, name in parts)
    return SourceMap(tuple(runs), newlines, int(line), named)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a quotation stands.

    ``start`` and ``end`` count characters of the file as it was decoded, or of the ``part`` (a slide, a
    sheet's row, a file inside an archive) where the file is a container. ``line`` counts from 1; ``page``
    is there for files that have pages; ``section`` is the path of headings above the quotation.
    """

    path: str | None
    page: int | None
    start: int
    end: int
    line: int | None = None
    section: tuple[str, ...] = ()
    part: str | None = None

    def __str__(self) -> str:
        where = self.path or "unknown source"
        if self.line is not None:
            where += f":{self.line}"
        elif self.page is not None:
            where += f", page {self.page}"
        elif self.part is not None:
            where += f", {self.part}"
        else:
            where += f", characters {self.start:,}-{self.end:,}"
        return f"{where}{SECTION_MARK}{self.section[-1]}" if self.section else where

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-able copy, with the line that a person reads as ``place``."""
        return {
            "place": str(self),
            "path": self.path,
            "line": self.line,
            "section": list(self.section),
            "page": self.page,
            "part": self.part,
            "start": self.start,
            "end": self.end,
        }


def place_of(candidate: Candidate, start: int = 0, end: int | None = None) -> Place:
    """Return where characters ``start`` to ``end`` of a candidate's text stand in its file.

    Candidates that did not come from a store have no path; their offsets count from their own text.
    """
    data = candidate.metadata
    end = len(candidate.text) if end is None else end
    page, pages = data.get("page"), data.get("pages")
    if isinstance(pages, list | tuple):
        begun = zip(sentence_spans(data), pages, strict=False)
        page = ([number for span, number in begun if span[0] <= start] or [page])[-1]
    section = _section(data.get("section_path"), data.get("section"))
    within = whole_number(data, "within")
    found = _located(data.get("origin"), within + start, within + end)
    if found is None:
        base = whole_number(data, "start")
        return Place(data.get("path"), page, base + start, base + end, section=section)
    # A page or a part says where to look; the lines of its extracted text are not those of the file.
    line = found.line if page is None and found.part is None else None
    part = None if page is not None else found.part
    return Place(data.get("path"), page, found.start, found.end, line, section, part)


# What stores write into metadata is told from what callers keep there under the same names.


def _located(origin: object, start: int, end: int) -> Located | None:
    if not isinstance(origin, str) or not origin:
        return None
    try:
        return SourceMap.from_text(origin).locate(start, end)
    except ValueError:
        return None


def whole_number(data: Mapping[str, Any], name: str) -> int:
    """Return a number that a store wrote; 0 for anything else."""
    value = data.get(name)
    return value if isinstance(value, int) else 0


def sentence_spans(data: Mapping[str, Any]) -> list[tuple[int, int]]:
    """Return the offsets of sentences that a store wrote; none for anything else."""
    try:
        return [(int(start), int(end)) for start, end in data.get("sentences", ())]
    except (TypeError, ValueError):
        return []


def _section(path: object, last: object) -> tuple[str, ...]:
    if isinstance(path, Sequence) and not isinstance(path, str):
        return tuple(map(str, path))
    return (str(last),) if last else ()
