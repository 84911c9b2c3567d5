"""The application: all routes, behind the layer that every request goes through."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI, Request, Response
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware

from pagerag import __version__
from pagerag.errors import PageRAGError
from pagerag.serve import routes_chat, routes_own, routes_page, routes_rerank
from pagerag.serve.gate import ClientGoneError
from pagerag.serve.keys import is_loopback
from pagerag.serve.logs import log
from pagerag.serve.openapi import describe
from pagerag.serve.operation import GONE, Operation, refusal, work_of
from pagerag.serve.problems import FAULT, Problem, problem_of
from pagerag.serve.service import Service
from pagerag.serve.telemetry import Telemetry
from pagerag.settings import Settings

_LOOPBACK = frozenset(("localhost", "127.0.0.1", "[::1]", "testserver"))


def create_app(
    settings: Settings | None = None,
    stores: dict[str, str] | None = None,
    *,
    telemetry: Telemetry | None = None,
) -> Operation:
    """Return the server as an ASGI application over ``stores``, paths by name."""
    settings = settings or Settings()
    service = Service.make(settings, stores or {}, telemetry)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        opening = asyncio.create_task(asyncio.to_thread(service.open))
        opening.add_done_callback(_opened)
        yield
        service.close()

    app = FastAPI(title="pagerag", version=__version__, lifespan=lifespan, docs_url=None, redoc_url=None)
    for routes in (routes_rerank, routes_own, routes_chat, routes_page):
        app.include_router(routes.router(service))
    describe(app)

    @app.exception_handler(HTTPException)
    async def unknown(request: Request, error: HTTPException) -> Response:
        words = {
            404: f"there is nothing at {request.url.path}; /openapi.json lists the paths",
            405: f"{request.url.path} does not take {request.method}",
        }
        problem = Problem(error.status_code, "http", words.get(error.status_code, str(error.detail)))
        response = refusal(request.scope, problem)
        response.headers.update(error.headers or {})
        return response

    @app.exception_handler(Problem)
    async def refused(request: Request, problem: Problem) -> Response:
        return refusal(request.scope, problem)

    @app.exception_handler(PageRAGError)
    async def failed(request: Request, error: PageRAGError) -> Response:
        problem = problem_of(error)
        if problem.status == 500:
            raise error  # a fault of ours: the outermost layer logs it
        return refusal(request.scope, problem)

    @app.exception_handler(ClientGoneError)
    async def gone(request: Request, _: ClientGoneError) -> Response:
        work_of(request.scope).problem = "client_gone"
        return Response(status_code=GONE)

    @app.exception_handler(Exception)
    async def broken(request: Request, _: Exception) -> Response:
        return refusal(request.scope, FAULT)

    origins = sorted(_listed(settings.serve.origins))
    if origins:
        app.add_middleware(CORSMiddleware, allow_origins=origins, allow_methods=["*"], allow_headers=["*"])
    return Operation(app, service, hosts=_hosts(settings), origins=frozenset(origins))


def _opened(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        log("a store could not be opened; the server is not ready", level=40, error=error)


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
