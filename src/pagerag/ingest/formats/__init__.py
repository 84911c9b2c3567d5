"""The file formats that can be read: one module each, chosen by the end of the file's name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from pagerag.errors import FormatError, PageRAGError
from pagerag.ingest.documents import BadRecord, Document, IngestSettings, SourceFile

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
    read: Callable[[SourceFile, IngestSettings], Reading]
    whole: bool = True


# A reader is imported when a file of its format comes: together they take 0.1 s.


def _asciidoc(file: SourceFile, settings: IngestSettings) -> Reading:
    from pagerag.ingest.formats.asciidoc import read_asciidoc

    return read_asciidoc(file, settings)


def _epub(file: SourceFile, settings: IngestSettings) -> Reading:
    from pagerag.ingest.formats.epub import read_epub

    return read_epub(file, settings)


def _html(file: SourceFile, settings: IngestSettings) -> Reading:
    from pagerag.ingest.formats.html import read_html

    return read_html(file, settings)


def _mbox(file: SourceFile, settings: IngestSettings) -> Reading:
    from pagerag.ingest.formats.mail import read_mbox

    return read_mbox(file, settings)


def _message(file: SourceFile, settings: IngestSettings) -> Reading:
    from pagerag.ingest.formats.mail import read_message

    return read_message(file, settings)


def _markdown(file: SourceFile, settings: IngestSettings) -> Reading:
    from pagerag.ingest.formats.markdown import read_markdown

    return read_markdown(file, settings)


def _pdf(file: SourceFile, settings: IngestSettings) -> Reading:
    from pagerag.ingest.formats.pdf import read_pdf

    return read_pdf(file, settings)


def _csv(file: SourceFile, settings: IngestSettings) -> Reading:
    from pagerag.ingest.formats.records import read_csv

    return read_csv(file, settings)


def _json(file: SourceFile, settings: IngestSettings) -> Reading:
    from pagerag.ingest.formats.records import read_json

    return read_json(file, settings)


def _jsonl(file: SourceFile, settings: IngestSettings) -> Reading:
    from pagerag.ingest.formats.records import read_jsonl

    return read_jsonl(file, settings)


def _parquet(file: SourceFile, settings: IngestSettings) -> Reading:
    from pagerag.ingest.formats.records import read_parquet

    return read_parquet(file, settings)


def _restructured(file: SourceFile, settings: IngestSettings) -> Reading:
    from pagerag.ingest.formats.restructured import read_restructured

    return read_restructured(file, settings)


def _ods(file: SourceFile, settings: IngestSettings) -> Reading:
    from pagerag.ingest.formats.sheets import read_ods

    return read_ods(file, settings)


def _xlsx(file: SourceFile, settings: IngestSettings) -> Reading:
    from pagerag.ingest.formats.sheets import read_xlsx

    return read_xlsx(file, settings)


def _pptx(file: SourceFile, settings: IngestSettings) -> Reading:
    from pagerag.ingest.formats.slides import read_pptx

    return read_pptx(file, settings)


def _text(file: SourceFile, settings: IngestSettings) -> Reading:
    from pagerag.ingest.formats.text import read_text

    return read_text(file, settings)


def _docx(file: SourceFile, settings: IngestSettings) -> Reading:
    from pagerag.ingest.formats.word import read_docx

    return read_docx(file, settings)


FORMATS = (
    Format("text", (".txt", ".text", ".log"), _text),
    Format("Markdown", (".md", ".markdown", ".mdown", ".mdx", ".qmd"), _markdown),
    Format("reStructuredText", (".rst", ".rest"), _restructured),
    Format("AsciiDoc", (".adoc", ".asciidoc", ".asc"), _asciidoc),
    Format("HTML", (".html", ".htm", ".xhtml"), _html),
    Format("PDF", (".pdf",), _pdf),
    Format("Word", (".docx",), _docx),
    Format("PowerPoint", (".pptx",), _pptx),
    Format("Excel", (".xlsx", ".xlsm"), _xlsx),
    Format("OpenDocument spreadsheet", (".ods",), _ods),
    Format("EPUB", (".epub",), _epub),
    Format("e-mail", (".eml",), _message),
    Format("mailbox", (".mbox",), _mbox, whole=False),
    Format("JSON", (".json",), _json),
    Format("JSON Lines", (".jsonl", ".ndjson"), _jsonl, whole=False),
    Format("CSV", (".csv", ".tsv"), _csv, whole=False),
    Format("Parquet", (".parquet",), _parquet, whole=False),
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
