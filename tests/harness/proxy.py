"""A TCP proxy between a client and a broker, to cut, to swallow and to slow down what passes."""

from __future__ import annotations

import select
import socket
import struct
import threading
import time
from typing import Final

from harness.programs import WAIT_SECONDS, free_port, until

_STEP_SECONDS: Final = 0.05
_READ_BYTES: Final = 65_536
_PUBACK: Final = 4  # MQTT 5.0 section 2.1.2


class Proxy:
    """Listens on ``port`` and passes everything on to another port of the loopback.

    ``swallow`` lets nothing pass any more though all connections stay open (a partition),
    ``swallow_answers`` only what the broker says, ``swallow_questions`` what it is told;
    ``delay_seconds`` holds everything back. ``acknowledged`` has, for each connection from which
    the other side acknowledged messages, when it came and when the first of them passed
    (``time.monotonic``).
    """

    def __init__(self, target: int) -> None:
        self.port: Final = free_port()
        self.swallow = False
        self.swallow_answers = False
        self.swallow_questions = False
        self.delay_seconds = 0.0
        self.accepted = 0
        self.acknowledged: list[tuple[float, float]] = []
        self._target: Final = target
        self._ended = threading.Event()
        self._cut = threading.Event()
        self._hold = threading.Event()
        self._held: set[socket.socket] = set()
        self._links: dict[socket.socket, socket.socket] = {}
        self._from_client: dict[socket.socket, float] = {}  # since when
        self._silent: set[socket.socket] = set()  # clients that have acknowledged nothing yet
        self._listener = socket.create_server(("127.0.0.1", self.port))
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def cut(self) -> None:
        """Reset every connection at once, as a router does that has forgotten them."""
        self._cut.set()
        until("the connections are reset", lambda: not self._cut.is_set())

    def hold(self) -> None:
        """Let the connections there are stay open, and never read from them again.

        Later ones pass: so it is when a peer has lost its power, and nobody says so.
        """
        self._hold.set()
        until("the connections are held", lambda: not self._hold.is_set())

    def close(self) -> None:
        """End it."""
        self._ended.set()
        self._thread.join(WAIT_SECONDS)
        for end in (*self._links, self._listener):
            end.close()

    def _work(self) -> None:
        while not self._ended.is_set():
            if self._cut.is_set():
                self._reset()
            if self._hold.is_set():
                self._held.update(self._links)
                self._hold.clear()
            ends = [self._listener, *(self._links.keys() - self._held)]
            readable, _, _ = select.select(ends, [], [], _STEP_SECONDS)
            for end in readable:
                if end is self._listener:
                    self._accept()
                elif end in self._links:
                    self._pass(end)

    def _reset(self) -> None:
        for end in list(self._links):
            end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        for end in list(self._links):
            if end in self._links:
                self._end(end)
        self._cut.clear()

    def _accept(self) -> None:
        client, _ = self._listener.accept()
        self.accepted += 1
        try:
            broker = socket.create_connection(("127.0.0.1", self._target), timeout=2.0)
        except OSError:
            client.close()
            return
        self._links[client], self._links[broker] = broker, client
        self._from_client[client] = time.monotonic()
        self._silent.add(client)

    def _pass(self, end: socket.socket) -> None:
        try:
            chunk = end.recv(_READ_BYTES)
        except OSError:
            chunk = b""
        if not chunk:
            self._end(end)
            return
        is_told = end in self._from_client
        if self.swallow or (self.swallow_questions if is_told else self.swallow_answers):
            return
        time.sleep(self.delay_seconds)
        if end in self._silent and chunk[0] >> 4 == _PUBACK:
            self._silent.remove(end)
            self.acknowledged.append((self._from_client[end], time.monotonic()))
        try:
            self._links[end].sendall(chunk)
        except OSError:
            self._end(end)

    def _end(self, end: socket.socket) -> None:
        other = self._links.pop(end)
        self._links.pop(other, None)
        for each in (end, other):
            self._from_client.pop(each, None)
            self._silent.discard(each)
            self._held.discard(each)
            each.close()
