"""A scraper that never stops asking, and clients that never stop being slow."""

from __future__ import annotations

import socket
import threading
import time
import urllib.request
from contextlib import suppress
from http.client import HTTPException
from typing import Final

from harness.daemon import Daemon
from harness.programs import WAIT_SECONDS


class Scraper(threading.Thread):
    """Asks for /metrics again and again; ``seconds`` is how long each answer took."""

    def __init__(self, daemon: Daemon, every: float = 0.2) -> None:
        super().__init__(daemon=True)
        self._daemon: Final = daemon
        self._every: Final = every
        self._done = threading.Event()
        self.seconds: list[float] = []

    def run(self) -> None:
        while not self._done.wait(self._every):
            began = time.monotonic()
            with suppress(OSError, ValueError, HTTPException):  # nobody is there between two lives
                with urllib.request.urlopen(
                    f"{self._daemon.url}/metrics", timeout=WAIT_SECONDS
                ) as answer:
                    answer.read()
                self.seconds.append(time.monotonic() - began)

    def finish(self) -> None:
        """Stop asking."""
        self._done.set()
        self.join(WAIT_SECONDS)


class SlowClients:
    """Connections that begin a request and never end it; a context that keeps them open."""

    def __init__(self, url: str, count: int) -> None:
        self._address: Final = ("127.0.0.1", int(url.rsplit(":", 1)[1].strip("/")))
        self._count: Final = count
        self._open: list[socket.socket] = []

    def __enter__(self) -> None:
        for _ in range(self._count):
            with suppress(OSError):
                each = socket.create_connection(self._address, timeout=2.0)
                each.sendall(b"GET /metrics HTTP/1.1\r\nHost: ")
                self._open.append(each)

    def __exit__(self, *_error: object) -> None:
        for each in self._open:
            each.close()
