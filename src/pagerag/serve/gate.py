"""A bounded number of jobs in threads: what does not fit is refused at once, what takes too long is left."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

from pagerag.serve.problems import Problem

T = TypeVar("T")


class ClientGoneError(Exception):
    """Nobody waits for the answer any more."""


class Gate:
    """At most ``most`` jobs, of which ``threads`` run and the others wait.

    A thread cannot be stopped, so a job that is past its deadline keeps its place until it ends; a job that
    has not begun gives its place back at once.
    """

    def __init__(self, name: str, most: int, threads: int, setting: str) -> None:
        self.name, self.most, self.threads, self.setting = name, most, max(1, min(threads, most)), setting
        self._pool = ThreadPoolExecutor(self.threads, thread_name_prefix=f"pagerag-{name}")
        self._lock = threading.Lock()
        self._inside = 0
        self._seconds = 0.05  # a running mean of how long a job takes

    @property
    def inside(self) -> int:
        """Jobs that run or wait."""
        return self._inside

    def check(self) -> None:
        """Refuse with 429 where there is no place now: cheaper than reading a request first."""
        if self._inside >= self.most:
            raise self._busy()

    def _busy(self) -> Problem:
        return Problem(
            429,
            "busy",
            f"{self.most} requests are under way, which is the limit (setting {self.setting}); try again",
            retry_after=self._seconds * self._inside / self.threads,
        )

    def submit(self, job: Callable[..., T], *arguments: Any) -> Future[tuple[T, float]]:
        """Start a job, or refuse it with 429. The future's result is the job's own and how long it waited."""
        with self._lock:
            if self._inside >= self.most:
                raise self._busy()
            self._inside += 1
        try:
            future = self._pool.submit(self._run, time.perf_counter(), job, arguments)
        except RuntimeError:
            self._leave(None)
            raise Problem(503, "stopping", "the server is stopping", retry_after=5) from None
        future.add_done_callback(self._leave)
        return future

    def _run(self, asked: float, job: Callable[..., T], arguments: tuple[Any, ...]) -> tuple[T, float]:
        started = time.perf_counter()
        try:
            return job(*arguments), started - asked
        finally:
            self._seconds += 0.1 * (time.perf_counter() - started - self._seconds)

    def _leave(self, _: object) -> None:
        with self._lock:
            self._inside -= 1

    async def run(
        self,
        job: Callable[..., T],
        *arguments: Any,
        seconds: float,
        setting: str,
        gone: asyncio.Future[Any] | None = None,
    ) -> tuple[T, float]:
        """Await a job for at most ``seconds``, or until the client is ``gone``."""
        future = self.submit(job, *arguments)
        waiting = asyncio.wrap_future(future)
        watched = {waiting} if gone is None else {waiting, gone}
        await asyncio.wait(watched, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        if waiting.done():
            return waiting.result()
        future.cancel()  # has no effect on a job that runs
        waiting.cancel()
        if gone is not None and gone.done():
            raise ClientGoneError
        raise Problem(
            504, "timeout", f"no result within {seconds:g} s (setting {setting}); send less at once"
        )

    def close(self) -> None:
        """Take no more jobs, and forget those that have not begun."""
        self._pool.shutdown(wait=False, cancel_futures=True)
