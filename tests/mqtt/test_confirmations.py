"""Whether the broker has an acknowledgement."""

from __future__ import annotations

import pytest
from harness import mqtt_packets
from harness.wires import ScriptedWire, source_on_wire


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


ASKS, ANSWER = b"\xc0\0", b"\xd0\0"


@pytest.fixture
def connection(monkeypatch):
    clock, wire = Clock(), ScriptedWire()
    source = source_on_wire(wire, monkeypatch, monotonic=clock, keepalive_seconds=100)
    wire.there = lambda _count: bool(wire.chunks)
    return source, wire, clock


def test_the_broker_is_asked_once_whether_it_has_the_acknowledgements(connection):
    source, wire, clock = connection
    clock.now = 20.0
    source.receive(0.0)
    assert wire.sent == []
    source.confirm(3)
    for _ in range(3):
        source.receive(0.0)
    assert wire.sent == [ASKS]
    assert source.confirmed == 0
    source.confirm(4)
    wire.chunks.append(ANSWER)
    source.receive(0.0)

    assert source.confirmed == 3
    clock.now = 21.0
    source.receive(0.0)
    assert wire.sent == [ASKS, ASKS]


def test_an_answer_to_an_earlier_question_confirms_nothing_that_came_later(connection):
    source, wire, clock = connection
    clock.now = 100.0
    source.receive(0.0)  # to keep the connection alive
    assert wire.sent == [ASKS]
    source.confirm(3)
    wire.chunks.append(ANSWER)
    source.receive(0.0)

    assert source.confirmed == 0


def test_a_new_connection_confirms_nothing_until_all_has_come_again_that_will(connection):
    source, wire, clock = connection
    source.confirm(3)
    clock.now = 9.0
    source.receive(0.0)
    assert wire.sent == []
    clock.now = 10.0
    source.receive(0.0)

    assert wire.sent == [ASKS]


def test_an_answer_in_the_first_seconds_confirms_nothing(monkeypatch):
    """What was not acknowledged on the former connection may still come again."""
    clock, wire = Clock(), ScriptedWire()
    source = source_on_wire(wire, monkeypatch, monotonic=clock, keepalive_seconds=5)
    wire.there = lambda _count: bool(wire.chunks)
    source.confirm(3)
    clock.now = 5.0
    source.receive(0.0)  # to keep the connection alive
    assert wire.sent == [ASKS]
    wire.chunks.append(ANSWER)
    source.receive(0.0)

    assert source.confirmed == 0


def test_what_was_asked_before_a_connection_ended_is_asked_again_on_the_next(connection):
    source, wire, clock = connection
    clock.now = 20.0
    source.confirm(3)
    source.receive(0.0)
    assert wire.sent == [ASKS]
    reconnect(connection, b"\1\0\0")
    assert source.confirmed == 0
    wire.sent.clear()
    clock.now += 10.0
    source.receive(0.0)
    assert wire.sent == [ASKS]
    wire.chunks.append(ANSWER)
    source.receive(0.0)

    assert source.confirmed == 3


def test_a_session_that_the_broker_has_lost_sends_nothing_again(connection):
    source, _, _ = connection
    source.confirm(3)
    reconnect(connection, b"\0\0\0")

    assert source.confirmed == 3


def reconnect(connection, connack: bytes) -> None:
    """Let the broker end a connection and answer the next one."""
    source, wire, clock = connection
    answers = [mqtt_packets.packet(0x20, connack), b"\x90\4\0\1\0\1"]
    wire.chunks.extend([b"\xe0\0", *answers])
    while not (source.reconnects and source.connected):
        clock.now += 30.0
        source.receive(0.0)
