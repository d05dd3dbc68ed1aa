"""uvicorn without its clock: the thread of HTTP wakes for a request and for its end, else never.

Rules of this file: what uvicorn does every tenth of a second (look whether it is to end, write the
date of the answers) is done when there is cause to.

A connection that is slow, or one too many, costs nobody else anything.

Rules of this file: a request's head has a time limit, its answer another; over the cap the oldest
connection that has not said what it wants makes room, so that many who say nothing keep nobody out.
uvicorn has neither limit for the head, so its protocol is extended here.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, MutableMapping
from contextlib import suppress
from email.utils import formatdate
from typing import Any, Final

import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol


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


ANSWER_SECONDS = 30.0


class LimitedProtocol(H11Protocol):
    """HTTP/1.1 with limits; make a class with your own by :func:`limited`."""

    connections_max = 64
    head_seconds = 5.0
    refused = 0
    speechless: dict[LimitedProtocol, None]
    """Those whose request's head is not complete, oldest first."""

    _timer: asyncio.TimerHandle | None = None
    _over_the_cap = False

    def connection_made(self, transport: Any) -> None:  # noqa: ANN401 - as uvicorn types it
        """Take a connection, or close it if there are too many."""
        if len(self.connections) >= self.connections_max and not self._make_room():
            type(self).refused += 1
            self._over_the_cap = True
            transport.abort()
            return
        super().connection_made(transport)
        self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget a connection."""
        self._limit(None)
        self.speechless.pop(self, None)
        if not self._over_the_cap:
            super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take bytes; once the head is complete the answer's limit holds."""
        if self._over_the_cap:
            return
        before = self.cycle
        super().data_received(data)
        if self.cycle is not before:
            self.speechless.pop(self, None)
            self._limit(ANSWER_SECONDS)

    def on_response_complete(self) -> None:
        """Wait for the next request's head."""
        super().on_response_complete()
        self._await_head()

    def _await_head(self) -> None:
        self.speechless[self] = None
        self._limit(self.head_seconds)

    def _make_room(self) -> bool:
        """Close the oldest connection that has not said what it wants; return whether one was."""
        if not self.speechless:
            return False
        oldest = next(iter(self.speechless))
        type(self).refused += 1
        del self.speechless[oldest]
        self.connections.discard(oldest)
        oldest.transport.abort()
        return True

    def _limit(self, seconds: float | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if seconds is not None and not self.transport.is_closing():
            self._timer = self.loop.call_later(seconds, self.transport.abort)


class _Loop(asyncio.SelectorEventLoop):
    """A loop whose encrypted connections must be agreed upon in time."""

    handshake_seconds = 5.0

    async def create_server(self, *args: Any, **options: Any) -> asyncio.Server:  # noqa: ANN401
        """Listen."""
        if options.get("ssl") is not None:
            options["ssl_handshake_timeout"] = self.handshake_seconds
        return await super().create_server(*args, **options)


def loop_of(handshake_seconds: float) -> Callable[[], asyncio.AbstractEventLoop]:
    """Return what makes a loop with this limit."""
    return type("Loop", (_Loop,), {"handshake_seconds": handshake_seconds})


def limited(connections_max: int, head_seconds: float) -> type[LimitedProtocol]:
    """Return a protocol class with these limits."""
    limits = {"connections_max": connections_max, "head_seconds": head_seconds, "refused": 0}
    return type("Limited", (LimitedProtocol,), {**limits, "speechless": {}})
