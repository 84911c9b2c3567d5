"""Check a whole embedded store: its file, every unit, and that the indexes agree with the units."""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Mapping, Sequence

import numpy as np

from pagerag.errors import StoreError
from pagerag.store.schema import Identity
from pagerag.store.sqlite_snapshot import split_postings
from pagerag.store.vectors import SIGN_BYTES
from pagerag.store.verify import MOST_PROBLEMS, unit_problem


def problems_of(connection: sqlite3.Connection, dimension: int) -> list[str]:
    """Return what is wrong with a store, one sentence each; empty when all is sound."""
    found: list[str] = []
    try:
        connection.execute("BEGIN")
        answers = [str(row[0]) for row in connection.execute(f"PRAGMA integrity_check({MOST_PROBLEMS})")]
        if answers != ["ok"]:
            found += [f"the file: {' '.join(answer.split())}" for answer in answers]
        lengths = _lengths(connection, found)
        _check_units(connection, lengths, found)
        _check_postings(connection, lengths, found)
        _check_vectors(connection, dimension, len(lengths), found)
    except (sqlite3.Error, StoreError, ValueError, TypeError, LookupError) as damage:
        found.append(f"it cannot be read to its end: {' '.join(str(damage).split())[:300]}")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
    return found[:MOST_PROBLEMS]


def _lengths(connection: sqlite3.Connection, found: list[str]) -> np.ndarray:
    parts = [
        np.frombuffer(data, dtype="<u4")
        for (data,) in connection.execute("SELECT data FROM lengths ORDER BY block")
    ]
    lengths = np.concatenate(parts) if parts else np.empty(0, dtype="<u4")
    counters = dict(connection.execute("SELECT key, value FROM meta"))
    missing = [key for key, _ in Identity("", 0).rows() if key not in counters]
    if missing:
        found.append(f"its identity lacks {', '.join(missing)}")
    elif int(counters["next_row"]) != len(lengths) or int(counters["live"]) != np.count_nonzero(lengths):
        found.append("its counters do not agree with its units")
    return lengths


def _check_units(connection: sqlite3.Connection, lengths: np.ndarray, found: list[str]) -> None:
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
