"""Question to pool: lexical, dense, late interaction, hybrid, and adaptive follow-up; the encoders."""

from pagerag.retrieve.adaptive import AdaptiveRetriever, Limits, promote_adaptively
from pagerag.retrieve.bm25 import BM25, BM25Retriever
from pagerag.retrieve.corpus import MemoryCorpus, Searcher
from pagerag.retrieve.dense import DenseRetriever
from pagerag.retrieve.encoders import CachedEncoder, cache_folder, encoder
from pagerag.retrieve.hybrid import HybridRetriever
from pagerag.retrieve.late import LateInteractionRetriever
from pagerag.retrieve.ranking import encoded_text

__all__ = [
    "BM25",
    "AdaptiveRetriever",
    "BM25Retriever",
    "CachedEncoder",
    "DenseRetriever",
    "HybridRetriever",
    "LateInteractionRetriever",
    "Limits",
    "MemoryCorpus",
    "Searcher",
    "cache_folder",
    "encoded_text",
    "encoder",
    "promote_adaptively",
]
