"""Reading the embedded store: one version of it, pinned by a read transaction of its own connection."""

from __future__ import annotations

import json
import sqlite3
import threading
import zlib
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pagerag.store.base import SnapshotBase, check_points
from pagerag.store.bm25 import PostingList, idf, length_norms, query_terms, rank_lists
from pagerag.store.problems import decoding
from pagerag.store.schema import unpack_unit
from pagerag.store.vectors import SIGN_BYTES, VectorIndex
from pagerag.text.keys import key_number
from pagerag.units import Candidate, Hit, Unit

if TYPE_CHECKING:
    from pagerag.store.sqlite import SqliteCorpus

EXACT_BELOW = 20_000
"""From this many rows on, dense search looks at signs first; below, every vector is compared."""

_AT_ONCE = 400  # units in memory while all are read

_UNITS = (
    "SELECT u.row, u.body, d.source, d.path, d.digest FROM units u JOIN documents d ON d.number = u.document "
    "WHERE {column} IN (SELECT value FROM json_each(?))"
)


class State:
    """What is kept in memory of one version: lengths for BM25, and vectors once they were asked for.

    A new version takes over what did not change and reads the blocks that did.
    """

    def __init__(self, connection: sqlite3.Connection, before: State | None) -> None:
        meta = dict(
            connection.execute("SELECT key, value FROM meta WHERE key IN ('version', 'epoch', 'live')")
        )
        self.version, self.epoch, self.live = (int(meta[name]) for name in ("version", "epoch", "live"))
        usable = before if before is not None and before.epoch == self.epoch else None
        parts = dict(usable.length_blocks) if usable else {}
        for block, data in connection.execute(
            "SELECT block, data FROM lengths WHERE version > ?", (usable.version if usable else -1,)
        ):
            parts[block] = np.frombuffer(data, dtype="<u4")
        self.length_blocks: dict[int, NDArray[np.uint32]] = parts
        self.lengths = np.concatenate([np.empty(0, np.uint32), *(parts[block] for block in sorted(parts))])
        terms = np.maximum(self.lengths, 1) - 1.0  # a stored length is one more than the number of terms
        self.alive = self.lengths > 0
        count = int(np.count_nonzero(self.alive))
        self.all_alive = count == len(self.alive)
        if count != self.live:
            raise ValueError(f"its lengths tell of {count} units and its counter of {self.live}")
        self.norms = length_norms(terms, float(terms[self.alive].mean()) if count else 0.0)
        self._lock = threading.Lock()
        self._vectors: VectorIndex | None = None
        # Only what the state before had read itself: no chain of states is kept alive.
        self._blocks: dict[int, tuple[NDArray[np.float16], NDArray[np.uint8]]]
        self._blocks = dict(usable._blocks) if usable else {}
        self._known: int = usable._known if usable else -1

    def vectors(self, connection: sqlite3.Connection, dimension: int, exact_below: int) -> VectorIndex:
        """Return the vectors of this version, read when first asked for."""
        with self._lock:
            if self._vectors is None:
                for block, check, data, signs in connection.execute(
                    "SELECT block, check_sum, data, signs FROM vectors WHERE version > ?", (self._known,)
                ):
                    if zlib.crc32(signs, zlib.crc32(data)) != check:
                        raise ValueError(f"block {block} of its vectors is damaged")
                    self._blocks[block] = (
                        np.frombuffer(data, dtype="<f2").reshape(-1, dimension),
                        np.frombuffer(signs, dtype=np.uint8).reshape(-1, SIGN_BYTES),
                    )
                self._known = self.version
                blocks = [self._blocks[block] for block in sorted(self._blocks)]
                rows, signs = [rows for rows, _ in blocks], [signs for _, signs in blocks]
                if sum(map(len, rows)) != len(self.lengths):
                    raise ValueError("its vectors are not as many as its units")
                self._vectors = VectorIndex.build(dimension, rows, signs, self.alive, exact_below=exact_below)
            return self._vectors


class SqliteSnapshot(SnapshotBase):
    """Rankings and units of one version of an embedded store; see ``pagerag.protocols.Snapshot``."""

    def __init__(self, corpus: SqliteCorpus, connection: sqlite3.Connection, state: State) -> None:
        self._corpus, self._connection, self._state = corpus, connection, state
        self._lists: dict[str, tuple[NDArray[np.uint32], NDArray[np.uint8]]] = {}

    @property
    def version(self) -> int:
        """Return the number of this state."""
        return self._state.version

    def __len__(self) -> int:
        return self._state.live

    # -- rankings

    def rank_text(self, text: str, k: int) -> list[Hit]:
        """Rank units by BM25 over ``title. text``."""
        wanted = query_terms(text)
        state = self._state
        self._read_lists([term for term in wanted if term not in self._lists])
        lists = []
        for term, count in wanted.items():
            rows, counts = self._lists[term]
            if len(rows):
                lists.append(PostingList(rows, counts, count * idf(state.live, len(rows))))
        return rank_lists(lists, state.norms, k)

    def _read_lists(self, terms: Sequence[str]) -> None:
        """Read the postings of terms; follow-up search asks for the question's terms again and again."""
        numbers = {key_number(term): term for term in terms}
        with self._decoding():
            found = read_postings(self._connection, list(numbers), len(self._state.lengths))
        for number, term in numbers.items():
            rows, counts = found.get(number, (_NO_ROWS, _NO_COUNTS))
            if len(rows) and not self._state.all_alive:
                alive = self._state.alive[rows]
                rows, counts = rows[alive], counts[alive]
            self._lists[term] = (rows, counts)

    def rank_vectors(self, vectors: NDArray[np.floating[Any]], k: int) -> list[list[Hit]]:
        """Rank units by cosine with each row of ``vectors``."""
        points = check_points(vectors, self._corpus.dimension, self._corpus.encoder_name)
        return self._vectors().nearest(points, k)

    def _vectors(self) -> VectorIndex:
        with self._decoding():
            return self._state.vectors(self._connection, self._corpus.dimension, self._corpus.exact_below)

    def _decoding(self) -> AbstractContextManager[None]:
        return decoding("reading", self._corpus.location)

    def rank_names(self, numbers: NDArray[np.int64], k: int) -> dict[int, list[int]]:
        """Return the rows of at most ``k`` units for each number that is one of a unit's names.

        Most numbers are no name at all: one statement finds those that are, then each is read by itself,
        since a heading such as "Introduction" may name any number of units.
        """
        if k <= 0 or not len(numbers):
            return {}
        asked = numbers.tolist()
        found: dict[int, list[int]] = {}
        with self._decoding():
            there = self._connection.execute(
                "SELECT value FROM json_each(?) WHERE EXISTS (SELECT 1 FROM names WHERE number = value)",
                (json.dumps(list(dict.fromkeys(asked))),),
            ).fetchall()
            for (number,) in there:
                rows = self._connection.execute(
                    "SELECT n.row FROM names n WHERE n.number = ? AND EXISTS "
                    "(SELECT 1 FROM units u WHERE u.row = n.row) ORDER BY exactness, position, n.row LIMIT ?",
                    (number, k),
                ).fetchall()
                if rows:
                    found[number] = [row for (row,) in rows]
        return {place: found[number] for place, number in enumerate(asked) if number in found}

    # -- units

    def units(self, rows: Sequence[int]) -> list[Candidate]:
        """Return the units of these rows, in their order, without a score."""
        with self._decoding():
            found = self._corpus.kept.read(self._state.epoch, rows, partial(self._read_where, "u.row"))
        return [found[row].candidate() for row in rows]

    def every_unit(self) -> Iterator[Unit]:
        """Return all units in order of rows; they do not enter the cache."""
        rows = np.flatnonzero(self._state.alive).tolist()
        for start in range(0, len(rows), _AT_ONCE):
            some = rows[start : start + _AT_ONCE]
            found = self._read_where("u.row", some)
            yield from (found[row] for row in some if row in found)

    def by_id(self, ids: Sequence[str]) -> dict[str, Unit]:
        """Return the stored units of those of these ids that are there."""
        wanted = set(ids)
        units = self._read_where("u.id_number", [key_number(name) for name in wanted])
        return {unit.id: unit for unit in units.values() if unit.id in wanted}

    def _read_where(self, column: str, values: Sequence[int]) -> dict[int, Unit]:
        """Return the units with one of these values in a column, by row."""
        units: dict[int, Unit] = {}
        query = _UNITS.format(column=column)
        with self._decoding():
            for row, body, source, path, digest in self._connection.execute(query, (json.dumps(values),)):
                try:
                    units[row] = unpack_unit(body, source, path, digest)
                except ValueError as broken:
                    raise ValueError(f"unit {row} of {source} cannot be read ({broken})") from broken
            if units:
                rows = np.array(list(units), dtype=np.intp)
                for row, vector in zip(units, self._vectors().of(rows), strict=True):
                    units[row] = replace(units[row], vector=vector)
        return units


_NO_ROWS, _NO_COUNTS = np.empty(0, dtype=np.uint32), np.empty(0, dtype=np.uint8)


def split_postings(data: bytes) -> tuple[NDArray[np.uint32], NDArray[np.uint8]]:
    """Return the rows and counts of one stored segment: four bytes and one byte for each posting."""
    size, rest = divmod(len(data), 5)
    if rest:
        raise ValueError(f"a list of postings has {len(data)} bytes, which is no multiple of 5")
    return (
        np.frombuffer(data, dtype="<u4", count=size),
        np.frombuffer(data, dtype=np.uint8, count=size, offset=4 * size),
    )


def read_postings(
    connection: sqlite3.Connection, terms: Sequence[int], size: int
) -> dict[int, tuple[NDArray[np.uint32], NDArray[np.uint8]]]:
    """Return the rows and counts of each of these terms that is there; ``size`` is the number of rows."""
    segments: dict[int, list[tuple[NDArray[np.uint32], NDArray[np.uint8]]]] = {}
    for term, _, data in connection.execute(
        "SELECT term, -1 AS segment, data FROM postings WHERE term IN (SELECT value FROM json_each(?1)) "
        "UNION ALL "
        "SELECT term, segment, data FROM fresh WHERE term IN (SELECT value FROM json_each(?1)) ORDER BY 1, 2",
        (json.dumps(terms),),
    ):
        part = split_postings(data)
        if len(part[0]) and part[0][-1] >= size:
            raise ValueError("its postings name units that are not there")
        segments.setdefault(term, []).append(part)
    return {
        term: parts[0]
        if len(parts) == 1
        else (np.concatenate([rows for rows, _ in parts]), np.concatenate([counts for _, counts in parts]))
        for term, parts in segments.items()
    }
