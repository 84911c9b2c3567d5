"""Documents into a store: files found, read, cut into passages, analysed, encoded, written; resumable."""

from typing import TYPE_CHECKING, Any

from pagerag.ingest.documents import Document, IngestSettings, SourceFile
from pagerag.ingest.formats import FORMATS, read_documents
from pagerag.ingest.isolation import FileReader
from pagerag.ingest.report import Event, IngestReport

if TYPE_CHECKING:
    from pagerag.ingest.passages import passages_of
    from pagerag.ingest.run import index_paths

__all__ = [
    "FORMATS",
    "Document",
    "Event",
    "FileReader",
    "IngestReport",
    "IngestSettings",
    "SourceFile",
    "index_paths",
    "passages_of",
    "read_documents",
]


def __getattr__(name: str) -> Any:
    # The process that reads files needs neither the store nor NumPy: without them it starts in a third of
    # the time.
    if name == "index_paths":
        from pagerag.ingest.run import index_paths

        return index_paths
    if name == "passages_of":
        from pagerag.ingest.passages import passages_of

        return passages_of
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
