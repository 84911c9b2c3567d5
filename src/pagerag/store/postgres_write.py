"""Writing to PostgreSQL: what one upsert puts into one database, and the index of its vectors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import astuple
from typing import Any, NamedTuple

import numpy as np

from pagerag.store.bm25 import counted
from pagerag.store.postgres_database import Half
from pagerag.store.postgres_schema import LONGEST, MIGRATION_LOCK
from pagerag.store.postgres_snapshot import escaped
from pagerag.store.schema import FILE_COLUMNS, documents_of, name_rows, pack_unit
from pagerag.text.keys import key_number
from pagerag.text.terms import encoded_text
from pagerag.units import FileRecord, Unit

EXACT_BELOW = 5_000
"""From this many units on, ``optimize`` builds the HNSW index; below, every vector is compared."""

_ROWS_OF_SOURCES = (
    "SELECT u.unit FROM units u JOIN documents d ON d.number = u.document WHERE d.source = ANY (%s)"
)


class Done(NamedTuple):
    """The version that a write made (0 where there was nothing to do), and how many units went by it."""

    version: int = 0
    removed: int = 0


def _next_version(connection: Any) -> tuple[int, int]:
    """Take the turn of writing; return the new version and the number of the next unit."""
    row = connection.execute(
        "UPDATE corpus SET version = version + 1 RETURNING version, next_unit"
    ).fetchone()
    return int(row[0]), int(row[1])


def remove(sources: Sequence[str], connection: Any) -> Done:
    """Remove the units of these sources."""
    mine = [escaped(source) for source in sources]
    if not mine or connection.execute(_ROWS_OF_SOURCES, (mine,)).fetchone() is None:
        return Done()
    version, _ = _next_version(connection)
    numbers = [row[0] for row in connection.execute(_ROWS_OF_SOURCES, (mine,))]
    removed = connection.execute("SELECT remove_units(%s::int4[])", (numbers,)).fetchone()[0]
    connection.execute("DELETE FROM documents WHERE source = ANY (%s)", (mine,))
    return Done(version, removed)


def write_files(records: Sequence[FileRecord], gone: Sequence[str], connection: Any) -> Done:
    """Strike the files ``gone`` from the ledger, then enter ``records``."""
    version, _ = _next_version(connection)
    connection.execute("DELETE FROM files WHERE path = ANY (%s)", ([escaped(path) for path in gone],))
    connection.cursor().executemany(
        f"INSERT INTO files ({FILE_COLUMNS}) VALUES (%s, %s, %s, %s, %s, %s, %s)",  # noqa: S608
        [[escaped(one) if isinstance(one, str) else one for one in astuple(record)] for record in records],
    )
    return Done(version)


def build_index(connection: Any) -> None:
    """Build the HNSW index where it is due, without keeping writers away; refresh the planner's statistics.

    Only the owner of a table can. One build at a time; a build that was cut short is taken away first.
    """
    connection.execute("SET statement_timeout = 0")
    try:
        (owner,) = connection.execute(
            "SELECT pg_has_role(c.relowner, 'USAGE') FROM pg_class c WHERE c.oid = 'vectors'::regclass"
        ).fetchone()
        if (
            not owner
            or not connection.execute("SELECT pg_try_advisory_lock(%s)", (MIGRATION_LOCK + 1,)).fetchone()[0]
        ):
            return
        try:
            connection.execute("VACUUM (ANALYZE) units, documents, names, postings, vectors")
            (live,) = connection.execute("SELECT live FROM corpus").fetchone()
            row = connection.execute(
                "SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass('vectors_near')"
            ).fetchone()
            if row is not None and not row[0]:
                connection.execute("DROP INDEX CONCURRENTLY vectors_near")
                row = None
            if row is None and live >= EXACT_BELOW:
                connection.execute("SET maintenance_work_mem = '512MB'")
                connection.execute(
                    "CREATE INDEX CONCURRENTLY vectors_near ON vectors USING hnsw (vector halfvec_ip_ops) "
                    "WITH (m = 16, ef_construction = 100)"
                )
        finally:
            connection.execute("SELECT pg_advisory_unlock(%s)", (MIGRATION_LOCK + 1,))
    finally:
        connection.close()  # with its settings


class Batch:
    """What one upsert writes into one database; everything is computed before the transaction begins."""

    def __init__(self, units: Sequence[Unit], sources: Sequence[str], ids: Sequence[int]) -> None:
        self.units, self.ids = units, list(ids)
        self.sources = [escaped(source) for source in sources]
        self.packed = [pack_unit(unit) for unit in units]
        self.terms = [
            {key_number(term): count for term, count in counted(encoded_text(unit.title, unit.text)).items()}
            for unit in units
        ]
        self.lengths = [min(sum(counts.values()), LONGEST) for counts in self.terms]

    def write(self, connection: Any) -> Done:
        """Replace the units of the sources, and those that have an id of the new ones elsewhere."""
        elsewhere = "SELECT unit FROM units WHERE id_number = ANY (%s)"
        if not self.sources and not connection.execute(elsewhere, (self.ids,)).fetchone():
            return Done()
        version, first = _next_version(connection)
        rows = connection.execute(
            f"{_ROWS_OF_SOURCES} UNION {elsewhere}", (self.sources, self.ids)
        ).fetchall()
        if rows:
            connection.execute("SELECT remove_units(%s::int4[])", ([row[0] for row in rows],))
        connection.execute("DELETE FROM documents WHERE source = ANY (%s)", (self.sources,))
        if self.units:
            self._insert(connection, first)
        return Done(version)

    def _insert(self, connection: Any, first: int) -> None:
        rows = [
            (escaped(source), escaped(path), escaped(digest), units)
            for source, (digest, path, units) in documents_of(self.units).items()
        ]
        numbers = dict(
            connection.execute(
                "INSERT INTO documents (source, path, digest, units) SELECT * FROM unnest(%s::text[], "
                "%s::text[], %s::text[], %s::int4[]) RETURNING source, number",
                [list(column) for column in zip(*rows, strict=True)],
            ).fetchall()
        )
        _copy(
            connection,
            "units (unit, document, id_number, length, terms, body)",
            ("int4", "int4", "int8", "int4", "int8[]", "bytea"),
            (
                (number, numbers[escaped(unit.source)], key_number(unit.id), length, list(terms), body)
                for number, (unit, length, terms, body) in enumerate(
                    zip(self.units, self.lengths, self.terms, self.packed, strict=True), first
                )
            ),
        )
        half = connection.execute("SELECT 'halfvec'::regtype::oid").fetchone()[0]
        vectors = np.stack([np.asarray(unit.vector, dtype=np.float32) for unit in self.units])
        _copy(
            connection,
            "vectors (unit, vector)",
            ("int4", half),
            ((number, Half(row)) for number, row in enumerate(vectors, first)),
        )
        _copy(
            connection,
            "names (number, exactness, position, unit)",
            ("int8", "int4", "int4", "int4"),
            name_rows(self.units, first),
        )
        runs: dict[int, list[int]] = {}
        for number, (terms, length) in enumerate(zip(self.terms, self.lengths, strict=True), first):
            base = number << 32 | length << 8
            for term, count in terms.items():
                runs.setdefault(term, []).append(base | count)
        _copy(
            connection,
            "postings (term, first, last, entries)",
            ("int8", "int4", "int4", "int8[]"),
            ((term, runs[term][0] >> 32, runs[term][-1] >> 32, runs[term]) for term in sorted(runs)),
        )
        connection.execute(
            "UPDATE corpus SET next_unit = %s, live = live + %s, length = length + %s, "
            "pending = pending + %s",
            (first + len(self.units), len(self.units), sum(self.lengths), len(self.units)),
        )


def _copy(connection: Any, table: str, types: Sequence[Any], rows: Iterable[tuple[Any, ...]]) -> None:
    with connection.cursor().copy(f"COPY {table} FROM STDIN (FORMAT BINARY)") as copy:
        copy.set_types(types)
        for row in rows:
            copy.write_row(row)
