"""What a corpus is in PostgreSQL: its tables, its ranking function, migrations, and who may do what.

=========  ==========================================================================================
corpus     one row: schema version, encoder, dimension, version of the analysis, place among shards, counters
documents  one row a document: source, path, digest, number of units
units      one row a unit: its document, a hash of its id, its terms, and everything else, compressed
vectors    the float16 vector of each unit, with an HNSW index once there are many
names      the numbers of each unit's title keys (``pagerag.text.keys``), for look-up by name
postings   for each term the units that hold it, in runs: unit · 2**32 + length of the unit · 2**8 + count
files      the ledger
=========  ==========================================================================================

A write takes the row of ``corpus`` first. So writers take turns at the database, unit numbers grow in the
order of commits, runs of postings never overlap, and counters are exact.
"""

from __future__ import annotations

import re
from typing import Any

from pagerag.errors import InputError
from pagerag.store.bm25 import K1, B

MIGRATION_LOCK = 0x50524147  # an advisory lock's number: one migrates at a time

RUN = 200
"""Postings of a row once ``optimize`` has joined runs; larger rows PostgreSQL would store apart."""

LONGEST = (1 << 24) - 1
"""The most terms that a posting can tell of its unit."""

_TABLES = """
CREATE TABLE corpus (
    single boolean PRIMARY KEY DEFAULT true CHECK (single),
    schema int4 NOT NULL, encoder text NOT NULL, dimension int4 NOT NULL, analysis int4 NOT NULL,
    identity int8 NOT NULL, shard int4 NOT NULL, shards int4 NOT NULL,
    version int8 NOT NULL DEFAULT 0, live int8 NOT NULL DEFAULT 0, length int8 NOT NULL DEFAULT 0,
    next_unit int4 NOT NULL DEFAULT 0, pending int8 NOT NULL DEFAULT 0);
CREATE TABLE documents (
    number int4 PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    source text NOT NULL, path text NOT NULL, digest text NOT NULL, units int4 NOT NULL);
CREATE INDEX documents_source ON documents USING hash (source);
CREATE TABLE units (
    unit int4 PRIMARY KEY, document int4 NOT NULL, id_number int8 NOT NULL, length int4 NOT NULL,
    terms int8[] NOT NULL, body bytea NOT NULL);
ALTER TABLE units ALTER body SET STORAGE EXTERNAL;
CREATE INDEX units_document ON units (document);
CREATE INDEX units_id ON units (id_number);
CREATE TABLE vectors (unit int4 PRIMARY KEY, vector halfvec({dimension}) NOT NULL);
ALTER TABLE vectors ALTER vector SET STORAGE PLAIN;
CREATE TABLE names (
    number int8 NOT NULL, exactness int4 NOT NULL, position int4 NOT NULL, unit int4 NOT NULL,
    PRIMARY KEY (number, exactness, position, unit));
CREATE INDEX names_unit ON names (unit);
CREATE TABLE postings (
    term int8 NOT NULL, first int4 NOT NULL, last int4 NOT NULL, entries int8[] NOT NULL,
    PRIMARY KEY (term, first));
CREATE TABLE files (
    path text NOT NULL, digest text NOT NULL, status text NOT NULL, documents int4 NOT NULL,
    units int4 NOT NULL, size int8 NOT NULL, original text);
CREATE INDEX files_path ON files USING hash (path);
"""

# Every number is a float8: with a bare 0.3 the sum would be one of decimals, ten times as slow.
_COUNT = "(e & 255)::float8"
_NORM = f"{K1 * (1 - B)}::float8 + slope * ((e >> 8) & {LONGEST})::float8"
_GAIN = f"q.weight * {_COUNT} / ({_COUNT} + {_NORM})"

# Terms are taken by falling weight. As soon as the last of the best so far is above what all terms that are
# left can add together, no new unit can come in: the long runs of common words are read only for the units
# that are still in question (MaxScore, after Turtle and Flood), as ``bm25.rank_lists`` does in memory.
# ``size``, ``mean`` and ``dfs`` are those of the whole corpus where this database is a shard of it.
_FUNCTIONS = f"""
CREATE OR REPLACE FUNCTION document_frequencies(terms int8[]) RETURNS int8[] LANGUAGE sql STABLE AS $$
    SELECT array_agg(coalesce(
        (SELECT sum(cardinality(p.entries)) FROM postings p WHERE p.term = q.term), 0)::int8 ORDER BY place)
    FROM unnest(terms) WITH ORDINALITY AS q(term, place)
$$;
CREATE OR REPLACE FUNCTION rank_text(
    terms int8[], counts int4[], most int4, size float8, mean float8, dfs int8[])
RETURNS TABLE (unit int4, score float4) LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_variable
DECLARE
    ordered int8[]; weights float8[]; sizes int8[]; count int4; done int4 := 0; upto int4 := 1; read int8;
    held int4[]; scores float8[]; bottom float8; rest float8; slope float8;
BEGIN
    IF dfs IS NULL THEN
        dfs := document_frequencies(terms);
        SELECT c.live, c.length::float8 / greatest(c.live, 1) INTO size, mean FROM corpus c;
    END IF;
    slope := {K1 * B}::float8 / CASE WHEN mean > 0 THEN mean ELSE 1 END;
    SELECT array_agg(x.term ORDER BY x.weight DESC, x.term),
           array_agg(x.weight ORDER BY x.weight DESC, x.term), array_agg(x.df ORDER BY x.weight DESC, x.term)
        INTO ordered, weights, sizes
        FROM (SELECT q.term, q.df, q.count * {K1 + 1}::float8 * ln(1 + (size - q.df + 0.5::float8)
                                                                     / (q.df + 0.5::float8)) AS weight
              FROM unnest(terms, counts, dfs) AS q(term, count, df) WHERE q.df > 0) x;
    count := coalesce(cardinality(ordered), 0);
    IF count = 0 OR most <= 0 THEN RETURN; END IF;
    read := sizes[1];
    WHILE upto < count AND read < 4 * most LOOP upto := upto + 1; read := read + sizes[upto]; END LOOP;
    LOOP
        SELECT array_agg(y.u), array_agg(y.s) INTO held, scores FROM (
            SELECT x.u, sum(x.s) AS s FROM (
                SELECT h.u, h.s FROM unnest(held, scores) AS h(u, s)
                UNION ALL
                SELECT (e >> 32)::int4, {_GAIN}
                FROM unnest(ordered[done + 1 : upto], weights[done + 1 : upto]) AS q(term, weight)
                JOIN postings p ON p.term = q.term CROSS JOIN LATERAL unnest(p.entries) AS e
            ) x GROUP BY x.u) y;
        done := upto;
        EXIT WHEN done = count;
        SELECT s INTO bottom FROM unnest(scores) AS s ORDER BY s DESC OFFSET most - 1 LIMIT 1;
        IF bottom IS NULL THEN upto := done + 1; CONTINUE; END IF;
        LOOP
            SELECT coalesce(sum(w), 0) + 1e-6 INTO rest FROM unnest(weights[upto + 1 :]) AS w;
            EXIT WHEN rest < bottom OR upto = count;
            upto := upto + 1;
        END LOOP;
        EXIT WHEN upto = done;
    END LOOP;
    IF done = count THEN
        RETURN QUERY
            SELECT h.u, h.s::float4 FROM unnest(held, scores) AS h(u, s) ORDER BY 2 DESC, 1 LIMIT most;
        RETURN;
    END IF;
    RETURN QUERY
        WITH open AS MATERIALIZED (
            SELECT h.u, h.s FROM unnest(held, scores) AS h(u, s) WHERE h.s + rest >= bottom)
        SELECT x.u, sum(x.s)::float4 FROM (
            SELECT open.u, open.s FROM open
            UNION ALL
            SELECT open.u, {_GAIN}
            FROM unnest(ordered[done + 1 :], weights[done + 1 :]) AS q(term, weight)
            JOIN postings p ON p.term = q.term CROSS JOIN LATERAL unnest(p.entries) AS e
            JOIN open ON open.u = (e >> 32)::int4
        ) x GROUP BY x.u ORDER BY 2 DESC, 1 LIMIT most;
END $$;
CREATE OR REPLACE FUNCTION remove_units(gone int4[]) RETURNS int8 LANGUAGE plpgsql AS $$
DECLARE taken int8[]; removed int8; lost int8;
BEGIN
    SELECT array_agg(DISTINCT t), count(DISTINCT u.unit) INTO taken, removed
        FROM units u LEFT JOIN LATERAL unnest(u.terms) AS t ON true WHERE u.unit = ANY (gone);
    UPDATE postings p SET entries = x.kept FROM (
        SELECT r.term, r.first,
               ARRAY(SELECT e FROM unnest(r.entries) AS e LEFT JOIN unnest(gone) AS g ON g = (e >> 32)::int4
                     WHERE g IS NULL ORDER BY e) AS kept
        FROM (SELECT DISTINCT s.term, s.first, s.entries FROM units u CROSS JOIN LATERAL unnest(u.terms) AS t
              JOIN postings s ON s.term = t AND s.first <= u.unit AND s.last >= u.unit
              WHERE u.unit = ANY (gone)) r) x
        WHERE p.term = x.term AND p.first = x.first;
    DELETE FROM postings WHERE term = ANY (taken) AND entries = '{{}}';
    UPDATE documents d SET units = d.units - x.n FROM (
        SELECT u.document, count(*) AS n FROM units u WHERE u.unit = ANY (gone) GROUP BY 1) x
        WHERE d.number = x.document;
    SELECT coalesce(sum(length), 0) INTO lost FROM units WHERE unit = ANY (gone);
    DELETE FROM vectors WHERE unit = ANY (gone);
    DELETE FROM names WHERE unit = ANY (gone);
    DELETE FROM units WHERE unit = ANY (gone);
    UPDATE corpus SET live = live - removed, length = length - lost;
    RETURN removed;
END $$;
"""  # noqa: S608

JOIN_RUNS = f"""
WITH short AS (
    SELECT term FROM postings GROUP BY term
    HAVING count(*) > 1 AND count(*) > 2 * ceil(sum(cardinality(entries)) / {RUN}.0)),
gone AS (DELETE FROM postings p USING short WHERE p.term = short.term RETURNING p.term, p.entries),
placed AS (
    SELECT g.term, e, (row_number() OVER (PARTITION BY g.term ORDER BY e) - 1) / {RUN} AS run
    FROM gone g CROSS JOIN LATERAL unnest(g.entries) AS e)
INSERT INTO postings SELECT term, (min(e) >> 32)::int4, (max(e) >> 32)::int4, array_agg(e ORDER BY e)
FROM placed GROUP BY term, run
"""  # noqa: S608
"""One statement that joins the runs of terms that have twice as many as they need."""

MIGRATIONS: tuple[str, ...] = (_TABLES, _FUNCTIONS)
"""Step n leads from schema version n to n + 1; ``{dimension}`` is the size of the vectors. Steps that were
released never change."""

SCHEMA_VERSION = len(MIGRATIONS)


def check_name(name: str, what: str = "schema") -> str:
    """Return a name that stands in statements as it is; others are refused."""
    if not re.fullmatch(r"[a-z_][a-z0-9_]{0,62}", name):
        raise InputError(f"{name!r} cannot be the name of a {what}: small letters, digits and '_'")
    return name


def grants(schema: str = "pagerag", *, reader: str = "pagerag_reader", writer: str = "pagerag_writer") -> str:
    """Return the statements by which the owner of a corpus lets one role read and another write.

    A reader may read and nothing else. A writer may add, replace and delete documents; it may not change the
    tables or drop them, and leaves building the HNSW index to the owner.
    """
    schema, reader, writer = check_name(schema), check_name(reader, "role"), check_name(writer, "role")
    return (
        f"GRANT USAGE ON SCHEMA {schema} TO {reader}, {writer};\n"
        f"GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO {reader}, {writer};\n"
        f"GRANT INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {schema} TO {writer};\n"
        f"GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA {schema} TO {reader}, {writer};\n"
    )


def stored_version(connection: Any, schema: str) -> int:
    """Return the schema version of the corpus in this schema; 0 where there is none."""
    # Not to_regclass: it may tell what was so before this transaction waited for a lock.
    there = connection.execute(
        "SELECT 1 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
        "WHERE n.nspname = %s AND c.relname = 'corpus'",
        (schema,),
    ).fetchone()
    if there is None:
        return 0
    row = connection.execute(f"SELECT schema FROM {schema}.corpus").fetchone()  # noqa: S608
    return int(row[0]) if row else 0


def migrated(connection: Any, schema: str) -> bool:
    """Bring a corpus up to date; return whether there is one. One caller at a time."""
    if stored_version(connection, schema) >= SCHEMA_VERSION:
        return True
    connection.execute("SELECT pg_advisory_xact_lock(%s)", (MIGRATION_LOCK,))
    version = stored_version(connection, schema)
    if 0 < version < SCHEMA_VERSION:
        for step in MIGRATIONS[version:]:
            connection.execute(step)
        connection.execute("UPDATE corpus SET schema = %s", (SCHEMA_VERSION,))
    return version > 0
