"""The text around a passage: what a citation opens on the page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pagerag.errors import InputError
from pagerag.places import place_of
from pagerag.protocols import Corpus
from pagerag.units import Candidate

MOST_CHARACTERS = 60_000
"""Of a document, on each side of the passage; longer ones are cut there, and the cut is told."""
MOST_PASSAGES = 200
"""On each side."""


def document_around(corpus: Corpus, unit: str) -> dict[str, Any]:
    """Return the text of the document that a passage is of, and where in it the passage begins.

    The text is put together from the stored passages, so that it is the version that was searched, and no
    file is opened because a request names it.
    """
    [passage] = corpus.fetch([unit])
    before, cut_before = _taken(_neighbours(corpus, passage, -1))
    after, cut_after = _taken(_neighbours(corpus, passage, 1))
    text, at, end = "", 0, None
    for part in (*reversed(before), passage, *after):
        start = int(part.metadata.get("start", 0))
        if end is not None and start > end:
            text += "\n\n"  # blanks between passages are not stored
        own = part.text if end is None else part.text[max(0, end - start) :]  # passages may overlap
        if part is passage:
            at = len(text) - (len(part.text) - len(own))
        text += own
        end = max(end or 0, start + len(part.text))
    return {
        "unit": passage.id,
        "title": passage.title,
        **place_of(passage).to_dict(),
        "text": text,
        "at": at,
        "length": len(passage.text),
        "cut_before": cut_before,
        "cut_after": cut_after,
    }


def _neighbours(corpus: Corpus, passage: Candidate, step: int) -> Iterator[Candidate]:
    """Yield the passages of the same document, nearest first: ``source#0``, ``source#1`` and so on."""
    source, _, number = passage.id.rpartition("#")
    place = int(number) + step if source and number.isdecimal() else -1
    while place >= 0:
        try:
            [found] = corpus.fetch([f"{source}#{place}"])
        except InputError:  # the document ends here
            return
        yield found
        place += step


def _taken(passages: Iterator[Candidate]) -> tuple[list[Candidate], bool]:
    """Return passages up to the limits, and whether there are more."""
    taken: list[Candidate] = []
    characters = 0
    for passage in passages:
        characters += len(passage.text)
        if characters > MOST_CHARACTERS or len(taken) == MOST_PASSAGES:
            return taken, True
        taken.append(passage)
    return taken, False
