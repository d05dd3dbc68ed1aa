"""From a fault to a person and back, with the real programs and the files of deploy/.

A simulated cart reads heavy, its readings go through mosquitto to the daemon, Prometheus scrapes
it with the shipped rules, the shipped Alertmanager's configuration posts to a receiver; then the
cart is mended, and the receiver is told that it is over. Only intervals and addresses differ from
what is shipped.
"""

from __future__ import annotations

import re
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from harness.alertmanager import Alertmanager
from harness.daemon import Daemon
from harness.programs import WAIT_SECONDS, need, until
from harness.prometheus import Prometheus
from harness.receiver import Receiver

from monitor.mqtt.publish import BrokerPublisher
from monitor.simulate.carts import Cart, CartFleet
from monitor.simulate.playback import native_message

DEPLOY = Path(__file__).parents[2] / "deploy"
INTERVAL = 0.02  # seconds between animals: the event time of 50 of them is a second
SETTINGS = """
pairing: {mode: key}
sources:
  - {topic: "monitor/{sensor}/{quantity}/reading", kind: reading, unit: kg}
  - {topic: "monitor/{subject}/{quantity}/reference", kind: reference, unit: kg}
"""


def changed(text: str, *changes: tuple[str, str]) -> str:
    """Return a shipped text with other intervals; each change must be one."""
    for pattern, other in changes:
        text, count = re.subn(pattern, other, text)
        assert count, pattern
    return text


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    running = Receiver()
    yield running
    running.stop()


@pytest.fixture
def daemon(tmp_path: Path, mosquitto) -> Iterator[Daemon]:
    running = Daemon(tmp_path, mosquitto.port, SETTINGS)
    running.start()
    yield running
    running.kill()


@pytest.fixture
def alertmanager(tmp_path: Path, receiver: Receiver) -> Iterator[Alertmanager]:
    shipped = (DEPLOY / "alertmanager" / "alertmanager.yml").read_text()
    running = Alertmanager(
        tmp_path / "alertmanager",
        changed(
            shipped,
            (r"group_wait: \w+", "group_wait: 1s"),
            (r"group_interval: \w+", "group_interval: 1s"),
            (r"http://127\.0\.0\.1:8099/alerts", receiver.url("/alerts")),
        ),
    )
    yield running
    running.stop()


@pytest.fixture
def prometheus(tmp_path: Path, daemon: Daemon, alertmanager: Alertmanager) -> Iterator[Prometheus]:
    need("prometheus")
    folder = tmp_path / "prometheus"
    folder.mkdir()
    rules = changed(
        (DEPLOY / "prometheus" / "alerts.yml").read_text(),
        (r"keep_firing_for: \w+", "keep_firing_for: 2s"),
    )
    (folder / "alerts.yml").write_text(rules)
    settings = changed(
        (DEPLOY / "prometheus" / "prometheus.yml").read_text(),
        (r"(scrape|evaluation)_interval: \w+", r"\1_interval: 1s"),
        (r"scrape_timeout: \w+", "scrape_timeout: 1s"),
        (r"alertmanager:9093", alertmanager.target),
        (r"monitor:9108", daemon.url.removeprefix("http://")),
    )
    running = Prometheus(folder, "", settings)
    until("the daemon is scraped", lambda: running.query('up{job="monitor"} == 1'))
    yield running
    running.stop()


def opened(url: str) -> str:
    with urllib.request.urlopen(url, timeout=WAIT_SECONDS) as answer:
        return answer.read().decode()


def weigh(port: int, cart: Cart, start: float, animals: int, seed: int) -> float:
    """Let animals cross a cart and be sent to the broker; return when the last was through."""
    end = start + animals * INTERVAL
    sent = CartFleet(np.random.default_rng(seed), start, INTERVAL, (cart,)).step(end + 1.0)
    with BrokerPublisher("127.0.0.1", port) as out:
        for observation in sent:
            out.publish(*native_message(observation, unit="kg"))
    return end + 1.0


def alerts(receiver: Receiver, status: str) -> list[dict]:
    """Return the pages that Alertmanager posted; they keep the warnings behind them quiet."""
    posts = [post.json for post in list(receiver.posts)]
    found = [alert for post in posts for alert in post["alerts"] if alert["status"] == status]
    return [alert for alert in found if alert["labels"]["alertname"] == "SensorPage"]


def test_a_fault_reaches_a_person_and_so_does_its_repair(mosquitto, daemon, prometheus, receiver):
    heavy, mended = Cart("cart-03", offset_kg=12.0), Cart("cart-03")
    now = weigh(mosquitto.port, heavy, time.time() - 60.0, 100, seed=1)
    until("a person is told", lambda: alerts(receiver, "firing"))
    (told,) = {each["fingerprint"]: each for each in alerts(receiver, "firing")}.values()

    assert told["labels"]["sensor"] == "cart-03"
    assert told["labels"]["quantity"] == "mass"
    assert told["labels"]["unit"] == "kg"
    annotations = told["annotations"]
    assert annotations["page_url"] == f"{daemon.url}/series/cart-03/mass"
    assert opened(annotations["page_url"]).startswith("<!doctype html>")
    page, _, section = annotations["runbook_url"].partition("#")
    assert f'id="{section}"' in opened(page)
    assert "offset: it is +" in told["annotations"]["description"]
    found = daemon.json("/api/v1/alerts")["alerts"]
    assert [(each["sensor"], each["alert"]) for each in found] == [("cart-03", "offset")]

    weigh(mosquitto.port, mended, now, 400, seed=2)
    until("a person is told of the repair", lambda: alerts(receiver, "resolved"))

    over = alerts(receiver, "resolved")[0]
    assert over["fingerprint"] == told["fingerprint"]
    history = daemon.json("/api/v1/alerts?history=10")["history"]
    steps = [(each["alert"], each["to"]) for each in reversed(history)]
    assert [step for step in steps if step[1] != "pending"] == [
        ("offset", "firing"),
        ("offset", "resolved"),
    ]
    assert {each["incident"] for each in history if each["from"] != "ok"} <= {
        each["id"] for each in history
    }
