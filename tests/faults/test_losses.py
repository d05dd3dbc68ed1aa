"""Whatever comes more than once counts once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from harness.broker import Mosquitto
from harness.daemon import Daemon
from harness.programs import until

from monitor.mqtt.publish import BrokerPublisher


@pytest.fixture
def daemon(tmp_path: Path, mosquitto: Mosquitto):
    running = Daemon(tmp_path, mosquitto.port, client="faults")
    running.start()
    yield running
    running.kill()


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
    assert metrics['monitor_window_pairs{sensor="s0",quantity="x"}'] == 200
