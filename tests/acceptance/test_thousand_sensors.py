"""A network of a thousand sensors that start at the same instant, with default settings."""

from __future__ import annotations

import json

import pytest
from harness.daemon import Daemon
from harness.programs import until

from monitor.cli import main
from monitor.mqtt.publish import BrokerPublisher

SENSORS = 1000
ROUNDS = 7  # of a reading and a reference each: 14 000 messages
MESSAGES = 2 * SENSORS * ROUNDS


def publish(port: int, rounds: range) -> None:
    with BrokerPublisher("127.0.0.1", port) as out:
        for at in rounds:
            for sensor in range(SENSORS):
                for kind, value in (("reading", 20.0 + at), ("reference", 20.0)):
                    stated = {"time": f"2026-01-01T00:{at:02}:00Z", "value": value, "u": 1.0}
                    topic = f"monitor/node-{sensor:04}/temperature/{kind}"
                    out.publish(topic, json.dumps(stated).encode())
        out.flush()


def rejected(daemon: Daemon) -> float:
    samples = daemon.metrics().items()
    return sum(value for name, value in samples if name.startswith("monitor_messages_rejected"))


@pytest.mark.parametrize("is_killed", [False, True])
def test_every_message_of_a_thousand_new_sensors_counts(is_killed, mosquitto, tmp_path, capsys):
    daemon = Daemon(tmp_path, mosquitto.port)
    daemon.start()
    try:
        committed = "monitor_messages_committed_total"
        publish(mosquitto.port, range(1))
        if is_killed:
            until("some came", lambda: daemon.value(committed) > 0)
            daemon.kill()
        publish(mosquitto.port, range(1, ROUNDS))
        if is_killed:
            daemon.start()
        until("all are committed", lambda: daemon.value(committed) == MESSAGES)
        last = 'monitor_window_pairs{sensor="node-0999",quantity="temperature"}'
        until("all pairs are there", lambda: daemon.value(last) == ROUNDS)

        assert rejected(daemon) == 0
        assert daemon.value("monitor_series") == SENSORS
        assert daemon.value("monitor_series_waiting") == 0
        if not is_killed:
            assert daemon.value("monitor_messages_received_total") == MESSAGES
        assert main(["doctor", "--config", str(daemon.settings), "--url", daemon.url]) == 0
        told = capsys.readouterr().out
        assert f"{SENSORS * ROUNDS} pairs of {SENSORS * ROUNDS} readings" in told
        assert "agree" not in told
        assert daemon.stop() == 0
    finally:
        daemon.kill()


def test_series_that_wait_begin_without_another_message_and_after_a_kill(mosquitto, tmp_path):
    daemon = Daemon(tmp_path, mosquitto.port, "series: {max_new_per_minute: 600}")
    daemon.start()
    try:
        publish(mosquitto.port, range(1))
        until("some wait", lambda: daemon.value("monitor_series_waiting") > 0)
        daemon.kill()
        daemon.start()
        until("all have begun", lambda: daemon.value("monitor_series") == SENSORS)
        last = 'monitor_window_pairs{sensor="node-0999",quantity="temperature"}'
        until("its pair is there", lambda: daemon.value(last) == 1)

        assert daemon.value("monitor_messages_committed_total") == 2 * SENSORS
        assert rejected(daemon) == 0
        assert daemon.value("monitor_series_waiting") == 0
        assert daemon.stop() == 0
    finally:
        daemon.kill()
