"""Reading a corpus in PostgreSQL: one state of each of its databases, pinned by a read transaction."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, wait
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from pagerag.store.base import check_points
from pagerag.store.bm25 import query_terms
from pagerag.store.postgres_database import Lent, from_half
from pagerag.store.schema import unpack_unit
from pagerag.text.keys import key_number
from pagerag.units import Candidate, Hit, Unit

if TYPE_CHECKING:
    from pagerag.store.postgres import PostgresCorpus

S = TypeVar("S")
T = TypeVar("T")

_UNITS = (
    "SELECT u.unit, u.body, d.source, d.path, d.digest, halfvec_send(v.vector) FROM units u "
    "JOIN documents d ON d.number = u.document JOIN vectors v ON v.unit = u.unit WHERE "
)
_WORDS = (
    "SELECT 0, unit, score FROM rank_text(%s::int8[], %s::int4[], %s, %s::float8, %s::float8, %s::int8[])"
)
_NEAR = (
    "SELECT q.place::int4, n.unit, n.score FROM unnest(%s::text[]::halfvec[]) WITH ORDINALITY AS q(v, place) "
    "CROSS JOIN LATERAL (SELECT unit, (-(vector <#> q.v))::float4 AS score FROM vectors "
    "ORDER BY vector <#> q.v"
)
_NAMES = (
    "SELECT q.place::int4, n.exactness, n.position, n.unit FROM unnest(%s::int8[]) WITH ORDINALITY AS "
    "q(number, place) CROSS JOIN LATERAL (SELECT exactness, position, unit FROM names m "
    "WHERE m.number = q.number ORDER BY exactness, position, unit"
)
_AT_ONCE = 500


def at_once(executor: Executor | None, work: Callable[[int, S], T], subjects: Sequence[S]) -> list[T]:
    """Return ``work(place, subject)`` of each subject; all are done at the same time, and to their ends."""
    if executor is None:
        return [work(place, subject) for place, subject in enumerate(subjects)]
    asked = [executor.submit(work, place, subject) for place, subject in enumerate(subjects)]
    wait(asked)
    return [one.result() for one in asked]


class PostgresSnapshot:
    """Rankings and units of one state; see ``pagerag.protocols.Snapshot``.

    A row is the unit's number times the number of databases, plus the place of its database.
    """

    def __init__(self, corpus: PostgresCorpus, states: Sequence[Lent]) -> None:
        self._corpus, self._states = corpus, states
        self._frequencies: dict[int, int] = {}
        self.version = sum(int(state.row[0]) for state in states)
        self._live = sum(int(state.row[1]) for state in states)
        self._length = sum(int(state.row[2]) for state in states)

    def __len__(self) -> int:
        return self._live

    def _each(self, work: Callable[[int, Lent], T]) -> list[T]:
        """Return what ``work`` gives for every database, all asked at the same time."""
        return at_once(self._corpus.executor, work, self._states)

    def rows(self, statement: str) -> list[tuple[Any, ...]]:
        """Return the rows of a statement in every database."""
        return [row for part in self._asked(statement, None, binary=False) for row in part]

    def _asked(self, query: str, values: Sequence[Any] | None, *, binary: bool = True) -> list[list[Any]]:
        """Return the rows of a query, database by database."""
        return self._each(
            lambda _, state: state.run(lambda c: c.execute(query, values, binary=binary).fetchall())
        )

    # -- rankings

    def rank_text(self, text: str, k: int) -> list[Hit]:
        """Rank units by BM25 over ``title. text``."""
        return self.rank_both(text, None, k)[0]

    def rank_vectors(self, vectors: NDArray[np.floating[Any]], k: int) -> list[list[Hit]]:
        """Rank units by cosine with each row of ``vectors``."""
        return self.rank_both("", vectors, k)[1]

    def rank_both(
        self, text: str, vectors: NDArray[np.floating[Any]] | None, k: int
    ) -> tuple[list[Hit], list[list[Hit]]]:
        """Return both rankings in one round trip to each database."""
        points = (
            ()
            if vectors is None
            else check_points(vectors, self._corpus.dimension, self._corpus.encoder_name)
        )
        written = [_vector(point) for point in points]
        terms: dict[int, int] = {}
        for term, count in query_terms(text).items():
            number = key_number(term)
            terms[number] = terms.get(number, 0) + count
        if k <= 0 or not self._live or not (terms or written):
            return [], [[] for _ in points]
        wide = self._statistics(list(terms)) if len(self._states) > 1 and terms else (None, None, None)
        asked: list[tuple[str, Sequence[Any]]] = []
        if terms:
            asked.append((_WORDS, (list(terms), list(terms.values()), k, *wide)))
        if written:
            asked.append((f"{_NEAR} LIMIT {int(k)}) n", (written,)))

        def read(connection: Any) -> list[Any]:
            # A pipeline: the statements go out together, and their results come back together.
            with connection.pipeline():
                sent = [connection.execute(*one, binary=True) for one in asked]
                return [row for cursor in sent for row in cursor.fetchall()]

        # The ranking of the words, and behind it that of each point.
        ranked: list[list[tuple[int, float]]] = [[] for _ in range(1 + len(points))]
        for shard, rows in enumerate(self._each(lambda _, state: state.run(read))):
            for place, unit, score in rows:
                ranked[place].append((unit * len(self._states) + shard, score))
        words, *near = (_best(hits, k) for hits in ranked)
        return words, near

    def _statistics(self, terms: list[int]) -> tuple[float, float, list[int]]:
        """Return how many units there are in all, their mean length, and how many hold each term."""
        new = [term for term in terms if term not in self._frequencies]
        if new:
            parts = self._asked("SELECT document_frequencies(%s::int8[])", (new,))
            found = zip(new, *(rows[0][0] for rows in parts), strict=True)
            self._frequencies |= {term: sum(counts) for term, *counts in found}
        mean = self._length / max(self._live, 1)
        return float(self._live), mean, [self._frequencies[term] for term in terms]

    def rank_names(self, numbers: NDArray[np.int64], k: int) -> dict[int, list[int]]:
        """Return the rows of at most ``k`` units for each number that is one of a unit's names."""
        if k <= 0 or not len(numbers):
            return {}
        ranked: dict[int, list[tuple[int, int, int]]] = {}
        for shard, rows in enumerate(self._asked(f"{_NAMES} LIMIT {int(k)}) n", (numbers.tolist(),))):
            for place, exactness, position, unit in rows:
                row = unit * len(self._states) + shard
                ranked.setdefault(place - 1, []).append((exactness, position, row))
        return {place: [row for _, _, row in sorted(ranked[place])[:k]] for place in sorted(ranked)}

    # -- units

    def units(self, rows: Sequence[int]) -> list[Candidate]:
        """Return the units of these rows, in their order, without a score."""
        shards = len(self._states)
        wanted: list[list[int]] = [[] for _ in self._states]
        for row in dict.fromkeys(rows):
            wanted[row % shards].append(row // shards)
        parts = self._each(lambda place, state: self._read(state, wanted[place]) if wanted[place] else {})
        return [parts[row % shards][row // shards].candidate() for row in rows]

    def _read(self, state: Lent, numbers: Sequence[int]) -> dict[int, Unit]:
        with state.database.told("reading"):
            return self._corpus.kept.read(
                int(state.row[3]), numbers, lambda missing: _units_where(state, "u.unit = ANY (%s)", missing)
            )

    def by_id(self, ids: Sequence[str]) -> dict[str, Unit]:
        """Return the stored units of those of these ids that are there."""
        wanted, numbers = set(ids), [key_number(name) for name in ids]
        parts = self._each(lambda _, state: _units_where(state, "u.id_number = ANY (%s)", numbers))
        return {unit.id: unit for part in parts for unit in part.values() if unit.id in wanted}

    def every_unit(self) -> Iterator[Unit]:
        """Return all units in order of rows, database after database; they do not enter the cache."""
        for state in self._states:
            last = -1
            while True:
                found = _units_where(state, f"u.unit > %s ORDER BY u.unit LIMIT {_AT_ONCE}", last)
                yield from found.values()
                if len(found) < _AT_ONCE:
                    break
                last = max(found)


def _units_where(state: Lent, condition: str, value: Any) -> dict[int, Unit]:
    units: dict[int, Unit] = {}
    with state.database.told("reading"):
        rows = state.run(lambda c: c.execute(_UNITS + condition, (value,), binary=True).fetchall())
        for number, body, source, path, digest, vector in rows:
            try:
                unit = unpack_unit(bytes(body), unescaped(source), unescaped(path), unescaped(digest))
                units[number] = replace(unit, vector=from_half(vector))
            except ValueError as broken:
                raise ValueError(f"unit {number} of {source} cannot be read ({broken})") from broken
    return units


def _best(hits: list[tuple[int, float]], k: int) -> list[Hit]:
    """Return the ``k`` best of what the databases found, equal ones in order of row."""
    return [Hit(row, score) for row, score in sorted(hits, key=lambda hit: (-hit[1], hit[0]))[:k]]


def _vector(point: NDArray[np.float32]) -> str:
    return f"[{','.join(map(str, point.astype(np.float16).tolist()))}]"


# PostgreSQL's text cannot hold NUL, and the id of a record may: it is written as a noncharacter and a digit.
_MARK = "\ufdd0"


def escaped(text: str) -> str:
    """Return a text as PostgreSQL can hold it."""
    if "\0" not in text and _MARK not in text:
        return text
    return text.replace(_MARK, f"{_MARK}1").replace("\0", f"{_MARK}0")


def unescaped(text: str) -> str:
    """Return what ``escaped`` was given."""
    return text.replace(f"{_MARK}0", "\0").replace(f"{_MARK}1", _MARK) if _MARK in text else text
