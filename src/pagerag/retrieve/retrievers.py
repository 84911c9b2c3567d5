"""Retrieve by one search: BM25, cosine, or several rankings fused, over a list of units or a corpus.

Over a list, search is exact and in memory; what is read of a unit is ``title. text``.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import replace
from typing import Any, Literal, TypeVar

import numpy as np

from pagerag._numbers import products
from pagerag.errors import InputError
from pagerag.protocols import Corpus, Encoder, Retriever, Snapshot
from pagerag.store.bm25 import BM25, K1, B
from pagerag.store.memory import vectors_of
from pagerag.store.ranking import best
from pagerag.text.terms import encoded_text
from pagerag.units import Candidate, Hit, Pool, Relation

Key = TypeVar("Key", bound=Hashable)


class BM25Retriever:
    """BM25 over a list of units; those that share no term with the question are not returned."""

    name = "bm25"

    def __init__(self, candidates: Sequence[Candidate], *, k1: float = K1, b: float = B) -> None:
        self.candidates = tuple(candidates)
        self.index = BM25((encoded_text(unit.title, unit.text) for unit in self.candidates), k1=k1, b=b)

    def retrieve(self, question: str, k: int = 20) -> Pool:
        """Return the ``k`` best units, best first, each with its score."""
        chosen = [replace(self.candidates[row], score=score) for row, score in self.index.rank(question, k)]
        return Pool(question, tuple(chosen), origin=self.name)


class DenseRetriever:
    """Nearest units to the question by cosine, over a list of units.

    Vectors that the units already carry are used as they are when every unit has one; they must come
    from the same encoder.
    """

    def __init__(self, candidates: Sequence[Candidate], encoder: Encoder) -> None:
        self.candidates, self.encoder, self.name = tuple(candidates), encoder, encoder.name
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


class CorpusRetriever:
    """The best units of a corpus: hybrid (dense and BM25, fused by reciprocal rank), dense or lexical.

    The encoder is the corpus's own unless one is given; lexical retrieval needs none. Hybrid search fuses
    the first ``depth`` units of each ranking.
    """

    def __init__(
        self,
        corpus: Corpus,
        mode: Literal["hybrid", "dense", "lexical"] = "hybrid",
        *,
        encoder: Encoder | None = None,
        depth: int = 100,
    ) -> None:
        if mode not in ("hybrid", "dense", "lexical"):
            raise InputError(f"unknown search mode {mode!r}; one of: hybrid, dense, lexical")
        self.corpus, self.mode, self.depth = corpus, mode, depth
        self.encoder = encoder if encoder is not None else corpus.encoder
        if mode != "lexical" and self.encoder is None:
            raise InputError(f"{mode} retrieval needs the encoder of the corpus, {corpus.encoder_name!r}")
        self.name = f"corpus:{mode}"

    def retrieve(self, question: str, k: int = 20) -> Pool:
        """Return the ``k`` best units, best first, with their vectors and the question's own."""
        vector = None
        if self.mode != "lexical" and self.encoder is not None:
            vector = self.encoder.encode_queries([question])[0]
        with self.corpus.snapshot() as now:
            hits = self._ranked(now, question, vector, k)[: max(k, 0)]
            units = now.units([row for row, _ in hits])
        chosen = tuple(replace(unit, score=score) for unit, (_, score) in zip(units, hits, strict=True))
        return Pool(question, chosen, vector=vector, origin=self.name)

    def _ranked(self, now: Snapshot, question: str, vector: Any, k: int) -> Sequence[tuple[int, float]]:
        if self.mode == "lexical":
            return now.rank_text(question, k)
        if self.mode == "dense":
            return now.rank_vectors(vector[None, :], k)[0]
        words, near = now.rank_both(question, vector[None, :], max(k, self.depth))
        return list(fuse_hits([words, near[0]]).items())


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
        self.constant, self.depth = constant, depth
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


def reciprocal_rank_fusion(
    rankings: Sequence[Sequence[Key]], weights: Sequence[float] | None = None, *, constant: float = 60.0
) -> dict[Key, float]:
    """Return each id's sum of ``weight / (constant + rank)`` over the rankings, ranks from 1, best first.

    Ids with equal sums keep the order in which the rankings first name them.
    """
    fused: dict[Key, float] = {}
    factors = [1.0] * len(rankings) if weights is None else weights
    for ranking, weight in zip(rankings, factors, strict=True):
        for rank, item in enumerate(ranking, start=1):
            fused[item] = fused.get(item, 0.0) + weight / (constant + rank)
    return dict(sorted(fused.items(), key=lambda pair: -pair[1]))


def fuse_hits(rankings: Iterable[Sequence[Hit]]) -> dict[int, float]:
    """Return the fused score of each row of these rankings of one snapshot, best first."""
    return reciprocal_rank_fusion([[hit.row for hit in ranking] for ranking in rankings])
