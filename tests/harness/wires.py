"""Connections to a broker that are scripted: in place of the wire, or at the other end of one."""

from __future__ import annotations

import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from harness.programs import WAIT_SECONDS
from monitor.mqtt.connection import MqttSettings, Subscription
from monitor.mqtt.source import MqttSource
from monitor.mqtt.wire import Wire

CONNACK = {"5": b"\x20\x03\0\0\0", "3.1.1": b"\x20\x02\0\0"}
SUBACK = {"5": b"\x90\x04\0\x01\0\x01", "3.1.1": b"\x90\x03\0\x01\x01"}  # one filter, QoS 1


class ScriptedWire:
    """Brings the chunks that are put in, one a read, and keeps what is written, one a flush."""

    def __init__(self) -> None:
        self.chunks: deque[bytes] = deque([CONNACK["5"], SUBACK["5"]])
        self.waits: list[int] = []
        self.reads = 0
        self.sent: list[bytes] = []
        self.there: Callable[[int], bool] = lambda _count: True
        self.is_drained = True
        self.has_unsent = False
        self._written = b""

    def wait(self, count: int, _seconds: float) -> bool:
        self.waits.append(count)
        return self.there(count)

    def receive(self) -> bytes:
        self.reads += 1
        return self.chunks.popleft() if self.chunks else b""

    def write(self, data: bytes) -> None:
        self._written += data

    def flush(self) -> None:
        if self._written:
            self.sent.append(self._written)
        self._written = b""

    def acknowledge_at_once(self) -> None:
        """Do nothing."""

    def not_after(self) -> None:
        """There is no certificate."""

    def close(self) -> None:
        """Do nothing."""


def source_on_wire(
    wire: ScriptedWire,
    patch: pytest.MonkeyPatch,
    *,
    monotonic: Callable[[], float] = time.monotonic,
    **more: object,
) -> MqttSource:
    """Return a source that is connected over a scripted wire, which has no memory of it."""
    patch.setattr(Wire, "connect", lambda *_: wire)
    options = {"client_id": "reader", "subscriptions": (Subscription("a/+", 1),), **more}
    source = MqttSource(MqttSettings("wire", 1, **options), monotonic=monotonic)
    while not source.connected:
        assert wire.chunks, source.status
        assert source.receive(0.0) == []
    wire.reads = 0
    wire.waits.clear()
    wire.sent.clear()
    return source


class ScriptedBroker:
    """A broker of one client: it answers CONNECT and SUBSCRIBE, the test says the rest."""

    def __init__(self, protocol: str = "5") -> None:
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        self.connack = CONNACK[protocol]
        self._suback = SUBACK[protocol]
        self.connection: socket.socket | None = None
        self.hello = b""

    def accept(self) -> socket.socket:
        """Take a client in and grant its subscription."""
        self.connection, _ = self._listening.accept()
        self.connection.settimeout(WAIT_SECONDS)
        self.hello = self.packet()
        self.connection.sendall(self.connack)
        self.packet()
        self.connection.sendall(self._suback)
        return self.connection

    def packet(self) -> bytes:
        """Return the next packet of the client, which must be shorter than 16 kB."""
        head = self.exactly(2)
        length = head[1]
        if length > 127:
            head += self.exactly(1)
            length = (length & 127) + (head[2] << 7)
        return head + self.exactly(length)

    def exactly(self, count: int) -> bytes:
        """Return so many bytes of the client."""
        found = b""
        while len(found) < count:
            part = self.connection.recv(count - len(found))
            assert part, "the client hung up"
            found += part
        return found

    def close(self) -> None:
        """Hang up and listen no more."""
        self._listening.close()
        if self.connection is not None:
            self.connection.close()


@contextmanager
def scripted_broker(source_of: Callable[[int], MqttSource], protocol: str = "5") -> Iterator:
    """Yield a scripted broker and a source that is connected to it."""
    broker = ScriptedBroker(protocol)
    source = source_of(broker.port)
    thread = threading.Thread(target=broker.accept)
    thread.start()
    try:
        while not source.connected:
            source.receive(0.05)
        thread.join(WAIT_SECONDS)
        yield broker, source
    finally:
        source.close()
        broker.close()
