"""Writing to PostgreSQL: what one upsert puts into one database, and the index of its vectors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from pagerag.store.bm25 import counted
from pagerag.store.postgres_database import Half
from pagerag.store.postgres_schema import LONGEST, MIGRATION_LOCK
from pagerag.store.postgres_snapshot import escaped
from pagerag.store.schema import id_number, pack_unit
from pagerag.text.keys import key_number, name_numbers
from pagerag.text.terms import encoded_text
from pagerag.units import Unit

EXACT_BELOW = 5_000
"""From this many units on, ``optimize`` builds the HNSW index; below, every vector is compared."""

ROWS_OF_SOURCES = (
    "SELECT u.unit FROM units u JOIN documents d ON d.number = u.document WHERE d.source = ANY (%s)"
)


def next_version(connection: Any) -> tuple[int, int]:
    """Take the turn of writing; return the new version and the number of the next unit."""
    row = connection.execute(
        "UPDATE corpus SET version = version + 1 RETURNING version, next_unit"
    ).fetchone()
    return int(row[0]), int(row[1])


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

    def write(self, connection: Any) -> int:
        """Replace the units of the sources; return the version that this made."""
        elsewhere = "SELECT unit FROM units WHERE id_number = ANY (%s)"
        if not self.sources and not connection.execute(elsewhere, (self.ids,)).fetchone():
            return 0
        version, first = next_version(connection)
        rows = connection.execute(f"{ROWS_OF_SOURCES} UNION {elsewhere}", (self.sources, self.ids)).fetchall()
        if rows:
            connection.execute("SELECT remove_units(%s::int4[])", ([row[0] for row in rows],))
        connection.execute("DELETE FROM documents WHERE source = ANY (%s)", (self.sources,))
        if self.units:
            self._insert(connection, first)
        return version

    def _insert(self, connection: Any, first: int) -> None:
        documents: dict[str, list[Any]] = {}
        for unit in self.units:
            document = documents.setdefault(unit.source, [unit.path, unit.digest, 0])
            document[2] += 1
        numbers = dict(
            connection.execute(
                "INSERT INTO documents (source, path, digest, units) SELECT * FROM unnest(%s::text[], "
                "%s::text[], %s::text[], %s::int4[]) RETURNING source, number",
                (
                    [escaped(source) for source in documents],
                    [escaped(path) for path, _, _ in documents.values()],
                    [digest for _, digest, _ in documents.values()],
                    [count for _, _, count in documents.values()],
                ),
            ).fetchall()
        )
        _copy(
            connection,
            "units (unit, document, id_number, length, terms, body)",
            ("int4", "int4", "int8", "int4", "int8[]", "bytea"),
            (
                (first + place, numbers[escaped(unit.source)], id_number(unit.id), length, list(terms), body)
                for place, (unit, length, terms, body) in enumerate(
                    zip(self.units, self.lengths, self.terms, self.packed, strict=True)
                )
            ),
        )
        half = connection.execute("SELECT 'halfvec'::regtype::oid").fetchone()[0]
        vectors = np.stack([np.asarray(unit.vector, dtype=np.float32) for unit in self.units])
        _copy(
            connection,
            "vectors (unit, vector)",
            ("int4", half),
            ((first + place, Half(row)) for place, row in enumerate(vectors)),
        )
        _copy(
            connection,
            "names (number, exactness, position, unit)",
            ("int8", "int4", "int4", "int4"),
            (
                (number, exactness, unit.position, first + place)
                for place, unit in enumerate(self.units)
                for exactness, number in enumerate(name_numbers(unit.title, unit.names))
            ),
        )
        runs: dict[int, list[int]] = {}
        for place, (terms, length) in enumerate(zip(self.terms, self.lengths, strict=True)):
            base = (first + place) << 32 | length << 8
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
