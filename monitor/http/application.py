"""The application: all routes, the rules for every answer, and the routes for programs.

GET and HEAD only. Every answer carries the policy that forbids scripts and hosts other than our
own. A refusal is a sentence, as JSON for programs and as a page for people. A web page open in a
browser may point its own host name at 127.0.0.1 (DNS rebinding) and read whatever answers there;
its requests carry that name in Host, so a foreign name is refused. An address in Host cannot be
pointed elsewhere, and neither can localhost.

Programs ask for metrics, health and readiness. The page of metrics is written on request, in the
service's thread, and kept as long as it is shown. It is written in small portions, so that no other
reader waits for it.
"""

from __future__ import annotations

import asyncio
import ipaddress
import re
import zlib
from collections.abc import AsyncIterator, Iterable, Sequence
from http import HTTPStatus
from typing import Any, Final, NamedTuple

from fastapi import APIRouter, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response, StreamingResponse
from prometheus_client.exposition import choose_encoder
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from monitor import __version__
from monitor.core.snapshot.snapshot import Snapshot
from monitor.extensions import Extension, hooks
from monitor.http import answers, interface, manual_pages, pages, server_sent_events
from monitor.http.answers import HTML
from monitor.http.metrics import Exposition
from monitor.http.process_metrics import ProcessMetrics
from monitor.http.published import Page, Published
from monitor.http.rankings import RankingCache
from monitor.http.rendering import Renderer
from monitor.http.telemetry import Figures, families
from monitor.http.text_format import CONTENT_TYPE, END, OPEN_CONTENT_TYPE, render

_PARTS: Final = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^:\[\]]+)(:[0-9]*)?")
_FOREIGN: Final = (
    "the name in this address (Host) is not one of this daemon's; ask for localhost or an address, "
    "or add the name to http.host_names"
)


class KnownHosts:
    """Answers 421 if Host is neither an address, nor localhost, nor one of ``names``."""

    def __init__(self, app: ASGIApp, names: Iterable[str]) -> None:
        self._app: Final = app
        self._names: Final = frozenset(name.lower() for name in names)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request; one without Host (HTTP/1.0) is not from a browser."""
        given = [value for name, value in scope.get("headers", ()) if name == b"host"]
        if all(self._is_known(each.decode("latin-1")) for each in given):
            await self._app(scope, receive, send)
            return
        await answers.refused_request(scope, 421, _FOREIGN)(scope, receive, send)

    def _is_known(self, host: str) -> bool:
        parts = _PARTS.fullmatch(host)
        if parts is None:
            return False
        name = parts[1].strip("[]").lower().removesuffix(".")
        if name == "localhost" or name.endswith(".localhost") or name in self._names:
            return True
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return False
        return True


# -- metrics, health, readiness -------------------------------------------------------------------

_PORTION_BYTES: Final = 1 << 17
_LEVEL: Final = 1
_GZIP: Final = 16 + zlib.MAX_WBITS
_STUCK: Final = "the main loop is stuck"


class _Written(NamedTuple):
    """The text of one publication, in portions."""

    snapshot: Snapshot
    figures: Figures | None
    portions: tuple[bytes, ...]

    def is_of(self, page: Page) -> bool:
        """Return whether it is the text of a page."""
        return self.snapshot is page.snapshot and self.figures is page.figures


class Scraping:
    """Answers with the metrics of a page; one text is written at a time, for all who ask."""

    def __init__(self, *, essential: bool) -> None:
        self._exposition: Final = Exposition(essential=essential)
        self._process: Final = ProcessMetrics()
        self._turn: Final = asyncio.Lock()
        self._written: Final[dict[tuple[bool, bool], _Written]] = {}

    async def answer(self, page: Page, *, packed: bool, is_open: bool) -> StreamingResponse:
        """Return the metrics of ``page``, as the reader accepts them: gzipped, in OpenMetrics."""
        async with self._turn:
            written = self._written.get((packed, is_open))
            if written is None or not written.is_of(page):
                text = self._portions(page, is_open=is_open)
                portions = [each async for each in (_pack(text) if packed else text)]
                written = _Written(page.snapshot, page.figures, tuple(portions))
                self._written[packed, is_open] = written
        headers = {"Content-Length": str(sum(map(len, written.portions)))}
        headers["Vary"] = "Accept, Accept-Encoding"
        if packed:
            headers["Content-Encoding"] = "gzip"
        kind = OPEN_CONTENT_TYPE if is_open else CONTENT_TYPE
        return StreamingResponse(_sent(written), headers=headers, media_type=kind)

    async def _portions(self, page: Page, *, is_open: bool) -> AsyncIterator[bytes]:
        """Yield the text; between the portions other tasks get their turn."""
        some: list[bytes] = []
        size = 0
        for part in self._exposition.parts(page.snapshot):
            for lines in part:
                some.append(lines)
                size += len(lines)
                if size >= _PORTION_BYTES:
                    yield b"".join(some)
                    some.clear()
                    size = 0
            await asyncio.sleep(0)
        if page.figures is not None:
            some.append(render(families(page.figures), is_open=is_open))
            some.append(self._process.render(is_open=is_open))
        elif is_open:
            some.append(END)
        yield b"".join(some)


async def _pack(portions: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    packer = zlib.compressobj(_LEVEL, zlib.DEFLATED, _GZIP)
    async for portion in portions:
        yield packer.compress(portion)
        await asyncio.sleep(0)
    yield packer.flush()


async def _sent(written: _Written) -> AsyncIterator[bytes]:
    for portion in filter(None, written.portions):
        yield portion


def metrics_routes(shared: Published, *, essential: bool) -> APIRouter:
    """Return the routes."""
    router, scraping = APIRouter(include_in_schema=False), Scraping(essential=essential)

    @router.get("/metrics")
    async def metrics(request: Request) -> Response:
        page = shared.page()
        if page is None:
            return Response("nothing is published yet\n", 503, media_type="text/plain")
        if shared.stalled_seconds():  # what it says now may be wrong: a frozen page is no news
            return Response(f"{_STUCK}\n", 503, media_type="text/plain")
        packed = "gzip" in answers.types_accepted(request, "accept-encoding")
        _, kind = choose_encoder(answers.types_accepted(request, "accept"))
        return await scraping.answer(page, packed=packed, is_open="openmetrics" in kind)

    @router.get("/healthz")
    async def health() -> Response:
        if shared.stalled_seconds():
            return Response(f"{_STUCK}\n", 503, media_type="text/plain")
        return Response("ok\n", media_type="text/plain")

    @router.get("/readyz")
    async def ready() -> Response:
        page = shared.page()
        not_ready = "still starting" if page is None else page.not_ready
        reason = _STUCK if shared.stalled_seconds() else not_ready
        if page is None or reason:
            return Response(f"{reason}\n", 503, media_type="text/plain")
        return Response(f"{page.catching_up or 'ready'}\n", media_type="text/plain")

    return router


# -- all routes -----------------------------------------------------------------------------------

SECURITY: Final = {
    "content-security-policy": "default-src 'none'; style-src 'self'; script-src 'self'; "
    "connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
}
_METHOD_NOT_ALLOWED: Final = 405
_DETAILS: Final = {
    404: "nothing is at this address; /api/v1/openapi.json lists the routes of the API, and the "
    "menu of every page the pages",
    405: "only GET and HEAD are answered; what changes a sensor is a message at the broker, which "
    "monitor event sends",
}
_HEADINGS: Final = {404: "There is no such page", 405: "Nothing can be changed here"}


def application(
    shared: Published,
    streams_max: int,
    *,
    essential_metrics: bool = False,
    root_path: str = "",
    extensions: Sequence[Extension] = (),
) -> FastAPI:
    """Return the application that shows the last published page, with the pages of extensions."""
    app = _Application(
        title="monitor",
        version=__version__,
        description="Are the sensors as right as they say? Everything here is read-only.",
        openapi_url="/api/v1/openapi.json",
        generate_unique_id_function=lambda route: route.name,
        docs_url=None,
        redoc_url=None,
    )
    renderer = Renderer([link for each in extensions for link in each.menu], root_path)
    app.include_router(metrics_routes(shared, essential=essential_metrics))
    rankings = RankingCache()
    app.include_router(interface.routes(shared, rankings, hooks(extensions, "members")))
    app.include_router(pages.page_routes(shared, renderer, rankings))
    for routes in hooks(extensions, "routes"):
        app.include_router(routes(shared, renderer))
    app.include_router(manual_pages.manual_routes(renderer))
    app.include_router(server_sent_events.stream_routes(shared, renderer, streams_max))
    app.add_middleware(Secured, root_path=root_path)
    _add_refusals(app, renderer)
    return app


class _Application(FastAPI):
    """Describes refusals in the media type that they have."""

    def openapi(self) -> dict[str, Any]:
        """Return the description of the interface."""
        if self.openapi_schema is None:
            paths = super().openapi()["paths"]
            for responses in (path["get"]["responses"] for path in paths.values()):
                for each in (responses[status] for status in responses if status >= "400"):
                    each["content"] = {answers.PROBLEM: each["content"][answers.JSON]}
        return super().openapi()


class Secured:
    """Gives every answer the headers of ``SECURITY``, and answers HEAD as GET without a body.

    Every path is below ``root_path``, whether or not the proxy has cut that off.
    """

    def __init__(self, app: ASGIApp, root_path: str = "") -> None:
        self._app: Final = app
        self._root_path: Final = root_path

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        # The server omits the body, because it knows the method of the request.
        method = "GET" if scope["method"] == "HEAD" else scope["method"]
        path = f"{scope['path']}/" if scope["path"] == self._root_path else scope["path"]
        if not path.startswith(f"{self._root_path}/"):
            path = self._root_path + path
        # Redirects, and the servers in the description of the interface, follow root_path.
        asked = {**scope, "method": method, "path": path, "root_path": self._root_path}

        async def secured(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = list(message["headers"])
                present = {name.lower() for name, _ in headers}
                headers += [
                    (name.encode(), value.encode())
                    for name, value in SECURITY.items()
                    if name.encode() not in present
                ]
                message = {**message, "headers": headers}
            await send(message)

        await self._app(asked, receive, secured)


def _add_refusals(app: FastAPI, renderer: Renderer) -> None:
    def refused(
        request: Request, status: int, detail: str, headers: dict[str, str] | None = None
    ) -> Response:
        if answers.is_for_programs(request.scope):
            return answers.refused_request(request.scope, status, detail, headers)
        heading = _HEADINGS.get(status, "This cannot be shown")
        text = renderer.text("error.html", {"status": status, "heading": heading, "detail": detail})
        return Response(text, status, headers, HTML)

    @app.exception_handler(HTTPException)
    async def refusal(request: Request, error: HTTPException) -> Response:
        headers = None if error.headers is None else dict(error.headers)
        if error.status_code == _METHOD_NOT_ALLOWED:
            headers = {"Allow": "GET, HEAD"}  # the framework names only GET of each route
        is_own = error.detail != HTTPStatus(error.status_code).phrase
        detail = error.detail if is_own else _DETAILS.get(error.status_code, error.detail)
        return refused(request, error.status_code, detail, headers)

    @app.exception_handler(RequestValidationError)
    async def mistake(request: Request, error: RequestValidationError) -> Response:
        flaws = [f"{'.'.join(map(str, each['loc'][1:]))}: {each['msg']}" for each in error.errors()]
        detail = f"the address asks for something impossible: {'; '.join(flaws)}"
        return refused(request, 422, detail)
