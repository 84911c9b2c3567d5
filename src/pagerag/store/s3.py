"""A corpus in an object store (``s3://bucket/prefix``), with several writers and readers.

A write is one new object, and then a conditional put of the manifest that names it (``s3_manifest``): it is
acknowledged when that put was. A writer that lost against another reads the manifest again and puts itself
behind the other's writes, so that nothing is lost. Readers keep a replica, the embedded store, in the cache
folder and apply the writes that they have not seen; all search is the embedded store's. ``optimize`` puts the
replica's file in the place of base and log.

A new file for each write would upload the whole corpus for one passage; so it is done once a run.
"""

from __future__ import annotations

import hashlib
import json
import random
import shutil
import sqlite3
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from pagerag._files import locked, sha256_file
from pagerag._user import cache_folder
from pagerag.errors import StoreError
from pagerag.protocols import Encoder
from pagerag.store.base import SqlCorpus
from pagerag.store.problems import damaged, explained, no_store
from pagerag.store.s3_bucket import Bucket, Lost, Missing, Unchanged
from pagerag.store.s3_manifest import MANIFEST, Entry, Manifest, Write
from pagerag.store.schema import Identity
from pagerag.store.sqlite import FILE_NAME, SqliteCorpus, create_file
from pagerag.store.sqlite_snapshot import SqliteSnapshot
from pagerag.units import FileRecord, StoreStats, Unit

FRESH_SECONDS = 1.0
"""A reader asks for a newer manifest when it has not for so long: a question costs at most one request."""
_COMPACT_AT = 64  # writes in the log from which ``optimize`` makes a new base in the middle of a run
_PATIENCE = 120.0  # seconds in which a writer must get its turn
_OLD_REPLICA = 3600.0
_LOCK = ".replica.lock"  # where the system has no locks, processes must not share a cache folder
_ORPHANED = timedelta(days=1)  # objects that no manifest names, by the server's own clock


def exists(location: str) -> bool:
    """Return whether there is a store at the address."""
    with closing(Bucket(location)) as bucket, suppress(Missing):
        bucket.get(MANIFEST)
        return True
    return False


class Replica(SqliteCorpus):
    """The embedded store that follows the log: how far it has come is part of each of its commits."""

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


class S3Corpus(SqlCorpus):
    """The contract ``pagerag.protocols.Corpus`` over an object store. ``writing`` lets several writers in.

    ``cache`` is the folder for the replica; processes of one machine share it. Do not use one object on both
    sides of a fork.
    """

    def __init__(
        self,
        location: str,
        encoder: Encoder | None = None,
        *,
        create: bool = False,
        cache: Path | None = None,
        fresh_seconds: float = FRESH_SECONDS,
    ) -> None:
        super().__init__(encoder, create=create)
        self._bucket = Bucket(location)
        self.location = self._bucket.location
        self._fresh, self._looked = fresh_seconds, float("-inf")
        self._lock = threading.RLock()  # guards all below
        self._tag: str | None = None
        self._replica: Replica | None = None
        self._closed = False
        self._manifest = self._opened(create)
        self.encoder_name, self.dimension = self._manifest.encoder, self._manifest.dimension
        self._check_encoder()
        self._cache = (cache or cache_folder("stores")) / self._manifest.id
        self._cache.mkdir(parents=True, exist_ok=True, mode=0o700)

    def _opened(self, create: bool) -> Manifest:
        while True:
            try:
                stored = self._bucket.get(MANIFEST)
                self._tag = stored.tag
                return Manifest.read(stored.body, self.location)
            except Missing:
                if not create or self.encoder is None:
                    raise no_store(self.location) from None
                new = Manifest(uuid.uuid4().hex, self.encoder.name, self.encoder.dimension)
                with suppress(Lost):  # somebody else made it at the same moment
                    self._bucket.swap(MANIFEST, new.to_bytes(), None)

    # -- the replica

    def _latest(self, *, now: bool = False) -> Replica:
        """Return the replica, up to date with the bucket of ``now``, or of a moment ago."""
        with self._lock:
            if self._closed:
                raise StoreError(f"the store {self.location} was closed")
            fresh = not now and time.monotonic() - self._looked < self._fresh
            if fresh and self._replica is not None:
                return self._replica
            for _ in range(5):
                self._look()
                with suppress(Missing):
                    return self._follow()
                # Two new bases were made since the manifest was read, and the old objects removed.
                self._tag = None
            raise damaged(self.location, "objects that its manifest names are not there")

    def _look(self) -> None:
        """Read the manifest if it is another one than the last time."""
        started = time.monotonic()
        try:
            stored = self._bucket.get(MANIFEST, unless=self._tag)
            self._manifest, self._tag = Manifest.read(stored.body, self.location), stored.tag
        except Missing:
            raise StoreError(f"the store {self.location} was removed") from None
        except Unchanged:
            pass
        self._looked = started

    def _follow(self) -> Replica:
        """Bring the replica to the manifest; other processes of this machine wait meanwhile."""
        manifest, replica = self._manifest, self._replica
        if replica is not None and replica.at == manifest.at:
            return replica
        with locked(self._cache / _LOCK):
            if replica is None or replica.generation != manifest.generation:
                if replica is not None:
                    replica.close()  # snapshots that are pinned keep their connections
                self._replica = replica = self._fetched(manifest)
                self._tidy(manifest.generation)
            done = replica.applied()
            for number, entry in enumerate(manifest.log[done:], start=done + 1):
                replica.apply(self._write(entry), number)
            replica.at = manifest.at
        return replica

    def _fetched(self, manifest: Manifest) -> Replica:
        folder, base = self._cache / manifest.generation, manifest.base
        if base is not None and not (folder / FILE_NAME).is_file():
            folder.mkdir(exist_ok=True)
            part = folder / f"{uuid.uuid4().hex}.part"
            try:
                self._bucket.download(base.key, str(part))
                if sha256_file(part) != base.sha256:
                    raise self._damaged(base)
                part.replace(folder / FILE_NAME)
            finally:
                part.unlink(missing_ok=True)
        return Replica(folder, manifest, self.location)

    def _tidy(self, generation: str) -> None:
        """Remove replicas of old bases; young ones may still be read by other processes."""
        for old in self._cache.iterdir():
            if old.is_dir() and old.name != generation and time.time() - old.stat().st_mtime > _OLD_REPLICA:
                shutil.rmtree(old, ignore_errors=True)

    def _write(self, entry: Entry) -> Write:
        body = self._bucket.get(entry.key).body
        if hashlib.sha256(body).hexdigest() != entry.sha256:
            raise self._damaged(entry)
        try:
            return Write.read(body, self.dimension)
        except (ValueError, TypeError, LookupError) as broken:
            raise self._damaged(entry) from broken

    def _damaged(self, entry: Entry) -> StoreError:
        return damaged(self.location, f"the object {entry.key} is not what was written")

    # -- reading

    @contextmanager
    def snapshot(self) -> Iterator[SqliteSnapshot]:
        """Pin the latest version for as long as the block runs."""
        with ExitStack() as stack:
            with self._lock:  # until it is pinned, nobody may exchange the replica
                now = stack.enter_context(self._latest().snapshot())
            yield now

    def _rows(self, statement: str) -> list[tuple[Any, ...]]:
        with self._lock:
            return self._latest()._rows(statement)

    def pending(self) -> int:
        """Return how many units ``optimize`` has not seen yet; searches find them all the same."""
        with self._lock:
            return self._latest().pending()

    def stats(self) -> StoreStats:
        """Return what the store holds; its size is that of its objects."""
        with self._lock:
            found = self._latest(now=True).stats()
            size = sum(entry.size for entry in self._manifest.entries)
        return replace(found, location=self.location, size_bytes=size)

    def verify(self) -> list[str]:
        """Read everything and return what is damaged, one sentence each; empty when all is sound."""
        with self._lock:
            found, manifest = self._latest(now=True).verify(), self._manifest
        there = {key: size for key, _, size in self._bucket.objects()}
        wrong = [entry.key for entry in manifest.entries if there.get(entry.key) != entry.size]
        return found + [f"the object {key} is missing or has another size" for key in wrong]

    # -- writing

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Write; others may write at the same time, and nobody's writes are lost."""
        yield

    def _replace(self, units: Sequence[Unit], sources: Sequence[str]) -> None:
        self._commit(Write(units=tuple(units), sources=tuple(sources)))

    def _remove(self, sources: Sequence[str]) -> int:
        return self._commit(Write(deleted=tuple(sources)))

    def _write_files(self, records: Sequence[FileRecord], gone: Sequence[str]) -> None:
        entered = Write(records=tuple(records)) if records else Write(forgotten=tuple(gone))
        self._commit(entered)  # a record takes the place of an older one by itself

    def _commit(self, write: Write) -> int:
        """Append a write to the log; it is acknowledged when this returns.

        Returns how many units the sources that it deletes had before.
        """
        body = write.to_bytes()
        entry = Entry.of(f"log/{uuid.uuid4().hex}", body)
        counted = 0
        with self._lock:
            self._bucket.put(entry.key, body)

            def change(manifest: Manifest) -> Manifest | None:
                nonlocal counted
                if entry in manifest.log:
                    return None
                counted = 0 if self._replica is None else self._replica.count_units(write.deleted)
                return replace(manifest, log=(*manifest.log, entry))

            self._swapped(change)
            self._apply_own(entry, body)
        return counted

    def _apply_own(self, entry: Entry, body: bytes) -> None:
        """Bring the replica to the manifest without reading back what was just written."""
        replica, manifest = self._replica, self._manifest
        before = manifest.generation, len(manifest.log) - 1
        if replica is not None and replica.at == before and manifest.log[-1] == entry:
            with locked(self._cache / _LOCK):
                if replica.applied() == before[1]:
                    replica.apply(Write.read(body, self.dimension), len(manifest.log))
                replica.at = manifest.at
        # Otherwise the next reader follows.

    def _swapped(self, change: Callable[[Manifest], Manifest | None]) -> None:
        """Replace the manifest by ``change`` of the latest one; None where nothing is left to do."""
        deadline = time.monotonic() + _PATIENCE
        tries = 0
        while True:
            self._latest(now=True)
            tag = self._tag  # of the manifest that is changed, and no later one's
            new = change(self._manifest)
            if new is None:
                return
            try:
                self._tag = self._bucket.swap(MANIFEST, new.to_bytes(), tag)
            except Lost:
                # Another writer was first; or we were, and the reply was lost: ``change`` sees it.
                tries += 1
                if time.monotonic() > deadline:
                    raise StoreError(
                        f"other writers kept the store {self.location} busy for {_PATIENCE:.0f} s; nothing "
                        "of this write is there: run it again"
                    ) from None
                time.sleep(random.uniform(0, min(0.05 * 2**tries, 2.0)))
            else:
                self._manifest = new
                return

    def optimize(self, *, final: bool = True) -> None:
        """Put the replica's file in the place of base and log, and remove what nobody can still read."""
        with self._lock:
            replica = self._latest(now=True)
            before = self._manifest
            if not before.log or (not final and len(before.log) < _COMPACT_AT):
                return
            with locked(self._cache / _LOCK):
                copy = self._cache / f"{uuid.uuid4().hex}.part"
                try:
                    covered = replica.applied()
                    replica.optimize(final=final)
                    replica.copy(copy)
                    base = Entry(f"base/{uuid.uuid4().hex}", sha256_file(copy), copy.stat().st_size)
                    self._bucket.upload(base.key, str(copy))
                    place = self._cache / base.sha256
                    place.mkdir(exist_ok=True)
                    copy.replace(place / FILE_NAME)
                finally:
                    copy.unlink(missing_ok=True)

            def change(manifest: Manifest) -> Manifest | None:
                if manifest.base != before.base:
                    return None  # ours is there; or another process made one meanwhile, and ours is given up
                used = tuple(one.key for one in replace(manifest, log=manifest.log[:covered]).entries)
                return replace(manifest, base=base, log=manifest.log[covered:], retired=used)

            self._swapped(change)
            if self._manifest.base == base:
                self._clear(before.retired)
            else:
                self._bucket.delete([base.key])
            self._latest(now=True)

    def _clear(self, retired: Sequence[str]) -> None:
        """Remove objects of the base before last, and what killed writers left a day ago."""
        kept = {MANIFEST, *self._manifest.retired, *(one.key for one in self._manifest.entries)}
        there = list(self._bucket.objects())
        latest = max((modified for _, modified, _ in there), default=None)
        gone = [
            key
            for key, modified, _ in there
            if key not in kept and (key in retired or latest - modified > _ORPHANED)
        ]
        self._bucket.delete(gone)

    def close(self) -> None:
        """Let go of files and memory; the object is of no use afterwards."""
        with self._lock:
            self._closed = True
            if self._replica is not None:
                self._replica.close()
            self._bucket.close()
