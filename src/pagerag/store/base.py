"""What a store is: a small protocol, and the records that cross it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from pagerag.store.units import Unit
from pagerag.text import Analysis
from pagerag.units import Candidate

__all__ = ["SCHEMA_VERSION", "FileRecord", "SearchMode", "Store", "StoreStats", "StoredDocument"]

SCHEMA_VERSION = 3
"""Raised whenever a stored column changes its name, type or meaning. Other versions are refused."""

SearchMode = Literal["hybrid", "dense", "lexical"]

FileStatus = Literal["indexed", "duplicate", "empty"]


@dataclass(frozen=True, slots=True)
class FileRecord:
    """A file that a store has taken in completely: the ledger that makes indexing incremental.

    ``digest`` covers the file's bytes and the settings it was read with. A ``duplicate`` file repeats the
    document ``original`` and has no units of its own.
    """

    path: str
    digest: str
    status: FileStatus = "indexed"
    documents: int = 0
    units: int = 0
    size: int = 0
    original: str | None = None


class StoredDocument(NamedTuple):
    """A document that is in the store, whether or not its file is in the ledger yet."""

    digest: str
    path: str
    units: int


@dataclass(frozen=True, slots=True)
class StoreStats:
    """What a store holds."""

    location: str
    schema_version: int
    encoder: str
    dimension: int
    units: int
    documents: int
    files: int
    duplicates: int
    size_bytes: int | None
    search: Literal["exact", "approximate"]
    unindexed: int
    version: int
    analysis_current: bool
    by_type: Mapping[str, int] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """A JSON-able copy."""
        return asdict(self)


@runtime_checkable
class Store(Protocol):
    """Where a corpus lives.

    Writes are atomic and durable when the call returns: a reader, or a crash at any moment, sees all of
    an ``upsert`` or nothing of it. Candidates come back best first, with score, vector and the metadata
    of ``Unit.candidate``. Vectors are of the one encoder the store was made with.
    """

    schema_version: int
    encoder_name: str
    dimension: int

    def upsert(self, units: Sequence[Unit], *, sources: Iterable[str] = ()) -> int:
        """Put ``units`` in place of all units of their sources (and of ``sources``); returns how many."""
        ...

    def delete(self, sources: Iterable[str]) -> int:
        """Remove the units of these sources; returns how many units went."""
        ...

    def search(
        self,
        query: str,
        k: int = 20,
        mode: SearchMode = "hybrid",
        *,
        vector: NDArray[np.floating[Any]] | None = None,
    ) -> list[Candidate]:
        """The ``k`` best units for a question; ``vector`` spares encoding it again."""
        ...

    def search_text(self, text: str, k: int = 20) -> list[Candidate]:
        """The ``k`` best units by BM25."""
        ...

    def search_vector(self, vector: NDArray[np.floating[Any]], k: int = 20) -> list[Candidate]:
        """The ``k`` nearest units."""
        ...

    def lookup_title(self, title: str, k: int = 5) -> list[Candidate]:
        """The first ``k`` units of the documents of this title, in reading order."""
        ...

    def fetch(self, ids: Sequence[str]) -> list[Candidate]:
        """The units of these ids, in this order; an unknown id is an error."""
        ...

    def analyses(self, candidates: Sequence[Candidate]) -> list[Analysis | None]:
        """The stored analysis of each candidate, None where there is none to use."""
        ...

    def documents(self) -> dict[str, StoredDocument]:
        """The documents that are stored, by source."""
        ...

    def ledger(self) -> dict[str, FileRecord]:
        """The files that were taken in completely, by path."""
        ...

    def acknowledge(self, records: Sequence[FileRecord]) -> None:
        """Enter files in the ledger; their units must have been stored before."""
        ...

    def forget(self, paths: Iterable[str]) -> None:
        """Strike files from the ledger."""
        ...

    def optimize(self, *, final: bool = True) -> None:
        """Compact, and bring the indexes up to date; ``final`` when no more is to come for now."""
        ...

    def stats(self) -> StoreStats:
        """What the store holds."""
        ...
