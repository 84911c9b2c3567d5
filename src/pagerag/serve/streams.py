"""Server-sent events: what threads tell of answers and of files, as it comes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Callable
from typing import Any

import orjson
from starlette.responses import StreamingResponse

from pagerag.pipeline import PageRAG, Result, Stage
from pagerag.serve.problems import FAULT, Problem, problem_of
from pagerag.serve.service import Service
from pagerag.serve.telemetry import LOG

END = object()


def event(body: Any, name: str = "") -> bytes:
    """Return one server-sent event; without a name, its data alone."""
    data = b"data: %s\n\n" % orjson.dumps(body, option=orjson.OPT_SERIALIZE_NUMPY)
    return b"event: %s\n%s" % (name.encode(), data) if name else data


def event_stream(events: AsyncIterable[bytes]) -> StreamingResponse:
    """Return events as a response that nothing on its way keeps back."""
    headers = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}
    return StreamingResponse(events, media_type="text/event-stream", headers=headers)


class News:
    """What a thread tells the event loop, item by item; ``gone`` says that nobody listens any more."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._items: asyncio.Queue[Any] = asyncio.Queue()
        self.gone = False

    def put(self, item: object) -> None:
        """Tell one item; from any thread."""
        try:
            self._loop.call_soon_threadsafe(self._items.put_nowait, item)
        except RuntimeError:
            self.gone = True  # the loop is closed: the server has stopped

    async def __aiter__(self) -> AsyncIterator[Any]:
        try:
            while (item := await self._items.get()) is not END:
                yield item
        finally:
            self.gone = True


class AnswerStream:
    """Stages, words and the result of one question; a failure ends it as a Problem.

    The work is started, or refused with 429, when this is made: before a response has begun.
    """

    def __init__(self, service: Service, make: Callable[[], PageRAG], question: str) -> None:
        self._news = News()
        self._seconds = service.settings.serve.ask_timeout
        self._job = service.asks.submit(self._work, make, question)

    def _work(self, make: Callable[[], PageRAG], question: str) -> None:
        try:
            for item in make().stream(question):
                if self._news.gone:
                    return
                self._news.put(item)
        except Exception as error:  # noqa: BLE001 - a thread of the server: the client must hear of it
            problem = problem_of(error)
            if problem is FAULT:
                LOG.exception("stream")
            self._news.put(problem)
        finally:
            self._news.put(END)

    async def __aiter__(self) -> AsyncIterator[Stage | str | Result | Problem]:
        """Yield what comes, for at most the time that a question may take."""
        try:
            async with asyncio.timeout(self._seconds):
                async for item in self._news:
                    yield item
        except TimeoutError:
            yield Problem(504, "timeout", f"no result within {self._seconds:g} s (setting serve.ask_timeout)")
        finally:
            self._news.gone = True
            self._job.cancel()
