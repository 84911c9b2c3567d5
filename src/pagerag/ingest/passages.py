"""Documents to passages: whole sentences, never across a heading, each character's place kept.

Passages are made and encoded here, in another process or on another machine.
"""

from __future__ import annotations

import pickle
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from pagerag.errors import InputError
from pagerag.ingest.documents import Document, IngestSettings, holding
from pagerag.protocols import Encoder
from pagerag.store import Unit
from pagerag.text import Analyzer, extract_entities, split_sentences
from pagerag.text.lexicon import STOP_WORDS
from pagerag.text.terms import encoded_text

Asked = tuple[Document, str, str, str]
"""A document, its source, its file's name and its digest."""

_LOCAL = frozenset({"wordllama", "minilm", "minilm-fp32"})
"""Encoders that are files of a package: the others may hold keys, which do not leave this process."""

Span = tuple[int, int]
_NO_NAME = STOP_WORDS - {"the"}  # "In 1957" is capitalised like a name


def passages_of(
    document: Document, source: str, path: str, digest: str, settings: IngestSettings, analyzer: Analyzer
) -> list[Unit]:
    """Return the document as units without vectors.

    ``unit.text`` is ``document.text[unit.start:unit.end]``; ``source`` names the document, ``path`` its
    file, ``digest`` its content.
    """
    units: list[Unit] = []
    heads = [section.start for section in document.sections]
    trails = _trails(document)
    ordinal = 0
    spans = list(spans_of(document, settings))
    for position, (start, end, repeated) in enumerate(spans):
        text = document.text[start:end]
        analysis = analyzer.analyze(text)
        trail = trails[bisect_right(heads, start)]
        section = trail[-1] if trail else None
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
                section_path=trail,
                origin=document.origin.cut(start, end).to_text() if document.origin.runs else "",
                names=_names(document, section, text),
                record=document.record,
                digest=digest,
                fields=document.fields,
                analysis=analysis.to_bytes(),
            )
        )
        ordinal = first + len(analysis.spans)
    return units


def _trails(document: Document) -> list[tuple[str, ...]]:
    """Return the section path before the first heading, then the one behind each heading.

    A heading that repeats the title is left out: the title stands before the path.
    """
    trails: list[tuple[str, ...]] = [()]
    above: list[tuple[int, str]] = []
    for section in document.sections:
        while above and above[-1][0] >= section.level:
            above.pop()
        above.append((section.level, section.title))
        trails.append(tuple(title for _, title in above if title and title != document.title))
    return trails


def _names(document: Document, section: str | None, text: str) -> tuple[str, ...]:
    """Return what a passage can be looked up by beside its title.

    Its heading, and, where the title is a mere file name, the name that the passage opens with.
    """
    names = [section] if section and section != document.title else []
    if not document.titled or document.title is None:
        head = text[:160]
        opening = next(iter(extract_entities(head)), "")
        first = opening.split(" ")[0].lower()
        if opening and head.startswith(opening) and not first.isdigit() and first not in _NO_NAME:
            names.append(opening)
    return tuple(names)


def spans_of(document: Document, settings: IngestSettings) -> Iterator[tuple[int, int, int]]:
    """Yield where each passage starts and ends, and how many of its sentences repeat the one before.

    A heading with nothing but deeper headings below it is no passage: it is in their section paths.
    """
    text = document.text
    if document.whole and len(text) <= settings.record_chars:
        body = text.strip()
        if body:
            start = text.index(body[0])
            yield start, start + len(body), 0
        return
    cut = _Cut(document, settings)
    sentences = cut.sentences
    begin = 0
    repeated = 0
    for place in range(1, len(sentences) + 1):
        if place < len(sentences) and not cut.breaks(begin, place):
            continue
        start, end = sentences[begin][0], sentences[place - 1][1]
        if not cut.mere_heading(start, end):
            yield start, end, repeated
        at_heading = place < len(sentences) and cut.heading_between(place)
        # A repetition that would leave no room for a new sentence could go on for ever.
        repeated = 0 if at_heading else min(settings.overlap, place - begin - 1)
        begin = place - repeated


class _Cut:
    """Decides where one passage ends and the next begins."""

    def __init__(self, document: Document, settings: IngestSettings) -> None:
        self.text, self.limit = document.text, settings.passage_chars
        self.sections = document.sections
        self.heads = [section.start for section in document.sections]
        self.atoms = _fitting(document.atoms, self.limit)
        self.sentences = list(_bounded(self.text, split_sentences(self.text), self.limit))

    def breaks(self, begin: int, place: int) -> bool:
        """Return whether a passage that began at sentence ``begin`` ends before sentence ``place``."""
        if self.heading_between(place):
            return True
        start, end = self.sentences[begin][0], self.sentences[place - 1][1]
        following, last = self.sentences[place]
        # The item, the row or the entry that the sentence stands in, if any.
        first, behind = holding(self.atoms, following) or (-1, -1)
        if 0 <= first <= start and behind - start <= self.limit:
            return False  # inside of one
        if first == following:
            last = behind  # the passage takes it whole, or ends before it
        if last - start > self.limit:
            return True
        # A paragraph's end is a better place than the middle of the next one, once the passage is half full.
        return (
            "\n\n" in self.text[end:following] and end - start >= self.limit // 2 and first in (-1, following)
        )

    def heading_between(self, place: int) -> bool:
        """Return whether a heading stands between the sentence ``place`` and the one before."""
        before, after = self.sentences[place - 1][0], self.sentences[place][0]
        return bisect_right(self.heads, after) != bisect_right(self.heads, before)

    def mere_heading(self, start: int, end: int) -> bool:
        """Return whether a passage is one heading with a deeper heading right below it."""
        place = bisect_right(self.heads, start)
        if not place or place >= len(self.sections):
            return False
        here, below = self.sections[place - 1], self.sections[place]
        return here.start == start and end - start <= len(here.title) and below.level > here.level


def _fitting(atoms: Sequence[Span], limit: int) -> list[Span]:
    """Return the stretches that fit into a passage, without those inside another that fits."""
    found: list[Span] = []
    for start, end in sorted(atoms, key=lambda atom: (atom[0], -atom[1])):
        if end - start <= limit and (not found or start >= found[-1][1]):
            found.append((start, end))
    return found


def _bounded(text: str, sentences: Sequence[Span], limit: int) -> Iterator[Span]:
    """Yield sentences; those longer than a passage are cut at white space, or anywhere."""
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


@dataclass(frozen=True, slots=True)
class UnitMaker:
    """What makes units of documents; without ``encoder`` they get their vectors where they are written."""

    settings: IngestSettings
    analyzer: Analyzer
    encoder: Encoder | None

    def packed(self) -> bytes:
        """Return it for other processes, without an encoder that may hold keys."""
        encoder = self.encoder if self.encoder is not None and self.encoder.name in _LOCAL else None
        try:
            return pickle.dumps(replace(self, encoder=encoder))
        except (pickle.PicklingError, AttributeError, TypeError) as problem:
            raise InputError(
                f"this analyzer or encoder cannot be sent to other processes ({problem}); leave out "
                "--workers and --engine"
            ) from problem

    def units(self, asked: Asked) -> list[Unit]:
        """Return the units of one document, without vectors."""
        return passages_of(*asked, self.settings, self.analyzer)


@lru_cache(maxsize=2)
def _unpacked(work: bytes) -> UnitMaker:
    return pickle.loads(work)  # type: ignore[no-any-return]  # noqa: S301 - by our own process


def read_chunk(work: bytes, documents: Sequence[Asked]) -> list[list[Unit]]:
    """Return the units of each document, with vectors if the encoder is here; ``work`` is packed."""
    reading = _unpacked(work)
    found = [reading.units(asked) for asked in documents]
    if reading.encoder is None:
        return found
    every = iter(encoded([unit for units in found for unit in units], reading.encoder))
    return [[next(every) for _ in units] for units in found]


def encoded(units: Sequence[Unit], encoder: Encoder) -> list[Unit]:
    """Return the units, each with a vector."""
    bare = [unit for unit in units if unit.vector is None]
    if not bare:
        return list(units)
    rows = iter(encoder.encode_passages([encoded_text(unit.title, unit.text) for unit in bare]))
    return [replace(unit, vector=next(rows)) if unit.vector is None else unit for unit in units]
