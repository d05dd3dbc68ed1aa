"""Which clients are connected, how long each may take, and who makes room for others.

A connection that is slow, or one too many, costs nobody else anything. The head of a request has a
time limit, its answer another, and the handshake of TLS that of a head. As many requests as a
quarter of all connections are answered at a time, each until its last byte is sent; others wait for
their turn. A client too many takes the place of one that is not entitled to an answer, since it has
sent no complete request or its password is not checked yet: the oldest from the address with the
most of these, so that many of them keep nobody out. One that has said nothing at all costs a socket
and no buffer. uvicorn has none of these limits, so its protocol is extended here.

Few clients are let in at each turn of the event loop. If all that come at the same instant were let
in at once, the later ones would take the places of the first before the loop had read what these
ask.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable
from functools import partial
from typing import Any, Final, Protocol

import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

ANSWER_SECONDS = 30.0
CONNECTIONS_AN_ANSWER: Final = 4
_TURN: Final = "monitor.turn"  # in a request's scope: what it awaits before it is answered
_HELLO: Final = b"\x16\x03"  # the first bytes of a client that speaks TLS
_TURNS_TO_FILL: Final = 16  # of the event loop, until all places are taken
_BACKLOG: Final = 65_535  # clients that wait to be accepted; the system may allow less
_AGAIN_SECONDS: Final = 0.1

_log: Final = logging.getLogger("monitor")


class Peer(Protocol):
    """A connection in any state."""

    @property
    def address(self) -> str:
        """Where it comes from."""

    def abort(self) -> None:
        """Close it at once."""


class Connections:
    """State: the connections of a server; of its event loop alone."""

    def __init__(self, most: int = 256, head_seconds: float = 5.0) -> None:
        """``head_seconds`` are the limit for a handshake, and for the head of a request."""
        self.most: Final = most
        self.answers_max: Final = max(most // CONNECTIONS_AN_ANSWER, 1)
        self.head_seconds: Final = head_seconds
        self.told_of_tls = False
        self._open: Final[set[Peer]] = set()
        self._silent: Final[dict[str, dict[Peer, None]]] = {}  # by address, oldest first
        self._answered: Final[set[Peer]] = set()
        self._waiting: list[Callable[[], None]] = []

    def has(self, connection: Peer) -> bool:
        """Return whether a connection has its place."""
        return connection in self._open

    def is_silent(self, connection: Peer) -> bool:
        """Return whether a connection is entitled to no answer."""
        return connection in self._silent.get(connection.address, ())

    def enter(self, connection: Peer) -> None:
        """Add a connection that says nothing, or nothing more."""
        self._open.add(connection)
        self._silent.setdefault(connection.address, {})[connection] = None

    def ask(self, connection: Peer) -> None:
        """Note that a connection is entitled to an answer."""
        theirs = self._silent.get(connection.address, {})
        theirs.pop(connection, None)
        if not theirs:
            self._silent.pop(connection.address, None)

    def finish(self, connection: Peer) -> None:
        """Note that an answer is sent; its connection may ask again."""
        self._answered.discard(connection)
        if connection in self._open:
            self.enter(connection)
        self._change()

    def leave(self, connection: Peer) -> None:
        """Forget a connection that is closed."""
        self._answered.discard(connection)
        self._open.discard(connection)
        self.ask(connection)
        self._change()

    async def turn(self, connection: Peer) -> bool:
        """Wait until a request of a connection may be answered; False if it is closed by then."""
        while connection in self._open and connection not in self._answered:
            if len(self._answered) < self.answers_max:
                self._answered.add(connection)
                break
            changed = asyncio.Event()
            self.when_changed(changed.set)
            await changed.wait()
        return connection in self._open

    def has_room(self) -> bool:
        """Return whether one more client may be let in."""
        return len(self._open) < self.most or bool(self._silent)

    def make_room(self) -> None:
        """Close a silent connection for one more client, if it takes one."""
        if len(self._open) >= self.most:
            # Of addresses with as many, the one that has been silent for longest.
            address = max(self._silent, key=lambda each: len(self._silent[each]))
            oldest = next(iter(self._silent[address]))
            oldest.abort()
            self.leave(oldest)

    def when_changed(self, call: Callable[[], None]) -> None:
        """Call once, after the next answer or the next connection has come to its end."""
        self._waiting.append(call)

    def _change(self) -> None:
        waiting, self._waiting = self._waiting, []
        for call in waiting:
            call()

    def close(self) -> None:
        """Close all connections."""
        for each in [*self._open]:
            each.abort()  # before those who wait for a turn are woken
            self.leave(each)


class LimitedProtocol(H11Protocol):
    """HTTP/1.1 with limits; :func:`limited` makes a class with given ones."""

    limits: Connections
    address = ""
    _connecting: asyncio.Task[None] | None = None
    _timer: asyncio.TimerHandle | None = None
    _is_sending = False
    _is_idle = False

    def connect(self, client: socket.socket, address: str, tls: Any) -> None:  # noqa: ANN401
        """Take a client that has begun to speak, after a handshake if there is one."""
        self.enter(address)
        self._connecting = self.loop.create_task(self._connect(client, tls))
        self._connecting.add_done_callback(partial(self._connected, client))

    def enter(self, address: str) -> None:
        """Take a place among the connections, and a turn for each answer."""
        self.address = address
        self.limits.enter(self)
        self.app = partial(self._with_turn, self.app)

    async def _connect(self, client: socket.socket, tls: Any) -> None:  # noqa: ANN401
        seconds = None if tls is None else self.limits.head_seconds
        try:
            await self.loop.connect_accepted_socket(
                lambda: self, client, ssl=tls, ssl_handshake_timeout=seconds
            )
        except OSError:  # no handshake, or none in time
            self.limits.leave(self)

    def _connected(self, client: socket.socket, connecting: asyncio.Task[None]) -> None:
        # The task knows this protocol: together they would wait for the collector of cycles, with a
        # quarter of a megabyte of a handshake that was ended.
        self._connecting = None
        if connecting.cancelled():  # before its first step the task would close nothing
            client.close()

    async def _with_turn(self, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        await app({**scope, _TURN: self._turn}, receive, send)

    async def _turn(self) -> bool:
        self.limits.ask(self)
        return await self.limits.turn(self)

    def abort(self) -> None:
        """Close the connection at once, or end its handshake."""
        if self.transport is not None:
            self.transport.abort()
        elif self._connecting is not None:
            self._connecting.cancel()

    def connection_made(self, transport: Any) -> None:  # noqa: ANN401 - as uvicorn types it
        """Wait for a request."""
        super().connection_made(transport)
        self._limit(self.limits.head_seconds)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._limit(None)
        self.limits.leave(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take bytes; once the head is complete the limit of the answer applies."""
        is_first = self.limits.is_silent(self)
        if data.startswith(_HELLO) and self.scheme == "http" and is_first:
            self._refuse_tls()
            return
        if self._is_idle:
            self._is_idle = False
            self._limit(self.limits.head_seconds)
        before = self.cycle
        super().data_received(data)
        if self.cycle is not before:
            self._begin()

    def on_response_complete(self) -> None:
        """Send what is left of the answer, and answer the next request if it has come."""
        self._is_sending = self.flow.write_paused
        before = self.cycle
        super().on_response_complete()
        if self.cycle is not before:
            self._begin()
        elif not self._is_sending:
            self._finish()

    def resume_writing(self) -> None:
        """Note that the answer is sent: nearly nothing is left of it."""
        super().resume_writing()
        if self._is_sending:
            self._finish()

    def _begin(self) -> None:
        self._is_sending = False
        self._limit(ANSWER_SECONDS)

    def _finish(self) -> None:
        self._is_sending = False
        self.limits.finish(self)
        # What TLS and the system still hold is not seen here: uvicorn closes a connection that
        # stays idle and lets them send it.
        self._is_idle = True
        self._limit(ANSWER_SECONDS)

    def _refuse_tls(self) -> None:
        """Close a connection that speaks TLS to a plain server; the log says so once."""
        if not self.limits.told_of_tls:
            self.limits.told_of_tls = True
            peer = "a client" if self.client is None else self.client[0]
            _log.warning(
                "http: %s speaks TLS, but the page is served without: use http://, or configure "
                "TLS in http.web_config (see docs/security.md)",
                peer,
            )
        self.transport.abort()

    def _limit(self, seconds: float | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if seconds is not None and self.limits.has(self):
            self._timer = self.loop.call_later(seconds, self.transport.abort)


def limited(connections: Connections) -> type[LimitedProtocol]:
    """Return a protocol whose connections are among ``connections``."""
    return type("Limited", (LimitedProtocol,), {"limits": connections})


class Caller:
    """A client that has connected and said nothing yet; it costs a socket."""

    def __init__(
        self,
        client: socket.socket,
        address: str,
        limits: Connections,
        begin: Callable[[socket.socket, str], None],
    ) -> None:
        """``begin`` gets client and address once it speaks; needs a running event loop."""
        self.address: Final = address
        self._client: Final = client
        self._limits: Final = limits
        self._begin: Final = begin
        self._loop: Final = asyncio.get_running_loop()
        self._timer: Final = self._loop.call_later(limits.head_seconds, self.abort)
        self._loop.add_reader(client, self._speaks)
        limits.enter(self)

    def abort(self) -> None:
        """Close it."""
        self._end()
        self._client.close()

    def _speaks(self) -> None:
        self._end()
        self._begin(self._client, self.address)

    def _end(self) -> None:
        self._timer.cancel()
        self._loop.remove_reader(self._client)
        self._limits.leave(self)


class InTurn:
    """Answers each request in its turn; what is outside of it refuses requests at once."""

    def __init__(self, app: ASGIApp) -> None:
        self._app: Final = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if await scope[_TURN]():
            await self._app(scope, receive, send)
            return
        while (await receive())["type"] != "http.disconnect":  # nobody is there to be answered
            pass


class Acceptor:
    """Accepts the clients of a listening socket until :meth:`close`."""

    def __init__(
        self,
        listener: socket.socket,
        protocol: Callable[[], LimitedProtocol],
        config: uvicorn.Config,
        connections: Connections,
    ) -> None:
        """``protocol`` makes the protocol of a client; needs a running event loop."""
        listener.setblocking(False)  # noqa: FBT003 - as the socket names it
        listener.listen(_BACKLOG)
        self._listener: Final = listener
        self._protocol: Final = protocol
        self._tls: Final = config.ssl
        self._connections: Final = connections
        self._loop: Final = asyncio.get_running_loop()
        self._is_closed = False
        self._resume()

    def close(self) -> None:
        """Accept nobody any more."""
        self._is_closed = True
        self._loop.remove_reader(self._listener)

    def _resume(self) -> None:
        if not self._is_closed:
            self._loop.add_reader(self._listener, self._accept)

    def _accept(self) -> None:
        """Let in clients that have waited longest, as far as there is room for them."""
        for _ in range(max(self._connections.most // _TURNS_TO_FILL, 1)):
            if not self._connections.has_room():
                self._pause(self._connections.when_changed)
                return
            try:
                client, (address, *_) = self._listener.accept()
            except BlockingIOError:  # nobody is waiting any more
                return
            except OSError:  # it is gone already, or there is no descriptor for it
                self._pause(partial(self._loop.call_later, _AGAIN_SECONDS))
                return
            client.setblocking(False)  # noqa: FBT003
            self._connections.make_room()
            Caller(client, address, self._connections, self._begin)

    def _pause(self, later: Callable[[Callable[[], None]], object]) -> None:
        self._loop.remove_reader(self._listener)
        later(self._resume)

    def _begin(self, client: socket.socket, address: str) -> None:
        self._protocol().connect(client, address, self._tls)
