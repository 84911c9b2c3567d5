"""What every request goes through: its id, the key, the origin, the clock, the log and the metrics."""

from __future__ import annotations

import logging
import re
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import orjson
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pagerag.serve.keys import Keys
from pagerag.serve.problems import FAULT, Problem, shape
from pagerag.serve.telemetry import log

if TYPE_CHECKING:
    from pagerag.serve.service import Service

OPEN = frozenset(("/health",))  # paths that need no key: what a load balancer asks
_ID = re.compile(r"[A-Za-z0-9._\-]{1,64}")
_SAFE = frozenset(("GET", "HEAD", "OPTIONS"))
_Names = frozenset[str]
_QUIET = frozenset(("/health", "/ready", "/metrics"))


@dataclass(slots=True)
class Work:
    """What is known of a request while it is under way."""

    id: str
    started: float
    timings: dict[str, float] = field(default_factory=dict)
    notes: dict[str, Any] = field(default_factory=dict)
    problem: str = ""
    status: int = 0  # of the response, once it has begun


def work_of(scope: Mapping[str, Any]) -> Work:
    """Return what is known of the request of this ASGI scope."""
    work: Work = scope["state"]["work"]
    return work


def refusal(scope: Scope, problem: Problem, *, page: bool = False) -> Response:
    """Return a problem as a response in the shape that clients of the path read."""
    work = work_of(scope)
    work.problem = problem.kind
    response = Response(
        orjson.dumps(shape(scope["path"], problem, work.id)),
        problem.status,
        media_type="application/json",
        headers=problem.headers,
    )
    if problem.status == 401:  # a browser asks for the key; the password is what counts
        response.headers["www-authenticate"] = 'Basic realm="pagerag", charset="UTF-8"' if page else "Bearer"
    if problem.status in {408, 413}:
        response.headers["connection"] = "close"  # what is left of the body is not read
    return response


class Operation:
    """The outermost layer of the server, as plain ASGI so that it costs little.

    ``hosts`` are the names that it answers to, none meaning any; pages of ``origins`` may call it.
    """

    def __init__(
        self, app: ASGIApp, service: Service, *, hosts: _Names = frozenset(), origins: _Names = frozenset()
    ) -> None:
        self.app, self.service, self.metrics = app, service, service.metrics
        self.keys = Keys(service.settings.serve.api_key_file)
        self.hosts, self.origins = hosts, origins

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
        given = headers.get(b"x-request-id", "")
        work = Work(given if _ID.fullmatch(given) else uuid.uuid4().hex, time.perf_counter())
        scope.setdefault("state", {})["work"] = work

        async def reply(message: Message) -> None:
            """Send what goes out, with the headers that every response has."""
            if message["type"] == "http.response.start":
                work.status = message["status"]
                message = {**message, "headers": [*message.get("headers", ()), *self._headers(work)]}
            await send(message)

        failure: BaseException | None = None
        try:
            self._admit(scope, headers)
            await self.app(scope, receive, reply)
        except Problem as refused:
            page = "text/html" in headers.get(b"accept", "")
            await refusal(scope, refused, page=page)(scope, receive, reply)
        except Exception as error:  # noqa: BLE001 - the last layer: nothing may end a worker
            failure = error
            if not work.status:
                await refusal(scope, FAULT)(scope, receive, reply)
        self._account(scope, work, failure)

    def _headers(self, work: Work) -> list[tuple[bytes, bytes]]:
        timings = {**work.timings, "total": time.perf_counter() - work.started}
        timing = ", ".join(f"{name};dur={1000 * took:.2f}" for name, took in timings.items())
        found = [
            (b"x-request-id", work.id.encode()),
            (b"server-timing", timing.encode()),
            (b"x-content-type-options", b"nosniff"),
        ]
        return [*found, (b"connection", b"close")] if self.service.stopping else found

    def _admit(self, scope: Scope, headers: Mapping[bytes, str]) -> None:
        path = scope["path"]
        host = headers.get(b"host", "").lower()
        name = host.rsplit(":", 1)[0] if not host.endswith("]") else host
        if self.hosts and name not in self.hosts and path not in OPEN:
            words = "the server is not known by this name; add it to the setting serve.hosts"
            raise Problem(421, "unknown_host", words)
        if path not in OPEN and not self.keys.allows(headers.get(b"authorization")):
            raise Problem(401, "unauthorized", "a key is needed: Authorization: Bearer KEY")
        if scope["method"] in _SAFE:
            return
        origin = headers.get(b"origin", "")  # a web page of another one makes a browser send this
        if origin and origin != "null":
            same = urlsplit(origin).netloc.lower() == host
        else:
            same = not origin and headers.get(b"sec-fetch-site", "none") in {"none", "same-origin"}
        if not same and origin not in self.origins:
            words = "a page of another origin may not call this server (setting serve.origins)"
            raise Problem(403, "foreign_origin", words)

    def _account(self, scope: Scope, work: Work, failure: BaseException | None) -> None:
        seconds = time.perf_counter() - work.started
        route = getattr(scope.get("route"), "path", None) or "unknown"
        self.metrics.requests.labels(route, scope["method"], str(work.status)).inc()
        self.metrics.seconds.labels(route).observe(seconds)
        for stage, took in work.timings.items():
            self.metrics.stages.labels(stage).observe(took)
        level = logging.DEBUG if route in _QUIET else logging.INFO
        if failure is not None or work.status == 500:
            level = logging.ERROR
        told = {"id": work.id, "method": scope["method"], "route": route, "status": work.status}
        told |= {"ms": round(1000 * seconds, 2), **({"problem": work.problem} if work.problem else {})}
        told |= {f"{stage}_ms": round(1000 * took, 2) for stage, took in work.timings.items()}
        log("request", level=level, error=failure, **told, **work.notes)
