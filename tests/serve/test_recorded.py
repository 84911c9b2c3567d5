"""Requests as other clients send them, word for word, and what those clients read from the reply."""

from __future__ import annotations

import itertools
import math

import pytest

from .conftest import BODIES, GOLD, QUESTION, TEXTS, TITLES

EMBED = [
    f"title: {title}\nfile_path: /data/{n}.md\n\n{body}"
    for n, (title, body) in enumerate(zip(TITLES, BODIES, strict=True))
]
N = len(TEXTS)

# client, path, body, where the results are, the name of the score
RECORDED = [
    (
        "langchain-community JinaRerank",
        "/v1/rerank",
        {"query": QUESTION, "documents": TEXTS, "model": "jina-reranker-v1-base-en", "top_n": None},
        "results",
        "relevance_score",
    ),
    (
        "infinity-client",
        "/rerank",
        {"query": QUESTION, "documents": TEXTS, "return_documents": False, "raw_scores": False, "model": "m"},
        "results",
        "relevance_score",
    ),
    (
        "voyageai",
        "/v1/rerank",
        {"query": QUESTION, "documents": TEXTS, "model": "rerank-2", "top_k": None, "truncation": True},
        "data",
        "relevance_score",
    ),
    (
        "langchain-nvidia-ai-endpoints",
        "/v1/ranking",
        {
            "model": "nv-rerank",
            "query": {"text": QUESTION},
            "passages": [{"text": text} for text in TEXTS],
            "truncate": "END",
        },
        "rankings",
        "logit",
    ),
    (
        "llama-index xinference",
        "/v1/rerank",
        {"model": "m", "query": QUESTION, "documents": EMBED},
        "results",
        "relevance_score",
    ),
    (
        "llama-index siliconflow",
        "/v1/rerank",
        {
            "model": "m",
            "query": QUESTION,
            "documents": EMBED,
            "top_n": N,
            "return_documents": True,
            "max_chunks_per_doc": 1024,
            "overlap_tokens": 80,
        },
        "results",
        "relevance_score",
    ),
    (
        "open-webui ExternalReranker",
        "/v1/rerank",
        {"model": "m", "query": QUESTION, "documents": TEXTS, "top_n": N},
        "results",
        "relevance_score",
    ),
    (
        "dify OAICompatRerankModel",
        "/v1/rerank",
        {"model": "m", "query": QUESTION, "documents": TEXTS, "top_n": None, "return_documents": True},
        "results",
        "relevance_score",
    ),
    (
        "dify openai_api_compatible, multimodal",
        "/v1/rerank",
        {
            "model": "m",
            "query": QUESTION,
            "documents": [{"content": [{"type": "text", "text": text}]} for text in TEXTS],
            "top_n": N,
        },
        "results",
        "relevance_score",
    ),
    (
        "dify jina",
        "/v1/rerank",
        {
            "model": "m",
            "query": QUESTION,
            "documents": [{"text": text} for text in TEXTS],
            "top_n": None,
            "return_documents": False,
        },
        "results",
        "relevance_score",
    ),
    (
        "ragflow OpenAI-API-Compatible",
        "/rerank",
        {"model": "m", "query": QUESTION, "documents": TEXTS, "top_n": N},
        "results",
        "relevance_score",
    ),
    (
        "ragflow Xinference",
        "/v1/rerank",
        {
            "model": "m",
            "query": QUESTION,
            "documents": TEXTS,
            "return_documents": "true",
            "return_len": "true",
        },
        "results",
        "relevance_score",
    ),
    (
        "ragflow Cohere",
        "/v1/rerank",
        {"model": "m", "query": QUESTION, "documents": TEXTS, "top_n": N, "return_documents": False},
        "results",
        "relevance_score",
    ),
    (
        "dashscope",
        "/api/v1/services/rerank/text-rerank/text-rerank",
        {
            "model": "gte-rerank-v2",
            "input": {"query": QUESTION, "documents": TEXTS},
            "parameters": {"top_n": N, "return_documents": True},
        },
        "output.results",
        "relevance_score",
    ),
    (
        "litellm nvidia_nim",
        "/v1/retrieval/nvidia/nv-rerankqa/reranking",
        {"query": {"text": QUESTION}, "passages": [{"text": text} for text in TEXTS], "top_k": N},
        "rankings",
        "logit",
    ),
    (
        "vllm client",
        "/v2/rerank",
        {
            "query": QUESTION,
            "documents": TEXTS,
            "top_n": 0,
            "truncate_prompt_tokens": -1,
            "instruction": None,
        },
        "results",
        "relevance_score",
    ),
]


@pytest.mark.parametrize(("client", "path", "body", "where", "score"), RECORDED, ids=[r[0] for r in RECORDED])
def test_recorded(http, client, path, body, where, score):
    reply = http.post(path, json=body)
    assert reply.status_code == 200
    told = reply.json()
    results = told
    for part in where.split("."):
        results = results[part]
    places = [result["index"] for result in results]
    scores = [result[score] for result in results]
    # Every document once, by plain integers; the two passages of the argument first; scores strictly falling.
    assert sorted(places) == list(range(N))
    assert all(type(place) is int for place in places)
    assert set(places[:2]) == GOLD
    assert all(math.isfinite(value) for value in scores)
    assert all(a > b for a, b in itertools.pairwise(scores))
    assert told["usage"]["total_tokens"] > 0
    if score == "relevance_score":
        assert told.get("model") == body["model"] if "model" in body else told.get("model")
        wants = body.get("return_documents") or body.get("parameters", {}).get("return_documents")
        for result in results:
            assert ("document" in result) == bool(wants)
            if wants:
                assert result["document"]["text"] in [*TEXTS, *EMBED]


def test_tei_gives_a_bare_array_of_all_and_texts_on_request(http):
    body = {"query": QUESTION, "texts": TEXTS, "raw_scores": False, "return_text": True, "truncate": True}
    told = http.post("/rerank", json=body).json()
    assert [item["text"] for item in told] == [TEXTS[item["index"]] for item in told]
    assert len(told) == N
    raw = http.post("/rerank", json={**body, "raw_scores": True, "return_text": False}).json()
    assert "text" not in raw[0]
    assert raw[0]["score"] > 1.0 or raw[-1]["score"] < 0.0  # log-odds, not probabilities


def test_top_n_cuts_and_odd_values_mean_all(http):
    for top_n, count in ((2, 2), (0, N), (None, N), (99, N), ("3", 3), (2.0, 2)):
        body = {"query": QUESTION, "documents": TEXTS, "top_n": top_n}
        assert len(http.post("/rerank", json=body).json()["results"]) == count
    assert http.post("/rerank", json={"query": QUESTION, "documents": TEXTS, "top_n": -1}).status_code == 422
    assert http.post("/rerank", json={"query": QUESTION, "documents": TEXTS, "top_n": [1]}).status_code == 422


def test_empty_documents_come_last_with_score_near_zero(http):
    documents = ["", *TEXTS, "   ", None]
    results = http.post("/rerank", json={"query": QUESTION, "documents": documents}).json()["results"]
    assert len(results) == len(documents)
    assert {result["index"] for result in results[-3:]} == {0, len(TEXTS) + 1, len(TEXTS) + 2}
    assert results[-1]["relevance_score"] == 0.0
    assert all(result["relevance_score"] < 1e-4 for result in results[-3:])
    only = http.post("/rerank", json={"query": QUESTION, "documents": ["", ""]}).json()["results"]
    assert [result["index"] for result in only] == [0, 1]


def test_an_unrelated_pool_scores_lower_than_a_fitting_one(http):
    fitting = http.post("/rerank", json={"query": QUESTION, "documents": TEXTS}).json()["results"]
    other = http.post(
        "/rerank", json={"query": "Who proved the four colour theorem?", "documents": TEXTS}
    ).json()["results"]
    # The scores are probabilities: one threshold keeps the argument and refuses a pool that does not fit.
    assert fitting[1]["relevance_score"] > 0.5
    assert other[0]["relevance_score"] < 0.1


def test_near_duplicates_do_not_take_both_places(http):
    documents = [TEXTS[1], TEXTS[1].upper(), TEXTS[3], TEXTS[0]]
    results = http.post("/rerank", json={"query": QUESTION, "documents": documents, "top_n": 2}).json()[
        "results"
    ]
    assert {result["index"] for result in results} in ({0, 2}, {1, 2})


@pytest.mark.parametrize(
    ("path", "body", "names"),
    [
        ("/v1/rerank", {"documents": TEXTS}, {"detail", "message", "error", "error_type"}),
        ("/rerank", {"query": QUESTION, "texts": []}, {"detail", "error", "error_type"}),
        ("/v2/rerank", {"query": QUESTION, "documents": [1]}, {"message"}),
        ("/v1/ranking", {"query": {"text": ""}, "passages": [{"text": "x"}]}, {"detail"}),
        (
            "/api/v1/services/rerank/text-rerank/text-rerank",
            {"input": {"query": QUESTION}},
            {"code", "message", "request_id"},
        ),
        ("/v1/chat/completions", {"messages": []}, {"error"}),
    ],
)
def test_errors_have_the_shape_that_the_protocols_clients_read(http, path, body, names):
    reply = http.post(path, json=body)
    assert reply.status_code == 422
    told = reply.json()
    assert names <= set(told)
    words = told["error"]["message"] if path.startswith("/v1/chat") else told["message"]
    assert isinstance(words, str)
    assert words


def test_an_image_is_not_fetched(http, tmp_path):
    """A document that names a URL is read for its text alone."""
    import socket

    trap = socket.create_server(("127.0.0.1", 0))
    trap.settimeout(0.3)
    url = f"http://127.0.0.1:{trap.getsockname()[1]}/image.png"
    documents = [
        {"content": [{"type": "image_url", "image_url": {"url": url}}, {"type": "text", "text": TEXTS[0]}]},
        {"image": url, "text": TEXTS[1]},
        {"url": url, "title": "only a link"},
        url,
    ]
    reply = http.post("/rerank", json={"query": QUESTION, "documents": documents})
    assert reply.status_code == 200
    with pytest.raises(TimeoutError):
        trap.accept()
    trap.close()
