"""What a store keeps of a passage, and how it becomes a candidate, its sentences, and a place to cite."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pagerag.places import Place, place_of
from pagerag.text import split_sentences
from pagerag.units import Candidate

__all__ = ["Place", "Unit", "encoded_text", "place_of", "sentences_of"]

SENTENCE_MARK = "@"
"""Stands between a unit's id and the number of one of its sentences."""


@dataclass(frozen=True, slots=True)
class Unit:
    """One stored passage.

    ``source`` names the document (a file's path, or ``path#record``), ``position`` the passage's place
    among the ``total`` of it. ``start`` and ``end`` are character offsets into the document's extracted
    text; ``sentences`` are offsets into ``text``, with the page of each in ``pages`` where the document
    has pages, and ``ordinal`` is the place of the first one among the document's sentences. ``digest``
    identifies the document's content and the settings it was read with. ``section_path`` holds the headings
    above the passage, the highest first, and ``section`` the last of them; ``origin`` leads back to the
    characters of the file (``SourceMap.to_text``). ``names`` are names beside the
    title that the unit can be looked up by. ``fields`` holds what else the record carried. ``analysis``
    is ``Analysis.to_bytes()``.
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
        """The unit as promotion takes it; everything that locates it is in ``metadata``."""
        located: dict[str, Any] = {
            "path": self.path,
            "start": self.start,
            "end": self.end,
            "ordinal": self.ordinal,
            "sentences": [list(span) for span in self.sentences],
        }
        if self.pages:
            located["page"], located["pages"] = self.pages[0], list(self.pages)
        if self.section is not None:
            located["section"] = self.section
        if self.section_path:
            located["section_path"] = list(self.section_path)
        if self.origin:
            located["origin"] = self.origin
        if self.position > 0:
            located["previous"] = self.neighbour(-1)
        if self.position + 1 < self.total:
            located["next"] = self.neighbour(1)
        if self.record is not None:
            located["record"] = self.record
        if self.fields:
            located["fields"] = dict(self.fields)
        return Candidate(
            id=self.id,
            text=self.text,
            title=self.title,
            source=self.source,
            position=self.position,
            score=score,
            vector=self.vector,
            metadata=located,
        )


def encoded_text(title: str | None, text: str) -> str:
    """What encoders and the lexical index read of a unit: ``title. text``."""
    return f"{title}. {text}" if title else text


def sentences_of(candidate: Candidate) -> list[Candidate]:
    """One candidate per sentence of a passage; offsets, page and the passage's id are kept.

    The vector and the score are the passage's and stay with it: a sentence has neither.
    """
    data = candidate.metadata
    spans = data.get("sentences") or split_sentences(candidate.text)
    shared = {key: value for key, value in data.items() if key not in ("sentences", "pages")}
    first = int(data.get("ordinal", 0))
    result = []
    for number, (start, end) in enumerate(spans):
        place = place_of(candidate, start, end)
        base = int(data.get("start", 0))
        own = {
            **shared,
            "passage": candidate.id,
            "start": base + start,
            "end": base + end,
            "within": int(data.get("within", 0)) + start,
            "ordinal": first + number,
            "sentences": [[0, end - start]],
        }
        if place.page is not None:
            own["page"], own["pages"] = place.page, [place.page]
        result.append(
            replace(
                candidate,
                id=f"{candidate.id}{SENTENCE_MARK}{number}",
                text=candidate.text[start:end],
                position=first + number,
                score=None,
                vector=None,
                metadata=own,
            )
        )
    return result
