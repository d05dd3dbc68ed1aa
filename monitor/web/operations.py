"""What programs ask for: metrics, health, readiness."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastapi import APIRouter, Request
from fastapi.responses import Response

from monitor.web.scraping import Scraping

if TYPE_CHECKING:
    from monitor.web.service import Service


def routes(service: Service) -> APIRouter:
    """Return the routes."""
    router, scraping = APIRouter(include_in_schema=False), Scraping()

    @router.get("/metrics")
    async def metrics(request: Request) -> Response:
        page = service.page()
        if page is None:
            return Response("nothing is published yet\n", 503, media_type="text/plain")
        packed = "gzip" in request.headers.get("accept-encoding", "")
        return await scraping.answer(page, packed=packed)

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
