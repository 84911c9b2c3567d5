"""The one thing the compact systems ask of a language model: a completion, with log-probabilities if it can.

``EndpointChat`` talks to any OpenAI-compatible endpoint, ``LocalChat`` to a gguf model on this machine; in a
test, any object with ``complete`` will do.
"""

from __future__ import annotations

import hashlib
import json
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Protocol, TypeVar, runtime_checkable

from pagerag.endpoint import Endpoint, ResponseCache, RetryPolicy, cache_key
from pagerag.errors import EndpointError, SettingsError
from pagerag.settings import ChatSettings

__all__ = ["Chat", "EndpointChat", "LocalChat", "Message", "Reply", "all_replies", "json_in", "user"]

Message = Mapping[str, str]
A = TypeVar("A")
B = TypeVar("B")
MOST_LOGPROBS = 20


@dataclass(frozen=True, slots=True)
class Reply:
    """What the model said.

    ``tokens`` has, for each token said, the likeliest tokens with their log-probabilities; it is empty when
    the model does not tell.
    """

    text: str
    tokens: tuple[Mapping[str, float], ...] = ()


@runtime_checkable
class Chat(Protocol):
    """A language model. The same messages should give the same reply: callers ask with temperature 0."""

    def complete(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int = 256,
        stop: Sequence[str] = (),
        logprobs: bool = False,
    ) -> Reply:
        """Return the model's reply; ``logprobs`` asks for the likeliest tokens at each place too."""
        ...


def user(text: str, system: str = "") -> list[Message]:
    """Return the messages of a single request."""
    asked: list[Message] = [{"role": "user", "content": text}]
    return [{"role": "system", "content": system}, *asked] if system else asked


def all_replies(ask: Callable[[A], B], items: Sequence[A], workers: int, chat: Chat) -> list[B]:
    """Return ``ask`` of every item, in order; at most ``workers`` at a time, or fewer if ``chat`` says so."""
    workers = min(workers, getattr(chat, "at_once", workers))
    if workers <= 1 or len(items) <= 1:
        return [ask(item) for item in items]
    with ThreadPoolExecutor(max_workers=workers) as threads:
        return list(threads.map(ask, items))


def json_in(text: str) -> dict[str, Any] | None:
    """Return the first JSON object in a reply, with or without words or a code fence around it.

    None without one.
    """
    for found in re.finditer(r"\{", text):
        try:
            value, _ = json.JSONDecoder().raw_decode(text, found.start())
        except json.JSONDecodeError:
            continue
        return value if isinstance(value, dict) else None
    return None


class _Completions(ABC):
    """What every chat model here does alike: the request, the replies kept on disk, the reply read."""

    bound = "max_tokens"
    """The request's field for the most tokens of a reply."""
    at_once = 1
    """How many requests may be under way together without one spoiling another."""

    def __init__(self, place: str, cache: ResponseCache | None, extra: Mapping[str, Any]) -> None:
        self.place, self.cache, self.extra = place, cache, extra
        self.requests = 0
        self._logprobs = True

    def complete(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int = 256,
        stop: Sequence[str] = (),
        logprobs: bool = False,
    ) -> Reply:
        body: dict[str, Any] = {
            "messages": [dict(message) for message in messages],
            "temperature": 0.0,
            self.bound: max_tokens,
            **self.extra,
        }
        if stop:
            body["stop"] = list(stop)
        if logprobs and self._logprobs:
            body |= {"logprobs": True, "top_logprobs": MOST_LOGPROBS}
        key = cache_key(self.place, body)
        kept = self.cache.get(key) if self.cache is not None else None
        choice = kept["choice"] if kept is not None else self._ask(body)
        if kept is None and self.cache is not None:
            self.cache.put(key, {"choice": _kept(choice)})
        return _reply(choice)

    @abstractmethod
    def _ask(self, body: dict[str, Any]) -> Mapping[str, Any]:
        """Return the first choice of the model's reply."""


class EndpointChat(_Completions):
    """Completions of an OpenAI-compatible endpoint.

    It has one connection pool, retries, a deadline, a cache on disk.

    The cache is the one given, or the one that the settings name, or none.
    """

    def __init__(
        self,
        settings: ChatSettings,
        *,
        retry: RetryPolicy | None = None,
        cache: ResponseCache | None = None,
    ) -> None:
        if not settings.base_url or not settings.model:
            missing = "chat.base_url" if not settings.base_url else "chat.model"
            raise SettingsError(f"a chat endpoint needs {missing}")
        if settings.cache:
            cache = ResponseCache(settings.cache)
        super().__init__(settings.base_url, cache, {"model": settings.model, **settings.extra})
        self.settings = settings
        self.bound, self.at_once = settings.token_field, settings.concurrency
        self.retry = retry or RetryPolicy(attempts=settings.attempts)
        self._endpoint = Endpoint.of(settings, self.retry)

    def close(self) -> None:
        """Close the connections; the next request opens them again."""
        self._endpoint.close()

    def _ask(self, body: dict[str, Any]) -> Mapping[str, Any]:
        self.requests += 1
        try:
            return self._endpoint.ask("chat/completions", body, _choice)
        except EndpointError as problem:
            if problem.status != 400 or "logprobs" not in body:
                raise
        # Some servers refuse the request for log-probabilities: do without them from now on.
        self._logprobs = False
        return self._ask({k: v for k, v in body.items() if k not in ("logprobs", "top_logprobs")})


@runtime_checkable
class LocalModel(Protocol):
    """A model in this process, such as a ``GgufReader``: its file, and replies to chat requests."""

    path: Path

    def chat(self, request: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the model's reply to an OpenAI-style request."""
        ...


class LocalChat(_Completions):
    """Completions of a gguf model in this process, through a ``GgufReader`` of ours.

    One request at a time, and those that share a beginning one after the other: the model keeps what it read
    last, and reads only what differs.
    """

    def __init__(self, reader: LocalModel, *, cache: ResponseCache | None = None) -> None:
        super().__init__(_model_identity(reader) if cache is not None else "", cache, {})
        self.reader = reader

    def _ask(self, body: dict[str, Any]) -> Mapping[str, Any]:
        reply = self.reader.chat(body)
        self.requests += 1
        if not isinstance(reply, Mapping) or not reply.get("choices"):
            raise EndpointError(f"the local model gave no completion: {str(reply)[:160]}")
        choice: Mapping[str, Any] = reply["choices"][0]
        return choice


def _model_identity(reader: LocalModel) -> str:
    """Return what decides a greedy reply: the model file's size and beginning, the library that runs it."""
    path = Path(reader.path)
    with path.open("rb") as file:
        beginning = hashlib.sha256(file.read(1 << 20)).hexdigest()[:16]
    try:
        library = version("xllamacpp")
    except PackageNotFoundError:
        library = "unknown"
    return f"gguf:{path.name}:{path.stat().st_size}:{beginning}:{library}"


def _kept(choice: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a cache needs of a choice: the text, and the log-probabilities where there are any."""
    told = [
        {"top_logprobs": [{"token": text, "logprob": value} for text, value in token.items()]}
        for token in _reply(choice).tokens
    ]
    kept: dict[str, Any] = {"message": {"content": choice["message"]["content"]}}
    return {**kept, "logprobs": {"content": told}} if told else kept


def _choice(body: Any) -> Mapping[str, Any]:
    choice: Mapping[str, Any] = body["choices"][0]
    if not isinstance(choice["message"]["content"], str | None):
        raise TypeError("the content is no text")
    return choice


def _reply(choice: Mapping[str, Any]) -> Reply:
    told = (choice.get("logprobs") or {}).get("content") or ()
    tokens = tuple(
        {str(top["token"]): float(top["logprob"]) for top in token.get("top_logprobs") or (token,)}
        for token in told
    )
    return Reply(choice["message"]["content"] or "", tokens)
