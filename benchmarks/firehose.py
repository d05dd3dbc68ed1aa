"""A publisher that costs next to nothing: packets made beforehand, one socket, whole windows.

MQTT 3.1.1, QoS 1; it counts acknowledgements and asks for nothing else. For benchmarks only,
where a slow publisher would let fixed costs of the measured programs count for too much.
"""

from __future__ import annotations

import socket
from collections.abc import Sequence

WINDOW = 2000
_CONNECT = b"\x10\x14\x00\x04MQTT\x04\x02\x00\x3c\x00\x08firehose"
_PUBACK_BYTES = 4


def packet(topic: str, payload: bytes, number: int, *, properties: bool = False) -> bytes:
    """Return a PUBLISH at QoS 1 with a packet identifier made of ``number``.

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
            return b"\x32" + length + body


def pour(port: int, packets: Sequence[bytes]) -> None:
    """Send ``packets``; return when the broker has acknowledged all of them."""
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.sendall(_CONNECT)
        _receive(connection, 4)
        under_way = 0
        for first in range(0, len(packets), WINDOW // 2):
            part = packets[first : first + WINDOW // 2]
            connection.sendall(b"".join(part))
            under_way += len(part)
            if under_way >= WINDOW:
                _receive(connection, _PUBACK_BYTES * (under_way - WINDOW // 2))
                under_way = WINDOW // 2
        _receive(connection, _PUBACK_BYTES * under_way)
        connection.sendall(b"\xe0\x00")


def _receive(connection: socket.socket, wanted: int) -> None:
    while wanted:
        chunk = connection.recv(min(wanted, 65_536))
        if not chunk:
            raise ConnectionError("the broker closed the connection")
        wanted -= len(chunk)
