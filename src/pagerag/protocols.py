"""The doors that third parties may come through: one small protocol each, and the entry-point groups.

A package makes a component known by an entry point in one of the groups below; ``load`` finds it by
name. ``pagerag.testing`` has a conformance check for each protocol.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from pagerag.errors import InputError
from pagerag.units import Answer, Candidate, Pool, State

__all__ = [
    "GROUPS",
    "Backend",
    "ContextPreference",
    "Encoder",
    "EntityExtractor",
    "Reader",
    "Retriever",
    "SupportEncoder",
    "TokenCounter",
    "load",
    "names",
]

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
        ...


@runtime_checkable
class Encoder(Protocol):
    """Turns texts into unit-length float32 rows. Queries and passages may be encoded differently."""

    name: str
    dimension: int

    def encode_queries(self, texts: Sequence[str], /) -> NDArray[np.float32]:
        """Return one row for each question."""
        ...

    def encode_passages(self, texts: Sequence[str], /) -> NDArray[np.float32]:
        """Return one row for each passage."""
        ...


@runtime_checkable
class Retriever(Protocol):
    """Turns a question into a Pool."""

    name: str

    def retrieve(self, question: str, k: int = 20) -> Pool:
        """Return at most ``k`` candidates, best first, ids unique."""
        ...


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
        ...

    def read(self, question: str, context: Sequence[Candidate], *, state: State = "enough") -> Answer:
        """Return the answer; may block."""
        ...

    async def aread(self, question: str, context: Sequence[Candidate], *, state: State = "enough") -> Answer:
        """Return the answer without blocking the caller's event loop."""
        ...

    def stream(
        self, question: str, context: Sequence[Candidate], *, state: State = "enough"
    ) -> Iterator[str | Answer]:
        """Yield pieces of the reply as they come, then the Answer, whose text is the one that counts."""
        ...

    def close(self) -> None:
        """Give back what the reader holds (connections, a loaded model); a later call opens it again."""
        ...


@runtime_checkable
class Backend(Protocol):
    """Another RAG system, seen through the pool it retrieves for a question."""

    name: str

    def pool(self, question: str, k: int = 20) -> Pool:
        """Return what the system retrieves for ``question``: at most ``k`` candidates, best first."""
        ...


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
        ...


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
