"""Word documents (.docx): paragraphs and tables in their order, the headings as sections."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator

from pagerag._extras import need
from pagerag.ingest.documents import Document, IngestSettings, SourceFile, TextBuilder

__all__ = ["read_docx"]

_EXPANSION = 10
"""How many times larger than the file limit the unpacked document may be: packed text is small, and a
few kilobytes can be made to unpack to gigabytes."""


def read_docx(file: SourceFile, settings: IngestSettings) -> Iterator[Document]:
    """The title is the document's property, or the first paragraph in the style Title."""
    docx = need("docx", "python-docx", "docx", "to read Word documents")
    data = file.read(settings.max_file_bytes)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        unpacked = sum(part.file_size for part in archive.infolist())
    if unpacked > _EXPANSION * settings.max_file_bytes:
        raise file.bad(f"unpacks to {unpacked:,} bytes, which is more than --max-file-mb allows")
    document = docx.Document(io.BytesIO(data))
    builder = TextBuilder()
    title = (document.core_properties.title or "").strip()
    for part in document.iter_inner_content():
        if hasattr(part, "rows"):
            for row in part.rows:
                cells = dict.fromkeys(cell.text.strip() for cell in row.cells)  # merged cells repeat
                builder.block(" | ".join(cell for cell in cells if cell))
            continue
        style = part.style.name if part.style is not None and part.style.name else ""
        if style == "Title" and not title:
            title = part.text
        builder.block(part.text, heading=style.startswith(("Heading", "Title")))
    yield builder.document(title, file.stem)
