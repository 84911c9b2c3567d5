"""Turn a question into a pool by one search of a corpus: hybrid, dense or lexical."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

from pagerag.errors import InputError
from pagerag.protocols import Corpus, Encoder, Snapshot
from pagerag.retrieve.fusion import fuse_hits
from pagerag.units import Pool

SearchMode = Literal["hybrid", "dense", "lexical"]

FUSION_DEPTH = 100
"""How many units of each ranking hybrid search fuses."""


class CorpusRetriever:
    """The ``k`` best units of a corpus: hybrid (dense and BM25, fused by reciprocal rank), dense or lexical.

    The encoder is the corpus's own unless one is given; lexical retrieval needs none.
    """

    def __init__(
        self,
        corpus: Corpus,
        mode: SearchMode = "hybrid",
        *,
        encoder: Encoder | None = None,
        depth: int = FUSION_DEPTH,
    ) -> None:
        if mode not in ("hybrid", "dense", "lexical"):
            raise InputError(f"unknown search mode {mode!r}; one of: hybrid, dense, lexical")
        self.corpus, self.mode, self.depth = corpus, mode, depth
        self.encoder: Encoder | None = encoder if encoder is not None else corpus.encoder
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
            return list(now.rank_text(question, k))
        if self.mode == "dense":
            return list(now.rank_vectors(vector[None, :], k)[0])
        depth = max(k, self.depth)
        words, near = now.rank_both(question, vector[None, :], depth)
        return list(fuse_hits([words, near[0]]).items())
