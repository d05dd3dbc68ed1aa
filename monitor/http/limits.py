"""Limits for connections: one that is slow, or one too many, costs nobody else anything.

The head of a request has a time limit and its answer another. Over the cap the oldest connection
that has not said what it wants gives way, so that many silent ones keep nobody out. uvicorn has
no limit for the head, so its protocol is extended here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

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
