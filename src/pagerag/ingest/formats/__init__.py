"""The file formats that can be read: one module each, chosen by the end of the file's name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from pagerag.errors import FormatError, PageRAGError
from pagerag.ingest.documents import BadRecord, Document, IngestSettings, SourceFile
from pagerag.ingest.formats.asciidoc import read_asciidoc
from pagerag.ingest.formats.epub import read_epub
from pagerag.ingest.formats.html import read_html
from pagerag.ingest.formats.mail import read_mbox, read_message
from pagerag.ingest.formats.markdown import read_markdown
from pagerag.ingest.formats.pdf import read_pdf
from pagerag.ingest.formats.records import read_csv, read_json, read_jsonl, read_parquet
from pagerag.ingest.formats.restructured import read_restructured
from pagerag.ingest.formats.sheets import read_ods, read_xlsx
from pagerag.ingest.formats.slides import read_pptx
from pagerag.ingest.formats.text import read_text
from pagerag.ingest.formats.word import read_docx

__all__ = ["BY_SUFFIX", "FORMATS", "Format", "format_of", "read_documents"]

Reading = Iterator[Document | BadRecord]


@dataclass(frozen=True, slots=True)
class Format:
    """A kind of file: ``read(file, settings)`` yields its documents.

    Formats that are read ``whole`` are bounded by the file's size; the others are streamed, and each
    record is bounded.
    """

    name: str
    suffixes: tuple[str, ...]
    read: Callable[[SourceFile, IngestSettings], Iterator[Document] | Reading]
    whole: bool = True


FORMATS = (
    Format("text", (".txt", ".text", ".log"), read_text),
    Format("Markdown", (".md", ".markdown", ".mdown", ".mdx", ".qmd"), read_markdown),
    Format("reStructuredText", (".rst", ".rest"), read_restructured),
    Format("AsciiDoc", (".adoc", ".asciidoc", ".asc"), read_asciidoc),
    Format("HTML", (".html", ".htm", ".xhtml"), read_html),
    Format("PDF", (".pdf",), read_pdf),
    Format("Word", (".docx",), read_docx),
    Format("PowerPoint", (".pptx",), read_pptx),
    Format("Excel", (".xlsx", ".xlsm"), read_xlsx),
    Format("OpenDocument spreadsheet", (".ods",), read_ods),
    Format("EPUB", (".epub",), read_epub),
    Format("e-mail", (".eml",), read_message),
    Format("mailbox", (".mbox",), read_mbox, whole=False),
    Format("JSON", (".json",), read_json),
    Format("JSON Lines", (".jsonl", ".ndjson"), read_jsonl, whole=False),
    Format("CSV", (".csv", ".tsv"), read_csv, whole=False),
    Format("Parquet", (".parquet",), read_parquet, whole=False),
)

BY_SUFFIX = {suffix: known for known in FORMATS for suffix in known.suffixes}


def format_of(file: SourceFile) -> Format | None:
    """Return the format of a file by its name; None when it has none that is known."""
    return BY_SUFFIX.get(file.path.suffix.lower())


def read_documents(file: SourceFile, settings: IngestSettings, known: Format | None = None) -> Reading:
    """Yield the documents of a file, cleaned; whatever is wrong with it is a FormatError that names it.

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
    except MemoryError as full:
        raise FormatError(
            f"needs more than {settings.max_memory_bytes // 2**20:,} MB of memory to be read; "
            "split it, or raise --max-memory-mb",
            file=file.name,
        ) from full
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
