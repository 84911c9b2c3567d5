"""A corpus in memory: exact, for some thousands of passages, and the measure for every other engine."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pagerag._numbers import products
from pagerag.errors import CandidateError, StoreError
from pagerag.protocols import Encoder
from pagerag.store.base import CorpusBase, SnapshotBase, check_points
from pagerag.store.bm25 import BM25
from pagerag.store.ranking import best_hits
from pagerag.text.keys import name_numbers
from pagerag.text.names import opening_name
from pagerag.text.terms import encoded_text
from pagerag.units import Candidate, FileRecord, Hit, StoredDocument, StoreStats, Unit


@dataclass(frozen=True, slots=True)
class _Held:
    """A unit of the corpus as it is given out, and what it is stored as."""

    candidate: Candidate
    unit: Unit


class MemoryCorpus(CorpusBase):
    """A list of units with BM25, dense and title search, all exact and in memory.

    ``candidates`` are taken as they are: ids, scores, entities and metadata come back. Vectors that they
    carry are used when every one has a vector of the encoder's size. Units without a title are also found
    by the name that their text opens with. Without an encoder, search is lexical and by title alone.
    Indexes are built again, when next asked for, after a write.
    """

    def __init__(self, candidates: Sequence[Candidate] = (), encoder: Encoder | None = None) -> None:
        super().__init__(encoder)
        self.location = "memory"
        self.encoder_name, self.dimension = ("", 0) if encoder is None else (encoder.name, encoder.dimension)
        self._lock = threading.Lock()
        self._writer = threading.Lock()
        self._files: dict[str, FileRecord] = {}
        self._version = 0
        self._held: dict[str, _Held] = {}
        if encoder is not None:
            rows = vectors_of(candidates, encoder)
            if any(one.vector is None for one in candidates):
                candidates = [replace(one, vector=row) for one, row in zip(candidates, rows, strict=True)]
        for place, candidate in enumerate(candidates):
            if candidate.id in self._held:
                twice = f"two units have the id {candidate.id!r} (the second is number {place})"
                raise CandidateError(twice, item=candidate.id)
            self._held[candidate.id] = _Held(candidate, _unit_of(candidate))
        self._state: _State | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        kept = {"_held": self._held, "_files": self._files, "_version": self._version}
        return MemoryCorpus, ((), self.encoder), kept

    @property
    def candidates(self) -> tuple[Candidate, ...]:
        """Return all units, in their order."""
        return tuple(held.candidate for held in self._held.values())

    @contextmanager
    def snapshot(self) -> Iterator[_State]:
        """Pin the latest state for as long as the block runs."""
        with self._lock:
            if self._state is None or self._state.version != self._version:
                self._state = _State(self._version, self._held, self.dimension, self.encoder_name)
            state = self._state
        yield state

    def _candidates_of(self, ids: Sequence[str]) -> dict[str, Candidate]:
        held = self._held  # a write makes another mapping
        return {name: held[name].candidate for name in ids if name in held}

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Be the only writer while the block runs; a second one gets a StoreError at once."""
        if not self._writer.acquire(blocking=False):
            raise StoreError("another thread is writing to this corpus; wait for it to finish")
        try:
            yield
        finally:
            self._writer.release()

    def _ready(self, units: Sequence[Unit]) -> list[Unit]:
        return super()._ready(units) if self.encoder is not None else list(units)

    def _replace(self, units: Sequence[Unit], sources: Sequence[str]) -> None:
        with self._lock:
            kept = self._without(sources)
            self._held = kept | {unit.id: _Held(unit.candidate(), unit) for unit in units}
            self._version += 1

    def _remove(self, sources: Sequence[str]) -> int:
        with self._lock:
            kept = self._without(sources)
            count = len(self._held) - len(kept)
            if count:
                self._held = kept
                self._version += 1
        return count

    def _without(self, sources: Sequence[str]) -> dict[str, _Held]:
        gone = set(sources)
        return {name: held for name, held in self._held.items() if held.unit.source not in gone}

    def documents(self) -> dict[str, StoredDocument]:
        """Return the documents that are stored, by source."""
        found: dict[str, StoredDocument] = {}
        for held in self._held.values():
            unit, before = held.unit, found.get(held.unit.source)
            found[unit.source] = StoredDocument(unit.digest, unit.path, (before.units if before else 0) + 1)
        return found

    def ledger(self) -> dict[str, FileRecord]:
        """Return the files that were taken in completely, by path, in order."""
        return dict(sorted(self._files.items()))

    def _write_files(self, records: Sequence[FileRecord], gone: Sequence[str]) -> None:
        struck = set(gone)
        with self._lock:
            kept = {path: record for path, record in self._files.items() if path not in struck}
            self._files = kept | {record.path: record for record in records}

    def optimize(self, *, final: bool = True) -> None:
        """Do nothing: the indexes are built when they are asked for."""

    def pending(self) -> int:
        """Return 0: nothing waits for ``optimize``."""
        return 0

    def stats(self) -> StoreStats:
        """Return what the corpus holds."""
        return self._stats(
            schema_version=0,
            units=len(self._held),
            documents=len(self.documents()),
            size_bytes=None,
            search="exact",
            unindexed=0,
            version=self._version,
            analysis_current=True,
        )

    def verify(self) -> list[str]:
        """Return nothing: what is in memory cannot be damaged on disk."""
        return []

    def close(self) -> None:
        """Let go of the units and indexes."""
        with self._lock:
            self._held, self._state = {}, None


class _State(SnapshotBase):
    """One version of a corpus in memory; indexes are built when first asked for."""

    version = 0

    def __init__(self, version: int, held: dict[str, _Held], dimension: int, encoder: str) -> None:
        self.version = version
        self._named, self._held = held, tuple(held.values())  # a write makes another mapping
        self._dimension, self._encoder = dimension, encoder
        self._lock = threading.Lock()
        self._lexical: BM25 | None = None
        self._vectors: NDArray[np.float32] | None = None
        self._names: dict[int, list[int]] | None = None

    def __len__(self) -> int:
        return len(self._held)

    def rank_text(self, text: str, k: int) -> list[Hit]:
        with self._lock:
            if self._lexical is None:
                self._lexical = BM25(encoded_text(h.candidate.title, h.candidate.text) for h in self._held)
        return self._lexical.rank(text, k)

    def rank_vectors(self, vectors: NDArray[np.floating[Any]], k: int) -> list[list[Hit]]:
        if not self._dimension:  # a corpus without an encoder
            return [[] for _ in vectors]
        points = check_points(vectors, self._dimension, self._encoder)
        with self._lock:
            if self._vectors is None:
                rows = [h.candidate.vector for h in self._held if h.candidate.vector is not None]
                self._vectors = (
                    np.stack(rows).astype(np.float32) if rows else np.empty((0, self._dimension), np.float32)
                )
        return [best_hits(products(self._vectors, point), k) for point in points]

    def rank_names(self, numbers: NDArray[np.int64], k: int) -> dict[int, Sequence[int]]:
        with self._lock:
            if self._names is None:
                self._names = self._read_names()
        found = {place: self._names.get(number) for place, number in enumerate(numbers.tolist())}
        return {place: rows[:k] for place, rows in found.items() if rows}

    def _read_names(self) -> dict[int, list[int]]:
        keys: list[tuple[int, int, int, int]] = []
        for row, held in enumerate(self._held):
            candidate = held.candidate
            numbers = name_numbers(candidate.title or opening_name(candidate.text), held.unit.names)
            position = candidate.position or 0
            keys += [(number, exactness, position, row) for exactness, number in enumerate(numbers)]
        names: dict[int, list[int]] = {}
        for number, _, _, row in sorted(keys):
            names.setdefault(number, []).append(row)
        return names

    def by_id(self, ids: Sequence[str]) -> dict[str, Unit]:
        return {name: self._named[name].unit for name in ids if name in self._named}

    def every_unit(self) -> Iterator[Unit]:
        return (held.unit for held in self._held)

    def units(self, rows: Sequence[int]) -> list[Candidate]:
        return [replace(self._held[row].candidate, score=None) for row in rows]


def vectors_of(candidates: Sequence[Candidate], encoder: Encoder) -> NDArray[np.float32]:
    """Return one row for each candidate: the vectors that all of them carry, or the encoder's."""
    given = [one.vector for one in candidates if one.vector is not None]
    if not given or len(given) < len(candidates):
        return encoder.encode_passages([encoded_text(one.title, one.text) for one in candidates])
    for one, vector in zip(candidates, given, strict=True):
        if vector.shape != (encoder.dimension,):
            raise CandidateError(
                f"candidate {one.id!r} has a vector of shape {vector.shape}, but the encoder "
                f"{encoder.name!r} makes {encoder.dimension} numbers; leave the vectors out or use the "
                "encoder they came from",
                item=one.id,
            )
    return np.stack([np.asarray(vector, dtype=np.float32) for vector in given])


def _unit_of(candidate: Candidate) -> Unit:
    """Return what stands for a candidate that was given, not stored."""
    path = str(candidate.metadata.get("path", candidate.document))
    return Unit(
        id=candidate.id,
        text=candidate.text,
        source=candidate.document,
        path=path,
        title=candidate.title,
        position=candidate.position or 0,
        vector=None if candidate.vector is None else np.asarray(candidate.vector, dtype=np.float32),
    )
