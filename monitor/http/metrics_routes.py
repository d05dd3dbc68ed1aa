"""What programs ask for: metrics, health, readiness.

The page of metrics is written when somebody asks for it, and kept as long as it is shown. It is
written in the service's thread, a little at a time, so that no other reader waits for it.
"""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import AsyncIterator
from typing import Final, NamedTuple

from fastapi import APIRouter, Request
from fastapi.responses import Response, StreamingResponse

from monitor.core.snapshot.snapshot import Snapshot
from monitor.http.metrics import Exposition
from monitor.http.process_metrics import ProcessMetrics
from monitor.http.published import Page, Published
from monitor.http.telemetry import Figures, families
from monitor.http.text_format import CONTENT_TYPE, render

_PORTION_BYTES: Final = 1 << 17
_LEVEL: Final = 1
_GZIP: Final = 16 + zlib.MAX_WBITS


class _Written(NamedTuple):
    """The text of one publication, in portions."""

    snapshot: Snapshot | None = None
    figures: Figures | None = None
    portions: tuple[bytes, ...] = ()

    def is_of(self, page: Page) -> bool:
        """Return whether it is the text of a page."""
        return self.snapshot is page.snapshot and self.figures is page.figures


class Scraping:
    """Answers with the metrics of a page; one text is written at a time, whoever asks."""

    def __init__(self) -> None:
        self._exposition: Final = Exposition()
        self._process: Final = ProcessMetrics()
        self._turn: Final = asyncio.Lock()
        self._plain = self._packed = _Written()

    async def answer(self, page: Page, *, packed: bool) -> StreamingResponse:
        """Return the metrics of ``page``, packed with gzip if the reader takes that."""
        async with self._turn:
            if packed and not self._packed.is_of(page):
                portions = [each async for each in _pack(self._portions(page))]
                self._packed = _Written(page.snapshot, page.figures, tuple(portions))
            if not packed and not self._plain.is_of(page):
                portions = [each async for each in self._portions(page)]
                self._plain = _Written(page.snapshot, page.figures, tuple(portions))
            written = self._packed if packed else self._plain
        headers = {"Content-Length": str(sum(map(len, written.portions)))}
        if packed:
            headers |= {"Content-Encoding": "gzip", "Vary": "Accept-Encoding"}
        return StreamingResponse(_sent(written), headers=headers, media_type=CONTENT_TYPE)

    async def _portions(self, page: Page) -> AsyncIterator[bytes]:
        """Yield the text; between the pieces of work others get their turn."""
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
            some += [render(families(page.figures)), self._process.render()]
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


def routes(shared: Published) -> APIRouter:
    """Return the routes."""
    router, scraping = APIRouter(include_in_schema=False), Scraping()

    @router.get("/metrics")
    async def metrics(request: Request) -> Response:
        page = shared.page()
        if page is None:
            return Response("nothing is published yet\n", 503, media_type="text/plain")
        packed = "gzip" in request.headers.get("accept-encoding", "")
        return await scraping.answer(page, packed=packed)

    @router.get("/healthz")
    async def health() -> Response:
        if shared.stalled_seconds():
            return Response("the main loop does not move\n", 503, media_type="text/plain")
        return Response("ok\n", media_type="text/plain")

    @router.get("/readyz")
    async def ready() -> Response:
        page = shared.page()
        reason = "still starting" if page is None else page.not_ready
        if reason:
            return Response(f"{reason}\n", 503, media_type="text/plain")
        return Response("ready\n", media_type="text/plain")

    return router
