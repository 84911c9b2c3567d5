"""Measure how near the words of a unit come to the question's where they are not the same words.

Each common word has a short vector (``data/word-vectors.npz``, made by ``pagerag_lab.tune.word_vectors``). A
question's word that a unit has counts fully; one that it has not counts by the nearest word that it has
instead, "automobile" for "car". Like the measures of ``whole_units`` these mean the same in every pool.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pagerag.promotion.sentence_arrays import Sentences
from pagerag.promotion.whole_units import listed_words, rarity
from pagerag.text.codes import question_codes

__all__ = ["NEAR", "near_words"]

Floats = NDArray[np.float32]

NEAR: tuple[str, ...] = (
    "near_cover", "near_only", "near_best", "meaning", "near_gap", "meaning_gap",
)  # fmt: skip
"""The measures of a unit, in the order of the columns that ``near_words`` returns."""

_LEAST = 0.3  # words with a smaller cosine have nothing to do with each other


class _Table:
    """The vectors of the common words, of length one, and where each word's stands."""

    def __init__(self) -> None:
        words = listed_words()
        path = Path(__file__).with_name("data") / "word-vectors.npz"
        with np.load(path, allow_pickle=False) as held:
            vectors = held["vectors"]
        if len(vectors) != len(words):
            raise AssertionError("word-vectors.npz and word-rarity.json are not of one list")
        self.rare = np.array([*words.values(), 0.0], dtype=np.float32)
        # the last row is for all words that have none
        self.vectors = np.zeros((len(words) + 1, vectors.shape[1]), dtype=np.int8)
        self.vectors[:-1] = vectors
        length = np.sqrt(np.add.reduce(np.square(vectors, dtype=np.float32), axis=1))
        self.scale = np.zeros((len(words) + 1, 1), dtype=np.float32)
        np.divide(1.0, length, out=self.scale[:-1, 0], where=length > 0)
        # Codes hold within one process only, so they are ordered here.
        codes = np.fromiter(map(hash, words), dtype=np.int64, count=len(words))
        self.order = codes.argsort()
        self.codes = codes.take(self.order)

    def places(self, codes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the row of each word's vector."""
        at = np.minimum(self.codes.searchsorted(codes), len(self.codes) - 1)
        return np.where(self.codes.take(at) == codes, self.order.take(at), len(self.codes))

    def of(self, places: NDArray[np.int64]) -> Floats:
        """Return the vectors at these rows."""
        return self.vectors.take(places, axis=0) * self.scale.take(places, axis=0)


@cache
def _table() -> _Table:
    return _Table()


def near_words(sentences: Sentences, tokens: tuple[str, ...], has: NDArray[np.bool_]) -> Floats:
    """Return one row per unit that takes part, columns ``NEAR``.

    With share(q) the weight of a question's word by its rarity and near(q, u) = max over the words w of unit
    u of cos(q, w), 0 below ``_LEAST`` and 1 where u has q itself:

    - near_cover = Σ_q share(q) · near(q, u), near_only the same without the words that u has,
      near_best the largest near(q, u) of those;
    - meaning = cos(Σ_q rare(q) · v(q), Σ_w rare(w) · v(w));
    - the gaps say how far near_cover and meaning lie below the best of the pool.

    ``tokens`` are the question's words, each once; ``has`` (units x words) says which unit has which of them,
    in its text or its title.
    """
    found = np.zeros((len(has), len(NEAR)), dtype=np.float32)
    counts = np.array(sentences.counts)
    present = counts.nonzero()[0]
    if not len(tokens) or not len(present):
        return found
    table = _table()
    _, share = rarity(tokens)
    asked = table.places(question_codes(tokens)[0])
    question = table.of(asked)
    places = table.places(sentences.words)
    words = table.of(places)
    starts = np.add.accumulate(counts.take(present)) - counts.take(present)
    nearest = np.zeros(has.shape, dtype=np.float32)
    nearest[present] = np.maximum.reduceat(question @ words.T, starts, axis=1).T
    nearest[(nearest < _LEAST) | has] = 0.0
    found[:, 1] = nearest @ share
    found[:, 0] = found[:, 1] + has @ share
    found[:, 2] = np.maximum.reduce(nearest, axis=1)
    words *= table.rare.take(places)[:, None]
    meant = table.rare.take(asked) @ question
    sums = np.add.reduceat(words, starts, axis=0)
    length = np.sqrt(np.einsum("ij,ij->i", sums, sums)) * float(np.sqrt(meant @ meant))
    found[present, 3] = (sums @ meant) / np.maximum(length, 1e-6)
    found[:, 4:] = found[:, [0, 3]] - np.maximum.reduce(found[:, [0, 3]], axis=0)
    return found
