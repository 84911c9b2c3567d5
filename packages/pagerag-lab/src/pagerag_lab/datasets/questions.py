"""A benchmark question with its own documents, cut into units of the pool on demand."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pagerag.errors import InputError
from pagerag.units import Candidate, Mode
from pagerag_lab.metrics.answers import AnswerRule

__all__ = ["Document", "Question", "sentence_key"]


def sentence_key(title: str, index: int) -> str:
    """Return what names a supporting fact: the document's key and the sentence's 0-based place in it."""
    return f"{title}#{index}"


@dataclass(frozen=True, slots=True)
class Document:
    """One document of a question's context, or one passage of a corpus.

    ``key`` is what the benchmark's gold names (a title, a paragraph number); ``id`` is unique among the
    documents it stands with and equals ``key`` unless two different texts share a title. ``sentences``
    are the benchmark's own; a paragraph without sentence boundaries is one.
    """

    id: str
    key: str
    title: str | None
    sentences: tuple[str, ...]

    @property
    def text(self) -> str:
        """The whole document."""
        return " ".join(part for part in (sentence.strip() for sentence in self.sentences) if part)

    def unit(self) -> Candidate:
        """Return the document as one unit of a pool."""
        return Candidate(id=self.id, text=self.text, title=self.title or None, source=self.id)

    def sentence_units(self) -> tuple[Candidate, ...]:
        """Return its sentences as units. An empty one is no candidate; the places of the others stay."""
        return tuple(
            Candidate(
                id=sentence_key(self.id, place),
                text=text,
                title=self.title or None,
                source=self.id,
                position=place,
            )
            for place, text in ((place, raw.strip()) for place, raw in enumerate(self.sentences))
            if text
        )


@dataclass(frozen=True, slots=True)
class Question:
    """A question, its accepted answers, its context and its gold.

    ``facts`` are the benchmark's supporting facts: (document key, sentence index), the index being None
    where gold is a whole paragraph or document. They may name documents that the context lacks (fullwiki).
    ``units(mode)`` is what a retriever ranks and ``gold(mode)`` what a selection is scored against; both
    speak of the same unit. Gold is for metrics only: nothing in ``units`` carries it.
    """

    id: str
    question: str
    answers: tuple[str, ...]
    documents: tuple[Document, ...]
    facts: tuple[tuple[str, int | None], ...]
    type: str = ""
    hops: int = 0
    answer_rule: AnswerRule = "hotpotqa"
    metadata: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)

    @property
    def sentence_gold(self) -> bool:
        """Whether the gold names sentences."""
        return any(index is not None for _, index in self.facts)

    def units(self, mode: Mode) -> tuple[Candidate, ...]:
        """Return the context as candidates of this granularity, in the file's order, without scores."""
        if mode == "sentence":
            return tuple(unit for document in self.documents for unit in document.sentence_units())
        return tuple(document.unit() for document in self.documents if document.text)

    def gold(self, mode: Mode) -> frozenset[str]:
        """Return the keys of the gold units of this granularity (see ``keys``)."""
        if mode == "sentence":
            if self.facts and not self.sentence_gold:
                raise InputError(
                    f"question {self.id!r} has paragraph-level gold; use mode 'paragraph' or 'document'"
                )
            return frozenset(sentence_key(key, index) for key, index in self.facts if index is not None)
        return frozenset(key for key, _ in self.facts)

    def keys(self, mode: Mode) -> dict[str, str]:
        """Return the keys that gold uses by unit id: the same but for documents that share a title."""
        if mode == "sentence":
            return {
                unit.id: sentence_key(document.key, unit.position or 0)
                for document in self.documents
                for unit in document.sentence_units()
            }
        return {document.id: document.key for document in self.documents}

    def gold_ids(self, mode: Mode) -> frozenset[str]:
        """Return the ids of the context's units that are gold; for labels in training and for tests."""
        gold = self.gold(mode)
        return frozenset(unit for unit, key in self.keys(mode).items() if key in gold)


def make_documents(raw: Iterable[tuple[str, str | None, tuple[str, ...]]]) -> tuple[Document, ...]:
    """Make documents from (key, title, sentences): one given twice is one, others get unique ids."""
    documents: dict[str, Document] = {}
    for key, title, sentences in raw:
        name, copy = key, 1
        while name in documents and documents[name].sentences != sentences:
            copy += 1
            name = f"{key} ({copy})"
        documents.setdefault(name, Document(id=name, key=key, title=title, sentences=sentences))
    return tuple(documents.values())
