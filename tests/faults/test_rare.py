"""What happens seldom, done to whole daemons: silent refusals, a rival, retained messages."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import paho.mqtt.client as paho
import pytest
from harness.broker import Mosquitto
from harness.daemon import Daemon
from harness.programs import until
from harness.prometheus import Prometheus
from paho.mqtt.enums import CallbackAPIVersion

from monitor.mqtt.publish import BrokerPublisher

RULES = Path(__file__).parents[2] / "deploy" / "prometheus" / "alerts.yml"
AGE = "monitor_mqtt_filter_last_message_timestamp_seconds"
READING = f'{AGE}{{filter="monitor/+/+/reading",kind="reading"}}'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "broker"
    made.mkdir()
    return made


@pytest.fixture
def broker(folder: Path) -> Iterator[Mosquitto]:
    made = Mosquitto(folder)
    yield made
    made.stop()


def reading(at: datetime, **more: object) -> bytes:
    return json.dumps({"time": at.isoformat(), "value": 1.0, "u": 0.5, **more}).encode()


def publish(port: int, topic: str, payload: bytes, *, retain: bool = False) -> None:
    with BrokerPublisher("127.0.0.1", port) as out:
        out.publish(topic, payload, retain=retain)


def test_a_list_that_denies_in_silence_shows_as_a_filter_that_grows_old(tmp_path, folder):
    """The broker grants the subscription, tells the publisher of success, and delivers nothing."""
    access = folder / "acl"
    access.write_text("topic readwrite #\n", encoding="ascii")
    access.chmod(0o600)
    broker = Mosquitto(folder, f"acl_file {access}")
    daemon = Daemon(tmp_path, broker.port)
    prometheus = None
    try:
        daemon.start()
        publish(broker.port, "monitor/a/x/reading", reading(datetime.now(UTC)))
        heard = float(until("a reading came", lambda: max(daemon.value(READING), 0.0)))
        access.write_text("topic write monitor/#\n", encoding="ascii")
        broker.signal(1)
        until("the list is read again", lambda: "Reloading config" in broker.log())
        target = daemon.url.removeprefix("http://")
        rule = tmp_path / "rules.yml"
        text = (
            RULES.read_text(encoding="utf-8").replace("> 3600", "> 3").replace("for: 1m", "for: 1s")
        )
        rule.write_text(text, encoding="utf-8")
        prometheus = Prometheus(tmp_path, target, SCRAPED.format(rules=rule, target=target))
        for _ in range(3):
            publish(broker.port, "monitor/a/x/reading", reading(datetime.now(UTC)))

        fires = 'ALERTS{alertname="MonitorFilterSilent", filter="monitor/+/+/reading"}'
        until("the rule fires", lambda: prometheus.query(fires + " == 1"))

        assert daemon.value(READING) == heard
        assert daemon.value("monitor_mqtt_connected") == 1.0
        assert daemon.value("monitor_messages_received_total") == 1.0
    finally:
        if prometheus is not None:
            prometheus.stop()
        daemon.kill()
        broker.stop()


SCRAPED = """
global: {{scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s}}
rule_files: ["{rules}"]
scrape_configs:
  - job_name: monitor
    static_configs: [{{targets: ["{target}"]}}]
"""


def test_two_daemons_of_one_client_id_end_with_69_and_say_why(tmp_path, broker):
    (tmp_path / "one").mkdir()
    (tmp_path / "other").mkdir()
    one, other = (Daemon(tmp_path / name, broker.port, client="same") for name in ("one", "other"))
    try:
        one.start()
        other.start(ready=False)
        codes = (one.process, other.process)
        until("one of them ends", lambda: any(each.poll() is not None for each in codes))
        ended = one if one.process.poll() is not None else other
        assert ended.process.returncode == 69
        assert "another client uses the client id 'same'" in ended.log()
        left = other if ended is one else one
        until("the other one goes on", lambda: left.get("/readyz")[0] == 200)
        assert left.stop() == 0
    finally:
        one.kill()
        other.kill()


def test_a_subscription_refused_later_is_not_ready_and_not_the_end(tmp_path, folder):
    """The broker comes back with a lower limit; the daemon waits until that is mended."""
    broker = Mosquitto(folder)
    settings = folder / "mosquitto.conf"
    daemon = Daemon(tmp_path, broker.port)
    try:
        daemon.start()
        before = settings.read_text(encoding="utf-8")
        broker.stop()
        settings.write_text(before + "\nmax_qos 0\n", encoding="utf-8")
        broker.start()
        until("it says why", lambda: b"granted QoS 0 only" in daemon.get("/readyz")[1])
        assert daemon.get("/readyz")[0] == 503
        assert daemon.value("monitor_mqtt_connected") == 0.0
        assert daemon.process.poll() is None
        broker.stop()
        settings.write_text(before, encoding="utf-8")
        broker.start()
        until("it is ready again", lambda: daemon.get("/readyz")[0] == 200)
        assert daemon.stop() == 0
    finally:
        daemon.kill()
        broker.stop()


@pytest.mark.parametrize("protocol", ["5", "3.1.1"])
def test_retained_messages_count_once_whatever_is_begun_anew(protocol, tmp_path, broker):
    publish(broker.port, "monitor/a/x/reading", reading(datetime.now(UTC)), retain=True)
    daemon = Daemon(tmp_path, broker.port, protocol=protocol)
    try:
        daemon.start()
        until("it came", lambda: daemon.value("monitor_messages_committed_total") == 1.0)
        for wanted in (2.0, 3.0):
            assert daemon.stop() == 0
            forget_session(broker.port, "test")
            daemon.start()
            publish(broker.port, "monitor/b/x/reading", reading(datetime.now(UTC)))
            until("a later one came", lambda w=wanted: _committed(daemon) == w)
        assert daemon.value("monitor_messages_duplicate_total") >= 1.0  # a new session: sent again
        assert _committed(daemon) == 3.0
    finally:
        daemon.kill()


@pytest.mark.parametrize("protocol", ["5", "3.1.1"])
def test_a_dead_sensors_retained_value_is_no_reading_of_now(protocol, tmp_path, broker):
    """A leading slash, no time, a first connection and a second: only fresh values pair."""
    more = """
sources:
  - {topic: "/{sensor}/state", kind: reading, decoder: json,
     map: {time: arrival, series: [{quantity: x, value: $, unit: degC, assumed: "0.5"}]}}
  - {topic: "monitor/{subject}/{quantity}/reference", kind: reference}
areas: [{subject: hall, sensors: ["*"]}]
"""
    for sensor in ("dead", "alive"):
        publish(broker.port, f"/{sensor}/state", b"31.5", retain=True)
    daemon = Daemon(tmp_path, broker.port, more, protocol=protocol)
    refused = 'monitor_messages_rejected_total{reason="retained"}'
    try:
        for connection in (1.0, 2.0):
            daemon.start()
            until("both came", lambda c=connection: daemon.value(refused) == 2.0 * c)
            publish(broker.port, "/alive/state", b"20.1", retain=True)
            body = json.dumps({"time": datetime.now(UTC).isoformat(), "value": 20.0, "u": 0.1})
            publish(broker.port, "monitor/hall/x/reference", body.encode())
            alive = '{sensor="alive",quantity="x"}'
            paired = f"monitor_window_pairs{alive}"
            until("it paired", lambda c=connection, p=paired: daemon.value(p) >= c)
            assert abs(daemon.value(f"monitor_calibration_bias{alive}")) < 0.5
            assert not any('"dead"' in name for name in daemon.metrics())
            assert daemon.stop() == 0
            forget_session(broker.port, "test")
    finally:
        daemon.kill()


def _committed(daemon: Daemon) -> float:
    return daemon.value("monitor_messages_committed_total")


def forget_session(port: int, client: str) -> None:
    """Let the broker forget what it keeps for a client."""
    connected: list[int] = []
    one = paho.Client(CallbackAPIVersion.VERSION2, client_id=client, clean_session=True)
    one.on_connect = lambda *_: connected.append(1)
    one.connect("127.0.0.1", port)
    while not connected:
        one.loop(0.1)
    one.disconnect()
    one.loop(0.1)


def test_a_time_in_the_future_is_refused_and_moves_nothing(tmp_path, broker):
    daemon = Daemon(tmp_path, broker.port)
    try:
        daemon.start()
        now = datetime.now(UTC)
        publish(broker.port, "monitor/a/x/reading", reading(now))
        publish(broker.port, "monitor/a/x/reading", reading(now + timedelta(seconds=200)))
        publish(broker.port, "monitor/a/x/reading", reading(now + timedelta(days=400)))
        refused = 'monitor_messages_rejected_total{reason="future"}'
        until("it is refused", lambda: daemon.value(refused) == 1.0)
        assert _committed(daemon) == 2.0
        last = "monitor_series_last_reading_timestamp_seconds"
        until("it is shown", lambda: any(name.startswith(last) for name in daemon.metrics()))
        (newest,) = [v for name, v in daemon.metrics().items() if name.startswith(last)]
        assert newest == pytest.approx(now.timestamp() + 200.0, abs=0.01)
    finally:
        daemon.kill()
