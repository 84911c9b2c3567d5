"""Support signals computed earlier, for training: out of fold, so that they are honest."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pagerag.errors import FormatError
from pagerag.units import Candidate

__all__ = ["StoredSupport"]


class StoredSupport:
    """A SupportEncoder that looks its signals up by question and unit text.

    The file has one JSON object per line: {"question", "title", "text", "signals"}; its first line is
    {"signals": [names]}.
    """

    name = "stored"

    def __init__(
        self, signals: tuple[str, ...], table: Mapping[tuple[str, str, str], Sequence[float]]
    ) -> None:
        self.signals = signals
        self._table = table

    @classmethod
    def load(cls, path: Path) -> StoredSupport:
        """Read a file of signals."""
        table: dict[tuple[str, str, str], Sequence[float]] = {}
        signals: tuple[str, ...] = ()
        with path.open(encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                try:
                    row = json.loads(line)
                    if number == 1:
                        signals = tuple(row["signals"])
                    else:
                        table[row["question"], row.get("title") or "", row["text"]] = row["signals"]
                except (ValueError, KeyError, TypeError) as broken:
                    raise FormatError(
                        f"not a row of support signals ({broken})", file=path, line=number
                    ) from broken
        return cls(signals, table)

    def support(self, question: str, units: Sequence[Candidate], /) -> NDArray[np.float32]:
        """The stored signals; a unit that was not scored counts as unlikely."""
        blank = [-8.0] * len(self.signals)
        return np.array(
            [self._table.get((question, unit.title or "", unit.text), blank) for unit in units],
            dtype=np.float32,
        )
