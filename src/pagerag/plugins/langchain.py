"""LangChain: promotion as a document compressor.

It fits ``ContextualCompressionRetriever`` and ``DocumentCompressorPipeline`` (both in
``langchain_classic``), and ``as_runnable`` puts it in a chain.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pagerag._extras import need
from pagerag.plugins._stage import KEY, Picked
from pagerag.plugins._units import Unit

need("langchain_core", "langchain-core", "langchain", "pagerag.plugins.langchain")
from langchain_core.callbacks import Callbacks  # noqa: E402
from langchain_core.documents import BaseDocumentCompressor, Document  # noqa: E402
from langchain_core.runnables import RunnableLambda  # noqa: E402

from pagerag.plugins._fields import StageFields  # noqa: E402

__all__ = ["PageRAGCompressor"]

SCORE_KEY = "relevance_score"
"""Where LangChain's rerankers put a score; retrievers put none, and then rank alone counts."""


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
        """The promoted documents, best first; an empty list gives an empty list."""
        return _copies(documents, self._stage.select(query, self._units(documents)))

    async def acompress_documents(
        self,
        documents: Sequence[Document],
        query: str,
        callbacks: Callbacks | None = None,  # noqa: ARG002 - LangChain's signature
    ) -> Sequence[Document]:
        """``compress_documents`` off the event loop."""
        return _copies(documents, await self._stage.aselect(query, self._units(documents)))

    def as_runnable(self, question: str = "question", documents: str = "context") -> Any:
        """A runnable from a mapping with a question and documents to the promoted documents.

        ``RunnablePassthrough.assign(context=compressor.as_runnable())`` replaces a chain's context.
        """

        def promote(inputs: Mapping[str, Any]) -> Sequence[Document]:
            return self.compress_documents(inputs[documents], inputs[question])

        async def apromote(inputs: Mapping[str, Any]) -> Sequence[Document]:
            return await self.acompress_documents(inputs[documents], inputs[question])

        return RunnableLambda(promote, afunc=apromote, name="PageRAG")

    def _units(self, documents: Sequence[Document]) -> list[Unit]:
        return [
            Unit(d.page_content, d.id, d.metadata.get(self.score_key), metadata=d.metadata) for d in documents
        ]


def _copies(documents: Sequence[Document], picked: Sequence[Picked]) -> list[Document]:
    return [
        documents[p.index].model_copy(
            update={"metadata": {**documents[p.index].metadata, SCORE_KEY: p.score, KEY: p.provenance}}
        )
        for p in picked
    ]
