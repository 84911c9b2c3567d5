"""One event loop in a thread of its own, so that sync and async callers share one code path.

Every request of an endpoint runs here: one connection pool, one concurrency limit and one retry loop,
whoever asks. Deadlines are the loop's own timers, so a server that drips one byte a second cannot
stretch them.
"""

from __future__ import annotations

import asyncio
import os
import threading
import weakref
from collections.abc import Coroutine
from concurrent.futures import Future
from contextlib import closing, suppress
from inspect import iscoroutine
from typing import Any, TypeVar

T = TypeVar("T")

_GRACE = 1.0
"""Seconds in which half-read replies are to be closed at the end."""


class LoopThread:
    """Run coroutines on a loop of its own; started at first use, again after a fork, ended by ``close``.

    A LoopThread that is forgotten without ``close`` takes its thread along.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._process = 0

    def submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Start ``work`` on the loop."""
        return asyncio.run_coroutine_threadsafe(work, self._running())

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Wait for ``work`` in this thread; an interrupt cancels it."""
        future = self.submit(work)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    async def arun(self, work: Coroutine[Any, Any, T]) -> T:
        """Wait for ``work`` from another event loop; cancelling the wait cancels the work."""
        return await asyncio.wrap_future(self.submit(work))

    def close(self) -> None:
        """Cancel what is under way, then stop the loop and its thread."""
        with self._lock:
            loop, thread, own = self._loop, self._thread, self._process == os.getpid()
            self._loop = self._thread = None
        if loop is not None and thread is not None and own and thread.is_alive():
            asyncio.run_coroutine_threadsafe(_cancel_all(), loop)
            thread.join(timeout=5)

    def _running(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None or self._process != os.getpid():
                self._loop, self._process = asyncio.new_event_loop(), os.getpid()
                self._thread = threading.Thread(
                    target=_serve, args=(self._loop,), name="pagerag-endpoint", daemon=True
                )
                self._thread.start()
                weakref.finalize(self, _stop, self._loop, self._process).atexit = False
            return self._loop


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    """Run the loop until it is stopped, and close it: its own sockets go with it."""
    with closing(loop):
        loop.run_forever()
        loop.run_until_complete(_finish())


async def _cancel_all() -> None:
    """Cancel every other coroutine of the running loop, let them end, and stop the loop."""
    others = [task for task in _others() if iscoroutine(task.get_coro())]  # not what closes a generator
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
    asyncio.get_running_loop().stop()


async def _finish() -> None:
    """Let generators end that nobody reads any more, such as the half-read body of a reply.

    The loop closes a forgotten one in a task of its own, and what that one read from in another. Stopped
    before that, it would leave the connection behind, and Python 3.13 warns of it.
    """
    with suppress(TimeoutError):
        async with asyncio.timeout(_GRACE):
            await _settle()
            await asyncio.get_running_loop().shutdown_asyncgens()
            await _settle()


async def _settle() -> None:
    """Wait until no task is left and none begins."""
    await asyncio.sleep(0)
    while others := _others():
        await asyncio.gather(*others, return_exceptions=True)
        await asyncio.sleep(0)


def _others() -> list[asyncio.Task[Any]]:
    return [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]


def _stop(loop: asyncio.AbstractEventLoop, process: int) -> None:
    if process == os.getpid():
        with suppress(RuntimeError):  # it is closed already
            loop.call_soon_threadsafe(loop.stop)
