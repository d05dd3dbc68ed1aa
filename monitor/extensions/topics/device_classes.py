"""Device classes of Home Assistant for values of a series, by unit and quantity.

Home Assistant shows and converts a value by its class, and refuses an entity whose unit is not one
of its class (``DEVICE_CLASS_UNITS`` in its homeassistant/components/sensor/const.py). A unit that
measures one thing only names the class; another does with the quantity's name. What is in neither
table has no class. Units with a micro sign have none: releases of Home Assistant disagree on which
of Unicode's two it is.
"""

from __future__ import annotations

from typing import Any, Final

from monitor.core.registry import SeriesName

# How devices and people write units that Home Assistant knows in one spelling.
_SPELLINGS: Final = {"degC": "°C", "degF": "°F", "W/m2": "W/m²", "lux": "lx"}
_BY_UNIT: Final = {
    unit: device_class
    for device_class, units in (
        ("temperature", "°C °F"),
        ("pressure", "Pa hPa kPa bar cbar mbar mmHg inHg psi"),
        ("weight", "mg g kg oz lb"),
        ("distance", "mm cm m km in ft yd mi"),
        ("speed", "m/s km/h ft/s mph kn"),
        ("voltage", "mV V"),
        ("current", "mA A"),
        ("power", "W kW"),
        ("apparent_power", "VA"),
        ("frequency", "Hz kHz MHz GHz"),
        ("illuminance", "lx"),
        ("irradiance", "W/m²"),
    )
    for unit in units.split()
}
_BY_QUANTITY: Final = {
    (quantity, unit): device_class
    for device_class, unit, quantities in (
        ("temperature", "K", "temperature"),
        ("humidity", "%", "humidity relativehumidity rh"),
        ("moisture", "%", "moisture soilmoisture"),
        ("carbon_dioxide", "ppm", "co2 carbondioxide"),
        ("carbon_monoxide", "ppm", "co carbonmonoxide"),
        ("wind_speed", "m/s", "windspeed"),
        ("ph", "", "ph"),
    )
    for quantity in quantities.split()
}


def unit_of_measurement(of: SeriesName) -> dict[str, Any]:
    """Return the unit of a series as an entity states it; nothing without one."""
    return {"unit_of_measurement": _SPELLINGS.get(of.unit, of.unit)} if of.unit else {}


def unit_and_class(of: SeriesName) -> dict[str, Any]:
    """Return the unit and the class of an entity that is a value of a series, not an error."""
    unit = _SPELLINGS.get(of.unit, of.unit)
    quantity = "".join(filter(str.isalnum, of.quantity)).lower()
    device_class = _BY_QUANTITY.get((quantity, unit)) or _BY_UNIT.get(unit)
    return unit_of_measurement(of) | ({"device_class": device_class} if device_class else {})
