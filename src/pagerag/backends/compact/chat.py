"""The one thing the compact systems ask of a language model: a completion, with log-probabilities if it can.

``EndpointChat`` talks to any OpenAI-compatible endpoint, ``LocalChat`` to a gguf model on this machine; in a
test, any object with ``complete`` will do.
"""

from __future__ import annotations

import json
import random
import re
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from pagerag._extras import need
from pagerag.errors import EndpointError, ReaderTimeoutError, SettingsError
from pagerag.read.cache import ResponseCache, cache_key
from pagerag.read.endpoint import explain_status, headers
from pagerag.read.retry import RETRIED_STATUS, RetryPolicy, retry_after
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


class Chat(Protocol):
    """A language model. The same messages should give the same reply: callers ask with temperature 0."""

    def complete(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int = 256,
        stop: Sequence[str] = (),
        logprobs: bool = False,
    ) -> Reply: ...


def user(text: str, system: str = "") -> list[Message]:
    """The messages of a single request."""
    asked: list[Message] = [{"role": "user", "content": text}]
    return [{"role": "system", "content": system}, *asked] if system else asked


def all_replies(ask: Callable[[A], B], items: Sequence[A], workers: int) -> list[B]:
    """``ask`` of every item, in order; at most ``workers`` at a time."""
    if workers <= 1 or len(items) <= 1:
        return [ask(item) for item in items]
    with ThreadPoolExecutor(max_workers=workers) as threads:
        return list(threads.map(ask, items))


def json_in(text: str) -> dict[str, Any] | None:
    """The first JSON object in a reply, with or without words or a code fence around it; None without one."""
    for found in re.finditer(r"\{", text):
        try:
            value, _ = json.JSONDecoder().raw_decode(text, found.start())
        except json.JSONDecodeError:
            continue
        return value if isinstance(value, dict) else None
    return None


class EndpointChat:
    """Completions of an OpenAI-compatible endpoint: retries, a deadline, a cache on disk if one is named."""

    def __init__(self, settings: ChatSettings, *, retry: RetryPolicy | None = None) -> None:
        if not settings.base_url or not settings.model:
            missing = "chat.base_url" if not settings.base_url else "chat.model"
            raise SettingsError(f"a chat endpoint needs {missing}")
        self.settings = settings
        self.retry = retry or RetryPolicy(attempts=settings.attempts)
        self.cache = ResponseCache(settings.cache) if settings.cache else None
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
            "model": self.settings.model,
            "messages": [dict(message) for message in messages],
            "temperature": 0.0,
            self.settings.token_field: max_tokens,
            **self.settings.extra,
        }
        if stop:
            body["stop"] = list(stop)
        if logprobs and self._logprobs:
            body |= {"logprobs": True, "top_logprobs": MOST_LOGPROBS}
        key = cache_key(self.settings.base_url, body)
        kept = self.cache.get(key) if self.cache is not None else None
        if kept is not None:
            return _reply(kept["choice"])
        choice = self._post(body)
        if self.cache is not None:
            self.cache.put(key, {"choice": choice})
        return _reply(choice)

    def _post(self, body: dict[str, Any]) -> Mapping[str, Any]:
        httpx = need("httpx", "httpx", "chat", "a chat endpoint")
        s, until, problem = self.settings, time.monotonic() + self.settings.deadline, ""
        url = f"{s.base_url.rstrip('/')}/chat/completions"
        for attempt in range(1, self.retry.attempts + 1):
            left = until - time.monotonic()
            if left <= 0:
                raise ReaderTimeoutError(
                    f"{url} gave no reply within {s.deadline:g} s; last problem: {problem}"
                )
            asked: float | None = None
            try:
                timeout = httpx.Timeout(min(s.read_timeout, left), connect=min(s.connect_timeout, left))
                response = httpx.post(url, json=body, headers=headers(s), timeout=timeout)
            except httpx.TransportError as broken:
                problem = f"{type(broken).__name__}: {broken}"
            else:
                self.requests += 1
                if response.status_code == 200:
                    return _choice(response, url)
                problem = explain_status(response.status_code, response.content, s)
                if response.status_code == 400 and "logprobs" in body:
                    # Some servers refuse the request for log-probabilities: do without them from now on.
                    self._logprobs = False
                    body = {k: v for k, v in body.items() if k not in ("logprobs", "top_logprobs")}
                    continue
                if response.status_code not in RETRIED_STATUS:
                    raise EndpointError(f"{url} answered {problem}")
                asked = retry_after(response.headers)
            wait = self.retry.wait(attempt, asked, random.Random())
            time.sleep(max(0.0, min(wait, until - time.monotonic())))
        raise EndpointError(f"{url} failed {self.retry.attempts} times; the last time: {problem}")


class LocalChat:
    """Completions of a gguf model on this machine, through a ``GgufReader`` of ours."""

    def __init__(self, reader: Any) -> None:
        self.reader = reader

    def complete(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int = 256,
        stop: Sequence[str] = (),
        logprobs: bool = False,
    ) -> Reply:
        request: dict[str, Any] = {
            "messages": [dict(message) for message in messages],
            "temperature": 0.0,
            "max_tokens": max_tokens,
        }
        if stop:
            request["stop"] = list(stop)
        if logprobs:
            request |= {"logprobs": True, "top_logprobs": MOST_LOGPROBS}
        with self.reader._lock:  # the model serves one request at a time
            reply = self.reader._load().handle_chat_completions(request)
        if not isinstance(reply, Mapping) or not reply.get("choices"):
            raise EndpointError(f"the local model gave no completion: {str(reply)[:160]}")
        return _reply(reply["choices"][0])


def _choice(response: Any, url: str) -> Mapping[str, Any]:
    try:
        choice = response.json()["choices"][0]
        choice["message"]["content"]
    except (ValueError, KeyError, IndexError, TypeError):
        raise EndpointError(f"{url} sent no completion: {response.text[:160]!r}") from None
    found: Mapping[str, Any] = choice
    return found


def _reply(choice: Mapping[str, Any]) -> Reply:
    told = (choice.get("logprobs") or {}).get("content") or ()
    tokens = tuple(
        {str(top["token"]): float(top["logprob"]) for top in token.get("top_logprobs") or (token,)}
        for token in told
    )
    return Reply(choice["message"]["content"] or "", tokens)
