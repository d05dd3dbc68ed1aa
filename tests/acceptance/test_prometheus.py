"""A real Prometheus scrapes a real daemon."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from harness.daemon import Daemon
from harness.programs import need, until
from harness.prometheus import Prometheus

from monitor.mqtt.publish import BrokerPublisher


@pytest.fixture
def daemon(tmp_path: Path, mosquitto):
    need("prometheus")
    running = Daemon(tmp_path, mosquitto.port, "series: {stale_after_seconds: 5}")
    running.start()
    yield running
    running.kill()


@pytest.fixture
def prometheus(tmp_path: Path, daemon: Daemon):
    running = Prometheus(tmp_path, daemon.url.removeprefix("http://"))
    until("the daemon is scraped", lambda: running.query("up == 1"))
    yield running
    running.stop()


def test_samples_arrive_and_those_of_a_sensor_that_stops_are_withdrawn(
    daemon, prometheus, mosquitto
):
    with BrokerPublisher("127.0.0.1", mosquitto.port) as out:
        for at in range(30):
            stated = {"time": f"2026-01-01T00:00:{at:02}Z", "value": float(at), "u": 1.0}
            out.publish("monitor/s/x/reading", json.dumps(stated).encode())
            out.publish("monitor/s/x/reference", json.dumps({**stated, "u": 0.1}).encode())
        out.flush()

    def pairs() -> list[dict]:
        return prometheus.query('monitor_window_pairs{sensor="s"}')

    until("the pairs are in Prometheus", lambda: [r["value"][1] for r in pairs()] == ["30"])
    until("the stopped series is withdrawn", lambda: not pairs())
    states = prometheus.query('monitor_series_state{sensor="s"} == 1')
    assert [sample["metric"]["state"] for sample in states] == ["stale"]
    assert float(prometheus.query("monitor_messages_received_total")[0]["value"][1]) == 60
    # As it prefers OpenMetrics, whose counters are named without their suffix.
    assert prometheus.kinds()["monitor_messages_received"] == "counter"
