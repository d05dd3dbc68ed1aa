"""A user mends a setting: the alerts that it raised end, by a reload and by a restart alike."""

from __future__ import annotations

import json
import random
import signal
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest
from harness.broker import Mosquitto
from harness.daemon import Daemon
from harness.programs import until

from monitor.mqtt.publish import BrokerPublisher

SETTINGS = """
sources:
  - {topic: "monitor/{sensor}/{quantity}/reading", kind: reading}
  - topic: "station/{subject}"
    kind: reference
    decoder: json
    map: {time: s, start: s, end: e, series: [{quantity: x, value: v, u: u}]}
pairing: {mode: mean_over_reference_interval, reading_seconds: 600, correlation: 1}
"""
MENDED = SETTINGS.replace("correlation: 1", "correlation: 0")
KELVIN = "kind: reading, unit: K"
HOURS = 60
FIRING = 'monitor_series_state{sensor="a",quantity="x",state="firing"}'
PAIRS = 'monitor_window_pairs{sensor="a",quantity="x"}'


@pytest.fixture
def daemon(tmp_path: Path, mosquitto: Mosquitto):
    running = Daemon(tmp_path, mosquitto.port, SETTINGS, client="mended")
    running.start()
    yield running
    running.kill()


def send(mosquitto: Mosquitto) -> None:
    """Send the readings of a sensor that is right, six an hour, and their means as references."""
    chance, begin = random.Random(7), time.time() - (HOURS + 1) * 3600.0
    with BrokerPublisher("127.0.0.1", mosquitto.port) as out:
        for hour in range(HOURS):
            start = begin + hour * 3600.0
            for at in range(6):
                stated = instant(start + at * 600.0 + 5.0)
                body = {"time": stated, "value": 20.0 + chance.gauss(0.0, 1.0), "u": 1.0}
                out.publish("monitor/a/x/reading", json.dumps(body).encode())
            body = {"s": instant(start), "e": instant(start + 3600.0), "v": 20.0, "u": 0.01}
            out.publish("station/a", json.dumps(body).encode())
        out.flush()


def instant(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat()


def entry(daemon: Daemon) -> dict:
    return daemon.json("/api/v1/series/a/x")


@pytest.mark.parametrize("is_reload", [True, False])
def test_an_alarm_that_a_setting_raised_ends_with_the_setting(daemon, mosquitto, is_reload):
    send(mosquitto)
    until("the alert fires", lambda: daemon.value(FIRING) == 1)
    until("all is paired", lambda: daemon.value(PAIRS) == HOURS)
    assert "overstates" in str(entry(daemon))
    committed = daemon.value("monitor_messages_committed_total")
    with BrokerPublisher("127.0.0.1", mosquitto.port) as out:  # what is known of the alert goes
        body = {"time": instant(time.time()), "value": 20.0, "u": 1.0}  # with the next message
        out.publish("monitor/a/x/reading", json.dumps(body).encode())
        out.flush()
    until("it is kept", lambda: daemon.value("monitor_messages_committed_total") > committed)
    mended = daemon.settings.read_text(encoding="utf-8").replace(SETTINGS, MENDED)
    daemon.settings.write_text(mended, encoding="utf-8")
    assert daemon.process is not None
    if is_reload:
        daemon.process.send_signal(signal.SIGHUP)
    else:
        assert daemon.stop() == 0
        daemon.start()

    until("the alert ends", lambda: daemon.value(FIRING) == 0)
    assert daemon.value(PAIRS) == HOURS
    assert f"{HOURS} pairs of 1 sensor were made again with the settings in force" in daemon.log()
    assert daemon.value("monitor_pairs_other_settings") == 0
    changes = daemon.json("/api/v1/alerts?history=100")["history"]
    ends = [(each["to"], each["corrected"]) for each in changes if each["from"] == "firing"]
    assert ends == [("resolved", True)]
    assert "overstates" not in str(entry(daemon))


def test_pairs_of_readings_that_were_read_otherwise_are_counted_wherever_people_look(
    daemon, mosquitto
):
    send(mosquitto)
    until("all is paired", lambda: daemon.value(PAIRS) == HOURS)
    assert daemon.stop() == 0
    daemon.start()
    until("the pairs are there again", lambda: daemon.value(PAIRS) == HOURS)
    assert daemon.value("monitor_pairs_other_settings") == 0
    mended = daemon.settings.read_text(encoding="utf-8").replace("kind: reading", KELVIN)
    daemon.settings.write_text(mended, encoding="utf-8")
    assert daemon.process is not None
    daemon.process.send_signal(signal.SIGHUP)

    other = "monitor_pairs_other_settings"
    until("the pairs are counted", lambda: daemon.value(other) == HOURS)
    notice = f"{HOURS} pairs of 1 sensor were made with other settings"
    assert notice in daemon.log()
    assert notice in daemon.get("/")[1].decode()
    assert notice in str(daemon.json("/api/v1/doctor"))
    page = daemon.get("/series/a/x")[1].decode()
    assert f"Other settings made {HOURS} of its pairs" in page
    event = json.dumps({"time": instant(time.time()), "event": "adjusted"}).encode()
    with BrokerPublisher("127.0.0.1", mosquitto.port) as out:
        out.publish("monitor/a/event", event)
        out.flush()
    until("an event ends that", lambda: daemon.value(other) == 0)
    assert "Other settings" not in daemon.get("/series/a/x")[1].decode()
