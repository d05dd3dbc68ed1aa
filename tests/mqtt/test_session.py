"""A session at the broker."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager

from monitor.mqtt import session
from tests.mqtt.test_connection import source_on


@contextmanager
def silent_server() -> Iterator[int]:
    """Accepts connections and never answers."""
    listener = socket.create_server(("127.0.0.1", 0))
    yield listener.getsockname()[1]
    listener.close()


def test_a_broker_that_does_not_answer_is_given_up_and_tried_again(monkeypatch):
    monkeypatch.setattr(session, "CONNACK_SECONDS", 0.2)
    with silent_server() as port:
        source = source_on(port)
        for _ in range(8):
            source.receive(0.1)

    assert not source.connected
    assert "does not answer" in source.status
