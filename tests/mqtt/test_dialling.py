"""A connection that is being made has one time limit."""

from __future__ import annotations

import errno
import socket
import threading

import pytest

from monitor.mqtt.wire import Wire
from tests.mqtt.test_wire import SECONDS


def test_a_name_that_is_never_resolved_holds_nobody_up(monkeypatch):
    answer = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: answer.wait(SECONDS) and [])
    try:
        with pytest.raises(TimeoutError, match=r"the address of broker\.example"):
            Wire.connect("broker.example", 1883, 0.05)
    finally:
        answer.set()


def test_an_address_that_this_machine_cannot_use_is_passed_over(monkeypatch):
    resolved, made = socket.getaddrinfo, socket.socket

    def no_ipv6(family, *rest, **named):
        if family == socket.AF_INET6:
            raise OSError(errno.EAFNOSUPPORT, "Address family not supported by protocol")
        return made(family, *rest, **named)

    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        usable = resolved("127.0.0.1", port, type=socket.SOCK_STREAM)
        strange = (socket.AF_INET6, socket.SOCK_STREAM, 6, "", ("::1", port, 0, 0))
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: [strange, *usable])
        monkeypatch.setattr(socket, "socket", no_ipv6)
        Wire.connect("broker.example", port, SECONDS).close()
