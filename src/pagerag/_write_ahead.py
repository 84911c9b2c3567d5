"""Log mode of SQLite files that several processes may open for the first time at the same moment."""

from __future__ import annotations

import sqlite3
import time

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
        except sqlite3.OperationalError as problem:
            if problem.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > last:
                raise
            time.sleep(_PAUSE)
        else:
            return
