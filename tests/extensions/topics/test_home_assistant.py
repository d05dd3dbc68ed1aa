"""Discovery messages for Home Assistant."""

from __future__ import annotations

import json

from monitor.config import parse
from monitor.core.registry import SeriesName
from monitor.extensions.topics.home_assistant import HomeAssistantDevices, ReferenceNumbers
from tests.extensions.topics.test_verdict_topics import TYPED


def test_a_quantity_that_goes_leaves_its_sensor_and_the_last_one_takes_it_along():
    devices = HomeAssistantDevices("p", "homeassistant")
    x, y = SeriesName("s", "x"), SeriesName("s", "y")
    (both,) = devices.announced("s", [x, y])
    assert devices.announced("s", [x, y]) == []
    taking, left = (json.loads(each.payload)["components"] for each in devices.announced("s", [x]))
    gone = json.loads(both.payload)["components"].keys() - left.keys()
    assert len(gone) == 4
    assert all(taking[name].keys() == {"platform"} for name in gone)
    assert [each.payload for each in devices.announced("s", [])] == [b""]
    devices.again()
    assert devices.announced("s", [x])[0].topic == both.topic


def test_a_unit_or_a_name_with_braces_is_no_template_of_ours():
    wanted = parse(TYPED.encode(), "s.yaml").verdicts.home_assistant.references
    numbers = ReferenceNumbers(wanted, "monitor/{subject}/{quantity}/reference")
    assert numbers.entity(SeriesName("a/b", "x")) is None
    assert numbers.entity(SeriesName("a", "y")) is None
    found = numbers.entity(SeriesName("{quantity}", "x", "{{ 1 }}"))
    assert found["command_topic"] == "monitor/{quantity}/x/reference"
    assert "{{ 1 }}" not in found["command_template"]
