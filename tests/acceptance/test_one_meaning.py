"""One message is one observation, however often and by whichever way it comes through a broker."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from harness.daemon import Daemon
from harness.programs import free_port, until

from monitor.mqtt.publish import BrokerPublisher

SETTINGS = """
mqtt: {{port: {port}, client_id: one-meaning}}
journal: {{path: "{folder}/journal.sqlite"}}
http: {{port: {http}}}
publish: {{interval_seconds: 0.1}}
sources:
- {{topic: "lab/{{subject}}/{{quantity}}", kind: reference, decoder: json,
   map: {{time: t, series: [{{value: v, u: s}}]}}}}
- {{topic: "monitor/{{sensor}}/{{quantity}}/reading", kind: reading}}
"""
REFERENCE = {"t": "2026-01-01T00:00:00.1234567Z", "v": 503.5, "s": 0.6}
READING = {"time": "2026-01-01T00:00:00.1234567Z", "value": 512.0, "u": 5.0}


@pytest.fixture
def daemon(tmp_path: Path, mosquitto):
    running = Daemon(tmp_path, mosquitto.port)
    running.settings.write_text(
        SETTINGS.format(port=mosquitto.port, folder=tmp_path, http=free_port())
    )
    running.start()
    yield running
    running.kill()


def total(daemon: Daemon, name: str) -> float:
    """Return the sum of a counter's samples."""
    return sum(value for key, value in daemon.metrics().items() if key.split("{")[0] == name)


def test_a_reference_with_seven_digits_that_comes_three_times_is_one(daemon, mosquitto):
    sent = [
        ("lab/s/mass", REFERENCE),
        ("monitor/s/mass/reading", READING),
        ("lab/s/mass", REFERENCE),
        ("monitor/s/mass/reading", READING),
        ("lab/s/mass", REFERENCE),
    ]
    for count, (topic, body) in enumerate(sent, 1):  # each in a read of its own
        with BrokerPublisher("127.0.0.1", mosquitto.port) as out:
            out.publish(topic, json.dumps(body).encode())
        until(
            "it came",
            lambda: total(daemon, "monitor_messages_received_total") >= count,  # noqa: B023
        )

    assert total(daemon, "monitor_messages_committed_total") == 2
    assert total(daemon, "monitor_messages_duplicate_total") == 3
    until("it is published", lambda: daemon.json("/api/v1/series")["series"][0]["pairs"] > 0)
    assert daemon.json("/api/v1/series")["series"][0]["pairs"] == 1
