"""What the compact systems have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from pagerag.errors import InputError
from pagerag.protocols import Retriever
from pagerag.units import Candidate, Mode, Pool

__all__ = ["CompactSystem", "shown"]


def shown(unit: Candidate, words: int) -> str:
    """Return a unit as a prompt shows it: its title, and its first ``words`` words."""
    text = " ".join(unit.text.split()[:words])
    return f"{unit.title}: {text}" if unit.title else text


class CompactSystem(ABC):
    """A retriever over a retriever: the pool's order is the system's own ranking.

    ``pool`` makes it a Backend, too.
    """

    label: ClassVar[str]
    unit: ClassVar[Mode] = "document"

    def __init__(self, retriever: Retriever) -> None:
        self.retriever = retriever
        self.name = f"{self.label.lower().replace('-', '')}:{retriever.name}"

    def retrieve(self, question: str, k: int = 20) -> Pool:
        """Return at most ``k`` units in the order in which the system would read them."""
        if k < 1:
            raise InputError(f"a pool has at least one unit; k is {k}")
        if not question.strip():
            raise InputError("the question is empty")
        return self._retrieve(question, k)

    def pool(self, question: str, k: int = 20) -> Pool:
        """Do what ``retrieve`` does, under the name that backends have for it."""
        return self.retrieve(question, k)

    @abstractmethod
    def _retrieve(self, question: str, k: int) -> Pool: ...

    def _pool(
        self, question: str, units: Sequence[Candidate], k: int, first: Pool, **metadata: object
    ) -> Pool:
        """Return the pool of these units; vectors and relations are the base retriever's."""
        kept = tuple(units[:k])
        ids = {unit.id for unit in kept}
        relations = tuple(
            replace(fact, units=tuple(u for u in fact.units if u in ids))
            for fact in first.relations
            if any(u in ids for u in fact.units)
        )
        return Pool(question, kept, first.vector, relations, self.name, metadata)
