"""``monitor mcp`` asked by the protocol's own client: a running daemon's own sentences."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from harness.broker import Mosquitto
from harness.daemon import Daemon
from harness.programs import until

from monitor.extensions.assistants.daemon_answers import DaemonAnswers
from monitor.mqtt.publish import BrokerPublisher

ROUNDS = 60
SETTINGS = "alerts: {due: true, tolerance: 20.0}\npairing: {mode: key}"


@pytest.fixture(scope="module")
def daemon(tmp_path_factory) -> Iterator[Daemon]:
    """Return a daemon that knows one honest sensor, and one that reads 9 u too much."""
    folder = tmp_path_factory.mktemp("daemon")
    broker = Mosquitto(tmp_path_factory.mktemp("broker"))
    running = Daemon(folder, broker.port, SETTINGS)
    running.start()
    began = datetime.now(UTC) - timedelta(hours=2)
    with BrokerPublisher("127.0.0.1", broker.port) as out:
        for number in range(ROUNDS):
            common = {"time": f"{began + timedelta(minutes=number):%FT%TZ}", "key": f"k{number}"}
            noise = (number * 37 % 101 - 50) / 30.0
            for sensor, offset in (("cart-1", 0.0), ("cart-2", 9.0)):
                reading = {**common, "value": 50.0 + noise + offset, "u": 1.0}
                out.publish(f"monitor/{sensor}/mass/reading", json.dumps(reading).encode())
                reference = {**common, "value": 50.0}
                out.publish(f"monitor/{sensor}/mass/reference", json.dumps(reference).encode())
    until("all pairs are judged", lambda: is_judged(running))
    yield running
    running.kill()
    broker.stop()


def is_judged(running: Daemon) -> bool:
    series = running.json("/api/v1/series").get("series", [])
    return [each["pairs"] for each in series] == [ROUNDS] * 2


Answer = tuple[bool, str]
PAYLOAD = '{"time": "2026-01-01T00:00:00Z", "value": 51.5, "u": 1.0, "key": "k"}'
CALLS = {
    "fleet": ("why", {}),
    "sensor": ("why", {"sensor": "cart-1"}),
    "series": ("why", {"sensor": "cart-2", "quantity": "mass"}),
    "nobody": ("why", {"sensor": "cart"}),
    "doctor": ("doctor", {}),
    "due": ("due", {"order": "date"}),
    "two": ("compare", {"a": "cart-1", "b": "cart-2"}),
    "one": ("compare", {"a": "cart-1"}),
    "used": ("explain", {"topic": "monitor/cart-1/mass/reading", "payload": PAYLOAD}),
    "unread": ("explain", {"topic": "farm/cart-1/mass", "payload": PAYLOAD}),
    "empty": ("explain", {"topic": "monitor/cart-1/mass/reading", "payload": "{}"}),
}


@pytest.fixture(scope="module")
def answers(daemon) -> dict[str, Answer]:
    """Return for each call whether it failed, and its text."""
    mcp = pytest.importorskip("mcp", reason="install it with: pip install '.[mcp]'")
    words = ["-m", "monitor", "mcp", "--url", daemon.url]
    command = mcp.StdioServerParameters(command=sys.executable, args=words)

    async def talk() -> dict[str, Any]:
        async with mcp.Client(command) as client:
            return {name: await client.call_tool(*call) for name, call in CALLS.items()}

    results = asyncio.run(talk())
    return {
        name: (bool(each.is_error), "".join(part.text for part in each.content))
        for name, each in results.items()
    }


def test_a_sensor_and_the_fleet_are_told_in_the_daemons_sentences(daemon, answers):
    known = {each["sensor"]: each for each in daemon.json("/api/v1/series")["series"]}
    wrong, right = known["cart-2"], known["cart-1"]
    of_wrong = f"cart-2 mass (firing): {wrong['sentence']}\n  advice: {wrong['advice']}"

    assert wrong["state"] == "firing"
    assert answers["fleet"] == (
        False, f"{daemon.url}: 1 firing, 1 {right['state']}\n{of_wrong}"
    )  # fmt: skip
    assert answers["series"] == (False, of_wrong)
    first = answers["sensor"][1].splitlines()[0]
    assert first == f"cart-1 mass ({right['state']}): {right['sentence']}"
    failed, text = answers["nobody"]
    assert failed
    assert text.endswith("the daemon knows no sensor 'cart'; there are cart-1, cart-2")


def test_causes_dates_and_comparisons_are_the_interfaces(daemon, answers):
    due = daemon.json("/api/v1/due")

    assert answers["doctor"] == (False, daemon.json("/api/v1/doctor")["text"])
    lines = answers["due"][1].splitlines()
    assert lines[0] == due["sentence"]
    assert {line.partition(":")[0] for line in lines[1:]} == {
        f"{each['sensor']} {each['quantity']}" for each in due["series"]
    }
    for name, query in (("two", "a=cart-1&b=cart-2"), ("one", "a=cart-1")):
        compared = daemon.json(f"/api/v1/compare?{query}")["sentences"]
        assert answers[name] == (False, "\n".join(compared))


def test_a_message_is_explained_by_the_daemons_own_settings(answers):
    assert not answers["used"][0]
    assert "51.5" in answers["used"][1]
    assert "unknown_topic" in answers["unread"][1]
    assert "missing_field" in answers["empty"][1]


@pytest.mark.parametrize(
    ("alerts", "withdrawn", "is_named"),
    [
        (["offset"], False, True),
        (["crps_high"], False, True),
        (["reference_suspect"], False, False),
        (["offset"], True, False),
        ([], False, False),
    ],
)
def test_those_are_named_that_the_page_says_need_work(alerts, withdrawn, is_named, monkeypatch):
    one = {"sensor": "a", "quantity": "x", "state": "ok", "sentence": "is so", "advice": ""}
    fleet = {"states": {}, "series": [{**one, "alerts": alerts, "withdrawn": withdrawn}]}
    answers = DaemonAnswers(SimpleNamespace(url="http://m"))
    monkeypatch.setattr(answers, "_get", lambda *_, **__: fleet)

    assert ("is so" in answers.why()) is is_named
