"""A pipeline's stream, from a thread into the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

from pagerag.errors import PageRAGError
from pagerag.pipeline import PageRAG, Result, Stage
from pagerag.serve.logs import LOG
from pagerag.serve.models import Tuning
from pagerag.serve.problems import Problem, problem_of
from pagerag.serve.service import Service

_END = object()


class AnswerStream:
    """Stages, words and the result of one question; a failure ends it as a Problem.

    The work is started, or refused with 429, when this is made: before a response has begun.
    """

    def __init__(
        self,
        service: Service,
        pipeline: Callable[[Tuning | None], PageRAG],
        tuning: Tuning | None,
        question: str,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._news: asyncio.Queue[Any] = asyncio.Queue()
        self._gone = False
        self._seconds = service.settings.serve.ask_timeout
        self._job = service.asks.submit(self._work, pipeline, tuning, question)

    def _work(
        self, pipeline: Callable[[Tuning | None], PageRAG], tuning: Tuning | None, question: str
    ) -> None:
        try:
            for item in pipeline(tuning).stream(question):
                if self._gone:
                    return
                self._put(item)
        except PageRAGError as problem:
            self._put(problem_of(problem))
        except Exception:  # noqa: BLE001 - a thread of the server: the client must hear of it
            LOG.exception("stream")
            self._put(Problem(500, "internal", "an unexpected error; the server's log has it"))
        finally:
            self._put(_END)

    def _put(self, item: object) -> None:
        try:
            self._loop.call_soon_threadsafe(self._news.put_nowait, item)
        except RuntimeError:
            self._gone = True  # the loop is closed: the server has stopped

    async def __aiter__(self) -> AsyncIterator[Stage | str | Result | Problem]:
        """Yield what comes, for at most the time that a question may take."""
        try:
            async with asyncio.timeout(self._seconds):
                while (item := await self._news.get()) is not _END:
                    yield item
        except TimeoutError:
            yield Problem(504, "timeout", f"no result within {self._seconds:g} s (setting serve.ask_timeout)")
        finally:
            self._gone = True
            self._job.cancel()
