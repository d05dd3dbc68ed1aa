"""Messages of a persistent session: how they are waited for, read and acknowledged."""

from __future__ import annotations

import socket
import threading
import time

import paho.mqtt.client as paho
import pytest
from harness import mqtt_packets
from harness.broker import Mosquitto
from harness.programs import WAIT_SECONDS, until
from harness.wires import ScriptedWire, source_on_wire
from paho.mqtt.enums import CallbackAPIVersion

from monitor.mqtt.connection import Subscription
from monitor.mqtt.source import MqttSource
from monitor.mqtt.wire import EndedError, Wire
from tests.mqtt.test_connection import connect, packet, source_on, take


def publish(port: int, *payloads: bytes, qos: int = 1) -> None:
    client = paho.Client(callback_api_version=CallbackAPIVersion.VERSION2)
    client.connect("127.0.0.1", port)
    client.loop_start()
    for payload in payloads:
        client.publish("a/x", payload, qos).wait_for_publish(10.0)
    client.disconnect()
    client.loop_stop()


def test_the_system_wakes_us_once_enough_has_come_or_nothing_more_will():
    with socket.create_server(("127.0.0.1", 0)) as server:
        ours = Wire.connect(*server.getsockname(), 5.0)
        theirs, _ = server.accept()
        theirs.sendall(b"x" * 10)
        assert ours.wait(1, WAIT_SECONDS)
        assert not ours.wait(100, 0.05)
        theirs.sendall(b"x" * 90)
        assert ours.wait(100, WAIT_SECONDS)
        assert ours.receive() == b"x" * 100
        assert ours.receive() == b""
        theirs.close()
        assert ours.wait(100, WAIT_SECONDS)
        with pytest.raises(EndedError):
            ours.receive()
        ours.close()


def test_while_messages_flow_a_read_is_one_wait(monkeypatch):
    wire = ScriptedWire()
    source = source_on_wire(wire, monkeypatch)
    wire.there = lambda _count: bool(wire.chunks)
    wire.chunks.extend([packet(b"1", 0)] * 3)

    for _ in range(3):
        assert len(source.receive(0.25)) == 1
    assert source.receive(0.0) == []
    assert source.receive(0.0) == []

    first, *others = wire.waits
    assert first == 1
    assert len(others) == 4
    assert others[3] == 1  # nothing flows any more: the first byte is waited for again
    assert min(others[:3]) > 1


def at_qos_2(monkeypatch) -> tuple[ScriptedWire, MqttSource]:
    wire = ScriptedWire()
    wire.chunks[1] = b"\x90\4\0\1\0\2"  # granted
    return wire, source_on_wire(wire, monkeypatch, subscriptions=(Subscription("a/+", 2),))


def exact(payload: bytes, mid: int) -> bytes:
    return mqtt_packets.publish(b"a/x", payload, 2, mid, properties=b"")


def test_what_an_exchange_of_qos_2_brings_is_one_batch_and_received_after_it(monkeypatch):
    """PUBRELs, and the messages that a broker sends once they are answered, packet by packet."""
    wire, source = at_qos_2(monkeypatch)
    wire.there = lambda _count: bool(wire.chunks)

    wire.chunks.extend([exact(b"1", 1), exact(b"2", 2)])
    first = source.receive(0.25)
    assert [each.payload for each in first] == [b"1", b"2"]
    assert wire.sent == []
    assert source.acknowledge(first) == 2
    (received,) = wire.sent
    wire.sent.clear()

    wire.chunks.extend([b"\x62\2\0\1", exact(b"3", 1), b"\x62\2\0\2", exact(b"4", 2)])
    assert [each.payload for each in source.receive(0.25)] == [b"3", b"4"]
    assert wire.sent == [b"\x70\2\0\1", b"\x70\2\0\2"]
    assert received == b"\x50\2\0\1\x50\2\0\2"


def test_a_broker_that_never_pauses_does_not_keep_messages_of_qos_2_from_their_commit(monkeypatch):
    wire, source = at_qos_2(monkeypatch)
    wire.chunks.extend([exact(b"x", 7)] * 100)

    assert len(source.receive(0.25)) == 8
    assert len(wire.chunks) == 92


def test_a_broker_that_sends_little_at_a_time_is_not_waited_for_in_vain(monkeypatch):
    wire = ScriptedWire()
    source = source_on_wire(wire, monkeypatch)
    portion = packet(b"1", 7) * 32
    in_vain: list[int] = []

    def there(count: int) -> bool:
        if count > len(portion):
            in_vain.append(count)
        return count <= len(portion)

    wire.there = there
    monkeypatch.setattr(time, "sleep", lambda _seconds: None)

    for _ in range(60):
        wire.chunks.append(portion)
        assert len(source.receive(0.25)) == 32
    assert len(in_vain) == 1  # nothing is known before the first read


@pytest.mark.parametrize("between", [0, 1, 8])
def test_a_read_that_waits_for_nothing_says_nothing_of_how_much_comes_at_a_time(
    between, monkeypatch
):
    wire = ScriptedWire()
    source = source_on_wire(wire, monkeypatch)
    wire.there = lambda count: count == 1
    monkeypatch.setattr(time, "sleep", lambda _seconds: None)
    chunk = packet(b"1", 7) * 3
    wire.chunks.extend([chunk] * (2 + between))

    assert len(source.receive(0.25)) == 3  # waited in vain: it may have been all that comes
    for _ in range(between):
        assert len(source.receive(0.0)) == 3
    wire.waits.clear()
    assert len(source.receive(0.25)) == 3

    was_asked = [count for count in wire.waits if count < len(chunk)]
    assert len(was_asked) == (0 if between else 1)


def test_reading_stops_when_enough_messages_wait(monkeypatch):
    wire = ScriptedWire()
    source = source_on_wire(wire, monkeypatch)
    wire.is_drained = False
    wire.chunks.extend([packet(b"1", 0) * 10_000] * 5)

    reads = [(len(source.receive(0.0)), source.full_reads) for _ in range(4)]
    assert reads == [(20_000, 1), (20_000, 2), (10_000, 2), (0, 2)]


def test_answers_to_many_packets_are_one_write(monkeypatch):
    wire = ScriptedWire()
    source = source_on_wire(wire, monkeypatch)
    wire.chunks.append(b"\x62\2\0\1\x62\2\0\2" + packet(b"1", 3) + b"\x62\2\0\4")

    assert len(source.receive(0.0)) == 1

    assert wire.sent == [b"\x70\2\0\1\x70\2\0\2\x70\2\0\4"]


@pytest.mark.parametrize("protocol", ["5", "3.1.1"])
@pytest.mark.parametrize("qos", [0, 1, 2])
def test_messages_arrive_once_in_order(qos, protocol, mosquitto):
    wanted = [str(n).encode() for n in range(50)]
    source = connect(
        source_on(mosquitto.port, protocol=protocol, subscriptions=(Subscription("a/+", qos),))
    )
    threading.Thread(target=publish, args=(mosquitto.port, *wanted), kwargs={"qos": qos}).start()
    found: list[bytes] = []
    deadline = time.monotonic() + WAIT_SECONDS
    while len(found) < 50 and time.monotonic() < deadline:
        batch = source.receive(0.05)
        source.acknowledge(batch)
        found += [message.payload for message in batch]
    source.close()

    assert found == wanted


@pytest.mark.parametrize("protocol", ["5", "3.1.1"])
@pytest.mark.parametrize("qos", [1, 2])
def test_what_was_not_acknowledged_comes_again_and_what_was_does_not(qos, protocol, mosquitto):
    options = {"protocol": protocol, "subscriptions": (Subscription("a/+", qos),)}
    first = connect(source_on(mosquitto.port, **options))
    publish(mosquitto.port, b"1", b"2", b"3", qos=qos)
    batch = take(first, 3)
    assert first.acknowledge(batch[:2]) == 2
    first.receive(0.2)
    first.close()
    second = connect(source_on(mosquitto.port, **options))
    again = take(second, 1)
    second.close()

    assert [message.payload for message in again] == [b"3"]
    assert again[0].duplicate


def test_acknowledgements_of_a_former_connection_are_never_sent(mosquitto):
    source = connect(source_on(mosquitto.port))
    publish(mosquitto.port, b"1", b"2")
    old = take(source, 2)
    mosquitto.stop()
    while source.connected:
        source.receive(0.05)
    mosquitto.start()
    connect(source)

    assert source.acknowledge(old) == 0
    assert source.stale_acknowledgements == 2
    assert sorted(message.payload for message in take(source, 2)) == [b"1", b"2"]
    source.close()


def test_messages_sent_while_away_are_there_afterwards(mosquitto):
    connect(source_on(mosquitto.port)).close()
    publish(mosquitto.port, b"1", b"2")
    source = connect(source_on(mosquitto.port))

    assert [message.payload for message in take(source, 2)] == [b"1", b"2"]
    source.close()


def test_a_lost_session_is_counted(tmp_path):
    broker = Mosquitto(tmp_path)
    source = connect(source_on(broker.port))
    broker.stop(9)
    (tmp_path / "mosquitto.db").unlink(missing_ok=True)
    while source.connected:
        source.receive(0.05)
    broker.start()
    connect(source)

    assert (source.reconnects, source.sessions_lost) == (1, 1)
    source.close()
    broker.stop()


@pytest.mark.parametrize("present", [False, True])
@pytest.mark.parametrize("is_expected", [False, True])
def test_a_session_lost_while_away_is_counted_at_the_start(present, is_expected, monkeypatch):
    wire = ScriptedWire()
    wire.chunks[0] = bytes([0x20, 3, present, 0, 0])
    monkeypatch.setattr(Wire, "connect", lambda *_: wire)
    source = source_on(1)
    if is_expected:
        source.expect_session()
    connect(source)

    assert (source.reconnects, source.sessions_lost) == (0, int(is_expected and not present))


def test_closing_tells_the_broker(mosquitto):
    source = connect(source_on(mosquitto.port))
    source.close()

    assert not source.connected
    until("it says good-bye", lambda: "Client reader disconnected." in mosquitto.log())
