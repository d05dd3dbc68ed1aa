"""Means that state one time: a duration makes an interval of it."""

from __future__ import annotations

import json

import pytest

from monitor.config import SettingsError, parse
from monitor.config.core_plan import plan_of, router_of
from monitor.core.state.network import Network
from monitor.journal.in_memory import InMemoryStore

SETTINGS = """
sources:
  - topic: node/{{sensor}}
    kind: reading
    decoder: json
    map: {{time: t, series: [{{quantity: pm25, value: v, u: 1}}]}}
  - topic: station/{{subject}}
    kind: reference
    decoder: json
    map: {{time: t, {duration}, series: [{{quantity: pm25, value: v, u: 1}}]}}
pairing: {{mode: mean_over_reference_interval, reading_seconds: 600}}
"""
HOUR = 1_800_000_000.0


@pytest.mark.parametrize(
    ("duration", "stamp"),
    [
        ("duration_seconds: 3600", HOUR + 3600.0),
        ("duration_seconds: 3600, stamp: end", HOUR + 3600.0),
        ("duration_seconds: 3600, stamp: start", HOUR),
        ("duration_seconds: 3600, stamp: middle", HOUR + 1800.0),
    ],
)
def test_an_hour_with_one_stamp_is_held_against_the_readings_within_it(duration, stamp):
    settings = parse(SETTINGS.format(duration=duration).encode(), "f")
    router, network = router_of(settings), Network(plan_of(settings), InMemoryStore())
    now = HOUR + 7200.0
    found = router.decode("station/a", json.dumps({"t": stamp, "v": 9}).encode(), now)
    for at in range(-6, 12):  # before, within and after the hour; each value is its number
        body = {"t": HOUR + 300.0 + 600.0 * at, "v": at}
        found += router.decode("node/a", json.dumps(body).encode(), now)
    (reference, *_) = found

    assert (reference.start, reference.end) == (HOUR, HOUR + 3600.0)
    pairs = network.observe(found, now).pairs
    assert pairs["value"].tolist() == [pytest.approx((0 + 1 + 2 + 3 + 4 + 5) / 6)]


@pytest.mark.parametrize(("stamp", "middle"), [("end", -1800.0), ("start", 1800.0), ("middle", 0)])
def test_a_reading_that_is_a_mean_is_of_the_middle_of_its_duration(stamp, middle):
    text = SETTINGS.format(duration="duration_seconds: 3600").replace(
        "map: {time: t, series", f"map: {{time: t, duration_seconds: 3600, stamp: {stamp}, series"
    )
    (found,) = router_of(parse(text.encode(), "f")).decode(
        "node/a", json.dumps({"t": HOUR, "v": 1}).encode(), HOUR + 9e3
    )

    assert found.time == HOUR + middle


def test_a_duration_is_no_less_than_nothing():
    with pytest.raises(SettingsError, match="duration_seconds: must be at least 0"):
        parse(SETTINGS.format(duration="duration_seconds: -1").encode(), "f")
