"""One version of a store, for reading: everything that is asked of it comes from that version alone.

LanceDB's tables move on when another process writes, between two calls and sometimes within one. A
snapshot is pinned to its version; what it keeps in memory (terms, titles, vectors) is read when first asked
for, and what the snapshot before it had read is used again.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pagerag.errors import InputError
from pagerag.store.lexical import LexicalIndex
from pagerag.store.problems import explained
from pagerag.store.readings import Readings
from pagerag.store.schema import PAYLOAD, unit_of
from pagerag.store.titles import TitleIndex
from pagerag.store.units import Unit
from pagerag.store.vectors import VectorIndex
from pagerag.units import Candidate

__all__ = ["Hit", "Kept", "Size", "Snapshot", "whole"]

Hit = tuple[int, float]
"""A row and its score."""

_ROWS_KEPT = 4096


@dataclass(frozen=True, slots=True)
class Size:
    """How dense search goes about it: every vector is compared below ``exact_below`` units; from there on
    signs come first, while the vectors take at most ``memory`` bytes; beyond that LanceDB's index serves."""

    exact_below: int
    memory: int

    def indexed(self, units: int, dimension: int) -> bool:
        """Whether so many units need an index on disk."""
        return units >= self.exact_below and 4 * units * dimension > self.memory


class Kept:
    """Units that were read lately, by row: a row's content never changes, so any version may use them."""

    def __init__(self) -> None:
        self.readings = Readings()
        self._rows: OrderedDict[int, Unit] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, rows: Iterable[int]) -> dict[int, Unit]:
        with self._lock:
            found = {row: self._rows[row] for row in rows if row in self._rows}
            for row in found:
                self._rows.move_to_end(row)
        return found

    def put(self, units: Mapping[int, Unit]) -> None:
        with self._lock:
            self._rows.update(units)
            while len(self._rows) > _ROWS_KEPT:
                self._rows.popitem(last=False)
        self.readings.keep(units.values())

    def clear(self) -> None:
        with self._lock:
            self._rows.clear()


class Snapshot:
    """Rankings as rows and scores, and the units of rows, of one version of the table of units."""

    def __init__(
        self,
        table: Any,
        version: int,
        *,
        location: str,
        dimension: int,
        encoder_name: str,
        size: Size,
        kept: Kept,
        before: Snapshot | None = None,
    ) -> None:
        self.table, self.version, self.location = table, version, location
        self.dimension, self.encoder_name = dimension, encoder_name
        self._how, self._kept = size, kept
        self._lock = threading.RLock()
        self._rows: NDArray[np.uint64] | None = None
        self._titles: TitleIndex | None = None
        self._vectors: VectorIndex | None = None
        self._lexical: LexicalIndex | None = None
        self._before: tuple[VectorIndex | None, LexicalIndex | None] = (None, None)
        if before is not None:
            # Only what it had read itself, or else had not come to: no chain of snapshots is kept alive.
            self._before = (before._vectors or before._before[0], before._lexical or before._before[1])

    def __len__(self) -> int:
        return len(self.rows)

    # -- what is kept in memory

    @property
    def rows(self) -> NDArray[np.uint64]:
        """The rows of this version, sorted."""
        with self._lock, explained("reading", self.location):
            if self._rows is None:
                scan = self.table.search().select(["position"]).with_row_id(True).limit(None).to_arrow()
                self._rows = np.sort(scan["_rowid"].to_numpy().astype(np.uint64))
            return self._rows

    @property
    def titles(self) -> TitleIndex:
        """The names of all units."""
        with self._lock, explained("reading", self.location):
            if self._titles is None:
                columns = self.table.search().select(["name_hashes", "position"]).with_row_id(True)
                table = columns.limit(None).to_arrow()
                lists = table["name_hashes"].combine_chunks()
                self._titles = TitleIndex.build(
                    self.version,
                    lists.flatten().to_numpy(zero_copy_only=False),
                    lists.value_lengths().to_numpy(zero_copy_only=False).astype(np.int64),
                    table["_rowid"].to_numpy(),
                    table["position"].to_numpy(),
                )
            return self._titles

    @property
    def lexical(self) -> LexicalIndex:
        """The terms of all units."""
        with self._lock, explained("reading", self.location):
            if self._lexical is None:
                self._lexical = LexicalIndex.load(self.table, self.rows, self._before[1])
                self._before = (self._before[0], None)
            return self._lexical

    @property
    def vectors(self) -> VectorIndex | None:
        """All vectors; None when there are too many of them to be kept."""
        with self._lock, explained("reading", self.location):
            if self._how.indexed(len(self), self.dimension):
                return None
            if self._vectors is None:
                screened = len(self) >= self._how.exact_below
                self._vectors = VectorIndex.load(
                    self.table, self.rows, self.dimension, self._before[0], screened=screened
                )
                self._before = (None, self._before[1])
            return self._vectors

    # -- rankings

    def rank_text(self, text: str, k: int) -> list[Hit]:
        """The ``k`` best rows by BM25 over ``title. text``."""
        return self.lexical.best(whole(text), k)

    def rank_pairs(self, pairs: Sequence[tuple[str, str]], k: int) -> list[list[Hit]]:
        """``rank_text`` for the words of each pair of texts, many of which share their second one."""
        return self.lexical.best_of_each(((whole(a), whole(b)) for a, b in pairs), k)

    def rank_vectors(self, vectors: NDArray[np.floating[Any]], k: int) -> list[list[Hit]]:
        """The ``k`` rows nearest to each vector, by cosine."""
        points = self._points(vectors)
        if k <= 0:
            return [[] for _ in points]
        kept = self.vectors
        return kept.nearest(points, k) if kept is not None else self._rank_indexed(points, k)

    def rank_names(self, names: Any, k: int) -> dict[int, list[int]]:
        """At most ``k`` rows for each of ``names.hashes`` (``store.hashing``) that is a title, by its place."""
        return self.titles.find_hashes(names.hashes, k)

    def rank_titles(self, titles: Sequence[str], k: int) -> dict[int, list[int]]:
        """The same for names as they are written."""
        return self.titles.find(titles, k)

    def _rank_indexed(self, points: NDArray[np.float32], k: int) -> list[list[Hit]]:
        with explained("searching", self.location):
            query = self.table.search(list(points) if len(points) > 1 else points[0])
            # The index holds vectors in one byte a number: twice as many as asked for are compared again
            # with the real ones. On 100,000 passages recall@20 is .99 so; without it .92 at ef 150 and .95
            # at 600, in the same time.
            query = query.distance_type("dot").limit(k).ef(max(3 * k, 300)).refine_factor(2)
            table = query.select(["position", "_distance"]).with_row_id(True).to_arrow()
        owners = table["query_index"].to_pylist() if len(points) > 1 else [0] * table.num_rows
        result: list[list[Hit]] = [[] for _ in points]
        distances = table["_distance"].to_pylist()
        for owner, row, distance in zip(owners, table["_rowid"].to_pylist(), distances, strict=True):
            result[owner].append((row, 1.0 - distance))
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

    # -- units

    def units(self, rows: Sequence[int]) -> list[Candidate]:
        """The units of these rows, in their order, without a score."""
        found = self.read(rows)
        return [found[row].candidate() for row in rows]

    def read(self, rows: Sequence[int]) -> Mapping[int, Unit]:
        """The stored units of these rows."""
        units = self._kept.get(rows)
        missing = list(dict.fromkeys(row for row in rows if row not in units))
        if missing:
            kept = self._vectors
            columns = PAYLOAD if kept is None else PAYLOAD[:-1]
            with explained("reading", self.location):
                taken = self.table.take_row_ids(missing).with_row_id().select(list(columns)).to_arrow()
            numbers = taken["_rowid"].to_numpy().astype(np.uint64)
            vectors = kept.of(numbers) if kept is not None else vectors_of(taken, self.dimension)
            fresh = dict(zip(numbers.tolist(), units_of(taken, vectors), strict=True))
            units.update(fresh)
            self._kept.put(fresh)
        return units


def vectors_of(table: Any, dimension: int) -> NDArray[np.float32]:
    """The column of vectors as a matrix."""
    flat = table["vector"].combine_chunks().flatten().to_numpy(zero_copy_only=False)
    return np.asarray(flat, dtype=np.float32).reshape(-1, dimension)


def units_of(table: Any, vectors: NDArray[np.float32]) -> list[Unit]:
    """The rows of a table with the columns of ``PAYLOAD``."""
    details, texts, analyses = (table[name].to_pylist() for name in PAYLOAD[:-1])
    return list(map(unit_of, details, texts, analyses, vectors))


def whole(text: str) -> str:
    """Text without halves of surrogate pairs, which UTF-8 cannot carry."""
    return text.encode("utf-8", "replace").decode("utf-8")
