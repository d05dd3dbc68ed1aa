"""Who needs a reference next: the page, the calendar and the document, from one snapshot."""

from __future__ import annotations

from pathlib import Path

from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response

from monitor.core.formatting import series_path
from monitor.extensions.due.documents import (
    MEDIA_TYPE,
    DueList,
    DueOrder,
    chance_words,
    due_calendar,
    due_list,
)
from monitor.http.answers import gzipped, json_answer, shown_page, unless_known
from monitor.http.interface import described, known_parameters
from monitor.http.published import Published
from monitor.http.rendering import Renderer, without_time


def due_routes(shared: Published, renderer: Renderer) -> APIRouter:
    """Return the routes."""
    router = APIRouter()
    renderer.add_templates(Path(__file__).parent)

    @router.get(
        "/api/v1/due", responses=described(DueList), dependencies=[Depends(known_parameters)]
    )
    async def list_due(request: Request, order: DueOrder = "date") -> Response:
        """Who needs a reference next, and where one would tell most now."""
        return json_answer(request, due_list(shown_page(shared).snapshot, order))

    @router.get("/due", include_in_schema=False)
    async def due_page(request: Request, order: DueOrder = "date") -> Response:
        now = shown_page(shared).snapshot
        listed = due_list(now, order)
        rows = [
            {
                **each,
                "href": series_path(each["sensor"], each["quantity"]),
                "out_words": chance_words(each["out_of_tolerance"]),
                "worth_words": chance_words(each["worth"]),
            }
            for each in listed["series"]
        ]
        values = {"here": "/due", "found": listed, "rows": rows, "time": now.time, "live": "page"}
        text = renderer.text("due.html", values)
        return unless_known(request, text, without_time(text))

    @router.get("/due.ics", include_in_schema=False)
    async def calendar(request: Request) -> Response:
        """Say when references are wanted, to calendars."""
        return gzipped(request, due_calendar(shown_page(shared).snapshot), MEDIA_TYPE)

    return router
