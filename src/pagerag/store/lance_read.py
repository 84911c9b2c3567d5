"""The reading half of the embedded store: rankings first, as ids and rows; then the rows, once for all."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
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
from pagerag.store.vectors import VectorIndex
from pagerag.text import Analysis, tokenize
from pagerag.units import Candidate

__all__ = ["LanceReading", "any_of"]

FUSION_DEPTH = 100
"""How many units of each ranking hybrid search fuses."""

_Hit = tuple[int, float | None]
"""A row and its score."""

_LOOK_AGAIN = 0.1  # seconds
_TRIES = 3
_ROWS_KEPT = 4096


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
        self._titles: TitleIndex | None = None
        self._vectors: VectorIndex | None = None
        self._counted = (-1, 0)
        self._looked = (float("-inf"), -1)
        self._rows: OrderedDict[int, Unit] = OrderedDict()
        self._lock = threading.Lock()

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
        point, depth = self._points(vector), max(k, FUSION_DEPTH)

        def fused() -> list[Sequence[_Hit]]:
            rankings = [*self._by_vectors(point, depth), self._by_text(query, depth)]
            scores = reciprocal_rank_fusion([[row for row, _ in ranking] for ranking in rankings])
            best: Sequence[_Hit] = list(scores.items())[: max(k, 0)]
            return [best]

        return self._candidates(fused)[0]

    def search_text(self, text: str, k: int = 20) -> list[Candidate]:
        """The ``k`` best units by BM25 over ``title. text``."""
        return self._candidates(lambda: [self._by_text(text, k)])[0]

    def search_vector(self, vector: NDArray[np.floating[Any]], k: int = 20) -> list[Candidate]:
        """The ``k`` nearest units by cosine."""
        return self.search_vectors(vector, k)[0]

    def search_vectors(self, vectors: NDArray[np.floating[Any]], k: int = 20) -> list[list[Candidate]]:
        """``search_vector`` for each row, in one pass."""
        points = self._points(vectors)
        return self._candidates(lambda: self._by_vectors(points, k))

    def lookup_title(self, title: str, k: int = 5) -> list[Candidate]:
        """The first ``k`` units of the documents of this title, exact titles first, in reading order.

        Case, accents and a bracket at the title's end do not count: "alien" finds "Alien (film)".
        """
        return self.lookup_titles([title], k)[0]

    def lookup_titles(self, titles: Sequence[str], k: int = 5) -> list[list[Candidate]]:
        """``lookup_title`` for each title, in one pass."""
        if k <= 0 or not titles:
            return [[] for _ in titles]
        result: list[list[Candidate]] = [[] for _ in titles]
        places: list[int] = []

        def found() -> list[list[_Hit]]:
            rows = self._title_index().find(titles, k)
            places[:] = rows
            return [[(row, None) for row in rows[place]] for place in places]

        for units, place in zip(self._candidates(found), places, strict=True):
            result[place] = units
        return result

    def _title_index(self) -> TitleIndex:
        """The index of the version in sight, read again when that has changed."""
        version, kept = self._version(), self._titles
        if kept is not None and kept.version == version:
            return kept
        with explained("reading", self.location):
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
            table = query.limit(k).select(["position", "_score"]).with_row_id(True).to_arrow()
        return list(zip(table["_rowid"].to_pylist(), table["_score"].to_pylist(), strict=True))

    def _by_vectors(self, points: NDArray[np.float32], k: int) -> list[list[_Hit]]:
        if k <= 0:
            return [[] for _ in points]
        version = self._version()
        if self._size(version) < self.exact_below:
            return [list(hits) for hits in self._vector_index(version).nearest(points, k)]
        with explained("searching", self.location):
            query = self._units.search(list(points) if len(points) > 1 else points[0])
            # The index holds vectors in one byte a number: twice as many as asked for are compared again
            # with the real ones. On 100,000 passages recall@20 is .99 so; without it .92 at ef 150 and .95
            # at 600, in the same time.
            query = query.distance_type("dot").limit(k).ef(max(3 * k, 300)).refine_factor(2)
            table = query.select(["position", "_distance"]).with_row_id(True).to_arrow()
        owners = table["query_index"].to_pylist() if len(points) > 1 else [0] * table.num_rows
        result: list[list[_Hit]] = [[] for _ in points]
        distances = table["_distance"].to_pylist()
        for owner, row, distance in zip(owners, table["_rowid"].to_pylist(), distances, strict=True):
            result[owner].append((row, 1.0 - distance))
        return result

    def _vector_index(self, version: int) -> VectorIndex:
        """The vectors of the version in sight, brought up to date when that has changed."""
        kept = self._vectors
        if kept is None or kept.version != version:
            with explained("reading", self.location):
                kept = VectorIndex.load(self._units, version, self.dimension, kept)
            self._vectors = kept
        return kept

    def _version(self) -> int:
        """The latest version of the table, looked for again after a moment: a question searches a store
        many times within a few milliseconds, and each look lists a folder."""
        now = time.monotonic()
        if now - self._looked[0] > _LOOK_AGAIN:
            with explained("reading", self.location):
                self._looked = (now, int(self._units.version))
        return self._looked[1]

    def _changed(self) -> None:
        """This object has written: look again at once."""
        self._looked = (float("-inf"), -1)

    def _size(self, version: int) -> int:
        """How many units this version has; counted once for each version."""
        if self._counted[0] != version:
            self._counted = (version, len(self))
        return self._counted[1]

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

    def _candidates(self, rank: Callable[[], Sequence[Sequence[_Hit]]]) -> list[list[Candidate]]:
        """The units of the rankings that ``rank`` makes, read together.

        A writer may replace rows between ranking and reading. Then both are done again, since the units
        have new rows; what is still missing at the last try is left out.
        """
        for _ in range(_TRIES):
            rankings = rank()
            wanted = list(dict.fromkeys(row for ranking in rankings for row, _ in ranking))
            units = self._by_row(wanted)
            if len(units) == len(wanted):
                break
        found: list[list[Candidate]] = []
        for ranking in rankings:
            # Two rankings made a moment apart may know one unit by two rows.
            best = {units[row].id: (units[row], score) for row, score in reversed(ranking) if row in units}
            found.append([unit.candidate(score) for unit, score in reversed(best.values())])
        return found

    def _by_row(self, rows: Sequence[int]) -> Mapping[int, Unit]:
        """The units of these rows; a row's content never changes, so recent ones are remembered."""
        with self._lock:
            units = {row: self._rows[row] for row in rows if row in self._rows}
        missing = [row for row in rows if row not in units]
        if missing:
            with explained("reading", self.location):
                taken = self._units.take_row_ids(missing).with_row_id().select(list(PAYLOAD)).to_arrow()
            units.update(zip(taken["_rowid"].to_pylist(), _units_of(taken), strict=True))
        with self._lock:
            for row, unit in units.items():
                self._rows[row] = unit
                self._rows.move_to_end(row)
            while len(self._rows) > _ROWS_KEPT:
                self._rows.popitem(last=False)
        self._readings.keep(units.values())
        return units

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
    details, texts, analyses = (table[name].to_pylist() for name in PAYLOAD[:-1])
    return list(map(unit_of, details, texts, analyses, vectors))


def any_of(column: str, values: Iterable[str]) -> str:
    """A SQL condition; quotes in the values are doubled, which is all the escaping its strings have."""
    quoted = ", ".join("'" + _whole(value).replace("'", "''") + "'" for value in values)
    return f"{column} IN ({quoted})"


def _whole(text: str) -> str:
    """Text without halves of surrogate pairs, which UTF-8 cannot carry."""
    return text.encode("utf-8", "replace").decode("utf-8")
