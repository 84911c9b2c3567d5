"""Question to pool: lexical, dense, late interaction, hybrid, and adaptive follow-up; the encoders."""

from pagerag.retrieve.adaptive import AdaptiveRetriever, Limits
from pagerag.retrieve.encoders import CachedEncoder, cache_folder, encoder
from pagerag.retrieve.late import LateInteractionRetriever
from pagerag.retrieve.retrievers import BM25Retriever, CorpusRetriever, DenseRetriever, HybridRetriever
from pagerag.store.bm25 import BM25
from pagerag.store.memory import MemoryCorpus

__all__ = [
    "BM25",
    "AdaptiveRetriever",
    "BM25Retriever",
    "CachedEncoder",
    "CorpusRetriever",
    "DenseRetriever",
    "HybridRetriever",
    "LateInteractionRetriever",
    "Limits",
    "MemoryCorpus",
    "cache_folder",
    "encoder",
]
