"""The support encoder: one pass over the question and the whole pool, one judgement per unit."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pagerag.errors import InputError
from pagerag.models.decode import KINDS, UNIT_CHANNELS, sigmoid, unit_logits
from pagerag.models.excerpts import QUESTION_CAP, Body, Reading, parts_of, pool_units
from pagerag.models.files import judge_folder, open_model
from pagerag.models.packing import TokenUnit, pack, windows
from pagerag.units import Candidate, SupportKind

__all__ = ["PoolSupport"]

CHARACTERS = 20_000
"""Characters of a unit that are looked at: a book costs no more than a chapter."""


class PoolSupport:
    """Probabilities that each unit supports the answer, that it holds the answer, that all evidence is there.

    The units are read together, so a unit may be judged by what another one says; the last of the three is of
    the pool as a whole, the same for every unit. Of a long unit the sentences are read that share most with
    the question (``models.excerpts``), so that the time depends on the number of units and not on their
    length. A pool that does not fit one window is read in several. An empty pool gives an array of no rows.

    Where ``pagerag-judge`` is installed its ``larger`` network judges in place of the small one: twice as
    wide, and about ten times as slow. Scorers are fitted on the signals of each (``fitted`` says which).

    >>> support = PoolSupport()                                   # doctest: +SKIP
    >>> support.support(question, pool.candidates)[:, 0].argmax() # doctest: +SKIP
    """

    name = "pool-support"
    signals: tuple[str, ...] = ("support", "bearing", "complete")

    def __init__(
        self, *, folder: str | Path | None = None, threads: int | None = None, larger: bool = True
    ) -> None:
        place = Path(folder) if folder else judge_folder() if larger else None
        self.fitted: SupportKind = "judge" if place is not None and place == judge_folder() else "support"
        self._model = open_model("support", place, threads)
        self._reading = Reading(**self._model.facts.get("reading", {}))

    def support(self, question: str, units: Sequence[Candidate], /) -> NDArray[np.float32]:
        """Return an array of shape (units, 3), values in [0, 1], rows in the order of ``units``."""
        if not question.strip():
            raise InputError("the question is empty")
        if not units:
            return np.zeros((0, len(self.signals)), dtype=np.float32)
        texts = [question, *(u.title or "" for u in units), *(u.text for u in units)]
        encoded = self._model.tokens([text[:CHARACTERS] for text in texts])
        asked = encoded[0][0][:QUESTION_CAP]
        titles = [ids for ids, _ in encoded[1 : 1 + len(units)]]
        bodies = [
            Body(ids, parts_of(unit.text[:CHARACTERS], offsets))
            for unit, (ids, offsets) in zip(units, encoded[1 + len(units) :], strict=True)
        ]
        documents, positions = [unit.document for unit in units], [unit.position or 0 for unit in units]
        pieces, owners = pool_units(asked, titles, bodies, documents, positions, self._reading)
        result = np.empty((len(units), len(self.signals)), dtype=np.float32)
        result[owners] = sigmoid(self._log_odds(asked, pieces))
        return result

    def _log_odds(self, asked: Sequence[int], pieces: Sequence[TokenUnit]) -> NDArray[np.float64]:
        """Return support and bearing of each piece, and that all evidence is there."""
        model = self._model
        found = np.empty((len(pieces), len(self.signals)))
        complete = -np.inf
        for window in windows(asked, pieces, model.frame):
            packed = pack(asked, pieces, window, block=model.frame.block)
            tokens, kinds = model(packed.ids, packed.types)
            for column, name in enumerate(("support", "bearing")):
                logits = unit_logits(tokens, UNIT_CHANNELS[name], packed.markers, packed.spans)
                found[packed.units, column] = logits
            # Of several windows the one counts that misses least: none of them sees the others' units.
            others = np.delete(kinds.astype(np.float64), KINDS.index("none"))
            complete = max(complete, float(np.logaddexp.reduce(others) - kinds[KINDS.index("none")]))
        found[:, 2] = complete
        return found
