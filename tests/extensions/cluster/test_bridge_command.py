"""Bridges as processes: killed, side by side, and while the log is away."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from collections import Counter, defaultdict
from pathlib import Path

import pytest
from harness.broker import Mosquitto
from harness.fleet_messages import START, reading, reference
from harness.kafka import TestLog
from harness.programs import WAIT_SECONDS, free_port, until, written

from monitor.config import load
from monitor.extensions.cluster.block import Block
from monitor.extensions.cluster.kafka_log import LogError
from monitor.extensions.cluster.recipes import recipe_of
from monitor.mqtt.publish import BrokerPublisher
from tests.extensions.cluster.test_bridge import records

MONITOR = (sys.executable, "-m", "monitor")

SETTINGS = """
mqtt: {{port: {port}, client_id: {client}, receive_maximum: 200}}
pairing: {{tolerance_seconds: 5}}
cluster:
  blocks: 16
  log: {{servers: "127.0.0.1:{log}", topic: readings, partitions: 4, acknowledge_seconds: 3}}
  bridge: {{share: {share}, metrics_port: {metrics}}}
"""


@pytest.fixture(scope="module")
def broker(tmp_path_factory):
    running = Mosquitto(tmp_path_factory.mktemp("broker"))
    yield running
    running.stop()


class Bridges:
    """Processes of `monitor cluster bridge` on one settings file."""

    def __init__(self, folder: Path, port: int, log: int, share: str = "null") -> None:
        self.metrics = free_port() if share == "null" else None
        metrics = "null" if self.metrics is None else self.metrics
        client = f"c{os.getpid()}-{folder.name}"
        text = SETTINGS.format(port=port, client=client, log=log, share=share, metrics=metrics)
        self.settings = written(folder, "settings.yaml", text)
        self._folder = folder
        self.running: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, name: str = "1") -> None:
        said = self._folder / f"bridge-{name}.log"
        with said.open("wb") as out:
            self.running[name] = subprocess.Popen(
                [*MONITOR, "cluster", "bridge", "--config", str(self.settings), "--name", name],
                stdout=out,
                stderr=out,
            )
        until(f"bridge {name} is connected", lambda: b"connected to" in said.read_bytes())

    def kill(self, name: str = "1") -> None:
        process = self.running.pop(name)
        process.kill()
        process.wait()

    def stop(self) -> list[int]:
        codes = []
        for process in self.running.values():
            process.send_signal(signal.SIGTERM)
            codes.append(process.wait(WAIT_SECONDS))
        self.running.clear()
        return codes


def on_log(settings: Path) -> list[bytes]:
    """Return the payloads of all records on the log."""
    return [record.message.payload for record in records(settings)]


def counted(settings: Path, mark: str) -> Counter[str]:
    """Return what blocks count of the messages with a mark, each block in two batches."""
    recipe, waiting = recipe_of(load(settings)), defaultdict(list)
    for record in records(settings):
        if f"/{mark}" in record.message.topic:
            (block,) = record.blocks
            waiting[block].append(record.message)
    found: Counter[str] = Counter()
    for number, messages in waiting.items():
        block, half = Block(recipe, None, number), len(messages) // 2
        block.apply(messages[:half])
        block = Block(recipe, block.dump(), number)
        found.update(block.apply(messages[half:]).totals)
    return found


def said(mark: str, count: int) -> list[tuple[str, bytes]]:
    made = []
    for at in range(count):
        made.append(reading(f"{mark}{at % 40}", at, 1.0, START))
        made.append(reference(f"{mark}{at % 40}", at, 1.0, START, key=f"{mark}-{at}"))
    return [(message.topic, message.payload) for message in made]


@pytest.mark.parametrize("share", ["null", "all"])
def test_killed_bridges_lose_nothing_that_the_broker_took(tmp_path, broker, log, share):
    bridges = Bridges(tmp_path, broker.port, log.port, share)
    names = ("1",) if share == "null" else ("1", "2")
    for name in names:
        bridges.start(name)
    sent = said(f"k{share}-", 2500)
    with BrokerPublisher("127.0.0.1", broker.port, client_id=f"p{share}") as out:
        for at, (topic, payload) in enumerate(sent):
            out.publish(topic, payload)
            if at in (800, 2600):
                bridges.kill()
                bridges.start()
        out.flush()
    wanted = {payload for _, payload in sent}

    def missing():
        return wanted - set(on_log(bridges.settings))

    until("all is on the log", lambda: not missing())
    if bridges.metrics is not None:
        page = urllib.request.urlopen(f"http://127.0.0.1:{bridges.metrics}/metrics").read().decode()
        assert "monitor_mqtt_connected 1.0" in page
        assert "monitor_bridge_messages_total" in page

    assert bridges.stop() == [0] * len(names)
    totals = counted(bridges.settings, f"k{share}-")
    assert totals["committed"] == len(sent)
    assert totals["received"] == totals["committed"] + totals["duplicate"]


def test_two_bridges_side_by_side_each_pass_on_a_part(tmp_path, broker, log):
    bridges = Bridges(tmp_path, broker.port, log.port, "both")
    bridges.start("1")
    bridges.start("2")
    sent = said("both-", 500)
    with BrokerPublisher("127.0.0.1", broker.port, client_id="both") as out:
        for topic, payload in sent:
            out.publish(topic, payload)
        out.flush()
    wanted = {payload for _, payload in sent}
    until("all is on the log", lambda: wanted <= set(on_log(bridges.settings)))

    assert bridges.stop() == [0, 0]
    passed = [record for record in records(bridges.settings) if "/both-" in record.message.topic]
    assert len(passed) == len(sent)
    assert counted(bridges.settings, "both-")["committed"] == len(sent)
    for name in ("1", "2"):
        text = (tmp_path / f"bridge-{name}.log").read_text(encoding="utf-8")
        (count,) = re.findall(r"in the cluster log: (\d+) messages", text)
        assert 0 < int(count) < len(sent)


def test_while_the_log_is_away_the_broker_keeps_what_came(tmp_path, broker):
    own_log = TestLog(tmp_path)
    bridges = Bridges(tmp_path, broker.port, own_log.port)
    bridges.start()
    try:
        _away(own_log, bridges, broker.port)

        assert bridges.stop() == [0]
    finally:
        for name in list(bridges.running):
            bridges.kill(name)
        own_log.stop()


def _away(own_log: TestLog, bridges: Bridges, port: int) -> None:
    """Let the log be away while messages come; wait until it has them all."""
    sent = said("away-", 300)
    with BrokerPublisher("127.0.0.1", port, client_id="away") as out:
        for topic, payload in said("before-", 9):
            out.publish(topic, payload)
        out.flush()
        until("the first are on the log", lambda: len(on_log(bridges.settings)) >= 18)
        own_log.stop()
        for topic, payload in sent:
            out.publish(topic, payload)
        out.flush()
    time.sleep(1.0)
    own_log.start()
    wanted = {payload for _, payload in sent}

    def arrived_all():
        with contextlib.suppress(LogError):  # it has just come back
            return wanted <= set(on_log(bridges.settings))

    until("all is on the log", arrived_all)
