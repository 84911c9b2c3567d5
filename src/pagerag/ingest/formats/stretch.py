"""Lines of a file as one text without their prefixes, with the way back to the file."""

from __future__ import annotations

import html
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import ClassVar, NamedTuple

from pagerag.ingest.builder import Piece, TextBuilder
from pagerag.ingest.formats.markup import ENTITY


class FileSpan(NamedTuple):
    """Characters ``start`` to ``end`` of a file."""

    start: int
    end: int

    def behind(self, place: int) -> FileSpan:
        """Return the span without its first ``place`` characters."""
        return FileSpan(min(self.start + place, self.end), self.end)


Cut = tuple[int, int, str]
"""Characters that are taken out (start, end), and what stands there instead."""


class Marks:
    """Reads the marks of a paragraph from left to right and gathers what they take out of it."""

    special: ClassVar[re.Pattern[str]]
    """Finds the next mark."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.cuts: list[Cut] = []

    def read(self) -> list[Cut]:
        """Return what is not seen of the paragraph."""
        at = 0
        while found := self.special.search(self.text, at):
            at = self._mark(found)
        return self.cuts

    def _mark(self, found: re.Match[str]) -> int:
        """Read the mark that was found; returns where to go on."""
        raise NotImplementedError

    def cut(self, start: int, end: int, instead: str = "") -> int:
        """Take characters out; returns their end."""
        self.cuts.append((start, end, instead))
        return end

    def only(self, found: re.Match[str], group: int = 1) -> int:
        """Take out what a match has on both sides of a group; returns its end."""
        self.cut(found.start(), found.start(group))
        return self.cut(found.end(group), found.end())

    def entity(self, start: int) -> int:
        """Read an entity of HTML."""
        found = ENTITY.match(self.text, start)
        if found is None or (plain := html.unescape(found.group())) == found.group():
            return start + 1
        return self.cut(start, found.end(), plain)

    def run(self, start: int) -> int:
        """Return the end of the signs that are the same as the one at ``start``."""
        end = start + 1
        while self.text.startswith(self.text[start], end):
            end += 1
        return end


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

    def pieces(self, cuts: Iterable[Cut] = ()) -> list[Piece]:
        """Return what cuts leave of the text, cut at line ends too; where they overlap, the first counts."""
        found: list[Piece] = []
        at, size = 0, len(self.text)
        for start, end, instead in [*sorted(cuts), (size, size, "")]:
            if start < at:
                continue
            if start > at:
                found += self._plain(at, start)
            if instead:
                found.append(Piece(instead, self.origin(start), self.origin(end - 1) + 1))
            at = end
        return found

    def _plain(self, start: int, end: int) -> Iterator[Piece]:
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


class LineReader:
    """Turn the lines of a text into blocks; each markup language says what is seen of a paragraph."""

    def __init__(self, source: str, builder: TextBuilder) -> None:
        self.source, self.builder = source, builder
        self.before: list[Piece] = []  # what stands before the next paragraph: the term that it defines

    def inline(self, text: str) -> list[Cut]:
        """Return which characters of a paragraph a reader does not see."""
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
        return stretch.pieces(self.inline(stretch.text))

    def literal(self, spans: Sequence[FileSpan], *, atom: bool = False) -> None:
        """Add lines as they are."""
        self.builder.block(Stretch(self.source, spans).pieces(), code=True, atom=atom)

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
