"""Where a corpus lives: the store protocol and the embedded LanceDB store.

Nothing here imports LanceDB until a store is opened.
"""

from pagerag.store.base import SCHEMA_VERSION, FileRecord, SearchMode, Store, StoredDocument, StoreStats
from pagerag.store.fusion import reciprocal_rank_fusion
from pagerag.store.lance import LanceStore, open_store
from pagerag.store.units import Place, Unit, encoded_text, place_of, sentences_of

__all__ = [
    "SCHEMA_VERSION",
    "FileRecord",
    "LanceStore",
    "Place",
    "SearchMode",
    "Store",
    "StoreStats",
    "StoredDocument",
    "Unit",
    "encoded_text",
    "open_store",
    "place_of",
    "reciprocal_rank_fusion",
    "sentences_of",
]
