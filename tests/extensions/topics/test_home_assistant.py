"""Discovery messages for Home Assistant."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from harness.daemon import Daemon
from harness.programs import until

from monitor.config import parse
from monitor.core.registry import SeriesName
from monitor.extensions.topics.device_classes import unit_and_class
from monitor.extensions.topics.home_assistant import HomeAssistantDevices, ReferenceNumbers
from monitor.extensions.topics.series import DeviceSeries
from tests.extensions.topics.test_verdict_topics import TYPED, following, send


def test_a_quantity_that_goes_leaves_its_sensor_and_the_last_one_takes_it_along():
    devices = HomeAssistantDevices("p", "homeassistant")
    x, y = (DeviceSeries(SeriesName("s", quantity)) for quantity in ("x", "y"))
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


@pytest.mark.parametrize(
    ("quantity", "unit", "expected"),
    [
        ("t_in", "degC", ("°C", "temperature")),
        ("temperature", "K", ("K", "temperature")),
        ("step", "K", ("K", None)),
        ("barometer", "hPa", ("hPa", "pressure")),
        ("mass", "kg", ("kg", "weight")),
        ("Relative Humidity", "%", ("%", "humidity")),
        ("share", "%", ("%", None)),
        ("co2", "ppm", ("ppm", "carbon_dioxide")),
        ("co2", "mg/m3", ("mg/m3", None)),
        ("pH", "", (None, "ph")),
        ("x", "", (None, None)),
    ],
)
def test_a_value_has_the_class_that_its_unit_fits(quantity, unit, expected):
    entity = unit_and_class(SeriesName("s", quantity, unit))

    assert (entity.get("unit_of_measurement"), entity.get("device_class")) == expected


@pytest.mark.parametrize(("decimals", "expected"), [(None, None), (0, 0), (3, 3)])
def test_an_error_is_shown_to_two_digits_of_u_and_is_no_temperature(decimals, expected):
    facts = DeviceSeries(SeriesName("s", "t", "°C"), decimals)
    config = HomeAssistantDevices("p", "homeassistant").config("s", [facts])
    entities = {each["name"]: each for each in config["components"].values()}

    assert entities["t bias"]["unit_of_measurement"] == "°C"
    assert "device_class" not in entities["t bias"]
    assert entities["t bias"].get("suggested_display_precision") == expected
    assert "suggested_display_precision" not in entities["t ZMS"]


BOTH = """
verdicts: {prefix: site/m, home_assistant: {}}
correct: {publish: "fixed/{sensor}/{quantity}"}
"""


def test_corrected_readings_are_an_entity_where_they_are_published(tmp_path: Path, mosquitto):
    jinja2 = pytest.importorskip("jinja2")
    daemon = Daemon(tmp_path, mosquitto.port, BOTH)
    daemon.start()
    try:
        with following(mosquitto.port, "fixed/#", "homeassistant/device/+/config") as seen:
            send(mosquitto.port, "off", 40, 6.0)
            until("it is found", lambda: b"precision" in seen.now.get(_device(seen.now), b""))
            found = json.loads(seen.now[_device(seen.now)])
            message = until("it is corrected", lambda: seen.json("fixed/off/x"))
    finally:
        daemon.kill()
    (value,) = (each for each in found["components"].values() if each["name"] == "x corrected")
    assert value["state_topic"] == "fixed/off/x"
    assert value["suggested_display_precision"] == 1  # u is 1 K
    assert value["unit_of_measurement"] == "K"
    shown = jinja2.Template(value["value_template"]).render(value_json=message)
    assert float(shown) == message["value"]


def _device(now: dict[str, bytes]) -> str:
    return next((topic for topic in now if topic.startswith("homeassistant/")), "")
