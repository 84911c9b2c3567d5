"""The real LlamaIndex: query engines, sync and async, with its own mock model and neighbours in documents."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

pytest.importorskip("llama_index.core")
from llama_index.core import Document, VectorStoreIndex
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.bridge.pydantic import Field
from llama_index.core.llms import CompletionResponse, CustomLLM, LLMMetadata
from llama_index.core.node_parser import SentenceSplitter
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import (
    MetadataMode,
    NodeRelationship,
    NodeWithScore,
    QueryBundle,
    RelatedNodeInfo,
    TextNode,
)

from pagerag.errors import InputError
from pagerag.plugins.llamaindex import PageRAGPostprocessor, _positions, _units
from pagerag.promotion import Promoter
from pagerag.testing import FakeEncoder

from .conftest import LLAMAINDEX, QUESTION

pytestmark = pytest.mark.integration


class Fixed(BaseRetriever):
    def __init__(self, nodes):
        super().__init__()
        self.nodes = nodes

    def _retrieve(self, query_bundle):
        return self.nodes


class Remembering(CustomLLM):
    prompts: list[str] = Field(default_factory=list)

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(context_window=100_000)

    def complete(self, prompt: str, **kwargs: Any) -> CompletionResponse:
        self.prompts.append(prompt)
        return CompletionResponse(text="Austria")

    def stream_complete(self, prompt: str, **kwargs: Any):
        yield self.complete(prompt)


class Hashing(BaseEmbedding):
    def _get_text_embedding(self, text):
        return FakeEncoder(256).encode_passages([text])[0].tolist()

    _get_query_embedding = _get_text_embedding

    async def _aget_query_embedding(self, query):
        return self._get_text_embedding(query)


@pytest.fixture
def nodes(pool):
    return LLAMAINDEX.documents(pool)


@pytest.mark.parametrize("asynchronous", [False, True])
def test_in_a_query_engine(nodes, asynchronous):
    model = Remembering()
    engine = RetrieverQueryEngine.from_args(
        Fixed(nodes), node_postprocessors=[PageRAGPostprocessor(k=4)], llm=model
    )
    answer = asyncio.run(engine.aquery(QUESTION)) if asynchronous else engine.query(QUESTION)
    assert str(answer) == "Austria"
    assert len(answer.source_nodes) <= 4
    assert {"d6", "d14"} <= {n.node.node_id for n in answer.source_nodes}
    (prompt,) = model.prompts
    assert len([n for n in nodes if n.node.text in prompt]) == len(answer.source_nodes)
    assert "pagerag" not in prompt  # provenance is ours, not the reader's


def test_over_a_real_index_with_embeddings(pool):
    documents = [Document(text=d.text, id_=d.id, metadata=d.meta()) for d in pool]
    index = VectorStoreIndex.from_documents(documents, embed_model=Hashing())
    engine = index.as_query_engine(
        llm=Remembering(), similarity_top_k=20, node_postprocessors=[PageRAGPostprocessor(k=3)]
    )
    found = engine.query(QUESTION).source_nodes
    assert len(found) <= 3
    assert {"d6", "d14"} <= {n.node.ref_doc_id for n in found}


def test_embeddings_are_used_when_both_sides_have_one(nodes):
    class Watching(Promoter):
        def promote(self, question, candidates, *args, **kwargs):
            self.__dict__["given"] = (kwargs.get("vector"), [c.vector is not None for c in candidates])
            return super().promote(question, candidates, *args, **kwargs)

    watching = Watching()
    step = PageRAGPostprocessor(promoter=watching)
    encode = FakeEncoder(32).encode_passages
    for n in nodes:
        n.node.embedding = encode([n.node.text])[0].tolist()
    bundle = QueryBundle(QUESTION, embedding=encode([QUESTION])[0].tolist())
    step.postprocess_nodes(nodes, bundle)
    assert watching.given[0] is not None
    assert all(watching.given[1])
    step.postprocess_nodes(nodes, query_str=QUESTION)
    assert watching.given == (None, [False] * 20)
    bundle.embedding = bundle.embedding[:16]  # of another space
    step.postprocess_nodes(nodes, bundle)
    assert watching.given == (None, [False] * 20)


def test_without_a_question_it_refuses(nodes):
    with pytest.raises(InputError, match="query_bundle"):
        PageRAGPostprocessor().postprocess_nodes(nodes)


def test_provenance_is_hidden_from_models_and_embedders(nodes):
    kept = PageRAGPostprocessor(k=2).postprocess_nodes(nodes, query_str=QUESTION)
    for scored in kept:
        for mode in (MetadataMode.LLM, MetadataMode.EMBED):
            assert "pagerag" not in scored.node.get_content(metadata_mode=mode)
        assert "page" in scored.node.get_content(metadata_mode=MetadataMode.LLM)


def test_neighbours_in_a_split_document_get_neighbouring_places():
    text = " ".join(f"Sentence number {n} speaks of harbour {n}." for n in range(60))
    try:
        split = SentenceSplitter(chunk_size=40, chunk_overlap=0)
        chunks = split.get_nodes_from_documents([Document(text=text)])
    except LookupError:
        pytest.skip("this version of LlamaIndex loads NLTK data from the network")
    assert len(chunks) > 5
    places = _positions([chunks[4], chunks[0], chunks[1], chunks[3]])
    assert places[chunks[1].node_id] - places[chunks[0].node_id] == 1
    assert places[chunks[4].node_id] - places[chunks[3].node_id] == 1
    ends = [places[chunks[1].node_id], places[chunks[3].node_id]]
    assert abs(ends[0] - ends[1]) > 1  # the second chunk is missing: 1 and 3 are no neighbours
    units = _units([NodeWithScore(node=chunk) for chunk in chunks])
    assert {unit.source for unit in units} == {chunks[0].ref_doc_id}


def test_a_ring_of_neighbours_does_not_hang():
    a, b = TextNode(text="one", id_="a"), TextNode(text="two", id_="b")
    a.relationships[NodeRelationship.NEXT] = RelatedNodeInfo(node_id="b")
    b.relationships[NodeRelationship.NEXT] = RelatedNodeInfo(node_id="a")
    assert set(_positions([a, b])) <= {"a", "b"}


def test_it_round_trips_as_a_component():
    made = PageRAGPostprocessor(k=3, mode="paragraph", fill=False, promoter=Promoter())
    written = made.to_dict()
    assert written["class_name"] == "PageRAGPostprocessor"
    again = PageRAGPostprocessor.from_dict(written)
    assert (again.k, again.mode, again.fill) == (3, "paragraph", False)


def test_metadata_is_flat_as_vector_stores_want_it(nodes):
    from llama_index.core.vector_stores.utils import node_to_metadata_dict

    for n in nodes:
        n.node.metadata.pop("tags")
    kept = PageRAGPostprocessor(k=2).postprocess_nodes(nodes, query_str=QUESTION)
    again = PageRAGPostprocessor(k=2).postprocess_nodes(kept, query_str=QUESTION)
    for scored in (*kept, *again):
        node_to_metadata_dict(scored.node, flat_metadata=True)  # refuses nested values
        assert scored.node.metadata["pagerag_role"] == "core"
        assert "Ilse Brandt" in scored.node.metadata["pagerag_path"]
        assert "pagerag" not in scored.node.get_content(metadata_mode=MetadataMode.LLM)
        hidden = scored.node.excluded_llm_metadata_keys
        assert len(hidden) == len(set(hidden))


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_rerank_is_reported_by_events_and_callbacks(nodes, asynchronous):
    from llama_index.core.callbacks import CallbackManager, CBEventType, LlamaDebugHandler
    from llama_index.core.instrumentation import get_dispatcher
    from llama_index.core.instrumentation.event_handlers import BaseEventHandler

    seen = []

    class Listening(BaseEventHandler):
        def handle(self, event, **kwargs):
            seen.append(event)

    handler = Listening()
    root = get_dispatcher()
    root.add_event_handler(handler)
    debug = LlamaDebugHandler(print_trace_on_end=False)
    try:
        step = PageRAGPostprocessor(top_n=2, callback_manager=CallbackManager([debug]))
        if asynchronous:
            asyncio.run(step.apostprocess_nodes(nodes, query_str=QUESTION))
        else:
            step.postprocess_nodes(nodes, query_str=QUESTION)
    finally:
        root.event_handlers.remove(handler)
    start, end = (e for e in seen if type(e).__name__.startswith("ReRank"))
    assert (start.top_n, start.model_name, len(start.nodes)) == (2, "pagerag", 20)
    assert len(end.nodes) == 2
    ((first, last),) = debug.get_event_pairs(CBEventType.RERANKING)
    assert first.payload["top_k"] == 2
    assert len(last.payload["nodes"]) == 2


def test_copies_with_other_settings_have_them(nodes):
    made = PageRAGPostprocessor(top_n=5)
    assert len(made.model_copy(update={"k": 1}).postprocess_nodes(nodes, query_str=QUESTION)) == 1
    assert made.top_n == 5


def test_the_integration_package_has_the_class_under_its_own_name(nodes):
    module = pytest.importorskip("llama_index.postprocessor.pagerag_rerank")
    made = module.PageRAGRerank(top_n=2, support="none")
    again = module.PageRAGRerank.from_dict(made.to_dict())
    assert made.to_dict()["class_name"] == "PageRAGRerank"
    assert len(again.postprocess_nodes(nodes, query_str=QUESTION)) == again.top_n == 2
