"""The reading half of the embedded store: every call reads one version of it, the latest there is."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from pagerag.errors import InputError, StoreError
from pagerag.protocols import Encoder
from pagerag.store.base import SearchMode
from pagerag.store.fusion import reciprocal_rank_fusion
from pagerag.store.problems import explained
from pagerag.store.schema import PAYLOAD
from pagerag.store.snapshot import Hit, Kept, Size, Snapshot, units_of, vectors_of, whole
from pagerag.store.units import Unit
from pagerag.text import Analysis
from pagerag.units import Candidate

__all__ = ["LanceReading", "any_of"]

FUSION_DEPTH = 100
"""How many units of each ranking hybrid search fuses."""

_LOOK_AGAIN = 0.1  # seconds
_TRIES = 3

Found = TypeVar("Found")


class LanceReading:
    """Search and fetch over the table of units."""

    location: str
    encoder: Encoder | None
    encoder_name: str
    dimension: int
    size: Size
    _db: Any
    _units: Any

    def __init__(self) -> None:
        self._kept = Kept()
        self._current: Snapshot | None = None
        self._looked = float("-inf")
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return int(self._units.count_rows())

    def snapshot(self) -> Snapshot:
        """The latest version, to be read as often as one likes.

        A question searches many times within a few milliseconds, and each look for a new version lists a
        folder: it is looked for again after a moment. Versions that others wrote over stay readable for ten
        minutes.
        """
        with self._lock:
            now = time.monotonic()
            if self._current is None or now - self._looked > _LOOK_AGAIN:
                with explained("reading", self.location):
                    version = int(self._units.version)
                    if self._current is None or self._current.version != version:
                        table = self._db.open_table("units")
                        table.checkout(version)
                        self._current = Snapshot(
                            table,
                            version,
                            location=self.location,
                            dimension=self.dimension,
                            encoder_name=self.encoder_name,
                            size=self.size,
                            kept=self._kept,
                            before=self._current,
                        )
                self._looked = now
            return self._current

    def look_again(self) -> None:
        """Look for a newer version at the next call: this object has written, or read one that is gone."""
        self._looked = float("-inf")

    def _reading(self, work: Callable[[Snapshot], Found]) -> Found:
        """Do it with the latest version, and again with a newer one if that was cleaned away meanwhile."""
        for left in reversed(range(_TRIES)):
            snapshot = self.snapshot()
            try:
                return work(snapshot)
            except StoreError:
                self.look_again()
                if not left or self.snapshot().version == snapshot.version:
                    raise
        raise AssertionError  # pragma: no cover

    def search(
        self,
        query: str,
        k: int = 20,
        mode: SearchMode = "hybrid",
        *,
        vector: NDArray[np.floating[Any]] | None = None,
    ) -> list[Candidate]:
        """The ``k`` best units; hybrid scores are reciprocal-rank sums, lexical BM25, dense cosine."""
        if mode == "lexical":
            return self.search_text(query, k)
        if mode not in ("dense", "hybrid"):
            raise InputError(f"unknown search mode {mode!r}; one of: hybrid, dense, lexical")
        if vector is None:
            vector = self._need_encoder(f"{mode} search").encode_queries([query])[0]
        if mode == "dense":
            return self.search_vector(vector, k)
        depth = max(k, FUSION_DEPTH)

        def fused(snapshot: Snapshot) -> list[Candidate]:
            rankings = [*snapshot.rank_vectors(vector, depth), snapshot.rank_text(query, depth)]
            scores = reciprocal_rank_fusion([[row for row, _ in ranking] for ranking in rankings])
            return _candidates(snapshot, [list(scores.items())[: max(k, 0)]])[0]

        return self._reading(fused)

    def search_text(self, text: str, k: int = 20) -> list[Candidate]:
        """The ``k`` best units by BM25 over ``title. text``."""
        return self._reading(lambda s: _candidates(s, [s.rank_text(text, k)]))[0]

    def search_vector(self, vector: NDArray[np.floating[Any]], k: int = 20) -> list[Candidate]:
        """The ``k`` nearest units by cosine."""
        return self.search_vectors(vector, k)[0]

    def search_vectors(self, vectors: NDArray[np.floating[Any]], k: int = 20) -> list[list[Candidate]]:
        """``search_vector`` for each row, in one pass."""
        return self._reading(lambda s: _candidates(s, s.rank_vectors(vectors, k)))

    def lookup_title(self, title: str, k: int = 5) -> list[Candidate]:
        """The first ``k`` units of the documents of this title, exact titles first, in reading order.

        Case, accents and a bracket at the title's end do not count: "alien" finds "Alien (film)".
        """
        return self.lookup_titles([title], k)[0]

    def lookup_titles(self, titles: Sequence[str], k: int = 5) -> list[list[Candidate]]:
        """``lookup_title`` for each title, in one pass."""
        if k <= 0 or not titles:
            return [[] for _ in titles]

        def found(snapshot: Snapshot) -> list[list[Candidate]]:
            places = snapshot.rank_titles(titles, k)
            units = snapshot.read([row for rows in places.values() for row in rows])
            return [[units[row].candidate() for row in places.get(n, ())] for n in range(len(titles))]

        return self._reading(found)

    def fetch(self, ids: Sequence[str]) -> list[Candidate]:
        """The units of these ids, in this order; an unknown id is an error."""
        found = self._by_id(ids)
        for name in ids:
            if name not in found:
                raise InputError(f"the store {self.location} has no unit {name!r}")
        return [found[name].candidate() for name in ids]

    def analyses(self, candidates: Sequence[Candidate]) -> list[Analysis | None]:
        """The stored analysis of each candidate, None where there is none to use.

        Sentences made by ``sentences_of`` have theirs, too. Nothing is read for units that were
        retrieved a moment ago.
        """
        return self._kept.readings.of(candidates, self._by_id)

    def _by_id(self, ids: Sequence[str]) -> Mapping[str, Unit]:
        wanted = list(dict.fromkeys(ids))
        if not wanted:
            return {}

        def read(snapshot: Snapshot) -> list[Unit]:
            with explained("reading", self.location):
                query = snapshot.table.search().where(any_of("id", wanted)).limit(len(wanted))
                table = query.select(list(PAYLOAD)).to_arrow()
            return units_of(table, vectors_of(table, self.dimension))

        units = self._reading(read)
        self._kept.readings.keep(units)
        return {unit.id: unit for unit in units}

    def _has_vector_index(self) -> bool:
        return any("vector" in config.columns for config in self._units.list_indices())

    def _need_encoder(self, purpose: str) -> Encoder:
        if self.encoder is None:
            raise StoreError(
                f"{purpose} needs the encoder {self.encoder_name!r}, and the store {self.location} was "
                "opened without one"
            )
        return self.encoder


def _candidates(snapshot: Snapshot, rankings: Sequence[Sequence[Hit]]) -> list[list[Candidate]]:
    """The units of several rankings, read together."""
    units = snapshot.read([row for ranking in rankings for row, _ in ranking])
    return [[units[row].candidate(score) for row, score in ranking] for ranking in rankings]


def any_of(column: str, values: Iterable[str]) -> str:
    """A SQL condition; quotes in the values are doubled, which is all the escaping its strings have."""
    quoted = ", ".join("'" + whole(value).replace("'", "''") + "'" for value in values)
    return f"{column} IN ({quoted})"
