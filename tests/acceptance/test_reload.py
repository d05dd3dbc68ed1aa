"""SIGHUP: new settings are taken whole, wrong ones not at all, and nothing is lost meanwhile."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest
from harness.broker import Mosquitto
from harness.daemon import Daemon
from harness.programs import until

from monitor.mqtt.publish import BrokerPublisher

OLD = """
sources:
  - {topic: "monitor/{sensor}/{quantity}/reading", kind: reading}
  - {topic: "monitor/{subject}/{quantity}/reference", kind: reference}
  - {topic: "old/{sensor}/{quantity}", kind: reading}
"""
NEW = OLD.replace("old/", "new/") + "windows: {pairs: 5}\nalerts: {due: true}\n"


@pytest.fixture
def daemon(tmp_path: Path, mosquitto: Mosquitto):
    running = Daemon(tmp_path, mosquitto.port, OLD, client="reload")
    running.start()
    yield running
    running.kill()


def send(mosquitto: Mosquitto, first: int, count: int, topic: str = "monitor/{}/x/reading") -> None:
    with BrokerPublisher("127.0.0.1", mosquitto.port) as out:
        for number in range(first, first + count):
            stated = {"time": f"2026-01-01T{number // 60:02}:{number % 60:02}:00Z"}
            reading = {**stated, "value": number + 0.5, "u": 1.0}
            reference = {**stated, "value": float(number)}
            out.publish(topic.format("a"), json.dumps(reading).encode())
            out.publish("monitor/a/x/reference", json.dumps(reference).encode())
        out.flush()


def renew(daemon: Daemon, settings: str) -> None:
    former = daemon.settings.read_text(encoding="utf-8")
    head = former[: former.index("sources:")]
    daemon.settings.write_text(head + settings.lstrip(), encoding="utf-8")
    assert daemon.process is not None
    daemon.process.send_signal(signal.SIGHUP)


def pairs(daemon: Daemon) -> float:
    return daemon.value('monitor_window_pairs{sensor="a",quantity="x"}')


def test_new_settings_are_taken_and_all_is_worked_out_again(daemon, mosquitto):
    send(mosquitto, 0, 20)
    until("pairs are there", lambda: pairs(daemon) == 20)
    renew(daemon, NEW)
    until("the new window holds", lambda: pairs(daemon) == 5)
    send(mosquitto, 20, 20, "new/{}/x")

    received = "monitor_messages_received_total"
    until("new topics are heard", lambda: daemon.value(received) == 80)
    assert "pages and http: changes take effect when the process is restarted" in daemon.log()
    assert daemon.value("monitor_messages_committed_total") == 80
    assert daemon.value("monitor_config_last_reload_successful") == 1
    assert "reloaded; every series is judged anew by its stored pairs" in daemon.log()
    assert daemon.process.poll() is None


def test_topics_that_are_gone_are_left_also_after_a_start(daemon, mosquitto):
    send(mosquitto, 0, 2, "old/{}/x")
    until("old topics are heard", lambda: pairs(daemon) == 2)
    renew(daemon, NEW)
    until("new settings are taken", lambda: daemon.log().count("INFO    connected to") == 2)
    send(mosquitto, 2, 3, "old/{}/x")
    send(mosquitto, 5, 1)
    until("the last came", lambda: daemon.value("monitor_messages_received_total") >= 4 + 3 + 2)
    assert daemon.value("monitor_messages_received_total") == 4 + 3 + 2

    assert daemon.stop() == 0
    renewed = daemon.settings.read_text(encoding="utf-8").replace("new/", "third/")
    daemon.settings.write_text(renewed, encoding="utf-8")
    daemon.start()
    send(mosquitto, 6, 2, "new/{}/x")
    send(mosquitto, 8, 1)
    until("the last came", lambda: daemon.value("monitor_messages_received_total") >= 9 + 2 + 2)
    assert daemon.value("monitor_messages_received_total") == 9 + 2 + 2


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (OLD + "windows: {pairs: many}\n", "windows.pairs"),
        (OLD + "areas: [1]\nseries: {max: 0}\n", "series.max"),
        (OLD + 'journal: {path: "elsewhere.sqlite"}\n', "journal"),
    ],
)
def test_settings_with_a_mistake_are_refused_and_the_old_ones_stay(wrong, said, daemon, mosquitto):
    send(mosquitto, 0, 3)
    until("pairs are there", lambda: pairs(daemon) == 3)
    renew(daemon, wrong)
    failed = "monitor_config_last_reload_successful"
    until("the mistake is told", lambda: daemon.value(failed) == 0)
    assert said in daemon.log()
    send(mosquitto, 3, 3)

    until("it goes on", lambda: pairs(daemon) == 6)
    renew(daemon, OLD)
    until("settings are taken again", lambda: daemon.value(failed) == 1)
    until("all is there", lambda: pairs(daemon) == 6)
    assert daemon.stop() == 0
