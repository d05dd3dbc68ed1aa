"""Sparkplug's data: history, signs, quality, and a real analyser."""

from __future__ import annotations

import pytest

from monitor.config import load, parse
from monitor.config.core_plan import router_of
from monitor.decode.formats.sparkplug_births import Births
from monitor.decode.formats.sparkplug_payload import Payload
from tests.decode.formats.test_formats import CONFIGS, RECEIVED, T, router

MS = int(T * 1000)

DENSITY, U95 = 7, 8


def sparkplug(metrics, timestamp=MS, seq=1):
    payload = Payload(timestamp=timestamp, seq=seq)
    for metric in metrics:
        quality = metric.pop("quality", None)
        added = payload.metrics.add(**metric)
        if quality is not None:
            added.properties.keys.append("Quality")
            added.properties.values.add(type=3, int_value=quality)
    return payload.SerializeToString()


def birth():
    return sparkplug(
        [
            {"name": "density/value", "alias": DENSITY, "datatype": 10, "double_value": 841.2},
            {"name": "density/U95", "alias": U95, "datatype": 10, "double_value": 0.6},
        ]
    )


EXCEPTION = b"""
sources:
  - topic: "spBv1.0/{group}/{message}/{edge}/{sensor}"
    kind: reading
    decoder: sparkplug
    map:
      optional: true
      series:
        - {quantity: density, value: values.density/value, U: birth.density/U95, p: 0.95}
        - {quantity: level, value: values.level, u: properties.level.u}
  - {topic: "monitor/{subject}/{quantity}/reference", kind: reference}
"""


def test_a_signed_property_travels_as_its_two_s_complement():
    stated = "lower: properties.level.lower, upper: properties.level.upper, p: 0.9"
    settings = EXCEPTION.replace(b"u: properties.level.u", stated.encode())
    payload = Payload(timestamp=MS, seq=1)
    level = payload.metrics.add(name="level", datatype=10, double_value=2.0)
    for name, number in (("lower", -5 & 0xFFFFFFFF), ("upper", 9)):
        level.properties.keys.append(name)
        level.properties.values.add(type=3, int_value=number)  # Int32
    daemon = router_of(parse(settings, "f"), Births())
    (found,) = daemon.decode("spBv1.0/g/DDATA/e/s", payload.SerializeToString(), RECEIVED)

    assert (found.lower, found.upper) == (-5.0, 9.0)


def test_history_comes_by_its_own_times_and_bad_quality_is_refused():
    daemon = router()
    daemon.decode("spBv1.0/g/DBIRTH/e/s", birth(), RECEIVED)
    burst = sparkplug(
        [
            metric
            for at in range(3)
            for metric in (
                {
                    "alias": DENSITY,
                    "double_value": at,
                    "timestamp": MS - at,
                    "is_historical": True,
                    "quality": 192 if at else 500,
                },
                {"alias": U95, "double_value": 1, "timestamp": MS - at, "is_historical": True},
            )
        ]
    )

    first, second, stale = daemon.decode("spBv1.0/g/DDATA/e/s", burst, RECEIVED)

    assert (stale.reason, stale.place) == ("quality", "$.quality.density/value")
    assert (stale.record, "STALE" in stale.detail) == (0, True)
    assert [each.time for each in (first, second)] == [T - 0.001, T - 0.002]


def test_signed_integers_have_their_sign_and_nulls_are_no_reading():
    daemon = router()
    metrics = [{"name": "x", "datatype": 3, "int_value": 2**32 - 5}]

    (found,) = daemon.decode("spBv1.0/g/NDATA/e", sparkplug(metrics), RECEIVED)
    nothing = sparkplug([{"name": "x", "datatype": 3, "is_null": True}])

    assert (found.sensor, found.value) == ("e", -5)
    (refused,) = daemon.decode("spBv1.0/g/NDATA/e", nothing, RECEIVED)
    assert (refused.reason, refused.place) == ("no_reading", "$.values.x")


@pytest.mark.parametrize("message", ["NDEATH", "NCMD", "STATE"])
def test_what_is_no_data_says_nothing(message):
    assert router().decode(f"spBv1.0/g/{message}/e", b"\xff", RECEIVED) == []


def test_the_analyser_of_the_process_trade_is_read():
    daemon = router_of(load(CONFIGS / "process.yaml"))
    names = ("density/value", "density/U95", "quality")
    aliases = [{"name": name, "alias": at} for at, name in enumerate(names)]
    daemon.decode("spBv1.0/PlantA/DBIRTH/edge7/AT-4012", sparkplug(aliases), RECEIVED)

    def verdict(quality):
        metrics = [
            {"alias": 0, "double_value": 841.5},
            {"alias": 1, "double_value": 0.6},
            {"alias": 2, "string_value": quality},
        ]
        topic = "spBv1.0/PlantA/DDATA/edge7/AT-4012"
        return daemon.decode(topic, sparkplug(metrics), RECEIVED)[0]

    assert (verdict("GOOD").sensor, verdict("GOOD").value) == ("AT-4012", 841.5)
    assert verdict("BAD").reason == "quality"
