"""The support encoder: one pass over the question and the whole pool, one judgement per unit."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pagerag.errors import InputError
from pagerag.models.decode import KINDS, UNIT_CHANNELS, sigmoid, unit_logits
from pagerag.models.excerpts import QUESTION_CAP, Body, Reading, parts_of, pool_units
from pagerag.models.files import Model, open_model, reader_folder
from pagerag.models.packing import TokenUnit, pack, windows
from pagerag.units import Candidate

__all__ = ["PoolSupport"]

_MOST_PASSES = 4
"""Passes that the larger network may take for a pool; one that needs more is left to the small network."""

CHARACTERS = 20_000
"""Characters of a unit that are looked at: a book costs no more than a chapter."""


class PoolSupport:
    """Probabilities that each unit supports the answer, that it holds the answer, that all evidence is there.

    The units are read together, so a unit may be judged by what another one says; the last of the three is of
    the pool as a whole, the same for every unit. Of a long unit the sentences are read that share most with
    the question (``models.excerpts``), so that the time depends on the number of units and not on their
    length. A pool that does not fit one window is read in several. An empty pool gives an array of no rows.

    Where ``pagerag-reader`` is installed its ``larger`` network judges beside the small one (it was trained
    to judge units, too, and is twice as wide), and the mean of their logits counts: they err in different
    places. It takes about ten times as long. An encoder from a ``folder`` reads alone.

    >>> support = PoolSupport()                                   # doctest: +SKIP
    >>> support.support(question, pool.candidates)[:, 0].argmax() # doctest: +SKIP
    """

    name = "pool-support"
    signals: tuple[str, ...] = ("support", "bearing", "complete")

    def __init__(
        self, *, folder: str | Path | None = None, threads: int | None = None, larger: bool = True
    ) -> None:
        self._model = open_model("support", Path(folder) if folder else None, threads)
        self._reading = Reading(**self._model.facts.get("reading", {}))
        self._larger_folder = reader_folder() if larger and not folder else None
        self._threads = threads
        self._opened: Model | None = None

    @property
    def _larger_model(self) -> Model:
        """The larger network; it is opened when a pool first needs it, and shared with the reader."""
        # No cached_property: until Python 3.12 it holds a lock while it computes, and a child that is forked
        # meanwhile waits for it for ever.
        if self._opened is None:
            self._opened = open_model("reader", self._larger_folder, self._threads)
        return self._opened

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
        heard = [_judged(self._model, asked, pieces, windows(asked, pieces, self._model.frame))]
        if self._larger_folder is not None:
            passes = windows(asked, pieces)  # all our networks have one tokenizer, the readers one frame
            if len(passes) <= _MOST_PASSES:
                heard.append(_judged(self._larger_model, asked, pieces, passes))
        result = np.empty((len(units), len(self.signals)), dtype=np.float32)
        result[owners] = sigmoid(np.mean(heard, axis=0))
        return result


def _judged(
    model: Model, asked: Sequence[int], pieces: Sequence[TokenUnit], passes: Sequence[Sequence[int]]
) -> NDArray[np.float64]:
    """Return a network's log-odds: support and bearing of each piece, and that all evidence is there."""
    found = np.empty((len(pieces), 3))
    complete = -np.inf
    for window in passes:
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
