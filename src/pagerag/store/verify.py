"""Check a whole store: every unit, and that the indexes agree with the units."""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from pagerag.errors import FormatError, StoreError
from pagerag.store.bm25 import counted
from pagerag.store.postgres_database import Lent
from pagerag.store.postgres_schema import LONGEST
from pagerag.store.postgres_snapshot import unescaped
from pagerag.store.schema import Identity, unpack_unit
from pagerag.store.sqlite_snapshot import split_postings
from pagerag.store.vectors import SIGN_BYTES
from pagerag.text.keys import key_number, name_numbers
from pagerag.text.terms import encoded_text
from pagerag.units import Analysis

MOST_PROBLEMS = 20
"""So many problems are told; a store that has more is told apart by none of them."""

_AT_ONCE = 500


def unit_problem(
    body: bytes,
    document: tuple[str, str, str],
    number: int,
    indexed: Callable[[Mapping[str, int]], bool],
    named: Callable[[Sequence[int]], bool],
) -> str:
    """Return what is wrong with a unit; empty when nothing is.

    ``document`` is its source, path and digest, ``number`` its id's; ``indexed`` tells whether the index
    agrees with its terms and their counts, ``named`` whether all of its title's keys are there.
    """
    try:
        unit = unpack_unit(body, *document)
        if unit.analysis is not None:
            Analysis.from_bytes(unit.analysis)
    except FormatError as problem:
        return "" if "version" in str(problem) else str(problem)  # ``stats`` tells of another version
    except ValueError as problem:
        return f"it cannot be read ({problem})"
    if key_number(unit.id) != number or not indexed(counted(encoded_text(unit.title, unit.text))):
        return "the indexes do not agree with its text"
    return "" if named(name_numbers(unit.title, unit.names)) else "it cannot be found by its title"


@contextmanager
def _to_the_end(found: list[str]) -> Iterator[None]:
    """Add what stops the reading inside to the problems."""
    try:
        yield
    except StoreError as damage:  # in our own words, with what helps
        found.append(f"it cannot be read to its end: {damage}")
    except (sqlite3.Error, ValueError, TypeError, LookupError) as damage:
        found.append(f"it cannot be read to its end: {' '.join(str(damage).split())[:300]}")


# -- the embedded store


def sqlite_problems(connection: sqlite3.Connection, dimension: int) -> list[str]:
    """Return what is wrong with an embedded store, one sentence each; empty when all is sound."""
    found: list[str] = []
    try:
        with _to_the_end(found):
            connection.execute("BEGIN")
            answers = [str(row[0]) for row in connection.execute(f"PRAGMA integrity_check({MOST_PROBLEMS})")]
            if answers != ["ok"]:
                found += [f"the file: {' '.join(answer.split())}" for answer in answers]
            lengths = _lengths(connection, found)
            _check_sqlite_units(connection, lengths, found)
            _check_postings(connection, lengths, found)
            _check_vectors(connection, dimension, len(lengths), found)
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
    return found[:MOST_PROBLEMS]


def _lengths(connection: sqlite3.Connection, found: list[str]) -> np.ndarray:
    blocks = connection.execute("SELECT data FROM lengths ORDER BY block")
    lengths = np.concatenate([np.empty(0, "<u4"), *(np.frombuffer(data, dtype="<u4") for (data,) in blocks)])
    counters = dict(connection.execute("SELECT key, value FROM meta"))
    missing = [key for key, _ in Identity("", 0).rows() if key not in counters]
    if missing:
        found.append(f"its identity lacks {', '.join(missing)}")
    elif int(counters["next_row"]) != len(lengths) or int(counters["live"]) != np.count_nonzero(lengths):
        found.append("its counters do not agree with its units")
    return lengths


def _check_sqlite_units(connection: sqlite3.Connection, lengths: np.ndarray, found: list[str]) -> None:
    seen = 0
    query = (
        "SELECT u.row, u.id_number, u.body, d.source, d.path, d.digest FROM units u "
        "LEFT JOIN documents d ON d.number = u.document ORDER BY u.row"
    )
    for row, number, body, *document in connection.execute(query):
        seen += 1
        if len(found) >= MOST_PROBLEMS:
            return

        def indexed(terms: Mapping[str, int], row: int = row) -> bool:
            return row < len(lengths) and bool(lengths[row] == sum(terms.values()) + 1)

        def named(keys: Sequence[int], row: int = row) -> bool:
            query = "SELECT 1 FROM names WHERE number = ? AND row = ?"
            return all(connection.execute(query, (key, row)).fetchone() for key in keys)

        problem = unit_problem(body, tuple(document), number, indexed, named)
        if problem:
            found.append(f"unit {row} of {document[0]}: {problem}")
    if seen != np.count_nonzero(lengths):
        found.append(f"it holds {seen} units, and its indexes {np.count_nonzero(lengths)}")


def _check_postings(connection: sqlite3.Connection, lengths: np.ndarray, found: list[str]) -> None:
    totals = np.zeros(len(lengths), dtype=np.int64)
    for (data,) in connection.execute("SELECT data FROM postings UNION ALL SELECT data FROM fresh"):
        rows, counts = split_postings(data)
        np.add.at(totals, rows, counts)
    alive = lengths > 0
    wrong = int(np.count_nonzero(totals[alive] != lengths[alive].astype(np.int64) - 1))
    if wrong:
        found.append(f"the terms of {wrong} units are not all in the index")


def _check_vectors(connection: sqlite3.Connection, dimension: int, rows: int, found: list[str]) -> None:
    seen = 0
    for block, check, data, signs in connection.execute("SELECT block, check_sum, data, signs FROM vectors"):
        size = len(data) // (2 * dimension)
        seen += size
        if zlib.crc32(signs, zlib.crc32(data)) != check or len(signs) != size * SIGN_BYTES:
            found.append(f"block {block} of the vectors is damaged")
    if seen != rows:
        found.append(f"there are {seen} vectors for {rows} rows")


# -- PostgreSQL

# What must hold of the tables as a whole, each with a statement that counts where it does not.
_AGREEMENTS = {
    "units lack a vector": """
        SELECT count(*) FROM units u WHERE NOT EXISTS (SELECT FROM vectors v WHERE v.unit = u.unit)""",
    "vectors have no unit": """
        SELECT count(*) FROM vectors v WHERE NOT EXISTS (SELECT FROM units u WHERE u.unit = v.unit)""",
    "names have no unit": """
        SELECT count(*) FROM names n WHERE NOT EXISTS (SELECT FROM units u WHERE u.unit = n.unit)""",
    "units have no document": """
        SELECT count(*) FROM units u LEFT JOIN documents d ON d.number = u.document WHERE d.number IS NULL""",
    "documents do not count their units right": """
        SELECT count(*) FROM (SELECT d.number FROM documents d LEFT JOIN units u ON u.document = d.number
        GROUP BY d.number, d.units HAVING count(u.unit) <> d.units) x""",
    "sources come twice": "SELECT count(*) - count(DISTINCT source) FROM documents",
    "units are not in the index with all of their terms": """
        SELECT count(*) FROM units u FULL JOIN (
            SELECT (e >> 32)::int4 AS unit, count(*) AS terms, min(e >> 8 & 16777215) AS low,
                   max(e >> 8 & 16777215) AS high
            FROM postings CROSS JOIN LATERAL unnest(entries) AS e GROUP BY 1) p ON p.unit = u.unit
        WHERE u.unit IS NULL OR coalesce(p.terms, 0) <> cardinality(u.terms) OR p.low <> u.length
            OR p.high <> u.length""",
    "runs of postings overlap or are not in order": """
        SELECT count(*) FROM (SELECT p.first, p.last, p.entries, lead(p.first) OVER (PARTITION BY p.term
        ORDER BY p.first) AS next FROM postings p) x WHERE x.next <= x.last OR x.first > x.entries[1] >> 32
        OR x.last < x.entries[cardinality(x.entries)] >> 32""",
    "counters do not agree with the units": """
        SELECT count(*) FROM corpus c CROSS JOIN (SELECT count(*) AS live, coalesce(sum(length), 0) AS length,
        coalesce(max(unit), -1) AS last FROM units) u WHERE c.live <> u.live OR c.length <> u.length
        OR c.next_unit <= u.last""",
}


def postgres_problems(lent: Lent) -> list[str]:
    """Return what is wrong with a database, one sentence each; empty when all is sound."""
    found: list[str] = []
    with _to_the_end(found), lent.database.told("reading"):
        lent.connection.execute("SET LOCAL statement_timeout = 0")
        _check_postgres_units(lent.connection, found)
        for what, statement in _AGREEMENTS.items():
            (wrong,) = lent.connection.execute(statement).fetchone()
            if wrong:
                found.append(f"{wrong} {what}")
    return [f"{lent.database.shown}: {one}" for one in found[:MOST_PROBLEMS]]


def _check_postgres_units(connection: Any, found: list[str]) -> None:
    query = (
        "SELECT u.unit, u.id_number, u.length, u.terms, u.body, d.source, d.path, d.digest, "
        "ARRAY(SELECT n.number FROM names n WHERE n.unit = u.unit) FROM units u "
        "LEFT JOIN documents d ON d.number = u.document WHERE u.unit > %s ORDER BY u.unit LIMIT %s"
    )
    last = -1
    while len(found) < MOST_PROBLEMS:
        rows = connection.execute(query, (last, _AT_ONCE), binary=True).fetchall()
        for unit, number, length, terms, body, source, path, digest, names in rows:

            def indexed(counts: Mapping[str, int], length: int = length, terms: list[int] = terms) -> bool:
                numbers = {key_number(term) for term in counts}
                return set(terms) == numbers and length == min(sum(counts.values()), LONGEST)

            document = unescaped(source or ""), unescaped(path or ""), digest or ""
            problem = unit_problem(bytes(body), document, number, indexed, set(names).issuperset)
            if problem:
                found.append(f"unit {unit} of {source}: {problem}")
        if len(rows) < _AT_ONCE:
            return
        last = rows[-1][0]
