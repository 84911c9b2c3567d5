"""PDF: the text of each page, with the pages' beginnings."""

from __future__ import annotations

import io
import logging
import re
from collections.abc import Iterator

from pagerag._extras import need
from pagerag.ingest.builder import Piece, TextBuilder
from pagerag.ingest.documents import Document, IngestSettings, SourceFile

_HYPHEN = re.compile(r"(?<=[a-zà-ÿ])[-\u2010][ \t]*\n[ \t]*(?=[a-zà-ÿ])")
_BLANK_LINE = re.compile(r"\n[ \t]*\n")


def read_pdf(file: SourceFile, settings: IngestSettings) -> Iterator[Document]:
    """Read a file; lines are joined, and words that were hyphenated at a line's end made whole.

    Places count the characters of the page's text as it is extracted.
    """
    pypdf = need("pypdf", "pypdf", "pdf", "to read PDF files")
    logging.getLogger("pypdf").setLevel(logging.ERROR)  # it warns of every oddity that it can repair
    reader = pypdf.PdfReader(io.BytesIO(file.read(settings.max_file_bytes)))
    if reader.is_encrypted and not reader.decrypt(""):
        raise file.bad("is encrypted; remove its password first")
    builder = TextBuilder(limit=settings.max_text_chars, name=file.name)
    for number, page in enumerate(reader.pages, start=1):
        text = page.extract_text() or ""
        builder.page()
        builder.part(f"page {number}", text)
        at = 0
        for blank in [*_BLANK_LINE.finditer(text), None]:
            end = blank.start() if blank else len(text)
            builder.block(list(_joined(text, at, end)))
            at = blank.end() if blank else end
    information = reader.metadata
    title = information.title if information is not None else None
    yield builder.document(title if isinstance(title, str) else None, file.stem)


def _joined(text: str, start: int, end: int) -> Iterator[Piece]:
    """Yield a paragraph without the hyphens at its line ends."""
    for hyphen in _HYPHEN.finditer(text, start, end):
        yield Piece(text[start : hyphen.start()], start, hyphen.start())
        start = hyphen.end()
    yield Piece(text[start:end], start, end)
