"""rerankers: promotion behind the ``rank(query, docs)`` of that library.

Importing this module also makes ``rerankers.Reranker("pagerag")`` find it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import fields
from typing import Any, TypeAlias, Unpack

from pagerag._extras import need
from pagerag.errors import InputError
from pagerag.plugins._stage import Adjustable, Picked, PromotionStage, StageSettings
from pagerag.plugins._units import KEY, ForeignUnit

need("rerankers", "rerankers", "rerankers", "pagerag.plugins.rerankers")
import rerankers.reranker as _factory  # noqa: E402
from rerankers.documents import Document  # noqa: E402
from rerankers.models import AVAILABLE_RANKERS  # noqa: E402
from rerankers.models.ranker import BaseRanker  # noqa: E402
from rerankers.results import RankedResults, Result  # noqa: E402

__all__ = ["PageRAGRanker"]

Docs: TypeAlias = str | Document | Sequence[str | Document]
Ids: TypeAlias = Sequence[str | int] | None
Metadata: TypeAlias = Sequence[Mapping[str, Any] | None] | None


class PageRAGRanker(Adjustable, BaseRanker):  # type: ignore[misc]
    """Rank every document of a pool: the promoted ones first, then the others.

    ``results.top_k(k)`` is then the promoted context. With ``select=True`` only the promoted context
    is returned. Documents are copied, with provenance in ``metadata["pagerag"]``.
    """

    def __init__(self, k: int = 5, *, select: bool = False, **settings: Unpack[StageSettings]) -> None:
        self.select = select
        self.stage = PromotionStage(k=k, **settings)

    def rank(self, query: str, docs: Docs, doc_ids: Ids = None, metadata: Metadata = None) -> Any:
        """Return a ``RankedResults``, best first. ``metadata`` may hold None for some documents."""
        documents = _documents(docs, doc_ids, metadata)
        picked = self.stage.select(query, _units(documents), rest=not self.select)
        return _results(query, documents, picked)

    async def rank_async(self, query: str, docs: Docs, doc_ids: Ids = None, metadata: Metadata = None) -> Any:
        """Return what ``rank`` returns, off the event loop."""
        documents = _documents(docs, doc_ids, metadata)
        picked = await self.stage.aselect(query, _units(documents), rest=not self.select)
        return _results(query, documents, picked)

    def score(self, query: str, doc: str) -> float:
        """Return how far one document alone seems to answer the question, in [0, 1].

        The scores of ``rank`` compare the documents of one pool; this one compares across pools.
        """
        return self.stage.sufficiency(query, ForeignUnit(doc))

    def as_langchain_compressor(self, k: int = 10) -> Any:
        """Return the LangChain plug-in with the same settings; it needs the ``langchain`` extra."""
        from pagerag.plugins.langchain import PageRAGCompressor

        settings = {field.name: getattr(self.stage, field.name) for field in fields(self.stage)}
        return PageRAGCompressor(**{**settings, "k": k})


def _documents(docs: Docs, doc_ids: Ids, metadata: Metadata) -> list[Document]:
    """Return fresh documents, in the given order; ids are places where none are given, as in rerankers."""
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
        fresh.metadata = {**(fresh.metadata or {}), **((metadata[place] if metadata else None) or {})}
        documents.append(fresh)
    return documents


def _units(documents: Sequence[Document]) -> list[ForeignUnit]:
    return [ForeignUnit(d.text, d.doc_id, d.metadata.get("score"), metadata=d.metadata) for d in documents]


def _results(query: str, documents: Sequence[Document], picked: Sequence[Picked]) -> Any:
    results = []
    for rank, p in enumerate(picked, 1):
        document = documents[p.index]
        document.metadata[KEY] = p.provenance  # our own copy, made in _documents
        results.append(Result(document=document, score=p.score, rank=rank))
    return RankedResults(results=results, query=query, has_scores=True)


def _register() -> None:
    """Let ``Reranker("pagerag", **settings)`` make a PageRAGRanker.

    The library chooses a class by parts of the model's name in a list of its own; the one function that
    does so is wrapped to know one name more.
    """

    def make(model_name: str, verbose: int = 1, **settings: Any) -> PageRAGRanker:  # noqa: ARG001
        return PageRAGRanker(**settings)

    choose = _factory._get_model_type

    def with_ours(model_name: str, explicit_model_type: str | None = None) -> Any:
        wanted = explicit_model_type or model_name
        return _NAME if wanted.lower() == _NAME else choose(model_name, explicit_model_type)

    AVAILABLE_RANKERS[_NAME] = make
    _factory._get_model_type = with_ours


_NAME = "pagerag"
if _NAME not in AVAILABLE_RANKERS:
    _register()
