"""The application: all routes, and what holds for every answer.

GET and HEAD only. Every answer carries the policy that forbids scripts and hosts other than our
own. A refusal is a sentence, as JSON for programs and as a page for people.
"""

from __future__ import annotations

from typing import Final

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from monitor import __version__
from monitor.http import (
    interface,
    metrics_routes,
    pages,
    server_sent_events,
)
from monitor.http.answers import HTML
from monitor.http.published import Published
from monitor.http.rankings import RankingCache
from monitor.http.rendering import Renderer

SECURITY: Final = {
    "content-security-policy": "default-src 'none'; style-src 'self'; script-src 'self'; "
    "connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
}
_HEADINGS: Final = {404: "There is no such page", 405: "Nothing can be changed here"}


def application(shared: Published, connections_max: int) -> FastAPI:
    """Return the application that shows what was published last."""
    app = FastAPI(
        title="monitor",
        version=__version__,
        description="Are the sensors as right as they say? Everything here only reads.",
        openapi_url="/api/v1/openapi.json",
        docs_url=None,
        redoc_url=None,
    )
    renderer = Renderer()
    app.include_router(metrics_routes.routes(shared))
    rankings = RankingCache()
    app.include_router(interface.routes(shared, rankings))
    app.include_router(pages.routes(shared, renderer, rankings))
    app.include_router(server_sent_events.routes(shared, renderer, connections_max // 2))
    app.add_middleware(Secured)
    _add_refusals(app, renderer)
    return app


class Secured:
    """Gives every answer the headers of ``SECURITY``, and answers HEAD as GET without a body."""

    def __init__(self, app: ASGIApp) -> None:
        self._app: Final = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        # The server leaves the body out, for it knows what was asked.
        asked = {**scope, "method": "GET"} if scope["method"] == "HEAD" else scope

        async def secured(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = list(message["headers"])
                told = {name.lower() for name, _ in headers}
                headers += [
                    (name.encode(), value.encode())
                    for name, value in SECURITY.items()
                    if name.encode() not in told
                ]
                message = {**message, "headers": headers}
            await send(message)

        await self._app(asked, receive, secured)


def _add_refusals(app: FastAPI, renderer: Renderer) -> None:
    def refused(
        request: Request, status: int, detail: str, headers: dict[str, str] | None
    ) -> Response:
        if request.url.path.startswith(("/api/", "/metrics", "/live/", "/static/")):
            return JSONResponse({"detail": detail}, status, headers)
        heading = _HEADINGS.get(status, "This cannot be shown")
        text = renderer.text("error.html", {"status": status, "heading": heading, "detail": detail})
        return Response(text, status, headers, HTML)

    @app.exception_handler(HTTPException)
    async def refusal(request: Request, error: HTTPException) -> Response:
        headers = None if error.headers is None else dict(error.headers)
        return refused(request, error.status_code, error.detail, headers)

    @app.exception_handler(RequestValidationError)
    async def mistake(request: Request, error: RequestValidationError) -> Response:
        told = [f"{'.'.join(map(str, each['loc'][1:]))}: {each['msg']}" for each in error.errors()]
        return refused(
            request, 422, f"the address asks for what cannot be: {'; '.join(told)}", None
        )
