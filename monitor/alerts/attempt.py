"""One time limit for a whole HTTP request: handshake, sending, head and body of the answer.

A library's time limit starts again with each byte that arrives. Here a timer shuts the connection
down when the time is over, whatever the request is waiting for. Name resolution and connecting,
which no byte prolongs, keep the library's own limit.
"""

from __future__ import annotations

import socket
import ssl
import threading
from contextlib import suppress
from types import TracebackType
from typing import Final, Self

import urllib3
from urllib3 import connection, connectionpool, exceptions


class TimeBound:
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
