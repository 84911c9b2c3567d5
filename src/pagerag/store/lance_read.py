"""The reading half of the embedded store: rankings first, as ids and rows; then the rows, once for all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pagerag._extras import need
from pagerag.errors import InputError, StoreError
from pagerag.protocols import Encoder
from pagerag.store.base import SearchMode
from pagerag.store.fusion import reciprocal_rank_fusion
from pagerag.store.problems import explained
from pagerag.store.readings import Readings
from pagerag.store.schema import PAYLOAD, unit_of
from pagerag.store.titles import TitleIndex
from pagerag.store.units import Unit
from pagerag.text import Analysis, tokenize
from pagerag.units import Candidate

__all__ = ["LanceReading", "any_of"]

FUSION_DEPTH = 100
"""How many units of each ranking hybrid search fuses."""

_Hit = tuple[str | None, int, float | None]
"""A unit's id where the ranking gave it, its row, its score."""


class LanceReading:
    """Search and fetch over the table of units."""

    location: str
    encoder: Encoder | None
    encoder_name: str
    dimension: int
    exact_below: int
    _units: Any

    def __init__(self) -> None:
        self._readings = Readings()
        self._threads: ThreadPoolExecutor | None = None
        self._titles: TitleIndex | None = None

    def __len__(self) -> int:
        return int(self._units.count_rows())

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
        if self._threads is None:
            self._threads = ThreadPoolExecutor(2, thread_name_prefix="pagerag-store")
        lexical = self._threads.submit(self._by_text, query, depth)  # both sides wait outside the GIL
        [dense] = self._by_vectors(self._points(vector), depth)
        words = lexical.result()
        fused = reciprocal_rank_fusion([[str(hit[0]) for hit in dense], [str(hit[0]) for hit in words]])
        rows = {name: row for name, row, _ in [*words, *dense]}
        best: list[_Hit] = [(name, rows[name], score) for name, score in list(fused.items())[: max(k, 0)]]
        return self._candidates([best])[0]

    def search_text(self, text: str, k: int = 20) -> list[Candidate]:
        """The ``k`` best units by BM25 over ``title. text``."""
        return self._candidates([self._by_text(text, k)])[0]

    def search_vector(self, vector: NDArray[np.floating[Any]], k: int = 20) -> list[Candidate]:
        """The ``k`` nearest units by cosine."""
        return self._candidates(self._by_vectors(self._points(vector), k))[0]

    def search_vectors(self, vectors: NDArray[np.floating[Any]], k: int = 20) -> list[list[Candidate]]:
        """``search_vector`` for each row, in one pass."""
        return self._candidates(self._by_vectors(self._points(vectors), k))

    def lookup_title(self, title: str, k: int = 5) -> list[Candidate]:
        """The first ``k`` units of the documents of this title, exact titles first, in reading order.

        Case, accents and a bracket at the title's end do not count: "alien" finds "Alien (film)".
        """
        return self.lookup_titles([title], k)[0]

    def lookup_titles(self, titles: Sequence[str], k: int = 5) -> list[list[Candidate]]:
        """``lookup_title`` for each title, in one pass."""
        if k <= 0 or not titles:
            return [[] for _ in titles]
        found = self._title_index().find([_whole(title) for title in titles], k)
        return self._candidates([[(None, row, None) for row in rows] for rows in found])

    def _title_index(self) -> TitleIndex:
        """The index of the version in sight, read again when that has changed."""
        with explained("reading", self.location):
            version = int(self._units.version)
            kept = self._titles
            if kept is not None and kept.version == version:
                return kept
            columns = self._units.search().select(["name_hashes", "position"]).with_row_id(True)
            table = columns.limit(None).to_arrow()
            lists = table["name_hashes"].combine_chunks()
            kept = TitleIndex.build(
                version,
                lists.flatten().to_numpy(zero_copy_only=False),
                lists.value_lengths().to_numpy(zero_copy_only=False).astype(np.int64),
                table["_rowid"].to_numpy(),
                table["position"].to_numpy(),
            )
        self._titles = kept
        return kept

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
        return self._readings.of(candidates, self._by_id)

    def _by_text(self, text: str, k: int) -> list[_Hit]:
        words = tokenize(_whole(text))
        if not words or k <= 0:
            return []
        queries = need("lancedb.query", "lancedb", "lancedb")
        with explained("searching", self.location):
            query = self._units.search(queries.MatchQuery(" ".join(words), "lexical"), query_type="fts")
            table = query.limit(k).select(["id", "_score"]).with_row_id(True).to_arrow()
        return _ranked(table, table["_score"].to_pylist())

    def _by_vectors(self, points: NDArray[np.float32], k: int) -> list[list[_Hit]]:
        if k <= 0:
            return [[] for _ in points]
        with explained("searching", self.location):
            query = self._units.search(list(points) if len(points) > 1 else points[0])
            query = query.distance_type("dot").limit(k).select(["id", "_distance"]).with_row_id(True)
            exact = len(self) < self.exact_below
            query = query.bypass_vector_index() if exact else query.ef(max(2 * k, 150))
            table = query.to_arrow()
        hits = _ranked(table, [1.0 - distance for distance in table["_distance"].to_pylist()])
        if len(points) == 1:
            return [hits]
        result: list[list[_Hit]] = [[] for _ in points]
        for owner, hit in zip(table["query_index"].to_pylist(), hits, strict=True):
            result[owner].append(hit)
        return result

    def _points(self, vectors: NDArray[np.floating[Any]]) -> NDArray[np.float32]:
        points = np.atleast_2d(np.asarray(vectors, dtype=np.float32))
        if points.ndim != 2 or points.shape[1] != self.dimension:
            raise InputError(
                f"a vector of shape {np.shape(vectors)} cannot be searched: this store holds "
                f"{self.dimension} numbers a unit, by {self.encoder_name!r}"
            )
        if not np.isfinite(points).all():
            raise InputError("a vector with NaN or infinity cannot be searched")
        lengths = np.linalg.norm(points, axis=1, keepdims=True)
        return np.asarray(points / np.maximum(lengths, 1e-12), dtype=np.float32)

    def _candidates(self, rankings: Sequence[Sequence[_Hit]]) -> list[list[Candidate]]:
        """The units of these rankings, read together."""
        rows = list(dict.fromkeys(row for ranking in rankings for _, row, _ in ranking))
        if not rows:
            return [[] for _ in rankings]
        with explained("reading", self.location):
            taken = self._units.take_row_ids(rows).with_row_id().select(list(PAYLOAD)).to_arrow()
        units = dict(zip(taken["_rowid"].to_pylist(), _units_of(taken), strict=True))
        expected = {row: name for ranking in rankings for name, row, _ in ranking if name is not None}
        # A writer may have replaced or moved rows since the ranking was made: look those up by id. A unit
        # that is gone now is left out, as if it had gone a moment earlier.
        moved = {name: row for row, name in expected.items() if row not in units or units[row].id != name}
        if moved:
            for row in moved.values():
                units.pop(row, None)
            units.update({moved[name]: unit for name, unit in self._by_id(list(moved)).items()})
        self._readings.keep(units.values())
        return [
            [units[row].candidate(score) for _, row, score in ranking if row in units] for ranking in rankings
        ]

    def _by_id(self, ids: Sequence[str]) -> Mapping[str, Unit]:
        wanted = list(dict.fromkeys(ids))
        if not wanted:
            return {}
        with explained("reading", self.location):
            query = self._units.search().where(any_of("id", wanted)).limit(len(wanted))
            units = _units_of(query.select(list(PAYLOAD)).to_arrow())
        self._readings.keep(units)
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


def _units_of(table: Any) -> list[Unit]:
    if not table.num_rows:
        return []
    flat = table["vector"].combine_chunks().flatten().to_numpy(zero_copy_only=False)
    vectors = np.asarray(flat, dtype=np.float32).reshape(table.num_rows, -1)
    rows = table.drop_columns(["vector"]).to_pylist()
    return [unit_of(row, vector) for row, vector in zip(rows, vectors, strict=True)]


def _ranked(table: Any, scores: list[float]) -> list[_Hit]:
    return list(zip(table["id"].to_pylist(), table["_rowid"].to_pylist(), scores, strict=True))


def any_of(column: str, values: Iterable[str]) -> str:
    """A SQL condition; quotes in the values are doubled, which is all the escaping its strings have."""
    quoted = ", ".join("'" + _whole(value).replace("'", "''") + "'" for value in values)
    return f"{column} IN ({quoted})"


def _whole(text: str) -> str:
    """Text without halves of surrogate pairs, which UTF-8 cannot carry."""
    return text.encode("utf-8", "replace").decode("utf-8")
