"""The OpenAI-compatible wire: what is sent, and what a reply must look like to be believed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pagerag.errors import EndpointError, SettingsError
from pagerag.read.prompts import Prompt, clean
from pagerag.settings import ChatSettings

__all__ = [
    "Completion",
    "TransientError",
    "chat_request",
    "event",
    "explain_status",
    "headers",
    "parse_completion",
]

LARGEST_REPLY = 16 * 1024 * 1024


class TransientError(Exception):
    """One try failed in a way that may pass; ``retry_after`` is what the server asked for."""

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


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
    problems: list[str] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """What a cache keeps: the reply, not how hard it was to get."""
        return {
            "content": self.content,
            "finish": self.finish,
            "model": self.model,
            "prompt_tokens": self.prompt_tokens,
            "completion_tokens": self.completion_tokens,
        }


def chat_request(settings: ChatSettings, prompt: Prompt) -> dict[str, Any]:
    """The request body, without streaming: this is also what the cache's key is made of."""
    if not settings.base_url or not settings.model:
        missing = "chat.base_url" if not settings.base_url else "chat.model"
        raise SettingsError(
            f"the chat reader needs {missing}; set it in pagerag.toml, in the environment "
            f"(PAGERAG_{missing.upper().replace('.', '_')}) or with --set {missing}=..."
        )
    body: dict[str, Any] = {
        "model": settings.model,
        "messages": [dict(message) for message in prompt.messages],
        "temperature": settings.temperature,
        settings.token_field: settings.max_tokens,
    }
    if settings.seed >= 0:
        body["seed"] = settings.seed
    return {**body, **settings.extra}


def headers(settings: ChatSettings) -> dict[str, str]:
    """The headers, with the key where one is set."""
    key = settings.key()
    sent = {"Content-Type": "application/json", "User-Agent": "pagerag"}
    if key:
        bearer = settings.auth_header.lower() == "authorization"
        sent[settings.auth_header] = f"Bearer {key.reveal()}" if bearer else key.reveal()
    return sent


def parse_completion(data: bytes) -> Completion:
    """The completion in a reply body; anything else is TransientError, because a proxy may have said it."""
    try:
        body = json.loads(data)
    except ValueError as problem:
        raise TransientError(f"the reply is not JSON ({len(data)} bytes: {_excerpt(data)})") from problem
    _no_error(body)
    choices = body.get("choices") if isinstance(body, Mapping) else None
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], Mapping):
        raise TransientError(f"the reply has no choices: {_excerpt(data)}")
    message = choices[0].get("message")
    if not isinstance(message, Mapping):
        raise TransientError(f"the first choice has no message: {_excerpt(data)}")
    finish = choices[0].get("finish_reason")
    completion = Completion(
        content=_content(message, finish),
        finish=finish if isinstance(finish, str) else None,
        model=str(body.get("model") or ""),
    )
    _count(completion, body.get("usage"))
    return completion


def event(line: str, completion: Completion) -> str | None:
    """Take one line of a server-sent stream into ``completion``.

    Returns the new piece of text, "" for a line without text, None for the end of the stream.
    """
    if not line.startswith("data:"):
        return ""
    payload = line[5:].strip()
    if payload == "[DONE]":
        return None
    try:
        body = json.loads(payload)
    except ValueError as problem:
        raise TransientError(f"a streamed event is not JSON: {_excerpt(payload.encode())}") from problem
    _no_error(body)
    if not isinstance(body, Mapping):
        raise TransientError(f"a streamed event is no object: {_excerpt(payload.encode())}")
    completion.model = str(body.get("model") or completion.model)
    _count(completion, body.get("usage"))
    choices = body.get("choices")
    if not isinstance(choices, list):
        raise TransientError(f"a streamed event has no choices: {_excerpt(payload.encode())}")
    if not choices or not isinstance(choices[0], Mapping):
        return ""
    finish = choices[0].get("finish_reason")
    if isinstance(finish, str):
        completion.finish = finish
    delta = choices[0].get("delta")
    piece = delta.get("content") if isinstance(delta, Mapping) else None
    if not isinstance(piece, str):
        return ""
    completion.content += piece
    return piece


def explain_status(status: int, data: bytes, settings: ChatSettings) -> str:
    """What an HTTP error means for the person who set the endpoint up."""
    hints = {
        401: "the key is missing or wrong: set PAGERAG_CHAT_API_KEY",
        403: "the key may not use this model",
        404: f"check chat.base_url ({settings.base_url}) and chat.model ({settings.model})",
        413: "the context is too long: lower promote.k or promote.max_tokens",
        422: "the endpoint does not take this request: check chat.token_field and chat.extra",
    }
    hint = f"; {hints[status]}" if status in hints else ""
    said = _excerpt(data)
    if key := settings.key():
        said = said.replace(key.reveal(), "***")
    return f"HTTP {status}{hint}{f' (it says: {said})' if said else ''}"


def _no_error(body: Any) -> None:
    if isinstance(body, Mapping) and body.get("error"):
        raise TransientError(f"the endpoint reports an error: {_excerpt(json.dumps(body['error']).encode())}")


def _content(message: Mapping[str, Any], finish: Any) -> str:
    content = message.get("content")
    if isinstance(content, list):  # some servers send parts
        content = "".join(str(part.get("text", "")) for part in content if isinstance(part, Mapping))
    if isinstance(content, str) and content.strip():
        return content
    if isinstance(message.get("refusal"), str):
        raise EndpointError(f"the model refused: {clean(str(message['refusal']))[:200]}")
    if finish == "length":
        raise EndpointError("the model used all its tokens before it answered; raise chat.max_tokens")
    if content == "" or (content is None and finish == "stop"):
        return ""
    raise TransientError("the message has no text content")


def _count(completion: Completion, usage: Any) -> None:
    if isinstance(usage, Mapping):
        for name in ("prompt_tokens", "completion_tokens"):
            if isinstance(usage.get(name), int):
                setattr(completion, name, usage[name])


def _excerpt(data: bytes, most: int = 160) -> str:
    text = " ".join(clean(data[: 4 * most].decode("utf-8", "replace")).split())
    return text[:most] + ("…" if len(text) > most else "")
