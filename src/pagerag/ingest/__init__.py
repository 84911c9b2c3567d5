"""Documents into a store: files found, read, cut into passages, analysed, encoded, written; resumable."""

from pagerag.ingest.documents import Document, IngestSettings, SourceFile
from pagerag.ingest.formats import FORMATS, read_documents
from pagerag.ingest.passages import passages
from pagerag.ingest.report import Event, IngestReport
from pagerag.ingest.run import index_paths

__all__ = [
    "FORMATS",
    "Document",
    "Event",
    "IngestReport",
    "IngestSettings",
    "SourceFile",
    "index_paths",
    "passages",
    "read_documents",
]
