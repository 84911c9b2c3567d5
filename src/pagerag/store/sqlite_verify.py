"""Check a whole embedded store: its file, every unit, and that the indexes agree with the units."""

from __future__ import annotations

import sqlite3
import zlib

import numpy as np

from pagerag.errors import FormatError, StoreError
from pagerag.store.bm25 import counted
from pagerag.store.schema import Identity, id_number, unpack_unit
from pagerag.store.sqlite_snapshot import split_postings
from pagerag.store.vectors import SIGN_BYTES
from pagerag.text.keys import name_numbers
from pagerag.text.terms import encoded_text
from pagerag.units import Analysis

_MOST = 20
"""So many problems are told; a store that has more is told apart by none of them."""


def problems_of(connection: sqlite3.Connection, dimension: int) -> list[str]:
    """Return what is wrong with a store, one sentence each; empty when all is sound."""
    found: list[str] = []
    try:
        connection.execute("BEGIN")
        answers = [str(row[0]) for row in connection.execute(f"PRAGMA integrity_check({_MOST})")]
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
    return found[:_MOST]


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
    for row, number, body, source, path, digest in connection.execute(query):
        seen += 1
        if len(found) >= _MOST:
            return
        try:
            unit = unpack_unit(body, source, path, digest)
            if unit.analysis is not None:
                Analysis.from_bytes(unit.analysis)
        except FormatError as problem:
            if "version" not in str(problem):  # ``stats`` tells of another version
                found.append(f"unit {row} of {source}: {problem}")
            continue
        except ValueError as problem:
            found.append(f"unit {row} of {source} cannot be read: {problem}")
            continue
        terms = sum(counted(encoded_text(unit.title, unit.text)).values())
        if (
            source is None
            or id_number(unit.id) != number
            or not row < len(lengths)
            or lengths[row] != terms + 1
        ):
            found.append(f"unit {unit.id!r}: the indexes do not agree with its text")
            continue
        for key in name_numbers(unit.title, unit.names):
            if not connection.execute(
                "SELECT 1 FROM names WHERE number = ? AND row = ?", (key, row)
            ).fetchone():
                found.append(f"unit {unit.id!r} cannot be found by its title")
                break
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
