"""Documents to passages: whole sentences, never across a heading, each character's place kept."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence

from pagerag.ingest.documents import Document, IngestSettings
from pagerag.store import Unit
from pagerag.text import Analyzer, extract_entities, split_sentences
from pagerag.text.lexicon import STOP_WORDS

__all__ = ["passages", "spans_of"]

Span = tuple[int, int]
_NO_NAME = STOP_WORDS - {"the"}  # "In 1957" is capitalised like a name


def passages(
    document: Document,
    source: str,
    path: str,
    digest: str,
    settings: IngestSettings,
    analyzer: Analyzer,
) -> list[Unit]:
    """The document as units without vectors; ``unit.text`` is ``document.text[unit.start:unit.end]``."""
    units: list[Unit] = []
    heads = [start for start, _ in document.sections]
    ordinal = 0
    spans = list(spans_of(document, settings))
    for position, (start, end, repeated) in enumerate(spans):
        text = document.text[start:end]
        analysis = analyzer.analyze(text)
        section = document.sections[place - 1][1] if (place := bisect_right(heads, start)) else None
        first = max(0, ordinal - repeated)
        units.append(
            Unit(
                id=f"{source}#{position}",
                text=text,
                source=source,
                path=path,
                title=document.title,
                position=position,
                total=len(spans),
                start=start,
                end=end,
                ordinal=first,
                sentences=analysis.spans,
                pages=tuple(bisect_right(document.pages, start + span[0]) for span in analysis.spans)
                if document.pages
                else (),
                section=section,
                names=_names(document, section, text),
                record=document.record,
                digest=digest,
                fields=document.fields,
                analysis=analysis.to_bytes(),
            )
        )
        ordinal = first + len(analysis.spans)
    return units


def _names(document: Document, section: str | None, text: str) -> tuple[str, ...]:
    """What a passage can be looked up by beside its title: its heading, and, where the title is a mere
    file name, the name that it opens with."""
    names = [section] if section and section != document.title else []
    if not document.titled or document.title is None:
        head = text[:160]
        opening = next(iter(extract_entities(head)), "")
        first = opening.split(" ")[0].lower()
        if opening and head.startswith(opening) and not first.isdigit() and first not in _NO_NAME:
            names.append(opening)
    return tuple(names)


def spans_of(document: Document, settings: IngestSettings) -> Iterator[tuple[int, int, int]]:
    """Where each passage starts and ends, and how many of its sentences repeat the passage before."""
    text = document.text
    if document.whole and len(text) <= settings.record_chars:
        body = text.strip()
        if body:
            start = text.index(body[0])
            yield start, start + len(body), 0
        return
    sentences = list(_bounded(text, split_sentences(text), settings.passage_chars))
    heads = [start for start, _ in document.sections]
    begin = 0
    repeated = 0
    for place in range(1, len(sentences) + 1):
        if place < len(sentences) and not _breaks(text, sentences, begin, place, heads, settings):
            continue
        yield sentences[begin][0], sentences[place - 1][1], repeated
        at_heading = place < len(sentences) and _heading_between(heads, sentences, place)
        # A repetition that would leave no room for a new sentence could go on for ever.
        repeated = 0 if at_heading else min(settings.overlap, place - begin - 1)
        begin = place - repeated


def _breaks(
    text: str,
    sentences: Sequence[Span],
    begin: int,
    place: int,
    heads: Sequence[int],
    settings: IngestSettings,
) -> bool:
    """Whether a passage that began at sentence ``begin`` ends before sentence ``place``."""
    if _heading_between(heads, sentences, place):
        return True
    start, end = sentences[begin][0], sentences[place - 1][1]
    if sentences[place][1] - start > settings.passage_chars:
        return True
    # A paragraph's end is a better place than the middle of the next one, once the passage is half full.
    gap = text[end : sentences[place][0]]
    return "\n\n" in gap and end - start >= settings.passage_chars // 2


def _heading_between(heads: Sequence[int], sentences: Sequence[Span], place: int) -> bool:
    return bisect_right(heads, sentences[place][0]) != bisect_right(heads, sentences[place - 1][0])


def _bounded(text: str, sentences: Sequence[Span], limit: int) -> Iterator[Span]:
    """Sentences longer than a passage (tables, text without stops) are cut at white space, or anywhere."""
    for start, end in sentences:
        while end - start > limit:
            cut = max(text.rfind(" ", start, start + limit), text.rfind("\n", start, start + limit))
            cut = cut if cut > start else start + limit
            yield start, cut
            start = cut
            while start < end and text[start].isspace():
                start += 1
        if end > start:
            yield start, end
