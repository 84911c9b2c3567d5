"""What promotion is compared with, on the same pool: the usual ways to choose k of n units."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pagerag.errors import InputError
from pagerag.text import tokenize
from pagerag.units import Candidate, Mode, Pool
from pagerag_lab.pools.rankers import unit_text
from pagerag_lab.product import need
from pagerag_lab.rivals.selection import Selection

__all__ = ["MMR", "AdaptiveK", "CrossEncoder"]


def scores_of(pool: Pool) -> NDArray[np.float64]:
    """Return the retriever's scores, min-max normalised; by rank where it gives none."""
    given = [unit.score for unit in pool.candidates]
    if any(score is None for score in given):
        raw = -np.arange(len(given), dtype=np.float64)
    else:
        raw = np.array(given, dtype=np.float64)
    spread = raw.max() - raw.min() if raw.size else 0.0
    return (raw - raw.min()) / spread if spread > 0 else np.ones_like(raw)


def similarities(pool: Pool) -> NDArray[np.float64]:
    """Return how alike units are: the cosine of their vectors, or Jaccard of their tokens without vectors."""
    units = pool.candidates
    if units and all(unit.vector is not None for unit in units):
        rows = np.stack([np.asarray(unit.vector, dtype=np.float64) for unit in units])
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        rows = rows / np.maximum(lengths, 1e-12)
        return np.asarray(rows @ rows.T, dtype=np.float64)
    tokens = [frozenset(tokenize(unit_text(unit))) for unit in units]
    table = np.zeros((len(units), len(units)))
    for i, left in enumerate(tokens):
        for j, right in enumerate(tokens):
            joined = len(left | right)
            table[i, j] = len(left & right) / joined if joined else 0.0
    return table


def _pick(units: Sequence[Candidate], places: Sequence[int], core: int | None = None) -> Selection:
    context = tuple(units[place].id for place in places)
    return Selection(core=context[:core], context=context)


class MMR:
    """Maximal marginal relevance.

    Repeatedly the unit with the best λ·relevance − (1 − λ)·max similarity to those chosen.
    """

    def __init__(self, balance: float = 0.5) -> None:
        if not 0.0 <= balance <= 1.0:
            raise InputError(f"mmr:{balance}: the balance must be in [0, 1]")
        self.balance = balance
        self.name = f"mmr:{balance:g}"

    def select(self, pool: Pool, k: int, mode: Mode) -> Selection:  # noqa: ARG002
        """Select greedily; ties go to the better ranked."""
        if not pool.candidates:
            return Selection((), ())
        relevance, alike = scores_of(pool), similarities(pool)
        chosen: list[int] = []
        left = list(range(len(pool.candidates)))
        while left and len(chosen) < k:
            redundancy = alike[np.ix_(left, chosen)].max(axis=1) if chosen else np.zeros(len(left))
            worth = self.balance * relevance[left] - (1 - self.balance) * redundancy
            chosen.append(left.pop(int(np.argmax(worth))))
        return _pick(pool.candidates, chosen)


class AdaptiveK:
    """The retriever's order, cut where the drop between neighbouring scores is largest.

    The cut lies within the budget; the filled context is the plain top k.
    """

    name = "adaptive-k"

    def select(self, pool: Pool, k: int, mode: Mode) -> Selection:  # noqa: ARG002
        """End the core at the largest gap."""
        places = list(range(min(k, len(pool.candidates))))
        if len(pool.candidates) < 2:
            return _pick(pool.candidates, places)
        gaps = -np.diff(scores_of(pool)[: k + 1])
        return _pick(pool.candidates, places, int(np.argmax(gaps)) + 1)


class CrossEncoder:
    """A cross-encoder's own judgement of (question, unit), through sentence-transformers."""

    def __init__(self, model: str) -> None:
        library = need(
            "sentence_transformers", "sentence-transformers", "sentence-transformers", "the cross-encoder"
        )
        self.name = f"cross-encoder:{model}"
        self.model: Any = library.CrossEncoder(model)

    def select(self, pool: Pool, k: int, mode: Mode) -> Selection:  # noqa: ARG002
        """Return the k best by the model's score."""
        if not pool.candidates:
            return Selection((), ())
        pairs = [(pool.question, unit_text(unit)) for unit in pool.candidates]
        scores = np.asarray(self.model.predict(pairs), dtype=np.float64).reshape(len(pairs), -1)[:, -1]
        return _pick(pool.candidates, [int(place) for place in np.argsort(-scores, kind="stable")[:k]])
