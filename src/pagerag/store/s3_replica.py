"""The copy of an object store's corpus on this machine: an embedded store that follows the log of writes."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from pagerag.store.problems import explained
from pagerag.store.s3_manifest import Manifest, Write
from pagerag.store.schema import Identity
from pagerag.store.sqlite import SqliteCorpus, create_file


class Replica(SqliteCorpus):
    """The embedded store that follows a log: how far it has come is part of each of its commits."""

    def __init__(self, folder: Path, manifest: Manifest, location: str) -> None:
        with explained("opening", location):
            create_file(folder, Identity(manifest.encoder, manifest.dimension))
        super().__init__(folder)  # without an encoder: it never encodes
        self.location = location
        self.generation = manifest.generation
        self.at = (manifest.generation, -1)
        self._mark: int | None = None

    @contextmanager
    def _transaction(self, doing: str) -> Iterator[sqlite3.Connection]:
        with super()._transaction(doing) as connection:
            yield connection
            if self._mark is not None:
                mark = json.dumps([self.generation, self._mark])
                connection.execute("INSERT OR REPLACE INTO meta VALUES ('replica', ?)", (mark,))

    def applied(self) -> int:
        """Return how many writes of the log are in it."""
        with self._connection() as connection:
            row = connection.execute("SELECT value FROM meta WHERE key = 'replica'").fetchone()
        generation, count = json.loads(row[0]) if row else ("", 0)
        # A base carries the mark of the replica that it was copied from.
        return int(count) if generation == self.generation else 0

    def apply(self, write: Write, number: int) -> None:
        """Do the ``number``-th write of the log.

        Each write has one part only, so that it is one commit together with its number.
        """
        self._mark = number
        try:
            if write.sources:
                self.upsert(write.units, sources=write.sources)
            self.delete(write.deleted)
            self.acknowledge(write.records)
            self.forget(write.forgotten)
        finally:
            self._mark = None

    def count_units(self, sources: Sequence[str]) -> int:
        """Return how many units these sources have."""
        query = "SELECT units FROM documents WHERE source = ?"
        with self._connection() as connection:
            rows = [connection.execute(query, (source,)).fetchone() for source in sources]
        return sum(row[0] for row in rows if row is not None)

    def copy(self, file: Path) -> None:
        """Write a copy of one state to a new file."""
        with self._connection() as connection:
            connection.execute("VACUUM INTO ?", (str(file),))
