"""The nouns: what flows from a question to an answer. Frozen, slotted, no I/O."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Answer", "Candidate", "Citation", "Mode", "Pool", "Relation", "State", "SupportChoice"]

Mode = Literal["sentence", "paragraph", "document"]
"""What a unit of the pool is; the promoted context is made of the same units."""

SupportChoice = Literal["auto", "default", "none"]
"""Which support encoder joins promotion: the shipped one where it is installed, the shipped one, or none."""

State = Literal["enough", "ambiguous", "insufficient"]
"""How far the selected set seems to answer the question."""


@dataclass(frozen=True, slots=True)
class Relation:
    """One extracted fact, ``head -relation-> tail``, and the units that state it.

    ``units`` holds candidate ids; leave it empty when the relation is given on a candidate, which is
    then its only unit; ids that are not in the pool are passed over, since backends know more units than
    they retrieve. ``confidence`` in [0, 1] becomes conf(e) of the relation edge (A.3).
    """

    head: str
    relation: str
    tail: str
    units: tuple[str, ...] = ()
    confidence: float = 1.0


@dataclass(frozen=True, slots=True)
class Candidate:
    """One unit of the pool: a sentence, a paragraph, a document or a chunk.

    Only ``text`` is needed. ``title`` names the document and counts as an entity of each of its units;
    ``source`` identifies the document (the title does when it is missing) and ``position`` is the unit's
    place in it, so that neighbours can be linked. ``score`` is the retriever's own, on any scale, higher
    is better. ``entities`` and ``relations`` are a backend's own; ``vector`` is its embedding.
    ``metadata`` is the caller's and comes back untouched.
    """

    id: str
    text: str
    title: str | None = None
    source: str | None = None
    position: int | None = None
    score: float | None = None
    entities: tuple[str, ...] | None = None
    relations: tuple[Relation, ...] | None = None
    vector: NDArray[np.floating[Any]] | None = field(default=None, compare=False, repr=False)
    metadata: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)

    @property
    def document(self) -> str:
        """What identifies the document this unit comes from: source, else title, else the unit itself."""
        return self.source or self.title or self.id


@dataclass(frozen=True, slots=True)
class Pool:
    """A question with the candidates that some retriever or RAG system exposes for it, best first.

    ``vector`` is the question's own embedding, in the same space as the candidates' vectors.
    ``relations`` are facts that name their units; ``origin`` says who made the pool.
    """

    question: str
    candidates: tuple[Candidate, ...]
    vector: NDArray[np.floating[Any]] | None = field(default=None, compare=False, repr=False)
    relations: tuple[Relation, ...] = ()
    origin: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)

    def __len__(self) -> int:
        return len(self.candidates)


@dataclass(frozen=True, slots=True)
class Citation:
    """A place in the context that an answer rests on.

    ``number`` is the unit's 1-based place in the context the reader saw; ``start`` and ``end`` are
    character offsets into that unit's text where the reader can tell.
    """

    number: int
    candidate_id: str
    start: int | None = None
    end: int | None = None
    quote: str | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """What a reader says, and what it rests on.

    ``text`` is the short answer, empty when the reader abstains. ``confidence`` is in [0, 1], or None
    when the reader has none. ``usage`` counts tokens, seconds and cost where the reader can.
    """

    text: str
    citations: tuple[Citation, ...] = ()
    confidence: float | None = None
    abstained: bool = False
    reader: str = ""
    usage: Mapping[str, Any] = field(default_factory=dict, compare=False)
    raw: str | None = field(default=None, compare=False, repr=False)

    def to_dict(self) -> dict[str, Any]:
        """A JSON-able copy."""
        return {
            "text": self.text,
            "citations": [
                {
                    "number": c.number,
                    "id": c.candidate_id,
                    "start": c.start,
                    "end": c.end,
                    "quote": c.quote,
                }
                for c in self.citations
            ],
            "confidence": self.confidence,
            "abstained": self.abstained,
            "reader": self.reader,
            "usage": dict(self.usage),
        }


Candidates = Sequence["str | Mapping[str, Any] | Candidate"]
"""What ``promote`` accepts as a pool."""
