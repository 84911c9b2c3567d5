"""LangChain: promotion as a retriever around a retriever, and as a document compressor.

``PageRAGRetriever`` needs ``langchain-core`` alone. ``PageRAGCompressor`` fits
``ContextualCompressionRetriever`` and ``DocumentCompressorPipeline`` of ``langchain_classic``, and
``as_runnable`` puts it in a chain.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pagerag._extras import need
from pagerag.errors import InputError
from pagerag.plugins._stage import Picked, PromotionStage, warn_of_small_pool
from pagerag.plugins._units import KEY, ForeignUnit

need("langchain_core", "langchain-core", "langchain", "pagerag.plugins.langchain")
from langchain_core.callbacks import (  # noqa: E402
    AsyncCallbackManagerForRetrieverRun,
    CallbackManagerForRetrieverRun,
    Callbacks,
)
from langchain_core.documents import BaseDocumentCompressor, Document  # noqa: E402
from langchain_core.retrievers import BaseRetriever  # noqa: E402
from langchain_core.runnables import Runnable, RunnableLambda  # noqa: E402
from pydantic import Field, WithJsonSchema  # noqa: E402

from pagerag.plugins._fields import StageFields  # noqa: E402

__all__ = ["PageRAGCompressor", "PageRAGRetriever", "context_text"]

SCORE_KEY = "relevance_score"
"""Where LangChain's rerankers put a score; retrievers put none, and then rank alone counts."""


def context_text(documents: Sequence[Document]) -> str:
    """Return documents as the text of a prompt: titles and contents, no other metadata.

    A prompt template that is given Documents prints their metadata too, provenance included. Put this
    between: ``compressor.as_runnable() | context_text``.
    """
    parts = []
    for document in documents:
        title = document.metadata.get("title")
        parts.append(f"{title}\n{document.page_content}" if title else document.page_content)
    return "\n\n".join(parts)


class PageRAGCompressor(StageFields, BaseDocumentCompressor):  # type: ignore[misc]
    """Hand on at most ``k`` of the documents: the evidence that promotion selects, best first.

    Documents are copied. ``metadata["relevance_score"]`` is the score, ``metadata["pagerag"]`` the
    provenance. ``score_key`` names where the retriever left its own score, if it did.
    """

    score_key: str = SCORE_KEY

    def compress_documents(
        self,
        documents: Sequence[Document],
        query: str,
        callbacks: Callbacks | None = None,  # noqa: ARG002 - LangChain's signature
    ) -> Sequence[Document]:
        """Return the promoted documents, best first; an empty list gives an empty list."""
        return _copies(documents, self._stage().select(query, _units(documents, self.score_key)))

    async def acompress_documents(
        self,
        documents: Sequence[Document],
        query: str,
        callbacks: Callbacks | None = None,  # noqa: ARG002 - LangChain's signature
    ) -> Sequence[Document]:
        """Return what ``compress_documents`` returns, off the event loop."""
        return _copies(documents, await self._stage().aselect(query, _units(documents, self.score_key)))

    def as_runnable(self, question: str = "question", documents: str = "context") -> Any:
        """Return a runnable from a mapping with a question and documents to the promoted documents.

        ``RunnablePassthrough.assign(context=compressor.as_runnable() | context_text)`` replaces a chain's
        context by the text of the promoted documents.
        """

        def promote(inputs: Mapping[str, Any]) -> Sequence[Document]:
            return self.compress_documents(inputs[documents], inputs[question])

        async def apromote(inputs: Mapping[str, Any]) -> Sequence[Document]:
            return await self.acompress_documents(inputs[documents], inputs[question])

        return RunnableLambda(promote, afunc=apromote, name="PageRAG")


class PageRAGRetriever(StageFields, BaseRetriever):  # type: ignore[misc]
    """Retrieve with another retriever, and return at most ``k`` of its documents: the promoted evidence.

    ``retriever`` is any runnable from a question to documents; it should return more than ``k`` (20 is the
    paper's pool). ``pool`` is passed to it as ``k``, for vector stores and others that understand it.
    ``invoke(question, k=...)`` changes how many come out, never how many are retrieved; other keywords go
    to the inner retriever. Documents come out as from ``PageRAGCompressor``.
    """

    retriever: Annotated[Runnable[str, list[Document]], WithJsonSchema({"type": "object"})]
    pool: int | None = Field(default=None, ge=1, description="how many documents to ask the retriever for")
    score_key: str = SCORE_KEY

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, k: int | None = None, **search: Any
    ) -> list[Document]:
        stage, config = self._stage(), _config(run_manager)
        found = self.retriever.invoke(query, config, **self._search(search))
        return _copies(found, stage.select(query, self._pooled(found, stage, k), k=k))

    async def _aget_relevant_documents(
        self,
        query: str,
        *,
        run_manager: AsyncCallbackManagerForRetrieverRun,
        k: int | None = None,
        **search: Any,
    ) -> list[Document]:
        stage, config = self._stage(), _config(run_manager)
        found = await self.retriever.ainvoke(query, config, **self._search(search))
        return _copies(found, await stage.aselect(query, self._pooled(found, stage, k), k=k))

    def _search(self, keywords: Mapping[str, Any]) -> dict[str, Any]:
        return dict(keywords) if self.pool is None else {**keywords, "k": self.pool}

    def _pooled(self, found: Sequence[Document], stage: PromotionStage, k: int | None) -> list[ForeignUnit]:
        if not all(isinstance(document, Document) for document in found):
            raise InputError("the inner retriever must return LangChain documents")
        remedy = "set pool=20, or search_kwargs={'k': 20} on the retriever"
        warn_of_small_pool(len(found), stage.k if k is None else k, remedy)
        return _units(found, self.score_key)


def _config(run_manager: Any) -> Any:
    return {"callbacks": run_manager.get_child()}


def _units(documents: Sequence[Document], score_key: str) -> list[ForeignUnit]:
    return [
        ForeignUnit(d.page_content, d.id, d.metadata.get(score_key), metadata=d.metadata) for d in documents
    ]


def _copies(documents: Sequence[Document], picked: Sequence[Picked]) -> list[Document]:
    return [
        documents[p.index].model_copy(
            update={"metadata": {**documents[p.index].metadata, SCORE_KEY: p.score, KEY: p.provenance}}
        )
        for p in picked
    ]
