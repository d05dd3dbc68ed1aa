"""HTTP POST in one bounded attempt: what the sinks webhook and alertmanager send.

Rules of this file: certificates are checked, redirects are not followed; no address, header or
secret ever appears in one of our messages. A library's time limit starts again with each byte that
arrives; here a timer shuts the connection down when the time is over, whatever the request is
waiting for: handshake, sending, head or body of the answer. Name resolution and connecting, which
no byte prolongs, keep the library's own limit.
"""

from __future__ import annotations

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
from urllib3 import connection, connectionpool, exceptions

from monitor import __version__
from monitor.alerts.outlet import LaterError, RefusedError

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


class Answer(NamedTuple):
    """The head of an answer."""

    status: int
    headers: Mapping[str, str]


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


class Poster:
    """Posts JSON to one address over a connection that is kept."""

    def __init__(self, target: Target, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._target: Final = target
        self._monotonic: Final = monotonic
        self._last_use = monotonic()
        logging.getLogger("urllib3").setLevel(logging.ERROR)  # below, it logs the whole address
        self._bound: Final = _TimeBound(target.timeout_seconds)
        self._client: Final = self._bound.client(ssl.create_default_context(cafile=target.ca_file))

    def post(self, content: bytes, more: Mapping[str, str] = {}) -> Answer:
        """Post and return the answer's head; raises LaterError if there is none.

        The body is read and dropped, with bounds in size and time; the connection stays open for
        the next post if it was read to its end.
        """
        headers = {"Content-Type": "application/json", "User-Agent": f"monitor/{__version__}"}
        if self._target.authorization is not None:
            headers["Authorization"] = self._target.authorization
        began = self._monotonic()
        if began - self._last_use > _IDLE_SECONDS_MAX:
            self._client.clear()
        try:
            answer = self._answer(content, {**headers, **more})
        except exceptions.HTTPError as error:
            raise LaterError(f"no answer ({type(error).__name__})") from None
        self._last_use = self._monotonic()
        return answer

    def _answer(self, content: bytes, headers: Mapping[str, str]) -> Answer:
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
        return Answer(answer.status, answer.headers)

    def close(self) -> None:
        """Close the connection."""
        self._client.clear()
        self._bound.close()


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
