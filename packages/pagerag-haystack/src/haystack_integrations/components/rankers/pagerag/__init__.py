"""PAGE-RAG evidence promotion for Haystack."""

from haystack import component

from pagerag.plugins.haystack import PageRAGRanker as _Ranker

__all__ = ["PageRAGRanker"]


@component
class PageRAGRanker(_Ranker):
    """Hand on at most ``top_k`` of the documents: the promoted evidence, best first.

    Haystack trusts modules of this namespace, so stored pipelines are read back without an allow-list.
    """
