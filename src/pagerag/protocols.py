"""The doors that third parties may come through: one small protocol each, and the entry-point groups.

A package makes a component known by an entry point in one of the groups below; ``load`` finds it by
name. ``pagerag.testing`` has a conformance check for each protocol.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from pagerag.errors import InputError
from pagerag.units import (
    Analysis,
    Answer,
    Candidate,
    FileRecord,
    Hit,
    Pool,
    State,
    StoredDocument,
    StoreStats,
    Unit,
)

GROUPS = {
    "extractor": "pagerag.extractors",
    "encoder": "pagerag.encoders",
    "retriever": "pagerag.retrievers",
    "reader": "pagerag.readers",
    "backend": "pagerag.backends",
}

TokenCounter = Callable[[str], int]
"""Count the tokens that a text costs the reader. It must be deterministic and must not raise on odd text."""

ContextPreference = Literal["core", "context"]
"""What a reader reads best: the minimal core, or the context filled to k."""


class EntityExtractor(Protocol):
    """Text to the entities it names, in order of appearance, spelled as in the text.

    A plain function fits. It must be deterministic and must not raise on odd text.
    """

    def __call__(self, text: str, /) -> Sequence[str]:
        """Return the entities of ``text``."""


@runtime_checkable
class Encoder(Protocol):
    """Turns texts into unit-length float32 rows. Queries and passages may be encoded differently."""

    name: str
    dimension: int

    def encode_queries(self, texts: Sequence[str], /) -> NDArray[np.float32]:
        """Return one row for each question."""

    def encode_passages(self, texts: Sequence[str], /) -> NDArray[np.float32]:
        """Return one row for each passage."""


@runtime_checkable
class Retriever(Protocol):
    """Turns a question into a Pool."""

    name: str

    def retrieve(self, question: str, k: int = 20) -> Pool:
        """Return at most ``k`` candidates, best first, ids unique.

        ``Pool.scores`` says what their scores are.
        """


class Snapshot(Protocol):
    """One state of a corpus: what is asked of it never mixes two versions, whatever others write meanwhile.

    Rankings are rows and scores, best first, at most ``k``; the units of rows are read when they are needed.
    A row is valid within its snapshot only.
    """

    @property
    def version(self) -> int:
        """Return the number of this state; it grows with every write."""

    def __len__(self) -> int:
        """Return how many units there are."""

    def rank_text(self, text: str, k: int) -> Sequence[Hit]:
        """Rank units by BM25 over ``text.terms`` of ``title. text``.

        Units that share no term with the text are left out.
        """

    def rank_vectors(self, vectors: NDArray[np.floating[Any]], k: int) -> Sequence[Sequence[Hit]]:
        """Rank units by cosine with each row of ``vectors``."""

    def rank_both(
        self, text: str, vectors: NDArray[np.floating[Any]], k: int
    ) -> tuple[Sequence[Hit], Sequence[Sequence[Hit]]]:
        """Return ``rank_text`` and ``rank_vectors``, asked together: one round trip to a server."""

    def rank_names(self, numbers: NDArray[np.int64], k: int) -> Mapping[int, Sequence[int]]:
        """Return the rows of at most ``k`` units for each number that is one of a unit's names.

        ``numbers`` are ``text.keys.key_number`` of keys; a unit's own are ``text.keys.name_numbers`` of its
        title and names. The result is keyed by the place in ``numbers``; exact titles come before shorter
        forms, then units in reading order.
        """

    def units(self, rows: Sequence[int]) -> Sequence[Candidate]:
        """Return the units of these rows, in this order, with their vectors and without a score."""


@runtime_checkable
class Corpus(Protocol):
    """Where passages live and are searched. ``pagerag.testing.check_corpus`` checks all that is said here.

    Reading is thread-safe. A write is atomic and durable when the call returns: a reader, or a crash at any
    moment, sees all of an ``upsert`` or nothing of it. ``encoder_name`` and ``dimension`` belong to the
    corpus and never change; ``encoder`` is None when it was opened without one.
    """

    location: str
    encoder: Encoder | None
    encoder_name: str
    dimension: int

    @property
    def folder(self) -> Path | None:
        """Return the folder on the local disk that the corpus lives in, None if there is none."""

    def snapshot(self) -> AbstractContextManager[Snapshot]:
        """Pin the latest state for as long as the block runs."""

    def __len__(self) -> int:
        """Return how many units there are."""

    def search_text(self, text: str, k: int = 20) -> Sequence[Candidate]:
        """Return the ``k`` best units by BM25, with scores and vectors."""

    def search_vector(self, vector: NDArray[np.floating[Any]], k: int = 20) -> Sequence[Candidate]:
        """Return the ``k`` units nearest to a vector, with scores and vectors."""

    def lookup_title(self, title: str, k: int = 5) -> Sequence[Candidate]:
        """Return the first ``k`` units of the documents of this title.

        Case, accents and a bracket at the stored title's end do not count: "alien" finds "Alien (film)".
        """

    def lookup_titles(self, titles: Sequence[str], k: int = 5) -> Sequence[Sequence[Candidate]]:
        """Return ``lookup_title`` of each title, from one state."""

    def fetch(self, ids: Sequence[str]) -> Sequence[Candidate]:
        """Return the units of these ids, in this order; an unknown id raises InputError."""

    def units(self) -> Iterable[Unit]:
        """Return every stored unit with its vector, from one state, in the order of writing."""

    def analyses(self, candidates: Sequence[Candidate]) -> Sequence[Analysis | None]:
        """Return the stored analysis of each candidate, None where there is none that fits its text.

        Sentences made by ``store.sentences_of`` have theirs, too.
        """

    def writing(self) -> AbstractContextManager[None]:
        """Be a writer while the block runs.

        Where an engine takes one writer at a time, a second one gets a StoreError at once. Where it takes
        several, they are let in, and one who may not write at all gets the StoreError.
        """

    def upsert(self, units: Sequence[Unit], *, sources: Iterable[str] = ()) -> int:
        """Put ``units`` in place of all units of their sources, and of ``sources``; return how many."""

    def delete(self, sources: Iterable[str]) -> int:
        """Remove the units of these sources; return how many units went."""

    def documents(self) -> Mapping[str, StoredDocument]:
        """Return the documents that are stored, by source."""

    def ledger(self) -> Mapping[str, FileRecord]:
        """Return the files that were taken in completely, by path, in order."""

    def acknowledge(self, records: Sequence[FileRecord]) -> None:
        """Enter files in the ledger; their units must have been stored before."""

    def forget(self, paths: Iterable[str]) -> None:
        """Strike files from the ledger."""

    def optimize(self, *, final: bool = True) -> None:
        """Bring indexes up to date and reclaim space; ``final`` when no more is to come for now."""

    def pending(self) -> int:
        """Return how many units ``optimize`` has not seen yet; searches find them all the same."""

    def stats(self) -> StoreStats:
        """Return what the corpus holds."""

    def verify(self) -> Sequence[str]:
        """Read everything and return what is damaged, one sentence each; empty when all is sound."""

    def close(self) -> None:
        """Let go of files and memory; the object is of no use afterwards."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None: ...


@runtime_checkable
class Reader(Protocol):
    """Question and context to Answer. Citations name units of the context and nothing else.

    ``name`` is what people call the reader; ``identity`` is everything that decides an answer besides the
    question and the context (model, prompt, thresholds), so that answers can be cached under it; ``prefers``
    says what the reader reads best. ``state`` is promotion's verdict; with ``insufficient`` the reader is
    expected to say so. ``read``, ``aread`` and ``stream`` give equal answers. A reader may be called from
    several threads at once. ``pagerag.read.AtOnceReader`` has all of it but ``read``, for readers that do not
    wait and do not stream.
    """

    name: str
    prefers: ContextPreference

    @property
    def identity(self) -> str:
        """Everything that decides an answer besides the question and the context."""

    def read(self, question: str, context: Sequence[Candidate], *, state: State = "enough") -> Answer:
        """Return the answer; may block."""

    async def aread(self, question: str, context: Sequence[Candidate], *, state: State = "enough") -> Answer:
        """Return the answer without blocking the caller's event loop."""

    def stream(
        self, question: str, context: Sequence[Candidate], *, state: State = "enough"
    ) -> Iterator[str | Answer]:
        """Yield pieces of the reply as they come, then the Answer, whose text is the one that counts."""

    def close(self) -> None:
        """Give back what the reader holds (connections, a loaded model); a later call opens it again."""


@runtime_checkable
class ReadsOn(Protocol):
    """A reader that can read the core first, and the rest of the context only where the core leaves doubt."""

    def read_on(
        self,
        question: str,
        core: Sequence[Candidate],
        others: Sequence[Candidate],
        *,
        state: State = "enough",
    ) -> Answer:
        """Return the answer; citations number the units of the core first, then the others."""


@runtime_checkable
class Backend(Protocol):
    """Another RAG system, seen through the pool it retrieves for a question."""

    name: str

    def pool(self, question: str, k: int = 20) -> Pool:
        """Return what the system retrieves for ``question``: at most ``k`` candidates, best first."""


@runtime_checkable
class SupportEncoder(Protocol):
    """A model's own judgement of support, optional in promotion.

    ``signals`` names the columns of what ``support`` returns. It must be deterministic, and may be called
    from several threads at once.
    """

    name: str
    signals: tuple[str, ...]

    def support(self, question: str, units: Sequence[Candidate], /) -> NDArray[np.float32]:
        """Return an array of shape (units, len(signals)); higher means more support."""


def names(kind: str) -> list[str]:
    """Return the names under which components of this kind are installed, sorted."""
    return sorted(point.name for point in _points(kind))


def load(kind: str, name: str) -> Any:
    """Return the installed component of this kind and name (a class, a factory or a function)."""
    for point in _points(kind):
        if point.name == name:
            return point.load()
    known = ", ".join(names(kind)) or "none is installed"
    raise InputError(f"there is no {kind} named {name!r}; installed: {known}")


def _points(kind: str) -> Any:
    from importlib.metadata import entry_points  # slow to import, and only components by name need it

    if kind not in GROUPS:
        raise InputError(f"unknown kind {kind!r}; one of: {', '.join(sorted(GROUPS))}")
    return entry_points(group=GROUPS[kind])
