"""A publisher that costs next to nothing: packets made beforehand, one socket, whole windows.

MQTT 3.1.1, QoS 1 or 2; it counts acknowledgements and asks for nothing else. For benchmarks only,
where a slow publisher would let fixed costs of the measured programs count for too much.
"""

from __future__ import annotations

import socket
from collections.abc import Generator, Sequence

WINDOW = 2000
WINDOW_QOS_2 = 20  # what a broker commonly lets be under way
_CONNECT = b"\x10\x14\x00\x04MQTT\x04\x02\x00\x3c\x00\x08firehose"
_PUBACK_BYTES = 4


def packet(
    topic: str, payload: bytes, number: int, *, properties: bool = False, qos: int = 1
) -> bytes:
    """Return a PUBLISH at QoS 1 or 2 with a packet identifier made of ``number``.

    ``properties``: as MQTT 5 has it, with a list of properties that is empty.
    """
    name = topic.encode()
    mid = (number % 65_535 + 1).to_bytes(2, "big")
    body = len(name).to_bytes(2, "big") + name + mid + b"\0" * properties + payload
    length, size = b"", len(body)
    while True:
        length += bytes((size % 128 | (0x80 if size >= 128 else 0),))
        size //= 128
        if not size:
            return bytes((0x30 | qos << 1,)) + length + body


def pour(port: int, packets: Sequence[bytes], qos: int = 1) -> None:
    """Send ``packets``, all of one QoS; return when the broker has acknowledged all of them."""
    with _connected(port) as connection:
        if qos == 2:
            _pour_exactly_once(connection, packets)
        else:
            _pour(connection, packets)
        connection.sendall(b"\xe0\x00")


def pour_evenly(port: int) -> Generator[None, Sequence[bytes], None]:
    """Send the packets (QoS 1) that are handed in by ``send``, each portion at once."""
    with _connected(port) as connection:
        try:
            while True:
                part = yield
                connection.sendall(b"".join(part))
                _receive(connection, _PUBACK_BYTES * len(part))
        finally:
            connection.sendall(b"\xe0\x00")


def _connected(port: int) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", port))
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.sendall(_CONNECT)
    _receive(connection, 4)
    return connection


def _pour(connection: socket.socket, packets: Sequence[bytes]) -> None:
    under_way = 0
    for first in range(0, len(packets), WINDOW // 2):
        part = packets[first : first + WINDOW // 2]
        connection.sendall(b"".join(part))
        under_way += len(part)
        if under_way >= WINDOW:
            _receive(connection, _PUBACK_BYTES * (under_way - WINDOW // 2))
            under_way = WINDOW // 2
    _receive(connection, _PUBACK_BYTES * under_way)


def _pour_exactly_once(connection: socket.socket, packets: Sequence[bytes]) -> None:
    for first in range(0, len(packets), WINDOW_QOS_2):
        part = packets[first : first + WINDOW_QOS_2]
        numbers = range(first, first + len(part))
        connection.sendall(b"".join(part))
        _receive(connection, _PUBACK_BYTES * len(part))
        released = (b"\x62\x02" + (each % 65_535 + 1).to_bytes(2, "big") for each in numbers)
        connection.sendall(b"".join(released))
        _receive(connection, _PUBACK_BYTES * len(part))


def _receive(connection: socket.socket, wanted: int) -> None:
    while wanted:
        chunk = connection.recv(min(wanted, 65_536))
        if not chunk:
            raise ConnectionError("the broker closed the connection")
        wanted -= len(chunk)
