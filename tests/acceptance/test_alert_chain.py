"""From a fault to a person and back, with the real programs and the files of deploy/.

A simulated cart reads heavy, its readings go through mosquitto to the daemon, Prometheus scrapes
it with the shipped rules, the shipped Alertmanager's configuration posts to a receiver; then the
cart is mended, and the receiver is told that it is over. A fleet with every fault shows that each
alert's text is about the fault and the number of the verdict. Only intervals and addresses differ
from what is shipped.
"""

from __future__ import annotations

import json
import re
import time
import urllib.request
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
from harness.alertmanager import Alertmanager
from harness.daemon import Daemon
from harness.every_fault import TEXTS, as_stated, fleet_with_every_fault, numbers, rounding
from harness.programs import WAIT_SECONDS, need, until
from harness.prometheus import Prometheus
from harness.receiver import Receiver

from monitor.core.verdict import FAULTS
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
            ("/etc/alertmanager", str(DEPLOY / "alertmanager")),
        ),
    )
    yield running
    running.stop()


@pytest.fixture
def prometheus(tmp_path: Path, daemon: Daemon, alertmanager: Alertmanager) -> Iterator[Prometheus]:
    need("prometheus")
    folder = tmp_path / "prometheus"
    folder.mkdir()
    rules = (DEPLOY / "prometheus" / "alerts.yml").read_text()
    (folder / "alerts.yml").write_text(rules)
    settings = changed(
        (DEPLOY / "prometheus" / "prometheus.yml").read_text(),
        (r"(scrape|evaluation)_interval: \w+", r"\1_interval: 1s"),
        (r"scrape_timeout: \w+", "scrape_timeout: 1s"),
        (r"alertmanager:9093", alertmanager.target),
        (r"monitor:9108", daemon.url.removeprefix("http://")),
    )
    running = Prometheus(folder, "", settings, "--rules.alert.resend-delay=1s")
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
    """Return the pages that Alertmanager posted."""
    posts = [post.json for post in list(receiver.posts)]
    found = [alert for post in posts for alert in post["alerts"] if alert["status"] == status]
    return [alert for alert in found if alert["labels"]["alertname"] == "SensorOffset"]


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
    size = r"cart-03 \(mass\) reads too high or too low: \+(\d+(?:\.\d+)?) kg \("
    assert 9.0 < float(re.match(size, annotations["summary"])[1]) < 15.0
    found = daemon.json("/api/v1/alerts")["alerts"]
    assert [(each["sensor"], each["alert"]) for each in found] == [("cart-03", "offset")]

    weigh(mosquitto.port, mended, now, 400, seed=2)
    until("a person is told of the repair", lambda: alerts(receiver, "resolved"))

    over = alerts(receiver, "resolved")[0]
    assert over["fingerprint"] == told["fingerprint"]
    assert re.match(rf"{size}|cart-03 \(mass\) is not as right", over["annotations"]["summary"])
    history = daemon.json("/api/v1/alerts?history=10")["history"]
    steps = [(each["alert"], each["to"]) for each in reversed(history)]
    assert [step for step in steps if step[1] != "pending"] == [
        ("offset", "firing"),
        ("offset", "resolved"),
    ]
    assert {each["incident"] for each in history if each["from"] != "ok"} <= {
        each["id"] for each in history
    }


# -- the text of every fault ----------------------------------------------------------------------


def alerts_at(target: str) -> list[dict]:
    """Return the alerts of sensors that Alertmanager has, those that others keep quiet too."""
    found = json.loads(opened(f"http://{target}/api/v2/alerts"))
    return [each for each in found if each["labels"]["alertname"].startswith("Sensor")]


def test_the_text_of_every_alert_is_about_the_fault_and_the_number_of_the_verdict(
    mosquitto, daemon, prometheus, alertmanager
):
    end = float(int(time.time()) - 60)
    with BrokerPublisher("127.0.0.1", mosquitto.port) as out:
        for observation in fleet_with_every_fault(end):
            out.publish(*native_message(observation, unit="kg"))

    def documents() -> dict[str, dict]:
        return {each["sensor"]: each for each in daemon.json("/api/v1/series")["series"]}

    def are_there() -> bool:
        return [each["last_pair"] for each in documents().values()] == [end] * len(FAULTS)

    until("all pairs are there", are_there)
    told = documents()
    assert {sensor: each["verdict"]["fault"] for sensor, each in told.items()} == {
        fault: fault for fault in FAULTS
    }
    last = f"count(monitor_series_last_pair_timestamp_seconds == {end}) == {len(FAULTS)}"
    until("Prometheus has it", lambda: prometheus.query(last))
    since = datetime.fromtimestamp(time.time() + 2.0, UTC)

    def sent() -> list[dict]:
        found = alerts_at(alertmanager.target)
        names = {(each["labels"]["sensor"], each["labels"]["alertname"]) for each in found}
        own = {(label, fault.rule) for label, fault in FAULTS.items()}
        later = [each for each in found if datetime.fromisoformat(each["updatedAt"]) > since]
        return found if own <= names and len(later) == len(found) else []

    for alert in until("all alerts are sent with the newest numbers", sent):
        labels, summary = alert["labels"], alert["annotations"]["summary"]
        fault, sensor = labels["alert"], labels["sensor"]
        verdict = told[sensor]["verdict"]
        assert labels["alertname"] == FAULTS[verdict["fault"]].rule
        assert fault == verdict["fault"]
        who, _, text = summary.partition(" (mass) ")
        assert who == sensor
        own, sentence = TEXTS[fault]
        shown, stated = numbers(own, text), as_stated(verdict)
        assert shown[: len(stated)] == pytest.approx(stated, rel=0.006)
        said = numbers(sentence, verdict["sentence"])
        for a, b, half in zip(shown, said, rounding(sentence, verdict["sentence"]), strict=True):
            assert a == pytest.approx(b, abs=1.001 * half + 0.006 * abs(b))
        assert ", not right since 20" in text
        assert not alert["status"]["inhibitedBy"]
