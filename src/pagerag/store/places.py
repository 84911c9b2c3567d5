"""Where a candidate and its sentences stand in their document, so that they can be cited."""

from __future__ import annotations

from dataclasses import dataclass, replace

from pagerag.text import split_sentences
from pagerag.units import Candidate

__all__ = ["SENTENCE_MARK", "Place", "place_of", "sentences_of"]

SENTENCE_MARK = "@"
"""Stands between a unit's id and the number of one of its sentences."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a quotation stands: the file, its page if it has pages, and characters of its text."""

    path: str | None
    page: int | None
    start: int
    end: int

    def __str__(self) -> str:
        page = f", page {self.page}" if self.page is not None else ""
        return f"{self.path or 'unknown source'}{page}, characters {self.start:,}-{self.end:,}"


def place_of(candidate: Candidate, start: int = 0, end: int | None = None) -> Place:
    """Return where characters ``start`` to ``end`` of a candidate's text stand in its document.

    Candidates that did not come from a store have no path; their offsets count from their own text.
    """
    data = candidate.metadata
    base = int(data.get("start", 0))
    end = len(candidate.text) if end is None else end
    page = data.get("page")
    for span, number in zip(data.get("sentences", ()), data.get("pages", ()), strict=False):
        if span[0] <= start:
            page = number
    return Place(data.get("path"), page, base + start, base + end)


def sentences_of(candidate: Candidate) -> list[Candidate]:
    """Return one candidate for each sentence of a passage; offsets, page and the passage's id are kept.

    The vector and the score are the passage's and stay with it: a sentence has neither.
    """
    data = candidate.metadata
    spans = data.get("sentences") or split_sentences(candidate.text)
    shared = {key: value for key, value in data.items() if key not in ("sentences", "pages")}
    first = int(data.get("ordinal", 0))
    result = []
    for number, (start, end) in enumerate(spans):
        place = place_of(candidate, start, end)
        own = {
            **shared,
            "passage": candidate.id,
            "start": place.start,
            "end": place.end,
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
