"""Any OpenAI-compatible chat endpoint as a reader: bounded retries, real deadlines, cache, counts."""

from __future__ import annotations

import asyncio
import json
import math
import queue
import random
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

from pagerag._extras import need
from pagerag.errors import EndpointError, ReaderTimeoutError, SettingsError
from pagerag.read.cache import ResponseCache, cache_key
from pagerag.read.citations import answer_from
from pagerag.read.endpoint import (
    LARGEST_REPLY,
    Completion,
    TransientError,
    chat_request,
    event,
    explain_status,
    headers,
    parse_completion,
)
from pagerag.read.loop import LoopThread
from pagerag.read.prompts import prompt
from pagerag.read.retry import RETRIED_STATUS, RetryPolicy, retry_after
from pagerag.settings import ChatSettings, Secret
from pagerag.units import Answer, Candidate, State

__all__ = ["ChatReader"]

Emit = Callable[[str], None]


class ChatReader:
    """Reads through an OpenAI-compatible endpoint. Thread-safe; ``read`` and ``aread`` are one code path.

    One question takes at most ``settings.deadline`` seconds, whatever the server does: connecting,
    sending, silence, retries and the waits between them all count. It ends in an Answer or in an error of
    ``pagerag.errors``: ReaderTimeoutError when the time is up, EndpointError when the endpoint refuses or
    every try failed.
    """

    name = "chat"
    prefers = "context"

    def __init__(
        self,
        settings: ChatSettings | None = None,
        *,
        retry: RetryPolicy | None = None,
        cache: ResponseCache | None = None,
        small: bool = False,
        **options: Any,
    ) -> None:
        """``options`` are fields of ChatSettings: ``ChatReader(base_url=..., model=...)``."""
        if isinstance(options.get("api_key"), str):
            options["api_key"] = Secret(options["api_key"])
        try:
            self.settings = replace(settings or ChatSettings(), **options)
        except TypeError as problem:
            raise SettingsError(f"unknown option of the chat reader: {problem}") from problem
        self.retry = retry or RetryPolicy(attempts=self.settings.attempts)
        if cache is None and self.settings.cache:
            cache = ResponseCache(self.settings.cache)
        self.cache = cache
        self.small = small
        self._start()

    def _start(self) -> None:
        self._threads = LoopThread()
        self._lock = threading.Lock()
        self._totals: dict[str, float] = {}
        self._chance = random.Random()
        self._client: Any = None
        self._gate: asyncio.Semaphore | None = None
        self._client_loop: asyncio.AbstractEventLoop | None = None

    def read(self, question: str, context: Sequence[Candidate], *, state: State = "enough") -> Answer:
        """Ask the endpoint; blocks until the answer, an error, or the deadline."""
        return self._threads.run(self._read(question, tuple(context), state, None))

    async def aread(self, question: str, context: Sequence[Candidate], *, state: State = "enough") -> Answer:
        """The same without blocking the caller's event loop."""
        return await self._threads.arun(self._read(question, tuple(context), state, None))

    def stream(
        self, question: str, context: Sequence[Candidate], *, state: State = "enough"
    ) -> Iterator[str | Answer]:
        """Pieces of the reply as they come, then the Answer, whose text is the one that counts.

        A stream that breaks is tried again like any other request. What was shown is not repeated; when
        the second reply differs from it, only the final Answer tells.
        """
        pieces: queue.Queue[str | None] = queue.Queue()
        future = self._threads.submit(self._read(question, tuple(context), state, pieces.put))
        future.add_done_callback(lambda _: pieces.put(None))
        try:
            while (piece := pieces.get()) is not None:
                yield piece
            yield future.result()
        finally:
            future.cancel()

    async def astream(
        self, question: str, context: Sequence[Candidate], *, state: State = "enough"
    ) -> AsyncIterator[str | Answer]:
        """``stream`` for async callers."""
        here = asyncio.get_running_loop()
        pieces: asyncio.Queue[str | None] = asyncio.Queue()

        def emit(piece: str | None) -> None:
            here.call_soon_threadsafe(pieces.put_nowait, piece)

        future = self._threads.submit(self._read(question, tuple(context), state, emit))
        future.add_done_callback(lambda _: emit(None))
        try:
            while (piece := await pieces.get()) is not None:
                yield piece
            answer: Answer = await asyncio.wrap_future(future)
            yield answer
        finally:
            future.cancel()

    def totals(self) -> dict[str, float]:
        """Since this reader was made: questions, requests, retries, cache hits, tokens, cost, seconds."""
        with self._lock:
            return dict(self._totals)

    def close(self) -> None:
        """Close connections and cache; the reader opens them again when it is used again."""
        if self._client is not None:
            self._threads.run(self._client.aclose())
        self._threads.close()
        self._client = None
        if self.cache is not None:
            self.cache.close()

    def __enter__(self) -> ChatReader:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("settings", "retry", "cache", "small")}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        self.__dict__.update(state)
        self._start()

    async def _read(
        self, question: str, context: tuple[Candidate, ...], state: State, emit: Emit | None
    ) -> Answer:
        started = time.monotonic()
        if not context:
            prompt(question, ())  # an empty question is the caller's mistake even then
            return Answer("", abstained=True, reader=self.name)
        body = chat_request(self.settings, prompt(question, context, state=state, small=self.small))
        completion = await self._completion(body, emit)
        answer = answer_from(
            completion.content,
            context,
            reader=f"{self.name}:{self.settings.model}",
            state=state,
            usage=self._usage(completion, time.monotonic() - started),
        )
        self._add(answer.usage)
        return answer

    async def _completion(self, body: Mapping[str, Any], emit: Emit | None) -> Completion:
        """The reply to ``body`` from the cache or the endpoint, within the deadline."""
        key = cache_key(self.settings.base_url, body)
        progress = Completion(attempts=0)
        try:
            async with asyncio.timeout(self.settings.deadline) as limit:
                until = limit.when() or math.inf
                if self.cache is not None:
                    kept = await asyncio.to_thread(self.cache.get, key)
                    if kept is not None:
                        if emit is not None:
                            emit(kept["content"])
                        return Completion(**kept, attempts=0, cached=True)
                async with self._client_and_gate() as client:
                    completion = await self._with_retries(client, body, emit, progress, until)
                if self.cache is not None:
                    await asyncio.to_thread(self.cache.put, key, completion.to_dict())
                return completion
        except TimeoutError as problem:
            last = f"; last problem: {progress.problems[-1]}" if progress.problems else ""
            raise ReaderTimeoutError(
                f"{self._place()} gave no answer within {self.settings.deadline:g} s "
                f"({progress.attempts} tries{last}); raise chat.deadline if the model is merely slow"
            ) from problem

    async def _with_retries(
        self, client: Any, body: Mapping[str, Any], emit: Emit | None, progress: Completion, until: float
    ) -> Completion:
        shown = _Shown(emit)
        for attempt in range(1, self.retry.attempts + 1):
            progress.attempts = attempt
            try:
                completion = await self._once(client, body, shown)
            except TransientError as problem:
                progress.problems.append(str(problem))
                if attempt == self.retry.attempts:
                    raise EndpointError(
                        f"{self._place()} failed {attempt} times; the last time: {problem}"
                    ) from problem
                wait = self.retry.wait(attempt, problem.retry_after, self._chance)
                if asyncio.get_running_loop().time() + wait >= until:
                    raise TimeoutError from problem  # waiting would only end at the deadline: say so now
                await asyncio.sleep(wait)
            else:
                completion.attempts = attempt
                return completion
        raise AssertionError  # pragma: no cover - attempts is at least 1

    async def _once(self, client: Any, body: Mapping[str, Any], shown: _Shown) -> Completion:
        httpx = need("httpx", "httpx", "chat", "the chat reader")
        streaming = shown.emit is not None
        if streaming:
            body = {**body, "stream": True, "stream_options": {"include_usage": True}}
        url = f"{self.settings.base_url.rstrip('/')}/chat/completions"
        try:
            async with client.stream(
                "POST", url, content=json.dumps(body).encode(), headers=headers(self.settings)
            ) as response:
                if response.status_code != 200:
                    self._refuse(response, await _body(response))
                kind = response.headers.get("content-type", "")
                if streaming and "json" not in kind:
                    return await _streamed(response, shown)
                completion = parse_completion(await _body(response))
                shown.add(completion.content)
                return completion
        except (httpx.UnsupportedProtocol, httpx.InvalidURL) as problem:
            raise SettingsError(
                f"chat.base_url {self.settings.base_url!r} is no usable address ({problem}); "
                "it should look like https://host/v1"
            ) from problem
        except httpx.TransportError as problem:
            raise TransientError(f"{type(problem).__name__}: {problem}".rstrip(": ")) from problem

    def _refuse(self, response: Any, data: bytes) -> None:
        status = response.status_code
        message = explain_status(status, data, self.settings)
        if status in RETRIED_STATUS:
            raise TransientError(message, retry_after(response.headers))
        raise EndpointError(f"{self._place()} answered {message}")

    @asynccontextmanager
    async def _client_and_gate(self) -> AsyncIterator[Any]:
        loop = asyncio.get_running_loop()
        if self._client is None or self._client_loop is not loop:
            httpx = need("httpx", "httpx", "chat", "the chat reader")
            s = self.settings
            self._client = httpx.AsyncClient(
                timeout=httpx.Timeout(
                    connect=s.connect_timeout, read=s.read_timeout, write=s.write_timeout, pool=None
                ),
                limits=httpx.Limits(max_connections=s.concurrency, max_keepalive_connections=s.concurrency),
                follow_redirects=False,  # a redirect would carry the key to another host
            )
            self._gate, self._client_loop = asyncio.Semaphore(s.concurrency), loop
        assert self._gate is not None  # noqa: S101 - set above, told to the type checker
        async with self._gate:
            yield self._client

    def _usage(self, completion: Completion, seconds: float) -> dict[str, Any]:
        tokens_in, tokens_out = completion.prompt_tokens, completion.completion_tokens
        cost = ((tokens_in or 0) * self.settings.price_in + (tokens_out or 0) * self.settings.price_out) / 1e6
        return {
            "prompt_tokens": tokens_in,
            "completion_tokens": tokens_out,
            "cost": 0.0 if completion.cached else cost,
            "seconds": seconds,
            "attempts": completion.attempts,
            "cached": completion.cached,
            "finish": completion.finish,
            "model": completion.model or self.settings.model,
        }

    def _add(self, usage: Mapping[str, Any]) -> None:
        paid = not usage["cached"]
        counts = {
            "questions": 1,
            "requests": usage["attempts"],
            "retries": max(0, usage["attempts"] - 1),
            "cache_hits": int(usage["cached"]),
            "prompt_tokens": (usage["prompt_tokens"] or 0) if paid else 0,
            "completion_tokens": (usage["completion_tokens"] or 0) if paid else 0,
            "cost": usage["cost"],
            "seconds": usage["seconds"],
        }
        with self._lock:
            for name, value in counts.items():
                self._totals[name] = self._totals.get(name, 0) + value

    def _place(self) -> str:
        return f"the chat endpoint {urlsplit(self.settings.base_url).netloc or self.settings.base_url!r}"


class _Shown:
    """What a stream has shown so far, over all tries."""

    def __init__(self, emit: Emit | None) -> None:
        self.emit = emit
        self._shown = ""
        self._now = ""

    def begin(self) -> None:
        self._now = ""

    def add(self, piece: str) -> None:
        if self.emit is None or not piece:
            return
        self._now += piece
        if len(self._now) > len(self._shown) and self._now.startswith(self._shown):
            self.emit(self._now[len(self._shown) :])
            self._shown = self._now


async def _body(response: Any) -> bytes:
    data = bytearray()
    async for chunk in response.aiter_bytes():
        data += chunk
        if len(data) > LARGEST_REPLY:
            raise EndpointError(f"the reply is larger than {LARGEST_REPLY} bytes; this is no chat endpoint")
    return bytes(data)


async def _streamed(response: Any, shown: _Shown) -> Completion:
    completion = Completion()
    shown.begin()
    size = 0
    async for line in response.aiter_lines():
        size += len(line)
        if size > LARGEST_REPLY:
            raise EndpointError(f"the stream is larger than {LARGEST_REPLY} bytes; this is no chat endpoint")
        piece = event(line, completion)
        if piece is None:
            break
        shown.add(piece)
    else:
        if completion.finish is None:
            raise TransientError("the stream ended before the reply did")
    if not completion.content.strip():
        raise TransientError("the stream held no text")
    return completion
