"""`monitor event` and `monitor reference` reach a daemon, whatever file they were begun with."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
import pytest
from harness.broker import Mosquitto
from harness.daemon import Daemon
from harness.device_messages import FAMILIES, at
from harness.programs import need, until, written

from monitor.cli import main
from monitor.commands.init import STARTERS, TRADES, starter
from monitor.core.formatting import series_path
from monitor.discover import Broker, Heard, propose
from monitor.mqtt.publish import BrokerPublisher
from monitor.simulate import trades

PROJECT = Path(__file__).parents[2]
DEFAULT = (PROJECT / "configs" / "default.yaml").read_text(encoding="utf-8")
Message = tuple[str, bytes]


def of_trade(trade: str) -> list[Message]:
    """Return readings of a trade's simulation, without its references."""
    messages = trades.TRADES[trade](np.random.default_rng(1)).messages
    wanted = {"weighing": "/kalman", "air": "/obs", "process": "spBv1.0/"}[trade]
    return [each[1:] for each in messages if wanted in each.topic][:200]


def of_devices(name: str) -> list[Message]:
    families = {"lorawan": ("things-stack", "chirpstack")}.get(name, (name,))
    now = time.time()
    return [
        (each.topic.replace("living_room_", ""), each.payload)
        for family in families
        for each in FAMILIES[family](now)
    ]


def reading() -> bytes:
    return json.dumps({"time": at(time.time()), "value": 5.0, "u": 0.5}).encode()


def of_default() -> list[Message]:
    return [("monitor/cart-03/mass/reading", reading())]


def proposed() -> str:
    now = time.time()
    heard = [Heard(*each, now) for each in of_devices("zigbee2mqtt")]
    return propose(heard, now, Broker({"host": "127.0.0.1", "port": 1883})).text


FILES: dict[str, tuple[Callable[[], str], Callable[[], Iterable[Message]]]] = {
    **{
        name: (
            lambda name=name: starter(name),
            lambda name=name: of_trade(name) if name in TRADES else of_devices(name),
        )
        for name in STARTERS
    },
    "default": (lambda: DEFAULT, of_default),
    "discover": (proposed, lambda: of_devices("zigbee2mqtt")),
}


def here(text: str, folder: Path, port: int) -> str:
    """Return settings with this test's broker, journal and a free port for the page."""
    for old, new in (
        ("port: 1883", f"port: {port}"),
        ("path: state/journal.sqlite", f"path: {folder}/journal.sqlite"),
        ("port: 9108", "port: 0"),
        ("interval_seconds: 5.0", "interval_seconds: 0.2"),
    ):
        text = text.replace(old, new, 1)
    return text


@pytest.mark.parametrize("name", FILES)
def test_both_work_with_every_file_that_is_handed_out(name, tmp_path, mosquitto, capsys):
    text, messages = FILES[name]
    daemon = Daemon(tmp_path, mosquitto.port)
    written(tmp_path, "settings.yaml", here(text(), tmp_path, mosquitto.port))
    try:
        daemon.start()
        with BrokerPublisher("127.0.0.1", mosquitto.port) as out:
            for message in messages():
                out.publish(*message)
        until("a series is known", lambda: daemon.json("/api/v1/series")["series"])
        known = daemon.json("/api/v1/series")["series"][0]
        sensor, quantity = known["sensor"], known["quantity"]
        by = ["--config", str(daemon.settings)]

        assert main(["event", *by, sensor, "adjusted", "--note", "set to zero"]) == 0
        assert main(["reference", *by, sensor, quantity, "5.0", "--u", "0.1"]) == 0

        said = capsys.readouterr()
        assert not said.err
        page = series_path(sensor, quantity)
        until("the page shows the event", lambda: b"set to zero" in daemon.get(page)[1])
        until("the reference is held", lambda: daemon.value("monitor_pending_references") == 1)
        assert daemon.stop() == 0
    finally:
        daemon.kill()


DENYING = {
    "defaultACLAccess": dict.fromkeys(
        ("publishClientSend", "publishClientReceive", "subscribe", "unsubscribe"), True
    ),
    "anonymousGroup": "all",
    "groups": [{"groupname": "all", "roles": [{"rolename": "all"}]}],
    "roles": [
        {
            "rolename": "all",
            "acls": [
                {"acltype": "subscribeLiteral", "topic": topic, "priority": 1, "allow": False}
                for topic in ("monitor/+/event", "monitor/+/+/reference")
            ],
        }
    ],
}
OWN = """
sources:
  - {topic: "s/{sensor}/{quantity}", kind: reading}
  - {topic: "r/{subject}/{quantity}/x", kind: reference, decoder: json,
     map: {series: [{value: value, u: u}]}}
"""


def plugin() -> Path:
    """Return mosquitto's plugin that refuses subscriptions, which an acl_file cannot."""
    libraries = Path(need("mosquitto")).parents[1] / "lib"
    made = next(libraries.glob("*/mosquitto_dynamic_security.so"), None)
    if made is None:
        pytest.skip("needs mosquitto_dynamic_security.so (Debian: apt-get install mosquitto)")
    return made


@pytest.mark.parametrize("protocol", ["5", "3.1.1"])
def test_a_broker_that_refuses_only_them_is_told_of_and_served(protocol, tmp_path):
    denying = written(tmp_path, "dynamic.json", json.dumps(DENYING))
    more = f"plugin {plugin()}\nplugin_opt_config_file {denying}"
    mosquitto = Mosquitto(tmp_path, more)
    daemon = Daemon(tmp_path, mosquitto.port, OWN, protocol=protocol)
    try:
        daemon.start()
        with BrokerPublisher("127.0.0.1", mosquitto.port) as out:
            out.publish("s/a/mass", reading())
        until("it goes on", lambda: daemon.value("monitor_messages_committed_total") == 1)
        findings = daemon.json("/api/v1/doctor")["findings"]
        denied = [each for each in findings if "does not let this daemon subscribe" in each]
        assert [each.partition(": ")[0].rpartition(" ")[2] for each in denied] == [
            "monitor/+/+/reference",
            "monitor/+/event",
        ]
        assert "subscribe to monitor/+/event with QoS 1" in daemon.log()
        assert daemon.stop() == 0
    finally:
        daemon.kill()
        mosquitto.stop()


def test_a_refused_subscription_that_the_settings_name_ends_it(tmp_path):
    denying = written(tmp_path, "dynamic.json", json.dumps(DENYING))
    mosquitto = Mosquitto(tmp_path, f"plugin {plugin()}\nplugin_opt_config_file {denying}")
    daemon = Daemon(tmp_path, mosquitto.port)  # its sources are the default ones
    try:
        daemon.start(ready=False)
        until("it ends", lambda: daemon.process.poll() is not None)
        assert "subscribe to monitor/+/+/reference with QoS 1" in daemon.log()
    finally:
        daemon.kill()
        mosquitto.stop()


def test_the_doctor_does_not_ask_for_what_only_people_publish(tmp_path, mosquitto):
    daemon = Daemon(tmp_path, mosquitto.port, OWN)
    try:
        daemon.start()
        doctor = daemon.json("/api/v1/doctor")
        missing = [each for each in doctor["findings"] if each.startswith("no ")]
        assert [each.partition(", though")[0] for each in missing] == [
            "no reading has been received on s/+/+",
            "no reference has been received on r/+/+/x",
            "no message has been received since the journal was created",
        ]
        assert [each["by_hand"] for each in doctor["filters"]] == [False, False, True, True]
    finally:
        daemon.kill()


def test_doctor_and_check_say_that_references_come_by_hand_alone(tmp_path, mosquitto, capsys):
    own = 'sources: [{topic: "s/{sensor}/{quantity}", kind: reading}]'
    daemon = Daemon(tmp_path, mosquitto.port, own)
    assert main(["check-config", str(daemon.settings)]) == 0
    assert "only those by hand (`monitor reference`) will pair" in capsys.readouterr().out
    try:
        daemon.start()
        findings = daemon.json("/api/v1/doctor")["findings"]
        assert any(
            "`monitor reference` publishes one measured by hand" in each for each in findings
        )
    finally:
        daemon.kill()


def test_what_another_source_reads_first_is_refused_before_it_is_published(tmp_path, capsys):
    settings = written(
        tmp_path,
        "settings.yaml",
        """
mqtt: {port: 1}
sources:
  - {topic: "monitor/{sensor}/#", kind: reading, decoder: json,
     map: {series: [{quantity: mass, value: kg}]}}
""",
    )

    assert main(["event", "--config", str(settings), "cart", "adjusted"]) == 2
    assert "would reject monitor/cart/event" in capsys.readouterr().err
