"""Serve promotion over HTTP: every rerank client's wire format, an API of our own, chat, MCP, and a page.

``create_app`` makes the ASGI application, ``run`` serves it; ``Client`` and ``AsyncClient`` call it. The
extra ``serve`` brings what the server needs; the clients need httpx alone.
"""

from typing import TYPE_CHECKING, Any

from pagerag._extras import need

if TYPE_CHECKING:
    from pagerag.serve.app import create_app
    from pagerag.serve.client import AsyncClient, Client
    from pagerag.serve.process import run

__all__ = ["AsyncClient", "Client", "create_app", "run"]


def __getattr__(name: str) -> Any:
    if name in {"Client", "AsyncClient"}:
        from pagerag.serve import client

        return getattr(client, name)
    if name in {"create_app", "run"}:
        for module in ("fastapi", "uvicorn", "orjson", "prometheus_client", "python_multipart"):
            need(module, module.replace("_", "-"), "serve", "pagerag serve")
        from pagerag.serve import app, process

        return app.create_app if name == "create_app" else process.run
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
