"""Messages through a real mosquitto: `monitor run` beside mqtt2prometheus, in one run.

Both subscribe to the same broker with QoS 1 and read the same messages; ours decodes, pairs, scores
and makes each durable before it is acknowledged, the other keeps the last value. The figure is
processor time (user + system) a message, read from /proc. Run: python benchmarks/ingest.py
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from firehose import packet, pour
from harness.broker import Mosquitto
from harness.daemon import Daemon
from harness.programs import free_port
from messages import REFERENCE_EVERY, SENSORS, readings_and_references

MESSAGES = 200_000
ROUNDS = 5
TICKS = os.sysconf("SC_CLK_TCK")
PEER_SETTINGS = """
mqtt:
  server: tcp://127.0.0.1:{port}
  topic_path: monitor/+/mass/reading
  device_id_regex: "monitor/(?P<deviceid>[^/]+)/mass/reading"
  qos: 1
metrics:
  - {{prom_name: value, mqtt_name: value, type: gauge, help: v}}
  - {{prom_name: u, mqtt_name: u, type: gauge, help: u}}
"""


def processor_seconds(pid: int) -> float:
    """Return user and system time of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def packets(first: int) -> list[bytes]:
    """Return the messages of a round."""
    return [
        packet(topic, payload, number)
        for number, (topic, payload) in enumerate(readings_and_references(first, MESSAGES))
    ]


def measured(pid: int, done: Callable[[], bool], port: int, first: int) -> float:
    """Return microseconds of processor time a message of one process."""
    sent = packets(first)
    before = processor_seconds(pid)
    pour(port, sent)
    while not done():
        time.sleep(0.5)  # asking is work for the one that is measured
    spent = processor_seconds(pid) - before
    return 1e6 * spent / MESSAGES


def at_rest(count: Callable[[], float]) -> float:
    """Return a count once it stands still: what waited at the broker came first."""
    before, now = -1.0, count()
    while now != before:
        time.sleep(3.0)  # longer than the counts are published apart
        before, now = now, count()
    return now


def peer_received(url: str) -> float:
    """Return how many messages the peer says it has received."""
    with urllib.request.urlopen(url, timeout=10) as answer:
        lines = answer.read().decode().splitlines()
    return sum(
        float(line.rsplit(" ", 1)[1]) for line in lines if line.startswith("received_messages")
    )


def main() -> None:
    """Run the rounds and print medians and ratio."""
    if shutil.which("prometheus-mqtt-exporter") is None:
        sys.exit("prometheus-mqtt-exporter is missing: apt-get install prometheus-mqtt-exporter")
    ours: list[float] = []
    theirs: list[float] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "broker").mkdir()
        broker = Mosquitto(folder / "broker")
        peer_port = free_port()
        settings = folder / "peer.yaml"
        settings.write_text(PEER_SETTINGS.format(port=broker.port), encoding="utf-8")
        daemon = Daemon(folder, broker.port, "series: {max_new_per_minute: 100000}", interval=2.0)
        for number in range(ROUNDS):
            daemon.start()
            assert daemon.process is not None
            received = at_rest(lambda: daemon.value("monitor_messages_received_total"))
            wanted = received + MESSAGES + SENSORS * (MESSAGES // SENSORS // REFERENCE_EVERY)
            ours.append(
                measured(
                    daemon.process.pid,
                    lambda: daemon.value("monitor_messages_received_total") >= wanted,  # noqa: B023
                    broker.port,
                    number * 10_000,
                )
            )
            daemon.stop()
            peer = subprocess.Popen(
                [
                    "prometheus-mqtt-exporter",
                    "-config",
                    str(settings),
                    "-listen-port",
                    str(peer_port),
                    "-listen-address",
                    "127.0.0.1",
                    "-log-level",
                    "error",
                ],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            url = f"http://127.0.0.1:{peer_port}/metrics"
            time.sleep(1.5)
            theirs.append(
                measured(
                    peer.pid,
                    lambda: peer_received(url) >= MESSAGES,  # noqa: B023
                    broker.port,
                    number * 10_000 + 5000,
                )
            )
            peer.terminate()
            peer.wait(10)
            print(
                f"round {number + 1}: monitor {ours[-1]:.1f} us, "
                f"mqtt2prometheus {theirs[-1]:.1f} us a message",
                flush=True,
            )
        broker.stop()
    ratio = statistics.median(t / o for t, o in zip(theirs, ours, strict=True))
    print(
        f"median: monitor {statistics.median(ours):.1f} us, mqtt2prometheus "
        f"{statistics.median(theirs):.1f} us a message; ratio {ratio:.1f}"
    )


if __name__ == "__main__":
    main()
