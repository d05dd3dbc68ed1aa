"""Nothing that was acknowledged is lost or counted twice, whatever dies."""

from __future__ import annotations

import itertools
import json
import random
import threading
import time
from pathlib import Path

import pytest
from harness.broker import Mosquitto
from harness.daemon import Daemon
from harness.programs import until

from monitor.sources.publish import BrokerPublisher, PublishError

KILLS = 30
SENSORS = [f"s{at}" for at in range(7)]


class Publishing(threading.Thread):
    """Publishes readings with their references and keeps a journal of what was acknowledged."""

    def __init__(self, port: int, rate: float) -> None:
        super().__init__(daemon=True)
        self._port = port
        self._pause = 1.0 / rate
        self._done = threading.Event()
        self._numbers = itertools.count()
        self.acknowledged: dict[str, int] = dict.fromkeys(SENSORS, 0)
        self.messages = 0

    def run(self) -> None:
        while not self._done.is_set():
            try:
                with BrokerPublisher("127.0.0.1", self._port, client_id="publisher") as out:
                    while not self._done.is_set():
                        self._round(out)
            except PublishError:
                time.sleep(0.1)

    def _round(self, out: BrokerPublisher) -> None:
        """Publish one pair a sensor; note it only when the broker has acknowledged all of them."""
        number = next(self._numbers)
        stated = {
            "time": f"2026-01-01T{number // 3600:02}:{number // 60 % 60:02}:{number % 60:02}Z"
        }
        messages = []
        for sensor in SENSORS:
            reading = {**stated, "value": number + 0.5, "u": 1.0, "seq": number}
            reference = {**stated, "value": float(number)}
            messages.append((f"monitor/{sensor}/x/reading", json.dumps(reading).encode()))
            messages.append((f"monitor/{sensor}/x/reference", json.dumps(reference).encode()))
        for topic, payload in messages:
            out.publish(topic, payload)
        out.flush()
        for sensor in SENSORS:
            self.acknowledged[sensor] += 1
        self.messages += len(messages)
        out.sleep(self._pause)

    def finish(self) -> None:
        self._done.set()
        self.join(20.0)


def pairs_of(daemon: Daemon) -> dict[str, float]:
    metrics = daemon.metrics()
    names = {s: f'monitor_window_pairs{{sensor="{s}",quantity="x"}}' for s in SENSORS}
    return {sensor: metrics.get(name, 0.0) for sensor, name in names.items()}


def assert_all_there_once(daemon: Daemon, published: Publishing) -> None:
    """Every acknowledged pair is there; what was sent but not acknowledged may be there too."""
    wanted = published.acknowledged

    def arrived() -> bool:
        return all(pairs_of(daemon)[sensor] >= wanted[sensor] for sensor in SENSORS)

    until(f"{wanted} are there: {pairs_of(daemon)}", arrived, 40.0)
    metrics = daemon.metrics()
    for sensor in SENSORS:
        bias = metrics[f'monitor_calibration_bias{{sensor="{sensor}",quantity="x"}}']
        assert bias == pytest.approx(0.5, abs=1e-9)
    counted = (
        metrics["monitor_messages_committed_total"] + metrics["monitor_messages_duplicate_total"]
    )
    assert counted == metrics["monitor_messages_received_total"]


@pytest.fixture
def daemon(tmp_path: Path, mosquitto: Mosquitto):
    running = Daemon(tmp_path, mosquitto.port, "windows: {pairs: 20000}", client="faults")
    running.start()
    yield running
    running.kill()


def test_thirty_kills_at_random_lose_nothing_and_count_nothing_twice(daemon, mosquitto):
    chance = random.Random(11)
    publishing = Publishing(mosquitto.port, rate=200.0)
    publishing.start()
    for _ in range(KILLS):
        time.sleep(chance.uniform(0.0, 0.5))
        daemon.kill()
        daemon.start(ready=False)
    publishing.finish()
    until("the daemon is ready", lambda: daemon.get("/readyz")[0] == 200)

    assert publishing.messages > 1000
    assert_all_there_once(daemon, publishing)
    exact = pairs_of(daemon)
    assert max(exact[s] - publishing.acknowledged[s] for s in SENSORS) <= 1


def test_a_broker_that_restarts_costs_nothing(daemon, mosquitto):
    publishing = Publishing(mosquitto.port, rate=100.0)
    publishing.start()
    for _ in range(2):
        time.sleep(1.0)
        mosquitto.stop()
        mosquitto.start()
    time.sleep(1.0)
    publishing.finish()

    assert_all_there_once(daemon, publishing)
    assert daemon.value("monitor_mqtt_reconnects_total") >= 2


def test_sigterm_under_load_ends_in_order_and_loses_nothing(daemon, mosquitto):
    publishing = Publishing(mosquitto.port, rate=200.0)
    publishing.start()
    for _ in range(3):
        time.sleep(0.5)
        began = time.monotonic()
        assert daemon.stop() == 0
        assert time.monotonic() - began < 5.0
        daemon.start(ready=False)
    publishing.finish()

    assert_all_there_once(daemon, publishing)


def test_every_message_three_times_counts_once(daemon, mosquitto):
    with BrokerPublisher("127.0.0.1", mosquitto.port) as out:
        for number in range(200):
            stated = {"time": f"2026-01-01T00:{number // 60:02}:{number % 60:02}Z"}
            for _ in range(3):
                reading = {**stated, "value": 1.5, "u": 1.0}
                out.publish("monitor/s0/x/reading", json.dumps(reading).encode())
                out.publish("monitor/s0/x/reference", json.dumps({**stated, "value": 1.0}).encode())
        out.flush()
    until("all came", lambda: daemon.value("monitor_messages_received_total") == 1200)
    metrics = daemon.metrics()

    assert metrics["monitor_messages_duplicate_total"] == 800
    assert metrics["monitor_messages_committed_total"] == 400
    assert pairs_of(daemon)["s0"] == 200
