"""Blocks of a file to one text, with the way back from each character to the file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from pagerag.errors import FormatError
from pagerag.ingest.documents import Document, Section
from pagerag.places import Run, SourceMap

__all__ = ["Block", "Piece", "TextBuilder", "added", "verbatim", "words_of"]

# White space that is not one plain space already.
_UNEVEN = re.compile(r"\s\s+|[^\S ]")
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


def verbatim(source: str, start: int, end: int) -> Piece:
    """Return the characters ``start`` to ``end`` of ``source`` as they are."""
    return Piece(source[start:end], start, end)


def words_of(pieces: Iterable[Piece]) -> str:
    """Return the text of some pieces, with single blanks: what a header or a title says."""
    return " ".join("".join(piece.text for piece in pieces).split())


@dataclass(slots=True)
class Block:
    """A paragraph, a heading, or a row of a table (``cells``), before it is added; ``at`` is its place."""

    pieces: Sequence[Piece] = ()
    heading: int = 0
    atom: bool = False
    code: bool = False
    cells: Sequence[Sequence[Piece]] | None = None
    headers: Sequence[str] = ()
    at: int = 0


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
        self.pages.append(self._next())

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
        start = self._next()
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
        for one in blocks:
            if one.cells is not None:
                self.row(one.cells, one.headers)
            else:
                self.block(one.pieces, heading=one.heading, atom=one.atom, code=one.code)

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

    def _next(self) -> int:
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
            atoms=tuple(self.atoms),
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
    out = _Out(at, code)
    for piece in pieces:
        text, start, end = piece
        exact = start >= 0 and end - start == len(text)
        done = 0
        for match in _UNEVEN.finditer(text):
            first, last = match.span()
            out.add(text[done:first], _origin(base, start, end, done, first, exact))
            newline = match.group().rfind("\n") if lines else -1
            if newline < 0:
                out.space(match.group() if code else " ", base + start + first if exact else -1)
            else:
                # Of several line ends one is left; indentation only in code.
                indent = match.group()[newline + 1 :] if code else ""
                out.space(f"\n{indent}", base + start + first + newline if exact else -1)
            done = last
        out.add(text[done:], _origin(base, start, end, done, len(text), exact))
    return out.text(), out.runs


def _origin(base: int, start: int, end: int, first: int, last: int, exact: bool) -> tuple[int, int]:
    if start < 0:
        return -1, -1
    return (base + start + first, base + start + last) if exact else (base + start, base + end)


class _Out:
    """The text of one block while it grows: no white space at its ends, one between words."""

    __slots__ = ("at", "chunks", "code", "pending", "runs", "size")

    def __init__(self, at: int, code: bool) -> None:
        self.at, self.code = at, code
        self.size = 0
        self.chunks: list[str] = []
        self.runs: list[Run] = []
        self.pending: tuple[str, int] | None = None

    def space(self, space: str, original: int) -> None:
        if not self.size:
            return
        if self.pending is None or space[0] == "\n":
            self.pending = (space, original)
        elif self.code and self.pending[0][0] == "\n":
            self.pending = (self.pending[0] + space, -1)  # the indentation of a line of code

    def add(self, text: str, origin: tuple[int, int]) -> None:
        """Add text in which white space is even, but for its ends."""
        first, last = origin
        exact = first >= 0 and last - first == len(text)
        left = 1 if text[:1] == " " else 0
        right = len(text) - 1 if len(text) > left and text[-1:] == " " else len(text)
        if left:
            self.space(" ", first if exact else -1)
        if right > left:
            if self.pending is not None:
                self._write(*self.pending)
                self.pending = None
            body = text if not left and right == len(text) else text[left:right]
            self.chunks.append(body)
            if first >= 0:
                if exact:
                    self._run(self.size, len(body), first + left, len(body))
                else:
                    self._run(self.size, len(body), first, last - first)
            self.size += len(body)
        if right < len(text):
            self.space(" ", first + right if exact else -1)

    def _write(self, space: str, original: int) -> None:
        self.chunks.append(space)
        if original >= 0:
            self._run(self.size, len(space), original, len(space))
        self.size += len(space)

    def _run(self, start: int, length: int, original: int, original_length: int) -> None:
        start += self.at
        if self.runs and length == original_length:
            last = self.runs[-1]
            if (
                last.length == last.original_length
                and last.start + last.length == start
                and last.original + last.length == original
            ):
                self.runs[-1] = last._replace(
                    length=last.length + length, original_length=last.length + length
                )
                return
        self.runs.append(Run(start, length, original, original_length))

    def text(self) -> str:
        return "".join(self.chunks)
