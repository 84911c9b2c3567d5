"""The embedded store: LanceDB in a folder, or at an object store's URI.

Two tables: ``units``, whose schema metadata says what the store is made for, and ``files``, the ledger of
what was taken in completely. Duties that LanceDB leaves to its caller are done here: readers look for
the latest version, commits are synced to disk, indexes follow the data.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path, PurePath
from typing import Any, Literal

from pagerag._extras import need
from pagerag.errors import CandidateError, InputError, StoreError, StoreMismatchError
from pagerag.protocols import Encoder
from pagerag.store.base import SCHEMA_VERSION, FileRecord, StoredDocument, StoreStats
from pagerag.store.durable import Syncer, local_folder, settle_at_exit, writer_lock
from pagerag.store.lance_read import LanceReading, any_of
from pagerag.store.problems import explained
from pagerag.store.schema import (
    Identity,
    files_schema,
    files_table,
    units_schema,
    units_table,
)
from pagerag.store.snapshot import Size
from pagerag.store.units import Unit, encoded_text
from pagerag.text.analysis import VERSION as ANALYSIS_VERSION

__all__ = ["LanceStore", "open_store"]

EXACT_BELOW = 50_000
"""From this many units on, dense search is approximate; below, every vector is compared."""

VECTOR_MEMORY = 512 * 2**20
"""Approximate search keeps the vectors in memory up to so many bytes; beyond, it uses an IVF_HNSW_SQ index."""

_KEEP_VERSIONS = timedelta(minutes=10)  # other processes may still be reading the version before
# Half of LanceDB's default effort in building; ``benchmarks/pipeline.py`` prints the recall that is left.
_VECTOR_OPTIONS = {"distance_type": "dot", "ef_construction": 150}
_SCALAR_INDEXES = ("id", "source")


def open_store(
    location: str | Path,
    encoder: Encoder | None = None,
    *,
    create: bool = False,
    exact_below: int = EXACT_BELOW,
    vector_memory: int = VECTOR_MEMORY,
) -> LanceStore:
    """Open the store at a folder or object-store URI; ``create`` makes it when it is not there.

    Without an encoder the store serves lexical search, fetching and statistics. With one, its name and
    dimension must be those the store was made with.
    """
    return LanceStore(location, encoder, create=create, exact_below=exact_below, vector_memory=vector_memory)


class LanceStore(LanceReading):
    """The store protocol over LanceDB. Thread-safe for reading; one writer at a time (``writing``).

    Do not carry an open store across a fork: open it in the child.
    """

    schema_version = SCHEMA_VERSION

    def __init__(
        self,
        location: str | Path,
        encoder: Encoder | None = None,
        *,
        create: bool = False,
        exact_below: int = EXACT_BELOW,
        vector_memory: int = VECTOR_MEMORY,
    ) -> None:
        super().__init__()
        self.location = str(location)
        self.encoder = encoder
        self.size = Size(exact_below, vector_memory)
        self.folder = local_folder(self.location)
        self._syncer = Syncer(self.folder) if self.folder else None
        if create and encoder is None:
            raise InputError("a new store needs an encoder: its name and dimension become part of it")
        if self.folder and self.folder.exists() and not self.folder.is_dir():
            raise StoreError(f"{self.location} is a file; a store is a folder: name another one")
        if self.folder and not create and not self.folder.is_dir():
            raise self._absent()
        lancedb = need("lancedb", "lancedb", "lancedb", "the embedded store")
        settle_at_exit()
        with explained("opening", self.location):
            if self.folder and create:
                self.folder.mkdir(parents=True, exist_ok=True)
            # A local look at the latest version costs a directory listing; a remote one a request.
            interval = timedelta(0) if self.folder else timedelta(seconds=5)
            self._db = lancedb.connect(self.location, read_consistency_interval=interval)
            units = self._table("units")
            if units is None:
                if not create or encoder is None:
                    raise self._absent()
                made = Identity(encoder.name, encoder.dimension, ANALYSIS_VERSION)
                units = self._db.create_table("units", schema=units_schema(made))
            self._units = units
            self.identity = Identity.read(units.schema.metadata, self.location)
            self.encoder_name, self.dimension = self.identity.encoder, self.identity.dimension
            self._check_encoder()
            self._files = self._table("files")
            if create:
                self._prepare()

    def _absent(self) -> StoreError:
        return StoreError(
            f"there is no store at {self.location}; make one with: pagerag index PATH --store {self.location}"
        )

    def _table(self, name: str) -> Any:
        try:
            return self._db.open_table(name)
        except (ValueError, FileNotFoundError) as problem:
            # Also what a table whose creation was cut short looks like: files, but no version of it.
            if "not found" in str(problem):
                return None
            raise

    def _check_encoder(self) -> None:
        given = self.encoder
        if given is not None and (given.name, given.dimension) != (self.encoder_name, self.dimension):
            raise StoreMismatchError(
                f"the store {self.location} was made with the encoder {self.encoder_name!r} "
                f"({self.dimension} numbers), not {given.name!r} ({given.dimension}); use that encoder, or "
                "index the documents again into a new folder"
            )

    def _prepare(self) -> None:
        """Make what a run that was cut short may have left out: the ledger and the indexes."""
        index = need("lancedb.index", "lancedb", "lancedb")
        if self._files is None:
            self._files = self._db.create_table("files", schema=files_schema(self.identity))
        present = {column for config in self._units.list_indices() for column in config.columns}
        for column in _SCALAR_INDEXES:
            if column not in present:
                self._units.create_index(column, config=index.BTree())
        self._sync()

    def _sync(self) -> None:
        self.look_again()
        if self._syncer is not None:
            self._syncer.sync()

    # -- writing

    @contextmanager
    def writing(self) -> Iterator[LanceStore]:
        """Be the only writer while the block runs; a second one is told so at once."""
        with explained("locking", self.location), writer_lock(self.folder):
            yield self

    def upsert(self, units: Sequence[Unit], *, sources: Iterable[str] = ()) -> int:
        """Put ``units`` in place of all units of their sources (and of ``sources``), in one commit."""
        replaced = list(dict.fromkeys([*(unit.source for unit in units), *sources]))
        if not replaced:
            return 0
        ids = [unit.id for unit in units]
        if len(set(ids)) != len(ids):
            twice = next(name for name in ids if ids.count(name) > 1)
            raise CandidateError(f"two units have the id {twice!r}", item=twice)
        table = units_table(self._encoded(units), self._units.schema, self.dimension)
        with explained("writing to", self.location):
            where = any_of("source", replaced)
            if self._units.count_rows(where) == 0:
                # Nothing to replace, the usual case: an append does not look at the rows before it.
                if units:
                    self._units.add(table)
            else:
                merge = self._units.merge_insert("id").when_matched_update_all().when_not_matched_insert_all()
                merge.when_not_matched_by_source_delete(where).execute(table)
            self._sync()
        return len(units)

    def _encoded(self, units: Sequence[Unit]) -> list[Unit]:
        bare = [unit for unit in units if unit.vector is None]
        if not bare:
            return list(units)
        rows = self._need_encoder("storing units without vectors").encode_passages(
            [encoded_text(unit.title, unit.text) for unit in bare]
        )
        vectors = {unit.id: row for unit, row in zip(bare, rows, strict=True)}
        return [replace(u, vector=vectors[u.id]) if u.vector is None else u for u in units]

    def delete(self, sources: Iterable[str]) -> int:
        """Remove the units of these sources; returns how many units went."""
        gone = list(dict.fromkeys(sources))
        if not gone:
            return 0
        with explained("deleting from", self.location):
            where = any_of("source", gone)
            count = int(self._units.count_rows(where))
            if count:
                self._units.delete(where)
                self._sync()
        return count

    def acknowledge(self, records: Sequence[FileRecord]) -> None:
        """Enter files in the ledger; their units must have been stored before."""
        if not records:
            return
        with explained("writing to", self.location):
            files = self._ledger_table()
            merge = files.merge_insert("path").when_matched_update_all().when_not_matched_insert_all()
            merge.execute(files_table(records, files.schema))
            self._sync()

    def forget(self, paths: Iterable[str]) -> None:
        """Strike files from the ledger."""
        gone = list(paths)
        if gone:
            with explained("writing to", self.location):
                self._ledger_table().delete(any_of("path", gone))
                self._sync()

    def _ledger_table(self) -> Any:
        if self._files is None:
            self._files = self._db.create_table("files", schema=files_schema(self.identity), exist_ok=True)
        return self._files

    def optimize(self, *, final: bool = True) -> None:
        """Compact and bring the indexes up to date.

        At the end of a run (``final``) the vectors are indexed, too, once there are too many to be kept in
        memory: that takes longer than everything else, and doing it again as a store grows would double it.
        """
        index = need("lancedb.index", "lancedb", "lancedb")
        with explained("optimising", self.location):
            self._units.optimize(cleanup_older_than=_KEEP_VERSIONS)
            if self._files is not None:
                self._files.optimize(cleanup_older_than=_KEEP_VERSIONS)
            if final and self.size.indexed(len(self), self.dimension) and not self._has_vector_index():
                self._units.create_index("vector", config=index.HnswSq(**_VECTOR_OPTIONS))
            self._sync()

    def pending(self) -> int:
        """How many units the indexes lack: a run that was cut short may have left them behind."""
        with explained("reading", self.location):
            if self.size.indexed(len(self), self.dimension) and not self._has_vector_index():
                return len(self)
            indexed = self._units.index_stats("id_idx")
            return int(indexed.num_unindexed_rows) if indexed is not None else len(self)

    # -- what it holds

    def documents(self) -> dict[str, StoredDocument]:
        """The documents that are stored, by source."""
        columns = ["source", "digest", "path", "total"]
        with explained("reading", self.location):
            table = self._units.search().where("position = 0").limit(None).select(columns).to_arrow()
        sources, *rest = (table[name].to_pylist() for name in columns)
        return dict(zip(sources, map(StoredDocument, *rest), strict=True))

    def ledger(self) -> dict[str, FileRecord]:
        """The files that were taken in completely, by path."""
        if self._files is None:
            self._files = self._table("files")
            if self._files is None:
                return {}
        with explained("reading", self.location):
            rows = self._files.to_arrow().to_pylist()
        return {row["path"]: FileRecord(**row) for row in sorted(rows, key=lambda row: row["path"])}

    def stats(self) -> StoreStats:
        """What the store holds."""
        files = self.ledger()
        kinds: dict[str, int] = {}
        for path in files:
            kind = PurePath(path).suffix.lower() or "(none)"
            kinds[kind] = kinds.get(kind, 0) + 1
        with explained("reading", self.location):
            count = len(self)
            search: Literal["exact", "approximate"] = (
                "approximate"
                if count >= self.size.exact_below
                and (self._has_vector_index() or not self.size.indexed(count, self.dimension))
                else "exact"
            )
            return StoreStats(
                location=self.location,
                schema_version=self.identity.schema,
                encoder=self.encoder_name,
                dimension=self.dimension,
                units=count,
                documents=int(self._units.count_rows("position = 0")),
                files=len(files),
                duplicates=sum(record.status == "duplicate" for record in files.values()),
                size_bytes=_folder_size(self.folder) if self.folder else None,
                search=search,
                unindexed=self.pending(),
                version=int(self._units.version),
                analysis_current=self.identity.analysis == ANALYSIS_VERSION,
                by_type=dict(sorted(kinds.items())),
            )

    def close(self) -> None:
        """Let go of what is kept in memory; the store object is of no use afterwards."""
        self._current = None
        self._kept.clear()

    def __enter__(self) -> LanceStore:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _folder_size(folder: Path) -> int:
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.stat().st_size if path.is_file() else 0
        except FileNotFoundError:
            continue  # a writer cleaned it up meanwhile
    return total
