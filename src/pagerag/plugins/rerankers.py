"""rerankers: promotion behind the ``rank(query, docs)`` of that library."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import fields
from typing import Any, Unpack

from pagerag._extras import need
from pagerag.errors import InputError
from pagerag.plugins._stage import KEY, Picked, Settings, Stage
from pagerag.plugins._units import Unit

need("rerankers", "rerankers", "rerankers", "pagerag.plugins.rerankers")
from rerankers.documents import Document  # noqa: E402
from rerankers.models.ranker import BaseRanker  # noqa: E402
from rerankers.results import RankedResults, Result  # noqa: E402

__all__ = ["PageRAGRanker"]


class PageRAGRanker(BaseRanker):  # type: ignore[misc]
    """``rank(query, docs)`` gives every document a rank: the promoted ones first, then the others.

    ``results.top_k(k)`` is then the promoted context. With ``select=True`` only the promoted context
    is returned. Documents are copied, with provenance in ``metadata["pagerag"]``.
    """

    def __init__(self, k: int = 5, *, select: bool = False, **settings: Unpack[Settings]) -> None:
        self.select = select
        self.stage = Stage(k=k, **settings)

    def rank(
        self,
        query: str,
        docs: str | Document | Sequence[str | Document],
        doc_ids: Sequence[str | int] | None = None,
        metadata: Sequence[Mapping[str, Any]] | None = None,
    ) -> Any:
        """A ``RankedResults``, best first."""
        documents = _documents(docs, doc_ids, metadata)
        picked = self.stage.select(query, _units(documents), rest=not self.select)
        return _results(query, documents, picked)

    async def rank_async(
        self,
        query: str,
        docs: str | Document | Sequence[str | Document],
        doc_ids: Sequence[str | int] | None = None,
        metadata: Sequence[Mapping[str, Any]] | None = None,
    ) -> Any:
        """``rank`` off the event loop."""
        documents = _documents(docs, doc_ids, metadata)
        picked = await self.stage.aselect(query, _units(documents), rest=not self.select)
        return _results(query, documents, picked)

    def score(self, query: str, doc: str) -> float:
        """How well one document supports the question when nothing else is in the pool."""
        picked = self.stage.select(query, [Unit(doc)], rest=True)
        return picked[0].score

    def as_langchain_compressor(self, k: int = 10) -> Any:
        """The LangChain plug-in with the same settings; it needs the ``langchain`` extra."""
        from pagerag.plugins.langchain import PageRAGCompressor

        settings = {field.name: getattr(self.stage, field.name) for field in fields(self.stage)}
        return PageRAGCompressor(**{**settings, "k": k})


def _documents(
    docs: str | Document | Sequence[str | Document],
    doc_ids: Sequence[str | int] | None,
    metadata: Sequence[Mapping[str, Any]] | None,
) -> list[Document]:
    """Fresh documents, in the given order; ids are places where none are given, as in rerankers."""
    given = [docs] if isinstance(docs, (str, Document)) else list(docs)
    for name, values in (("doc_ids", doc_ids), ("metadata", metadata)):
        if values is not None and len(values) != len(given):
            raise InputError(f"{len(given)} documents came with {len(values)} {name}; give one for each")
    documents = []
    for place, doc in enumerate(given):
        fresh = Document(doc) if isinstance(doc, str) else copy(doc)
        fresh.text = fresh.text or ""
        if doc_ids is not None or fresh.doc_id is None:
            fresh.doc_id = place if doc_ids is None else doc_ids[place]
        fresh.metadata = {**fresh.metadata, **({} if metadata is None else metadata[place])}
        documents.append(fresh)
    return documents


def _units(documents: Sequence[Document]) -> list[Unit]:
    return [Unit(d.text, d.doc_id, d.metadata.get("score"), metadata=d.metadata) for d in documents]


def _results(query: str, documents: Sequence[Document], picked: Sequence[Picked]) -> Any:
    results = []
    for rank, p in enumerate(picked, 1):
        document = documents[p.index]
        document.metadata[KEY] = p.provenance  # our own copy, made in _documents
        results.append(Result(document=document, score=p.score, rank=rank))
    return RankedResults(results=results, query=query, has_scores=True)
