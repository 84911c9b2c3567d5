"""The embedded store: one SQLite file in a folder, from the standard library alone.

Every write is one transaction of SQLite's write-ahead log, synced before it returns. Readers pin a version by
a read transaction and are not disturbed by a writer. Terms, names and vectors are in the same file, so that
no crash can leave them apart.

Lexical search keeps posting lists in a table and ranks them with ``bm25.rank_lists``. FTS5, the full-text
engine that SQLite carries, was measured first (``pagerag_lab.benchmarks.scale --fts5``): its bm25() takes
24 ms of processor time for a question over 100,000 passages where the lists take 2 (follow-up search asks
thirteen times a question), and its idf is zero for a term that half of the units hold: bad for small stores.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import astuple
from pathlib import Path
from typing import Any

from pagerag._files import locked
from pagerag._sqlite_files import write_ahead
from pagerag.errors import StoreError, StoreMismatchError
from pagerag.protocols import Encoder
from pagerag.store.base import SqlCorpus
from pagerag.store.problems import decoding, explained, no_store
from pagerag.store.recent import UnitCache
from pagerag.store.schema import APPLICATION, FILE_COLUMNS, SCHEMA_VERSION, TABLES, Identity, pack_unit
from pagerag.store.sqlite_snapshot import EXACT_BELOW, SqliteSnapshot, State
from pagerag.store.sqlite_write import (
    insert,
    join_segments,
    meta,
    raise_meta,
    remove,
    renumber,
    rows_of,
    rows_of_ids,
    set_meta,
)
from pagerag.units import ANALYSIS_VERSION, FileRecord, StoreStats, Unit

FILE_NAME = "corpus.sqlite"
OLD_NAME = "units.lance"
"""What stores of schema version 2 and before held; they are refused."""

_WAIT = 30.0  # seconds to wait for another process's commit
_PAGE = 8192
_CACHE_KIB = 8192  # of each connection
_LOG_LIMIT = 64 * 2**20  # what the write-ahead log may keep on disk after a large commit
_READERS_KEPT = 8
_RENUMBER_FROM = 1000  # dead rows; a third of all rows must be dead as well


class SqliteCorpus(SqlCorpus):
    """The contract ``pagerag.protocols.Corpus`` over a folder.

    Do not use one object on both sides of a fork.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        encoder: Encoder | None = None,
        *,
        create: bool = False,
        exact_below: int = EXACT_BELOW,
    ) -> None:
        super().__init__(encoder, create=create)
        self._folder = Path(folder)
        self.location = str(folder)
        self.exact_below = exact_below
        self._file = self._folder / FILE_NAME
        self.kept = UnitCache()
        self._state: State | None = None
        self._lock = threading.Lock()  # guards _state and _idle
        self._write_lock = threading.Lock()
        self._idle: list[sqlite3.Connection] = []
        self._closed = False
        with explained("opening", self.location):
            self._check_place(create)
            if create and encoder is not None:
                create_file(self._folder, Identity(encoder.name, encoder.dimension))
            with self._connection() as connection:
                self.identity = Identity.read(connection, self.location)
        self.encoder_name, self.dimension = self.identity.encoder, self.identity.dimension
        self._check_encoder()

    @property
    def folder(self) -> Path:
        """Return the folder that the store is."""
        return self._folder

    # -- the file

    def _check_place(self, create: bool) -> None:
        if self._folder.exists() and not self._folder.is_dir():
            raise StoreError(f"{self.location} is a file; a store is a folder: name another one")
        if (self._folder / OLD_NAME).exists():
            raise StoreMismatchError(
                f"the store {self.location} was written by an older pagerag, with LanceDB; index the "
                "documents again into a new folder: pagerag index PATH --store NEW_FOLDER"
            )
        if not create and not self._file.is_file():
            raise no_store(self.location)

    def _connect(self) -> sqlite3.Connection:
        """Return a connection; a folder that this user may only read is opened for reading."""
        try:
            connection = sqlite3.connect(
                self._file, timeout=_WAIT, isolation_level=None, check_same_thread=False, cached_statements=64
            )
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        except sqlite3.OperationalError as problem:
            log = self._file.with_name(f"{FILE_NAME}-wal")
            if "unable to open" not in str(problem) and "readonly" not in str(problem):
                raise
            if not self._file.is_file() or (log.is_file() and log.stat().st_size):
                raise
            # Without a log, and without the right to make one, the file cannot change under us.
            place = f"{self._file.absolute().as_uri()}?immutable=1"
            connection = sqlite3.connect(place, uri=True, isolation_level=None, check_same_thread=False)
        for setting in (
            "trusted_schema = OFF",  # the file may come from anywhere
            "cell_size_check = ON",
            "synchronous = FULL",
            f"cache_size = -{_CACHE_KIB}",
            f"journal_size_limit = {_LOG_LIMIT}",
        ):
            connection.execute(f"PRAGMA {setting}")
        return connection

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        """Lend a connection; it is kept for the next one who asks, unless something went wrong."""
        with self._lock:
            if self._closed:
                raise StoreError(f"the store {self.location} was closed")
            connection = self._idle.pop() if self._idle else None
        if connection is None:
            connection = self._connect()
        try:
            yield connection
        except BaseException:
            connection.close()
            raise
        with self._lock:
            if not self._closed and len(self._idle) < _READERS_KEPT:
                self._idle.append(connection)
                return
        connection.close()

    # -- reading

    @contextmanager
    def snapshot(self) -> Iterator[SqliteSnapshot]:
        """Pin the latest version for as long as the block runs."""
        with self._connection() as connection:
            with decoding("reading", self.location):
                connection.execute("BEGIN")
                version = connection.execute("SELECT value FROM meta WHERE key = 'version'").fetchone()[0]
            try:
                yield SqliteSnapshot(self, connection, self._state_of(connection, version))
            finally:
                with suppress(sqlite3.Error):
                    connection.execute("ROLLBACK")

    def _state_of(self, connection: sqlite3.Connection, version: int) -> State:
        """Return what is kept in memory of the version that the connection has pinned."""
        with self._lock:
            state = self._state
        if state is not None and state.version == version:
            return state
        with decoding("reading", self.location):
            state = State(connection, state if state is not None and state.version < version else None)
        with self._lock:
            if self._state is None or self._state.version < version:
                self._state = state
        return state

    def _rows(self, statement: str) -> list[tuple[Any, ...]]:
        with decoding("reading", self.location), self._connection() as connection:
            return connection.execute(statement).fetchall()

    # -- writing

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Be the only writer while the block runs; a second one is told so at once.

        Without the system's locks SQLite's own remains, which is held for one commit at a time.
        """

        def busy(owner: str) -> StoreError:
            return StoreError(
                f"another process (id {owner}) is writing to the store {self._folder}; wait for it to finish"
            )

        with ExitStack() as stack:
            with explained("locking", self.location):
                stack.enter_context(locked(self._folder / ".writer.lock", busy))
            yield

    @contextmanager
    def _transaction(self, doing: str) -> Iterator[sqlite3.Connection]:
        """Do all that the block does, or nothing; it is on disk when the block has ended."""
        with self._write_lock, decoding(doing, self.location), self._connection() as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):
                    connection.execute("ROLLBACK")
                raise

    def _replace(self, units: Sequence[Unit], sources: Sequence[str]) -> None:
        packed = [pack_unit(unit) for unit in units]
        with self._transaction("writing to") as connection:
            version = raise_meta(connection, "version")
            gone = rows_of(connection, sources) + rows_of_ids(connection, units)
            remove(connection, gone, version)
            _strike(connection, "documents", "source", sources)
            if units:
                insert(connection, units, packed, version)

    def _remove(self, sources: Sequence[str]) -> int:
        with self._transaction("deleting from") as connection:
            rows = rows_of(connection, sources)
            if rows:
                remove(connection, rows, raise_meta(connection, "version"))
            _strike(connection, "documents", "source", sources)
        return len(rows)

    def _write_files(self, records: Sequence[FileRecord], gone: Sequence[str]) -> None:
        with self._transaction("writing to") as connection:
            _strike(connection, "files", "path", gone)
            connection.executemany(
                f"INSERT INTO files ({FILE_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)",  # noqa: S608
                [astuple(record) for record in records],
            )

    def optimize(self, *, final: bool = True) -> None:
        """Join the segments of postings, clear away what deleted units left, and give back free space.

        Rows are numbered again at the end of a run (``final``) when a third of them are dead.
        """
        with self._transaction("optimising") as connection:
            rows, live = meta(connection, "next_row"), meta(connection, "live")
            dead = rows - live
            if dead:
                connection.execute("DELETE FROM names WHERE row NOT IN (SELECT row FROM units)")
            if final and dead >= _RENUMBER_FROM and 3 * dead >= rows:
                renumber(connection, self.dimension)
            else:
                join_segments(connection)
            set_meta(connection, "pending", 0)
        with explained("optimising", self.location), self._connection() as connection:
            # ``execute`` stops after the first page that is given back.
            connection.executescript("PRAGMA incremental_vacuum")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def pending(self) -> int:
        """Return how many units ``optimize`` has not seen yet; searches find them all the same."""
        with decoding("reading", self.location), self._connection() as connection:
            return meta(connection, "pending")

    def stats(self) -> StoreStats:
        """Return what the store holds."""
        with decoding("reading", self.location), self._connection() as connection:
            names = ("live", "pending", "version", "next_row")
            live, pending, version, rows = (meta(connection, name) for name in names)
            documents = connection.execute("SELECT count(*) FROM documents").fetchone()[0]
        return self._stats(
            schema_version=SCHEMA_VERSION,
            units=live,
            documents=int(documents),
            size_bytes=sum(path.stat().st_size for path in self._folder.glob(f"{FILE_NAME}*")),
            search="exact" if rows < self.exact_below else "approximate",
            unindexed=pending,
            version=version,
            analysis_current=self.identity.analysis == ANALYSIS_VERSION,
        )

    def verify(self) -> list[str]:
        """Read everything and return what is damaged, one sentence each; empty when all is sound."""
        from pagerag.store.verify import sqlite_problems

        with self._connection() as connection:
            return sqlite_problems(connection, self.dimension)

    def close(self) -> None:
        """Let go of files and memory; the object is of no use afterwards."""
        with self._lock:
            idle, self._idle, self._state, self._closed = self._idle, [], None, True
        for connection in idle:
            connection.close()


def create_file(folder: Path, identity: Identity) -> None:
    """Make the file of a store if it is not there; one that a crash left without tables is taken up."""
    folder.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(folder / FILE_NAME, timeout=_WAIT, isolation_level=None)
    try:
        # A connection that opens an empty file decides these; on a file with tables they change nothing.
        connection.execute(f"PRAGMA page_size = {_PAGE}")
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
        write_ahead(connection, _WAIT)
        connection.execute("BEGIN IMMEDIATE")
        if connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0:
            for statement in TABLES.split(";"):
                connection.execute(statement)
            connection.executemany("INSERT INTO meta VALUES (?, ?)", identity.rows())
            connection.execute(f"PRAGMA application_id = {APPLICATION}")
        connection.execute("COMMIT")
    finally:
        connection.close()


def _strike(connection: sqlite3.Connection, table: str, column: str, names: Sequence[str]) -> None:
    """Delete the rows of these names."""
    connection.executemany(f"DELETE FROM {table} WHERE {column} = ?", [(name,) for name in names])  # noqa: S608
