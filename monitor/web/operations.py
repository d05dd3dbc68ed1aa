"""What programs ask for: metrics, health, readiness."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fastapi import APIRouter, Request
from fastapi.responses import Response

if TYPE_CHECKING:
    from monitor.web.service import Service

METRICS_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"


def routes(service: Service) -> APIRouter:
    """Return the routes."""
    router = APIRouter(include_in_schema=False)

    @router.get("/metrics")
    async def metrics(request: Request) -> Response:
        page = service.page()
        if page is None:
            return Response("nothing is published yet\n", 503, media_type="text/plain")
        if "gzip" in request.headers.get("accept-encoding", ""):
            packed = {"Content-Encoding": "gzip", "Vary": "Accept-Encoding"}
            return Response(page.metrics_gzip, headers=packed, media_type=METRICS_TYPE)
        return Response(page.metrics, media_type=METRICS_TYPE)

    @router.get("/healthz")
    async def health() -> Response:
        if service.stalled_seconds():
            return Response("the main loop does not move\n", 503, media_type="text/plain")
        return Response("ok\n", media_type="text/plain")

    @router.get("/readyz")
    async def ready() -> Response:
        page = service.page()
        reason = "still starting" if page is None else page.not_ready
        if reason:
            return Response(f"{reason}\n", 503, media_type="text/plain")
        return Response("ready\n", media_type="text/plain")

    return router
