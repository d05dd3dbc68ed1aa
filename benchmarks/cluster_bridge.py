"""Messages through mosquitto, `monitor cluster bridge` and a log that speaks Kafka's protocol.

The figures are processor time (user + system) of the bridge's process a message, which says what
one core could do, and what it did by the clock beside all else that ran.
Run: python benchmarks/cluster_bridge.py [--messages 60000]
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from firehose import packet, pour
from harness.broker import Mosquitto
from harness.kafka import TestLog
from harness.programs import until
from messages import readings_and_references

from monitor.config import load
from monitor.extensions.cluster.kafka_log import LogError, TopicReader, properties

TICKS = os.sysconf("SC_CLK_TCK")
SETTINGS = """
mqtt: {{port: {port}, client_id: bench}}
cluster: {{log: {{servers: "{servers}", partitions: 4}}}}
"""


def processor_seconds(pid: int) -> float:
    """Return user and system time of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def main() -> None:
    """Pour the messages and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--messages", type=int, default=60_000)
    count = parser.parse_args().messages
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "broker").mkdir()
        broker, log = Mosquitto(folder / "broker"), TestLog(folder)
        config = folder / "settings.yaml"
        config.write_text(SETTINGS.format(port=broker.port, servers=log.servers), encoding="utf-8")
        said = folder / "bridge.txt"
        with said.open("wb") as out:
            bridge = subprocess.Popen(
                [sys.executable, "-m", "monitor", "cluster", "bridge", "--config", str(config)],
                stdout=out,
                stderr=out,
            )
        until("the bridge is connected", lambda: b"connected to" in said.read_bytes(), 60.0)
        settings = load(config)
        reader = TopicReader(properties(settings), settings.cluster.log.topic, 4)

        def on_log() -> int:
            try:
                return sum(reader.ends().values())
            except LogError:
                return 0

        made = readings_and_references(0, count)
        packets = [packet(topic, body, at) for at, (topic, body) in enumerate(made)]
        before, began = processor_seconds(bridge.pid), time.monotonic()
        pour(broker.port, packets)
        until("all is on the log", lambda: on_log() >= len(made), 120.0)
        spent, passed = processor_seconds(bridge.pid) - before, time.monotonic() - began
        reader.close()
        bridge.terminate()
        bridge.wait(20.0)
        log.stop()
        broker.stop()
    print(f"messages                    {len(made)}")
    print(f"processor, us a message     {1e6 * spent / len(made):.1f}")
    print(f"messages/s a core           {len(made) / spent:.0f}")
    print(f"messages/s by the clock     {len(made) / passed:.0f}")


if __name__ == "__main__":
    main()
