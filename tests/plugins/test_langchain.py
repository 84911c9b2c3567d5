"""The real LangChain: compression retrievers and runnable chains, with a scripted model that remembers."""

from __future__ import annotations

import asyncio

import pytest

pytest.importorskip("langchain_core")
from langchain_core.documents import Document
from langchain_core.language_models import FakeListChatModel
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnablePassthrough
from pydantic import Field

from pagerag.plugins.langchain import PageRAGCompressor
from pagerag.promotion import Promoter

from .conftest import LANGCHAIN, QUESTION

pytestmark = pytest.mark.integration


class Fixed(BaseRetriever):
    documents: list[Document]

    def _get_relevant_documents(self, query, *, run_manager):
        return self.documents


class Remembering(FakeListChatModel):
    """LangChain's own fake model, keeping the prompts that reach it."""

    seen: list[str] = Field(default_factory=list)

    def _call(self, messages, *args, **kwargs):
        self.seen.append("\n".join(message.content for message in messages))
        return super()._call(messages, *args, **kwargs)


@pytest.fixture
def documents(pool):
    return LANGCHAIN.documents(pool)


@pytest.fixture
def model():
    return Remembering(responses=["Austria"])


def units_in(prompt, documents):
    return [d for d in documents if d.page_content in prompt]


def check_reader_input(model, documents, k):
    """Promotion ran: the gold units, which the retriever ranks 7th and 15th, reached the reader."""
    (prompt,) = model.seen
    reached = units_in(prompt, documents)
    assert 2 <= len(reached) <= k
    assert {"d6", "d14"} <= {d.id for d in reached}


def test_in_a_contextual_compression_retriever(documents):
    module = pytest.importorskip("langchain_classic.retrievers")
    retriever = module.ContextualCompressionRetriever(
        base_compressor=PageRAGCompressor(k=3), base_retriever=Fixed(documents=documents)
    )
    found = retriever.invoke(QUESTION)
    assert {"d6", "d14"} <= {d.id for d in found}
    assert len(found) <= 3
    assert found[0].metadata["pagerag"]["role"] == "core"
    assert asyncio.run(retriever.ainvoke(QUESTION)) == found
    empty = module.ContextualCompressionRetriever(
        base_compressor=PageRAGCompressor(), base_retriever=Fixed(documents=[])
    )
    assert empty.invoke(QUESTION) == []


def test_in_a_compressor_pipeline(documents):
    module = pytest.importorskip("langchain_classic.retrievers.document_compressors")
    pipeline = module.DocumentCompressorPipeline(
        transformers=[PageRAGCompressor(k=10), PageRAGCompressor(k=2)]
    )
    assert {d.id for d in pipeline.compress_documents(documents, QUESTION)} == {"d6", "d14"}


def test_in_a_compression_retriever_before_a_model(documents, model):
    module = pytest.importorskip("langchain_classic.retrievers")
    retriever = module.ContextualCompressionRetriever(
        base_compressor=PageRAGCompressor(k=4), base_retriever=Fixed(documents=documents)
    )
    prompt = ChatPromptTemplate.from_template("{context}\n\n{question}")
    text = retriever | (lambda found: "\n".join(d.page_content for d in found))
    chain = {"context": text, "question": RunnablePassthrough()} | prompt | model | StrOutputParser()
    assert chain.invoke(QUESTION) == "Austria"
    check_reader_input(model, documents, k=4)


@pytest.mark.parametrize("asynchronous", [False, True])
def test_in_a_runnable_chain(documents, model, asynchronous):
    prompt = ChatPromptTemplate.from_template("{context}\n\n{question}")
    chain = (
        RunnablePassthrough.assign(
            context=lambda inputs: Fixed(documents=documents).invoke(inputs["question"])
        )
        | RunnablePassthrough.assign(context=PageRAGCompressor(k=5).as_runnable())
        | prompt
        | model
        | StrOutputParser()
    )
    inputs = {"question": QUESTION}
    assert (asyncio.run(chain.ainvoke(inputs)) if asynchronous else chain.invoke(inputs)) == "Austria"
    check_reader_input(model, documents, k=5)


def test_it_round_trips_as_a_pydantic_model():
    made = PageRAGCompressor(k=3, mode="sentence", fill=False, promoter=Promoter(), title_key="name")
    written = made.model_dump()
    assert "promoter" not in written
    again = PageRAGCompressor(**written)
    assert (again.k, again.mode, again.fill, again.title_key) == (3, "sentence", False, "name")


def test_a_title_under_another_name_is_found(documents):
    renamed = [d.model_copy(update={"metadata": {"heading": d.metadata["title"]}}) for d in documents]
    kept = PageRAGCompressor(k=2, title_key="heading").compress_documents(renamed, QUESTION)
    titles = [step["title"] for step in kept[0].metadata["pagerag"]["path"]]
    assert "Ilse Brandt" in titles


def test_the_document_type_is_kept(documents):
    class Special(Document):
        extra: str = ""

    special = [Special(**d.model_dump(exclude={"type"}), extra=f"e{n}") for n, d in enumerate(documents)]
    kept = PageRAGCompressor(k=2).compress_documents(special, QUESTION)
    assert all(isinstance(d, Special) and d.extra for d in kept)
