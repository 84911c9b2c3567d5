"""The rerank endpoints of all dialects."""

from __future__ import annotations

import time
from typing import Any

from fastapi import APIRouter, Request, Response

from pagerag.serve.dialects import answer, rank, read_request
from pagerag.serve.openapi import documented
from pagerag.serve.operation import work_of
from pagerag.serve.service import MODEL, Service, json_response

_QUERY = "Which city was the composer of Interstellar born in?"
_DOCUMENTS = [
    "Interstellar\nInterstellar has a score composed by Hans Zimmer.",
    "Hans Zimmer\nZimmer was born in Frankfurt.",
]
_EXAMPLES: dict[str, Any] = {
    "Cohere, Jina, vLLM": {"model": MODEL, "query": _QUERY, "documents": _DOCUMENTS, "top_n": 2},
    "Text Embeddings Inference": {"query": _QUERY, "texts": _DOCUMENTS},
    "Voyage": {"model": MODEL, "query": _QUERY, "documents": _DOCUMENTS, "top_k": 2},
    "NVIDIA NIM": {
        "model": MODEL, "query": {"text": _QUERY}, "passages": [{"text": text} for text in _DOCUMENTS],
    },
    "DashScope": {
        "model": MODEL, "input": {"query": _QUERY, "documents": _DOCUMENTS}, "parameters": {"top_n": 2},
    },
}  # fmt: skip
_RERANK: dict[str, Any] = {
    "summary": "Rank documents: the promoted set first, every document back",
    "request": "RerankBody",
    "examples": _EXAMPLES,
    "response": "RerankAnswer",
}


def router(service: Service) -> APIRouter:
    """Return the routes."""
    routes = APIRouter(tags=["rerank"])

    async def rerank(request: Request, model: str | None = None, *, strings: bool = False) -> Response:
        started = time.perf_counter()
        body = await service.body(request, service.promotions)
        asked = read_request(body, service.limits, default_model=MODEL, model=model, strings=strings)
        work = work_of(request.scope)
        work.timings["read"] = time.perf_counter() - started
        service.metrics.documents.observe(len(asked.documents))
        with service.telemetry.span("rerank", "RERANKER", request.headers) as span:
            ranked, promotion = await service.run(
                service.promotions, request, rank, service.promoter, asked, service.settings.promote.k
            )
            span.say(asked.query)
            span.set(reranker__model_name=asked.model, reranker__top_k=asked.top_n)
            texts = [(str(item.index), asked.documents[item.index].text, item.score) for item in ranked]
            span.documents("reranker.output_documents", texts[: asked.top_n])
        state = promotion.state if promotion is not None else "insufficient"
        wholes = [document.whole for document in asked.documents]
        told = {"dialect": asked.dialect, "documents": len(wholes)}
        service.count(request, state, asked.query, texts=wholes, **told)
        return json_response(answer(asked, ranked, work.id))

    @routes.post("/rerank", **documented("rerank", **_RERANK))
    @routes.post("/v1/rerank", **documented("rerank_v1", **_RERANK))
    @routes.post("/v2/rerank", **documented("rerank_v2", **_RERANK))
    @routes.post("/v1/ranking", **documented("ranking", **_RERANK))
    async def any_dialect(request: Request) -> Response:
        """Rank documents for a query. The body's fields tell which protocol is spoken."""
        return await rerank(request)

    @routes.post("/infinity/rerank", **documented("rerank_infinity", **_RERANK))
    async def infinity(request: Request) -> Response:
        """Rank as ``/rerank``, with documents as plain texts, which LiteLLM's ``infinity/`` needs."""
        return await rerank(request, strings=True)

    @routes.post("/v1/retrieval/{model:path}/reranking", **documented("reranking_nim", **_RERANK))
    async def nim(request: Request, model: str) -> Response:
        """Rank passages; the model's name is in the path, as NVIDIA's hosted service has it."""
        return await rerank(request, model)

    @routes.post(
        "/api/v1/services/rerank/text-rerank/text-rerank",
        **documented("rerank_dashscope", **_RERANK, errors="DashScopeError"),
    )
    async def dashscope(request: Request) -> Response:
        """Rank documents in DashScope's form."""
        return await rerank(request)

    return routes
