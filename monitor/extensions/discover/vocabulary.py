"""The words by which devices name what they measure and the fields beside it.

Rules of this file: words are compared without case and punctuation; a comma or point between digits
counts (PM2.5 is not PM25, but both are listed). A quantity has one name whatever a device calls it,
so that a sensor and a reference of the same quantity pair.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

_DECIMAL: Final = re.compile(r"(?<=\d)[._,](?=\d)")
_OTHER: Final = re.compile(r"[\W_]+")
_TOKENS: Final = re.compile(r"[\W_]+|(?<=[a-z])(?=[A-Z])")


class Known(NamedTuple):
    """A quantity: its name, usual unit, and the u that is assumed where none is stated.

    ``assumed`` is a formula of the value in ``unit``, with the size stated in data sheets of common
    sensors; ``{least}`` stands for the last digit that the sensor shows.
    """

    name: str
    unit: str
    assumed: str


_QUANTITIES: Final[Mapping[Known, str]] = {
    Known("temperature", "degC", "0.5"): "temperature temp tc atmp airtemperature degc celsius "
    "tempc temperaturec",
    Known("humidity", "%", "3"): "humidity rh rhum hum relativehumidity relhumidity",
    Known("pressure", "hPa", "1"): "pressure airpressure atmosphericpressure barometer baro "
    "barometricpressure pressurehpa",
    Known("co2", "ppm", "30 + 0.03 * abs(value)"): "co2 rco2 carbondioxide scd4xco2",
    Known("pm1", "ug/m3", "3 + 0.1 * abs(value)"): "pm1 pm1p0 pm01",
    Known("pm25", "ug/m3", "3 + 0.1 * abs(value)"): "pm25 pm2p5 pm02",
    Known("pm10", "ug/m3", "5 + 0.1 * abs(value)"): "pm10 pm10p0",
    Known("no2", "", "0.1 + 0.1 * abs(value)"): "no2 nitrogendioxide",
    Known("o3", "", "0.1 + 0.1 * abs(value)"): "o3 ozone",
    Known("mass", "kg", "0.1 + 0.01 * abs(value)"): "mass weight kg",
    Known("density", "", "0.001 * abs(value) + {least}"): "density",
    Known("ph", "", "0.1"): "ph",
    Known("conductivity", "", "0.02 * abs(value) + {least}"): "conductivity ec",
    Known("illuminance", "lx", "1 + 0.1 * abs(value)"): "illuminance illuminancelux lux",
    Known("moisture", "%", "3"): "moisture soilmoisture",
    Known("wind_speed", "m/s", "0.3 + 0.03 * abs(value)"): "windspeed wspd",
    Known("flow", "", "0.02 * abs(value) + {least}"): "flow flowrate",
    Known("level", "", "0.01 * abs(value) + {least}"): "level waterlevel",
    Known("power", "W", "0.5 + 0.01 * abs(value)"): "power apower activepower",
}
# Units that names end with, such as temp_f, by quantity; behind "=" is how names write them.
_UNITS_IN_NAMES: Final[Mapping[str, str]] = {
    "temperature": "degC=c degF=f kelvin=k",
    "pressure": "Pa hPa kPa bar mbar mbar=mb mmHg inHg psi",
    "mass": "g kg lb lb=lbs",
    "humidity": "percent=pct percent",
    "co2": "ppm",
    "no2": "ppb ppm ug/m3",
    "o3": "ppb ppm ug/m3",
    "pm1": "ug/m3",
    "pm25": "ug/m3",
    "pm10": "ug/m3",
}
# What sensors send in place of a value: the ends of their numbers, and what chips say when they
# start or have lost their probe.
ERROR_VALUES: Final = frozenset(
    (65535.0, 32767.0, -32768.0, 6553.5, 3276.7, -3276.8, 655.35, 327.67, -327.68, -999.0, -9999.0)
)
ERROR_VALUES_OF: Final = {"temperature": frozenset((-127.0, 85.0, 850.0))}
UNKNOWN: Final = Known("", "", "0.02 * abs(value) + {least}")
_BY_WORD: Final = {word: known for known, words in _QUANTITIES.items() for word in words.split()}
_BY_UNIT: Final = {"°C": "temperature", "degC": "temperature", "hPa": "pressure", "ppm": "co2"}

# Chips named before or after the quantity, as in TempC_SHT and BME280_temperature.
_CHIPS: Final = frozenset(
    """
    aht10 aht20 am2301 bme280 bme680 bmp180 bmp280 dht dht11 dht22 ds ds18b20 hdc1080 htu21 scd30
    scd40 scd41 sds sht sht20 sht3x sht30 sht31 sht4x sht40 sht41
    """.split()  # noqa: SIM905 - a page of words
)

# What devices report about themselves.
_HOUSEKEEPING: Final = frozenset(
    """
    battery batterypercent batteryvoltage batterylow linkquality lqi rssi snr signal
    signalstrength wifi wifisignal uptime boot bootcount seq sequence counter count fcnt fport
    port id index lat lon lng latitude longitude altitude heap freeheap loadavg sleep version
    interval vcc txpower channel frequency tf dr devicetemperature chiptemperature voltage rev
    revision vbat int firmware fw ver memory ram flash restart restarts esp32 esp8266
    volt batv batt internaltemperature updateavailable tvocraw noxraw loc location n e
    """.split()  # noqa: SIM905 - a page of words
)
TIMES: Final = (
    *("sampledat", "measuredat", "observedat", "phenomenontime", "time", "timestamp", "ts", "t"),
    *("datetime", "date", "at", "unixtime", "epoch", "resulttime", "receivedat", "lastseen"),
)
STARTS: Final = ("start", "from", "begin", "since")
ENDS: Final = ("end", "to", "until")
VALUES: Final = ("value", "v", "val", "result", "reading", "measurement", "mean", "state", "num")
UNITS: Final = ("unit", "units", "uom", "unitofmeasurement")
STANDARD: Final = (
    *("u", "unc", "uncert", "uncertainty", "sigma", "sd", "std", "stddev", "stdev", "stderr"),
    *("standarduncertainty", "standarddeviation"),
)
EXPANDED: Final = ("U", "U95", "expanded", "expandeduncertainty", "expandedU")
LOWER: Final = ("lower", "lo", "low", "lowerlimit", "cilow", "cilower")
UPPER: Final = ("upper", "hi", "high", "upperlimit", "cihigh", "ciupper")
AROUND: Final = ("plusminus", "accuracy", "margin", "errorbound")
ERRORS: Final = ("err", "error", "e")  # or what went wrong: a question, never taken for u
LEVELS: Final = ("p", "level", "prob", "coverageprobability", "confidence")
USUAL_LEVELS: Final = frozenset(  # %
    (50.0, 68.0, 68.27, 68.3, 80.0, 90.0, 95.0, 95.4, 95.45, 95.5, 98.0, 99.0, 99.7, 99.73, 99.9)
)
FACTORS: Final = ("k", "coveragefactor")
_ANY_UNCERTAINTY: Final = ("uncertainty", "uncert", "unc")
DEVICE_FIELDS: Final = (
    *("sensor", "sensorid", "device", "deviceid", "node", "nodeid", "serial", "serialno", "eui"),
    *("deveui", "station", "stationid", "mac"),
)
SENSORS: Final = (*DEVICE_FIELDS, "name", "tag", "instrument", "id")
QUANTITY_FIELDS: Final = ("quantity", "parameter", "param", "property", "measurand", "analyte")
IDENTITIES: Final = ("sample", "sampleid", "labid", "resultid", "reportid")
_REFERENCE: Final = frozenset(
    """
    ref reference references lab laboratory lims truth groundtruth static official titration
    weighbridge handheld
    """.split()  # noqa: SIM905 - a page of words
)
_PLAIN_LEVELS: Final = frozenset(
    """
    reading readings state status sensor sensors result results data telemetry up obs value json
    senml display env values hourly event events rpc measurement measurements observations v1 v2
    tele stat
    """.split()  # noqa: SIM905 - a page of words
)


def normal(word: str) -> str:
    """Return ``word`` without case and punctuation; 2.5 and 2_5 become 2p5."""
    return _OTHER.sub("", _DECIMAL.sub("p", word)).lower()


_WITH_UNIT: Final = {
    word + normal(written or unit): (known, unit, word)
    for word, known in _BY_WORD.items()
    for each in _UNITS_IN_NAMES.get(known.name, "").split()
    for unit, _, written in [each.partition("=")]
}


def quantity_of(word: str) -> Known | None:
    """Return the quantity that ``word`` names, None if none is known.

    The name of a chip in it is ignored.
    """
    for each in (word, "_".join(x for x in word.split("_") if x.lower() not in _CHIPS)):
        if known := _BY_WORD.get(normal(each)):
            return known
        if normal(each) in _WITH_UNIT:
            return _WITH_UNIT[normal(each)][0]
    return None


def unit_named_in(word: str) -> str:
    """Return the unit that a name such as ``kitchen_temp_f`` ends with, "" for none."""
    tokens = [each for each in _TOKENS.split(word) if each]
    names = ["".join(tokens[-size:]).lower() for size in (4, 3, 2, 1)]
    return next((_WITH_UNIT[name][1] for name in (normal(word), *names) if name in _WITH_UNIT), "")


def without_unit(word: str) -> str:
    """Return a name without case, punctuation and the unit that it ends with: temp_f is temp."""
    plain = normal(word)
    return _WITH_UNIT[plain][2] if plain in _WITH_UNIT else plain


def quantity_in(word: str) -> tuple[Known, str] | None:
    """Return the quantity that a name such as ``kitchen_temperature`` ends with, and the rest."""
    if known := quantity_of(word):
        return known, ""
    tokens = [each for each in _TOKENS.split(word) if each]
    for size in (3, 2, 1):
        if len(tokens) > size and (known := quantity_of("_".join(tokens[-size:]))):
            return known, "_".join(tokens[:-size])
    return None


def quantity_by_unit(unit: str) -> Known | None:
    """Return the quantity that alone uses a unit, None if there are several."""
    name = _BY_UNIT.get(unit)
    return None if name is None else _BY_WORD[name]


def is_housekeeping(word: str) -> bool:
    """Return whether a word is about the device itself, also as uptime_seconds or UptimeSec."""
    tokens = {each.lower() for each in _TOKENS.split(word) if len(each) > 1}
    return normal(word) in _HOUSEKEEPING or bool(tokens & _HOUSEKEEPING)


def is_plain_level(level: str) -> bool:
    """Return whether a level of a topic names nothing."""
    return not level or normal(level) in _PLAIN_LEVELS or bool(reference_words(level))


def reference_words(level: str) -> set[str]:
    """Return the words in a level of a topic that suggest references."""
    return {each.lower() for each in _TOKENS.split(level)} & _REFERENCE


def is_any_uncertainty(word: str) -> bool:
    """Return whether a name says uncertainty, but not whether a standard or an expanded one."""
    plain = normal(word)
    is_named = plain.startswith(_ANY_UNCERTAINTY) or plain.endswith(_ANY_UNCERTAINTY)
    return is_named and "standard" not in plain


def is_one_of(word: str, words: tuple[str, ...]) -> bool:
    """Return whether ``word`` is one of a list; U is not u."""
    if words is EXPANDED:
        return _OTHER.sub("", word) in words
    return normal(word) in words and not (words is STANDARD and word in EXPANDED)
