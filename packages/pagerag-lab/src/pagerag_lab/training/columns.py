"""A tokenized corpus as one compressed file: columns of numbers, so that much data travels in few bytes."""

from __future__ import annotations

import io
import json
import lzma
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pagerag_lab.product import write_atomic

__all__ = ["Table", "ragged", "read_columns", "split", "write_columns"]


class Table:
    """Token lists by place, kept as one array: a list of lists would be copied into every worker process."""

    def __init__(self, flat: NDArray[np.uint16], lengths: NDArray[np.integer[Any]]) -> None:
        self.flat = flat
        self.ends = np.cumsum(lengths, dtype=np.int64)
        self.more: list[list[int]] = []

    @classmethod
    def of(cls, rows: Sequence[Sequence[int]]) -> Table:
        """Return the table of these lists."""
        return cls(*ragged(rows, np.uint16))

    def __len__(self) -> int:
        return len(self.ends) + len(self.more)

    def __getitem__(self, place: int) -> list[int]:
        if place >= len(self.ends):
            return self.more[place - len(self.ends)]
        start = int(self.ends[place - 1]) if place else 0
        found: list[int] = self.flat[start : int(self.ends[place])].tolist()
        return found

    def append(self, row: list[int]) -> int:
        """Add a list; returns its place."""
        self.more.append(row)
        return len(self) - 1


def ragged(rows: Iterable[Sequence[int]], kind: Any) -> tuple[NDArray[Any], NDArray[np.int32]]:
    """Return lists of numbers one behind the other, and their lengths."""
    rows = list(rows)
    lengths = np.fromiter(map(len, rows), np.int32, len(rows))
    flat = np.fromiter((x for row in rows for x in row), kind, int(lengths.sum()))
    return flat, lengths


def split(flat: NDArray[Any], lengths: NDArray[Any]) -> list[list[int]]:
    """Undo ``ragged``."""
    values, found, start = flat.tolist(), [], 0
    for length in lengths.tolist():
        found.append(values[start : start + length])
        start += length
    return found


def write_columns(path: Path, columns: dict[str, NDArray[Any]], facts: Any) -> None:
    """Write arrays, and facts as JSON, into one compressed file."""
    held = io.BytesIO()
    text = np.frombuffer(json.dumps(facts, ensure_ascii=False).encode(), np.uint8)
    np.savez(held, facts=text, **columns)  # type: ignore[arg-type]  # names of arrays, never allow_pickle
    write_atomic(path, lzma.compress(held.getvalue(), preset=4))


def read_columns(path: Path) -> tuple[dict[str, NDArray[Any]], Any]:
    """Read what ``write_columns`` wrote."""
    with np.load(io.BytesIO(lzma.decompress(path.read_bytes())), allow_pickle=False) as held:
        columns = {name: held[name] for name in held.files}
    return columns, json.loads(columns.pop("facts").tobytes())
