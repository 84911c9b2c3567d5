"""Hybrid retrieval: several rankings, fused by reciprocal rank."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pagerag.errors import InputError
from pagerag.protocols import Retriever
from pagerag.retrieve.fusion import reciprocal_rank_fusion
from pagerag.units import Candidate, Pool, Relation


class HybridRetriever:
    """Any retrievers over the same units, fused: a unit's score is Σ weight / (constant + rank).

    Each retriever is asked for ``depth`` units, or for ``k`` when that is more. A unit keeps the vector
    of whichever retriever gave one.
    """

    def __init__(
        self,
        retrievers: Sequence[Retriever],
        *,
        weights: Sequence[float] | None = None,
        constant: float = 60.0,
        depth: int = 100,
    ) -> None:
        if not retrievers:
            raise InputError("a hybrid retriever needs at least one retriever")
        if weights is not None and len(weights) != len(retrievers):
            raise InputError(
                f"{len(retrievers)} retrievers, but {len(weights)} weights; give one weight each"
            )
        self.retrievers = tuple(retrievers)
        self.weights = tuple(weights) if weights is not None else (1.0,) * len(self.retrievers)
        self.constant = constant
        self.depth = depth
        self.name = "+".join(retriever.name for retriever in self.retrievers)

    def retrieve(self, question: str, k: int = 20) -> Pool:
        """Return the ``k`` units with the highest fused score, best first."""
        pools = [retriever.retrieve(question, max(k, self.depth)) for retriever in self.retrievers]
        units: dict[str, Candidate] = {}
        relations: dict[Relation, None] = {}
        for pool in pools:
            relations.update(dict.fromkeys(pool.relations))
            for unit in pool.candidates:
                if unit.id not in units or units[unit.id].vector is None:
                    units[unit.id] = unit
        fused = reciprocal_rank_fusion(
            [[unit.id for unit in pool.candidates] for pool in pools], self.weights, constant=self.constant
        )
        chosen = tuple(replace(units[name], score=score) for name, score in list(fused.items())[: max(k, 0)])
        vector = next((pool.vector for pool in pools if pool.vector is not None), None)
        return Pool(question, chosen, vector=vector, relations=tuple(relations), origin=self.name)
