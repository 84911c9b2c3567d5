"""Retrievers by name, as rankers of given units.

======================================= ==============================================================
``bm25``                                BM25 fitted on the units themselves
``wordllama``, ``minilm``, ...          any encoder of ``pagerag.retrieve.encoders``, by cosine
``sentence-transformers:MODEL``         Contriever, NV-Embed-v2 and any other model of that library
``openai:MODEL@URL``                    an OpenAI-compatible embedding endpoint
``late:ENCODER``                        late interaction: ``late:minilm``, ``late:colbertv2``
``adaptive``, ``adaptive:ENCODER``      over a corpus only: hybrid search that follows what it finds
``A+B``                                 A and B fused by reciprocal rank; ``hybrid`` is ``bm25+minilm``
``SYSTEM@A``, ``SYSTEM@A@CHAT``          a system of ``pagerag.systems`` over A: ``recomp@bm25``;
                                        CHAT is ``smollm2`` or ``chat`` (an endpoint)
``file:PATH``                           pools made elsewhere, read from a file (see ``filed``)
======================================= ==============================================================
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pagerag.errors import InputError
from pagerag.protocols import Encoder, Retriever, SupportEncoder
from pagerag.retrieve import BM25, AdaptiveRetriever, BM25Retriever, DenseRetriever, HybridRetriever
from pagerag.retrieve.encoders import CachedEncoder, cache_folder, encoder
from pagerag.retrieve.late import LateInteractionRetriever, token_encoder
from pagerag.store import MemoryCorpus
from pagerag.units import Candidate
from pagerag_lab.pools.rankers import DenseRanker, Ranker, Ranking, unit_text

if TYPE_CHECKING:
    from pagerag_lab.compact.registry import System

__all__ = [
    "FusedRanker",
    "LexicalRanker",
    "cached_encoder",
    "corpus_retriever",
    "is_system",
    "ranker",
    "system_parts",
]

_SHORT = {"hybrid": "bm25+minilm"}


class LexicalRanker:
    """BM25 whose document frequencies are those of the units at hand."""

    name = "bm25"

    def rank(self, question: str, units: Sequence[Candidate]) -> Ranking:
        """Rank by BM25; 0 where no term is shared."""
        scores = BM25(unit_text(unit) for unit in units).scores(question)
        return Ranking(scores=scores.astype(np.float64))


class FusedRanker:
    """Reciprocal-rank fusion of rankers; vectors come from the first that has them."""

    def __init__(self, rankers: Sequence[Ranker]) -> None:
        self.rankers = tuple(rankers)
        self.name = "+".join(one.name for one in self.rankers)

    def rank(self, question: str, units: Sequence[Candidate]) -> Ranking:
        """Rank by sums of 1 / (60 + rank)."""
        parts = [one.rank(question, units) for one in self.rankers]
        scores = np.zeros(len(units))
        for part in parts:
            order = np.argsort(-part.scores, kind="stable")
            scores[order] += 1.0 / (60.0 + np.arange(1, len(units) + 1))
        dense = next((part for part in parts if part.vectors is not None), None)
        return Ranking(
            scores=scores,
            vectors=dense.vectors if dense else None,
            question=dense.question if dense else None,
        )


def is_system(name: str) -> bool:
    """Tell whether a retriever's name is SYSTEM@..."""
    from pagerag_lab.compact.registry import systems

    return name.partition("@")[0] in systems() and "@" in name


def system_parts(name: str) -> tuple[System, str, Any]:
    """Return (system, inner retriever's name, chat model or None) of ``SYSTEM@RETRIEVER[@CHAT]``."""
    from pagerag_lab.compact.registry import chat_from, systems

    kind, inner, *rest = name.split("@")
    if len(rest) > 1 or not inner:
        raise InputError(f"retriever {name!r}: write SYSTEM@RETRIEVER or SYSTEM@RETRIEVER@CHAT")
    system = systems()[kind]
    if not rest:
        if "encoder" not in system.needs:
            raise InputError(f"{system.label} needs a chat model: {name}@smollm2 or {name}@chat")
        return system, inner, None
    from pagerag.read import reader

    return system, inner, chat_from(reader(rest[0]), cache=cache_folder("chat") / "replies.sqlite")


def ranker(name: str) -> Ranker:
    """Return the ranker of this name (see the table above); embeddings are cached on disk."""
    name = _SHORT.get(name, name)
    if "+" in name:
        return FusedRanker([ranker(part) for part in name.split("+")])
    if name == "bm25":
        return LexicalRanker()
    if name.startswith("late:"):
        from pagerag_lab.pools.late_interaction import LateRanker

        return LateRanker(name.removeprefix("late:"))
    if not name or name.startswith("file:"):
        raise InputError(f"retriever {name!r} does not rank units; name a retriever such as bm25 or minilm")
    return DenseRanker(cached_encoder(name))


def corpus_retriever(name: str, units: Sequence[Candidate], guide: SupportEncoder | None = None) -> Retriever:
    """Return the retriever of this name over a corpus of units.

    ``adaptive`` follows what it finds, and what ``guide`` holds to be evidence.
    """
    name = _SHORT.get(name, name)
    kind, _, rest = name.partition(":")
    if kind == "adaptive":
        return AdaptiveRetriever(MemoryCorpus(units, cached_encoder(rest or "minilm")), guide=guide)
    if "+" in name:
        return HybridRetriever([corpus_retriever(part, units) for part in name.split("+")])
    if name == "bm25":
        return BM25Retriever(units)
    if kind == "late":
        return LateInteractionRetriever(units, token_encoder(rest))
    if not name or kind == "file":
        raise InputError(f"retriever {name!r} cannot search a corpus here; use bm25, an encoder, or hybrid")
    return DenseRetriever(units, cached_encoder(name))


class _Late:
    """An encoder that is loaded at the first text that is not in the cache.

    A run over embedded data starts at once, and its processes do not each hold a model that they never use.
    """

    def __init__(self, name: str, dimension: int) -> None:
        self.name, self.dimension = name, dimension
        self._loaded: Encoder | None = None

    def _encoder(self) -> Encoder:
        if self._loaded is None:
            self._loaded = encoder(self.name)
        return self._loaded

    def encode_queries(self, texts: Sequence[str], /) -> NDArray[np.float32]:
        return self._encoder().encode_queries(texts)

    def encode_passages(self, texts: Sequence[str], /) -> NDArray[np.float32]:
        return self._encoder().encode_passages(texts)


_DIMENSIONS = {"minilm": 384, "minilm-fp32": 384, "wordllama": 256}


@cache
def cached_encoder(name: str) -> Encoder:
    """Return the encoder of this name, with its vectors on disk, loaded only when one is missing."""
    if name in _DIMENSIONS:
        return CachedEncoder(_Late(name, _DIMENSIONS[name]))
    return encoder(name, cache=True)
