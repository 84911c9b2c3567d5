"""Work on processes of this machine: the default engine."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context, parent_process
from typing import Any, Self, TypeVar

from pagerag.errors import InputError, WorkerLostError

Result = TypeVar("Result")

_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
_ENVIRONMENT = threading.Lock()  # pools set the same variables: one starts after the other


class Processes:
    """A pool of processes that several runs may share; the processes start with the first piece of work.

    They are fresh ones (no fork: model runtimes have threads) with one thread of arithmetic each, and they
    leave when this process dies, however it dies.
    """

    def __init__(self, count: int | None = None) -> None:
        if count is not None and count < 1:
            raise InputError(f"--workers is {count}; it must be at least 1")
        self.count = count or cores()
        self._pool: ProcessPoolExecutor | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the processes; work that has not begun is dropped."""
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
            self._pool = None

    def submit(self, function: Callable[..., Result], /, *arguments: Any) -> Future[Result]:
        """Have a module's function called with these arguments."""
        return self.start().submit(function, *arguments)

    def result(self, future: Future[Result]) -> Result:
        """Return what the function returned, or raise what it raised; waits."""
        try:
            return future.result()
        except BrokenProcessPool as problem:
            raise WorkerLostError(
                "a worker process died (out of memory, or killed); what is finished is kept: run the same "
                "command again, with fewer --workers if memory is short"
            ) from problem

    def start(self) -> ProcessPoolExecutor:
        """Begin to start the processes; does not wait for them."""
        if self._pool is not None:
            return self._pool
        with _ENVIRONMENT:
            before = {name: os.environ[name] for name in _THREADS if name in os.environ}
            os.environ.update(dict.fromkeys(_THREADS, "1"))
            try:
                pool = ProcessPoolExecutor(self.count, get_context("spawn"), initializer=_begin)
                # Processes start with the first tasks; give them one each, long enough that every process of
                # the pool is started, while the environment is set.
                for _ in range(self.count):
                    pool.submit(time.sleep, 0.02)
            finally:
                for name in _THREADS:
                    os.environ.pop(name, None)
                os.environ.update(before)
        self._pool = pool
        return pool


def _begin() -> None:
    threading.Thread(target=_leave_with_parent, daemon=True).start()


def _leave_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def cores() -> int:
    """Return how many processors this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on Linux
        return os.cpu_count() or 1
