"""The shipped broker: who may say what, over TLS only, and what it keeps for who is away."""

from __future__ import annotations

import json
import socket
import ssl
import time
from collections.abc import Callable
from contextlib import nullcontext, suppress
from datetime import UTC, datetime

import paho.mqtt.client as paho
import pytest
from harness.programs import WAIT_SECONDS, need, until
from paho.mqtt.enums import CallbackAPIVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from monitor.cli import main
from monitor.errors import UNAVAILABLE
from monitor.mqtt.publish import BrokerPublisher, PublishError
from tests.deploy.installation import DEPLOY, HOST, Broker, Secrets, ShippedDaemon, run

READING = "monitor/cart-01/mass/reading"
REFERENCE = "monitor/cart-01/mass/reference"
EVENT = "monitor/cart-01/event"
MORE_THAN_THE_DEFAULT = 3000  # mosquitto keeps 1000 where it is not told otherwise

CONNECT = b"\x10\x0d\x00\x04MQTT\x04\x02\x00\x0a\x00\x01a"


class Listener:
    """A client with a session that outlives its connection; ``heard`` is what came, in order."""

    def __init__(self, port: int, account: str, secrets: Secrets) -> None:
        self.heard: list[tuple[str, bytes]] = []
        self.granted: list[int] = []
        self.came_back = False
        client = paho.Client(CallbackAPIVersion.VERSION2, client_id=account, protocol=paho.MQTTv5)
        client.username_pw_set(account, secrets.password(account))
        client.tls_set_context(secrets.tls())
        client.on_connect = self._on_connect
        client.on_message = lambda _client, _data, each: self.heard.append(
            (each.topic, each.payload)
        )
        client.on_subscribe = lambda *words: self.granted.append(words[2])
        properties = Properties(PacketTypes.CONNECT)
        properties.SessionExpiryInterval = 3600
        properties.ReceiveMaximum = 5000
        client.connect(HOST, port, clean_start=False, properties=properties)
        self._connected = False
        self._client = client
        self.work(lambda: self._connected)

    def _on_connect(self, _client, _data, flags, code, _more) -> None:
        assert not code.is_failure
        self.came_back = flags.session_present
        self._connected = True

    def subscribe(self, *filters: str) -> None:
        for wanted in filters:
            before = len(self.granted)
            self._client.subscribe(wanted, qos=1)
            self.work(lambda before=before: len(self.granted) > before)

    def work(self, done: Callable[[], bool]) -> None:
        deadline = time.monotonic() + WAIT_SECONDS
        while not done():
            assert self._client.loop(0.05) == paho.MQTT_ERR_SUCCESS
            assert time.monotonic() < deadline

    def leave(self) -> None:
        self._client.disconnect()
        while self._client.loop(0.05) == paho.MQTT_ERR_SUCCESS:
            pass


def publish(broker: Broker, secrets: Secrets, account: str, topic: str) -> None:
    with secrets.publisher(broker.port, account) as out:
        out.publish(topic, account.encode())


@pytest.mark.parametrize(
    ("account", "topic"),
    [
        ("cart-01", READING),
        ("references", REFERENCE),
        ("references", "monitor/cart-02/mass/reference"),
        ("maintenance", EVENT),
        ("maintenance", REFERENCE),
        ("maintenance", "monitor/cart-01/collocation"),
    ],
)
def test_who_may_publish_is_heard_by_the_daemon(broker, secrets, account, topic):
    listener = Listener(broker.port, "monitor", secrets)
    listener.subscribe("monitor/#")
    publish(broker, secrets, account, topic)
    listener.work(lambda: bool(listener.heard))
    listener.leave()

    assert listener.heard == [(topic, account.encode())]


def test_nobody_publishes_what_is_not_theirs(broker, secrets):
    """The broker says so (MQTT 5), and the daemon hears nothing of it."""
    refused = [
        ("cart-01", "monitor/cart-02/mass/reading"),
        ("cart-01", REFERENCE),
        ("cart-01", "monitor/cart-02/mass/reference"),
        ("cart-01", EVENT),
        ("cart-01", "monitor/cart-01/collocation"),
        ("cart-01", "elsewhere"),
        ("references", READING),
        ("references", "monitor/references/mass/reading"),
        ("references", "monitor/references/mass/reference"),
        ("references", EVENT),
        ("maintenance", READING),
        ("maintenance", "monitor/maintenance/mass/reading"),
        ("monitor", READING),
        ("monitor", REFERENCE),
        ("monitor", EVENT),
        ("monitor", "monitor/monitor/mass/reading"),
    ]
    listener = Listener(broker.port, "monitor", secrets)
    listener.subscribe("monitor/#")
    for account, topic in refused:
        with pytest.raises(PublishError, match="Not authorized"):
            publish(broker, secrets, account, topic)
    publish(broker, secrets, "cart-01", READING)
    listener.work(lambda: bool(listener.heard))
    listener.leave()

    assert listener.heard == [(READING, b"cart-01")]


@pytest.mark.parametrize("account", ["cart-01", "references", "maintenance"])
def test_those_who_publish_read_nothing(broker, secrets, account):
    """Granted or not: when the daemon has a message, a sensor has had its time to get it too."""
    curious = Listener(broker.port, account, secrets)
    curious.subscribe("monitor/#", "#", READING, REFERENCE)
    daemon = Listener(broker.port, "monitor", secrets)
    daemon.subscribe("monitor/#")
    publish(broker, secrets, "cart-02", "monitor/cart-02/mass/reading")
    publish(broker, secrets, "references", REFERENCE)
    daemon.work(lambda: len(daemon.heard) == 2)
    curious.subscribe("monitor/+/+/reading")
    for listener in (curious, daemon):
        listener.leave()

    assert curious.heard == []


def test_without_a_password_or_with_anothers_nobody_comes_in(broker, secrets):
    strangers = [
        {},
        {"username": "cart-01", "password": secrets.password("cart-02")},
        {"username": "cart-99", "password": secrets.password("cart-01")},
    ]
    for stranger in strangers:
        with (
            pytest.raises(PublishError, match="Not authorized"),
            BrokerPublisher(HOST, broker.port, protocol="5", tls=secrets.tls(), **stranger),
        ):
            pass


def test_without_encryption_it_does_not_answer(broker):
    answer = b""
    with socket.create_connection((HOST, broker.port), timeout=WAIT_SECONDS) as plain:
        plain.sendall(CONNECT)
        with suppress(ConnectionResetError):
            answer = plain.recv(1)

    assert answer == b""


def test_its_certificate_is_for_those_who_trust_its_authority_and_for_its_own_names(
    broker, secrets
):
    for context, name, trusted in (
        (secrets.tls(), "localhost", True),
        (secrets.tls(), HOST, True),
        (secrets.tls(), "elsewhere.example", False),
        (ssl.create_default_context(), "localhost", False),
    ):
        with (
            socket.create_connection((HOST, broker.port), timeout=WAIT_SECONDS) as plain,
            nullcontext() if trusted else pytest.raises(ssl.SSLCertVerificationError),
            context.wrap_socket(plain, server_hostname=name) as encrypted,
        ):
            assert encrypted.version() in {"TLSv1.2", "TLSv1.3"}


def test_a_long_queue_outlives_an_absence_and_a_restart(broker, secrets):
    listener = Listener(broker.port, "monitor", secrets)
    listener.subscribe("monitor/+/+/reference")
    listener.leave()
    with secrets.publisher(broker.port, "references") as out:
        for number in range(MORE_THAN_THE_DEFAULT):
            out.publish(REFERENCE, str(number).encode())
    broker.stop()
    broker.start()
    back = Listener(broker.port, "monitor", secrets)
    back.work(lambda: len(back.heard) >= MORE_THAN_THE_DEFAULT)
    back.leave()

    assert back.came_back
    numbers = [int(payload) for _, payload in back.heard]
    assert sorted(numbers) == list(range(MORE_THAN_THE_DEFAULT))


def test_a_message_larger_than_allowed_ends_its_senders_connection(broker, secrets):
    with (
        pytest.raises(PublishError),
        secrets.publisher(broker.port, "cart-01") as out,
    ):
        out.publish(READING, b"x" * 70_000)
    until("it goes on", lambda: "disconnected" in broker.log())


def test_prepare_keeps_what_is_there_and_adds_what_is_new(tmp_path):
    first = Secrets(tmp_path / "secrets", "cart-01")
    before = {path: path.read_bytes() for path in first.folder.rglob("*") if path.is_file()}
    again = Secrets(tmp_path / "secrets", "cart-02")
    changed = {path.name for path, text in before.items() if path.read_bytes() != text}

    assert changed == {"passwords"}
    assert again.password("cart-02") not in {first.password("cart-01"), first.password("monitor")}
    accounts = {
        line.split(":")[0] for line in (again.folder / "passwords").read_text().splitlines()
    }
    assert accounts == {"cart-01", "cart-02", "maintenance", "monitor", "references"}
    assert again.folder.stat().st_mode & 0o077 == 0
    broker = Broker(tmp_path, again)
    try:
        publish(broker, again, "cart-02", "monitor/cart-02/mass/reading")
    finally:
        broker.stop()


@pytest.mark.parametrize("name", ["a/b", "+", "#", "a b", ""])
def test_prepare_refuses_names_that_would_mean_more_than_one_sensor(tmp_path, name):
    need("openssl")
    need("mosquitto_passwd")
    done = run(DEPLOY / "prepare.sh", tmp_path / "secrets", HOST, name)

    assert done.returncode == 65
    assert "cannot be a sensor's name" in done.stderr
    assert not (tmp_path / "secrets" / "passwords").exists()


def test_people_publish_by_hand_with_the_daemons_settings_and_their_own_account(
    broker, secrets, tmp_path, capsys, monkeypatch
):
    daemon = ShippedDaemon(tmp_path, broker.port, secrets, "127.0.0.1:9093")
    by = ["--config", str(daemon.settings)]
    event = ["event", *by, "cart-01", "adjusted", "--note", "set to zero"]
    reference = ["reference", *by, "cart-01", "mass", "503.5"]
    monkeypatch.chdir(secrets.folder)
    account = ["--username", "maintenance", "--password-file", "accounts/maintenance"]
    try:
        daemon.start()
        stated = {"time": datetime.now(UTC).isoformat(), "value": 503.0, "u": 1.0}
        with secrets.publisher(broker.port, "cart-01") as out:
            out.publish(READING, json.dumps(stated).encode())
        until("the reading came", lambda: daemon.json("/api/v1/series")["series"])
        for words in (event, reference):
            assert main(words) == UNAVAILABLE
            assert "Not authorized" in capsys.readouterr().err
            assert main([*words, *account, "--ca", "ca.pem"]) == 0
        until("the reference is held", lambda: daemon.value("monitor_pending_references") == 1)
        page = "/series/cart-01/mass"
        until("the page shows the event", lambda: b"set to zero" in daemon.get(page)[1])
        assert daemon.value("monitor_messages_committed_total") == 3
    finally:
        daemon.kill()
