"""What the routes share: settings, promoter, stores, gates, and one way to run a job."""

from __future__ import annotations

import asyncio
import os
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
from pagerag.serve.operation import Work, work_of
from pagerag.serve.problems import Refused
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

    def check_size(self, count: int, characters: int, field: str = "candidates") -> None:
        """Refuse more candidates or text than the limits allow."""
        if count > self.limits.candidates:
            raise Refused(
                f"{count:,} candidates in one request; the limit is {self.limits.candidates:,} "
                "(setting serve.max_candidates)",
                field=field,
            )
        if characters > self.limits.characters:
            raise Refused(
                f"{characters:,} characters of text in one request; the limit is {self.limits.characters:,} "
                "(setting serve.max_characters)",
                field=field,
            )

    async def promoting(self, request: Request, job: Callable[..., T], *arguments: Any) -> T:
        """Run a promotion in the gate for promotions."""
        return await self._run(
            self.promotions, self.settings.serve.timeout, "serve.timeout", request, job, arguments
        )

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
        work = work_of(request.scope)
        clock = asyncio.get_running_loop()
        started = clock.time()
        try:
            result, waited = await gate.run(job, *arguments, seconds=seconds, setting=setting, gone=gone)
        finally:
            gone.cancel()
        work.timed("queue", waited)
        work.timed(gate.name, clock.time() - started - waited)
        return result

    def note(self, request: Request, **notes: Any) -> Work:
        """Add fields to the request's line in the log."""
        work = work_of(request.scope)
        work.notes.update(notes)
        return work


def json_response(content: Any, status: int = 200) -> Response:
    """Return JSON; NumPy's numbers are written as what they are."""
    body = orjson.dumps(content, option=orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS, default=_plain)
    return Response(body, status, media_type="application/json")


def _plain(value: Any) -> Any:
    if isinstance(value, tuple | set | frozenset):
        return list(value)
    return str(value)
