"""`monitor event` and `monitor reference` reach a daemon, whatever file they were begun with."""

from __future__ import annotations

import json
import re
import shlex
import time
from collections.abc import Callable, Iterable
from html import unescape
from pathlib import Path

import numpy as np
import pytest
from harness.broker import Mosquitto
from harness.daemon import Daemon
from harness.device_messages import FAMILIES, at
from harness.programs import need, until, written

from monitor.cli import main
from monitor.commands.init import STARTERS, TRADES, starter
from monitor.config import load, parse
from monitor.core.formatting import series_path
from monitor.errors import UNAVAILABLE
from monitor.extensions.discover.heard import Heard
from monitor.extensions.discover.proposal import propose
from monitor.extensions.discover.settings_text import Broker
from monitor.http.by_hand import LinesByHand
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
    if name == "scales":
        return [("scales/hall-2", b"ST,NT,+  1.234kg")]
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


def copied(daemon: Daemon, page: str) -> list[list[str]]:
    """Return the lines that the page of a sensor shows, split into words as a shell does."""
    shown = re.findall(r'<code class="break">(monitor [^<]*)</code>', daemon.get(page)[1].decode())
    filled = {"VALUE": "5.0", "U": "0.1", "KEY": "982000412345678"}
    return [[filled.get(word, word) for word in shlex.split(unescape(line))] for line in shown]


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name in ("default", "discover") else pytest.mark.slow)
        for name in FILES
    ],
)
def test_the_lines_of_a_sensors_page_work_with_every_file_that_is_handed_out(
    name, tmp_path, mosquitto, capsys
):
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
        page = series_path(sensor, quantity)
        assert b'<details id="to-type"' in daemon.get(page)[1]  # a refresh leaves it open
        lines = copied(daemon, page)
        if name == "air":  # an hour's mean, which no single value is
            own = ["--config", str(daemon.settings), sensor, quantity, "5.0"]
            lines.append(["monitor", "reference", *own])
        assert [words[1] for words in lines] == ["event", "reference"]

        for _, *words in lines:
            assert main(words) == 0, words

        assert not capsys.readouterr().err
        until("the page shows the event", lambda: b": adjusted" in said(daemon, page))
        until("the reference is held", lambda: daemon.value("monitor_pending_references") == 1)
        assert daemon.stop() == 0
    finally:
        daemon.kill()


def said(daemon: Daemon, page: str) -> bytes:
    """Return a page without the markup of its times."""
    return re.sub(rb"<[^>]*>", b"", daemon.get(page)[1])


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


OWN_NAMES = """\
mqtt: {username: daemon}
sources:
  - topic: "a/{site}/{sensor}"
    kind: reading
    decoder: json
    map:
      sensor: "{site}.{sensor}"
      series:
        - {quantity: mass, value: kg, assumed: "0.5"}
        - {quantity: temperature, value: t,
           assumed: "0.02 * abs(value)"}
  - {topic: "b/{sensor}/{quantity}", kind: reading, decoder: json,
     map: {series: [{value: v, assumed: "1"}]}}
"""


def test_the_lines_quote_names_and_name_the_settings_file_and_the_line_of_an_assumed_u(tmp_path):
    file = written(tmp_path, "my settings.yaml", OWN_NAMES)
    shown = LinesByHand(load(file), str(file))

    begin = f"--config '{file}'"
    assert shown.event("It's") == f"""monitor event {begin} 'It'"'"'s' adjusted"""
    assert shown.event("-1") == f"monitor event {begin} -- -1 adjusted"
    assert shown.reference("a", "mass") == f"monitor reference {begin} --u U a mass VALUE"
    assert shown.has_account
    assert shown.assumed("north.p3", "mass") == [
        f"{file}:9: sources[0].map.series[0].assumed: 0.5",
        f"{file}:13: sources[1].map.series[0].assumed: 1",
    ]
    assert shown.assumed("north.p3", "temperature")[0].startswith(f"{file}:11: ")
    assert len(shown.assumed("p3", "mass")) == 1


def test_a_name_that_many_fields_nearly_make_costs_its_page_nothing():
    """By backtracking, each field costs a hundred times as much as the one before it."""
    named = "".join(f"{{f{at}}}" for at in range(8))
    text = f"""
sources:
  - topic: "{"/".join(f"{{f{at}}}" for at in range(8))}"
    kind: reading
    decoder: json
    map: {{sensor: "{named}[z]", series: [{{quantity: x, value: v, assumed: "1"}}]}}
"""
    shown = LinesByHand(parse(text.encode(), "s.yaml"))

    assert shown.assumed("a" * 128, "x") == []
    assert shown.assumed("a" * 7 + "[z]", "x") == []
    assert len(shown.assumed("a" * 125 + "[z]", "x")) == 1


@pytest.mark.parametrize(
    ("more", "wanted"),
    [
        ("pairing: {match_on: [key]}", "--key KEY --u U"),
        ("pairing: {mode: key, match_on: [subject, key]}", "--key KEY --u U"),
        ("", "--u U"),
    ],
)
def test_the_line_of_a_reference_has_what_it_pairs_by(more, wanted):
    shown = LinesByHand(parse(more.encode(), "s.yaml"))

    assert shown.reference("a", "mass") == f"monitor reference --config FILE {wanted} a mass VALUE"


def test_no_line_is_shown_that_would_do_nothing():
    by_hour = "pairing: {mode: mean_over_reference_interval, reading_seconds: 60}"
    unread = """
by_hand: false
sources:
  - {topic: "s/{sensor}/{quantity}", kind: reading}
  - {topic: "r/{subject}/{quantity}", kind: reference, decoder: json, map: {series: [{value: v}]}}
"""
    assert not LinesByHand(parse(by_hour.encode(), "s.yaml")).reference("a", "mass")
    assert not LinesByHand(parse(unread.encode(), "s.yaml")).reference("a", "mass")
    assert not LinesByHand(parse(unread.encode(), "s.yaml")).event("a")


@pytest.mark.parametrize("sensor", ["-1", "-a", "--", "It's", "$HOME", "Küche Süd"])
def test_any_name_of_a_sensor_can_be_typed_as_shown(sensor, tmp_path, capsys):
    file = written(tmp_path, "s.yaml", "mqtt: {port: 1}\n")
    shown = LinesByHand(load(file), str(file))

    assert main(shlex.split(shown.event(sensor))[1:]) == UNAVAILABLE
    _, command, *words = shlex.split(shown.reference(sensor, "mass"))
    filled = [{"VALUE": "-5", "U": "1"}.get(word, word) for word in words]
    assert main([command, "--dry-run", *filled]) == 0
    assert capsys.readouterr().out.startswith(f"monitor/{sensor}/mass/reference ")
