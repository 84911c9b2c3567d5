"""PDF: the text of each page, with the pages' beginnings."""

from __future__ import annotations

import io
import logging
import re
from collections.abc import Iterator

from pagerag._extras import need
from pagerag.ingest.documents import Document, IngestSettings, SourceFile, TextBuilder

__all__ = ["read_pdf"]

_HYPHEN = re.compile(r"(?<=[a-zà-ÿ])-[ \t]*\n[ \t]*(?=[a-zà-ÿ])")
_LINE_END = re.compile(r"[ \t]*\n[ \t]*(?!\n)")
_BLANK_LINE = re.compile(r"\n[ \t]*\n")


def read_pdf(file: SourceFile, settings: IngestSettings) -> Iterator[Document]:
    """Lines of a paragraph are joined, and words that were hyphenated at a line's end made whole."""
    pypdf = need("pypdf", "pypdf", "pdf", "to read PDF files")
    logging.getLogger("pypdf").setLevel(logging.ERROR)  # it warns of every oddity that it can repair
    reader = pypdf.PdfReader(io.BytesIO(file.read(settings.max_file_bytes)))
    if reader.is_encrypted and not reader.decrypt(""):
        raise file.bad("is encrypted; remove its password first")
    builder = TextBuilder()
    for page in reader.pages:
        builder.page()
        for paragraph in _BLANK_LINE.split(_HYPHEN.sub("", page.extract_text() or "")):
            builder.block(_LINE_END.sub(" ", paragraph.strip()))
    information = reader.metadata
    title = information.title if information is not None else None
    yield builder.document(title if isinstance(title, str) else None, file.stem)
