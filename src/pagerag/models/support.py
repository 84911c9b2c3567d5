"""The support encoder: one pass over the question and the whole pool, one judgement per unit."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pagerag.errors import InputError
from pagerag.models.decode import UNIT_CHANNELS, sigmoid, unit_logits
from pagerag.models.files import Model
from pagerag.models.packing import LIMIT, TokenUnit, pack, windows
from pagerag.units import Candidate

__all__ = ["PoolSupport"]

QUESTION_CAP, TITLE_CAP = 80, 20


class PoolSupport:
    """Probabilities that each unit supports the answer, and that it holds the answer.

    The units are read together, so a unit may be judged by what another one says. A pool that does not
    fit one window is read in several; a long unit is judged by its beginning. An empty pool gives an
    array of no rows.

    >>> support = PoolSupport()                                   # doctest: +SKIP
    >>> support.support(question, pool.candidates)[:, 0].argmax() # doctest: +SKIP
    """

    name = "pool-support"
    signals = ("support", "bearing")

    def __init__(self, *, folder: str | Path | None = None, threads: int | None = None) -> None:
        self._model = Model("support", folder=Path(folder) if folder else None, threads=threads)
        caps = self._model.facts["caps"]
        self._sentence_cap, self._paragraph_cap = int(caps["sentence"]), int(caps["paragraph"])

    def support(self, question: str, units: Sequence[Candidate], /) -> NDArray[np.float32]:
        """Shape (units, 2), values in [0, 1], rows in the order of ``units``."""
        if not question.strip():
            raise InputError("the question is empty")
        result = np.zeros((len(units), len(self.signals)), dtype=np.float32)
        if not units:
            return result
        texts = [question, *(u.title or "" for u in units), *(u.text for u in units)]
        encoded = [ids for ids, _ in self._model.tokens(texts)]
        asked, titles, bodies = encoded[0], encoded[1 : 1 + len(units)], encoded[1 + len(units) :]
        # Trained on both: sentences in full, paragraphs by their beginning.
        mean = sum(map(len, bodies)) / len(bodies)
        cap = self._sentence_cap if mean <= self._sentence_cap else self._paragraph_cap
        # A unit's judgement must not depend on its rank: the pool is read in the order of its tokens.
        order = sorted(range(len(units)), key=lambda i: (titles[i], units[i].position or 0, bodies[i]))
        packed_units = [
            TokenUnit(units[i].document, units[i].position or 0, titles[i][:TITLE_CAP], bodies[i][:cap])
            for i in order
        ]
        asked = asked[:QUESTION_CAP]
        for window in windows(asked, packed_units, LIMIT):
            packed = pack(asked, packed_units, window)
            tokens, _ = self._model(packed.ids, packed.types)
            for column, name in enumerate(self.signals):
                logits = unit_logits(tokens, UNIT_CHANNELS[name], packed.markers, packed.spans)
                result[[order[i] for i in packed.units], column] = sigmoid(logits)
        return result
