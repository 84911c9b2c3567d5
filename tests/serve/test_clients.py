"""The real SDKs of rerank clients against the running server, each set up as its users set it up."""

from __future__ import annotations

import asyncio
import itertools

import httpx
import pytest

from pagerag.errors import EndpointError, InputError
from pagerag.serve import AsyncClient, Client

from .conftest import BODIES, GOLD, KEY, QUESTION, TEXTS, TITLES

pytestmark = pytest.mark.integration


def check(places, scores):
    """The two passages of the argument come first, scores fall strictly, London is not among them."""
    assert set(places[:2]) == GOLD
    assert all(a > b for a, b in itertools.pairwise(scores))
    assert all(0.0 <= score <= 1.0 for score in scores)


# -- Cohere's own SDK


def test_cohere_v2(server):
    cohere = pytest.importorskip("cohere")
    client = cohere.ClientV2(api_key=KEY, base_url=server.url)
    reply = client.rerank(model="rerank-v3.5", query=QUESTION, documents=TEXTS, top_n=3)
    assert len(reply.results) == 3
    check([r.index for r in reply.results], [r.relevance_score for r in reply.results])
    assert reply.meta.api_version.version == "2"


def test_cohere_v1_with_objects_and_documents_back(server):
    cohere = pytest.importorskip("cohere")
    client = cohere.Client(api_key=KEY, base_url=server.url)
    documents = [{"title": title, "text": body} for title, body in zip(TITLES, BODIES, strict=True)]
    reply = client.rerank(
        model="rerank-english-v3.0", query=QUESTION, documents=documents, return_documents=True
    )
    assert len(reply.results) == len(TEXTS)
    check([r.index for r in reply.results], [r.relevance_score for r in reply.results])
    assert all(r.document.text == BODIES[r.index] for r in reply.results)


def test_cohere_raises_its_own_error_with_our_reason(server):
    cohere = pytest.importorskip("cohere")
    client = cohere.ClientV2(api_key=KEY, base_url=server.url)
    with pytest.raises(cohere.UnprocessableEntityError, match="query is empty"):
        client.rerank(model="m", query=" ", documents=TEXTS)
    with pytest.raises(cohere.UnauthorizedError):
        cohere.ClientV2(api_key="wrong", base_url=server.url).rerank(model="m", query="q", documents=TEXTS)


# -- LiteLLM


@pytest.fixture
def litellm():
    module = pytest.importorskip("litellm")
    module.telemetry = False
    return module


@pytest.mark.parametrize(
    ("model", "suffix"),
    [
        ("cohere/rerank-v3.5", ""),
        ("jina_ai/jina-reranker-v2", "/v1/rerank"),
        ("hosted_vllm/any-model", ""),
        ("huggingface/any-model", ""),
        ("voyage/rerank-2", ""),
        ("infinity/any-model", "/infinity"),
        ("nvidia_nim/nvidia/rerank-qa", ""),
    ],
)
def test_litellm(server, litellm, model, suffix):
    reply = litellm.rerank(
        model=model, query=QUESTION, documents=TEXTS, top_n=4, api_base=server.url + suffix, api_key=KEY
    )
    places = [result["index"] for result in reply.results]
    assert set(places[:2]) == GOLD
    assert len(places) == 4
    scores = [result["relevance_score"] for result in reply.results]
    assert all(a > b for a, b in itertools.pairwise(scores))


# -- LlamaIndex


@pytest.fixture
def nodes():
    schema = pytest.importorskip("llama_index.core.schema")
    return [
        schema.NodeWithScore(
            node=schema.TextNode(id_=str(n), text=text, metadata={"title": title}), score=0.5
        )
        for n, (title, text) in enumerate(zip(TITLES, BODIES, strict=True))
    ]


def test_llamaindex_cohere(server, nodes):
    module = pytest.importorskip("llama_index.postprocessor.cohere_rerank")
    stage = module.CohereRerank(api_key=KEY, base_url=server.url, top_n=2)
    found = stage.postprocess_nodes(nodes, query_str=QUESTION)
    assert {int(node.node.node_id) for node in found} == GOLD


def test_llamaindex_jina(server, nodes):
    module = pytest.importorskip("llama_index.postprocessor.jinaai_rerank")
    stage = module.JinaRerank(api_key=KEY, base_url=f"{server.url}/v1", top_n=2)
    found = stage.postprocess_nodes(nodes, query_str=QUESTION)
    assert {int(node.node.node_id) for node in found} == GOLD


def test_llamaindex_tei_sends_its_token_without_bearer(server, nodes):
    module = pytest.importorskip("llama_index.postprocessor.tei_rerank")
    stage = module.TextEmbeddingInference(base_url=server.url, top_n=2, auth_token=KEY)
    found = stage.postprocess_nodes(nodes, query_str=QUESTION)
    assert {int(node.node.node_id) for node in found} == GOLD


# -- Haystack


@pytest.fixture
def haystack_documents():
    haystack = pytest.importorskip("haystack")
    return [
        haystack.Document(id=str(n), content=text, meta={"title": title})
        for n, (title, text) in enumerate(zip(TITLES, BODIES, strict=True))
    ]


def test_haystack_jina_with_a_threshold_and_an_empty_document(server):
    ranker = pytest.importorskip("haystack_integrations.components.rankers.jina")
    from haystack import Document
    from haystack.utils import Secret

    stage = ranker.JinaRanker(
        base_url=f"{server.url}/v1/rerank", api_key=Secret.from_token(KEY), score_threshold=0.5
    )
    documents = [Document(id=str(n), content=text) for n, text in enumerate(TEXTS)]
    found = stage.run(query=QUESTION, documents=[*documents, Document(id="none", content="")])
    assert {int(document.id) for document in found["documents"]} == GOLD


def test_haystack_cohere_with_titles_in_the_text(server, haystack_documents):
    ranker = pytest.importorskip("haystack_integrations.components.rankers.cohere")
    from haystack.utils import Secret

    stage = ranker.CohereRanker(
        api_base_url=server.url, api_key=Secret.from_token(KEY), top_k=2, meta_fields_to_embed=["title"]
    )
    found = stage.run(query=QUESTION, documents=haystack_documents)
    assert {int(document.id) for document in found["documents"]} == GOLD


# -- LangChain, rerankers, LightRAG


def test_langchain_cohere(server):
    module = pytest.importorskip("langchain_cohere")
    from langchain_core.documents import Document

    stage = module.CohereRerank(cohere_api_key=KEY, base_url=server.url, model="rerank-v3.5", top_n=2)
    documents = [Document(page_content=text, metadata={"n": n}) for n, text in enumerate(TEXTS)]
    found = stage.compress_documents(documents, QUESTION)
    assert {document.metadata["n"] for document in found} == GOLD


@pytest.mark.parametrize(
    ("provider", "path"),
    [("jina", "/v1/rerank"), ("cohere", "/v2/rerank"), ("text-embeddings-inference", "/rerank")],
)
def test_rerankers_api_ranker(server, provider, path):
    rerankers = pytest.importorskip("rerankers")
    ranker = rerankers.Reranker(
        "any", model_type="APIRanker", api_provider=provider, api_key=KEY, url=server.url + path
    )
    found = ranker.rank(query=QUESTION, docs=TEXTS)
    check([result.document.doc_id for result in found.results], [result.score for result in found.results])


@pytest.mark.parametrize(
    ("function", "path"),
    [
        ("cohere_rerank", "/v2/rerank"),
        ("jina_rerank", "/v1/rerank"),
        ("ali_rerank", "/api/v1/services/rerank/text-rerank/text-rerank"),
    ],
)
def test_lightrag(server, function, path):
    module = pytest.importorskip("lightrag.rerank")
    call = getattr(module, function)
    found = asyncio.run(
        call(query=QUESTION, documents=TEXTS, top_n=3, api_key=KEY, model="m", base_url=server.url + path)
    )
    check([result["index"] for result in found], [result["relevance_score"] for result in found])
    assert len(found) == 3


# -- the chat route, by OpenAI's own SDK


def test_openai_chat_with_annotations(server):
    openai = pytest.importorskip("openai")
    client = openai.OpenAI(base_url=f"{server.url}/v1", api_key=KEY)
    assert "demo" in [model.id for model in client.models.list()]
    reply = client.chat.completions.create(model="demo", messages=[{"role": "user", "content": QUESTION}])
    message = reply.choices[0].message
    assert "Frankfurt" in message.content
    assert "[1]" in message.content
    assert message.annotations
    for note in message.annotations:
        start, end = note.url_citation.start_index, note.url_citation.end_index
        assert message.content[start:end].startswith("[")
    assert reply.usage.total_tokens > 0


def verdicts(server) -> float:
    """How many promotions the server has counted."""
    lines = httpx.get(f"{server.url}/metrics", headers={"Authorization": f"Bearer {KEY}"}).text.splitlines()
    return sum(float(line.split()[-1]) for line in lines if line.startswith("pagerag_verdicts_total{"))


def test_openai_chat_streams_the_same_answer(server):
    openai = pytest.importorskip("openai")
    client = openai.OpenAI(base_url=f"{server.url}/v1", api_key=KEY)
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": QUESTION}]},
    ]
    whole = client.chat.completions.create(model="pagerag/demo", messages=messages)
    counted = verdicts(server)
    stream = client.chat.completions.create(
        model="pagerag/demo", messages=messages, stream=True, stream_options={"include_usage": True}
    )
    text, ends, usage = "", [], None
    for chunk in stream:
        usage = chunk.usage or usage
        for choice in chunk.choices:
            text += choice.delta.content or ""
            ends.append(choice.finish_reason)
    assert text == whole.choices[0].message.content
    assert ends[-1] == "stop"
    assert usage == whole.usage
    assert verdicts(server) == counted + 1
    with pytest.raises(openai.NotFoundError, match="no store"):
        client.chat.completions.create(model="nowhere", messages=messages)


@pytest.mark.parametrize(
    "said", ["<html>", "{}", "[]", "null", '{"question": 3}', "event: words\ndata: {}\n\n"]
)
def test_our_client_at_another_server_says_so(said):
    def answer(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, text=said)

    with Client("http://elsewhere") as client:
        client._http = httpx.Client(base_url="http://elsewhere", transport=httpx.MockTransport(answer))
        for call in (
            lambda: client.ask("Who?"),
            lambda: client.promote("Who?", ["Somebody."]),
            lambda: client.rerank("Who?", ["Somebody."]),
            client.stores,
        ):
            with pytest.raises(EndpointError, match="check the address"):
                call()
        if said.startswith("event"):
            with pytest.raises(EndpointError, match="check the address"):
                list(client.stream("Who?"))


@pytest.mark.parametrize("kind", [Client, AsyncClient])
@pytest.mark.parametrize("key", ["…", "schlüssel", "two\nlines", " blank"])
def test_a_key_that_no_header_may_hold_is_told(kind, key):
    with pytest.raises(
        InputError, match="api_key holds a line break, a space at an end or a character outside"
    ):
        kind("http://127.0.0.1:1", api_key=key)
