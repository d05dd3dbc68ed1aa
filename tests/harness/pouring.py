"""A publisher without any regard: packets of QoS 0, as fast as the broker takes them."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterable
from itertools import islice
from typing import Final

from harness.publishing import Said

_CONNECT: Final = b"\x10\x13\x00\x04MQTT\x04\x02\x00\x3c\x00\x07pouring"
_AT_ONCE: Final = 500


def pour(port: int, messages: Iterable[Said], going: Callable[[], bool] = lambda: True) -> int:
    """Send messages until there are no more or ``going`` says no; return how many."""
    sent = 0
    rest = iter(messages)
    with socket.create_connection(("127.0.0.1", port)) as out:
        out.sendall(_CONNECT)
        assert out.recv(4)[3] == 0
        while going():
            packets = [_packet(*message) for message in islice(rest, _AT_ONCE)]
            if not packets:
                break
            out.sendall(b"".join(packets))
            sent += len(packets)
        out.sendall(b"\xe0\x00")
        out.shutdown(socket.SHUT_WR)
        out.settimeout(60.0)
        while out.recv(4096):
            time.sleep(0.01)
    return sent


def _packet(topic: str, payload: bytes) -> bytes:
    name = topic.encode()
    body = len(name).to_bytes(2, "big") + name + payload
    size, length = len(body), bytearray()
    while True:
        length.append(size % 128 | (0x80 if size >= 128 else 0))
        size //= 128
        if not size:
            return b"\x30" + bytes(length) + body
