"""The server: uvicorn's, with one cap of connections, a time for a head and one without progress.

A client that comes when all places are taken takes one from the address with the most, the one
without progress for longest. So no address holds more than a quarter while three others want as
many. A place lasts from acceptance, so handshakes have one too. A client has ``head_seconds`` for
handshake and head, and again after each answer; a reader that acknowledges nothing of its answer
for ``PROGRESS_SECONDS`` is closed. What it acknowledged, the system knows: under TLS the event loop
does not. uvicorn's ``limit_concurrency`` refuses whoever comes last, which are not the strangers.

uvicorn wakes ten times a second to check whether it must end and to write the date of its answers.
Here the end is signalled, and the date is written with each answer, so the HTTP thread wakes only
while somebody is connected, and to end.

A wrong name costs the same time as a wrong password; one password is tried at a time, off the event
loop. Successful credentials are remembered, as a digest, and checked first: a client that guesses
passwords keeps out nobody who logged in before, and nobody at another address. Probes have no
password, so health and readiness are answered without one, by a word that says nothing else.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
import hmac
import logging
import secrets
import socket
import struct
import time
import weakref
from collections.abc import Mapping, MutableMapping
from contextlib import suppress
from email.utils import formatdate
from typing import Any, Final

import bcrypt
import h11
import uvicorn
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from monitor.http.answers import refused_request

_log: Final = logging.getLogger("monitor")

# -- connections ----------------------------------------------------------------------------------

PROGRESS_SECONDS: Final = 5.0
UNSENT_BYTES_MAX: Final = 64 << 20  # of all answers; besides what the system holds
_PART_BYTES: Final = 1 << 16
_CONNECTION: Final = "connection"  # in the state of a request
_BACKLOG: Final = 65_535  # clients that wait to be accepted; the system may allow less
_TURNS_TO_FILL: Final = 16  # of the event loop, until all places are taken
_AGAIN_SECONDS: Final = 0.1
_LOOKS: Final = 5  # in each of the limits
_TLS_HELLO: Final = b"\x16\x03"
_TCP_INFO: Final = struct.Struct("=24xI92xQ16xI")  # tcpi_unacked, _bytes_acked, _notsent_bytes


class HttpConnection(H11Protocol):
    """A client from its acceptance on, before a handshake too."""

    def __init__(self, server: QuietServer, client: socket.socket, address: str) -> None:
        super().__init__(server.config, server.server_state, {_CONNECTION: weakref.proxy(self)})
        self.address: Final = address
        self.unsent = 0  # bytes of its answer
        self._server: Final = server
        self._client: Final = client
        self._connecting: asyncio.Task[None] | None = None
        self._acknowledged = 0
        self.since = self.loop.time()  # of its progress

    def listen(self) -> None:
        """Wait until it says something; it costs a socket and no buffer until then."""
        self.loop.add_reader(self._client, self._begin)

    def _begin(self) -> None:
        self.loop.remove_reader(self._client)
        self._connecting = self.loop.create_task(self._connect())
        self._connecting.add_done_callback(self._connected)

    async def _connect(self) -> None:
        try:
            await self.loop.connect_accepted_socket(lambda: self, self._client, ssl=self.config.ssl)
        except OSError:  # no handshake
            self._server.leave(self)

    def _connected(self, connecting: asyncio.Task[None]) -> None:
        self._connecting = None  # else a quarter of a megabyte waits for the collector of cycles
        if connecting.cancelled():  # before its first step the task would close nothing
            self._client.close()

    def hold(self, size: int) -> None:
        """Note how many bytes of its answer are unsent."""
        self.unsent = size
        self._server.limit_unsent()

    def close(self) -> None:
        """Close it at once."""
        self._server.leave(self)
        if self.cycle is not None:
            self.cycle.disconnected = True
        if self.transport is not None:
            self.transport.abort()
        elif self._connecting is not None:
            self._connecting.cancel()
        else:
            self.loop.remove_reader(self._client)
            self._client.close()

    def look(self, now: float) -> None:
        """Close it if it has had its time."""
        if self._client.fileno() < 0:
            return
        info = self._client.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _TCP_INFO.size)
        unacknowledged, acknowledged, unsent = _TCP_INFO.unpack(info)
        is_sending = bool(unacknowledged or unsent)
        is_waiting = self.cycle is not None and not self.cycle.response_complete and not is_sending
        if self.cycle is not None and (is_waiting or acknowledged != self._acknowledged):
            self._acknowledged, self.since = acknowledged, now
            self._server.enter(self)
        elif now - self.since >= (PROGRESS_SECONDS if is_sending else self._server.head_seconds):
            self.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """Give up its place."""
        self._server.leave(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take bytes, unless they are TLS and this is not."""
        if self.cycle is None and self.scheme == "http" and data.startswith(_TLS_HELLO):
            self._server.warn_of_tls(self.address)
            self.close()
        else:
            super().data_received(data)

    def send_400_response(self, msg: str) -> None:
        """Answer what is no HTTP, unless an answer has begun; nothing more is answered."""
        if self.cycle is not None:
            self.cycle.disconnected = True
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            super().send_400_response(msg)
        else:
            self.transport.close()


class InParts:
    """Sends an answer in parts, each when the reader took the last, with its date (RFC 9110)."""

    def __init__(self, app: ASGIApp) -> None:
        self._app: Final = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        connection: HttpConnection = scope["state"][_CONNECTION]

        async def send_parts(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                date = formatdate(time.time(), usegmt=True).encode()
                await send({**message, "headers": [(b"date", date), *message.get("headers", ())]})
                return
            body, more = message.get("body", b""), message.get("more_body", False)
            for begin in range(0, max(len(body), 1), _PART_BYTES):
                end = begin + _PART_BYTES
                connection.hold(len(body) - begin)
                part = {"body": body[begin:end], "more_body": more or end < len(body)}
                await send({**message, **part})
                await asyncio.sleep(0)  # others are answered meanwhile, and this one may leave
                if connection.transport.is_closing():
                    break
            connection.hold(0)

        with suppress(asyncio.CancelledError):  # the server has ended, and its connections have
            await self._app(scope, receive, send_parts)


class QuietServer(uvicorn.Server):
    """A server that sleeps until somebody comes, or :meth:`end`."""

    def __init__(
        self, config: uvicorn.Config, connections_max: int = 256, head_seconds: float = 5.0
    ) -> None:
        super().__init__(config)
        self.head_seconds: Final = head_seconds
        self._most: Final = connections_max
        self._places: Final[dict[str, dict[HttpConnection, None]]] = {}  # the latest progress last
        self._listeners: list[socket.socket] = []
        self._loop: asyncio.AbstractEventLoop | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._has_warned_of_tls = False
        self._ended: Final = asyncio.Event()

    def end(self) -> None:
        """End the server at once; any thread may call it."""
        self.should_exit = self.force_exit = True
        if self._loop is not None:
            with suppress(RuntimeError):  # it has already ended
                self._loop.call_soon_threadsafe(self._ended.set)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen on ``sockets``."""
        self._loop = asyncio.get_running_loop()
        self.servers = []
        self._listeners = sockets or []
        for listener in self._listeners:
            listener.setblocking(False)  # noqa: FBT003 - as the socket names it
            listener.listen(_BACKLOG)
            self._listen(self._loop, listener)
        self.started = True

    async def main_loop(self) -> None:
        """Wait for the end."""
        if not self.should_exit:
            await self._ended.wait()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Close the listening sockets and all connections, also those whose answer never ends.

        Since Python 3.12 uvicorn waits for every connection, so all are closed before it does.
        """
        for listener in self._listeners:
            asyncio.get_running_loop().remove_reader(listener)
        for connection in self._connections():
            connection.close()
        await super().shutdown(sockets)

    def enter(self, connection: HttpConnection) -> None:
        """Give a connection a place, or note its progress; one too many takes another's place."""
        self.leave(connection)
        self._places.setdefault(connection.address, {})[connection] = None
        if sum(map(len, self._places.values())) > self._most:
            largest = max(self._places, key=lambda address: len(self._places[address]))
            next(iter(self._places[largest])).close()

    def leave(self, connection: HttpConnection) -> None:
        """Take the place of a connection that is closed."""
        same_address = self._places.get(connection.address, {})
        same_address.pop(connection, None)
        if not same_address:
            self._places.pop(connection.address, None)

    def limit_unsent(self) -> None:
        """Close one of several readers if what is unsent takes too much memory."""
        readers = [connection for connection in self._connections() if connection.unsent]
        if len(readers) > 1 and sum(reader.unsent for reader in readers) > UNSENT_BYTES_MAX:
            min(readers, key=lambda reader: reader.since).close()

    def warn_of_tls(self, address: str) -> None:
        """Log once that a client speaks TLS to a plain server."""
        if not self._has_warned_of_tls:
            self._has_warned_of_tls = True
            _log.warning(
                "http: %s speaks TLS, but the page is served without: use http://, or configure "
                "TLS in http.web_config (see docs/security.md)",
                address,
            )

    def _connections(self) -> list[HttpConnection]:
        return [connection for group in self._places.values() for connection in group]

    def _listen(self, loop: asyncio.AbstractEventLoop, listener: socket.socket) -> None:
        if not self.should_exit:
            loop.add_reader(listener, self._accept, loop, listener)

    def _accept(self, loop: asyncio.AbstractEventLoop, listener: socket.socket) -> None:
        """Accept a few; the loop reads what they ask before later ones take their places."""
        for _ in range(max(self._most // _TURNS_TO_FILL, 1)):
            try:
                client, (address, *_) = listener.accept()
            except BlockingIOError:  # nobody is waiting any more
                return
            except OSError:  # there is no descriptor for it
                loop.remove_reader(listener)
                loop.call_later(_AGAIN_SECONDS, self._listen, loop, listener)
                return
            client.setblocking(False)  # noqa: FBT003
            connection = HttpConnection(self, client, address)
            self.enter(connection)
            connection.listen()
            if self._timer is None:
                self._look(loop)

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        """Look at all connections, again and again as long as there are some."""
        for connection in self._connections():
            connection.look(loop.time())
        pause = min(self.head_seconds, PROGRESS_SECONDS) / _LOOKS
        self._timer = loop.call_later(pause, self._look, loop) if self._places else None


# -- passwords ------------------------------------------------------------------------------------

_REMEMBERED_MAX: Final = 256
_WAITING_MAX: Final = 16  # per address; in total limited by the connections
_HEADER_BYTES_MAX: Final = 1024
_PASSWORD_BYTES_MAX: Final = 72  # bcrypt reads no more
_COST: Final = 10  # of bcrypt where there are no users
_STATES: Final = frozenset(("/healthz", "/readyz"))
_NEEDED: Final = "a name and a password are needed"
_TOO_MANY: Final = "too many passwords are being tried; try again"
_CHALLENGE: Final = {"WWW-Authenticate": 'Basic realm="monitor", charset="UTF-8"'}
_UNKEPT: Final = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
_NO_REASON: Final = "no; the reason needs a password\n"


class Authenticated:
    """Lets requests with a user's password through; others get 401, probes a word."""

    def __init__(self, app: ASGIApp, users: Mapping[str, bytes]) -> None:
        self._app: Final = app
        self._users: Final = users
        # By cost: an attempt costs the same whoever it names, and tells nobody who there is.
        self._nobody: Final = {
            cost: bcrypt.hashpw(secrets.token_bytes(16), bcrypt.gensalt(cost))
            for cost in {_cost(each) for each in users.values()} or {_COST}
        }
        self._key: Final = secrets.token_bytes(32)
        self._right: dict[bytes, None] = {}
        self._lock = asyncio.Lock()
        self._waiting: dict[str, int] = {}  # by address

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        given = next((value for name, value in scope["headers"] if name == b"authorization"), b"")
        digest = hmac.new(self._key, given, hashlib.sha256).digest()
        if digest in self._right:  # before all limits: guessing must not keep a reader out
            await self._app(scope, receive, send)
            return
        name, password = _parsed(given)
        address = (scope.get("client") or ("", 0))[0]
        if not given and scope["path"] in _STATES and scope["method"] in ("GET", "HEAD"):
            await self._app(scope, receive, _without_reason(scope, receive, send))
        elif name and self._waiting.get(address, 0) >= _WAITING_MAX:
            await refused_request(scope, 429, _TOO_MANY)(scope, receive, send)
        elif name and await self._is_right(name, password, address):
            if len(self._right) >= _REMEMBERED_MAX:
                self._right.pop(next(iter(self._right)))
            self._right[digest] = None
            await self._app(scope, receive, send)
        else:
            await refused_request(scope, 401, _NEEDED, _CHALLENGE)(scope, receive, send)

    async def _is_right(self, name: str, password: bytes, address: str) -> bool:
        self._waiting[address] = self._waiting.get(address, 0) + 1
        try:
            async with self._lock:
                return await asyncio.to_thread(self._agrees, self._users.get(name, b""), password)
        finally:
            self._waiting[address] -= 1
            if not self._waiting[address]:
                del self._waiting[address]

    def _agrees(self, known: bytes, password: bytes) -> bool:
        """Hold a password against a hash, empty for an unknown name; always does the same work."""
        is_right = False
        for cost, nobody in self._nobody.items():
            is_of_user = bool(known) and _cost(known) == cost
            is_right |= bcrypt.checkpw(password, known if is_of_user else nobody) and is_of_user
        return is_right


def _cost(hash_: bytes) -> int:
    return int(hash_[4:6])


def _parsed(given: bytes) -> tuple[str, bytes]:
    """Return name and password of an Authorization header, an empty name if there is none."""
    scheme, _, encoded = given.partition(b" ")
    if scheme.lower() != b"basic" or len(given) > _HEADER_BYTES_MAX:
        return "", b""
    try:
        name, _, password = base64.b64decode(encoded.strip(), validate=True).partition(b":")
        text = name.decode()
    except (binascii.Error, UnicodeDecodeError):
        return "", b""
    if len(password) > _PASSWORD_BYTES_MAX or b"\0" in password:
        return "", b""
    return text, password


def _without_reason(scope: Scope, receive: Receive, send: Send) -> Send:
    """Return what sends the state that an answer has, without its reason."""

    async def send_state(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            status = message["status"]
            words = "ok\n" if status == 200 else _NO_REASON
            await PlainTextResponse(words, status, _UNKEPT)(scope, receive, send)

    return send_state
