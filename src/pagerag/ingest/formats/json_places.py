"""Find where the values of JSON records stand in their file."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator

from pagerag.ingest.formats.records import runs_of
from pagerag.places import Run, SourceMap

_ESCAPE = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|.)", re.DOTALL
)
_SPACE = re.compile(r"[ \t\n\r]*")


def in_json(
    source: str, begin: int, shift: int, line_of: Callable[[int], int]
) -> Callable[[str, str], SourceMap]:
    """Return a function that finds the text of a member of the object at ``begin``.

    ``source`` begins ``shift`` characters into the file; ``line_of`` gives the line of a character.
    """
    known: list[tuple[str, int, int]] = []

    def place(name: str, text: str) -> SourceMap:
        if not known:
            known.extend(members(source, begin))
        spans = [(start, end) for key, start, end in known if key == name]
        if not spans:
            return SourceMap(line=line_of(begin))
        start, end = spans[-1]
        line = line_of(start)
        if source[start] != '"':  # a list of sentences: all of it
            return SourceMap((Run(0, len(text), shift + start, end - start),), line=line)
        escapes = _ESCAPE.finditer(source, start, end) if source.find("\\", start, end) >= 0 else ()
        runs = runs_of(start + 1, end - 1, (match.span() for match in escapes), shift)
        return SourceMap(tuple(runs), line=line)

    return place


def members(source: str, begin: int) -> list[tuple[str, int, int]]:
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


def elements(source: str, begin: int) -> Iterator[int]:
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
