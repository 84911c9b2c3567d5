"""Read records of a JSON array or a JSON Lines file, plain or gzipped, one at a time and with their places.

A benchmark's train file is hundreds of megabytes: nothing here holds more than one record and a block.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pagerag.errors import FormatError
from pagerag.systems.formats import json_records

__all__ = ["Record", "read_records", "read_values"]


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


def read_records(path: str | Path) -> Iterator[Record]:
    """Yield the records of ``path``: a JSON array if it starts with ``[``, JSON Lines otherwise."""
    path = Path(path)
    try:
        for number, (line, value) in enumerate(json_records(path), start=1):
            yield _record(value, path, line, number)
    except OSError as problem:
        raise FormatError(f"cannot be read ({problem}); fetch it again", file=path) from problem


def read_values(path: str | Path) -> Iterator[dict[str, Any]]:
    """Yield the objects of ``path`` alone, for those who ask for no places."""
    return (record.value for record in read_records(path))


def _record(value: object, path: Path, line: int, number: int) -> Record:
    if not isinstance(value, dict):
        raise FormatError(
            f"record {number} is {type(value).__name__}, not an object; is this the right --dataset?",
            file=path,
            line=line,
        )
    return Record(value=value, file=path, line=line, number=number)
