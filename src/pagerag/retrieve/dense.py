"""Retrieve by cosine similarity from a list of units: exact, in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from pagerag._numbers import products
from pagerag.protocols import Encoder
from pagerag.store.memory import vectors_of
from pagerag.store.ranking import best
from pagerag.units import Candidate, Pool


class DenseRetriever:
    """Nearest units to the question, over a list of units, whose text is read as ``title. text``.

    Vectors that the units already carry are used as they are when every unit has one; they must come
    from the same encoder.
    """

    def __init__(self, candidates: Sequence[Candidate], encoder: Encoder) -> None:
        self.candidates = tuple(candidates)
        self.encoder = encoder
        self.name = encoder.name
        self.vectors = vectors_of(candidates, encoder)

    def retrieve(self, question: str, k: int = 20) -> Pool:
        """Return the ``k`` nearest units, nearest first, each with its score and its vector."""
        vector = self.encoder.encode_queries([question])[0]
        scores = products(self.vectors, vector) if len(self.candidates) else np.empty(0, dtype=np.float32)
        chosen = [
            replace(self.candidates[place], score=float(scores[place]), vector=self.vectors[place])
            for place in best(scores, k)
        ]
        return Pool(question, tuple(chosen), vector=vector, origin=self.name)
