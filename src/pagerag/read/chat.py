"""Any OpenAI-compatible chat endpoint as a reader: bounded retries, real deadlines, cache, counts."""

from __future__ import annotations

import asyncio
import queue
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import partial
from typing import Any, Unpack

from pagerag._secrets import Secret
from pagerag.endpoint.cache import ResponseCache, cache_key
from pagerag.endpoint.client import Attempts, Endpoint, RetryPolicy
from pagerag.endpoint.completions import Completion, Emit, chat_request, complete
from pagerag.errors import (
    EndpointError,
    EndpointTimeoutError,
    ReaderEndpointError,
    ReaderTimeoutError,
    SettingsError,
)
from pagerag.protocols import ContextPreference
from pagerag.read.citations import answer_from
from pagerag.read.prompts import prompt
from pagerag.settings import ChatOptions, ChatSettings
from pagerag.units import Answer, Candidate, State

__all__ = ["ChatReader"]


class ChatReader(AbstractContextManager["ChatReader"]):
    """Read through an OpenAI-compatible endpoint. Thread-safe; ``read`` and ``aread`` are one code path.

    One question takes at most ``settings.deadline`` seconds, whatever the server does: building the prompt,
    connecting, sending, silence, retries, the waits between them and reading the reply all count. It ends in
    an Answer or in an error of ``pagerag.errors``: ReaderTimeoutError when the time is up,
    ReaderEndpointError when the endpoint refuses or every try failed.
    """

    name = "chat"
    prefers: ContextPreference = "context"

    def __init__(
        self,
        settings: ChatSettings | None = None,
        *,
        retry: RetryPolicy | None = None,
        response_cache: ResponseCache | None = None,
        small: bool = False,
        **options: Unpack[ChatOptions],
    ) -> None:
        """Take ``settings`` with ``options`` (its fields) over them: ``ChatReader(base_url=..., model=...)``.

        ``response_cache`` wins over the file that ``cache`` names. ``small`` asks in the few words that very
        small models can follow.
        """
        changed: dict[str, Any] = dict(options)
        if isinstance(changed.get("api_key"), str):
            changed["api_key"] = Secret(changed["api_key"])
        try:
            self.settings = replace(settings or ChatSettings(), **changed)
        except TypeError as problem:
            raise SettingsError(f"unknown option of the chat reader: {problem}") from problem
        self.retry = retry or RetryPolicy(attempts=self.settings.attempts)
        if response_cache is None and self.settings.cache:
            response_cache = ResponseCache(self.settings.cache)
        self.cache = response_cache
        self.small = small
        self._endpoint = Endpoint.of(self.settings, self.retry)
        self._lock = threading.Lock()
        self._totals: dict[str, float] = {}

    @property
    def identity(self) -> str:
        """Everything that decides an answer besides the question and the context."""
        s = self.settings
        decides = [s.model, s.temperature, s.max_tokens, s.token_field, s.seed, s.extra, self.small]
        return f"{self.name} {cache_key(s.base_url, {'settings': decides})[:12]}"

    def read(self, question: str, context: Sequence[Candidate], *, state: State = "enough") -> Answer:
        """Ask the endpoint; blocks until the answer, an error, or the deadline."""
        with _reader_errors():
            return self._endpoint.run(self._read(question, tuple(context), state, None))

    async def aread(self, question: str, context: Sequence[Candidate], *, state: State = "enough") -> Answer:
        """Ask the endpoint without blocking the caller's event loop."""
        with _reader_errors():
            return await self._endpoint.arun(self._read(question, tuple(context), state, None))

    def stream(
        self, question: str, context: Sequence[Candidate], *, state: State = "enough"
    ) -> Iterator[str | Answer]:
        """Yield pieces of the reply as they come, then the Answer, whose text is the one that counts.

        A stream that breaks is tried again like any other request. What was shown is not repeated; when
        the second reply differs from it, only the final Answer tells.
        """
        pieces: queue.Queue[str | None] = queue.Queue()
        with self._streaming(question, context, state, pieces.put) as future:
            while (piece := pieces.get()) is not None:
                yield piece
            yield future.result()

    async def astream(
        self, question: str, context: Sequence[Candidate], *, state: State = "enough"
    ) -> AsyncIterator[str | Answer]:
        """Yield what ``stream`` yields, for async callers."""
        here = asyncio.get_running_loop()
        pieces: asyncio.Queue[str | None] = asyncio.Queue()

        def emit(piece: str | None) -> None:
            here.call_soon_threadsafe(pieces.put_nowait, piece)

        with self._streaming(question, context, state, emit) as future:
            while (piece := await pieces.get()) is not None:
                yield piece
            answer: Answer = await asyncio.wrap_future(future)
            yield answer

    @contextmanager
    def _streaming(
        self, question: str, context: Sequence[Candidate], state: State, emit: Callable[[str | None], None]
    ) -> Iterator[Future[Answer]]:
        """Lend the answer on its way: ``emit`` hears its pieces, then None; leaving the block gives it up."""
        future = self._endpoint.submit(self._read(question, tuple(context), state, emit))
        future.add_done_callback(lambda _: emit(None))
        try:
            with _reader_errors():
                yield future
        finally:
            future.cancel()

    def totals(self) -> dict[str, float]:
        """Return questions, requests, retries, cache hits, tokens, cost and seconds of this reader so far."""
        with self._lock:
            return dict(self._totals)

    def close(self) -> None:
        """Close connections and cache; the reader opens them again when it is used again."""
        self._endpoint.close()
        if self.cache is not None:
            self.cache.close()

    def __exit__(self, *exc: object) -> None:
        self.close()

    def __reduce__(self) -> tuple[Any, ...]:
        made = partial(type(self), retry=self.retry, response_cache=self.cache, small=self.small)
        return made, (self.settings,)

    async def _read(
        self, question: str, context: tuple[Candidate, ...], state: State, emit: Emit | None
    ) -> Answer:
        started = time.monotonic()
        if not context:
            prompt(question, ())  # an empty question is the caller's mistake even then
            return Answer("", abstained=True, reader=self.name)
        # Prompts and replies are worked on in threads: one large document must not hold up the questions
        # of others, which share this loop.
        async with self._endpoint.within_deadline() as attempts:
            asked = await asyncio.to_thread(prompt, question, context, state=state, small=self.small)
            body = chat_request(self.settings, asked.messages)
            completion = await self._completion(body, emit, attempts)
            answer = await asyncio.to_thread(
                answer_from,
                completion.content,
                context,
                reader=f"{self.name}:{self.settings.model}",
                state=state,
                usage=self._usage(completion, time.monotonic() - started),
            )
        self._add(answer.usage)
        return answer

    async def _completion(self, body: Mapping[str, Any], emit: Emit | None, attempts: Attempts) -> Completion:
        """Return the reply to ``body`` from the cache or the endpoint."""
        if self.cache is None:
            return await complete(self._endpoint, body, emit, attempts)
        key = cache_key(self.settings.base_url, body)
        kept = await asyncio.to_thread(self.cache.get, key)
        if kept is not None:
            if emit is not None:
                emit(kept["content"])
            return Completion(**kept, attempts=0, cached=True)
        completion = await complete(self._endpoint, body, emit, attempts)
        await asyncio.to_thread(self.cache.put, key, completion.to_dict())
        return completion

    def _usage(self, completion: Completion, seconds: float) -> dict[str, Any]:
        asked, said = completion.prompt_tokens, completion.completion_tokens
        cost = ((asked or 0) * self.settings.price_in + (said or 0) * self.settings.price_out) / 1e6
        return {
            "prompt_tokens": asked,
            "completion_tokens": said,
            "cost": 0.0 if completion.cached else cost,
            "seconds": seconds,
            "attempts": completion.attempts,
            "cached": completion.cached,
            "finish": completion.finish,
            "model": completion.model or self.settings.model,
        }

    def _add(self, usage: Mapping[str, Any]) -> None:
        tokens = {name: usage[name] or 0 for name in ("prompt_tokens", "completion_tokens")}
        counts = {
            "questions": 1,
            "requests": usage["attempts"],
            "retries": max(0, usage["attempts"] - 1),
            "cache_hits": int(usage["cached"]),
            **(dict.fromkeys(tokens, 0) if usage["cached"] else tokens),
            "cost": usage["cost"],
            "seconds": usage["seconds"],
        }
        with self._lock:
            for name, value in counts.items():
                self._totals[name] = self._totals.get(name, 0) + value


@contextmanager
def _reader_errors() -> Iterator[None]:
    """Raise an endpoint's errors as the reader's own, which are what callers of a reader expect."""
    try:
        yield
    except EndpointTimeoutError as problem:
        raise ReaderTimeoutError(str(problem)) from problem
    except EndpointError as problem:
        raise ReaderEndpointError(str(problem), status=problem.status) from problem
