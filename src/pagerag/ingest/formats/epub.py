"""EPUB books: the chapters in their order, read as the web pages that they are."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from urllib.parse import unquote

from pagerag.ingest.builder import TextBuilder
from pagerag.ingest.documents import Document, IngestSettings, SourceFile
from pagerag.ingest.formats.archive import Archive, attribute, local, parse_xml
from pagerag.ingest.formats.html import add_page


def read_epub(file: SourceFile, settings: IngestSettings) -> Iterator[Document]:
    """Read a book; a place names the chapter's file and characters of it."""
    archive = Archive(file, settings)
    package = ""
    for event, element in parse_xml(file, archive.read("META-INF/container.xml") or b"<none/>"):
        if event == "start" and local(element) == "rootfile" and not package:
            package = attribute(element, "full-path")
    if package not in archive:
        raise file.bad("is not an EPUB book: it names no package file")
    title, chapters = _package(file, archive, package)
    builder = TextBuilder(limit=settings.max_text_chars, name=file.name)
    for name in chapters:
        source = archive.read(name).decode("utf-8-sig", "replace")
        builder.part(name, source)
        add_page(source, builder)
    yield builder.document(title, file.stem)


def _package(file: SourceFile, archive: Archive, package: str) -> tuple[str, list[str]]:
    """Return the book's title and the files of its chapters in reading order."""
    title = ""
    files: dict[str, str] = {}
    order: list[str] = []
    folder = posixpath.dirname(package)
    for event, element in parse_xml(file, archive.read(package)):
        name = local(element)
        if event == "end":
            if name == "title" and not title:
                title = (element.text or "").strip()
            continue
        if name == "item" and "nav" not in attribute(element, "properties").split():
            target = posixpath.normpath(posixpath.join(folder, unquote(attribute(element, "href"))))
            if "html" in attribute(element, "media-type"):
                files[attribute(element, "id")] = target
        elif name == "itemref":
            order.append(attribute(element, "idref"))
    return title, list(dict.fromkeys(files[ref] for ref in order if ref in files))
