"""The broker's side: sessions, acknowledgements, refusals, and packets cut anywhere."""

from __future__ import annotations

import random
import statistics
import threading
import time
from collections import deque
from pathlib import Path

import pytest
import trustme
from harness import mqtt_packets
from harness.broker import Mosquitto
from harness.programs import WAIT_SECONDS, free_port, need, until
from harness.wires import CONNACK, ScriptedWire, scripted_broker, source_on_wire

from monitor.errors import BAD_SETTINGS, UNAVAILABLE
from monitor.mqtt.connection import (
    MqttSettings,
    SourceRefusedError,
    Subscription,
    Tls,
    without_overlaps,
)
from monitor.mqtt.inbox import InboxMessage
from monitor.mqtt.pacing import BACKOFF_CAP_SECONDS, Backoff
from monitor.mqtt.publish import BrokerPublisher
from monitor.mqtt.source import MqttSource
from monitor.mqtt.wire import Wire


def source_on(port: int, **more) -> MqttSource:
    options = {"client_id": "reader", "subscriptions": (Subscription("a/+", 1),), **more}
    return MqttSource(
        MqttSettings("127.0.0.1", port, coalesce_seconds=0.01, **options), chance=random.Random(1)
    )


def connect(source: MqttSource, seconds: float = WAIT_SECONDS) -> MqttSource:
    deadline = time.monotonic() + seconds
    while not source.connected:
        assert time.monotonic() < deadline, source.status
        source.early = [*getattr(source, "early", []), *source.receive(0.05)]
    return source


def take(source: MqttSource, count: int, seconds: float = WAIT_SECONDS) -> list[InboxMessage]:
    deadline = time.monotonic() + seconds
    found: list[InboxMessage] = list(getattr(source, "early", []))
    while len(found) < count and time.monotonic() < deadline:
        found += source.receive(0.05)
    return found


# -- waiting ------------------------------------------------------------------------------------


def packet(payload: bytes, mid: int) -> bytes:
    return mqtt_packets.publish(b"a/x", payload, 1 if mid else 0, mid, properties=b"")


# -- subscriptions ------------------------------------------------------------------------------


def test_a_filter_that_another_covers_is_not_subscribed_to_unless_the_other_may_be_refused():
    wanted = [
        Subscription("home/+/temperature", 2),
        Subscription("home/#", 1),
        Subscription("home/#", 0),
        Subscription("yard/+/mass", 1),
        Subscription("yard/+/+", 1, is_optional=True),
        Subscription("yard/+/x", 1, is_optional=True),
    ]
    assert without_overlaps(wanted) == (
        Subscription("home/#", 2),
        Subscription("yard/+/mass", 1),
        Subscription("yard/+/+", 1, is_optional=True),
    )


@pytest.mark.parametrize("protocol", ["5", "3.1.1"])
def test_a_message_that_two_sources_match_comes_once(protocol, mosquitto):
    both = (Subscription("a/+", 1), Subscription("a/#", 1))
    source = connect(source_on(mosquitto.port, protocol=protocol, subscriptions=both))
    with BrokerPublisher("127.0.0.1", mosquitto.port) as publisher:
        for at in range(20):
            publisher.publish("a/x", str(at).encode())
        publisher.publish("a/y", b"last")
    found: list[InboxMessage] = []

    def is_last_there() -> bool:
        batch = source.receive(0.05)
        source.acknowledge(batch)
        found.extend(batch)
        return b"last" in [each.payload for each in found]

    until("the last one came", is_last_there)
    found += source.receive(0.2)
    source.close()

    assert [each.payload for each in found] == [*(b"%d" % at for at in range(20)), b"last"]
    assert source.last_message.keys() == {"a/+", "a/#"}


# -- sessions -----------------------------------------------------------------------------------


def test_two_clients_of_one_name_are_told_so(mosquitto):
    one, other = connect(source_on(mosquitto.port)), source_on(mosquitto.port)
    assert one.connected
    deadline = time.monotonic() + WAIT_SECONDS

    def fight() -> None:
        while time.monotonic() < deadline:
            one.receive(0.02)
            other.receive(0.02)

    with pytest.raises(SourceRefusedError, match="client id 'reader'") as refused:
        fight()

    assert refused.value.exit_code == UNAVAILABLE
    one.close()
    other.close()


def test_a_downgraded_subscription_is_refused_with_the_filters_name(tmp_path):
    broker = Mosquitto(tmp_path, "max_qos 0")
    with pytest.raises(SourceRefusedError, match=r"a/\+.*QoS 0 only") as refused:
        connect(source_on(broker.port))
    broker.stop()

    assert refused.value.exit_code == BAD_SETTINGS


def test_without_a_broker_nothing_is_raised_and_the_reason_is_there():
    source = source_on(free_port())

    assert source.receive(0.3) == []
    assert "refused" in source.status.lower()
    source.close()


@pytest.mark.parametrize("more", [{"client_id": "a\0"}, {"username": "u" * 70_000}])
def test_a_name_that_mqtt_cannot_express_is_told_like_any_other_trouble(more):
    source = source_on(free_port(), **more)

    assert source.receive(0.0) == []
    assert "MQTT" in source.status


def test_attempts_are_spread_by_full_jitter():
    waits = []
    for seed in range(400):
        backoff = Backoff(random.Random(seed))
        for _ in range(12):
            wait = backoff.pause_seconds()
        waits.append(wait)

    assert max(waits) <= BACKOFF_CAP_SECONDS
    assert statistics.mean(waits) == pytest.approx(BACKOFF_CAP_SECONDS / 2, rel=0.1)


# -- who may ------------------------------------------------------------------------------------


class Certificates:
    """An authority, the broker's certificate and a client's."""

    def __init__(self, folder: Path, host: str = "127.0.0.1") -> None:
        authority = trustme.CA()
        self.ca = str(folder / "ca.pem")
        authority.cert_pem.write_to_path(self.ca)
        for name, certificate in (
            ("broker", authority.issue_cert(host)),
            ("client", authority.issue_cert("reader")),
        ):
            certificate.private_key_pem.write_to_path(str(folder / f"{name}.key"))
            certificate.cert_chain_pems[0].write_to_path(str(folder / f"{name}.pem"))
        self.broker = f"cafile {self.ca}\ncertfile {folder}/broker.pem\nkeyfile {folder}/broker.key"
        self.client = Tls(self.ca, str(folder / "client.pem"), str(folder / "client.key"))


def test_tls_connects_and_says_when_the_certificate_ends(tmp_path):
    certificates = Certificates(tmp_path)
    broker = Mosquitto(tmp_path, certificates.broker)
    source = connect(source_on(broker.port, tls=Tls(certificates.ca)))
    assert source.tls_not_after is not None
    assert source.tls_not_after > time.time()
    source.close()
    broker.stop()


@pytest.mark.parametrize("fault", ["authority", "host"])
def test_a_broker_that_cannot_be_trusted_is_refused_in_plain_words(fault, tmp_path):
    (tmp_path / "other").mkdir()
    certificates = Certificates(tmp_path, "elsewhere.example" if fault == "host" else "127.0.0.1")
    ca = Certificates(tmp_path / "other").ca if fault == "authority" else certificates.ca
    broker = Mosquitto(tmp_path, certificates.broker)
    source = source_on(broker.port, tls=Tls(ca))
    source.receive(0.5)
    broker.stop()

    assert not source.connected
    assert "certificate is not trusted" in source.status


@pytest.mark.parametrize("presented", [True, False])
def test_a_broker_that_wants_certificates_gets_one_or_lets_nobody_in(presented, tmp_path):
    certificates = Certificates(tmp_path)
    broker = Mosquitto(tmp_path, f"{certificates.broker}\nrequire_certificate true")
    tls = certificates.client if presented else Tls(certificates.ca)
    source = source_on(broker.port, tls=tls)
    if presented:
        connect(source)
    else:
        source.receive(1.0)
    connected = source.connected
    source.close()
    broker.stop()

    assert connected is presented


@pytest.mark.parametrize("password", ["right", "wrong"])
def test_user_and_password(password, tmp_path):
    import subprocess

    secrets = tmp_path / "passwords"
    subprocess.run(
        [need("mosquitto_passwd"), "-b", "-c", str(secrets), "reader", "right"], check=True
    )
    secrets.chmod(0o644)
    more = f"password_file {secrets}"
    broker = Mosquitto(tmp_path, more, anonymous=False)
    source = source_on(broker.port, username="reader", password=password)
    if password == "right":
        connect(source)
    else:
        source.receive(0.5)
        assert "check user, password" in source.status
    connected = source.connected
    source.close()
    broker.stop()

    assert connected is (password == "right")
    assert "right" not in repr(source._settings)


def test_of_more_than_the_largest_packet_a_part_arrives_to_be_counted(mosquitto):
    source = connect(source_on(mosquitto.port, max_packet_bytes=1024))
    with BrokerPublisher("127.0.0.1", mosquitto.port) as out:
        out.publish("a/x", b"x" * 5000)
        out.publish("a/x", b"small")
        out.flush()

    large, small = take(source, 2)
    assert 1024 < len(large.payload) < 5000  # cut: more than the limit, so that it is refused
    assert small.payload == b"small"
    source.close()


# -- a broker that keeps to nothing ---------------------------------------------------------------


PROTOCOLS = ["5", "3.1.1"]


def scripted(protocol: str, **more):
    """Return a broker whose packets are made here, and a source that is connected to it."""
    return scripted_broker(lambda port: source_on(port, protocol=protocol, **more), protocol)


def sent(payload: bytes, qos: int, mid: int, protocol: str) -> bytes:
    none = b"" if protocol == "5" else None
    return mqtt_packets.publish(b"a/x", payload, qos, mid, properties=none)


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize(("qos", "answer"), [(0, b""), (1, b"\x40\2\0\7"), (2, b"\x50\2\0\7")])
def test_a_message_too_large_is_handed_over_in_part_and_acknowledged(qos, answer, protocol):
    with scripted(protocol, max_packet_bytes=1000) as (broker, source):
        large, small = sent(b"x" * 300_000, qos, 7, protocol), sent(b"small", 1, 8, protocol)
        writer = threading.Thread(target=broker.connection.sendall, args=(large + small,))
        writer.start()
        found = take(source, 2)
        writer.join(WAIT_SECONDS)

        assert [message.payload for message in found] == [b"x" * 1001, b"small"]
        assert source.acknowledge(found) == 1 + bool(qos)
        assert broker.exactly(4 + len(answer)) == answer + b"\x40\2\0\x08"
        if qos == 2:
            broker.connection.sendall(b"\x62\2\0\7")
            source.receive(0.1)
            assert broker.packet() == b"\x70\2\0\7"


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize(
    ("bad", "why"),
    [
        (b"\x32\x02\0\x09", "a PUBLISH ends before its payload begins"),
        (b"\x10\0", "no packet from a broker begins with 0x10"),
        (b"\x40\2\0\1", "nothing asked for its PUBACK"),
        (b"\x90\4\0\7\0\1", "nothing asked for its SUBACK"),
    ],
)
def test_what_is_not_mqtt_ends_the_connection_with_its_reason(bad, why, protocol):
    with scripted(protocol) as (broker, source):
        broker.connection.sendall(bad)
        assert source.receive(1.0) == []

        assert not source.connected
        assert f"something that is not MQTT: {why}" in source.status
        if protocol == "5":
            assert broker.packet() == b"\xe0\1\x81"
        assert broker.connection.recv(1) == b""


@pytest.mark.parametrize(
    ("said", "status"), [(b"\xe0\1\x8b", "Server shutting down"), (b"", "the broker hung up")]
)
def test_the_end_of_a_connection_is_told_in_the_brokers_words(said, status):
    with scripted("5") as (broker, source):
        broker.connection.sendall(said)
        broker.connection.close()
        source.receive(1.0)

        assert source.status.endswith(status)


@pytest.mark.parametrize(
    ("answers", "status"),
    [
        ([CONNACK["5"], b"\x90\5\0\1\0\1\1"], "SUBACK answers 2 of 1 filters"),
        ([CONNACK["5"] * 2], "nothing asked for its CONNACK"),
        (
            [mqtt_packets.packet(0x20, b"\0\x87\x07\x1f\0\4shop")],
            "the broker refuses: Not authorized ('shop'); check user, password and client_id",
        ),
        ([b"\x15\3\3\0\2\2\x28"], "check mqtt.port, and mqtt.tls"),  # an alert of TLS
    ],
)
def test_an_answer_that_lets_nobody_in_is_told_and_tried_again(answers, status, monkeypatch):
    wire = ScriptedWire()
    wire.chunks = deque(answers)
    monkeypatch.setattr(Wire, "connect", lambda *_: wire)
    source = source_on(1)
    for _ in range(3):
        source.receive(0.0)

    assert not source.connected
    assert status in source.status


# -- keeping a quiet connection alive --------------------------------------------------------------


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize("answers", [True, False])
def test_a_quiet_connection_is_asked_for_and_given_up_without_an_answer(answers, monkeypatch):
    clock, wire = Clock(), ScriptedWire()
    source = source_on_wire(wire, monkeypatch, monotonic=clock, keepalive_seconds=10)
    wire.there = lambda _count: bool(wire.chunks)
    clock.now = 9.9
    source.receive(0.0)
    assert wire.sent == []
    clock.now = 10.0
    source.receive(0.0)
    assert wire.sent == [b"\xc0\0"]
    if answers:
        wire.chunks.append(b"\xd0\0")
        source.receive(0.0)
    clock.now = 15.0
    source.receive(0.0)

    assert source.connected is answers
    assert ("does not answer" in source.status) is not answers


def test_an_answer_that_waits_to_be_read_counts_however_late_it_is_read(monkeypatch):
    """The process may have been busy, or stopped, when the answer came."""
    clock, wire = Clock(), ScriptedWire()
    source = source_on_wire(wire, monkeypatch, monotonic=clock, keepalive_seconds=10)
    wire.there = lambda _count: bool(wire.chunks)
    clock.now = 10.0
    source.receive(0.0)
    wire.chunks.append(b"\xd0\0")
    clock.now = 1000.0
    source.receive(0.0)

    assert source.connected


def test_messages_that_need_no_answer_do_not_keep_a_connection_alive_alone(monkeypatch):
    """A broker gives up a client that sends nothing, however much it sends itself."""
    clock, wire = Clock(), ScriptedWire()
    source = source_on_wire(wire, monkeypatch, monotonic=clock, keepalive_seconds=10)
    for second in range(1, 21):
        clock.now = float(second)
        wire.chunks.append(packet(b"1", 0) + b"\xd0\0" * (second == 11))
        source.receive(0.0)

    assert wire.sent == [b"\xc0\0"] * 2


def test_the_brokers_keepalive_is_the_one_that_holds(monkeypatch):
    clock, wire = Clock(), ScriptedWire()
    wire.chunks[0] = mqtt_packets.packet(0x20, b"\0\0\3\x13\0\2")
    source = source_on_wire(wire, monkeypatch, monotonic=clock, keepalive_seconds=10)
    clock.now = 2.0
    source.receive(0.0)

    assert wire.sent == [b"\xc0\0"]


@pytest.mark.parametrize(("granted", "is_shorter"), [(3600, True), (604_800, False)])
def test_a_session_that_the_broker_keeps_shorter_than_asked_is_told_once(
    granted, is_shorter, monkeypatch, caplog
):
    wire = ScriptedWire()
    connack = mqtt_packets.packet(0x20, b"\0\0\5\x11" + granted.to_bytes(4, "big"))
    wire.chunks[0] = connack
    clock = Clock()
    source = source_on_wire(wire, monkeypatch, monotonic=clock)
    wire.chunks.extend([b"\xe0\0", connack, b"\x90\4\0\1\0\1"])
    while not source.reconnects:
        clock.now += 30.0
        source.receive(0.0)

    assert caplog.text.count("keeps messages for 3600 s while this client is away") == is_shorter


def test_filters_of_former_times_are_left_when_connected(monkeypatch):
    wire = ScriptedWire()
    monkeypatch.setattr(Wire, "connect", lambda *_: wire)
    wire.chunks.append(b"\xb0\4\0\2\0\x11")
    source = source_on(1)
    source.leave(["old/+"])
    connect(source)

    assert wire.sent[1:] == [b"\x82\x09\0\1\0\0\3a/+\x11", b"\xa2\x0a\0\2\0\0\5old/+"]
    assert source.receive(0.0) == []
    assert source.connected
