"""What the routes share: settings, promoter, stores, gates, bounded request bodies, one way to run a job."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

import orjson
from pydantic import BaseModel, ValidationError
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from pagerag.pipeline import promoter_of
from pagerag.serve.dialects import RequestLimits
from pagerag.serve.operation import work_of
from pagerag.serve.problems import ClientGoneError, Problem, Refused, Unusable
from pagerag.serve.stores import Stores
from pagerag.serve.telemetry import Metrics, Telemetry
from pagerag.settings import Settings

MODEL = "pagerag"  # the model's name where a client names none

T = TypeVar("T")
M = TypeVar("M", bound=BaseModel)


class Gate:
    """At most ``most`` jobs, of which ``threads`` run and the others wait.

    A thread cannot be stopped, so a job that is past its deadline keeps its place until it ends; a job that
    has not begun gives its place back at once.
    """

    def __init__(self, name: str, most: int, threads: int, setting: str) -> None:
        self.name, self.most, self.threads, self.setting = name, most, max(1, min(threads, most)), setting
        self._pool = ThreadPoolExecutor(self.threads, thread_name_prefix=f"pagerag-{name}")
        self._lock = threading.Lock()
        self.inside = 0
        """Jobs that run or wait."""
        self._seconds = 0.05  # a running mean of how long a job takes

    def check(self) -> None:
        """Refuse with 429 where there is no place now: cheaper than reading a request first."""
        if self.inside >= self.most:
            raise Problem(
                429,
                "busy",
                f"{self.most} requests are under way, which is the limit (setting {self.setting}); try again",
                retry_after=self._seconds * self.inside / self.threads,
            )

    def submit(self, job: Callable[..., T], *arguments: Any) -> Future[tuple[T, float]]:
        """Start a job, or refuse it with 429. The future's result is the job's own and how long it waited."""
        with self._lock:
            self.check()
            self.inside += 1
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
            self.inside -= 1

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
        words = f"no result within {seconds:g} s (setting {setting}); send less at once"
        raise Problem(504, "timeout", words)

    def close(self) -> None:
        """Take no more jobs, and forget those that have not begun."""
        self._pool.shutdown(wait=False, cancel_futures=True)


class Service:
    """One worker's state. Everything in it is shared by all requests and safe to share."""

    def __init__(
        self, settings: Settings, places: Mapping[str, str], telemetry: Telemetry | None = None
    ) -> None:
        serve = settings.serve
        threads = serve.threads or min(4, os.cpu_count() or 1)
        self.settings = settings
        self.stores = Stores(places, settings)
        self.promoter = promoter_of(settings)
        self.metrics = Metrics()
        self.telemetry = telemetry or Telemetry(on=serve.telemetry, texts=serve.log_text)
        self.promotions = Gate("promote", serve.in_flight, threads, "serve.in_flight")
        self.asks = Gate("ask", serve.asks, serve.asks, "serve.asks")
        self.limits = RequestLimits(serve.max_candidates, serve.max_characters)
        self.ready = self.stopping = False

    def open(self) -> None:
        """Open the stores and read the models, so that the first request is as fast as the others."""
        pool = ["It was written by somebody.", "Nothing."]
        self.promoter.promote("Who wrote it?", pool, k=1, mode="document")
        self.stores.open()
        self.ready = True

    def close(self) -> None:
        """Let go of threads and send the last spans."""
        self.ready = False
        self.promotions.close()
        self.asks.close()
        self.telemetry.close()

    async def body(self, request: Request, gate: Gate) -> Any:
        """Return the request's JSON within the limits of size and time.

        Where the gate is full the request is refused before it is read: under overload most requests are.
        """
        serve = self.settings.serve
        data = await _read_bytes(request, int(serve.max_body_mb * 2**20), serve.body_timeout)
        gate.check()
        if not data.strip():
            raise Problem(400, "invalid_json", "the body is empty; send a JSON object")
        try:
            return orjson.loads(data)  # UTF-8, no NaN, not nested beyond the parser's bound
        except orjson.JSONDecodeError as problem:
            raise Problem(400, "invalid_json", f"the body is not valid JSON in UTF-8: {problem}") from None

    async def model(self, request: Request, gate: Gate, kind: type[M]) -> M:
        """Return the request's JSON as a checked model; the first thing that is wrong is named."""
        try:
            return kind.model_validate(await self.body(request, gate))
        except ValidationError as problem:
            first = problem.errors(include_url=False, include_input=False)[0]
            place = ".".join(str(part) for part in first["loc"])
            told = f"{place}: {first['msg']}" if place else first["msg"]
            raise Unusable(told, field=place or None) from None

    async def run(self, gate: Gate, request: Request | None, job: Callable[..., T], *arguments: Any) -> T:
        """Run a job in one of the gates; without a request, nobody can go away meanwhile."""
        setting = "serve.timeout" if gate is self.promotions else "serve.ask_timeout"
        seconds: float = getattr(self.settings.serve, setting.removeprefix("serve."))
        if request is None:
            return (await gate.run(job, *arguments, seconds=seconds, setting=setting))[0]
        gone = asyncio.create_task(_gone(request))
        started = time.perf_counter()
        try:
            result, waited = await gate.run(job, *arguments, seconds=seconds, setting=setting, gone=gone)
        finally:
            gone.cancel()
        timings = work_of(request.scope).timings
        timings["queue"] = waited
        timings[gate.name] = time.perf_counter() - started - waited
        return result

    def count(self, request: Request, state: str, question: str, *, texts: Any = None, **notes: Any) -> None:
        """Count a verdict and note it in the log, with question and texts where those may be logged."""
        self.metrics.states.labels(state).inc()
        said = {"question": question, "texts": texts} if self.settings.serve.log_text else {}
        told = {name: value for name, value in said.items() if value is not None}
        work_of(request.scope).notes.update(state=state, **notes, **told)


async def _read_bytes(request: Request, most: int, seconds: float) -> bytes:
    """Return the whole body, at most ``most`` bytes that arrive within ``seconds``."""
    said = request.headers.get("content-length", "")
    too_large = Refused(f"the request is larger than {most:,} bytes (setting serve.max_body_mb)")
    if said.isdecimal() and int(said) > most:
        raise too_large
    data = bytearray()
    try:
        async with asyncio.timeout(seconds):
            async for chunk in request.stream():
                data += chunk
                if len(data) > most:
                    raise too_large
    except TimeoutError:
        words = f"the request did not arrive within {seconds:g} s (setting serve.body_timeout)"
        raise Problem(408, "slow_client", words) from None
    except ClientDisconnect:
        raise ClientGoneError from None
    return bytes(data)


async def _gone(request: Request) -> None:
    """Wait until the client goes away. The body must have been read before."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


def json_response(content: Any, status: int = 200) -> Response:
    """Return JSON; NumPy's numbers are written as what they are."""
    options = orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS
    body = orjson.dumps(content, _plain, options)
    return Response(body, status, media_type="application/json")


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple | set | frozenset) else str(value)
