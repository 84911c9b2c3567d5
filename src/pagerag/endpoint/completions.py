"""The chat wire: what is sent, and what a reply must look like to be believed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from pagerag._secrets import Secret
from pagerag._visible import well_formed
from pagerag.endpoint.client import Attempts, Endpoint
from pagerag.endpoint.replies import HttpReply, TransientError, count_of, decode_json, excerpt, text_of
from pagerag.errors import EndpointError, SettingsError
from pagerag.settings import ChatSettings

Emit = Callable[[str], None]
"""What is called with each new piece of a streamed reply."""

LONGEST_REPLY = 1_000_000
"""Characters that a model may say."""
LARGEST_STREAM = 64 * 1024 * 1024
"""Bytes of a streamed reply: each of its tokens comes in some 300 bytes of JSON."""


@dataclass(slots=True)
class Completion:
    """What the model said, and what it cost."""

    content: str = ""
    finish: str | None = None
    model: str = ""
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    attempts: int = 1
    cached: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return what a cache keeps: the reply, not how hard it was to get."""
        return {name: value for name, value in asdict(self).items() if name not in ("attempts", "cached")}


def chat_request(settings: ChatSettings, messages: Sequence[Mapping[str, str]]) -> dict[str, Any]:
    """Return the request body, without streaming: this is also what the cache's key is made of."""
    if not settings.base_url or not settings.model:
        missing = "chat.base_url" if not settings.base_url else "chat.model"
        raise SettingsError(
            f"a chat endpoint needs {missing}; set it in your settings file, in the environment "
            f"(PAGERAG_{missing.upper().replace('.', '_')}) or with --set {missing}=..."
        )
    body: dict[str, Any] = {
        "model": settings.model,
        "messages": [dict(message) for message in messages],
        "temperature": settings.temperature,
        settings.token_field: settings.max_tokens,
    }
    if settings.seed >= 0:
        body["seed"] = settings.seed
    return {**body, **settings.extra}


async def complete(
    endpoint: Endpoint, body: Mapping[str, Any], emit: Emit | None, attempts: Attempts
) -> Completion:
    """Return the endpoint's completion; ``emit`` hears its pieces as they come.

    A stream that breaks is tried again like any other request. What was shown is not repeated.
    """
    shown = _Shown(emit)

    async def take(reply: HttpReply) -> Completion:
        if emit is not None and "json" not in reply.kind:
            return await _streamed(reply, shown, endpoint.secrets)
        data = await reply.body()
        completion = await asyncio.to_thread(parse_completion, data, endpoint.secrets)
        shown.begin()
        shown.add(completion.content)
        return completion

    if emit is not None:
        body = {**body, "stream": True, "stream_options": {"include_usage": True}}
    completion = await endpoint.post("chat/completions", body, take, attempts)
    completion.attempts = attempts.count
    return completion


def parse_completion(data: bytes, secrets: Sequence[Secret] = ()) -> Completion:
    """Return the completion in a reply body; raise TransientError for anything else.

    ``secrets`` are starred where the reply is quoted in a message.
    """
    body = decode_json(data, secrets)
    choices = body.get("choices") if isinstance(body, Mapping) else None
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], Mapping):
        raise TransientError(f"the reply has no choices: {excerpt(data, secrets)}")
    message = choices[0].get("message")
    if not isinstance(message, Mapping):
        raise TransientError(f"the first choice has no message: {excerpt(data, secrets)}")
    finish = choices[0].get("finish_reason")
    content = _content(message, finish, secrets)
    completion = Completion(content, text_of(finish) or None, text_of(body.get("model")))
    _check_length(len(completion.content))
    _count(completion, body.get("usage"))
    return completion


async def _streamed(reply: HttpReply, shown: _Shown, secrets: Sequence[Secret]) -> Completion:
    completion, said, length = Completion(), [], 0
    shown.begin()
    async for line in reply.lines(LARGEST_STREAM):
        if not line.startswith("data:"):
            continue
        payload = line[5:].strip()
        if payload == "[DONE]":
            break
        if piece := _event(payload.encode("utf-8", "replace"), completion, secrets):
            length += len(piece)
            _check_length(length)
            said.append(piece)
            shown.add(piece)
    else:
        if completion.finish is None:
            raise TransientError("the stream ended before the reply did")
    completion.content = "".join(said)
    if not completion.content.strip():
        raise TransientError("the stream held no text")
    return completion


def _event(data: bytes, completion: Completion, secrets: Sequence[Secret]) -> str:
    """Return the new text of a server-sent event, "" for none; enter what else it tells."""
    body = decode_json(data, secrets)
    if not isinstance(body, Mapping):
        raise TransientError(f"a streamed event is no object: {excerpt(data, secrets)}")
    completion.model = text_of(body.get("model")) or completion.model
    _count(completion, body.get("usage"))
    choices = body.get("choices")
    if not isinstance(choices, list):
        raise TransientError(f"a streamed event has no choices: {excerpt(data, secrets)}")
    if not choices or not isinstance(choices[0], Mapping):
        return ""
    completion.finish = text_of(choices[0].get("finish_reason")) or completion.finish
    delta = choices[0].get("delta")
    piece = delta.get("content") if isinstance(delta, Mapping) else None
    return well_formed(piece) if isinstance(piece, str) else ""


class _Shown:
    """What a stream has shown so far, over all tries; each character is looked at once per try."""

    def __init__(self, emit: Emit | None) -> None:
        self.emit = emit
        self._before = ""
        self._pieces: list[str] = []
        self._at = 0
        self._same = True

    def begin(self) -> None:
        """Start a new try: what it says counts from its beginning again."""
        self._before += "".join(self._pieces)
        self._pieces, self._at, self._same = [], 0, True

    def add(self, piece: str) -> None:
        """Show what is new in ``piece``; nothing once this try differs from what an earlier one showed."""
        if self.emit is None or not piece or not self._same:
            return
        known = self._before[self._at : self._at + len(piece)]
        self._at += len(piece)
        if not piece.startswith(known):
            self._same = False
            return
        if fresh := piece[len(known) :]:
            self.emit(fresh)
            self._pieces.append(fresh)


def _content(message: Mapping[str, Any], finish: Any, secrets: Sequence[Secret]) -> str:
    content = message.get("content")
    if isinstance(content, list):  # some servers send parts
        content = "".join(str(part.get("text", "")) for part in content if isinstance(part, Mapping))
    if isinstance(content, str) and content.strip():
        return well_formed(content)
    refusal = message.get("refusal")
    if isinstance(refusal, str):
        raise EndpointError(f"the model refused: {excerpt(refusal.encode('utf-8', 'replace'), secrets)}")
    if finish == "length":
        raise EndpointError("the model used all its tokens before it answered; raise chat.max_tokens")
    if content == "" or (content is None and finish == "stop"):
        return ""
    raise TransientError("the message has no text content")


def _check_length(length: int) -> None:
    if length > LONGEST_REPLY:
        raise EndpointError(f"the model said more than {LONGEST_REPLY:,} characters; lower chat.max_tokens")


def _count(completion: Completion, usage: Any) -> None:
    if not isinstance(usage, Mapping):
        return
    asked, said = count_of(usage.get("prompt_tokens")), count_of(usage.get("completion_tokens"))
    completion.prompt_tokens = completion.prompt_tokens if asked is None else asked
    completion.completion_tokens = completion.completion_tokens if said is None else said
