"""Server-sent events for open pages: changes, as they happen.

A stream ends by itself after a while, and the browser reconnects. There are fewer streams than
connections, so that other readers get through. Nothing is kept for readers that are gone.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Annotated, Final

import msgspec
from fastapi import APIRouter, Query
from fastapi.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from monitor.core.formatting import date_time
from monitor.http.answers import PageQuery, refused_request, unpaired
from monitor.http.published import Page, Published
from monitor.http.rendering import Renderer, fleet_title, warnings_mark
from monitor.http.selection import SeriesQuery

STREAM_SECONDS: Final = 25.0
_LOOK_SECONDS: Final = 0.1
SeenMark = Annotated[str, Query(alias="seen", max_length=64)]
_HELLO: Final = b": hello\n\n"
_TOO_MANY: Final = "too many pages are live; this one is right but will not update"


def stream_routes(shared: Published, renderer: Renderer, streams_max: int) -> APIRouter:
    """Return the streams."""
    router = APIRouter(prefix="/live", include_in_schema=False)
    streams = Streams(streams_max)

    @router.get("/fleet")
    async def fleet(query: PageQuery, mark: SeenMark = "") -> EventStream:
        return streams.open(_fleet(shared, renderer, query, mark))

    @router.get("/page")
    async def page() -> EventStream:
        return streams.open(_published(shared))

    return router


class Streams:
    """Counts the streams that are open."""

    def __init__(self, most: int) -> None:
        self._most: Final = most
        self._open = 0

    def open(self, events: AsyncIterator[bytes]) -> EventStream:
        """Return an answer that sends ``events`` as they come."""
        return EventStream(self, events)

    def enter(self) -> bool:
        """Count one more stream; return False if that is one too many."""
        if self._open >= self._most:
            return False
        self._open += 1
        return True

    def leave(self) -> None:
        """Count one stream less."""
        self._open -= 1


class EventStream(StreamingResponse):
    """An endless answer, or a refusal if there are too many of them."""

    def __init__(self, streams: Streams, events: AsyncIterator[bytes]) -> None:
        super().__init__(_begun(events), media_type="text/event-stream")
        self._streams: Final = streams

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the events until they end, or the reader is gone."""
        if not self._streams.enter():
            refused = refused_request(scope, 503, _TOO_MANY, {"Retry-After": "10"})
            await refused(scope, receive, send)
            return
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._streams.leave()


async def _begun(events: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    yield _HELLO
    async for event in events:
        yield event


async def _pages(shared: Published) -> AsyncIterator[Page]:
    """Yield every published page, the present one first, for a while."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + STREAM_SECONDS
    shown: Page | None = None
    while loop.time() < deadline and not shared.stopping:
        page = shared.page()
        if page is not None and page is not shown:
            shown = page
            yield page
        await asyncio.sleep(_LOOK_SECONDS)


async def _published(shared: Published) -> AsyncIterator[bytes]:
    async for page in _pages(shared):
        yield _event("published", {"time": _told(page)})


async def _fleet(
    shared: Published, renderer: Renderer, query: SeriesQuery, mark: str
) -> AsyncIterator[bytes]:
    """Yield the lines that changed, the order if it changed, and the content above them.

    The reader already has the lines with the mark ``mark``. Of warnings only the mark is sent.
    """
    sent: dict[str, str] = {}
    async for page in _pages(shared):
        shown = renderer.fleet(page, query)
        if not sent and shown.mark == mark:
            sent = shown.rows
        changed = {key: row for key, row in shown.rows.items() if sent.get(key) != row}
        content: dict[str, object] = {"time": _told(page)}
        content["summary"] = renderer.rooted(shown.summary)
        content["rows"] = {key: renderer.rooted(row) for key, row in changed.items()}
        content["mark"] = shown.mark
        content["title"] = fleet_title(shown.selection)
        pairing = await unpaired(shared, page)
        if pairing is not None:
            content["warnings"] = warnings_mark(page.notices, pairing, shown.faults)
        if list(sent) != list(shown.rows):
            content["order"] = list(shown.rows)
        sent = shown.rows
        yield _event("fleet", content)


def _told(page: Page) -> str:
    return f"{date_time(page.snapshot.time)} UTC"


def _event(name: str, content: dict[str, object]) -> bytes:
    return b"event: %b\ndata: %b\n\n" % (name.encode(), msgspec.json.encode(content))
