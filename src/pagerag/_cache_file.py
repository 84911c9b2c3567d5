"""Caches on disk: one SQLite file each, which several threads and processes read and write at once.

What one of them has committed survives its death.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from pagerag._write_ahead import write_ahead

_WAIT = 60.0  # seconds to wait for another process that is writing


class CacheFile:
    """A file with one table, opened at its first use, and again after a fork.

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
