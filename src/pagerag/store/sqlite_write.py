"""Writing the embedded store: the statements of one transaction; ``sqlite`` begins and commits it."""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pagerag.store.bm25 import MOST
from pagerag.store.schema import documents_of, name_rows
from pagerag.store.sqlite_snapshot import split_postings
from pagerag.store.vectors import BLOCK, sign_bits
from pagerag.text.keys import key_number, word_numbers
from pagerag.text.terms import encoded_text, term_of, terms_of
from pagerag.text.tokens import all_words
from pagerag.units import Unit


def rows_of_ids(connection: sqlite3.Connection, units: Sequence[Unit]) -> list[int]:
    """Return the rows of stored units that have the id of one of these under another source."""
    query = "SELECT row, document FROM units WHERE id_number IN (SELECT value FROM json_each(?))"
    numbers = json.dumps([key_number(unit.id) for unit in units])
    found = connection.execute(query, (numbers,)).fetchall()
    connection.executemany(
        "UPDATE documents SET units = units - 1 WHERE number = ?", [(document,) for _, document in found]
    )
    return [row for row, _ in found]


def insert(
    connection: sqlite3.Connection, units: Sequence[Unit], packed: Sequence[bytes], version: int
) -> None:
    """Put new units behind those that are there; ``packed`` are their bodies."""
    first = meta(connection, "next_row")
    documents = documents_of(units)
    (last,) = connection.execute("SELECT coalesce(max(number), 0) FROM documents").fetchone()
    numbers = {source: number for number, source in enumerate(documents, last + 1)}
    connection.executemany(
        "INSERT INTO documents (number, source, digest, path, units) VALUES (?, ?, ?, ?, ?)",
        [(numbers[source], source, *document) for source, document in documents.items()],
    )
    connection.executemany(
        "INSERT INTO units (row, document, id_number, body) VALUES (?, ?, ?, ?)",
        [
            (first + place, numbers[unit.source], key_number(unit.id), body)
            for place, (unit, body) in enumerate(zip(units, packed, strict=True))
        ],
    )
    connection.executemany("INSERT OR IGNORE INTO names VALUES (?, ?, ?, ?)", name_rows(units, first))
    lengths = _insert_postings(connection, units, first)
    vectors = np.stack([np.asarray(unit.vector, dtype=np.float32) for unit in units])
    _append_blocks(connection, first, lengths + 1, vectors, version)
    set_meta(connection, "next_row", first + len(units))
    raise_meta(connection, "live", len(units))
    raise_meta(connection, "pending", len(units))


def meta(connection: sqlite3.Connection, key: str) -> int:
    """Return a counter of the store."""
    return int(connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()[0])


def set_meta(connection: sqlite3.Connection, key: str, value: int) -> None:
    """Change a counter of the store."""
    connection.execute("UPDATE meta SET value = ? WHERE key = ?", (value, key))


def raise_meta(connection: sqlite3.Connection, key: str, by: int = 1) -> int:
    """Add to a counter of the store; return what it is then."""
    value = meta(connection, key) + by
    set_meta(connection, key, value)
    return value


def rows_of(connection: sqlite3.Connection, sources: Sequence[str]) -> list[int]:
    """Return the rows of the units of these sources."""
    query = "SELECT u.row FROM units u JOIN documents d ON d.number = u.document WHERE d.source = ?"
    return [row for source in sources for (row,) in connection.execute(query, (source,))]


def remove(connection: sqlite3.Connection, rows: Sequence[int], version: int) -> None:
    """Take units out; what names and postings hold of them is passed over until ``optimize`` clears it."""
    gone = sorted(set(rows))
    if not gone:
        return
    connection.executemany("DELETE FROM units WHERE row = ?", [(row,) for row in gone])
    by_block: dict[int, list[int]] = {}
    for row in gone:
        by_block.setdefault(row // BLOCK, []).append(row % BLOCK)
    for block, places in by_block.items():
        (data,) = connection.execute("SELECT data FROM lengths WHERE block = ?", (block,)).fetchone()
        lengths = np.frombuffer(data, dtype="<u4").copy()
        lengths[places] = 0
        connection.execute(
            "UPDATE lengths SET data = ?, version = ? WHERE block = ?", (lengths.tobytes(), version, block)
        )
    raise_meta(connection, "live", -len(gone))


class _TermNumbers(dict[str, int]):
    """The number of each word's term, given as words come; -1 for a function word, which has none."""

    def __init__(self) -> None:
        super().__init__()
        self.terms: dict[str, int] = {}

    def of(self, term: str) -> int:
        """Return the number of a term."""
        return self.terms.setdefault(term, len(self.terms))

    def __missing__(self, word: str) -> int:
        term = term_of(word)
        number = self[word] = self.of(term) if term else -1
        return number


def _insert_postings(connection: sqlite3.Connection, units: Sequence[Unit], first: int) -> NDArray[np.uint32]:
    """Write the postings of new units as one segment; return how many terms each unit has.

    Terms are counted by sorting numbers, for all units at once: counting each unit by itself took twice the
    time, a quarter of all that indexing takes.
    """
    numbers = _TermNumbers()
    held: list[int] = []
    sizes: list[int] = []
    for unit in units:
        words = all_words(encoded_text(unit.title, unit.text))
        found = list(map(numbers.__getitem__, words))
        if max(found, default=0) < 0:  # function words alone: they are its terms
            found = [numbers.of(term) for term in terms_of(words)]
        sizes.append(len(found))
        held += found
    # In the order of the keys, which is that of the table.
    keys = word_numbers(numbers.terms)
    order = np.argsort(keys, kind="stable")
    places = np.empty(len(keys), dtype=np.int64)
    places[order] = np.arange(len(keys))
    every = np.array(held, dtype=np.int64)
    pairs = places[every] * len(units) + np.repeat(np.arange(len(units)), sizes)
    pairs, counts = np.unique(pairs[every >= 0], return_counts=True)
    counts = np.minimum(counts, MOST)
    of_term, unit_of = np.divmod(pairs, len(units))
    starts = np.searchsorted(of_term, np.arange(len(keys) + 1)).tolist()
    rows = (unit_of + first).astype("<u4").tobytes()
    times = counts.astype(np.uint8).tobytes()
    connection.executemany(
        "INSERT INTO fresh VALUES (?, ?, ?)",
        (
            (key, first, rows[4 * start : 4 * end] + times[start:end])
            for key, start, end in zip(keys[order].tolist(), starts, starts[1:], strict=False)
        ),
    )
    return np.bincount(unit_of, weights=counts, minlength=len(units)).astype("<u4")


def _append_blocks(
    connection: sqlite3.Connection,
    first: int,
    lengths: NDArray[np.uint32],
    vectors: NDArray[np.float32],
    version: int,
) -> None:
    """Put new rows behind those that are there; ``first`` is the first new row."""
    done = 0
    while done < len(lengths):
        block, offset = divmod(first + done, BLOCK)
        some = slice(done, done + BLOCK - offset)
        old = (b"", b"", b"")
        if offset:
            old = connection.execute(
                "SELECT l.data, v.data, v.signs FROM lengths l JOIN vectors v USING (block) WHERE block = ?",
                (block,),
            ).fetchone()
        data = old[1] + vectors[some].astype("<f2").tobytes()
        signs = old[2] + sign_bits(vectors[some]).tobytes()
        connection.execute(
            "INSERT OR REPLACE INTO lengths VALUES (?, ?, ?)",
            (block, version, old[0] + lengths[some].astype("<u4").tobytes()),
        )
        connection.execute(
            "INSERT OR REPLACE INTO vectors VALUES (?, ?, ?, ?, ?)",
            (block, version, zlib.crc32(signs, zlib.crc32(data)), data, signs),
        )
        done += len(lengths[some])


def join_segments(connection: sqlite3.Connection, new_rows: NDArray[np.int64] | None = None) -> None:
    """Put fresh segments behind the postings of their terms.

    ``new_rows`` gives each row's new number, or -1 where its unit is gone; None where numbers stay. Then what
    dead rows left stays as well: readers pass over it.
    """
    find = "SELECT data FROM postings WHERE term = ?"
    if new_rows is not None:
        for (term,) in connection.execute("SELECT term FROM postings").fetchall():
            (data,) = connection.execute(find, (term,)).fetchone()
            _write_postings(connection, term, _renumbered([data], new_rows))
    first = connection.execute("SELECT 1 FROM postings LIMIT 1").fetchone() is None
    # ``fresh`` is not written meanwhile, so that one cursor can walk it.
    fresh = connection.execute("SELECT term, data FROM fresh ORDER BY term, segment")
    for term, segments in groupby(fresh, key=itemgetter(0)):
        parts = [data for _, data in segments]
        if new_rows is not None:
            parts = [_renumbered(parts, new_rows)]
        old = None if first else connection.execute(find, (term,)).fetchone()
        _write_postings(connection, term, _joined(parts if old is None else [old[0], *parts]))
    connection.execute("DELETE FROM fresh")


def _renumbered(parts: Sequence[bytes], new_rows: NDArray[np.int64]) -> bytes:
    """Return one segment for these, with the new numbers of the rows that are left."""
    pieces = [split_postings(part) for part in parts]
    rows = new_rows[np.concatenate([rows for rows, _ in pieces])]
    counts = np.concatenate([counts for _, counts in pieces])
    return bytes(rows[rows >= 0].astype("<u4").tobytes() + counts[rows >= 0].tobytes())


def _joined(parts: Sequence[bytes]) -> bytes:
    """Return one segment for these, whose rows follow each other; bytes are only moved."""
    if len(parts) == 1:
        return parts[0]
    sizes = [4 * (len(part) // 5) for part in parts]
    rows = [part[:size] for part, size in zip(parts, sizes, strict=True)]
    return b"".join([*rows, *(part[size:] for part, size in zip(parts, sizes, strict=True))])


def _write_postings(connection: sqlite3.Connection, term: int, data: bytes) -> None:
    if data:
        connection.execute("INSERT OR REPLACE INTO postings VALUES (?, ?)", (term, data))
    else:
        connection.execute("DELETE FROM postings WHERE term = ?", (term,))


def renumber(connection: sqlite3.Connection, dimension: int) -> None:
    """Give all rows new numbers, without gaps, so that dead rows take no space."""
    version = raise_meta(connection, "version")
    raise_meta(connection, "epoch")
    every, vectors = _every(connection, "lengths", "<u4"), _every(connection, "vectors", "<f2")
    alive = every > 0
    new_rows = np.where(alive, np.cumsum(alive) - 1, -1)
    kept = vectors.reshape(-1, dimension)[alive]
    # In ascending order every new number is free by the time it is given.
    connection.executemany(
        "UPDATE units SET row = ? WHERE row = ?", enumerate(np.flatnonzero(alive).tolist())
    )
    names = connection.execute("SELECT number, exactness, position, row FROM names").fetchall()
    connection.execute("DELETE FROM names")
    connection.executemany(
        "INSERT INTO names VALUES (?, ?, ?, ?)",
        sorted((a, b, c, int(new_rows[row])) for a, b, c, row in names),
    )
    join_segments(connection, new_rows)
    connection.execute("DELETE FROM lengths")
    connection.execute("DELETE FROM vectors")
    _append_blocks(connection, 0, every[alive], kept.astype(np.float32), version)
    set_meta(connection, "next_row", len(kept))


def _every(connection: sqlite3.Connection, table: str, kind: str) -> NDArray[Any]:
    blocks = connection.execute(f"SELECT data FROM {table} ORDER BY block")  # noqa: S608
    return np.concatenate([np.frombuffer(data, dtype=kind) for (data,) in blocks])
