"""The nouns: what flows from a question to an answer. Frozen, slotted, no I/O."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

from pagerag.errors import FormatError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Mode = Literal["sentence", "paragraph", "document"]
"""What a unit of the pool is; the promoted context is made of the same units."""

SupportChoice = Literal["auto", "default", "small", "none"]
"""Which support encoder joins promotion (``pagerag.models.support_named`` tells what each name means)."""
SUPPORT_CHOICES: tuple[SupportChoice, ...] = get_args(SupportChoice)

SupportKind = Literal["support", "judge"]
"""On whose signals a learned scorer was fitted: those of the small support encoder, or of the larger."""

State = Literal["enough", "ambiguous", "insufficient"]
"""How far the selected set seems to answer the question."""

ScoreKind = Literal["none", "relevance", "probability"]
"""What the scores of a pool's candidates are: absent, numbers on the retriever's own scale that say nothing
beyond one question, or probabilities that a candidate belongs to the evidence."""

FileStatus = Literal["indexed", "duplicate", "empty"]
"""What became of a file: its text is in the corpus, it repeats another file, or it has no text."""

ANALYSIS_VERSION = 3
"""Raised whenever reading the same text gives another Analysis, or its stored form changes."""

_COMPACT = json.JSONEncoder(separators=(",", ":")).encode  # made once: ``json.dumps`` makes one each time


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

    @property
    def sections(self) -> tuple[str, ...]:
        """The headings that it stands under, outermost first, where its metadata has a ``section_path``."""
        path = self.metadata.get("section_path")
        return tuple(map(str, path)) if isinstance(path, list | tuple) else ()


@dataclass(frozen=True, slots=True)
class Pool:
    """A question with the candidates that some retriever or RAG system exposes for it, best first.

    ``vector`` is the question's own embedding, in the same space as the candidates' vectors.
    ``relations`` are facts that name their units; ``origin`` says who made the pool; ``scores`` says what the
    candidates' scores are.
    """

    question: str
    candidates: tuple[Candidate, ...]
    vector: NDArray[np.floating[Any]] | None = field(default=None, compare=False, repr=False)
    relations: tuple[Relation, ...] = ()
    origin: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)
    scores: ScoreKind = "relevance"

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

    ``text`` is the short answer, empty when the reader abstains. ``confidence`` is the probability that the
    text is right; None where there is no text, or the reader knows none. ``quotes`` says that the text is
    nothing but the citations' quotations. ``unfound`` are the words with which the question asks for what the
    text leaves open, where it asks several things.
    ``usage`` counts tokens, seconds and cost where the reader can.
    """

    text: str
    citations: tuple[Citation, ...] = ()
    confidence: float | None = None
    abstained: bool = False
    reader: str = ""
    usage: Mapping[str, Any] = field(default_factory=dict, compare=False)
    raw: str | None = field(default=None, compare=False, repr=False)
    quotes: bool = False
    unfound: tuple[str, ...] = ()

    @property
    def left_open(self) -> str:
        """What the text leaves open, in words to be put behind it; empty where it leaves nothing."""
        if not self.text or not self.unfound:
            return ""
        return f"; not found in the evidence: {', '.join(f'“{asked}”' for asked in self.unfound)}"

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-able copy."""
        return {
            "text": self.text,
            "citations": [
                {"number": c.number, "id": c.candidate_id, "start": c.start, "end": c.end, "quote": c.quote}
                for c in self.citations
            ],
            "confidence": self.confidence,
            "abstained": self.abstained,
            "unfound": list(self.unfound),
            "reader": self.reader,
            "usage": dict(self.usage),
        }


@dataclass(frozen=True, slots=True)
class Analysis:
    """What reading a unit's text gives, sentence by sentence (one sentence when it was read whole).

    ``spans`` are character offsets into the text; ``tokens`` is Tok(s); ``entities`` are keys
    (``text.entities.name_key``), ``surfaces`` how each was spelled; ``relations`` the relation cues as bits;
    ``flags`` are bits of ``text.SentenceFlag``. ``text.Analyzer`` makes them.
    """

    spans: tuple[tuple[int, int], ...]
    tokens: tuple[tuple[str, ...], ...]
    entities: tuple[tuple[str, ...], ...]
    surfaces: tuple[tuple[str, ...], ...]
    relations: tuple[int, ...]
    flags: tuple[int, ...]
    whole: bool = False
    _codes: Any = field(default=None, init=False, repr=False, compare=False)

    def __len__(self) -> int:
        return len(self.spans)

    def __reduce__(self) -> tuple[type[Analysis], tuple[Any, ...]]:
        read = (self.spans, self.tokens, self.entities, self.surfaces, self.relations, self.flags)
        return Analysis, (*read, self.whole)  # without the codes, of which another process has others

    def to_bytes(self) -> bytes:
        """Return a form to store beside the unit; stores compress it."""
        tokens = [" ".join(row) for row in self.tokens]
        read = (self.spans, tokens, self.entities, self.surfaces, self.relations, self.flags)
        return _COMPACT([ANALYSIS_VERSION, int(self.whole), *read]).encode("ascii")

    @classmethod
    def from_bytes(cls, data: bytes) -> Analysis:
        """Read what ``to_bytes`` wrote; another version's bytes, and damaged ones, are refused."""
        try:
            version, *rest = json.loads(data)
            if version != ANALYSIS_VERSION:
                raise FormatError(
                    f"stored analysis has version {version!r}, not {ANALYSIS_VERSION}; index the unit again"
                )
            whole, spans, tokens, entities, surfaces, relations, flags = rest
            made = cls(
                spans=tuple((int(a), int(b)) for a, b in spans),
                tokens=tuple(tuple(row.split(" ")) if row else () for row in tokens),
                entities=tuple(map(tuple, entities)),
                surfaces=tuple(map(tuple, surfaces)),
                relations=tuple(map(int, relations)),
                flags=tuple(map(int, flags)),
                whole=bool(whole),
            )
        except FormatError:
            raise
        except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as broken:
            raise FormatError(f"not a stored analysis ({broken}); index the unit again") from broken
        parts = (made.spans, made.tokens, made.entities, made.surfaces, made.relations, made.flags)
        if len(set(map(len, parts))) > 1:
            raise FormatError("not a stored analysis (its parts differ in length); index the unit again")
        return made


class Hit(NamedTuple):
    """A place in a ranking: the row of a unit in one snapshot of a corpus, and its score."""

    row: int
    score: float


@dataclass(frozen=True, slots=True)
class Unit:
    """One passage as a corpus stores it.

    ``source`` names the document (a file's path, or ``path#record``), ``position`` the passage's place
    among the ``total`` of it. ``start`` and ``end`` are character offsets into the document's extracted
    text; ``sentences`` are offsets into ``text``, with the page of each in ``pages`` where the document
    has pages, and ``ordinal`` is the place of the first one among the document's sentences. ``digest``
    identifies the document's content and the settings it was read with. ``section_path`` holds the headings
    above the passage, the highest first, and ``section`` the last of them. ``origin`` leads back to the
    characters of the file (``pagerag.places.SourceMap.to_text``). ``names`` are names beside the title that
    the unit can be looked up by. ``fields`` holds what else the record carried. ``analysis``
    is ``Analysis.to_bytes()``. ``vector`` may be left out where the corpus has its encoder.
    """

    id: str
    text: str
    source: str
    path: str
    title: str | None = None
    position: int = 0
    total: int = 1
    start: int = 0
    end: int = 0
    ordinal: int = 0
    sentences: tuple[tuple[int, int], ...] = ()
    pages: tuple[int, ...] = ()
    section: str | None = None
    section_path: tuple[str, ...] = ()
    origin: str = field(default="", repr=False)
    names: tuple[str, ...] = ()
    record: str | None = None
    digest: str = ""
    fields: Mapping[str, Any] = field(default_factory=dict, compare=False)
    analysis: bytes | None = field(default=None, repr=False)
    vector: NDArray[np.float32] | None = field(default=None, compare=False, repr=False)

    def neighbour(self, step: int) -> str:
        """Return the id of the passage ``step`` places further on in the same document."""
        return f"{self.source}#{self.position + step}"

    def candidate(self, score: float | None = None) -> Candidate:
        """Return the unit as promotion takes it; everything that locates it is in ``metadata``."""
        located = {
            "path": self.path,
            "start": self.start,
            "end": self.end,
            "ordinal": self.ordinal,
            "sentences": [list(span) for span in self.sentences],
            "page": self.pages[0] if self.pages else None,
            "pages": list(self.pages) or None,
            "section": self.section,
            "section_path": list(self.section_path) or None,
            "origin": self.origin or None,
            "previous": self.neighbour(-1) if self.position > 0 else None,
            "next": self.neighbour(1) if self.position + 1 < self.total else None,
            "record": self.record,
            "fields": dict(self.fields) or None,
        }
        data = {name: value for name, value in located.items() if value is not None}
        document = (self.title, self.source, self.position)
        return Candidate(self.id, self.text, *document, score=score, vector=self.vector, metadata=data)


@dataclass(frozen=True, slots=True)
class FileRecord:
    """A file that a corpus has taken in completely: the ledger that makes indexing incremental.

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
    """A document that is in a corpus, whether or not its file is in the ledger yet."""

    digest: str
    path: str
    units: int


@dataclass(frozen=True, slots=True)
class StoreStats:
    """What a corpus holds; ``unindexed`` counts units that ``optimize`` has not seen yet."""

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
        """Return a copy that JSON can hold."""
        return asdict(self)
