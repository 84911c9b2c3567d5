"""What the routes share: settings, promoter, stores, gates, and one way to run a job."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import orjson
from starlette.requests import Request
from starlette.responses import Response

from pagerag.pipeline import promoter_of
from pagerag.promotion import Promoter
from pagerag.serve.body import decoded, read_bytes, watch
from pagerag.serve.dialects import RequestLimits
from pagerag.serve.gate import Gate
from pagerag.serve.metrics import Metrics
from pagerag.serve.operation import work_of
from pagerag.serve.stores import Stores
from pagerag.serve.telemetry import Telemetry
from pagerag.settings import Settings

MODEL = "pagerag"
"""The model's name where a client names none."""

T = TypeVar("T")


@dataclass(slots=True)
class Service:
    """One worker's state. Everything in it is shared by all requests and safe to share."""

    settings: Settings
    stores: Stores
    promoter: Promoter
    metrics: Metrics
    telemetry: Telemetry
    promotions: Gate
    asks: Gate
    limits: RequestLimits
    ready: bool = False
    stopping: bool = False

    @classmethod
    def make(cls, settings: Settings, places: dict[str, str], telemetry: Telemetry | None = None) -> Service:
        """Return a service as the settings describe it; nothing is opened yet."""
        serve = settings.serve
        threads = serve.threads or min(4, os.cpu_count() or 1)
        return cls(
            settings=settings,
            stores=Stores(places, settings),
            promoter=promoter_of(settings),
            metrics=Metrics(),
            telemetry=telemetry or Telemetry(on=serve.telemetry, texts=serve.log_text),
            promotions=Gate("promote", serve.in_flight, threads, "serve.in_flight"),
            asks=Gate("ask", serve.asks, serve.asks, "serve.asks"),
            limits=RequestLimits(serve.max_candidates, serve.max_characters),
        )

    def open(self) -> None:
        """Open the stores and read the models, so that the first request is as fast as the others."""
        self.promoter.promote(
            "Who wrote it?", ["It was written by somebody.", "Nothing."], k=1, mode="document"
        )
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
        data = await read_bytes(request, int(serve.max_body_mb * 2**20), serve.body_timeout)
        gate.check()
        return decoded(data)

    async def promoting(self, request: Request, job: Callable[..., T], *arguments: Any) -> T:
        """Run a promotion in the gate for promotions."""
        limit = self.settings.serve.timeout
        return await self._run(self.promotions, limit, "serve.timeout", request, job, arguments)

    async def asking(self, request: Request, job: Callable[..., T], *arguments: Any) -> T:
        """Run a question to a store in the gate for those."""
        limit = self.settings.serve.ask_timeout
        return await self._run(self.asks, limit, "serve.ask_timeout", request, job, arguments)

    async def _run(
        self,
        gate: Gate,
        seconds: float,
        setting: str,
        request: Request,
        job: Callable[..., T],
        arguments: tuple[Any, ...],
    ) -> T:
        gone = watch(request)
        started = time.perf_counter()
        try:
            result, waited = await gate.run(job, *arguments, seconds=seconds, setting=setting, gone=gone)
        finally:
            gone.cancel()
        timings = work_of(request.scope).timings
        timings["queue"] = waited
        timings[gate.name] = time.perf_counter() - started - waited
        return result

    def note(self, request: Request, **notes: Any) -> None:
        """Add fields to the request's line in the log."""
        work_of(request.scope).notes.update(notes)

    def count(self, request: Request, state: str, question: str, *, texts: Any = None, **notes: Any) -> None:
        """Count a verdict and note it in the log, with question and texts where those may be logged."""
        self.metrics.states.labels(state).inc()
        said = {"question": question, "texts": texts} if self.settings.serve.log_text else {}
        told = {name: value for name, value in said.items() if value is not None}
        self.note(request, state=state, **notes, **told)


def json_response(content: Any, status: int = 200) -> Response:
    """Return JSON; NumPy's numbers are written as what they are."""
    body = orjson.dumps(content, option=orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS, default=_plain)
    return Response(body, status, media_type="application/json")


def _plain(value: Any) -> Any:
    if isinstance(value, tuple | set | frozenset):
        return list(value)
    return str(value)
