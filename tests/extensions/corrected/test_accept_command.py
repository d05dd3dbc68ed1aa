"""Advice is accepted once, at a real broker, and its correction outlasts alert and restart."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from harness.daemon import Daemon
from harness.members import assert_described
from harness.programs import until

from monitor.cli import main
from monitor.core.formatting import instant
from monitor.errors import UNAVAILABLE, USAGE
from monitor.journal import Journal
from monitor.mqtt.publish import BrokerPublisher
from tests.extensions.topics.test_verdict_topics import Follower, following

SETTINGS = """
correct: {publish: 'fixed/{sensor}/{quantity}'}
verdicts: {prefix: site/m, home_assistant: {}}
series: {stale_after_seconds: 1e7}
"""
DEVICES = "homeassistant/device/+/config"
PAIRS = 'monitor_window_pairs{sensor="off",quantity="x"}'
DUPLICATES = "monitor_messages_duplicate_total"
REFUSED = 'monitor_messages_rejected_total{reason="no_advice"}'


@pytest.fixture
def daemon(tmp_path: Path, mosquitto) -> Iterator[Daemon]:
    running = Daemon(tmp_path, mosquitto.port, SETTINGS)
    running.start()
    yield running
    running.kill()


def send(port: int, sensor: str, began: float, pairs: int, offset: float) -> None:
    """Send pairs two seconds apart, all off by about ``offset``."""
    chance = random.Random(sensor)
    with BrokerPublisher("127.0.0.1", port) as out:
        for at in range(pairs):
            stated = {"time": instant(began + 2.0 * at), "unit": "K"}
            reading = {**stated, "value": 10.0 + offset + chance.gauss(0.0, 1.0), "u": 1.0}
            out.publish(f"monitor/{sensor}/x/reading", json.dumps(reading).encode())
            reference = {**stated, "value": 10.0, "u": 0.1}
            out.publish(f"monitor/{sensor}/x/reference", json.dumps(reference).encode())


def say(port: int, topic: str, payload: bytes) -> None:
    with BrokerPublisher("127.0.0.1", port) as out:
        out.publish(topic, payload)


def shown(daemon: Daemon, sensor: str = "off") -> dict:
    return daemon.json(f"/api/v1/series/{sensor}/x")


def corrected(daemon: Daemon, port: int, seen: Follower, sensor: str = "off") -> float:
    """Return what becomes of a reading of 16 that no reference follows."""
    when = instant(time.time())
    reading = {"time": when, "value": 16.0, "u": 1.0, "unit": "K"}
    say(port, f"monitor/{sensor}/x/reading", json.dumps(reading).encode())

    def came() -> list[float]:
        own = [json.loads(body) for topic, body in seen.came if topic == f"fixed/{sensor}/x"]
        return [each["value"] for each in own if each["time"] == when]

    return until("the reading is republished", came)[0]


def settled_advice(daemon: Daemon, sensor: str, pairs: int) -> str:
    """Return the name of the advice on all pairs of a sensor, empty while some are missing."""
    now = shown(daemon, sensor)
    return now["accept"]["advice"] if now.get("pairs") == pairs and now["accept"] else ""


def button(seen: Follower, sensor: str, advice: str = "") -> dict:
    """Return the button that accepts some advice on a sensor, empty while there is none."""
    devices = [json.loads(body) for topic, body in seen.now.items() if "/device/" in topic]
    entities = (
        entity
        for each in devices
        if each["device"]["name"] == sensor
        for entity in each["components"].values()
    )
    presses = (each for each in entities if "command_topic" in each)
    return next((each for each in presses if advice in each["command_template"]), {})


def pressed(entity: dict, when: float) -> tuple[str, bytes]:
    """Return the message that Home Assistant publishes when the button is pressed."""
    template = entity["command_template"]
    assert template.count("{{") == 1
    text = template.replace("{{ utcnow().isoformat() }}", instant(when))
    return entity["command_topic"], text.encode()


def test_accepted_advice_lasts_and_is_accepted_once(daemon, mosquitto, tmp_path, capsys):
    port, began = mosquitto.port, time.time()
    accept = ["accept", "--config", str(daemon.settings), "--url", daemon.url]
    with following(port, "fixed/#", DEVICES) as seen:
        assert main([*accept, "off"]) == USAGE
        assert "knows no 'off'" in capsys.readouterr().err
        send(port, "right", began - 400.0, 60, 0.0)
        send(port, "off", began - 400.0, 100, 6.0)
        advice = until("its advice is in force", lambda: settled_advice(daemon, "off", 100))
        entity = until("a button shows it", lambda: button(seen, "off", advice))
        assert button(seen, "right") == {}

        assert main([*accept, "right"]) == USAGE
        assert "no advice is in force" in capsys.readouterr().err
        assert main([*accept, "off", "--advice", "01234567"]) == USAGE
        changed = capsys.readouterr().err
        assert "the advice has changed: subtract 6" in changed
        assert main([*accept, "off"]) == USAGE
        assert f"`--advice {advice}` accepts it" in capsys.readouterr().err
        assert advice in daemon.get("/series/off/x")[1].decode()

        assert main([*accept, "off", "--advice", advice]) == 0
        assert capsys.readouterr().out.startswith("off x: subtract 6")
        until("a new epoch has begun", lambda: shown(daemon).get("pairs") == 0)
        until("the button is gone", lambda: not button(seen, "off"))
        assert "advice " + advice in daemon.get("/series/off/x")[1].decode()
        assert corrected(daemon, port, seen) == pytest.approx(10.0, abs=1.0)

        # The first pair without an alert would take back what nobody accepted.
        send(port, "off", time.time(), 1, 6.0)
        until("the pair is there", lambda: shown(daemon).get("pairs") == 1)
        assert corrected(daemon, port, seen) == pytest.approx(10.0, abs=1.0)

        assert main([*accept, "off", "--yes"]) == USAGE
        assert "not accepted already" in capsys.readouterr().err
        duplicates = daemon.value(DUPLICATES)
        say(port, *pressed(entity, time.time()))
        until("a press once more is a duplicate", lambda: daemon.value(DUPLICATES) > duplicates)
        topic, payload = pressed(entity, time.time())
        say(port, topic, payload.replace(advice.encode(), b"01234567"))
        until("advice that is not in force is refused", lambda: daemon.value(REFUSED) == 1.0)
        assert shown(daemon)["pairs"] == 1

        daemon.kill()
        assert main([*accept, "off", "--yes"]) == UNAVAILABLE
        daemon.start()
        assert corrected(daemon, port, seen) == pytest.approx(10.0, abs=1.0)

        assert main(["event", "--config", str(daemon.settings), "off", "adjusted"]) == 0
        until("that is an epoch too", lambda: shown(daemon).get("pairs") == 0)
        assert corrected(daemon, port, seen) == 16.0
    daemon.stop()
    journal = Journal(tmp_path / "journal.sqlite")
    events = [(each.sensor, each.event) for each in journal.events()]
    journal.close()
    assert events == [("off", "accepted"), ("off", "adjusted")]


def test_a_press_while_the_daemon_is_away_is_not_lost(daemon, mosquitto):
    port = mosquitto.port
    with following(port, "fixed/#", DEVICES) as seen:
        send(port, "low", time.time() - 400.0, 100, -4.0)
        advice = until("its advice is in force", lambda: settled_advice(daemon, "low", 100))
        entity = until("a button shows it", lambda: button(seen, "low", advice))
        assert_described("corrected", shown(daemon, "low"))
        daemon.kill()
        topic, payload = message = pressed(entity, time.time())
        say(port, topic, payload.replace(advice.encode(), b"01234567"))
        say(port, *message)
        daemon.start()
        until("advice that was never in force is refused", lambda: daemon.value(REFUSED) == 1.0)
        until("a new epoch has begun", lambda: shown(daemon, "low").get("pairs") == 0)
        assert corrected(daemon, port, seen, "low") == pytest.approx(20.0, abs=1.0)

        duplicates = daemon.value(DUPLICATES)
        say(port, *message)
        until("it counts once", lambda: daemon.value(DUPLICATES) > duplicates)
