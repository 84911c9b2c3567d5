"""What every engine shares: searches in terms of a snapshot, and checks of what is written.

An engine derives from ``CorpusBase`` and brings ``snapshot``, the ledger, and the writes ``_replace``,
``_remove`` and ``_write_files``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from operator import attrgetter
from pathlib import Path, PurePath
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from pagerag.errors import CandidateError, InputError, StoreError, StoreMismatchError
from pagerag.protocols import Encoder, Snapshot
from pagerag.store.problems import damaged
from pagerag.store.recent import AnalysisCache
from pagerag.store.schema import FILE_COLUMNS
from pagerag.text.keys import key_number, title_key
from pagerag.text.terms import encoded_text
from pagerag.units import Analysis, Candidate, FileRecord, Hit, StoredDocument, StoreStats, Unit


class SnapshotBase(Snapshot, Protocol):
    """A snapshot that also gives units as they are stored; its two rankings are searched one by one."""

    def rank_both(
        self, text: str, vectors: NDArray[np.floating[Any]], k: int
    ) -> tuple[Sequence[Hit], Sequence[Sequence[Hit]]]:
        """Return ``rank_text`` and ``rank_vectors``."""
        return self.rank_text(text, k), self.rank_vectors(vectors, k)

    def by_id(self, ids: Sequence[str]) -> Mapping[str, Unit]:
        """Return the stored units of those of these ids that are there."""
        ...

    def every_unit(self) -> Iterator[Unit]:
        """Yield all units with their vectors, in the order of writing."""
        ...


class CorpusBase(ABC):
    """Search, look up and fetch over ``snapshot``; see ``pagerag.protocols.Corpus`` for the contract."""

    location: str
    encoder: Encoder | None = None
    encoder_name: str
    dimension: int

    def __init__(self, encoder: Encoder | None, *, create: bool = False) -> None:
        if create and encoder is None:
            raise InputError("a new store needs an encoder: its name and dimension become part of it")
        self.encoder = encoder
        self._analyses = AnalysisCache()

    @property
    def folder(self) -> Path | None:
        """Return the folder on the local disk that the corpus lives in, None if there is none."""
        return None

    @abstractmethod
    def snapshot(self) -> AbstractContextManager[SnapshotBase]:
        """Pin the latest state for as long as the block runs."""

    @abstractmethod
    def ledger(self) -> Mapping[str, FileRecord]:
        """Return the files that were taken in completely, by path, in order."""

    @abstractmethod
    def _replace(self, units: Sequence[Unit], sources: Sequence[str]) -> None:
        """Put checked units, which have vectors, in place of all units of ``sources``, in one commit."""

    @abstractmethod
    def _remove(self, sources: Sequence[str]) -> int:
        """Remove the units of these sources in one commit; return how many units went."""

    @abstractmethod
    def _write_files(self, records: Sequence[FileRecord], gone: Sequence[str]) -> None:
        """Strike the files ``gone`` from the ledger, then enter ``records``, in one commit."""

    @abstractmethod
    def close(self) -> None:
        """Let go of files and memory."""

    def __len__(self) -> int:
        with self.snapshot() as now:
            return len(now)

    def search_text(self, text: str, k: int = 20) -> list[Candidate]:
        """Return the ``k`` best units by BM25 over ``title. text``."""
        with self.snapshot() as now:
            return _candidates(now, now.rank_text(text, k))

    def search_vector(self, vector: NDArray[np.floating[Any]], k: int = 20) -> list[Candidate]:
        """Return the ``k`` nearest units by cosine."""
        with self.snapshot() as now:
            return _candidates(now, now.rank_vectors(np.asarray(vector)[None, :], k)[0])

    def lookup_title(self, title: str, k: int = 5) -> list[Candidate]:
        """Return the first ``k`` units of the documents of this title, the most exact first."""
        return self.lookup_titles([title], k)[0]

    def lookup_titles(self, titles: Sequence[str], k: int = 5) -> list[list[Candidate]]:
        """Return ``lookup_title`` of each title, from one state."""
        keys = [title_key(title) for title in titles]
        asked = [place for place, key in enumerate(keys) if key]
        result: list[list[Candidate]] = [[] for _ in titles]
        if k <= 0 or not asked:
            return result
        with self.snapshot() as now:
            numbers = np.array([key_number(keys[place]) for place in asked], dtype=np.int64)
            for place, rows in now.rank_names(numbers, k).items():
                result[asked[place]] = list(now.units(rows))
        return result

    def fetch(self, ids: Sequence[str]) -> list[Candidate]:
        """Return the units of these ids, in this order; an unknown id raises InputError."""
        found = self._candidates_of(ids)
        for name in ids:
            if name not in found:
                raise InputError(f"the store {self.location} has no unit {name!r}")
        return [found[name] for name in ids]

    def _candidates_of(self, ids: Sequence[str]) -> Mapping[str, Candidate]:
        return {name: unit.candidate() for name, unit in self._by_id(ids).items()}

    def _by_id(self, ids: Sequence[str]) -> Mapping[str, Unit]:
        with self.snapshot() as now:
            return now.by_id(list(dict.fromkeys(ids)))

    def units(self) -> Iterable[Unit]:
        """Return every stored unit with its vector, from one state, in the order of writing."""
        with self.snapshot() as now:
            yield from now.every_unit()

    def analyses(self, candidates: Sequence[Candidate]) -> list[Analysis | None]:
        """Return the stored analysis of each candidate, None where there is none that fits its text.

        Sentences made by ``sentences_of`` have theirs, too. Nothing is read for units that were retrieved a
        moment ago.
        """
        return self._analyses.of(candidates, self._by_id)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _check_encoder(self) -> None:
        """Refuse an encoder that is not the one the corpus was made with."""
        given = self.encoder
        if given is not None and (given.name, given.dimension) != (self.encoder_name, self.dimension):
            raise StoreMismatchError(
                f"the store {self.location} was made with the encoder {self.encoder_name!r} "
                f"({self.dimension} numbers), not {given.name!r} ({given.dimension}); use that encoder, or "
                "index the documents again into a new folder"
            )

    def upsert(self, units: Sequence[Unit], *, sources: Iterable[str] = ()) -> int:
        """Put ``units`` in place of all units of their sources, and of ``sources``; return how many."""
        replaced = list(dict.fromkeys([*(unit.source for unit in units), *sources]))
        if replaced:
            self._replace(self._ready(units), replaced)
        return len(units)

    def delete(self, sources: Iterable[str]) -> int:
        """Remove the units of these sources; return how many units went."""
        gone = list(dict.fromkeys(sources))
        return self._remove(gone) if gone else 0

    def acknowledge(self, records: Sequence[FileRecord]) -> None:
        """Enter files in the ledger; their units must have been stored before."""
        latest = {record.path: record for record in records}
        if latest:
            self._write_files(list(latest.values()), list(latest))

    def forget(self, paths: Iterable[str]) -> None:
        """Strike files from the ledger."""
        gone = list(dict.fromkeys(paths))
        if gone:
            self._write_files((), gone)

    def _stats(self, **counted: Any) -> StoreStats:
        """Return the statistics, with what every engine takes from its identity and its ledger."""
        files = self.ledger().values()
        kinds = Counter(PurePath(record.path).suffix.lower() or "(none)" for record in files)
        return StoreStats(
            location=self.location,
            encoder=self.encoder_name,
            dimension=self.dimension,
            files=len(files),
            duplicates=sum(record.status == "duplicate" for record in files),
            by_type=dict(sorted(kinds.items())),
            **counted,
        )

    def _ready(self, units: Sequence[Unit]) -> list[Unit]:
        """Return units that are checked and have vectors."""
        ready = self._encoded(units)
        _check_units(ready, self.dimension)
        return ready

    def _encoded(self, units: Sequence[Unit]) -> list[Unit]:
        """Return the units, each with a vector."""
        bare = [unit for unit in units if unit.vector is None]
        if not bare:
            return list(units)
        if self.encoder is None:
            raise StoreError(
                f"storing units without vectors needs the encoder {self.encoder_name!r}, and the store "
                f"{self.location} was opened without one"
            )
        rows = self.encoder.encode_passages([encoded_text(unit.title, unit.text) for unit in bare])
        vectors = {unit.id: row for unit, row in zip(bare, rows, strict=True)}
        return [replace(u, vector=vectors[u.id]) if u.vector is None else u for u in units]


class SqlCorpus(CorpusBase):
    """A corpus whose documents and ledger are tables."""

    @abstractmethod
    def _rows(self, statement: str) -> list[tuple[Any, ...]]:
        """Return the rows of a statement."""

    def documents(self) -> dict[str, StoredDocument]:
        """Return the documents that are stored, by source."""
        rows = self._rows("SELECT source, digest, path, units FROM documents")
        return {source: StoredDocument(*rest) for source, *rest in rows}

    def ledger(self) -> dict[str, FileRecord]:
        """Return the files that were taken in completely, by path, in order."""
        records = [FileRecord(*row) for row in self._rows(f"SELECT {FILE_COLUMNS} FROM files")]  # noqa: S608
        if not all(isinstance(record.path, str) for record in records):
            raise damaged(self.location, "a file of its ledger has no name")
        return {record.path: record for record in sorted(records, key=attrgetter("path"))}


def _candidates(now: Snapshot, hits: Sequence[Hit]) -> list[Candidate]:
    units = now.units([hit.row for hit in hits])
    return [replace(unit, score=hit.score) for unit, hit in zip(units, hits, strict=True)]


def check_points(vectors: NDArray[np.floating[Any]], dimension: int, encoder: str) -> NDArray[np.float32]:
    """Return query vectors as unit-length float32 rows; vectors that cannot be searched are refused."""
    points = np.asarray(vectors, dtype=np.float32)
    if points.ndim != 2 or points.shape[1] != dimension:
        held = f"this store holds {dimension} numbers a unit, by {encoder!r}"
        raise InputError(f"a vector of shape {points.shape[1:]} cannot be searched: {held}")
    if not np.isfinite(points).all():
        raise InputError("a vector with NaN or infinity cannot be searched")
    lengths = np.linalg.norm(points, axis=1, keepdims=True)
    return np.asarray(points / np.maximum(lengths, 1e-12), dtype=np.float32)


def _check_units(units: Sequence[Unit], dimension: int) -> None:
    """Refuse units that cannot be stored; the unit is named."""
    seen: set[str] = set()
    for unit in units:
        if unit.id in seen:
            raise CandidateError(f"two units have the id {unit.id!r}", item=unit.id)
        seen.add(unit.id)
        wrong = _wrong_with(unit, dimension)
        if wrong:
            raise CandidateError(f"unit {unit.id!r} {wrong}", item=unit.id)


def _wrong_with(unit: Unit, dimension: int) -> str:
    if not unit.id or not unit.source:
        return "needs an id and a source"
    if not unit.text.strip():
        return "has no text"
    for name in ("id", "text", "title", "source"):
        try:
            (getattr(unit, name) or "").encode()
        except UnicodeEncodeError as broken:
            return f"holds half of a surrogate pair in its {name} ({broken.reason}); replace it first"
    if unit.vector is None or unit.vector.shape != (dimension,):
        shape = None if unit.vector is None else unit.vector.shape
        return f"has a vector of shape {shape}; this store holds {dimension} numbers each"
    return "" if np.isfinite(unit.vector).all() else "has a vector with NaN or infinity"
