"""Which series have news for the broker."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from harness.programs import until
from harness.yard import fleet

from monitor.core.registry import SeriesName
from monitor.extensions.topics.home_assistant import HomeAssistantDevices
from monitor.extensions.topics.series import DeviceSeries, SeriesTopics, verdict_topic
from monitor.mqtt.publish import BrokerPublisher
from monitor.mqtt.topic_templates import topic_level
from tests.acceptance.test_forgotten_series import DAY, START, keep_house, opened, take
from tests.extensions.topics.test_verdict_topics import following, say, send


def test_only_what_changed_is_published_and_everything_when_asked(daemon, mosquitto):
    daemon.start()
    for sensor in ("a", "b"):
        send(mosquitto.port, sensor, 5, 0.0)
    with following(mosquitto.port, "site/m/verdict/#", "homeassistant/#") as seen:
        for sensor in ("a", "b"):
            until("told", lambda s=sensor: seen.json(f"site/m/verdict/{s}/x").get("pairs") == 5)
        until("devices", lambda: sum("homeassistant" in topic for topic in seen.now) == 2)
        seen.came.clear()
        send(mosquitto.port, "a", 5, 0.0, first=5)
        until("a again", lambda: seen.json("site/m/verdict/a/x").get("pairs") == 10)
        assert {topic for topic, _ in seen.came} == {"site/m/verdict/a/x"}

        kept = dict(seen.now)
        for topic, text in (("site/m/status/get", ""), ("homeassistant/status", "online")):
            seen.came.clear()
            say(mosquitto.port, topic, text)
            until("everything", lambda: {each for each, _ in seen.came} >= kept.keys())
            assert {topic: payload for topic, payload in seen.now.items() if topic in kept} == kept
        seen.came.clear()
        say(mosquitto.port, "homeassistant/status", "offline")
        send(mosquitto.port, "b", 5, 0.0, first=5)
        until("b again", lambda: seen.json("site/m/verdict/b/x").get("pairs") == 10)
        assert "site/m/verdict/a/x" not in dict(seen.came)


def test_what_the_broker_keeps_of_no_series_is_cleared(daemon, mosquitto):
    stray = HomeAssistantDevices("site/m", "homeassistant")
    config = stray.announced("gone/1", [DeviceSeries(SeriesName("gone/1", "x"))])[0]
    with BrokerPublisher("127.0.0.1", mosquitto.port) as out:
        out.publish(*config, retain=True)
        out.publish(verdict_topic("site/m", "gone/1", "x"), b"{}", retain=True)
        out.publish(verdict_topic("site/other", "gone/1", "x"), b"{}", retain=True)
        for foreign in ("K%FCche", "%ED%A0%80", "%61"):  # no level that a name is written as
            out.publish(f"site/m/verdict/{foreign}/x", b"{}", retain=True)
    with following(mosquitto.port, "site/#", "homeassistant/#") as seen:
        until("they are there", lambda: len(seen.now) == 6)
        daemon.start()
        until(
            "they are cleared",
            lambda: seen.now.keys() == {"site/m/status", "site/other/verdict/gone%2F1/x"},
        )


def test_a_series_that_is_forgotten_is_cleared_and_is_back_when_heard(tmp_path):
    parts = opened(tmp_path, START)
    topics = SeriesTopics("p", HomeAssistantDevices("p", "homeassistant"))

    def sent(now: float) -> dict[str, bool]:
        topics.update(parts.network.evaluate(now))
        messages = [*topics.messages(100)]
        assert topics.waiting == 0
        return {each.topic: bool(each.payload) for each in messages}

    take(parts, "a", START, 40, seed=1)
    take(parts, "b", START + 30 * DAY, 40, seed=2)
    now = START + 30 * DAY + 7200.0
    first = sent(now)
    assert all(first.values())
    assert len(first) == 4
    assert sent(now) == {}

    later = now + 25 * DAY
    take(parts, "b", later, 3, seed=3)
    assert keep_house(parts, later + 600.0) == 1
    cleared = sent(later + 600.0)
    of_a = {topic for topic in first if "/a/" in topic or "monitor_p_a" in topic}
    assert len(of_a) == 2
    assert {topic for topic, is_there in cleared.items() if not is_there} == of_a
    topics.again()
    assert {topic: bool(each) for topic, each in sent(later + 600.0).items()} == {
        topic: topic not in of_a for topic in first
    }
    take(parts, "a", later + 3600.0, 3, seed=4)
    assert dict.fromkeys(of_a, True).items() <= sent(later + 7200.0).items()


def test_most_names_are_their_own_levels():
    for name in ("cart-03", "Küche (Süd)", "n.4:1", "温度"):
        assert topic_level(name) == name
    assert verdict_topic("p", "a/b", "50%") == "p/verdict/a%2Fb/50%25"


@pytest.mark.parametrize(
    ("alert", "is_problem"),
    [("offset", True), ("crps_high", True), ("rejected_share", True), ("reference_suspect", False)],
)
def test_a_sensor_is_a_problem_unless_its_reference_explains_it(alert, is_problem):
    now = fleet(1)
    topics = SeriesTopics("site/m")
    topics.update(replace(now, states=("firing",), alerts={alert: np.array([True])}))
    (message,) = topics.messages(1)

    assert json.loads(message.payload)["problem"] is is_problem
