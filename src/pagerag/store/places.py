"""Where a candidate and its sentences stand in their document, so that they can be cited."""

from __future__ import annotations

from dataclasses import replace

from pagerag.places import place_of, sentence_spans, whole_number
from pagerag.text import split_sentences
from pagerag.units import Candidate

SENTENCE_MARK = "@"
"""Stands between a unit's id and the number of one of its sentences."""


def sentences_of(candidate: Candidate) -> list[Candidate]:
    """Return one candidate for each sentence of a passage; offsets, page and the passage's id are kept.

    The vector and the score are the passage's and stay with it: a sentence has neither.
    """
    data = candidate.metadata
    spans = sentence_spans(data) or split_sentences(candidate.text)
    shared = {key: value for key, value in data.items() if key not in ("sentences", "pages")}
    first, base = whole_number(data, "ordinal"), whole_number(data, "start")
    result = []
    for number, (start, end) in enumerate(spans):
        place = place_of(candidate, start, end)
        own = {
            **shared,
            "passage": candidate.id,
            "start": base + start,
            "end": base + end,
            "within": whole_number(data, "within") + start,
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
