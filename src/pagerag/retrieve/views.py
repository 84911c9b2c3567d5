"""What follow-up search asks of a corpus: rankings as keys and scores first, the units of keys after.

A store's snapshot and a MemoryCorpus answer this way themselves, so that a unit is read when it enters a pool
and not before. Any other ``Searcher`` answers through ``SearcherView``.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pagerag.retrieve.corpus import Searcher
from pagerag.units import Candidate

__all__ = ["Key", "Names", "SearcherView", "View", "view_of"]

Key: TypeAlias = Hashable
"""What a view knows a unit by: a row, a place or an id."""


@dataclass(frozen=True, slots=True)
class Names:
    """Names to be looked up: as numbers (``pagerag.store.hashing``) and, when asked for, as keys."""

    hashes: NDArray[np.int64]
    spelled: Callable[[], Sequence[str]]


class View(Protocol):
    """One state of a corpus."""

    def rank_text(self, text: str, k: int) -> Sequence[tuple[Key, float]]: ...

    def rank_pairs(
        self, pairs: Sequence[tuple[str, str]], k: int
    ) -> Sequence[Sequence[tuple[Key, float]]]: ...

    def rank_vectors(
        self, vectors: NDArray[np.floating[Any]], k: int
    ) -> Sequence[Sequence[tuple[Key, float]]]: ...

    def rank_names(self, names: Names, k: int) -> Mapping[int, Sequence[Key]]: ...

    def units(self, keys: Sequence[Any]) -> Sequence[Candidate]: ...


class SearcherView:
    """A view of anything with ``search_text``, ``search_vector`` and ``lookup_title``."""

    def __init__(self, searcher: Searcher) -> None:
        self.searcher = searcher
        self._seen: dict[str, Candidate] = {}

    def rank_text(self, text: str, k: int) -> list[tuple[Key, float]]:
        return self._ranked(self.searcher.search_text(text, k))

    def rank_pairs(self, pairs: Sequence[tuple[str, str]], k: int) -> list[list[tuple[Key, float]]]:
        return [self.rank_text(f"{text} {common}", k) for text, common in pairs]

    def rank_vectors(self, vectors: NDArray[np.floating[Any]], k: int) -> list[list[tuple[Key, float]]]:
        many = getattr(self.searcher, "search_vectors", None)
        found = (
            many(vectors, k) if many is not None else [self.searcher.search_vector(row, k) for row in vectors]
        )
        return [self._ranked(units) for units in found]

    def rank_names(self, names: Names, k: int) -> dict[int, Sequence[Key]]:
        spelled = names.spelled()
        many = getattr(self.searcher, "lookup_titles", None)
        found = many(spelled) if many is not None else map(self.searcher.lookup_title, spelled)
        return {
            place: [key for key, _ in self._ranked(units[:k])] for place, units in enumerate(found) if units
        }

    def units(self, keys: Sequence[Any]) -> list[Candidate]:
        return [self._seen[key] for key in keys]

    def _ranked(self, units: Sequence[Candidate]) -> list[tuple[Key, float]]:
        for unit in units:
            if unit.id not in self._seen or self._seen[unit.id].vector is None:
                self._seen[unit.id] = unit
        return [(unit.id, float(unit.score or 0.0)) for unit in units]


def view_of(searcher: Searcher) -> View:
    """The searcher's own snapshot if it makes one, else a view through its three methods."""
    snapshot: Callable[[], View] | None = getattr(searcher, "snapshot", None)
    return snapshot() if snapshot is not None else SearcherView(searcher)
