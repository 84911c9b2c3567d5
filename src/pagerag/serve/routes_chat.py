"""OpenAI's chat completions over a store, so that any chat front end can talk to a corpus."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from pathlib import PurePath
from typing import Any
from urllib.parse import quote

from fastapi import APIRouter, Request, Response

from pagerag.pipeline import Result, Stage
from pagerag.serve.body import read_model
from pagerag.serve.documents import read_text
from pagerag.serve.models import ChatRequest
from pagerag.serve.openapi import EVENTS, documented
from pagerag.serve.operation import work_of
from pagerag.serve.problems import Problem, Unusable, shape
from pagerag.serve.service import MODEL, Service, json_response
from pagerag.serve.stores import Held
from pagerag.serve.streams import AnswerStream, event, event_stream

_PATH = "/v1/chat/completions"


def router(service: Service) -> APIRouter:
    """Return the routes."""
    routes = APIRouter(tags=["chat"])

    @routes.get("/v1/models", **documented("models", "Stores as models", errors="OpenAIErrorBody"))
    async def models() -> Response:
        """List the stores as models, and the reranker."""
        names = [MODEL, *(held.name for held in service.stores)]
        return json_response(
            {
                "object": "list",
                "data": [
                    {"id": name, "object": "model", "created": 0, "owned_by": "pagerag"}
                    for name in dict.fromkeys(names)
                ],
            }
        )

    @routes.post(
        _PATH,
        **documented(
            "chat",
            "Chat with a store",
            request="ChatRequest",
            response={"type": "object", "required": ["id", "choices", "usage"]},
            also={"text/event-stream": EVENTS},
            errors="OpenAIErrorBody",
        ),
    )
    async def chat(request: Request) -> Response:
        """Answer the last question of a conversation from the store that ``model`` names."""
        asked = read_model(ChatRequest, await service.body(request, service.asks))
        held = _store(service, asked.model)
        question = _question(asked)
        work = work_of(request.scope)
        head = {"id": f"chatcmpl-{work.id}", "created": int(time.time()), "model": asked.model or held.name}
        if asked.stream:
            stream = AnswerStream(service, held.pipeline, None, question)
            usage = bool((asked.stream_options or {}).get("include_usage"))
            return event_stream(_chunks(service, stream, head, held, request, usage=usage))
        with service.telemetry.span("chat", "CHAIN", request.headers) as span:
            result = await service.asking(request, lambda: held.pipeline().ask(question))
            span.question(question)
            span.answer(result.statement)
        service.count(request, result.state, question)
        text, annotations = _written(result, held, request)
        message = {"role": "assistant", "content": text, "refusal": None, "annotations": annotations}
        return json_response(
            {
                **head,
                "object": "chat.completion",
                "choices": [{"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}],
                "usage": _usage(result, text),
                "pagerag": _evidence(result),
            }
        )

    return routes


def _store(service: Service, model: str | None) -> Held:
    """Return the store that a model's name means; front ends may put a prefix before it."""
    name = (model or "").removeprefix(f"{MODEL}/").removeprefix(f"{MODEL}:")
    return service.stores.get(None if name in {"", MODEL} else name)


def _question(asked: ChatRequest) -> str:
    """Return the last thing the user said."""
    for message in reversed(asked.messages):
        if message.get("role") == "user":
            text = read_text(message.get("content"), "content").strip()
            if text:
                return text
    raise Unusable("there is no message of the role 'user' with text in it", field="messages")


def _sources(result: Result) -> list[str]:
    """Return one line for each unit that the answer cites."""
    lines: dict[int, str] = {}
    for citation in result.citations:
        place = result.place(citation)
        short = str(replace(place, path=PurePath(place.path).name)) if place.path else ""
        title = result.units[citation.number - 1].title
        said = " — ".join(part for part in (title, short) if part) or citation.candidate_id
        lines.setdefault(citation.number, f"[{citation.number}] {said}")
    return [lines[number] for number in sorted(lines)]


def _written(result: Result, held: Held, request: Request) -> tuple[str, list[dict[str, Any]]]:
    """Return the answer with its sources below it, and an annotation for each mark ``[n]`` in it."""
    text = result.statement
    sources = _sources(result)
    if sources:
        text += "\n\nSources:\n" + "\n".join(sources)
    link = f"{str(request.base_url).rstrip('/')}/?store={quote(held.name)}&q={quote(result.question)}"
    annotations: list[dict[str, Any]] = []
    for citation in {citation.number: citation for citation in reversed(result.citations)}.values():
        mark = f"[{citation.number}]"
        start = text.find(mark)
        if start >= 0:
            place = result.place(citation)
            annotations.append(
                {
                    "type": "url_citation",
                    "url_citation": {
                        "start_index": start,
                        "end_index": start + len(mark),
                        "url": f"{link}#unit-{citation.number}",
                        "title": result.units[citation.number - 1].title or citation.candidate_id,
                    },
                    "pagerag": {
                        "number": citation.number, "id": citation.candidate_id, "quote": citation.quote,
                        **place.to_dict(),
                    },
                }
            )  # fmt: skip
    annotations.sort(key=lambda item: item["url_citation"]["start_index"])
    return text, annotations


def _evidence(result: Result) -> dict[str, Any]:
    return {"state": result.state, "sufficiency": round(float(result.promotion.sufficiency), 4)}


def _usage(result: Result, text: str) -> dict[str, int]:
    """Return the reader's own count, or about a token for four characters."""
    prompt, reply = (result.answer.usage.get(name) for name in ("prompt_tokens", "completion_tokens"))
    if not isinstance(prompt, int):
        prompt = (len(result.question) + sum(len(unit.text) for unit in result.units)) // 4
    if not isinstance(reply, int):
        reply = len(text) // 4
    return {"prompt_tokens": prompt, "completion_tokens": reply, "total_tokens": prompt + reply}


async def _chunks(
    service: Service,
    stream: AnswerStream,
    head: Mapping[str, Any],
    held: Held,
    request: Request,
    *,
    usage: bool,
) -> AsyncIterator[bytes]:
    """Yield the answer in OpenAI's chunks: the reader's words as they come, then sources and annotations."""

    def chunk(delta: Mapping[str, Any], end: str | None = None, **more: Any) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": end, "logprobs": None}
        return event({**head, "object": "chat.completion.chunk", "choices": [choice], **more})

    yield chunk({"role": "assistant", "content": ""})
    sent = ""
    async for item in stream:
        if isinstance(item, Problem):
            yield event(shape(_PATH, item, str(head["id"])))
            return
        if isinstance(item, str):
            sent += item
            yield chunk({"content": item})
        elif not isinstance(item, Stage):
            service.count(request, item.state, item.question)
            text, annotations = _written(item, held, request)
            # What was streamed is the reader's own wording; the final text mostly adds to it.
            rest = text[len(sent) :] if text.startswith(sent) else f"\n\n{text}"
            if rest:
                yield chunk({"content": rest})
            if not text.startswith(sent):
                shift = len(sent) + 2
                for note in annotations:
                    note["url_citation"]["start_index"] += shift
                    note["url_citation"]["end_index"] += shift
            yield chunk({"annotations": annotations}, "stop", pagerag=_evidence(item))
            if usage:
                last = {"object": "chat.completion.chunk", "choices": [], "usage": _usage(item, text)}
                yield event({**head, **last})
    yield b"data: [DONE]\n\n"
