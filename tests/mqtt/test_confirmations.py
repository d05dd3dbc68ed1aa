"""Whether the broker has an acknowledgement."""

from __future__ import annotations

import pytest
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
