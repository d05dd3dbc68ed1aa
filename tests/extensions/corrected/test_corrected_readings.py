"""Corrected readings at a real broker: what is done, what it holds, and the same after a kill."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from harness.daemon import Daemon
from harness.programs import WAIT_SECONDS, until

from monitor.core.registry import SeriesName
from monitor.core.verdict.quality import INACCURATE, UNCHECKED
from monitor.extensions.corrected.corrected_readings import (
    WAITING_MAX,
    CorrectedReading,
    CorrectedTopics,
    corrected_message,
)
from monitor.mqtt.publish import PublishError
from tests.extensions.topics.test_verdict_topics import Follower, following, say, send

CORRECT = "correct: {publish: 'fixed/{sensor}/{quantity}'}\nseries: {stale_after_seconds: 1e7}"
COVERAGE = 'monitor_corrected_coverage_ratio{sensor="off",quantity="x"}'


@pytest.fixture
def daemon(tmp_path: Path, mosquitto) -> Iterator[Daemon]:
    running = Daemon(tmp_path, mosquitto.port, CORRECT)
    yield running
    running.kill()


def reading(port: int, at: int) -> None:
    """Send a reading of 16 that no reference follows."""
    time = f"2026-01-02T00:{at:02}:00Z"
    say(
        port,
        "monitor/off/x/reading",
        json.dumps({"time": time, "value": 16.0, "u": 1.0, "unit": "K"}),
    )


def came(seen: Follower, at: int) -> dict:
    """Return the corrected reading of a minute, empty until it is there."""
    told = [json.loads(payload) for topic, payload in seen.came if topic == "fixed/off/x"]
    return next((each for each in told if each["time"].startswith(f"2026-01-02T00:{at:02}")), {})


def test_readings_are_published_corrected_and_alike_after_a_kill(daemon, mosquitto):
    port = mosquitto.port
    daemon.start()
    with following(port, "fixed/#") as seen:
        reading(port, 0)
        first = until("a reading comes through", lambda: came(seen, 0))
        assert (first["value"], first["compared"]) == (16.0, False)
        assert first["quality"]["qartod"] == 2

        send(port, "off", 60, 6.0)
        shown = lambda: daemon.json("/api/v1/series/off/x")  # noqa: E731
        until("the remedy is known", lambda: shown()["advice"].startswith("subtract 6"))
        send(port, "off", 40, 6.0, first=60)
        until("it is applied", lambda: shown()["corrected"].startswith("subtract "))

        reading(port, 1)
        fixed = until("a reading is corrected", lambda: came(seen, 1))
        assert abs(fixed["value"] - 10.0) < 1.0
        assert fixed["lower"] < 10.0 < fixed["upper"]
        assert (fixed["unit"], fixed["p"], fixed["compared"]) == ("K", 0.9, True)
        assert fixed["quality"] == shown()["verdict"]["quality"]
        assert fixed["quality"]["qartod"] == 3
        until("its coverage is told", lambda: 0.5 < daemon.value(COVERAGE) <= 1.0)
        until("it counts", lambda: daemon.value("monitor_corrected_readings_total") >= 102)
        assert daemon.value("monitor_corrected_readings_dropped_total") == 0
        assert b"Corrected readings:" in daemon.get("/series/off/x")[1]

        daemon.kill()
        daemon.start()
        reading(port, 2)
        again = until("a reading is corrected again", lambda: came(seen, 2))

    same = {name: again[name] for name in ("value", "u", "lower", "upper")}
    assert same == {name: fixed[name] for name in same}


def test_a_message_is_one_that_a_native_source_reads():
    name = SeriesName("cart", "mass", "kg")
    plain = CorrectedReading(
        name, 1.5, 3.0, 1.0, 1.0, 5.0, 0.9, is_compared=True, quality=INACCURATE
    )
    found = json.loads(corrected_message(plain))

    assert found == {
        "time": "1970-01-01T00:00:01.500000Z",
        "value": 3.0,
        "u": 1.0,
        "lower": 1.0,
        "upper": 5.0,
        "p": 0.9,
        "unit": "kg",
        "compared": True,
        "quality": {"qartod": 3, "lwm2m": 2, "opc_ua": "UncertainSensorNotAccurate"},
    }
    nan = float("nan")
    bare = json.loads(corrected_message(plain._replace(u=nan, lower=nan, upper=nan)))
    assert not {"u", "lower", "upper"} & bare.keys()


def test_readings_that_wait_too_long_are_dropped_and_counted():
    def away() -> None:
        raise PublishError("nobody is there")

    topics = CorrectedTopics("{sensor}/{quantity}", away)
    name = SeriesName("a", "x")
    one = CorrectedReading(name, 0.0, 1.0, 1.0, 0.0, 2.0, 0.9, is_compared=False, quality=UNCHECKED)

    topics.offer([one] * (WAITING_MAX + 7))

    assert (topics.figures().waiting, topics.figures().dropped) == (WAITING_MAX, 7)

    topics.start()
    topics.stop(WAIT_SECONDS)
    dropped = topics.figures().dropped
    assert (topics.figures().waiting, dropped) == (0, WAITING_MAX + 7)
    assert CorrectedTopics("{sensor}/{quantity}", away, dropped).figures().dropped == dropped
