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

from pagerag.errors import InputError
from pagerag.plugins._stage import SmallPoolWarning
from pagerag.plugins.langchain import PageRAGCompressor, PageRAGRetriever, context_text
from pagerag.promotion import Promoter

from .conftest import LANGCHAIN, QUESTION

pytestmark = pytest.mark.integration


class Fixed(BaseRetriever):
    documents: list[Document]

    def _get_relevant_documents(self, query, *, run_manager):
        return self.documents


class Searching(BaseRetriever):
    """A retriever that understands k, as vector stores do."""

    documents: list[Document]
    asked: list[int] = Field(default_factory=list)

    def _get_relevant_documents(self, query, *, run_manager, k=4, **kwargs):
        self.asked.append(k)
        return self.documents[:k]

    async def _aget_relevant_documents(self, query, *, run_manager, k=4, **kwargs):
        return self._get_relevant_documents(query, run_manager=run_manager, k=k)


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
        | RunnablePassthrough.assign(context=PageRAGCompressor(k=5).as_runnable() | context_text)
        | prompt
        | model
        | StrOutputParser()
    )
    inputs = {"question": QUESTION}
    assert (asyncio.run(chain.ainvoke(inputs)) if asynchronous else chain.invoke(inputs)) == "Austria"
    check_reader_input(model, documents, k=5)
    assert "pagerag" not in model.seen[0]


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


# --- the retriever -----------------------------------------------------------------------------------------


def test_a_retriever_around_a_retriever(documents, model):
    retriever = PageRAGRetriever(retriever=Fixed(documents=documents), k=3)
    found = retriever.invoke(QUESTION)
    assert {"d6", "d14"} <= {d.id for d in found}
    assert len(found) == 3
    assert asyncio.run(retriever.ainvoke(QUESTION)) == found
    prompt = ChatPromptTemplate.from_template("{context}\n\n{question}")
    chain = {"context": retriever | context_text, "question": RunnablePassthrough()} | prompt | model
    chain.invoke(QUESTION)
    check_reader_input(model, documents, k=3)
    assert "pagerag" not in model.seen[0]
    assert "relevance_score" not in model.seen[0]


def test_k_changes_what_comes_out_and_never_the_pool(documents):
    inner = Searching(documents=documents)
    retriever = PageRAGRetriever(retriever=inner, k=5, pool=20)
    assert len(retriever.invoke(QUESTION, k=2)) == 2
    assert len(asyncio.run(retriever.ainvoke(QUESTION, k=1))) == 1
    assert inner.asked == [20, 20]


def test_a_pool_that_leaves_nothing_to_choose_is_said(documents):
    with pytest.warns(SmallPoolWarning, match="gave 4 passages, of which up to 5"):
        PageRAGRetriever(retriever=Searching(documents=documents), k=5).invoke(QUESTION)


def test_any_runnable_may_be_the_inner_retriever(documents):
    from langchain_core.runnables import RunnableLambda

    retriever = PageRAGRetriever(retriever=RunnableLambda(lambda question: documents), top_n=2)
    assert len(retriever.invoke(QUESTION)) == 2


# --- settings ----------------------------------------------------------------------------------------------


def test_copies_with_other_settings_have_them(documents):
    made = PageRAGCompressor(k=5)
    assert len(made.model_copy(update={"k": 1}).compress_documents(documents, QUESTION)) == 1
    assert len(made.model_copy(update={"top_n": 2}).compress_documents(documents, QUESTION)) == 2
    assert len(made.compress_documents(documents, QUESTION)) == 5
    with pytest.raises(InputError, match="patience"):
        made.model_copy(update={"patience": 3})
    with pytest.raises(InputError, match="k is 0"):
        made.model_copy(update={"k": 0})


def test_k_has_the_names_of_other_rerankers():
    assert PageRAGCompressor(top_n=3).k == PageRAGCompressor(top_k=3).k == 3
    made = PageRAGCompressor()
    made.top_n = 2
    assert made.k == made.top_n == 2
    with pytest.raises(ValueError, match="different values"):
        PageRAGCompressor(k=2, top_n=3)


def test_it_can_be_described_and_dumped(documents):
    import json

    from langchain_core.load import dumpd

    for made in (PageRAGCompressor(promoter=Promoter()), PageRAGRetriever(retriever=Fixed(documents=[]))):
        json.dumps(dumpd(made))
    assert "k" in PageRAGRetriever.model_json_schema()["properties"]
    properties = PageRAGCompressor.model_json_schema()["properties"]
    assert {"k", "mode", "fill", "max_tokens", "strategy", "support"} <= set(properties)
    assert "promoter" not in properties
    json.dumps(PageRAGRetriever(retriever=Fixed(documents=[])).get_input_jsonschema())
    json.dumps(dumpd(PageRAGCompressor().compress_documents(documents, QUESTION)))


def test_the_partner_package_has_the_same_classes():
    partner = pytest.importorskip("langchain_pagerag")
    assert partner.PageRAGRetriever is PageRAGRetriever
    assert partner.PageRAGCompressor is PageRAGCompressor
