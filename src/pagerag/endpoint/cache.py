"""Replies kept on disk, so that the same request is paid for once."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pagerag.errors import EndpointError

_SCHEMA = 1


def cache_key(endpoint: str, request: Mapping[str, Any]) -> str:
    """Return a hash of everything that can change the reply: the address and the whole request body.

    The API key is not part of it: who pays does not change what is said.
    """
    canonical = json.dumps(
        {"schema": _SCHEMA, "endpoint": endpoint.rstrip("/"), "request": request},
        sort_keys=True,
        ensure_ascii=False,
        separators=(",", ":"),
    )
    return hashlib.sha256(canonical.encode("utf-8", "surrogatepass")).hexdigest()


class ResponseCache:
    """Keep JSON values under keys in one SQLite file; several threads and processes may share it."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None

    def get(self, key: str) -> dict[str, Any] | None:
        """Return the value stored under ``key``, or None."""
        row = self._execute("SELECT value FROM responses WHERE key = ?", (key,))
        return None if row is None else dict(json.loads(row[0]))

    def put(self, key: str, value: Mapping[str, Any]) -> None:
        """Store ``value``; the newest wins."""
        self._execute(
            "INSERT OR REPLACE INTO responses (key, value, stored) VALUES (?, ?, ?)",
            (key, json.dumps(value, ensure_ascii=False), time.time()),
        )

    def __len__(self) -> int:
        row = self._execute("SELECT count(*) FROM responses", ())
        return 0 if row is None else int(row[0])

    def close(self) -> None:
        """Close the file; the next use opens it again."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def __getstate__(self) -> dict[str, Any]:
        return {"path": self.path}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        self.__init__(state["path"])  # type: ignore[misc]

    def _execute(self, statement: str, values: tuple[Any, ...]) -> tuple[Any, ...] | None:
        with self._lock:
            try:
                if self._connection is None:
                    self._connection = self._open()
                with self._connection:
                    found: tuple[Any, ...] | None = self._connection.execute(statement, values).fetchone()
            except (sqlite3.Error, OSError) as problem:
                raise EndpointError(
                    f"the response cache {self.path} cannot be used ({problem}); "
                    "delete it or point chat.cache elsewhere"
                ) from problem
            return found

    def _open(self) -> sqlite3.Connection:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(self.path, timeout=30, check_same_thread=False)
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=NORMAL")
        connection.execute(
            "CREATE TABLE IF NOT EXISTS responses (key TEXT PRIMARY KEY, value TEXT NOT NULL, stored REAL)"
        )
        connection.commit()
        return connection
