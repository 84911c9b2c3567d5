"""PowerPoint presentations (.pptx): the text, tables and notes of each slide."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pagerag._extras import need
from pagerag.ingest.builder import TextBuilder, cells_of
from pagerag.ingest.documents import Document, IngestSettings, SourceFile
from pagerag.ingest.formats.archive import Archive

_DEEPEST_GROUP = 20


def read_pptx(file: SourceFile, settings: IngestSettings) -> Iterator[Document]:
    """Read a presentation; each slide is a section, and a place names the slide."""
    pptx = need("pptx", "python-pptx", "pptx", "to read PowerPoint presentations")
    presentation = pptx.Presentation(Archive(file, settings).whole)
    builder = TextBuilder(limit=settings.max_text_chars, name=file.name)
    for number, slide in enumerate(presentation.slides, start=1):
        heading = slide.shapes.title
        name = " ".join(heading.text_frame.text.split()) if heading is not None else ""
        blocks = list(_blocks(slide.shapes, heading, 0))
        if slide.has_notes_slide and slide.notes_slide.notes_text_frame is not None:
            notes = slide.notes_slide.notes_text_frame.text
            blocks += [[line] for line in notes.split("\n") if line.strip()]
        _add(builder, number, name, blocks)
    yield builder.document(presentation.core_properties.title or None, file.stem)


def _add(builder: TextBuilder, number: int, name: str, blocks: list[Any]) -> None:
    """Add a slide: paragraphs are lists of one text, tables lists of rows."""
    lines = [name, *("\t".join(row) for block in blocks for row in (block if _is_table(block) else [block]))]
    builder.part(f"slide {number}", "\n".join(lines))
    builder.plain(name, heading=1)
    at = len(name) + 1
    for block in blocks:
        if not _is_table(block):
            builder.plain(block[0], at, atom=True)
            at += len(block[0]) + 1
            continue
        headers = block[0] if len(block) > 1 else []
        for place, row in enumerate(block):
            if place or not headers:
                builder.row(cells_of(row, at), headers)
            at += sum(len(text) + 1 for text in row)


def _is_table(block: Any) -> bool:
    return bool(block) and isinstance(block[0], list)


def _blocks(shapes: Any, heading: Any, depth: int) -> Iterator[Any]:
    """Yield the paragraphs ([text]) and tables ([[cell, …], …]) of shapes, groups included."""
    for shape in shapes:
        if heading is not None and shape.shape_id == heading.shape_id:
            continue
        if hasattr(shape, "shapes") and depth < _DEEPEST_GROUP:
            yield from _blocks(shape.shapes, heading, depth + 1)
        elif getattr(shape, "has_table", False):
            yield [[" ".join(cell.text.split()) for cell in row.cells] for row in shape.table.rows]
        elif shape.has_text_frame:
            for paragraph in shape.text_frame.paragraphs:
                text = paragraph.text.replace("\v", " ").replace("\n", " ")
                if text.strip():
                    yield [text]
