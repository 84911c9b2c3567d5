"""The support encoder: one pass over the question and the whole pool, one judgement per unit."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pagerag.errors import InputError
from pagerag.models.decode import KINDS, UNIT_CHANNELS, log_softmax, sigmoid, unit_logits
from pagerag.models.excerpts import QUESTION_CAP, Body, Reading, parts_of, pool_units
from pagerag.models.files import Model
from pagerag.models.packing import pack, windows
from pagerag.units import Candidate

__all__ = ["PoolSupport"]

CHARACTERS = 20_000
"""Characters of a unit that are looked at: a book costs no more than a chapter."""


class PoolSupport:
    """Probabilities that each unit supports the answer, that it holds the answer, that all evidence is there.

    The units are read together, so a unit may be judged by what another one says; the last of the three is of
    the pool as a whole, the same for every unit. Of a long unit the
    sentences are read that share most with the question (``models.excerpts``), so that the time depends on
    the number of units and not on their length. A pool that does not fit one window is read in several. An
    empty pool gives an array of no rows.

    >>> support = PoolSupport()                                   # doctest: +SKIP
    >>> support.support(question, pool.candidates)[:, 0].argmax() # doctest: +SKIP
    """

    name = "pool-support"
    signals: tuple[str, ...] = ("support", "bearing", "complete")

    def __init__(self, *, folder: str | Path | None = None, threads: int | None = None) -> None:
        self._model = Model("support", folder=Path(folder) if folder else None, threads=threads)
        self._reading = Reading(**self._model.facts.get("reading", {}))

    def support(self, question: str, units: Sequence[Candidate], /) -> NDArray[np.float32]:
        """Shape (units, 3), values in [0, 1], rows in the order of ``units``."""
        if not question.strip():
            raise InputError("the question is empty")
        result = np.zeros((len(units), len(self.signals)), dtype=np.float32)
        if not units:
            return result
        texts = [question, *(u.title or "" for u in units), *(u.text for u in units)]
        encoded = self._model.tokens([text[:CHARACTERS] for text in texts])
        asked = encoded[0][0][:QUESTION_CAP]
        titles = [ids for ids, _ in encoded[1 : 1 + len(units)]]
        bodies = [
            Body(ids, parts_of(unit.text[:CHARACTERS], offsets))
            for unit, (ids, offsets) in zip(units, encoded[1 + len(units) :], strict=True)
        ]
        positions = [unit.position or 0 for unit in units]
        pieces, owners = pool_units(
            asked, titles, bodies, [unit.document for unit in units], positions, self._reading
        )
        frame = self._model.frame
        lacking = 1.0
        for window in windows(asked, pieces, frame):
            packed = pack(asked, pieces, window, block=frame.block)
            tokens, kinds = self._model(packed.ids, packed.types)
            rows = [owners[i] for i in packed.units]
            for column, name in enumerate(self.signals[:2]):
                logits = unit_logits(tokens, UNIT_CHANNELS[name], packed.markers, packed.spans)
                result[rows, column] = sigmoid(logits).astype(np.float32)
            # Of several windows the one counts that misses least: none of them sees the others' units.
            lacking = min(lacking, float(np.exp(log_softmax(kinds))[KINDS.index("none")]))
        result[:, 2] = 1.0 - lacking
        return result
