"""Support signals computed earlier, for training: out of fold, so that they are honest."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pagerag.errors import FormatError, InputError
from pagerag.units import Candidate

__all__ = ["StoredSupport"]


class StoredSupport:
    """A SupportEncoder that looks its signals up by question and unit id.

    The files have one JSON object per line, {"id": question id, "unit": unit id, "signals": [...]}, as the
    training of the support encoder writes them (``oof-fold*.jsonl``).
    """

    name = "stored"

    def __init__(self, signals: tuple[str, ...], table: Mapping[tuple[str, str], Sequence[float]]) -> None:
        self.signals = signals
        self._table = table

    @classmethod
    def load(cls, folder: Path, questions: Mapping[str, str], signals: tuple[str, ...]) -> StoredSupport:
        """Read every ``oof-fold*.jsonl`` of a folder; ``questions`` maps question ids to their texts."""
        table: dict[tuple[str, str], Sequence[float]] = {}
        paths = sorted(folder.glob("oof-fold*.jsonl"))
        if not paths:
            raise InputError(f"{folder} holds no oof-fold*.jsonl; train the support encoder first")
        for path in paths:
            with path.open(encoding="utf-8") as file:
                for number, line in enumerate(file, 1):
                    try:
                        row = json.loads(line)
                        question, unit, values = row["id"], row["unit"], row["signals"]
                    except (ValueError, KeyError, TypeError) as broken:
                        raise FormatError(
                            f"not a row of support signals ({broken})", file=path, line=number
                        ) from broken
                    if question not in questions:
                        continue
                    text = questions[question]
                    table[text, unit] = values
                    # a document's signals are the largest of its sentences'
                    document, mark, place = unit.rpartition("#")
                    if mark and place.isdigit():
                        known = table.get((text, document), values)
                        table[text, document] = [max(pair) for pair in zip(known, values, strict=True)]
        return cls(signals, table)

    def support(self, question: str, units: Sequence[Candidate], /) -> NDArray[np.float32]:
        """The stored signals. A unit that was not scored for this question (another question's pool) counts
        as unlikely."""
        blank = [0.01] * len(self.signals)
        rows = [self._table.get((question, unit.id), blank) for unit in units]
        return np.array(rows, dtype=np.float32)
