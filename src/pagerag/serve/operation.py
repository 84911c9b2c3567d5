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
from pagerag.serve.logs import log
from pagerag.serve.problems import FAULT, Problem, shape

if TYPE_CHECKING:
    from pagerag.serve.service import Service

OPEN = frozenset(("/health",))
"""Paths that need no key: what a load balancer asks."""

_ID = re.compile(r"[A-Za-z0-9._\-]{1,64}")
_SAFE = frozenset(("GET", "HEAD", "OPTIONS"))
_QUIET = frozenset(("/health", "/ready", "/metrics"))

GONE = 499
"""Nobody reads this status; it stands in the log."""


@dataclass(slots=True)
class Work:
    """What is known of a request while it is under way."""

    id: str
    started: float
    timings: dict[str, float] = field(default_factory=dict)
    notes: dict[str, Any] = field(default_factory=dict)
    problem: str = ""


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
    """The outermost layer of the server, as plain ASGI so that it costs little. ``stop`` begins the drain.

    ``hosts`` are the names that it answers to, none meaning any; pages of ``origins`` may call it.
    """

    def __init__(
        self,
        app: ASGIApp,
        service: Service,
        *,
        hosts: frozenset[str] = frozenset(),
        origins: frozenset[str] = frozenset(),
    ) -> None:
        self.app, self.service, self.metrics = app, service, service.metrics
        self.keys = Keys(service.settings.serve.api_key_file)
        self.hosts, self.origins = hosts, origins

    def stop(self) -> None:
        """Tell load balancers and clients that this server will be gone; work under way goes on."""
        self.service.stopping = True

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
        given = headers.get(b"x-request-id", "")
        work = Work(given if _ID.fullmatch(given) else uuid.uuid4().hex, time.perf_counter())
        scope.setdefault("state", {})["work"] = work
        reply = _Reply(send, work, self)
        failure: BaseException | None = None
        try:
            self._admit(scope, headers)
            await self.app(scope, receive, reply)
        except Problem as refused:
            await refusal(scope, refused, page="text/html" in headers.get(b"accept", ""))(
                scope, receive, reply
            )
        except Exception as error:  # noqa: BLE001 - the last layer: nothing may end a worker
            failure = error
            if not reply.begun:
                await refusal(scope, FAULT)(scope, receive, reply)
        self._account(scope, work, reply, failure)

    def _admit(self, scope: Scope, headers: Mapping[bytes, str]) -> None:
        path = scope["path"]
        host = headers.get(b"host", "").lower()
        name = host.rsplit(":", 1)[0] if not host.endswith("]") else host
        if self.hosts and name not in self.hosts and path not in OPEN:
            raise Problem(
                421, "unknown_host", "the server is not known by this name; add it to the setting serve.hosts"
            )
        if path not in OPEN and not self.keys.allows(headers.get(b"authorization")):
            raise Problem(401, "unauthorized", "a key is needed: Authorization: Bearer KEY")
        if scope["method"] not in _SAFE:
            self._check_origin(headers, host)

    def _check_origin(self, headers: Mapping[bytes, str], host: str) -> None:
        """Refuse what a web page of another origin makes a browser send."""
        origin = headers.get(b"origin", "")
        if origin and origin != "null":
            same = urlsplit(origin).netloc.lower() == host
        else:
            same = origin != "null" and headers.get(b"sec-fetch-site", "none") in {"none", "same-origin"}
        if not same and origin not in self.origins:
            raise Problem(
                403,
                "foreign_origin",
                "a page of another origin may not call this server (setting serve.origins)",
            )

    def _account(self, scope: Scope, work: Work, reply: _Reply, failure: BaseException | None) -> None:
        seconds = time.perf_counter() - work.started
        route = getattr(scope.get("route"), "path", None) or "unknown"
        self.metrics.requests.labels(route, scope["method"], str(reply.status)).inc()
        self.metrics.seconds.labels(route).observe(seconds)
        for stage, took in work.timings.items():
            self.metrics.stages.labels(stage).observe(took)
        level = logging.DEBUG if route in _QUIET else logging.INFO
        if failure is not None or reply.status == 500:
            level = logging.ERROR
        log(
            "request",
            level=level,
            error=failure,
            id=work.id,
            method=scope["method"],
            route=route,
            status=reply.status,
            ms=round(1000 * seconds, 2),
            **({"problem": work.problem} if work.problem else {}),
            **{f"{stage}_ms": round(1000 * took, 2) for stage, took in work.timings.items()},
            **work.notes,
        )


class _Reply:
    """The way out: adds the headers that every response has."""

    def __init__(self, send: Send, work: Work, operation: Operation) -> None:
        self.send, self.work, self.operation = send, work, operation
        self.status, self.begun = 0, False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.begun, self.status = True, message["status"]
            total = time.perf_counter() - self.work.started
            timings = {**self.work.timings, "total": total}
            timing = ", ".join(f"{name};dur={1000 * took:.2f}" for name, took in timings.items())
            extra = [
                (b"x-request-id", self.work.id.encode()),
                (b"server-timing", timing.encode()),
                (b"x-content-type-options", b"nosniff"),
            ]
            if self.operation.service.stopping:
                extra.append((b"connection", b"close"))
            message = {**message, "headers": [*message.get("headers", ()), *extra]}
        await self.send(message)
