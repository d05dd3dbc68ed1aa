"""What lies between uvicorn and the application: no polling, dates, passwords.

uvicorn wakes ten times a second to check whether it must end and to write the date of its answers.
Here the end is signalled, and the date is written with each answer, so that the HTTP thread wakes
only for a request and to end. Which clients are let in is the business of ``admission``.

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
import secrets
import socket
import time
from collections.abc import Mapping, MutableMapping
from contextlib import suppress
from email.utils import formatdate
from functools import partial
from typing import Any, Final

import bcrypt
import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send

from monitor.http.admission import Acceptor, Connections, limited

# -- without a clock ------------------------------------------------------------------------------


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
    """A server that sleeps until told to end; ``install_signal_handlers`` does nothing."""

    def __init__(self, config: uvicorn.Config, connections: Connections) -> None:
        super().__init__(config)
        self._connections: Final = connections
        self._acceptors: list[Acceptor] = []
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ended: Final = asyncio.Event()

    def install_signal_handlers(self) -> None:
        """Leave the signals to the process."""

    def end(self) -> None:
        """End the server at once; any thread may call it."""
        self.should_exit = self.force_exit = True
        if self._loop is not None:
            with suppress(RuntimeError):  # it has already ended
                self._loop.call_soon_threadsafe(self._ended.set)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen on ``sockets``."""
        self.servers = []
        protocol = partial(
            limited(self._connections), self.config, server_state=self.server_state, app_state={}
        )
        self._acceptors = [
            Acceptor(each, protocol, self.config, self._connections) for each in sockets or ()
        ]
        self.started = True

    async def main_loop(self) -> None:
        """Wait for the end."""
        self._loop = asyncio.get_running_loop()
        if not self.should_exit:
            await self._ended.wait()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Close the listening sockets and all connections, also those whose answer never ends.

        Since Python 3.12 uvicorn waits for every connection, so all are closed before it does.
        """
        for acceptor in self._acceptors:
            acceptor.close()
        self._connections.close()
        await super().shutdown(sockets)


# -- passwords ------------------------------------------------------------------------------------

_REMEMBERED_MAX: Final = 256
_WAITING_MAX: Final = 16  # per address; in total limited by the connections
_HEADER_BYTES_MAX: Final = 1024
_PASSWORD_BYTES_MAX: Final = 72  # bcrypt reads no more
_STATES: Final = frozenset(("/healthz", "/readyz"))


class Authenticated:
    """Lets requests with a user's password through; others get 401, probes a word."""

    def __init__(self, app: ASGIApp, users: Mapping[str, bytes]) -> None:
        self._app: Final = app
        self._users: Final = users
        self._nobody: Final = bcrypt.hashpw(secrets.token_bytes(16), _salt(users))
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
            await self._app(scope, receive, _without_reason(send))
        elif not name:
            await _answer(send, 401, b"a name and a password are needed\n")
        elif self._waiting.get(address, 0) >= _WAITING_MAX:
            await _answer(send, 429, b"too many passwords are being tried\n")
        elif await self._is_right(name, password, address):
            if len(self._right) >= _REMEMBERED_MAX:
                self._right.pop(next(iter(self._right)))
            self._right[digest] = None
            await self._app(scope, receive, send)
        else:
            await _answer(send, 401, b"a name and a password are needed\n")

    async def _is_right(self, name: str, password: bytes, address: str) -> bool:
        self._waiting[address] = self._waiting.get(address, 0) + 1
        try:
            async with self._lock:
                known = self._users.get(name)
                is_right = await asyncio.to_thread(
                    bcrypt.checkpw, password, self._nobody if known is None else known
                )
        finally:
            self._waiting[address] -= 1
            if not self._waiting[address]:
                del self._waiting[address]
        return is_right and known is not None


def _salt(users: Mapping[str, bytes]) -> bytes:
    """Return a salt of the same cost as the users' hashes."""
    cost = max((int(hash_[4:6]) for hash_ in users.values()), default=10)
    return bcrypt.gensalt(cost)


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


def _without_reason(send: Send) -> Send:
    """Return what sends an answer, without its reason where it is not 200."""
    is_well = False

    async def send_state(message: MutableMapping[str, Any]) -> None:
        nonlocal is_well
        if message["type"] == "http.response.start":
            is_well = message["status"] == 200
            if not is_well:
                await _answer(send, message["status"], b"no; the reason needs a password\n")
        if is_well:
            await send(message)

    return send_state


async def _answer(send: Send, status: int, body: bytes) -> None:
    headers = [
        (b"content-type", b"text/plain; charset=utf-8"),
        (b"content-length", str(len(body)).encode()),
        (b"cache-control", b"no-store"),
        (b"x-content-type-options", b"nosniff"),
    ]
    if status == 401:
        headers.append((b"www-authenticate", b'Basic realm="monitor", charset="UTF-8"'))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
