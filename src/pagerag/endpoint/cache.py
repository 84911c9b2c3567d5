"""Replies kept on disk, so that the same request is paid for once."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pagerag._sqlite_files import CacheFile
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
        table = "responses (key TEXT PRIMARY KEY, value TEXT NOT NULL, stored REAL)"
        what, remedy = f"the response cache {self.path}", "delete it or point chat.cache elsewhere"
        self._file = CacheFile(
            self.path, table, lambda why: EndpointError(f"{what} cannot be used ({why}); {remedy}")
        )

    def get(self, key: str) -> dict[str, Any] | None:
        """Return the value stored under ``key``, or None."""
        with self._file.connection() as connection:
            row = connection.execute("SELECT value FROM responses WHERE key = ?", (key,)).fetchone()
        return None if row is None else dict(json.loads(row[0]))

    def put(self, key: str, value: Mapping[str, Any]) -> None:
        """Store ``value``; the newest wins."""
        with self._file.connection() as connection:
            connection.execute(
                "INSERT OR REPLACE INTO responses (key, value, stored) VALUES (?, ?, ?)",
                (key, json.dumps(value, ensure_ascii=False), time.time()),
            )

    def __len__(self) -> int:
        with self._file.connection() as connection:
            return int(connection.execute("SELECT count(*) FROM responses").fetchone()[0])

    def close(self) -> None:
        """Close the file; the next use opens it again."""
        self._file.close()

    def __reduce__(self) -> tuple[Any, ...]:
        return ResponseCache, (self.path,)
