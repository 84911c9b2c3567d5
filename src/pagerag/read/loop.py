"""One event loop in a thread of its own, so that sync and async callers share one code path.

Every request of a reader runs here: one connection pool, one concurrency limit and one retry loop,
whoever asks. Deadlines are the loop's own timers, so a server that drips one byte a second cannot
stretch them.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

__all__ = ["LoopThread"]

T = TypeVar("T")


class LoopThread:
    """Started at first use, again after a fork; ``close`` ends it."""

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
        """Stop the loop and its thread."""
        with self._lock:
            loop, thread, own = self._loop, self._thread, self._process == os.getpid()
            self._loop = self._thread = None
        if loop is not None and thread is not None and own:
            loop.call_soon_threadsafe(loop.stop)
            thread.join(timeout=5)
            if not loop.is_running():
                loop.close()

    def _running(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None or self._process != os.getpid():
                self._loop = asyncio.new_event_loop()
                self._process = os.getpid()
                self._thread = threading.Thread(
                    target=self._loop.run_forever, name="pagerag-reader", daemon=True
                )
                self._thread.start()
            return self._loop
