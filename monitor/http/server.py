"""uvicorn without its clock: the thread of HTTP wakes for a request and to end, and else never.

uvicorn wakes ten times a second, to see whether it is to end and to write the date of its answers.
Here the end is signalled, and the date is written with each answer.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import MutableMapping
from contextlib import suppress
from email.utils import formatdate
from typing import Any, Final

import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send


class Dated:
    """Gives every answer its date (RFC 9110, section 6.6.1)."""

    def __init__(self, app: ASGIApp) -> None:
        self._app: Final = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""

        async def send_dated(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                date = formatdate(time.time(), usegmt=True).encode()
                message["headers"] = [(b"date", date), *message.get("headers", ())]
            await send(message)

        await self._app(scope, receive, send_dated)


class QuietServer(uvicorn.Server):
    """A server that sleeps until it is told to end; ``install_signal_handlers`` does nothing."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ended: Final = asyncio.Event()

    def install_signal_handlers(self) -> None:
        """Leave the signals to the process."""

    def end(self) -> None:
        """Let it come to its end at once; any thread may say so."""
        self.should_exit = self.force_exit = True
        if self._loop is not None:
            with suppress(RuntimeError):  # it came to its end before
                self._loop.call_soon_threadsafe(self._ended.set)

    async def main_loop(self) -> None:
        """Wait for the end."""
        self._loop = asyncio.get_running_loop()
        if not self.should_exit:
            await self._ended.wait()
