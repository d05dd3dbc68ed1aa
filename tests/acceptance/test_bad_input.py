"""Bad input costs one message and is told; a missing broker is waited for."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest
from harness.cases import further
from harness.daemon import Daemon
from harness.programs import WAIT_SECONDS, free_port, need, until
from paho.mqtt import publish
from prometheus_client.parser import text_string_to_metric_families

from monitor.mqtt.publish import BrokerPublisher

READING = "monitor/{}/mass/reading"
GOOD = {"time": "2026-01-01T00:00:00Z", "value": 1.0, "u": 0.5}

SURROGATE = json.dumps({**GOOD, "key": "?"}).encode().replace(b"?", b"\xed\xa0\x80")
HOSTILE = {
    "no_reading": [b""],  # a cleared topic
    "bad_payload": [
        b"{",
        b"\xff\xfe",
        SURROGATE,
        b'{"value": NaN}',
        b"[" * 5000,
    ],
    "bad_field": [b"7", json.dumps({**GOOD, "u": "1"}).encode()],
    "not_finite": [json.dumps(GOOD).replace("1.0", "1e999").encode()],
    "bad_uncertainty": [
        json.dumps({**GOOD, "u": u}).encode() for u in (0, 0.0, -1.0, 1e-320, 1e-13)
    ],
    "inverted_interval": [json.dumps({**GOOD, "lower": 2.0, "upper": 1.0}).encode()],
    "zero_width": [json.dumps({**GOOD, "lower": 1.0, "upper": 1.0}).encode()],
    "bad_level": [
        json.dumps({**GOOD, "lower": 0.0, "upper": 1.0, "p": p}).encode() for p in (0, 1, 1.5, -1)
    ],
    "naive_time": [json.dumps({**GOOD, "time": "2026-01-01T00:00:00"}).encode()],
    "future": [json.dumps({**GOOD, "time": "2199-01-01T00:00:00Z"}).encode()],
    "missing_uncertainty": [b'{"time":"2026-01-01T00:00:00Z","value":1.0}'],
    "missing_field": [b'{"value":1.0,"u":0.5}'],
    "out_of_range": [json.dumps({**GOOD, "value": 1e16}).encode()],
    "name_mismatch": [json.dumps({**GOOD, "sensor": "another"}).encode()],
}


@pytest.fixture
def daemon(tmp_path: Path, mosquitto):
    running = Daemon(tmp_path, mosquitto.port, "series: {max: 3}")
    running.start()
    yield running
    running.kill()


def test_every_bad_message_is_refused_with_its_reason_and_the_good_one_after_it_arrives(
    daemon, mosquitto
):
    sent = 0
    with BrokerPublisher("127.0.0.1", mosquitto.port) as out:
        for payloads in HOSTILE.values():
            for payload in payloads:
                out.publish(READING.format("a"), payload)
                sent += 1
        for name in ("", "x" * 200, "..", "\u202eabc"):
            out.publish(READING.format(name), json.dumps(GOOD).encode())
            sent += 1
        out.publish(READING.format("good"), json.dumps(GOOD).encode())
        out.publish("monitor/good/mass/reference", json.dumps({**GOOD, "u": 0.1}).encode())
        out.flush()
    received = "monitor_messages_received_total"
    until("all came", lambda: daemon.value(received) == sent + 2)
    metrics = daemon.metrics()

    for reason, payloads in HOSTILE.items():
        counted = metrics[f'monitor_messages_rejected_total{{reason="{reason}"}}']
        assert counted == len(payloads), (reason, daemon.json("/api/v1/deadletters"))
    assert metrics['monitor_messages_rejected_total{reason="unexpected"}'] == 0
    assert metrics["monitor_messages_committed_total"] == 2 + 1  # ".." is a name like any other
    assert metrics['monitor_window_pairs{sensor="good",quantity="mass"}'] == 1
    letters = daemon.json("/api/v1/deadletters")["deadletters"]
    assert len(letters) == sent - 1
    assert all(len(letter["payload"]) <= 4 * 1024 for letter in letters)
    page = daemon.get("/metrics")[1].decode()
    assert "NaN" not in page
    assert list(text_string_to_metric_families(page))


@pytest.mark.parametrize("session", [(1, "3.1.1"), (2, "5"), *further((1, "5"), (2, "3.1.1"))])
def test_a_message_too_large_is_refused_once_and_never_comes_again(session, tmp_path, mosquitto):
    """With MQTT 5 too: a broker that was told a maximum would drop the message uncounted."""
    qos, protocol = session
    sources = [
        {"topic": f"monitor/{{{name}}}/{{quantity}}/{kind}", "kind": kind, "qos": qos}
        for name, kind in (("sensor", "reading"), ("subject", "reference"))
    ]
    running = Daemon(
        tmp_path,
        mosquitto.port,
        f"sources: {json.dumps(sources)}",
        protocol=protocol,
        mqtt="max_packet_bytes: 1000",
    )
    refused = 'monitor_messages_rejected_total{reason="oversize"}'
    received = "monitor_messages_received_total"
    try:
        running.start()
        publish.multiple(
            [
                (READING.format("a"), b"x" * 3_000_000, qos, False),
                (READING.format("a"), json.dumps(GOOD).encode(), qos, False),
            ],
            port=mosquitto.port,
        )
        until("both came", lambda: running.value(received) == 2)
        assert running.value(refused) == 1
        letters = json.loads(running.get("/api/v1/deadletters")[1])
        assert "more than 1000 bytes" in json.dumps(letters)
        assert running.stop() == 0
        running.start()
        with BrokerPublisher("127.0.0.1", mosquitto.port) as out:
            out.publish(READING.format("b"), json.dumps(GOOD).encode())
            out.flush()
        until("the next one came", lambda: running.value(received) == 3)
        assert running.value(refused) == 1
    finally:
        running.kill()


def test_invented_sensors_cost_a_counter_and_no_series(daemon, mosquitto):
    with BrokerPublisher("127.0.0.1", mosquitto.port) as out:
        for at in range(50):
            out.publish(READING.format(f"s{at}"), json.dumps(GOOD).encode())
        out.flush()
    until("all came", lambda: daemon.value("monitor_messages_received_total") == 50)

    assert daemon.value("monitor_series") == 3
    assert daemon.value('monitor_messages_rejected_total{reason="series_limit"}') == 47


def test_without_a_broker_it_waits_says_so_once_and_is_not_ready(tmp_path):
    need("mosquitto")
    daemon = Daemon(tmp_path, free_port())
    daemon.start(ready=False)
    try:
        status, why = until("health", lambda: daemon.get("/readyz")) or (0, b"")
        time.sleep(1.5)
        assert status == 503
        assert b"127.0.0.1" in why or b"still starting" in why
        assert daemon.get("/healthz")[0] == 200
        assert daemon.log().count("no connection to") == 1
        assert daemon.stop() == 0
    finally:
        daemon.kill()


def test_a_second_daemon_on_the_same_journal_is_told_and_ended(daemon):
    command = [sys.executable, "-m", "monitor", "run", "--config", str(daemon.settings)]
    ended = subprocess.run(
        command, check=False, capture_output=True, text=True, timeout=WAIT_SECONDS
    )

    assert ended.returncode == 73
    assert "another process has this journal open" in ended.stderr


def test_a_mistake_in_the_settings_ends_with_code_2_and_names_each(tmp_path):
    path = tmp_path / "bad.yaml"
    path.write_text("mqtt: {port: none, hots: x}\nwindows: {pairs: 0}\n", encoding="utf-8")
    for command in (["run", "--config", str(path)], ["check-config", str(path)]):
        ended = subprocess.run(
            [sys.executable, "-m", "monitor", *command], check=False, capture_output=True, text=True
        )
        said = ended.stdout + ended.stderr
        assert ended.returncode == 2
        for place in ("bad.yaml:1:", "mqtt.port", "mqtt.hots", "windows.pairs"):
            assert place in said
