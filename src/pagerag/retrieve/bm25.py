"""Retrieve by BM25 from a list of units: exact, NumPy alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pagerag.store.bm25 import BM25, K1, B
from pagerag.text.terms import encoded_text
from pagerag.units import Candidate, Pool

__all__ = ["BM25", "BM25Retriever"]


class BM25Retriever:
    """BM25 over a list of units, whose text is read as ``title. text``.

    Units that share no term with the question are not returned.
    """

    name = "bm25"

    def __init__(self, candidates: Sequence[Candidate], *, k1: float = K1, b: float = B) -> None:
        self.candidates = tuple(candidates)
        self.index = BM25((encoded_text(unit.title, unit.text) for unit in self.candidates), k1=k1, b=b)

    def retrieve(self, question: str, k: int = 20) -> Pool:
        """Return the ``k`` best units, best first, each with its score."""
        chosen = [replace(self.candidates[row], score=score) for row, score in self.index.rank(question, k)]
        return Pool(question, tuple(chosen), origin=self.name)

    def search_text(self, text: str, k: int = 20) -> list[Candidate]:
        """Return the ``k`` best units for a text, best first, each with its score."""
        return list(self.retrieve(text, k).candidates)
