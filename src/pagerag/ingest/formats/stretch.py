"""Lines of a file as one text without their prefixes, with the way back to the file."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from pagerag.ingest.builder import Piece, TextBuilder, added


class FileSpan(NamedTuple):
    """Characters ``start`` to ``end`` of a file."""

    start: int
    end: int


class Kept(NamedTuple):
    """Characters of a stretch that belong to its text: as they are, or as ``instead``."""

    start: int
    end: int
    instead: str | None = None


Cut = tuple[int, int, str]
"""Characters that are taken out (start, end), and what stands there instead."""


def kept_between(text: str, cuts: Iterable[Cut]) -> Iterator[Kept]:
    """Yield what is left of ``text``; of cuts that overlap, the first one counts."""
    at = 0
    for start, end, instead in sorted(cuts):
        if start < at:
            continue
        if start > at:
            yield Kept(at, start)
        if instead:
            yield Kept(start, end, instead)
        at = end
    if at < len(text):
        yield Kept(at, len(text))


class Stretch:
    """The given spans of ``source``, joined by line feeds, as ``text``."""

    __slots__ = ("_origins", "_starts", "source", "text")

    def __init__(self, source: str, spans: Sequence[tuple[int, int]]) -> None:
        self.source = source
        self.text = "\n".join([source[start:end] for start, end in spans])
        self._origins = [start for start, _ in spans]
        self._starts = [0]
        for start, end in spans[:-1]:
            self._starts.append(self._starts[-1] + end - start + 1)

    def origin(self, place: int) -> int:
        """Return where a character of the text stands in the source."""
        line = bisect_right(self._starts, place) - 1
        return self._origins[line] + place - self._starts[line]

    def pieces(self, kept: Iterable[Kept]) -> Iterator[Piece]:
        """Yield pieces for the kept characters; what crosses a line end is cut there."""
        for start, end, instead in kept:
            if instead is not None:
                last = self.origin(end - 1) + 1 if end > start else self.origin(start)
                yield Piece(instead, self.origin(start), last) if end > start else added(instead)
                continue
            line = bisect_right(self._starts, start) - 1
            while start < end:
                stop = self._starts[line + 1] if line + 1 < len(self._starts) else end + 1
                shift = self._origins[line] - self._starts[line]
                last = min(end, stop - 1)
                if last > start:
                    yield Piece(self.text[start:last], start + shift, last + shift)
                if end >= stop:
                    mark = last + shift  # the line's end in the source, so that whole lines stay one run
                    yield Piece("\n", mark, mark + (2 if self.source[mark : mark + 1] == "\r" else 1))
                start, line = stop, line + 1

    def all(self) -> list[Piece]:
        """Return everything as it is."""
        return list(self.pieces([Kept(0, len(self.text))]))


class LineReader:
    """Turn the lines of a text into blocks; each markup language says what is seen of a paragraph."""

    def __init__(self, source: str, builder: TextBuilder) -> None:
        self.source, self.builder = source, builder
        self.before: list[Piece] = []  # what stands before the next paragraph: the term that it defines

    def inline(self, text: str) -> Iterable[Kept]:
        """Return which characters of a paragraph a reader sees."""
        raise NotImplementedError

    def words(self, span: FileSpan) -> str:
        """Return the characters of a line."""
        return self.source[span.start : span.end]

    def blank(self, span: FileSpan) -> bool:
        """Return whether a line is empty."""
        return not self.words(span).strip()

    def pieces(self, spans: Sequence[FileSpan]) -> list[Piece]:
        """Return what is seen of some lines that belong together."""
        stretch = Stretch(self.source, spans)
        return list(stretch.pieces(self.inline(stretch.text)))

    def cell(self, spans: Iterable[FileSpan]) -> list[Piece]:
        """Return what is seen of a table's cell, blank lines left out."""
        return self.pieces([span for span in spans if not self.blank(span)])


def lines_of(source: str) -> list[FileSpan]:
    """Return the lines of a text without their ends; only line feeds end a line."""
    spans = []
    at = 0
    while (end := source.find("\n", at)) >= 0:
        spans.append(FileSpan(at, end - 1 if end > at and source[end - 1] == "\r" else end))
        at = end + 1
    if at < len(source):
        spans.append(FileSpan(at, len(source)))
    return spans
