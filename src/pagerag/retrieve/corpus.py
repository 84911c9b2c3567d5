"""A searchable corpus: what follow-up search needs of a store, and the one that lives in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from pagerag.protocols import Encoder
from pagerag.retrieve.bm25 import BM25Retriever
from pagerag.retrieve.dense import DenseRetriever
from pagerag.retrieve.names import head_name
from pagerag.store.fusion import reciprocal_rank_fusion
from pagerag.store.titles import first_key, key_hash, title_keys
from pagerag.units import Candidate, Pool

__all__ = ["MemoryCorpus", "Searcher"]


@runtime_checkable
class Searcher(Protocol):
    """Search by text, by vector and by title, over the same units. A store has these three methods.

    ``search_text`` is lexical. ``search_vector`` returns units that carry their vector.
    ``lookup_title`` finds the units of documents of that title, in any case and spelling of accents; a
    bracketed qualifier at the end of the document's title ("(2009 film)") need not be given. A searcher
    may offer ``lookup_titles(titles) -> list`` and ``search_vectors(rows, k) -> list`` as well, which are then
    called once for many; or ``snapshot()``, a ``pagerag.retrieve.views.View``, which is then asked instead.
    """

    def search_text(self, text: str, k: int) -> Sequence[Candidate]: ...

    def search_vector(self, vector: NDArray[np.floating[Any]], k: int) -> Sequence[Candidate]: ...

    def lookup_title(self, title: str) -> Sequence[Candidate]: ...


class MemoryCorpus:
    """A list of units with BM25, dense and title search, all exact and in memory.

    As a retriever it is the hybrid of the two rankings. Units without a title are also found by the name
    that their text opens with. Without an encoder, search is lexical alone.
    """

    def __init__(
        self,
        candidates: Sequence[Candidate],
        encoder: Encoder | None = None,
        *,
        constant: float = 60.0,
        depth: int = 100,
    ) -> None:
        self.lexical = BM25Retriever(candidates)
        self.dense = DenseRetriever(candidates, encoder) if encoder is not None else None
        self.encoder = encoder
        self.constant, self.depth = constant, depth
        self.name = f"bm25+{encoder.name}" if encoder is not None else "bm25"
        if self.dense is not None:
            vectors = self.dense.vectors
            self.candidates = tuple(replace(c, vector=vectors[i]) for i, c in enumerate(candidates))
            self.lexical.candidates = self.candidates
            self.dense.candidates = self.candidates
        else:
            self.candidates = tuple(candidates)
        self._titles: dict[int, list[int]] = {}
        for place, unit in enumerate(self.candidates):
            name = unit.title or head_name(unit.text)
            for key in title_keys(name) if name else ():
                self._titles.setdefault(key_hash(key), []).append(place)

    def __len__(self) -> int:
        return len(self.candidates)

    def retrieve(self, question: str, k: int = 20) -> Pool:
        """The ``k`` best units by reciprocal-rank fusion of the two rankings."""
        vector = self.encoder.encode_queries([question])[0] if self.encoder is not None else None
        depth = max(k, self.depth)
        lists = [self.search_text(question, depth)]
        if vector is not None:
            lists.append(self.search_vector(vector, depth))
        units = {unit.id: unit for ranking in lists for unit in ranking}
        fused = reciprocal_rank_fusion(
            [[unit.id for unit in ranking] for ranking in lists], constant=self.constant
        )
        chosen = tuple(replace(units[name], score=score) for name, score in list(fused.items())[: max(k, 0)])
        return Pool(question, chosen, vector=vector, origin=self.name)

    def search_text(self, text: str, k: int) -> tuple[Candidate, ...]:
        """The ``k`` best units by BM25."""
        return self.lexical.search_text(text, k)

    def search_vector(self, vector: NDArray[np.floating[Any]], k: int) -> tuple[Candidate, ...]:
        """The ``k`` nearest units; none when the corpus has no encoder."""
        return self.dense.search_vector(vector, k) if self.dense is not None else ()

    def lookup_title(self, title: str) -> tuple[Candidate, ...]:
        """The units of documents of this title, in order of the corpus."""
        return self.lookup_titles([title])[0]

    def lookup_titles(self, titles: Sequence[str]) -> list[tuple[Candidate, ...]]:
        """``lookup_title`` for each title."""
        return [tuple(self.candidates[place] for place in self._places(title)) for title in titles]

    def _places(self, title: str) -> Sequence[int]:
        return self._titles.get(key_hash(first_key(title)), ())

    # -- as follow-up search asks (``pagerag.retrieve.views``)

    def snapshot(self) -> MemoryCorpus:
        """The corpus itself: it never changes."""
        return self

    def rank_text(self, text: str, k: int) -> list[tuple[int, float]]:
        """The places and scores of the ``k`` best units by BM25."""
        return self.lexical.rank(text, k)

    def rank_pairs(self, pairs: Sequence[tuple[str, str]], k: int) -> list[list[tuple[int, float]]]:
        """``rank_text`` for the words of each pair of texts."""
        return [self.rank_text(f"{text} {common}", k) for text, common in pairs]

    def rank_vectors(self, vectors: NDArray[np.floating[Any]], k: int) -> list[list[tuple[int, float]]]:
        """The places and scores of the ``k`` units nearest to each vector."""
        return [self.dense.rank(row, k) if self.dense is not None else [] for row in vectors]

    def rank_names(self, names: Any, k: int) -> dict[int, Sequence[int]]:
        """The places of at most ``k`` units for each name that is a title, by the name's place."""
        found = {n: self._titles.get(number) for n, number in enumerate(names.hashes.tolist())}
        return {n: places[:k] for n, places in found.items() if places}

    def units(self, places: Sequence[int]) -> list[Candidate]:
        """The units at these places, without a score."""
        return [self.candidates[place] for place in places]
