"""Sources whose placeholders stand where any word is welcome."""

from __future__ import annotations

import pytest
from harness.device_messages import sent

from tests.extensions.discover.test_families import tasmota, topics_of
from tests.extensions.discover.test_proposal import heard, proposed


def test_tasmotas_that_differ_in_their_unit_are_read_by_the_unit_that_each_states():
    other = tasmota("shed")
    other = other._replace(
        payload=other.payload.replace(b"29.53", b"750.1").replace(b'"inHg"', b'"mmHg"')
    )

    found = proposed([tasmota("roof"), other])

    values = [found.trial.content.readings[name, "pressure"][0].value for name in ("roof", "shed")]
    assert values == [pytest.approx(1000.0, abs=0.1)] * 2


def test_devices_whose_announced_units_differ_have_a_source_each():
    announced = [
        sent(
            f"homeassistant/sensor/{name}/temperature/config",
            {
                "state_topic": f"boxes/{name}/data",
                "device_class": "temperature",
                "unit_of_measurement": unit,
                "value_template": "{{ value_json.t1 }}",
            },
            retain=True,
        )
        for name, unit in (("a1", "°C"), ("a2", "°C"), ("a3", "°F"))
    ]
    values = {"a1": 21.0, "a2": 21.5, "a3": 70.7}
    data = [sent(f"boxes/{name}/data", {"t1": value}) for name, value in values.items()]

    found = proposed(heard(*announced, *data))

    read = {name: readings[0].value for (name, _), readings in found.trial.content.readings.items()}
    assert read == {"a1": 21.0, "a2": 21.5, "a3": pytest.approx(21.5)}
    assert topics_of(found) == ["boxes/a3/data", "boxes/{sensor}/data"]


def test_a_quantity_in_a_topic_is_a_fixed_word_and_leaves_other_topics_alone():
    found = proposed(
        heard(
            sent("co2/node1", "412.0"),
            sent("co2/node2", "415.0"),
            sent("door/node2", "1.0"),
            sent("senml/node1", [{"n": "kg", "v": 512}, {"bn": "other/", "n": "kg", "v": 2}]),
        )
    )

    assert topics_of(found) == ["co2/{sensor}"]
    assert set(found.trial.content.readings) == {("node1", "co2"), ("node2", "co2")}
    assert not found.trial.content.refused
    told = " ".join(found.missing)
    assert "not read: senml/node1 carries SenML" in told
    assert "no quantity was recognised there: door/node2." in told


def test_each_quantity_that_topics_name_has_its_unit_and_its_uncertainty():
    found = proposed(
        heard(
            sent("sensors/room/temperature", "0.0"),
            sent("sensors/room/humidity", "45.5"),
            sent("sensors/room/battery", "88.0"),
        )
    )

    assert topics_of(found) == ["sensors/{sensor}/humidity", "sensors/{sensor}/temperature"]
    (temperature,) = found.trial.content.readings["room", "temperature"]
    (humidity,) = found.trial.content.readings["room", "humidity"]
    assert (temperature.value, temperature.u) == (0.0, 0.5)
    assert (humidity.value, humidity.u) == (45.5, 3.0)
    assert "left out, because they tell of the device itself: sensors/room/battery" in (
        found.findings
    )
    assert 'unit: "degC"' in found.text
    assert 'unit: "%"' in found.text


def test_a_level_that_others_use_for_something_else_is_a_fixed_word():
    body = {"temperature": 21.0}
    rooms = [sent(topic, body) for topic in ("east/hall", "west/hall", "east/attic")]

    assert topics_of(proposed(heard(*rooms))) == ["{level1}/{sensor}"]
    found = proposed(heard(*rooms, sent("door/hall", "open")))
    assert topics_of(found) == ["east/{sensor}", "west/{sensor}"]
    sensors = {sensor for sensor, _ in found.trial.content.readings}
    assert sensors == {"east.hall", "west.hall", "east.attic"}
