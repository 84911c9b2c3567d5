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
from pagerag.serve.dialects import read_text
from pagerag.serve.models import ChatRequest
from pagerag.serve.openapi import EVENTS, STREAM, an_object, documented
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
        names = dict.fromkeys([MODEL, *(held.name for held in service.stores)])
        told = {"object": "model", "created": 0, "owned_by": "pagerag"}
        return json_response({"object": "list", "data": [{"id": name, **told} for name in names]})

    @routes.post(
        _PATH,
        **documented(
            "chat",
            "Chat with a store",
            request="ChatRequest",
            response=an_object("id", "choices", "usage"),
            also={STREAM: EVENTS},
            errors="OpenAIErrorBody",
        ),
    )
    async def chat(request: Request) -> Response:
        """Answer the last question of a conversation from the store that ``model`` names."""
        asked = await service.model(request, service.asks, ChatRequest)
        # the model means a store; front ends may put a prefix before its name
        name = (asked.model or "").removeprefix(f"{MODEL}/").removeprefix(f"{MODEL}:")
        held = service.stores.get(None if name in {"", MODEL} else name)
        question = _question(asked)
        work = work_of(request.scope)
        head = {"id": f"chatcmpl-{work.id}", "created": int(time.time()), "model": asked.model or held.name}
        if asked.stream:
            stream = AnswerStream(service, held.pipeline, question)
            usage = bool((asked.stream_options or {}).get("include_usage"))
            return event_stream(_chunks(service, stream, head, held, request, usage))
        with service.telemetry.span("chat", "CHAIN", request.headers) as span:
            result = await service.run(service.asks, request, lambda: held.pipeline().ask(question))
            span.say(question, result.statement)
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


def _question(asked: ChatRequest) -> str:
    """Return the last thing the user said."""
    for message in reversed(asked.messages):
        if message.get("role") == "user":
            text = read_text(message.get("content"), "content").strip()
            if text:
                return text
    raise Unusable("there is no message of the role 'user' with text in it", field="messages")


def _written(result: Result, held: Held, request: Request) -> tuple[str, list[dict[str, Any]]]:
    """Return the answer with its sources below it, and an annotation for each mark ``[n]`` in it.

    Where there is no answer the sources are the nearest passages, with their sentences to be read.
    """
    told = result.sentences
    cited = {citation.number: citation for citation, _ in reversed(told)}
    places = {number: result.place(citation) for number, citation in sorted(cited.items())}
    titles = {number: result.units[number - 1].title for number in cited}
    silent = not result.text
    text = result.statement
    marks = {number: text.find(f"[{number}]") for number in cited}
    link = f"{str(request.base_url).rstrip('/')}/?store={quote(held.name)}&q={quote(result.question)}"
    annotations: list[dict[str, Any]] = []
    for place, (number, found) in enumerate(places.items()):
        short = str(replace(found, path=PurePath(found.path).name)) if found.path else ""
        said = " — ".join(part for part in (titles[number], short) if part)
        text += "\n" if place else f"\n\n{'Nearest passages' if silent else 'Sources'}:\n"
        mark = f"[{number}]"
        start = marks[number] if marks[number] >= 0 else len(text)
        text += f"{mark} {said or cited[number].candidate_id}"
        if silent:  # a quotation, which a blank line ends where Markdown is shown
            words = (f"\n> {one}" for citation, one in told if citation.number == number)
            text += f"{''.join(words)}\n"
        annotations.append(
            {
                "type": "url_citation",
                "url_citation": {
                    "start_index": start, "end_index": start + len(mark), "url": f"{link}#unit-{number}",
                    "title": titles[number] or cited[number].candidate_id,
                },
                "pagerag": {
                    "number": number, "id": cited[number].candidate_id, "quote": cited[number].quote,
                    **found.to_dict(),
                },
            }
        )  # fmt: skip
    text = text.rstrip("\n")
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
    service: Service, stream: AnswerStream, head: Mapping[str, Any], held: Held, request: Request, usage: bool
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
