"""Markdown: the text without its markup, the headings as sections, each character's place kept.

The blocks come from markdown-it. Inline markup is taken off here, since markdown-it does not say where an
inline text stands. Before either, everything that only a site's generator understands (front matter,
template tags, inline HTML) is masked: each of its characters is replaced by one that is dropped later, so
that all others keep their places.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import dropwhile
from typing import Any

from pagerag._extras import need
from pagerag.ingest.builder import Block, Piece, TextBuilder, added, bind, term_of, words_of
from pagerag.ingest.documents import Document, IngestSettings, SourceFile, holding
from pagerag.ingest.formats.encoding import read_marked_up
from pagerag.ingest.formats.html import page_blocks
from pagerag.ingest.formats.markdown_inline import MarkdownMarks
from pagerag.ingest.formats.markdown_mask import BREAK, DROP, Masked, mask
from pagerag.ingest.formats.stretch import FileSpan, Stretch, lines_of

_DIRECTIVE = re.compile(r"\{([\w:.+-]{1,60})\}")
_VERBATIM = frozenset(
    "code code-block code-cell sourcecode literalinclude mermaid math eval-rst raw parsed-literal "
    "prompt".split()
)
_OPTION = re.compile(r":[\w-]{1,40}:")
_DEFINITION = re.compile(r"[ ]{0,3}:[ \t]+(?=\S)")
_TASK = re.compile(r"\[[ xX]\][ \t]+")
_ALERT = re.compile(r"\[!\w{1,20}\][ \t]*")


def read_markdown(file: SourceFile, settings: IngestSettings) -> Iterator[Document]:
    """Read a file; its title is the front matter's, or the first heading of the first level."""
    return read_marked_up(file, settings, add_markdown)


def add_markdown(source: str, builder: TextBuilder) -> str:
    """Add the blocks of a Markdown text to ``builder`` and return its title."""
    # One character for one, so that places stay; markdown-it would take these characters for line ends.
    source = source.replace("\r\n", " \n").replace("\r", "\n").replace("\0", " ").replace("\ufeff", " ")
    masked = mask(source)
    reader = _Reader(source, masked)
    reader.read(lines_of(masked.text))
    for start, end in masked.tables:
        for part in page_blocks(source, start, end):
            part.at, part.code = start, False
            reader.blocks.append(part)
    reader.blocks.sort(key=lambda block: block.at)
    builder.add(reader.blocks)
    return masked.title or next((words_of(block.pieces) for block in reader.blocks if block.heading == 1), "")


@lru_cache(maxsize=1)
def _parser() -> Any:
    kit = need("markdown_it", "markdown-it-py", "markdown", "to read Markdown files")
    # Inline text is read with its places; link definitions and HTML are masked already.
    return kit.MarkdownIt("commonmark").enable(["table"]).disable(["inline", "reference", "html_block"])


@dataclass(slots=True)
class _Table:
    headers: list[str] = field(default_factory=list)
    cells: list[list[Piece]] = field(default_factory=list)
    at: int = 0
    searched: int = 0
    rows: int = 0


class _Reader:
    """Turns markdown-it's tokens into blocks with places."""

    def __init__(self, source: str, masked: Masked) -> None:
        self.source, self.text = source, masked.text
        self.headings = masked.headings
        self.blocks: list[Block] = []
        self.parser = _parser()

    def read(self, spans: Sequence[tuple[int, int]], depth: int = 0) -> None:
        """Add the blocks of these lines."""
        tokens = self.parser.parse("\n".join([self.text[start:end] for start, end in spans]))
        table: _Table | None = None
        items: list[int] = []  # the first block of each item that is open
        for place, token in enumerate(tokens):
            kind = token.type
            if kind == "list_item_open":
                items.append(len(self.blocks))
            elif kind == "list_item_close":
                bind(self.blocks[items.pop() :])
            elif kind == "table_open":
                table = _Table()
            elif kind == "table_close" and table is not None:
                if table.headers and table.rows == 1:
                    self.blocks.append(Block([added(" | ".join(filter(None, table.headers)))], at=table.at))
                table = None
            elif kind == "tr_open" and table is not None and token.map:
                table.cells, table.searched = [], spans[token.map[0]][0]
                table.at = table.at or table.searched
            elif kind == "tr_close" and table is not None:
                self._row(table)
            elif kind == "inline" and table is not None:
                self._cell(table, token.content)
            elif kind == "inline" and token.map:
                opener = tokens[place - 1]
                level = int(opener.tag[1]) if opener.type == "heading_open" else 0
                self._inline(_suffixes(self.text, token.content, spans, *token.map), level, atom=bool(items))
            elif kind in ("fence", "code_block") and token.map:
                self._code(token, spans, depth, atom=bool(items))

    def _inline(self, spans: list[FileSpan], level: int, *, atom: bool) -> None:
        if not level and any(_DEFINITION.match(self.text, *span) for span in spans[1:]):
            self._definitions(spans)
            return
        for mark in (_DEFINITION, _TASK, _ALERT):
            if spans and (found := mark.match(self.text, *spans[0])):
                spans[0] = FileSpan(found.end(), spans[0].end)
        if len(spans) > 1 and all(self.text[start:end][:1] == "|" for start, end in spans):
            self._bars(spans)
            return
        self._text(spans, level, atom=atom)

    def _bars(self, spans: Sequence[FileSpan]) -> None:
        """Add a table that has no line below its headers, which is none to markdown-it."""
        for start, end in spans:
            table = _Table(searched=start, at=start)
            for cell in self.text[start:end].strip("| \t").split("|"):
                self._cell(table, cell)
            self.blocks.append(Block(cells=table.cells, at=start))

    def _seen(self, spans: Sequence[FileSpan]) -> list[Piece]:
        """Return what is seen of some lines that belong together."""
        stretch = Stretch(self.text, spans)
        return stretch.pieces(MarkdownMarks(stretch.text).read())

    def _text(
        self, spans: Sequence[FileSpan], level: int = 0, *, atom: bool, before: Sequence[Piece] = ()
    ) -> None:
        if not spans:
            return
        pieces: list[Piece] = [*before]
        for piece in self._seen(spans):
            if BREAK not in piece.text:
                pieces.append(piece)
                continue
            start = piece.start
            *closed, last = piece.text.split(BREAK)
            for part in closed:
                # A tag of a block: what comes behind it is another paragraph.
                self._emit([*pieces, Piece(part, start, start + len(part))], level, atom=atom)
                pieces, start = [], start + len(part) + 1
            pieces.append(Piece(last, start, piece.end))
        self._emit(pieces, level, atom=atom)

    def _emit(self, pieces: Sequence[Piece], level: int, *, atom: bool) -> None:
        at = next((piece.start for piece in pieces if piece.start >= 0 and piece.text.strip()), -1)
        if at < 0:
            return
        heading = None if level else holding(self.headings, at)
        level = heading[2] if heading else level
        self.blocks.append(Block(pieces, level, atom=atom, at=at))

    def _definitions(self, spans: Sequence[FileSpan]) -> None:
        """Add a definition list: each definition behind its term."""
        term: list[FileSpan] = []
        body: list[FileSpan] = []

        def done() -> None:
            if body:
                named = [piece for piece in self._seen(term) if piece.text.strip(DROP + BREAK)]
                self._text(list(body), atom=True, before=term_of(named))
                body.clear()

        for span in spans:
            if found := _DEFINITION.match(self.text, *span):
                done()
                body.append(FileSpan(found.end(), span.end))
            elif body and self.text[span.start : span.start + 1] in (" ", "\t"):
                body.append(span)
            else:
                if body:
                    done()
                    term = []
                term.append(span)
        done()

    def _cell(self, table: _Table, content: str) -> None:
        """Find a cell in its line, behind the cells before it."""
        words = content.strip()
        # A bar in a cell is written with a backslash, which markdown-it has taken away.
        for written in (words, words.replace("|", "\\|")) if words else ():
            at = self.text.find(written, table.searched, table.searched + len(written) + 10_000)
            if at >= 0:
                table.searched = at + len(written)
                seen = self._seen([FileSpan(at, table.searched)])
                table.cells.append([piece._replace(text=piece.text.translate(_SPACED)) for piece in seen])
                return
        table.cells.append([])

    def _row(self, table: _Table) -> None:
        table.rows += 1
        if table.rows == 1:
            table.headers = list(map(words_of, table.cells))
        else:
            self.blocks.append(Block(cells=table.cells, headers=table.headers, at=table.at))
            table.at = table.searched

    def _code(self, token: Any, spans: Sequence[tuple[int, int]], depth: int, *, atom: bool) -> None:
        first, last = token.map
        fence = token.type == "fence"
        body = _suffixes(self.text, token.content, spans, first + fence, last, code=True)
        directive = _DIRECTIVE.match(token.info.strip()) if fence else None
        if directive and directive.group(1) not in _VERBATIM and depth < 8:
            named = token.info.strip()[directive.end() :].strip()
            if named:
                at = self.text.find(named, spans[first][0], spans[first][1])
                self._text([FileSpan(at, at + len(named))] if at >= 0 else [], atom=atom)
            self.read(list(dropwhile(lambda span: _OPTION.match(self.text, *span), body)), depth + 1)
        elif not fence and body and self._masked_tag(body[0]):
            self._text(body, atom=atom)  # HTML that happens to be indented
        elif body:
            # Code is shown as it is: nothing in it is a tag of the page.
            self.blocks.append(
                Block(Stretch(self.source, body).pieces(), code=True, atom=atom, at=body[0][0])
            )

    def _masked_tag(self, span: FileSpan) -> bool:
        masked = self.text[slice(*span)].strip()[0] in DROP + BREAK
        return masked and self.source[slice(*span)].strip().startswith("<")


_SPACED = {ord(DROP): None, ord(BREAK): " "}


def _suffixes(
    text: str, content: str, spans: Sequence[tuple[int, int]], first: int, last: int, *, code: bool = False
) -> list[FileSpan]:
    """Return where lines of ``content`` stand: each is the end of a line, less its prefix."""
    found = []
    for line, words in zip(range(first, last), content.split("\n"), strict=False):
        start, end = spans[line]
        body = words.rstrip() if code else words.strip()
        stop = start + len(text[start:end].rstrip())
        at = stop - len(body) if text.endswith(body, start, stop) else text.find(body, start, end)
        if body and at >= 0:
            found.append(FileSpan(at, at + len(body)))
    return found
