"""The application: all routes, behind the layer that every request goes through."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import APIRouter, FastAPI, Request, Response
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware

from pagerag import __version__
from pagerag.errors import PageRAGError
from pagerag.explain import app_page
from pagerag.serve import routes_chat, routes_own, routes_rerank
from pagerag.serve.keys import is_loopback
from pagerag.serve.openapi import TEXT, describe, documented
from pagerag.serve.operation import Operation, refusal
from pagerag.serve.problems import FAULT, Problem, problem_of
from pagerag.serve.service import Service, json_response
from pagerag.serve.telemetry import Telemetry, log
from pagerag.settings import Settings

_LOOPBACK = frozenset(("localhost", "127.0.0.1", "[::1]", "testserver"))
_HTML = "text/html; charset=utf-8"
_PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"


def create_app(
    settings: Settings | None = None,
    stores: dict[str, str] | None = None,
    *,
    telemetry: Telemetry | None = None,
) -> Operation:
    """Return the server as an ASGI application over ``stores``, paths by name."""
    settings = settings or Settings()
    service = Service(settings, stores or {}, telemetry)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        opening = asyncio.create_task(asyncio.to_thread(service.open))
        opening.add_done_callback(_opened)
        yield
        service.close()

    app = FastAPI(title="pagerag", version=__version__, lifespan=lifespan, docs_url=None, redoc_url=None)
    for router in (routes_rerank.router, routes_own.router, routes_chat.router, _router):
        app.include_router(router(service))
    describe(app)
    for kind in (HTTPException, Problem, PageRAGError):
        app.add_exception_handler(kind, _refused)

    @app.exception_handler(Exception)
    async def broken(request: Request, _: Exception) -> Response:
        return refusal(request.scope, FAULT)

    origins = _listed(settings.serve.origins)
    if origins:
        app.add_middleware(
            CORSMiddleware, allow_origins=sorted(origins), allow_methods=["*"], allow_headers=["*"]
        )
    return Operation(app, service, hosts=_hosts(settings), origins=origins)


async def _refused(request: Request, error: Exception) -> Response:
    """Answer what ended in one of our errors, or in one of the framework's."""
    if isinstance(error, HTTPException):
        words = {
            404: f"there is nothing at {request.url.path}; /openapi.json lists the paths",
            405: f"{request.url.path} does not take {request.method}",
        }
        problem = Problem(error.status_code, "http", words.get(error.status_code, str(error.detail)))
        response = refusal(request.scope, problem)
        response.headers.update(error.headers or {})
        return response
    problem = problem_of(error)
    if problem is FAULT:
        raise error  # a fault of ours: the outermost layer logs it
    return refusal(request.scope, problem)


def _opened(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        event = "a store could not be opened; the server is not ready"
        if isinstance(error, PageRAGError):  # its words say what to do; where it was raised says nothing more
            log(event, level=40, problem=str(error))
        else:
            log(event, level=40, error=error)


def _listed(text: str) -> frozenset[str]:
    return frozenset(part.strip().lower().rstrip("/") for part in text.split(",") if part.strip())


def _hosts(settings: Settings) -> frozenset[str]:
    """Return the names the server answers to; none means any.

    A server on loopback without keys answers only to names of loopback: otherwise any web page could reach it
    by pointing a name of its own there.
    """
    named = _listed(settings.serve.hosts)
    if "*" in named or (not named and (settings.serve.api_key_file or not is_loopback(settings.serve.host))):
        return frozenset()
    return named | _LOOPBACK


def _router(service: Service) -> APIRouter:
    """Return the page, and what operators ask: health, readiness, metrics."""
    routes = APIRouter(tags=["operation"])
    html, policy = app_page()

    @routes.get("/", **documented("page", "The page", response=TEXT, kind=_HTML))
    async def page() -> Response:
        """Return the page: one file that loads nothing from elsewhere."""
        headers = {
            "Content-Security-Policy": policy,
            "Referrer-Policy": "no-referrer",
            "X-Frame-Options": "DENY",
            "Cache-Control": "no-cache",
        }
        return Response(html, media_type=_HTML, headers=headers)

    @routes.get("/health", **documented("health", "Whether the process answers"))
    async def health() -> Response:
        """Say that the process answers; needs no key."""
        return json_response({"status": "ok", "version": __version__})

    @routes.get("/ready", **documented("ready", "Whether it takes work"))
    async def ready() -> Response:
        """Say whether the stores are open and the server is not stopping."""
        if service.stopping or not service.ready:
            return json_response({"status": "stopping" if service.stopping else "starting"}, 503)
        return json_response({"status": "ready", "stores": len(service.stores)})

    @routes.get("/metrics", **documented("metrics", "Prometheus metrics", response=TEXT, kind=_PROMETHEUS))
    async def metrics() -> Response:
        """Return counters and histograms in Prometheus' format."""
        for gate in (service.promotions, service.asks):
            service.metrics.inside.labels(gate.name).set(gate.inside)
        text = await asyncio.to_thread(service.metrics.text)
        return Response(text, media_type=_PROMETHEUS)

    return routes
