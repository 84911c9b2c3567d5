"""Read records of a JSON array or a JSON Lines file, plain or gzipped, one at a time and with their places.

A benchmark's train file is hundreds of megabytes: nothing here holds more than one record and a block.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO, cast

from pagerag.errors import FormatError

__all__ = ["Record", "read_records", "read_values"]

_BLOCK = 1 << 20


@dataclass(frozen=True, slots=True)
class Record:
    """One JSON object and where it stands: its file, its line (1-based) and its number (1-based)."""

    value: dict[str, Any]
    file: Path
    line: int
    number: int

    def bad(self, field: str, what: str) -> FormatError:
        """Return the error for a field of this record; ``what`` says what is wrong and what to do."""
        name = self.value.get("_id", self.value.get("id", ""))
        told = f"record {self.number}" + (f" ({name!r})" if name != "" else "")
        return FormatError(f"{told}: {what}", file=self.file, line=self.line, field=field)


def _open(path: Path) -> TextIO:
    if not path.is_file():
        raise FormatError("there is no such file; check --data", file=path)
    with path.open("rb") as probe:
        magic = probe.read(2)
    # By content, not by name: downloads lose and gain suffixes.
    if magic == b"\x1f\x8b":
        return cast(TextIO, gzip.open(path, "rt", encoding="utf-8", newline=""))
    return path.open(encoding="utf-8", newline="")


def read_records(path: str | Path) -> Iterator[Record]:
    """Yield the records of ``path``: a JSON array if it starts with ``[``, JSON Lines otherwise."""
    path = Path(path)
    try:
        with _open(path) as stream:
            start = stream.read(1)
            while start and (start.isspace() or start == "\ufeff"):
                start = stream.read(1)
        if start == "[":
            yield from _array(path)
        else:
            yield from _lines(path)
    except UnicodeDecodeError as problem:
        raise FormatError(
            f"not UTF-8 text ({problem.reason}); convert it or fetch it again", file=path
        ) from problem
    except (OSError, EOFError) as problem:
        raise FormatError(f"cannot be read ({problem}); fetch it again", file=path) from problem


def read_values(path: str | Path) -> Iterator[dict[str, Any]]:
    """Yield the objects of ``path`` alone, for those who ask for no places."""
    return (record.value for record in read_records(path))


def _lines(path: Path) -> Iterator[Record]:
    number = 0
    with _open(path) as stream:
        for line, text in enumerate(stream, start=1):
            content = text.lstrip("\ufeff").strip()
            if not content:
                continue
            number += 1
            try:
                value = json.loads(content)
            except json.JSONDecodeError as problem:
                raise FormatError(
                    f"record {number} is not JSON ({problem.msg} at column {problem.colno}); "
                    "the file may be cut short: fetch it again",
                    file=path,
                    line=line,
                ) from problem
            yield _record(value, path, line, number)


def _array(path: Path) -> Iterator[Record]:
    decoder = json.JSONDecoder()
    with _open(path) as stream:
        buffer = stream.read(_BLOCK)
        place = buffer.index("[") + 1
        line = 1 + buffer.count("\n", 0, place)
        number, comma_due = 0, False
        while True:
            # Skip what stands between records.
            while True:
                while place < len(buffer) and buffer[place].isspace():
                    line += buffer[place] == "\n"
                    place += 1
                if place < len(buffer):
                    break
                buffer, place = stream.read(_BLOCK), 0
                if not buffer:
                    raise FormatError(
                        f"the array breaks off after record {number}; the file is cut short: fetch it again",
                        file=path,
                        line=line,
                    )
            if buffer[place] == "]":
                return
            if comma_due:
                if buffer[place] != ",":
                    raise FormatError(
                        f"a comma is missing after record {number}; fetch the file again",
                        file=path,
                        line=line,
                    )
                place, comma_due = place + 1, False
                continue
            number += 1
            buffer, place = buffer[place:], 0
            while True:
                try:
                    value, end = decoder.raw_decode(buffer, place)
                    break
                except json.JSONDecodeError as problem:
                    # Unfinished or malformed? Only more text can tell; the block doubles to keep it linear.
                    more = stream.read(max(_BLOCK, len(buffer)))
                    if not more:
                        raise FormatError(
                            f"record {number} is not JSON ({problem.msg}); if cut short, fetch it again",
                            file=path,
                            line=line + buffer.count("\n", 0, problem.pos),
                        ) from problem
                    buffer += more
            yield _record(value, path, line, number)
            line += buffer.count("\n", 0, end)
            place, comma_due = end, True


def _record(value: object, path: Path, line: int, number: int) -> Record:
    if not isinstance(value, dict):
        raise FormatError(
            f"record {number} is {type(value).__name__}, not an object; is this the right --dataset?",
            file=path,
            line=line,
        )
    return Record(value=value, file=path, line=line, number=number)
