"""Every series has its verdict at the broker: the interface's numbers, and whether it lives."""

from __future__ import annotations

import json
import random
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

import paho.mqtt.client as paho
import pytest
from harness.daemon import Daemon
from harness.programs import WAIT_SECONDS, until
from hypothesis import given
from hypothesis import strategies as some
from paho.mqtt.enums import CallbackAPIVersion

from monitor.config import parse
from monitor.extensions.topics.verdict_topics import VerdictTopics
from monitor.mqtt.publish import BrokerPublisher
from monitor.mqtt.topic_templates import level_name, topic_level


class Follower:
    """Follows some topics as any program does: what is kept now, and every message in order."""

    def __init__(self, port: int, *topics: str) -> None:
        self.now: dict[str, bytes] = {}
        self.came: list[tuple[str, bytes]] = []
        ready = threading.Event()
        self._client = paho.Client(CallbackAPIVersion.VERSION2)
        self._client.on_message = self._hear
        self._client.on_subscribe = lambda *_: ready.set()
        self._client.connect("127.0.0.1", port)
        self._client.subscribe([(topic, 1) for topic in topics])
        self._client.loop_start()
        assert ready.wait(WAIT_SECONDS)

    def _hear(self, _client: object, _data: object, each: paho.MQTTMessage) -> None:
        self.came.append((each.topic, each.payload))
        if each.payload:
            self.now[each.topic] = each.payload
        else:
            self.now.pop(each.topic, None)

    def json(self, topic: str) -> dict:
        return json.loads(self.now.get(topic, b"{}"))

    def close(self) -> None:
        self._client.disconnect()
        self._client.loop_stop()
        self._client.on_subscribe = self._client.on_message = None


@contextmanager
def following(port: int, *topics: str) -> Iterator[Follower]:
    follower = Follower(port, *topics)
    try:
        yield follower
    finally:
        follower.close()


def send(port: int, sensor: str, pairs: int, offset: float, first: int = 0) -> None:
    chance = random.Random(sensor)
    with BrokerPublisher("127.0.0.1", port) as out:
        for at in range(first, first + pairs):
            time = f"2026-01-01T{at // 60:02}:{at % 60:02}:00Z"
            value = 10.0 + offset + chance.gauss(0.0, 1.0)
            reading = {"time": time, "value": value, "u": 1.0, "unit": "K"}
            out.publish(f"monitor/{sensor}/x/reading", json.dumps(reading).encode())
            reference = {"time": time, "value": 10.0, "u": 0.1, "unit": "K"}
            out.publish(f"monitor/{sensor}/x/reference", json.dumps(reference).encode())


def say(port: int, topic: str, text: str = "") -> None:
    with BrokerPublisher("127.0.0.1", port) as out:
        out.publish(topic, text.encode())


# -- a real daemon on a real broker ---------------------------------------------------------------


def test_every_series_has_the_interfaces_numbers_retained(daemon, mosquitto):
    daemon.start()
    send(mosquitto.port, "right", 40, 0.0)
    send(mosquitto.port, "off", 40, 6.0)
    with following(mosquitto.port, "site/m/#") as seen:
        told = seen.json
        until("one is off", lambda: told("site/m/verdict/off/x").get("state") == "firing")
        until("one is right", lambda: told("site/m/verdict/right/x").get("state") == "ok")
        for sensor in ("right", "off"):
            until("all is told", lambda s=sensor: told(f"site/m/verdict/{s}/x")["pairs"] == 40)
            shown = daemon.json(f"/api/v1/series/{sensor}/x")
            kept = told(f"site/m/verdict/{sensor}/x")
            numbers = shown["statistics"]
            assert {key: kept[key] for key in ("state", "sentence", "advice", "unit", "pairs")} == {
                key: shown[key] for key in ("state", "sentence", "advice", "unit", "pairs")
            }
            assert kept["fault"] == shown["verdict"]["fault"]
            assert kept["since"] == shown["verdict"]["since"]
            assert kept["problem"] is bool(shown["alerts"])
            assert kept["zms"] == {
                "value": numbers["calibration_zms"],
                "lower": numbers["calibration_zms_lower"],
                "upper": numbers["calibration_zms_upper"],
            }
            assert kept["scores"] == {
                name: numbers[f"score_{name}_mean"] for name in ("crps", "quadratic", "interval")
            }
            bias = numbers.get("error_now")
            assert kept["bias"]["value"] == (numbers["calibration_bias"] if bias is None else bias)
        assert told("site/m/verdict/off/x")["fault"] == "offset"
        assert told("site/m/verdict/off/x")["quality"]["opc_ua"] == "UncertainSensorNotAccurate"
        assert told("site/m/verdict/off/x")["bias"]["lower"] > 4.0
        assert seen.now["site/m/status"] == b"online"
    assert daemon.value("monitor_verdict_connected") == 1.0
    until("it counts", lambda: daemon.value("monitor_verdict_messages_total") >= 3.0)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM])
def test_a_monitor_that_is_dead_or_stands_still_is_offline(daemon, mosquitto, number):
    daemon.start()
    with following(mosquitto.port, "site/m/status") as seen:
        until("it lives", lambda: seen.now.get("site/m/status") == b"online")
        daemon.process.send_signal(number)
        until("it is offline", lambda: seen.now["site/m/status"] == b"offline")
        daemon.kill()
        daemon.start()
        until("it lives again", lambda: seen.now["site/m/status"] == b"online")


def test_a_broker_that_lost_everything_is_told_everything(daemon, mosquitto, tmp_path):
    daemon.start()
    send(mosquitto.port, "a", 5, 0.0)
    with following(mosquitto.port, "site/m/verdict/#") as seen:
        until("told", lambda: seen.json("site/m/verdict/a/x").get("pairs") == 5)
    mosquitto.stop(signal.SIGKILL)
    for store in (tmp_path / "broker").glob("*.db"):
        store.unlink()
    mosquitto.start()
    with following(mosquitto.port, "site/m/#") as seen:
        until("told again", lambda: seen.json("site/m/verdict/a/x").get("pairs") == 5)
        until("online again", lambda: seen.now.get("site/m/status") == b"online")


# -- Home Assistant -------------------------------------------------------------------------------


def test_a_sensor_is_one_device_with_four_entities_a_quantity(daemon, mosquitto):
    daemon.start()
    send(mosquitto.port, "off", 40, 6.0)
    with following(mosquitto.port, "site/m/#", "homeassistant/device/+/config") as seen:
        until("it is found", lambda: any("homeassistant" in topic for topic in seen.now))
        until("it is off", lambda: seen.json("site/m/verdict/off/x").get("state") == "firing")
        ((topic, payload),) = [each for each in seen.now.items() if "homeassistant" in each[0]]
    found = json.loads(payload)
    assert set(topic.split("/")[2]) <= set("abcdefghijklmnopqrstuvwxyz0123456789_-ABCXYZ")
    assert found["device"]["name"] == "off"
    assert found["origin"]["name"] == "monitor"
    assert (found["availability_topic"], found["payload_not_available"]) == (
        "site/m/status",
        "offline",
    )
    entities = {each["name"]: each for each in found["components"].values()}
    assert entities.keys() == {"x state", "x bias", "x ZMS", "x problem"}
    assert all(name == each["unique_id"] for name, each in found["components"].items())
    assert entities["x problem"]["platform"] == "binary_sensor"
    assert entities["x problem"]["device_class"] == "problem"
    assert entities["x bias"]["unit_of_measurement"] == "K"

    jinja2 = pytest.importorskip("jinja2")  # as Home Assistant renders
    told = seen.json(entities["x bias"]["state_topic"])

    def shown(name: str) -> str:
        return jinja2.Template(entities[name]["value_template"]).render(value_json=told)

    assert shown("x problem") == "ON"
    assert shown("x state") in entities["x state"]["options"]
    assert float(shown("x bias")) == told["bias"]["value"]
    assert float(shown("x ZMS")) == told["zms"]["value"]


TYPED = """
verdicts:
  prefix: site/m
  home_assistant: {references: [{quantity: x, u: 0.1, minimum: -40, maximum: 60}]}
"""


def test_a_number_typed_in_home_assistant_is_a_reference(tmp_path, mosquitto):
    jinja2 = pytest.importorskip("jinja2")
    daemon = Daemon(tmp_path, mosquitto.port, TYPED)
    daemon.start()
    try:
        now = datetime.now(UTC)
        reading = {"time": now.isoformat(), "value": 21.0, "u": 0.5, "unit": "K"}
        say(mosquitto.port, "monitor/room/x/reading", json.dumps(reading))
        say(mosquitto.port, "monitor/room/y/reading", json.dumps(reading))
        with following(mosquitto.port, "homeassistant/device/+/config") as seen:
            until("it is found", lambda: len(seen.came) and b"y state" in seen.came[-1][1])
            found = json.loads(seen.came[-1][1])
        (number,) = [each for each in found["components"].values() if each["platform"] == "number"]
        assert (number["min"], number["max"], number["unit_of_measurement"]) == (-40.0, 60.0, "K")
        assert number["name"] == "x reference"
        assert "state_topic" not in number
        assert "retain" not in number
        template = jinja2.Template(number["command_template"])
        say(
            mosquitto.port,
            number["command_topic"],
            template.render(value=20.4, utcnow=lambda: now + timedelta(seconds=3)),
        )
        pairs = 'monitor_window_pairs{sensor="room",quantity="x"}'
        until("the pair is in", lambda: daemon.value(pairs) == 1)
        (pair,) = daemon.json("/api/v1/series/room/x/pairs")["pairs"]
        assert (pair["reference"], pair["u_ref"]) == (20.4, 0.1)
        assert pair["error"] == pytest.approx(0.6)
    finally:
        daemon.kill()


# -- names ----------------------------------------------------------------------------------------


@given(some.text(min_size=1))
def test_a_name_is_one_level_and_comes_back(name):
    level = topic_level(name)
    assert not set(level) & set("/+#\0")
    assert level_name(level) == name
    assert level_name(f"{level}%FF") is None
    level.encode()


# -- what must not be -----------------------------------------------------------------------------


def test_a_broker_that_is_away_holds_nobody_up():
    settings = parse(b"verdicts: {prefix: m}", "s.yaml").verdicts
    topics = VerdictTopics(settings, lambda will: BrokerPublisher("127.0.0.1", 1, will=will), 1.0)
    topics.start()
    topics.stop(WAIT_SECONDS)
    assert topics.figures().connected is False
