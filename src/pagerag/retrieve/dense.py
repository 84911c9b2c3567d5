"""Dense retrieval in memory: exact, by cosine similarity."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pagerag.errors import CandidateError, InputError
from pagerag.protocols import Encoder
from pagerag.retrieve.ranking import best, encoded_text
from pagerag.units import Candidate, Pool

__all__ = ["DenseRetriever"]


class DenseRetriever:
    """Nearest units to the question, over a list of units, whose text is read as ``title. text``.

    Vectors that the units already carry are used as they are when every unit has one; they must come
    from the same encoder.
    """

    def __init__(self, candidates: Sequence[Candidate], encoder: Encoder) -> None:
        self.candidates = tuple(candidates)
        self.encoder = encoder
        self.name = encoder.name
        self.vectors = self._encoded()

    def _encoded(self) -> NDArray[np.float32]:
        given = [candidate.vector for candidate in self.candidates if candidate.vector is not None]
        if given and len(given) == len(self.candidates):
            for candidate, vector in zip(self.candidates, given, strict=True):
                if vector.shape != (self.encoder.dimension,):
                    raise CandidateError(
                        f"candidate {candidate.id!r} has a vector of shape {vector.shape}, but the encoder "
                        f"{self.encoder.name!r} makes {self.encoder.dimension} numbers; "
                        "leave the vectors out or use the encoder they came from",
                        item=candidate.id,
                    )
            return np.stack([np.asarray(vector, dtype=np.float32) for vector in given])
        return self.encoder.encode_passages([encoded_text(c) for c in self.candidates])

    def retrieve(self, question: str, k: int = 20) -> Pool:
        """The ``k`` nearest units, nearest first, each with its score and its vector."""
        vector = self.encoder.encode_queries([question])[0]
        return Pool(question, self.search_vector(vector, k), vector=vector, origin=self.name)

    def search_vector(self, vector: NDArray[np.floating[Any]], k: int) -> tuple[Candidate, ...]:
        """The ``k`` nearest units to any vector of the encoder's space."""
        return tuple(
            replace(self.candidates[place], score=score, vector=self.vectors[place])
            for place, score in self.rank(vector, k)
        )

    def rank(self, vector: NDArray[np.floating[Any]], k: int) -> list[tuple[int, float]]:
        """The places of the ``k`` nearest units, and their scores."""
        point = np.asarray(vector, dtype=np.float32)
        if point.shape != (self.encoder.dimension,):
            raise InputError(
                f"the vector has shape {point.shape}; the encoder {self.encoder.name!r} makes "
                f"{self.encoder.dimension} numbers"
            )
        scores = self.vectors @ point if len(self.candidates) else np.empty(0, dtype=np.float32)
        return [(int(place), float(scores[place])) for place in best(scores, k)]
