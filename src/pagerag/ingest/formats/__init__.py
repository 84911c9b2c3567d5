"""The file formats that can be read: one module each, chosen by the end of the file's name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import cast

from pagerag.errors import FormatError, PageRAGError
from pagerag.ingest.documents import BadRecord, Document, IngestSettings, SourceFile

__all__ = ["BY_SUFFIX", "FORMATS", "Format", "format_of", "read_documents"]

Reading = Iterator[Document | BadRecord]


@dataclass(frozen=True, slots=True)
class Format:
    """``module.function(file, settings)`` yields the documents of a file.

    Formats that are read ``whole`` are bounded by the file's size; the others are streamed, and each
    record is bounded.
    """

    name: str
    suffixes: tuple[str, ...]
    module: str
    function: str
    whole: bool = True

    def read(self, file: SourceFile, settings: IngestSettings) -> Reading:
        module = import_module(f"pagerag.ingest.formats.{self.module}")
        return cast(Callable[..., Reading], getattr(module, self.function))(file, settings)


FORMATS = (
    Format("text", (".txt", ".text", ".rst", ".log"), "text", "read_text"),
    Format("Markdown", (".md", ".markdown", ".mdown"), "markdown", "read_markdown"),
    Format("HTML", (".html", ".htm", ".xhtml"), "html", "read_html"),
    Format("PDF", (".pdf",), "pdf", "read_pdf"),
    Format("Word", (".docx",), "word", "read_docx"),
    Format("JSON", (".json",), "records", "read_json"),
    Format("JSON Lines", (".jsonl", ".ndjson"), "records", "read_jsonl", whole=False),
    Format("CSV", (".csv", ".tsv"), "records", "read_csv", whole=False),
    Format("Parquet", (".parquet",), "records", "read_parquet", whole=False),
)

BY_SUFFIX = {suffix: known for known in FORMATS for suffix in known.suffixes}


def format_of(file: SourceFile) -> Format | None:
    """The format of a file by its name; None when it has none that is known."""
    return BY_SUFFIX.get(file.path.suffix.lower())


def read_documents(file: SourceFile, settings: IngestSettings, known: Format | None = None) -> Reading:
    """The documents of a file, cleaned; whatever is wrong with it is a FormatError that names it.

    A file of an unknown format is read as plain text.
    """
    chosen = known or format_of(file) or FORMATS[0]
    try:
        if chosen.whole and file.path.stat().st_size > settings.max_file_bytes:
            raise file.too_large(settings.max_file_bytes)
        for item in chosen.read(file, settings):
            yield item.cleaned() if isinstance(item, Document) else item
    except PageRAGError:
        raise
    except FileNotFoundError as gone:
        raise FormatError("vanished while it was being indexed", file=file.name) from gone
    except OSError as problem:
        raise FormatError(
            f"cannot be read ({problem.strerror or problem}); check its permissions", file=file.name
        ) from problem
    except Exception as broken:
        # Parsers meet files that nobody foresaw and raise whatever they trip over; to the user it is one
        # broken file, named, and the others go on.
        raise FormatError(
            f"is not a readable {chosen.name} file ({type(broken).__name__}: {broken})", file=file.name
        ) from broken
