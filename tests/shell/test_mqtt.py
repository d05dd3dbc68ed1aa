"""The broker's side: sessions, acknowledgements, refusals, and packets cut anywhere."""

from __future__ import annotations

import itertools
import random
import socket
import statistics
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import paho.mqtt.client as paho
import pytest
import trustme
from harness.broker import Mosquitto
from harness.programs import free_port, need
from hypothesis import given, settings
from hypothesis import strategies as st
from paho.mqtt.enums import CallbackAPIVersion, MQTTErrorCode, MQTTProtocolVersion

from monitor.errors import BAD_SETTINGS, UNAVAILABLE
from monitor.mqtt import paho_batch, session
from monitor.mqtt.paho_batch import PRIVATE, BatchClient
from monitor.mqtt.publish import BrokerPublisher
from monitor.mqtt.source import (
    Message,
    MqttSettings,
    MqttSource,
    SourceRefusedError,
    Subscription,
    Tls,
)


def source_on(port: int, **more) -> MqttSource:
    options = {"client_id": "reader", "subscriptions": (Subscription("a/+", 1),), **more}
    return MqttSource(
        MqttSettings("127.0.0.1", port, coalesce_seconds=0.01, **options), chance=random.Random(1)
    )


def connect(source: MqttSource, seconds: float = 10.0) -> MqttSource:
    deadline = time.monotonic() + seconds
    while not source.connected:
        assert time.monotonic() < deadline, source.status
        source.early = [*getattr(source, "early", []), *source.receive(0.05)]
    return source


def take(source: MqttSource, count: int, seconds: float = 10.0) -> list[Message]:
    deadline = time.monotonic() + seconds
    found: list[Message] = list(source.early)
    while len(found) < count and time.monotonic() < deadline:
        found += source.receive(0.05)
    return found


def publish(port: int, *payloads: bytes, qos: int = 1) -> None:
    client = paho.Client(callback_api_version=CallbackAPIVersion.VERSION2)
    client.connect("127.0.0.1", port)
    client.loop_start()
    for payload in payloads:
        client.publish("a/x", payload, qos).wait_for_publish(10.0)
    client.disconnect()
    client.loop_stop()


# -- packets ------------------------------------------------------------------------------------


def packet(topic: bytes, payload: bytes, qos: int, mid: int, *, properties: bool) -> bytes:
    body = len(topic).to_bytes(2, "big") + topic
    body += mid.to_bytes(2, "big") if qos else b""
    body += b"\x00" if properties else b""
    body += payload
    length, left = b"", len(body)
    while True:
        left, digit = divmod(left, 128)
        length += bytes((digit | (0x80 if left else 0),))
        if not left:
            return bytes((0x30 | qos << 1,)) + length + body


def reading_client(chunks: list[bytes], *, newest: bool = True) -> BatchClient:
    version = MQTTProtocolVersion.MQTTv5 if newest else MQTTProtocolVersion.MQTTv311
    client = BatchClient(
        callback_api_version=CallbackAPIVersion.VERSION2, client_id="x", protocol=version
    )
    waiting = iter(chunks)

    def receive(_size: int) -> bytes:
        try:
            return next(waiting)
        except StopIteration:
            raise BlockingIOError from None

    client._sock_recv = receive  # type: ignore[method-assign]
    return client


messages = st.lists(
    st.tuples(
        st.sampled_from([b"a", b"a/b", "ü/x".encode()]),
        st.binary(max_size=400),
        st.integers(0, 2),
        st.integers(1, 65535),
    ),
    max_size=12,
)


@given(sent=messages, cuts=st.lists(st.integers(0, 5000), max_size=10), newest=st.booleans())
@settings(deadline=None)
def test_packets_cut_anywhere_give_the_same_messages(sent, cuts, newest):
    stream = b"".join(packet(*each, properties=newest) for each in sent)
    places = sorted({0, len(stream), *(min(cut, len(stream)) for cut in cuts)})
    pieces = [stream[a:b] for a, b in itertools.pairwise(places)]
    client = reading_client(pieces, newest=newest)

    assert client.read(10_000) == MQTTErrorCode.MQTT_ERR_SUCCESS
    found = [(m.topic.encode(), m.payload, m.qos, m.mid) for m in client.arrived]
    assert found == [(t, p, q, mid.to_bytes(2, "big") if q else b"") for t, p, q, mid in sent]


@st.composite
def streams_alike(draw):
    """Packets most of which are alike, as a broker sends them to one subscriber."""
    topics = [b"a/" + bytes([97 + at]) * draw(st.sampled_from([1, 130])) for at in range(3)]
    qos = draw(st.integers(0, 2))
    usual = st.tuples(st.sampled_from(topics), st.binary(max_size=150), st.just(qos))
    odd = st.tuples(st.sampled_from(topics), st.binary(max_size=20_000), st.integers(0, 2))
    sent = draw(st.lists(st.one_of(usual, usual, usual, odd), min_size=1, max_size=40))
    return [(*each, at + 1) for at, each in enumerate(sent)]


@given(
    sent=streams_alike(),
    newest=st.booleans(),
    flags=st.sampled_from([0, 1, 8]),
    ping=st.booleans(),
    cut=st.integers(0, 100),
)
@settings(deadline=None, max_examples=200)
def test_a_large_read_is_taken_apart_as_packet_by_packet(sent, newest, flags, ping, cut):
    made = [packet(*each, properties=newest) for each in sent]
    at = len(made) // 2
    made[at] = bytes((made[at][0] | flags,)) + made[at][1:]  # retained, or sent again
    made.insert(at, b"\xd0\x00" * ping)
    stream = b"".join(made)
    at = max(1, len(stream) - cut)
    pieces = [stream, *filter(None, (stream[:at], stream[at:]))]  # topics are known after the first
    found = []
    for enough in (1, 1 << 30):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(paho_batch, "ENOUGH_BYTES", enough)
            patch.setattr(paho_batch, "GATHERED_BYTES", 1)
            client = reading_client(pieces, newest=newest)
            assert client.read(100_000) == MQTTErrorCode.MQTT_ERR_SUCCESS
        taken = client.take()
        found.append([(m.topic, m.payload, m.flags, m.mid) for m in taken])
        found.append([taken.acknowledgements()])
    assert found[:2] == found[2:]
    assert len(found[0]) == 2 * len(sent)


@given(sent=streams_alike(), newest=st.booleans(), spoilt=st.integers(0, 5000), by=st.integers(0))
@settings(deadline=None, max_examples=200)
def test_a_large_read_that_is_spoilt_comes_to_the_same_either_way(sent, newest, spoilt, by):
    good = b"".join(packet(*each, properties=newest) for each in sent)
    bad = bytearray(good)
    bad[spoilt % len(bad)] = by % 256
    found = []
    for enough in (1, 1 << 30):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(paho_batch, "ENOUGH_BYTES", enough)
            patch.setattr(paho_batch, "GATHERED_BYTES", 1)
            client = reading_client([good, bytes(bad)], newest=newest)
            code = client.read(100_000)
        found.append((code, [(m.topic, m.payload, m.flags, m.mid) for m in client.arrived]))
    assert found[0] == found[1]


@given(garbage=st.binary(min_size=1, max_size=200))
@settings(deadline=None, max_examples=300)
def test_what_is_not_mqtt_ends_the_connection_and_nothing_else(garbage):
    code = reading_client([garbage]).read(10)

    assert isinstance(code, MQTTErrorCode)


def test_the_private_names_of_paho_are_what_they_were():
    client = paho.Client(callback_api_version=CallbackAPIVersion.VERSION2)

    for name in PRIVATE:
        assert hasattr(client, name), name
    assert set(client._in_packet) == {
        *("command", "have_remaining", "remaining_count", "remaining_mult"),
        *("remaining_length", "packet", "to_process", "pos"),
    }


def test_reading_stops_when_enough_messages_wait(monkeypatch):
    one = packet(b"a", b"x", 0, 0, properties=True)
    monkeypatch.setattr(paho_batch, "GATHERED_BYTES", len(one))
    client = reading_client([one] * 50)
    client.read(10)

    assert len(client.arrived) == 10


# -- waiting ------------------------------------------------------------------------------------


def test_the_system_wakes_us_once_enough_has_come_or_nothing_more_will():
    source = source_on(1)
    with socket.create_server(("127.0.0.1", 0)) as server:
        ours = socket.create_connection(server.getsockname())
        theirs, _ = server.accept()
        source._client.socket = lambda: ours  # type: ignore[method-assign]
        theirs.sendall(b"x" * 10)
        assert source._wait_for(1, 10.0)
        assert not source._wait_for(100, 0.05)
        theirs.sendall(b"x" * 90)
        assert source._wait_for(100, 10.0)
        assert len(ours.recv(1000)) == 100
        theirs.close()
        assert source._wait_for(100, 10.0)
        ours.close()


def test_while_messages_flow_a_read_is_one_wait(monkeypatch):
    source = source_on(1)
    source.connected = source._open = True
    waits: list[int] = []
    chunks = [packet(b"a/x", b"1", 0, 0, properties=True)] * 3 + [b""]

    def read(_most: int) -> MQTTErrorCode:
        return source._client._split(chunks.pop(0))

    monkeypatch.setattr(source._client, "read", read)
    monkeypatch.setattr(source, "_wait_for", lambda count, _seconds: not waits.append(count))
    for _ in range(4):
        source._listen(0.25, is_patient=True)
        source._client.take()
    enough = source._portions.enough_bytes

    assert waits == [1, enough, enough, enough, enough]
    assert not source._flows


def test_a_broker_that_sends_little_at_a_time_is_not_waited_for_in_vain(monkeypatch):
    source = source_on(1)
    source.connected = source._open = True
    portion = packet(b"a/x", b"1", 1, 7, properties=True) * 32
    in_vain: list[int] = []

    def wait(count: int, _seconds: float) -> bool:
        is_there = count <= len(portion)
        if not is_there:
            in_vain.append(count)
        return is_there

    monkeypatch.setattr(source._client, "read", lambda _most: source._client._split(portion))
    monkeypatch.setattr(source, "_wait_for", wait)
    monkeypatch.setattr(time, "sleep", lambda _seconds: None)

    for _ in range(60):
        assert len(source.receive(0.25)) == 32
    assert len(in_vain) == 1  # nothing is known before the first read


def test_a_read_that_waits_for_nothing_says_nothing_of_how_much_comes_at_a_time(monkeypatch):
    source = source_on(1)
    source.connected = source._open = True
    chunk = packet(b"a/x", b"1", 1, 7, properties=True) * 3
    monkeypatch.setattr(source._client, "read", lambda _most: source._client._split(chunk))
    monkeypatch.setattr(source, "_wait_for", lambda count, _seconds: count == 1)
    monkeypatch.setattr(time, "sleep", lambda _seconds: None)

    assert len(source.receive(0.25)) == 3
    assert source._portions.again_bytes > 0
    for _ in range(8):
        assert len(source.receive(0.0)) == 3
        assert source._portions.again_bytes == 0


# -- sessions -----------------------------------------------------------------------------------


@pytest.mark.parametrize("protocol", ["5", "3.1.1"])
@pytest.mark.parametrize("qos", [0, 1, 2])
def test_messages_arrive_once_in_order(qos, protocol, mosquitto):
    wanted = [str(n).encode() for n in range(50)]
    source = connect(
        source_on(mosquitto.port, protocol=protocol, subscriptions=(Subscription("a/+", qos),))
    )
    threading.Thread(target=publish, args=(mosquitto.port, *wanted), kwargs={"qos": qos}).start()
    found: list[bytes] = []
    deadline = time.monotonic() + 20
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


def test_two_clients_of_one_name_are_told_so(mosquitto):
    one, other = connect(source_on(mosquitto.port)), source_on(mosquitto.port)
    assert one.connected
    deadline = time.monotonic() + 30

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


def test_closing_is_quick_and_tells_the_broker(mosquitto):
    source = connect(source_on(mosquitto.port))
    began = time.monotonic()
    source.close()

    assert time.monotonic() - began < 1.0
    assert not source.connected


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


def test_without_a_broker_nothing_is_raised_and_the_reason_is_there():
    source = source_on(free_port())

    assert source.receive(0.3) == []
    assert "refused" in source.status.lower()
    source.close()


def test_attempts_are_spread_by_full_jitter():
    now = [0.0]
    waits = []
    for seed in range(400):
        source = MqttSource(
            MqttSettings("127.0.0.1", 1, "x", ()),
            monotonic=lambda: now[0],
            chance=random.Random(seed),
        )
        for _ in range(12):
            source._retry_later("test")
        waits.append(source._next_attempt)

    assert max(waits) <= session.BACKOFF_CAP_SECONDS
    assert statistics.mean(waits) == pytest.approx(session.BACKOFF_CAP_SECONDS / 2, rel=0.1)


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


# paho leaves a socket whose handshake failed to the garbage collector.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
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


def test_more_than_the_largest_packet_never_arrives(mosquitto):
    source = connect(source_on(mosquitto.port, max_packet_bytes=1024))
    with BrokerPublisher("127.0.0.1", mosquitto.port) as out:
        out.publish("a/x", b"x" * 5000)
        out.publish("a/x", b"small")
        out.flush()

    assert [message.payload for message in take(source, 1)] == [b"small"]
    source.close()
