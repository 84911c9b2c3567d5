"""Markdown: the text without its markup, the headings as sections."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from typing import Any

from pagerag._extras import need
from pagerag.ingest.documents import Document, IngestSettings, SourceFile, TextBuilder
from pagerag.ingest.formats.text import decode

__all__ = ["read_markdown"]

_FRONT_MATTER = re.compile(r"\A\ufeff?---[ \t]*\r?\n(.*?\r?\n)---[ \t]*(?:\r?\n|\Z)", re.DOTALL)
_TITLE = re.compile(r"^title\s*:\s*(.+?)\s*$", re.MULTILINE | re.IGNORECASE)
_TAG = re.compile(r"<!--.*?-->|<[^>]*>", re.DOTALL)


def read_markdown(file: SourceFile, settings: IngestSettings) -> Iterator[Document]:
    """The title is the front matter's, or the first heading of the first level."""
    parser = need("markdown_it", "markdown-it-py", "markdown", "to read Markdown files")
    text = decode(file, file.read(settings.max_file_bytes))
    title = ""
    if front := _FRONT_MATTER.match(text):
        if named := _TITLE.search(front.group(1)):
            title = named.group(1).strip("\"' ")
        text = text[front.end() :]
    tokens = parser.MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(text)
    builder = TextBuilder()
    row: list[str] | None = None
    for place, token in enumerate(tokens):
        if token.type == "tr_open":
            row = []
        elif token.type == "tr_close" and row is not None:
            builder.block(" | ".join(cell for cell in row if cell))
            row = None
        elif token.type == "inline":
            words = _words(token.children or ())
            opener = tokens[place - 1]
            heading = opener.type == "heading_open"
            if heading and opener.tag == "h1" and not title:
                title = words
            if row is not None:
                row.append(words.strip())
            else:
                builder.block(words, heading=heading)
        elif token.type in ("fence", "code_block"):
            builder.block(token.content)
        elif token.type == "html_block":
            builder.block(html.unescape(_TAG.sub(" ", token.content)))
    yield builder.document(title, file.stem)


def _words(children: Sequence[Any]) -> str:
    """The text of inline tokens: emphasis and links lose their marks, an image keeps its description."""
    plain = {"softbreak": " ", "hardbreak": "\n"}
    return "".join(
        plain.get(child.type) or (child.content if child.type in ("text", "code_inline", "image") else "")
        for child in children
    )
