"""A corpus in PostgreSQL with pgvector: for a team, with several writers, replicas and shards.

Lexical search is BM25 in the database, over a table of postings of our own terms: exact, and the same scores
as in memory (PostgreSQL's ``ts_rank`` is another measure). Dense search compares all vectors of a small
corpus, and goes through an HNSW index of float16 vectors in a large one.

``location`` is one address, or several: then documents are spread over the databases by a hash of their
source, every search asks all of them, and BM25 weighs terms by how common they are in all of them together.
"""

from __future__ import annotations

import re
import secrets
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from typing import Any, TypeVar

from pagerag.errors import StoreError, StoreMismatchError
from pagerag.protocols import Encoder
from pagerag.store.base import SqlCorpus
from pagerag.store.postgres_database import Database, Lent
from pagerag.store.postgres_schema import JOIN_RUNS, MIGRATIONS, SCHEMA_VERSION, migrated, stored_version
from pagerag.store.postgres_snapshot import PostgresSnapshot, at_once, unescaped
from pagerag.store.postgres_write import Batch, Done, build_index, remove, write_files
from pagerag.store.problems import check_schema, no_store
from pagerag.store.recent import UnitCache
from pagerag.text.keys import key_number, word_number
from pagerag.units import ANALYSIS_VERSION, FileRecord, StoreStats, Unit

S = TypeVar("S")
T = TypeVar("T")

_BETWEEN = re.compile(r"(?<![\s,])[\s,]++(?=postgres(?:ql)?://)")
_IDENTITY = "SELECT schema, encoder, dimension, analysis, identity, shard, shards FROM corpus"


def addresses(location: str) -> list[str]:
    """Return the addresses of a location: one, or one for each shard."""
    return [one for one in _BETWEEN.split(location.strip()) if one]


def exists(location: str) -> bool:
    """Return whether any of the databases holds a corpus."""
    for address in addresses(location):
        with closing(Database(address)) as database:
            if database.look(partial(stored_version, schema=database.address.schema)):
                return True
    return False


def migrate(location: str) -> None:
    """Bring the corpus of an older pagerag up to date, as its owner; one that is not there stays so."""
    for address in addresses(location):
        with closing(Database(address)) as database:
            database.write("migrating", partial(migrated, schema=database.address.schema))


class PostgresCorpus(SqlCorpus):
    """The contract ``pagerag.protocols.Corpus`` over one database or several.

    Of several, each document lies in one; an ``upsert`` of documents of several databases is atomic for each
    document. Do not use one object on both sides of a fork.
    """

    def __init__(self, location: str, encoder: Encoder | None = None, *, create: bool = False) -> None:
        super().__init__(encoder, create=create)
        self._databases = [Database(one) for one in addresses(location)]
        self.location = ",".join(one.shown for one in self._databases)
        self.kept = UnitCache()
        self._seen = [0] * len(self._databases)
        self._lock = threading.Lock()  # guards _seen
        several = len(self._databases) > 1
        self.executor = ThreadPoolExecutor(4 * len(self._databases)) if several else None
        try:
            if create and encoder is not None:
                self._everywhere(lambda place, one: self._prepare(place, one, encoder))
            rows = self._everywhere(self._identified)
            if any(row[1:3] != rows[0][1:3] for row in rows):
                raise StoreMismatchError(
                    f"the databases of {self.location} were made with different encoders"
                )
            _, self.encoder_name, self.dimension, self._analysis, *_ = rows[0]
            self._check_encoder()
        except BaseException:
            self.close()
            raise

    def _everywhere(self, work: Callable[[int, Database], T]) -> list[T]:
        """Return what ``work`` gives for each database, all at the same time."""
        return at_once(self.executor, work, self._databases)

    def _spread(self, subjects: Sequence[S], source: Callable[[S], str] = str) -> list[list[S]]:
        """Return the subjects that belong into each database, by their sources."""
        parts: list[list[S]] = [[] for _ in self._databases]
        for one in subjects:
            parts[word_number(source(one)) % len(parts)].append(one)
        return parts

    # -- schema

    def _prepare(self, place: int, database: Database, encoder: Encoder) -> None:
        """Make the corpus of a database if it is not there, and bring an older one up to date."""
        schema = database.address.schema

        def work(connection: Any) -> None:
            if migrated(connection, schema):
                return
            encoding = connection.execute("SHOW server_encoding").fetchone()[0]
            if encoding != "UTF8":
                raise StoreError(
                    f"the database of {database.shown} is encoded in {encoding}; make one with ENCODING "
                    "'UTF8'"
                )
            connection.execute("CREATE EXTENSION IF NOT EXISTS vector SCHEMA public")
            if not connection.execute("SELECT to_regnamespace(%s)", (schema,)).fetchone()[0]:
                connection.execute(f"CREATE SCHEMA {schema}")
            where = connection.execute(
                "SELECT quote_ident(n.nspname) FROM pg_extension e JOIN pg_namespace n "
                "ON n.oid = e.extnamespace WHERE e.extname = 'vector'"
            ).fetchone()[0]
            connection.execute(f"SET LOCAL search_path = {schema}, {where}")
            for step in MIGRATIONS:
                connection.execute(step.replace("{dimension}", str(int(encoder.dimension))))
            made_for = (SCHEMA_VERSION, encoder.name, encoder.dimension, ANALYSIS_VERSION)
            connection.execute(
                "INSERT INTO corpus (schema, encoder, dimension, analysis, identity, shard, shards) "
                "VALUES (%s, %s, %s, %s, %s, %s, %s)",
                (*made_for, secrets.randbits(62), place, len(self._databases)),
            )

        database.write("preparing", work)
        # Connections that were made before the extension do not know its types.
        database.renew()

    def _identified(self, place: int, database: Database) -> tuple[Any, ...]:
        """Return what a database says it is; another schema version, and another place, are refused."""
        schema = database.address.schema
        version = database.look(partial(stored_version, schema=schema))
        if version == 0:
            raise no_store(database.shown)
        migrate = "migrate it by indexing as its owner: pagerag index PATH --store …"
        check_schema(database.shown, version, SCHEMA_VERSION, migrate)
        row: tuple[Any, ...] = database.look(lambda connection: connection.execute(_IDENTITY).fetchone())
        if (row[5], row[6]) != (place, len(self._databases)):
            raise StoreMismatchError(
                f"{database.shown} is database {row[5] + 1} of {row[6]} of its store, not {place + 1} of "
                f"{len(self._databases)}; name all of them, in their order"
            )
        return row

    # -- reading

    @contextmanager
    def snapshot(self) -> Iterator[PostgresSnapshot]:
        """Pin the latest state for as long as the block runs."""
        with ExitStack() as stack:
            lent = self._everywhere(lambda place, one: self._enter(stack, place, one))
            yield PostgresSnapshot(self, lent)

    def _enter(self, stack: ExitStack, place: int, database: Database) -> Lent:
        """Begin a read transaction; a replica that is behind what this object saw or wrote is passed over."""
        lent = stack.enter_context(database.pinned())
        if lent.row[0] < self._seen[place]:
            with database.told("reading"):
                lent = stack.enter_context(database.pinned(primary=True))
        with self._lock:
            self._seen[place] = lent.row[0]
        return lent

    def _rows(self, statement: str) -> list[tuple[Any, ...]]:
        """Return the rows of a statement in every database."""
        with self.snapshot() as now:
            rows = now.rows(statement)
        return [tuple(unescaped(one) if isinstance(one, str) else one for one in row) for row in rows]

    # -- writing

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Let a writer in, one of several; a role that may not write is told so before the work begins."""

        def allowed(connection: Any) -> bool:
            return bool(connection.execute("SELECT has_table_privilege('units', 'INSERT')").fetchone()[0])

        if not all(self._everywhere(lambda _, one: one.write("writing to", allowed))):
            raise StoreError(
                f"this role may only read the store {self.location}; write as its owner or as a role with "
                "the GRANTs in docs/stores.md"
            )
        yield

    def _replace(self, units: Sequence[Unit], sources: Sequence[str]) -> None:
        ids = [key_number(unit.id) for unit in units]
        parts = zip(self._spread(units, lambda unit: unit.source), self._spread(sources), strict=True)
        self._write("writing to", [Batch(*part, ids).write for part in parts])

    def _remove(self, sources: Sequence[str]) -> int:
        return self._write("deleting from", [partial(remove, mine) for mine in self._spread(sources)])

    def _write_files(self, records: Sequence[FileRecord], gone: Sequence[str]) -> None:
        parts = zip(self._spread(records, lambda record: record.path), self._spread(gone), strict=True)
        self._write("writing to", [partial(write_files, *part) if part[1] else None for part in parts])

    def _write(self, doing: str, works: Sequence[Callable[[Any], Done] | None]) -> int:
        """Do the work of each database in a transaction; return how many units they removed in all."""

        def write(place: int, database: Database) -> int:
            work = works[place]
            done = database.write(doing, work) if work else Done()
            with self._lock:
                self._seen[place] = max(self._seen[place], done.version)
            return done.removed

        return sum(self._everywhere(write))

    def optimize(self, *, final: bool = True) -> None:
        """Join runs of postings; at the end of a run of indexing, build the HNSW index of a large corpus."""

        def join(connection: Any) -> None:
            connection.execute("SELECT version FROM corpus FOR UPDATE")
            connection.execute(JOIN_RUNS)
            connection.execute("UPDATE corpus SET pending = 0")

        def work(_: int, database: Database) -> None:
            database.write("optimising", join)
            if final:
                database.write("optimising", build_index, atomic=False)

        self._everywhere(work)

    def pending(self) -> int:
        """Return how many units ``optimize`` has not seen yet; searches find them all the same."""
        return int(sum(row[0] for row in self._rows("SELECT pending FROM corpus")))

    def stats(self) -> StoreStats:
        """Return what the corpus holds."""
        rows = self._rows(
            "SELECT c.live, c.pending, c.version, (SELECT count(*) FROM documents), "
            "(SELECT sum(pg_total_relation_size(r.oid)) FROM pg_class r WHERE r.relkind = 'r' AND "
            "r.relnamespace = (SELECT relnamespace FROM pg_class WHERE oid = 'corpus'::regclass)), "
            "to_regclass('vectors_near') IS NOT NULL FROM corpus c"
        )
        live, pending, version, documents, size = (int(sum(row[n] for row in rows)) for n in range(5))
        return self._stats(
            schema_version=SCHEMA_VERSION,
            units=live,
            documents=documents,
            size_bytes=size,
            search="approximate" if any(row[5] for row in rows) else "exact",
            unindexed=pending,
            version=version,
            analysis_current=self._analysis == ANALYSIS_VERSION,
        )

    def verify(self) -> list[str]:
        """Read everything and return what is damaged, one sentence each; empty when all is sound."""
        from pagerag.store.verify import postgres_problems

        found: list[str] = []
        for database in self._databases:
            with database.pinned() as lent:
                found += postgres_problems(lent)
        return found

    def close(self) -> None:
        """Close the connections; the object is of no use afterwards."""
        for database in self._databases:
            database.close()
        if self.executor is not None:
            self.executor.shutdown(wait=False)
