"""Our own API: promote, ask, explain, stores, weights."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import fields
from typing import Any

from fastapi import APIRouter, Request, Response

from pagerag.explain import page, paths_svg, view
from pagerag.pipeline import PageRAG, Stage
from pagerag.promotion import Promoter, Promotion, Weights
from pagerag.serve.models import AskRequest, CandidateIn, ExplainRequest, PromoteRequest, Tuning
from pagerag.serve.openapi import EVENTS, STREAM, TEXT, a_list, an_object, documented
from pagerag.serve.operation import work_of
from pagerag.serve.problems import Problem, Refused, Unusable
from pagerag.serve.service import Service, json_response
from pagerag.serve.stores import tuned_promoter
from pagerag.serve.streams import AnswerStream, event, event_stream
from pagerag.serve.uploads import indexed, safe_name
from pagerag.units import Answer, Candidate, Mode

_Shown = tuple[dict[str, Any], str]  # a view, and its picture as a file


def router(service: Service) -> APIRouter:
    """Return the routes."""
    routes = APIRouter(tags=["pagerag"])

    @routes.post(
        "/v1/promote",
        **documented("promote", "Promote a pool", request="PromoteRequest", response="PromoteResponse"),
    )
    async def promote(request: Request) -> Response:
        """Select a small supported context from a pool of candidates; the whole trace comes back."""
        asked = await service.model(request, service.promotions, PromoteRequest)
        candidates = _pool(service, asked.candidates)
        service.metrics.documents.observe(len(candidates))
        with service.telemetry.span("promote", "RERANKER", request.headers) as span:
            promotion = await service.run(
                service.promotions, request, _promote, service.promoter, asked, candidates, asked.vector
            )
            span.say(asked.question)
            span.set(reranker__top_k=promotion.k, metadata__state=promotion.state)
            span.documents("reranker.output_documents", [(u.id, u.text, None) for u in promotion.context])
        service.count(request, promotion.state, asked.question, candidates=len(candidates))
        return json_response(promotion.to_dict())

    @routes.post(
        "/v1/ask",
        **documented(
            "ask", "Ask a store", request="AskRequest", response="AskResponse", also={STREAM: EVENTS}
        ),
    )
    async def ask(request: Request) -> Response:
        """Answer a question from a store, with citations, verdict and evidence."""
        asked = await service.model(request, service.asks, AskRequest)
        held = service.stores.get(asked.store)
        if asked.stream:
            stream = AnswerStream(service, lambda: held.pipeline(asked), asked.question)
            return event_stream(_told(service, request, asked, stream))
        with service.telemetry.span("ask", "CHAIN", request.headers) as span:
            result = await service.run(
                service.asks, request, lambda: held.pipeline(asked).ask(asked.question)
            )
            span.say(result.question, result.statement)
            sufficiency = float(result.promotion.sufficiency)
            span.set(metadata__state=result.state, metadata__sufficiency=sufficiency)
            span.documents("retrieval.documents", [(u.id, u.text, u.score) for u in result.units])
        service.count(request, result.state, asked.question, candidates=len(result.pool))
        return json_response(result.to_dict(trace=asked.trace))

    @routes.post(
        "/v1/explain",
        **documented(
            "explain",
            "Explain a selection",
            request="ExplainRequest",
            also={"text/html": TEXT, "image/svg+xml": TEXT},
        ),
    )
    async def explain(request: Request) -> Response:
        """Return everything that the page draws: verdict, paths, steps, graph; or the page as one file."""
        asked = await service.model(request, service.asks, ExplainRequest)
        if asked.candidates is not None:
            pool = _pool(service, asked.candidates)
            shown, picture = await service.run(
                service.promotions, request, _explain_pool, service.promoter, asked, pool
            )
        else:
            held = service.stores.get(asked.store)
            make = held.pipeline
            shown, picture = await service.run(service.asks, request, _explain_store, make, asked)
        service.count(request, shown["state"], asked.question, candidates=len(shown["candidates"]))
        if asked.format == "html":
            headers = {"Content-Disposition": 'attachment; filename="pagerag-explanation.html"'}
            return Response(page(shown), media_type="text/html; charset=utf-8", headers=headers)
        if asked.format == "svg":
            return Response(picture, media_type="image/svg+xml")
        return json_response(shown)

    @routes.get("/v1/stores", **documented("stores", "The stores that are served", response="StoresOut"))
    async def stores(request: Request) -> Response:
        """Return what each store holds."""
        described = await service.run(
            service.asks, request, lambda: [held.describe() for held in service.stores]
        )
        return json_response({"stores": described})

    @routes.get("/v1/weights", **documented("weights", "The formula's weights"))
    async def weights() -> Response:
        """Return every weight of the formula: what it means, its bounds, and its value in each mode."""
        return json_response({"weights": _weights()})

    @routes.post(
        "/v1/stores/{store}/files",
        **documented(
            "upload",
            "Index files into a store",
            request=an_object("files", files=a_list({**TEXT, "format": "binary"})),
            request_kind="multipart/form-data",
            response=EVENTS,
            kind=STREAM,
        ),
    )
    async def upload(request: Request, store: str) -> Response:
        """Write the files beside the store and index them; progress comes as server-sent events."""
        held = service.stores.get(store)
        files = await _files(service, request)
        sizes = [len(content) for content in files.values()]
        work_of(request.scope).notes.update(files=len(sizes), bytes=sum(sizes))
        return event_stream(indexed(held, files, service.settings))

    @routes.get(
        "/v1/stores/{store}/source",
        **documented("source", "The document around a passage", response="SourceOut"),
    )
    async def source(request: Request, store: str, unit: str = "") -> Response:
        """Return the text of the document that a passage stands in, put together from the store."""
        held = service.stores.get(store)
        return json_response(await service.run(service.asks, request, held.document_around, unit))

    return routes


def _promote(
    promoter: Promoter,
    asked: PromoteRequest | ExplainRequest,
    candidates: list[Any],
    vector: list[float] | None = None,
) -> Promotion:
    return tuned_promoter(asked, promoter).promote(
        asked.question,
        candidates,
        k=asked.k or 5,
        mode=asked.mode or "document",
        vector=vector,
        strategy=None if asked.weights else asked.strategy,
        max_tokens=asked.max_tokens,
    )


def _explain_pool(promoter: Promoter, asked: ExplainRequest, candidates: list[Any]) -> _Shown:
    promotion = _promote(promoter, asked, candidates)
    if not asked.answer:
        return _shown(promotion)
    from pagerag.read.evidence import EvidenceReader

    units = promotion.core or promotion.context
    answer = EvidenceReader().read(asked.question, units, state=promotion.state)
    return _shown(promotion, answer, units)


def _explain_store(pipeline: Callable[[Tuning], PageRAG], asked: ExplainRequest) -> _Shown:
    if not asked.answer:
        return _shown(pipeline(asked).gather(asked.question)[1])
    result = pipeline(asked).ask(asked.question)
    return _shown(result.promotion, result.answer, result.units, timings=result.timings, found=result.found)


def _shown(
    promotion: Promotion, answer: Answer | None = None, units: Sequence[Candidate] = (), **more: Any
) -> _Shown:
    shown = view(promotion, answer=answer, units=units, **more)
    return shown, paths_svg(promotion, answer, units, alone=True)


def _pool(service: Service, given: list[str | CandidateIn]) -> list[Any]:
    """Return candidates as the library takes them; a long text without title is one unit all the same."""
    characters = sum(len(item) if isinstance(item, str) else len(item.text) for item in given)
    service.limits.check(len(given), characters, field="candidates")
    if not given:
        words = "candidates is empty; there is nothing to promote"
        raise Unusable(words, field="candidates", kind="EmptyPoolError")
    return [item if isinstance(item, str) else item.model_dump(exclude_none=True) for item in given]


async def _files(service: Service, request: Request) -> dict[str, bytes]:
    """Return the uploaded files by safe name, within the limit of size."""
    if not service.settings.serve.uploads:
        raise Problem(403, "no_uploads", "this server takes no files (setting serve.uploads)")
    most = int(service.settings.serve.max_upload_mb * 2**20)
    said = request.headers.get("content-length", "")
    if not said.isdecimal():
        raise Unusable("an upload must say its Content-Length", field="files")
    if int(said) > most:
        raise Refused(f"more than {most:,} bytes of files (setting serve.max_upload_mb)", field="files")
    if not request.headers.get("content-type", "").startswith("multipart/form-data"):
        raise Unusable("send files as multipart/form-data, each under the name 'files'", field="files")
    try:
        async with asyncio.timeout(service.settings.serve.ask_timeout), request.form(max_files=200) as form:
            found = [item for item in form.getlist("files") if not isinstance(item, str)]
            files = {safe_name(item.filename or ""): await item.read() for item in found}
    except TimeoutError:
        raise Problem(408, "slow_client", "the files did not arrive in time") from None
    if not files:
        raise Unusable("there is no file in the form; each goes under the name 'files'", field="files")
    if len(files) < len(found):
        raise Unusable("two files have the same name; rename one, or send them one by one", field="files")
    return files


def _weights() -> list[dict[str, Any]]:
    modes: list[Mode] = ["sentence", "paragraph", "document"]
    shipped = {mode: Weights.shipped(mode).to_dict() for mode in modes}
    return [
        {
            "name": item.name, "about": item.metadata["doc"], "low": item.metadata["low"],
            "high": item.metadata["high"], "values": {mode: shipped[mode][item.name] for mode in modes},
        }
        for item in fields(Weights)
    ]  # fmt: skip


async def _told(
    service: Service, request: Request, asked: AskRequest, stream: AnswerStream
) -> AsyncIterator[bytes]:
    """Yield a streamed answer as events."""
    async for item in stream:
        if isinstance(item, Problem):
            yield event({"error_type": item.kind, "message": item.message}, "error")
        elif isinstance(item, Stage):
            yield event({"name": item.name, "seconds": item.seconds, "detail": item.detail}, "stage")
        elif isinstance(item, str):
            yield event({"text": item}, "words")
        else:
            service.count(request, item.state, asked.question, candidates=len(item.pool))
            yield event(item.to_dict(trace=asked.trace), "result")
