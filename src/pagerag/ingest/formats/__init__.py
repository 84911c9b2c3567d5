"""The file formats that can be read: one module each, chosen by the file's name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from pagerag.errors import PageRAGError
from pagerag.ingest.documents import BadRecord, Document, IngestSettings, SourceFile

__all__ = ["BY_SUFFIX", "FORMATS", "Format", "format_of", "read_documents"]

Reading = Iterator[Document | BadRecord]
Read = Callable[[SourceFile, IngestSettings], Reading]


@dataclass(frozen=True, slots=True)
class Format:
    """A kind of file.

    Formats that are read ``whole`` are bounded by the file's size; the others are streamed, and each
    record is bounded. ``names`` are those of files that are known without a suffix.
    """

    name: str
    suffixes: tuple[str, ...]
    whole: bool = True
    names: tuple[str, ...] = ()


def _reader(name: str) -> Read:  # noqa: C901  (a table: no branch depends on another)
    """Return the reader of a format, imported when a file of its format comes: together they take 0.1 s."""
    read: Read
    match name:
        case "text":
            from pagerag.ingest.formats.text import read_text as read
        case "Markdown":
            from pagerag.ingest.formats.markdown import read_markdown as read
        case "reStructuredText":
            from pagerag.ingest.formats.restructured import read_restructured as read
        case "AsciiDoc":
            from pagerag.ingest.formats.asciidoc import read_asciidoc as read
        case "HTML":
            from pagerag.ingest.formats.html import read_html as read
        case "PDF":
            from pagerag.ingest.formats.pdf import read_pdf as read
        case "Word":
            from pagerag.ingest.formats.zipped import read_docx as read
        case "PowerPoint":
            from pagerag.ingest.formats.zipped import read_pptx as read
        case "Excel":
            from pagerag.ingest.formats.zipped import read_xlsx as read
        case "OpenDocument spreadsheet":
            from pagerag.ingest.formats.zipped import read_ods as read
        case "EPUB":
            from pagerag.ingest.formats.zipped import read_epub as read
        case "e-mail":
            from pagerag.ingest.formats.mail import read_message as read
        case "mailbox":
            from pagerag.ingest.formats.mail import read_mbox as read
        case "JSON":
            from pagerag.ingest.formats.json_records import read_json as read
        case "JSON Lines":
            from pagerag.ingest.formats.json_records import read_jsonl as read
        case "CSV":
            from pagerag.ingest.formats.records import read_csv as read
        case "Parquet":
            from pagerag.ingest.formats.records import read_parquet as read
        case _:
            raise KeyError(name)
    return read


_PROJECT_FILES = """README NEWS AUTHORS LICENSE LICENCE COPYING CHANGES CHANGELOG HISTORY INSTALL TODO
    CONTRIBUTING MANIFEST NOTICE FAQ""".split()

FORMATS = (
    Format("text", (".txt", ".text", ".log"), names=tuple(_PROJECT_FILES)),
    Format("Markdown", (".md", ".markdown", ".mdown", ".mdx", ".qmd")),
    Format("reStructuredText", (".rst", ".rest")),
    Format("AsciiDoc", (".adoc", ".asciidoc", ".asc")),
    Format("HTML", (".html", ".htm", ".xhtml")),
    Format("PDF", (".pdf",)),
    Format("Word", (".docx",)),
    Format("PowerPoint", (".pptx",)),
    Format("Excel", (".xlsx", ".xlsm")),
    Format("OpenDocument spreadsheet", (".ods",)),
    Format("EPUB", (".epub",)),
    Format("e-mail", (".eml",)),
    Format("mailbox", (".mbox",), whole=False),
    Format("JSON", (".json",)),
    Format("JSON Lines", (".jsonl", ".ndjson"), whole=False),
    Format("CSV", (".csv", ".tsv"), whole=False),
    Format("Parquet", (".parquet",), whole=False),
)

BY_SUFFIX = {suffix: known for known in FORMATS for suffix in known.suffixes}
_BY_NAME = {name.lower(): known for known in FORMATS for name in known.names}


def format_of(file: SourceFile) -> Format | None:
    """Return the format of a file by its name; None when it has none that is known."""
    suffix = file.path.suffix.lower()
    return BY_SUFFIX.get(suffix) if suffix else _BY_NAME.get(file.path.name.lower())


def read_documents(file: SourceFile, settings: IngestSettings, known: Format | None = None) -> Reading:
    """Yield the documents of a file, cleaned; whatever is wrong with it is a FormatError that names it.

    A file of an unknown format is read as plain text.
    """
    chosen = known or format_of(file) or FORMATS[0]
    try:
        with file.reachable():
            for item in _reader(chosen.name)(file, settings):
                yield item.cleaned() if isinstance(item, Document) else item
    except PageRAGError:
        raise
    except MemoryError as full:
        raise file.bad(
            f"needs more than {settings.max_memory_bytes // 2**20:,} MB of memory to be read; "
            "split it, or raise --max-memory-mb"
        ) from full
    except Exception as broken:
        # Parsers meet files that nobody foresaw and raise whatever they trip over; to the user it is one
        # broken file, named, and the others go on.
        what = f"{type(broken).__name__}: {broken}"
        raise file.bad(f"is not a readable {chosen.name} file ({what})") from broken
