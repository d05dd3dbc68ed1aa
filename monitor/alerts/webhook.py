"""The sink ``webhook``: an HTTP POST of JSON for each transition, signed, in one bounded attempt.

Rules of this file: certificates are checked, redirects are not followed; no address, header or
secret ever appears in one of our messages. The signature is that of
https://www.standardwebhooks.com, so that its libraries verify it. A library's time limit starts
again with each byte that arrives; here a timer shuts the connection down when the time is over,
whatever the request is waiting for: handshake, sending, head or body of the answer. Name resolution
and connecting, which no byte prolongs, keep the library's own limit.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import logging
import socket
import ssl
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from email.utils import parsedate_to_datetime
from types import TracebackType
from typing import Final, NamedTuple, Self

import urllib3
from urllib3 import BaseHTTPResponse, connection, connectionpool, exceptions

from monitor import __version__
from monitor.alerts.outlet import LaterError, RefusedError
from monitor.alerts.transition import Transition, links, transition_document


class _TimeBound:
    """Bounds the time of a ``with`` block; only for the connections of its :meth:`client`.

    On exit it raises urllib3's TimeoutError if the time ran out: what looks like an answer may be
    only part of one.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds: Final = seconds
        self._lock: Final = threading.Lock()
        self._link: socket.socket | None = None
        self._is_over = False
        self._timer: threading.Timer | None = None

    def client(self, context: ssl.SSLContext) -> urllib3.PoolManager:
        """Return a client of one connection, which stays open."""
        client = urllib3.PoolManager(
            num_pools=1,
            maxsize=1,
            retries=False,
            timeout=urllib3.Timeout(total=self._seconds),
            ssl_context=context,
        )
        bound = self

        class Plain(connection.HTTPConnection):
            def _new_conn(self) -> socket.socket:
                return bound.watched(super()._new_conn())

        class Encrypted(connection.HTTPSConnection):
            def _new_conn(self) -> socket.socket:
                return bound.watched(super()._new_conn())

        class PlainPool(connectionpool.HTTPConnectionPool):
            ConnectionCls = Plain

        class EncryptedPool(connectionpool.HTTPSConnectionPool):
            ConnectionCls = Encrypted

        client.pool_classes_by_scheme = {"http": PlainPool, "https": EncryptedPool}
        return client

    def watched(self, link: socket.socket) -> socket.socket:
        """Return ``link``, which the timer shuts down; a handshake may detach its owner."""
        with self._lock:
            if self._link is not None:
                self._link.close()
            self._link = link.dup()
            if self._is_over:
                self._shut()
        return link

    def __enter__(self) -> Self:
        self._is_over = False
        self._timer = threading.Timer(self._seconds, self._end)
        self._timer.daemon = True
        self._timer.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer.join()
        if self._is_over:
            raise exceptions.TimeoutError("the answer does not end") from error

    def close(self) -> None:
        """Close the connection."""
        with self._lock:
            if self._link is not None:
                self._link.close()
            self._link = None

    def _end(self) -> None:
        with self._lock:
            self._is_over = True
            self._shut()

    def _shut(self) -> None:
        if self._link is not None:
            with suppress(OSError):
                self._link.shutdown(socket.SHUT_RDWR)


VERSION: Final = 1
_ANSWER_BYTES_MAX: Final = 65_536
_IDLE_SECONDS_MAX: Final = 30.0  # after a longer pause a router may have forgotten the connection
# Statuses below 500 that say "not now": a request time-out, too early, too many.
_LATER: Final = (408, 425, 429)


class Target(NamedTuple):
    """Where to post to; ``key`` signs, ``authorization`` is a header. Not to be printed."""

    url: str
    key: bytes | None = None
    authorization: str | None = None
    ca_file: str | None = None
    timeout_seconds: float = 10.0
    public_url: str = ""

    def __repr__(self) -> str:
        return "Target(...)"


class WebhookSink:
    """Posts to one address over a connection that is kept."""

    def __init__(
        self,
        target: Target,
        *,
        clock: Callable[[], float] = time.time,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._target: Final = target
        self._clock: Final = clock
        self._monotonic: Final = monotonic
        self._last_use = monotonic()
        logging.getLogger("urllib3").setLevel(logging.ERROR)  # below, it logs the whole address
        self._bound: Final = _TimeBound(target.timeout_seconds)
        self._client: Final = self._bound.client(ssl.create_default_context(cafile=target.ca_file))

    def deliver(self, transition: Transition) -> None:
        """Post a transition; raises LaterError or RefusedError, see :func:`check_status`."""
        if not transition.is_news:
            return
        content = body(transition, self._target.public_url)
        headers = {"Content-Type": "application/json", "User-Agent": f"monitor/{__version__}"}
        headers |= signed_headers(transition.id, content, self._clock(), self._target.key)
        if self._target.authorization is not None:
            headers["Authorization"] = self._target.authorization
        try:
            answer = self._post(content, headers)
        except exceptions.HTTPError as error:
            raise LaterError(f"no answer ({type(error).__name__})") from None
        check_status(answer.status, answer.headers, self._clock())

    def close(self) -> None:
        """Close the connection."""
        self._client.clear()
        self._bound.close()

    def _post(self, content: bytes, headers: Mapping[str, str]) -> BaseHTTPResponse:
        """Post and return the answer; its body is read and dropped, with bounds in size and time.

        The connection stays open for the next post if the body was read to its end.
        """
        began = self._monotonic()
        if began - self._last_use > _IDLE_SECONDS_MAX:
            self._client.clear()
        with self._bound:
            answer = self._client.request(
                "POST", self._target.url, body=content, headers=headers, redirect=False,
                preload_content=False, decode_content=False,
            )  # fmt: skip
            try:
                size = 0
                while size <= _ANSWER_BYTES_MAX and (chunk := answer.read1(_ANSWER_BYTES_MAX)):
                    size += len(chunk)
            finally:
                answer.close()
        self._last_use = self._monotonic()
        return answer


def check_status(status: int, headers: Mapping[str, str], now: float) -> None:
    """Return if a status means "accepted"; raises LaterError for 5xx, 429 etc., else RefusedError.

    A redirect is refused: a message signed for one address must not reach another.
    """
    if 200 <= status < 300:
        return
    why = f"the server answers {status}"
    if status >= 500 or status in _LATER:
        raise LaterError(why, retry_after(headers.get("retry-after", ""), now))
    raise RefusedError(why)


def retry_after(text: str, now: float) -> float | None:
    """Return the pause that the header Retry-After asks for, s (RFC 9110 section 10.2.3)."""
    text = text.strip()
    if text.isascii() and text.isdecimal():
        return float(text[:9])
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - now)
    except (ValueError, OverflowError):
        return None


def body(transition: Transition, public_url: str = "") -> bytes:
    """Return the posted body; ``text`` is for receivers that show a single line."""
    document = {**transition_document(transition), **links(transition, public_url)}
    message = {"version": VERSION, "text": str(transition), **document}
    return json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode()


def signed_headers(name: str, content: bytes, now: float, key: bytes | None) -> dict[str, str]:
    """Return the headers that name a message, date it, and prove who sent it."""
    stamp = str(int(now))
    headers = {"webhook-id": name, "webhook-timestamp": stamp}
    if key is not None:
        signed_bytes = b".".join((name.encode(), stamp.encode(), content))
        proof = base64.b64encode(hmac.digest(key, signed_bytes, hashlib.sha256)).decode()
        headers["webhook-signature"] = f"v1,{proof}"
    return headers
