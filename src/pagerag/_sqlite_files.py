"""SQLite files that several threads and processes open at once: their log mode, and caches of one table."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

_WAIT = 60.0  # seconds to wait for another process that is writing
_PAUSE = 0.01  # seconds between two tries


def write_ahead(connection: sqlite3.Connection, wait: float) -> None:
    """Switch the file to a write-ahead log, for which others that have it open are waited for.

    SQLite's own waiting does not cover this switch: of two processes that make it at once one is told at
    once that the database is locked. Whoever finds the log there has nothing to switch. After ``wait``
    seconds the error is raised.
    """
    last = time.monotonic() + wait
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as problem:
            if problem.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > last:
                raise
            time.sleep(_PAUSE)


class CacheFile:
    """A file with one table, opened at its first use, and again after a fork; what is committed stays.

    ``table`` is the statement that makes the table; ``broken`` makes the error of what goes wrong.
    """

    def __init__(self, path: Path, table: str, broken: Callable[[str], Exception]) -> None:
        self.path = path
        self._table, self._broken = table, broken
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._process = 0

    @contextmanager
    def connection(self) -> Iterator[sqlite3.Connection]:
        """Lend the connection to one thread at a time; what the block wrote is committed at its end."""
        with self._lock:
            try:
                if self._connection is None or self._process != os.getpid():
                    self._connection, self._process = self._opened(), os.getpid()
                with self._connection:
                    yield self._connection
            except (sqlite3.Error, OSError) as problem:
                raise self._broken(str(problem)) from problem

    def _opened(self) -> sqlite3.Connection:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(self.path, timeout=_WAIT, check_same_thread=False)
        write_ahead(connection, _WAIT)
        connection.execute("PRAGMA synchronous=NORMAL")
        connection.execute(f"CREATE TABLE IF NOT EXISTS {self._table}")
        connection.commit()
        return connection

    def close(self) -> None:
        """Close the file; the next use opens it again."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None
