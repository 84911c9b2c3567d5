"""Question to Pool on a benchmark: the question's own units, ranked by a retriever and cut to size.

A ranker scores given units; it never sees gold. ``Pools`` turns questions into pools with it:

>>> make = Pools(DenseRanker(encoder), mode="sentence", size=20)   # doctest: +SKIP
>>> pool = make(question)                                          # doctest: +SKIP
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from pagerag.errors import InputError
from pagerag.protocols import Encoder
from pagerag.text import encoded_text
from pagerag.units import Candidate, Mode, Pool
from pagerag_lab.datasets.questions import Question

__all__ = ["DenseRanker", "Pools", "Ranker", "Ranking", "unit_text"]


def unit_text(unit: Candidate) -> str:
    """Return what a retriever reads of a unit."""
    return encoded_text(unit.title, unit.text)


"""What is embedded and searched: "title. text"."""


@dataclass(frozen=True, slots=True, eq=False)
class Ranking:
    """One score per unit, higher is better; vectors where the retriever has them."""

    scores: NDArray[np.float64]
    vectors: NDArray[np.float32] | None = None
    question: NDArray[np.float32] | None = None


class Ranker(Protocol):
    """A retriever over given units."""

    name: str

    def rank(self, question: str, units: Sequence[Candidate]) -> Ranking:
        """Return a score for each unit."""
        ...


class DenseRanker:
    """Cosine similarity of the question and each unit, by any encoder."""

    def __init__(self, encoder: Encoder) -> None:
        self.encoder = encoder
        self.name = encoder.name

    def rank(self, question: str, units: Sequence[Candidate]) -> Ranking:
        """Rank by cosine: encoders give unit-length rows."""
        asked = self.encoder.encode_queries([question])[0]
        vectors = self.encoder.encode_passages([unit_text(unit) for unit in units])
        return Ranking(scores=(vectors @ asked).astype(np.float64), vectors=vectors, question=asked)


@dataclass(frozen=True, slots=True)
class Pools:
    """Makes the expanded pool of a question: its units by score, best first, at most ``size``.

    Ties keep the file's order, so that a pool is the same on every machine.
    """

    ranker: Ranker
    mode: Mode = "sentence"
    size: int = 20

    def __post_init__(self) -> None:
        if self.size < 1:
            raise InputError(f"the pool size is {self.size}; it must be at least 1")

    def __call__(self, question: Question) -> Pool:
        """Return the question's pool."""
        units = question.units(self.mode)
        if not units:
            return Pool(question=question.question, candidates=(), origin=self.ranker.name)
        return top(
            question.question, units, self.ranker.rank(question.question, units), self.size, self.ranker.name
        )


def top(question: str, units: Sequence[Candidate], ranking: Ranking, size: int, origin: str) -> Pool:
    """Return the pool of the ``size`` best units under a ranking."""
    order = np.argsort(-ranking.scores, kind="stable")[:size]
    vectors = ranking.vectors
    return Pool(
        question=question,
        candidates=tuple(
            replace(
                units[place],
                score=float(ranking.scores[place]),
                vector=None if vectors is None else vectors[place],
            )
            for place in order
        ),
        vector=ranking.question,
        origin=origin,
    )
