"""Question to pool, from a store."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pagerag.errors import InputError
from pagerag.protocols import Encoder
from pagerag.store import SearchMode, Store
from pagerag.units import Pool

__all__ = ["StoreRetriever"]


class StoreRetriever:
    """The retriever of a store: hybrid (dense and BM25, fused by reciprocal rank), dense or lexical.

    The encoder is the store's own unless one is given; lexical retrieval needs none.
    """

    def __init__(self, store: Store, mode: SearchMode = "hybrid", *, encoder: Encoder | None = None) -> None:
        self.store = store
        self.mode: SearchMode = mode
        self.encoder: Encoder | None = encoder if encoder is not None else getattr(store, "encoder", None)
        if mode not in ("hybrid", "dense", "lexical"):
            raise InputError(f"unknown search mode {mode!r}; one of: hybrid, dense, lexical")
        if mode != "lexical" and self.encoder is None:
            raise InputError(f"{mode} retrieval needs the store's encoder, {store.encoder_name!r}")
        self.name = f"store:{mode}"

    def retrieve(self, question: str, k: int = 20) -> Pool:
        """The ``k`` best units, best first, with their vectors and the question's own."""
        vector: NDArray[np.floating[Any]] | None = None
        if self.mode != "lexical" and self.encoder is not None:
            vector = self.encoder.encode_queries([question])[0]
        found = self.store.search(question, k, self.mode, vector=vector) if k > 0 else []
        return Pool(question, tuple(found), vector=vector, origin=self.name)
