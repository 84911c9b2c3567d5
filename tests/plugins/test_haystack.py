"""The real Haystack: pipelines that run, are written down, read again, and run async."""

# Annotations are not postponed: older Haystack compares them as they stand.

import asyncio
import inspect

import pytest

pytest.importorskip("haystack")
from haystack import Document, Pipeline, component
from haystack.components.builders import PromptBuilder
from haystack.components.preprocessors import DocumentSplitter
from haystack.components.retrievers.in_memory import InMemoryBM25Retriever
from haystack.document_stores.in_memory import InMemoryDocumentStore

from pagerag.errors import InputError
from pagerag.plugins.haystack import PageRAGRanker
from pagerag.promotion import Promoter
from pagerag.testing import FakeEncoder

from .conftest import HAYSTACK, QUESTION

pytestmark = pytest.mark.integration

TEMPLATE = "{% for d in documents %}{{ d.content }}\n{% endfor %}{{ question }}"


@component
class Model:
    """A reader that remembers what reached it."""

    def __init__(self):
        self.prompts: list[str] = []

    @component.output_types(replies=list[str])
    def run(self, prompt: str):
        self.prompts.append(prompt)
        return {"replies": ["Austria"]}


@pytest.fixture
def store(pool):
    store = InMemoryDocumentStore()
    store.write_documents(HAYSTACK.documents(pool))
    return store


def pipeline_of(store, ranker):
    pipe = Pipeline()
    pipe.add_component("retriever", InMemoryBM25Retriever(store, top_k=20))
    pipe.add_component("promote", ranker)
    pipe.add_component("prompt", PromptBuilder(TEMPLATE, required_variables="*"))
    pipe.add_component("model", Model())
    pipe.connect("retriever.documents", "promote.documents")
    pipe.connect("promote.documents", "prompt.documents")
    pipe.connect("prompt.prompt", "model.prompt")
    return pipe


INPUTS = {
    "retriever": {"query": QUESTION},
    "promote": {"query": QUESTION},
    "prompt": {"question": QUESTION},
}


def check(out, prompts, pool, k):
    assert out["model"]["replies"] == ["Austria"]
    kept = out["promote"]["documents"]
    assert len(kept) <= k
    assert {"d6", "d14"} <= {d.id for d in kept}
    (prompt,) = prompts
    assert len([d for d in pool if d.text in prompt]) == len(kept)


def test_in_a_pipeline(store, pool):
    pipe = pipeline_of(store, PageRAGRanker(top_k=4))
    out = pipe.run(INPUTS, include_outputs_from={"promote"})
    check(out, pipe.get_component("model").prompts, pool, k=4)


def test_in_a_pipeline_run_async(store, pool):
    pipe = pipeline_of(store, PageRAGRanker(top_k=4))
    if hasattr(pipe, "run_async"):
        run = pipe.run_async
    else:
        kind = getattr(pytest.importorskip("haystack"), "AsyncPipeline", None)
        if kind is None:
            pytest.skip("this version of Haystack has no async pipelines")
        asynchronous = kind.from_dict(pipe.to_dict())
        pipe, run = asynchronous, asynchronous.run_async
    out = asyncio.run(run(INPUTS, include_outputs_from={"promote"}))
    check(out, pipe.get_component("model").prompts, pool, k=4)


def test_a_pipeline_is_written_down_and_read_again(store):
    pipe = Pipeline()
    pipe.add_component("promote", PageRAGRanker(top_k=3, mode="paragraph", fill=False, title_key="name"))
    trust = {"allowed_modules": ["pagerag.plugins.haystack"]}
    known = "allowed_modules" in inspect.signature(Pipeline.loads).parameters  # Haystack 3
    again = Pipeline.loads(pipe.dumps(), **(trust if known else {}))
    promote = again.get_component("promote")
    assert promote.to_dict() == pipe.get_component("promote").to_dict()
    assert promote.to_dict()["init_parameters"] == {
        "top_k": 3,
        "mode": "paragraph",
        "fill": False,
        "max_tokens": None,
        "strategy": None,
        "support": "auto",
        "title_key": "name",
        "source_key": None,
        "position_key": None,
    }


def test_a_pipeline_of_the_integration_is_read_again_without_an_allow_list():
    module = pytest.importorskip("haystack_integrations.components.rankers.pagerag")
    pipe = Pipeline()
    pipe.add_component("promote", module.PageRAGRanker(top_k=3, support="none"))
    again = Pipeline.loads(pipe.dumps()).get_component("promote")
    assert type(again) is module.PageRAGRanker
    assert (again.top_k, again.support) == (3, "none")


def test_settings_take_effect_after_construction(pool):
    ranker = PageRAGRanker(top_k=5)
    ranker.top_k = 1
    assert len(ranker.run(query=QUESTION, documents=HAYSTACK.documents(pool))["documents"]) == 1
    assert ranker.to_dict()["init_parameters"]["top_k"] == ranker.k == 1
    assert PageRAGRanker(k=2).top_k == 2
    with pytest.raises(InputError, match="different values"):
        PageRAGRanker(top_k=2, k=3)


@pytest.mark.parametrize(
    "own", [{"promoter": Promoter()}, {"count_tokens": len}], ids=["promoter", "count_tokens"]
)
def test_live_objects_cannot_be_written_down_and_it_says_so(own):
    with pytest.raises(InputError, match=f"own {next(iter(own))} cannot be serialised"):
        PageRAGRanker(**own).to_dict()


def test_top_k_can_change_with_each_call(pool):
    ranker = PageRAGRanker(top_k=5)
    documents = HAYSTACK.documents(pool)
    assert len(ranker.run(query=QUESTION, documents=documents, top_k=2)["documents"]) == 2
    with pytest.raises(InputError, match="k is 0"):
        ranker.run(query=QUESTION, documents=documents, top_k=0)
    with pytest.raises(InputError, match="k is 0"):
        ranker.run(query=QUESTION, documents=[], top_k=0)


def test_split_documents_keep_their_places_and_embeddings_are_used(pool):
    split = DocumentSplitter(split_by="word", split_length=8)
    split.warm_up() if hasattr(split, "warm_up") else None
    chunks = split.run(documents=[Document(content=pool[6].text + " " + pool[14].text)])["documents"]
    encode = FakeEncoder(32).encode_passages
    from dataclasses import replace

    chunks = [replace(c, embedding=encode([c.content])[0].tolist()) for c in chunks]
    out = PageRAGRanker(top_k=2).run(
        query=QUESTION, documents=chunks, query_embedding=encode([QUESTION])[0].tolist()
    )["documents"]
    assert len(out) == 2
    assert all("split_id" in d.meta and d.embedding is not None for d in out)


def test_a_document_without_text_is_no_error(pool):
    from haystack.dataclasses import ByteStream

    image = Document(blob=ByteStream(b"\x89PNG"), id="image")
    with pytest.warns(UserWarning, match="image"):
        out = PageRAGRanker(top_k=2).run(query=QUESTION, documents=[image, *HAYSTACK.documents(pool)])
    assert {d.id for d in out["documents"]} == {"d6", "d14"}
