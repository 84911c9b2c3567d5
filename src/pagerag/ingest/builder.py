"""Blocks of a file to one text, with the way back from each character to the file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from pagerag.errors import FormatError
from pagerag.ingest.documents import Document, Section
from pagerag.places import Run, SourceMap

_EVEN = re.compile(r"\S+(?: \S+)*")  # words with one plain space between them
_NEWLINE = re.compile(r"\n")

MOST_BLOCKS = 250_000
"""Paragraphs, items and rows of one document: the largest books have some ten thousand."""


class Piece(NamedTuple):
    """Some text and the characters ``start`` to ``end`` of the part that it stands for.

    With equal lengths the characters correspond one to one. A start of -1 is text that the reader adds.
    """

    text: str
    start: int
    end: int


def added(text: str) -> Piece:
    """Return text that does not stand in the file."""
    return Piece(text, -1, -1)


def term_of(pieces: Sequence[Piece]) -> list[Piece]:
    """Return a term as it stands before its definition, behind one colon; nothing for a blank one."""
    if not (words := words_of(pieces)):
        return []
    last = max(place for place, piece in enumerate(pieces) if not piece.text.isspace() and piece.text)
    return [*pieces[:last], _trimmed(pieces[last]), added(" " if words.endswith(":") else ": ")]


def words_of(pieces: Iterable[Piece]) -> str:
    """Return the text of some pieces, with single blanks: what a header or a title says."""
    return " ".join("".join(piece.text for piece in pieces).split())


def cells_of(texts: Iterable[str], start: int = 0) -> list[list[Piece]]:
    """Return texts that stand one behind the other from ``start``, a tab or line end between them."""
    cells = []
    for text in texts:
        cells.append([Piece(text, start, start + len(text))])
        start += len(text) + 1
    return cells


def number_of(text: str, otherwise: int) -> int:
    """Return the whole number that a text is, at most nine digits of it; ``otherwise`` when it is none."""
    return int(text[:9]) if text.isascii() and text.isdigit() else otherwise


@dataclass(slots=True)
class Block:
    """A paragraph, a heading, or a row of a table (``cells``), before it is added; ``at`` is its place.

    ``opens`` and ``closes`` say how many entries begin before and end behind it (``TextBuilder.together``).
    """

    pieces: Sequence[Piece] = ()
    heading: int = 0
    atom: bool = False
    code: bool = False
    cells: Sequence[Sequence[Piece]] | None = None
    headers: Sequence[str] = ()
    at: int = 0
    opens: int = 0
    closes: int = 0


def bind(blocks: Sequence[Block]) -> None:
    """Note that these blocks, which stand one behind the other, are one entry."""
    if len(blocks) > 1:
        blocks[0].opens += 1
        blocks[-1].closes += 1


class TextBuilder:
    """Gathers the blocks of a document.

    ``original`` is the file's decoded text; a container calls ``part`` for each of its parts instead.
    ``limit`` bounds the text that may come of one file.
    """

    def __init__(self, original: str = "", *, limit: int = 2**62, name: str | None = None) -> None:
        self._chunks: list[str] = []
        self._length = 0
        self._limit, self._name = limit, name
        self._runs: list[Run] = []
        self._newlines: list[int] = [match.start() for match in _NEWLINE.finditer(original)]
        self._base = 0
        self._end = len(original)
        self._parts: list[tuple[int, str]] = []
        self.sections: list[Section] = []
        self.pages: list[int] = []
        self.atoms: list[tuple[int, int]] = []

    @property
    def empty(self) -> bool:
        """Whether nothing has been added yet."""
        return not self._length

    def part(self, name: str, original: str) -> None:
        """Begin a part of a container, of which ``original`` is the text that pieces point into."""
        self._base = self._end
        self._end += len(original) + 1
        self._parts.append((self._base, name))
        self._newlines += [self._base + match.start() for match in _NEWLINE.finditer(original)]

    def page(self) -> None:
        """Begin a page."""
        self.pages.append(self.next)

    def block(
        self,
        pieces: Sequence[Piece] | Piece,
        *,
        heading: int = 0,
        atom: bool = False,
        lines: bool = False,
        code: bool = False,
    ) -> None:
        """Add a paragraph, list item or heading; blank ones are dropped.

        ``heading`` is the heading's level. An ``atom`` is better not cut. White space is made even;
        ``lines`` keeps line ends (verse, plain text) where they would become spaces; ``code`` keeps the
        indentation of lines as well.
        """
        given = (pieces,) if isinstance(pieces, Piece) else pieces
        start = self.next
        text, runs = _even(given, start, self._base, lines or code, code)
        if not text:
            return
        if heading:
            self.sections.append(Section(start, heading, " ".join(text.split())))
        if atom:
            self.atoms.append((start, start + len(text)))
        self._chunks.append(f"\n\n{text}" if self._length else text)
        self._length = start + len(text)
        self._runs += runs
        if self._length > self._limit:
            raise FormatError(f"gives more than {self._limit:,} characters of text", file=self._name)
        if len(self._chunks) > MOST_BLOCKS:
            raise FormatError(f"has more than {MOST_BLOCKS:,} paragraphs or rows; split it", file=self._name)

    def add(self, blocks: Iterable[Block]) -> None:
        """Add blocks that were gathered before."""
        begun: list[int] = []
        for one in blocks:
            begun += [self.next] * one.opens
            if one.cells is not None:
                self.row(one.cells, one.headers)
            else:
                self.block(one.pieces, heading=one.heading, atom=one.atom, code=one.code)
            for _ in range(one.closes):
                self.together(begun.pop())

    def together(self, start: int) -> None:
        """Keep what was added since ``next`` was ``start`` in one passage, if it fits: it is one entry.

        Entries may hold others: a list item its inner list, a class its methods.
        """
        if self._length > start:
            self.atoms.append((start, self._length))

    def plain(self, text: str, start: int = 0, **how: Any) -> None:
        """Add ``text``, which stands at ``start`` of the current part as it is."""
        self.block(Piece(text, start, start + len(text)), **how)

    def row(self, cells: Sequence[Sequence[Piece]], headers: Sequence[str]) -> None:
        """Add a row of a table, each cell behind the header of its column: ``Size: 3; Colour: red``."""
        pieces: list[Piece] = []
        named = any(headers)
        for place, cell in enumerate(cells):
            words = "".join(piece.text for piece in cell)
            if not words or words.isspace():
                continue
            if pieces:
                pieces.append(added("; " if named else " | "))
            header = headers[place] if place < len(headers) else ""
            if header and header != words.strip():
                pieces.append(added(f"{header}: "))
            pieces.extend(cell)
            pieces[-1] = _trimmed(pieces[-1])
        self.block(pieces, atom=True)

    def rows(self, rows: Iterable[Sequence[Sequence[Piece]]], heads: int) -> None:
        """Add the rows of a table; of the first ``heads`` the last names the columns."""
        headers: list[str] = []
        for number, cells in enumerate(rows):
            if number < heads:
                headers = list(map(words_of, cells))
            else:
                self.row(cells, headers)

    @property
    def next(self) -> int:
        """Where the next block will begin."""
        return self._length + 2 if self._length else 0

    def document(self, title: str | None, stem: str, **more: Any) -> Document:
        """Return the text so far as a document; ``stem`` is its title for want of another."""
        own = " ".join(title.split()) if title else ""
        return Document(
            "".join(self._chunks),
            own or stem,
            titled=bool(own),
            pages=tuple(self.pages),
            sections=tuple(self.sections),
            atoms=tuple(sorted(set(self.atoms))),
            origin=SourceMap(tuple(self._runs), tuple(self._newlines), 1, tuple(self._parts)),
            **more,
        )


def _trimmed(piece: Piece) -> Piece:
    """Return a piece without white space at its end."""
    text = piece.text.rstrip()
    exact = piece.start >= 0 and piece.end - piece.start == len(piece.text)
    return Piece(text, piece.start, piece.start + len(text) if exact else piece.end)


def _even(pieces: Iterable[Piece], at: int, base: int, lines: bool, code: bool) -> tuple[str, list[Run]]:
    """Return the text of pieces with even white space, and its runs when it stands at ``at``."""
    out = _Out(at, lines, code)
    for text, start, end in pieces:
        first = base + start if start >= 0 else -1
        exact = first >= 0 and end - start == len(text)
        done = 0
        for match in _EVEN.finditer(text):
            out.space(text[done : match.start()], first + done if exact else -1)
            done = match.end()
            place, length = (first + match.start(), done - match.start()) if exact else (first, end - start)
            out.words(match.group(), place, length)
        out.space(text[done:], first + done if exact else -1)
    return "".join(out.chunks), out.runs


class _Out:
    """The text of one block while it grows: no white space at its ends, one between words.

    Places in the original are -1 for what does not stand there.
    """

    __slots__ = ("at", "chunks", "code", "lines", "pending", "runs")

    def __init__(self, at: int, lines: bool, code: bool) -> None:
        self.at, self.lines, self.code = at, lines, code
        self.chunks: list[str] = []
        self.runs: list[Run] = []
        self.pending: tuple[str, int] | None = None

    def space(self, gap: str, original: int) -> None:
        """Take the white space that begins at ``original``; it is written before the next words."""
        if not gap or not self.chunks:
            return
        newline = gap.rfind("\n") if self.lines else -1
        if newline > 0 and original >= 0:
            original += newline
        # Of several line ends one is left; indentation only in code.
        space = gap[max(newline, 0) :] if self.code else "\n" if newline >= 0 else " "
        if self.pending is None or space[0] == "\n":
            self.pending = (space, original)
        elif self.code and self.pending[0][0] == "\n":
            self.pending = (self.pending[0] + space, -1)  # the indentation of a line of code

    def words(self, text: str, original: int, length: int) -> None:
        """Add text that stands for ``length`` characters from ``original``."""
        if self.pending is not None:
            space, place = self.pending
            self.pending = None
            self._write(space, place, len(space))
        self._write(text, original, length)

    def _write(self, text: str, original: int, length: int) -> None:
        start = self.at
        self.chunks.append(text)
        self.at += len(text)
        if original < 0:
            return
        if self.runs and len(text) == length:
            last = self.runs[-1]
            whole = last.length + length
            ends = (last.start + last.length, last.original + last.original_length)
            if last.length == last.original_length and ends == (start, original):
                self.runs[-1] = last._replace(length=whole, original_length=whole)
                return
        self.runs.append(Run(start, len(text), original, length))
