"""The words of devices, as their manuals have them."""

from __future__ import annotations

import pytest

from monitor.extensions.discover import vocabulary


@pytest.mark.parametrize(
    ("word", "quantity"),
    [
        ("TempC_SHT", "temperature"), ("BME280_temperature", "temperature"),
        ("PM2.5", "pm25"), ("pm2_5", "pm25"), ("PM1.0", "pm1"), ("PM10", "pm10"),
        ("rco2", "co2"), ("Relative-Humidity", "humidity"), ("apower", "power"),
        ("BME280", None), ("status", None),
    ],
)  # fmt: skip
def test_a_word_names_its_quantity_whatever_a_chip_or_case_does_to_it(word, quantity):
    known = vocabulary.quantity_of(word)
    assert (known.name if known else None) == quantity


def test_a_name_ends_with_its_quantity():
    known, rest = vocabulary.quantity_in("kitchen_north_airPressure")
    assert (known.name, rest) == ("pressure", "kitchen_north")
    assert vocabulary.quantity_in("pressure_valve") is None


def test_what_a_device_says_of_itself_is_no_measurement():
    names = ("uptime_seconds", "UptimeSec", "battery", "wifi-signal", "deviceTemperature")
    assert all(map(vocabulary.is_housekeeping, names))
    assert not any(map(vocabulary.is_housekeeping, ("temperature", "co2", "mass")))


def test_a_unit_of_one_quantity_names_it():
    assert vocabulary.quantity_by_unit("°C").name == "temperature"
    assert vocabulary.quantity_by_unit("%") is None  # humidity and moisture
