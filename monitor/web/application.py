"""The routes. A fixed table; GET and HEAD only; every answer is text that was made safe.

Rules of this file: no route changes anything; nothing is read from a path that a client names;
templates escape; the policy forbids scripts and hosts other than our own.
"""

from __future__ import annotations

import math
from pathlib import Path as File
from typing import TYPE_CHECKING, Any, Final

from fastapi import FastAPI, HTTPException, Request
from fastapi.responses import JSONResponse, Response
from jinja2 import Environment, FileSystemLoader

from monitor import __version__
from monitor.core.snapshot import Snapshot

if TYPE_CHECKING:
    from monitor.web.service import Service

HERE: Final = File(__file__).parent
GET: Final = ["GET", "HEAD"]
METRICS_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
SECURITY: Final = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; script-src 'self'; "
    "connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}


def application(service: Service) -> FastAPI:
    """Return the application that shows what ``service`` published last."""
    app = FastAPI(title="monitor", version=__version__, docs_url=None, redoc_url=None)
    _add_operations(app, service)
    _add_interface(app, service)
    _add_troubles(app, service)
    _add_page(app, service)

    @app.middleware("http")
    async def secure(request: Request, call_next: Any) -> Response:  # noqa: ANN401 - Starlette's
        response: Response = await call_next(request)
        for name, value in SECURITY.items():
            response.headers.setdefault(name, value)
        return response

    return app


def _add_operations(app: FastAPI, service: Service) -> None:
    @app.api_route("/metrics", methods=GET, include_in_schema=False)
    async def metrics(request: Request) -> Response:
        page = service.page()
        if page is None:
            return Response("nothing is published yet\n", 503, media_type="text/plain")
        if "gzip" in request.headers.get("accept-encoding", ""):
            packed = {"Content-Encoding": "gzip", "Vary": "Accept-Encoding"}
            return Response(page.metrics_gzip, headers=packed, media_type=METRICS_TYPE)
        return Response(page.metrics, media_type=METRICS_TYPE)

    @app.api_route("/healthz", methods=GET, include_in_schema=False)
    async def health() -> Response:
        if service.stalled_seconds():
            return Response("the main loop does not move\n", 503, media_type="text/plain")
        return Response("ok\n", media_type="text/plain")

    @app.api_route("/readyz", methods=GET, include_in_schema=False)
    async def ready() -> Response:
        page = service.page()
        reason = "still starting" if page is None else page.not_ready
        if reason:
            return Response(f"{reason}\n", 503, media_type="text/plain")
        return Response("ready\n", media_type="text/plain")


def _add_interface(app: FastAPI, service: Service) -> None:
    @app.api_route("/api/v1/series", methods=GET)
    async def series() -> JSONResponse:
        """Every series: state, sentence and statistics."""
        now = _snapshot(service)
        return JSONResponse(
            {"time": now.time, "series": [entry(now, row) for row in range(len(now.names))]}
        )

    @app.api_route("/api/v1/series/{sensor}/{quantity}", methods=GET)
    async def one(sensor: str, quantity: str) -> JSONResponse:
        """One series."""
        now = _snapshot(service)
        for row, name in enumerate(now.names):
            if (name.sensor, name.quantity) == (sensor, quantity):
                return JSONResponse(entry(now, row))
        raise HTTPException(404, "there is no such series")

    @app.api_route("/api/v1/alerts", methods=GET)
    async def alerts() -> JSONResponse:
        """The alerts that fire now."""
        now = _snapshot(service)
        return JSONResponse(
            {
                "alerts": [
                    {
                        "sensor": now.names[row].sensor,
                        "quantity": now.names[row].quantity,
                        "alert": alert,
                        "evidence": _number(now.evidence[row]),
                        "sentence": now.sentences[row],
                    }
                    for alert, active in now.alerts.items()
                    for row in active.nonzero()[0].tolist()
                ]
            }
        )


def _add_troubles(app: FastAPI, service: Service) -> None:
    @app.api_route("/api/v1/deadletters", methods=GET)
    async def dead_letters() -> JSONResponse:
        """The newest messages that could not be used, with the reason."""
        page = service.page()
        letters = page.dead_letters if page is not None else ()
        return JSONResponse(
            {
                "deadletters": [
                    {
                        "received": letter.received,
                        "topic": letter.topic,
                        "reason": letter.reason,
                        "detail": letter.detail,
                        "payload": letter.payload.decode("utf-8", "backslashreplace"),
                    }
                    for letter in letters
                ]
            }
        )

    @app.api_route("/api/v1/doctor", methods=GET)
    async def doctor() -> JSONResponse:
        """Why there are no pairs: what came, what was refused, what waits."""
        page = service.page()
        if page is None:
            raise HTTPException(503, "nothing is published yet")
        return JSONResponse(dict(page.doctor))


def _add_page(app: FastAPI, service: Service) -> None:
    templates = Environment(
        loader=FileSystemLoader(HERE / "templates"), autoescape=True, trim_blocks=True
    )
    style = (HERE / "static" / "monitor.css").read_bytes()
    fleet = templates.get_template("fleet.html")

    @app.api_route("/", methods=GET, include_in_schema=False)
    async def index() -> Response:
        page = service.page()
        entries = []
        if page is not None:
            now = page.snapshot
            entries = [entry(now, row) for row in range(len(now.names))]
        text = fleet.render(
            entries=entries,
            not_ready="still starting" if page is None else page.not_ready,
            version=__version__,
        )
        return Response(text, media_type="text/html; charset=utf-8")

    @app.api_route("/static/monitor.css", methods=GET, include_in_schema=False)
    async def stylesheet() -> Response:
        return Response(style, media_type="text/css")


def _snapshot(service: Service) -> Snapshot:
    page = service.page()
    if page is None:
        raise HTTPException(503, "nothing is published yet")
    return page.snapshot


def entry(now: Snapshot, row: int) -> dict[str, Any]:
    """Return what the interface says of one series; a number that is undefined is null."""
    name = now.names[row]
    return {
        "sensor": name.sensor,
        "quantity": name.quantity,
        "unit": name.unit,
        "group": name.group,
        "state": now.states[row],
        "sentence": now.sentences[row],
        "advice": now.advice[row],
        "evidence": _number(now.evidence[row]),
        "pairs": int(now.window_pairs[row]),
        "last_reading": _number(now.last_reading[row]),
        "last_pair": _number(now.last_pair[row]),
        "statistics": {
            statistic: _number(values[row]) for statistic, values in now.statistics.items()
        },
    }


def _number(number: float) -> float | None:
    return float(number) if math.isfinite(number) else None
