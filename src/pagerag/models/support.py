"""The support encoder: one pass over the question and the whole pool, one judgement per unit."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pagerag.errors import InputError
from pagerag.models.decode import UNIT_CHANNELS, sigmoid, unit_logits
from pagerag.models.files import Model
from pagerag.models.packing import TokenUnit, pack, windows
from pagerag.text import split_sentences
from pagerag.units import Candidate

__all__ = ["PoolSupport"]

QUESTION_CAP, TITLE_CAP = 80, 20
DOCUMENT = 2
"""A unit longer than so many caps is a document, judged by several of its sentences."""
MOST = 8
"""Sentences of one document that are judged, so that a pool of books costs little more than one of pages."""
PLACES = 10
"""Room for the sentences of a unit between two positions of its document."""

Body = tuple[list[int], list[tuple[int, int]]]
"""A text's tokens and their character offsets."""


class PoolSupport:
    """Probabilities that each unit supports the answer, and that it holds the answer.

    The units are read together, so a unit may be judged by what another one says. A pool that does not
    fit one window is read in several. A paragraph is judged by its beginning; a document, longer than twice
    that, by up to eight of its sentences, and its signals are the largest of theirs. An empty pool gives an array of no
    rows.

    >>> support = PoolSupport()                                   # doctest: +SKIP
    >>> support.support(question, pool.candidates)[:, 0].argmax() # doctest: +SKIP
    """

    name = "pool-support"
    signals: tuple[str, ...] = ("support", "bearing")

    def __init__(self, *, folder: str | Path | None = None, threads: int | None = None) -> None:
        self._model = Model("support", folder=Path(folder) if folder else None, threads=threads)
        caps = self._model.facts["caps"]
        self._sentence_cap, self._paragraph_cap = int(caps["sentence"]), int(caps["paragraph"])
        self._longest = int(caps.get("longest", self._paragraph_cap))

    def support(self, question: str, units: Sequence[Candidate], /) -> NDArray[np.float32]:
        """Shape (units, 2), values in [0, 1], rows in the order of ``units``."""
        if not question.strip():
            raise InputError("the question is empty")
        result = np.zeros((len(units), len(self.signals)), dtype=np.float32)
        if not units:
            return result
        texts = [question, *(u.title or "" for u in units), *(u.text for u in units)]
        encoded = self._model.tokens(texts)
        asked = encoded[0][0][:QUESTION_CAP]
        titles = [ids for ids, _ in encoded[1 : 1 + len(units)]]
        bodies = encoded[1 + len(units) :]
        cap, short = self._caps(asked, titles, [ids for ids, _ in bodies])
        # A unit's judgement must not depend on its rank: the pool is read in the order of its tokens.
        order = sorted(range(len(units)), key=lambda i: (titles[i], units[i].position or 0, bodies[i][0]))
        pieces: list[TokenUnit] = []
        owners: list[int] = []
        for i in order:
            place = (units[i].position or 0) * PLACES
            ids = bodies[i][0]
            parts = (
                [ids[:cap]]
                if len(ids) <= short
                else _sentences(units[i].text, bodies[i], self._sentence_cap, asked)
            )
            for number, part in enumerate(parts):
                pieces.append(TokenUnit(units[i].document, place + number, titles[i][:TITLE_CAP], part))
                owners.append(i)
        frame = self._model.frame
        for window in windows(asked, pieces, frame):
            packed = pack(asked, pieces, window, block=frame.block)
            tokens, _ = self._model(packed.ids, packed.types)
            rows = [owners[i] for i in packed.units]
            for column, name in enumerate(self.signals):
                logits = unit_logits(tokens, UNIT_CHANNELS[name], packed.markers, packed.spans)
                np.maximum.at(result[:, column], rows, sigmoid(logits).astype(np.float32))
        return result

    def _caps(
        self, asked: list[int], titles: Sequence[list[int]], bodies: Sequence[list[int]]
    ) -> tuple[int, int]:
        """How many tokens of a unit are read, and from how many on it is read by its sentences.

        Trained on both: sentences in full, paragraphs by their beginning. Where the pool fits one window all the same,
        more of a paragraph is read than in training.
        """
        if sum(map(len, bodies)) <= self._sentence_cap * len(bodies):
            return self._sentence_cap, DOCUMENT * self._sentence_cap
        cap, short = self._paragraph_cap, DOCUMENT * self._paragraph_cap
        room = self._model.frame.room(asked) - sum(min(len(title), TITLE_CAP) + 2 for title in titles)
        wider = range(self._longest, cap, -1)
        return next((n for n in wider if sum(min(len(ids), n) for ids in bodies) <= room), cap), short


def _sentences(text: str, body: Body, cap: int, asked: Collection[int]) -> list[list[int]]:
    """A document's sentences as tokens, at most ``cap`` of each: a few of many.

    The first is kept and those that share most with the question, rare tokens counting more.
    """
    ids, offsets = body
    starts = [start for start, _ in offsets]
    bounds = [(bisect_left(starts, low), bisect_left(starts, high)) for low, high in split_sentences(text)]
    parts = [ids[n : min(n + cap, high)] for low, high in bounds for n in range(low, high, cap)]
    if len(parts) <= MOST:
        return parts
    shared = [set(part).intersection(asked) for part in parts]
    seen = Counter(token for tokens in shared for token in tokens)
    worth = [sum(1 / seen[token] for token in tokens) for tokens in shared]
    best = sorted(range(1, len(parts)), key=lambda n: (-worth[n], n))[: MOST - 1]
    return [parts[n] for n in (0, *sorted(best))]
