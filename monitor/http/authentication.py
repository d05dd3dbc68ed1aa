"""Asks every request for a name and a password.

Rules of this file: a wrong name costs the same time as a wrong password; one password is tried at
a time, away from the loop that answers; what was tried is remembered as a digest, never as itself.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
import hmac
import secrets
from collections.abc import Mapping
from typing import Final

import bcrypt
from starlette.types import ASGIApp, Receive, Scope, Send

_REMEMBERED_MAX: Final = 256
_WAITING_MAX: Final = 16
_HEADER_BYTES_MAX: Final = 1024
_PASSWORD_BYTES_MAX: Final = 72  # bcrypt reads no more


class Authenticated:
    """Lets requests through that come with a user's password; others get 401."""

    def __init__(self, app: ASGIApp, users: Mapping[str, bytes]) -> None:
        self._app: Final = app
        self._users: Final = users
        self._nobody: Final = bcrypt.hashpw(secrets.token_bytes(16), _salt(users))
        self._key: Final = secrets.token_bytes(32)
        self._known: dict[bytes, bool] = {}
        self._lock = asyncio.Lock()
        self._waiting = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        given = next((value for name, value in scope["headers"] if name == b"authorization"), b"")
        if self._waiting >= _WAITING_MAX:
            await _refuse(send, 429, b"too many passwords are being tried\n")
        elif await self._may_enter(given):
            await self._app(scope, receive, send)
        else:
            await _refuse(send, 401, b"a name and a password are needed\n")

    async def _may_enter(self, given: bytes) -> bool:
        name, password = _parsed(given)
        if not name:
            return False
        digest = hmac.new(self._key, given, hashlib.sha256).digest()
        if digest in self._known:
            return self._known[digest]
        self._waiting += 1
        try:
            async with self._lock:
                known = self._users.get(name)
                is_right = await asyncio.to_thread(
                    bcrypt.checkpw, password, self._nobody if known is None else known
                )
        finally:
            self._waiting -= 1
        if len(self._known) >= _REMEMBERED_MAX:
            self._known.pop(next(iter(self._known)))
        self._known[digest] = is_right and known is not None
        return self._known[digest]


def _salt(users: Mapping[str, bytes]) -> bytes:
    """Return a salt of the same cost as the users' hashes."""
    cost = max((int(hash_[4:6]) for hash_ in users.values()), default=10)
    return bcrypt.gensalt(cost)


def _parsed(given: bytes) -> tuple[str, bytes]:
    """Return name and password of an Authorization header, an empty name where there is none."""
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


async def _refuse(send: Send, status: int, body: bytes) -> None:
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
