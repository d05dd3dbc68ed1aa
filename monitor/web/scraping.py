"""The page of metrics as it goes over the wire: written when somebody asks, kept while it is shown.

Rules of this file: it runs in the service's thread, a little at a time, so that neither the data
nor other readers wait for it; of a page that nobody asks for nothing is written.
"""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import AsyncIterator, Iterable, Iterator
from typing import Final, NamedTuple

from fastapi.responses import StreamingResponse

from monitor.core.snapshot import Snapshot
from monitor.exposition import Exposition
from monitor.telemetry import Figures, Telemetry
from monitor.web.page import Page

METRICS_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
_SENT_BYTES: Final = 1 << 17
_LEVEL: Final = 1
_GZIP: Final = 16 + zlib.MAX_WBITS


class _Written(NamedTuple):
    """The text of one publication, in parts; ``packed`` once somebody wanted it so."""

    snapshot: Snapshot | None = None
    figures: Figures | None = None
    parts: tuple[bytes, ...] = ()
    packed: tuple[bytes, ...] = ()

    def is_of(self, page: Page) -> bool:
        """Return whether it is the text of a page."""
        return self.snapshot is page.snapshot and self.figures is page.figures


class Scraping:
    """Answers with the metrics of a page; one text is written at a time, whoever asks."""

    def __init__(self) -> None:
        self._exposition: Final = Exposition()
        self._figures = Figures()
        self._telemetry: Final = Telemetry(lambda: self._figures)
        self._turn: Final = asyncio.Lock()
        self._written = _Written()

    async def answer(self, page: Page, *, packed: bool) -> StreamingResponse:
        """Return the metrics of ``page``, packed with gzip if the reader takes that."""
        async with self._turn:
            if not self._written.is_of(page):
                self._written = await self._write(page)
            if packed and not self._written.packed:
                self._written = self._written._replace(packed=await _pack(self._written.parts))
            written = self._written
        parts = written.packed if packed else written.parts
        headers = {"Content-Length": str(sum(map(len, parts)))}
        if packed:
            headers |= {"Content-Encoding": "gzip", "Vary": "Accept-Encoding"}
        return StreamingResponse(_sent(parts), headers=headers, media_type=METRICS_TYPE)

    async def _write(self, page: Page) -> _Written:
        parts: list[bytes] = []
        for some in self._exposition.parts(page.snapshot):
            parts += some
            await asyncio.sleep(0)
        if page.figures is not None:
            self._figures = page.figures
            parts.append(self._telemetry.render())
        return _Written(page.snapshot, page.figures, tuple(parts))


async def _pack(parts: Iterable[bytes]) -> tuple[bytes, ...]:
    packer = zlib.compressobj(_LEVEL, zlib.DEFLATED, _GZIP)
    packed: list[bytes] = []
    for some in _joined(parts):
        packed.append(packer.compress(some))
        await asyncio.sleep(0)
    return (*filter(None, packed), packer.flush())


async def _sent(parts: Iterable[bytes]) -> AsyncIterator[bytes]:
    for some in _joined(parts):
        yield some


def _joined(parts: Iterable[bytes]) -> Iterator[bytes]:
    """Yield ``parts`` in order, so many together that sending them is worth a call."""
    some: list[bytes] = []
    size = 0
    for part in parts:
        some.append(part)
        size += len(part)
        if size >= _SENT_BYTES:
            yield b"".join(some)
            some.clear()
            size = 0
    yield b"".join(some)
