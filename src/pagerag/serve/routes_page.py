"""The page, and what operators ask: health, readiness, metrics."""

from __future__ import annotations

import asyncio

from fastapi import APIRouter, Response

from pagerag import __version__
from pagerag.explain import app_page
from pagerag.serve.openapi import TEXT, documented
from pagerag.serve.service import Service, json_response

_HTML = "text/html; charset=utf-8"
_PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"


def router(service: Service) -> APIRouter:
    """Return the routes."""
    routes = APIRouter(tags=["operation"])
    html, policy = app_page()

    @routes.get("/", **documented("page", "The page", response=TEXT, kind=_HTML))
    async def page() -> Response:
        """Return the page: one file that loads nothing from elsewhere."""
        return Response(
            html,
            media_type=_HTML,
            headers={
                "Content-Security-Policy": policy,
                "Referrer-Policy": "no-referrer",
                "X-Frame-Options": "DENY",
                "Cache-Control": "no-cache",
            },
        )

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
