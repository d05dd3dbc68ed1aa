"""Pairs in words, and why there is none."""

from __future__ import annotations

import json
import math

import pytest
from harness.explained import KALMAN, NOW_SECONDS, RULES, STATIC, VENDOR, WEIGHING, native

from monitor.config import parse
from monitor.explain import Message, explain


def test_a_pass_over_the_platform_and_the_static_weighing_are_a_pair(tell, document):
    told = tell(WEIGHING, VENDOR, STATIC)

    assert told.code == 0
    assert told.said("source")[0].startswith(
        "sources[0], wow/{farm}/{race}/{platform}/reading, a reading, decoder json"
    )
    assert told.said("fields") == ["farm = otago, race = north, platform = p03"]
    assert told.said("not read") == ["$.fw"]
    assert (
        ", kept as 2026-02-28T17:12:44Z (sent with the offset +13:00; 18 h 47 min before now)"
        in (told.said("time")[0])
    )
    assert '$.eid "982 000412345678", kept as 982000412345678' in told.said("key")[0]
    assert told.said("uncertainty") == ["coverage interval, kept as [489, 538] kg, p = 0.9"]
    assert told.said("series")[0].startswith("group otago; each reading with the reference")
    assert "at most 6 h away" in told.said("series")[0]
    assert "the last 60 pairs" in told.said("series")[0]

    (pair,) = document(WEIGHING, VENDOR, STATIC)["observed"][0]["pairs"]
    u = (538 - 489) / 2 / 1.6448536269514722
    assert pair["change"] == "made"
    assert (pair["value"], pair["reference"], pair["error"]) == (512, 503.5, 8.5)
    assert pair["u"] == pytest.approx(u)
    u_pair = 4.0 * math.sqrt(5246 / 3600)  # from 06:12:44 to 07:40:10
    assert pair["z"] == pytest.approx(8.5 / math.hypot(u, 0.6, u_pair))
    assert pair["sentence"] == "0.5 u_eff above the reference"
    assert (pair["u_stated"], pair["inside"]) == (False, True)


def test_the_reference_that_comes_last_makes_the_same_pairs(document):
    (observed,) = document(WEIGHING, STATIC, VENDOR, KALMAN)["observed"]

    assert observed["kind"] == "reference"
    assert sorted(pair["sensor"] for pair in observed["pairs"]) == [
        "otago.north.p03.kalman",
        "otago.north.p03.vendor",
    ]


REFERENCE = {"time": "2026-03-01T10:00:00Z", "value": 500, "u": 1}


def reading(time="2026-03-01T10:00:00Z", **more):
    return native("reading", **{"time": time, "value": 510, "u": 10, **more})


def why(more, message, *earlier):
    said = explain(parse((RULES + more).encode(), "f"), message, NOW_SECONDS, earlier)
    (observed,) = said.observed
    assert observed.pairs == []
    return observed.unpaired


NEAREST = "pairing: {tolerance_seconds: 60}"
WHYS = {
    "nothing came": (NEAREST, reading(), [], "no reference has come"),
    "quantity": (NEAREST, reading(), [("height", {})], "another quantity: 'height' beside"),
    "subject": (NEAREST, reading(), [("weight", {"name": "t"})], "another subject: the reference"),
    "key": (NEAREST, reading(key="1"), [("weight", {"key": "2"})], "another key: the reading has"),
    "spelling": (
        NEAREST,
        reading(key="98 2"),
        [("weight", {"key": "982"})],
        "they differ only in spaces or signs: key_remove",
    ),
    "case": (
        NEAREST,
        reading(key="ab"),
        [("weight", {"key": "AB"})],
        "differ only in case: key_case in the mapping makes them equal",
    ),
    "nearest of several": (
        NEAREST,
        reading(key="98 2"),
        [("height", {}), ("weight", {"key": "7"}), ("weight", {"key": "982"})],
        "key_remove",
    ),
    "tolerance": (
        NEAREST,
        reading("2026-03-01T10:01:30Z"),
        [("weight", {})],
        "30 s too far apart in time: reading and reference are 1 min 30 s apart, at most 1 min",
    ),
    "lag": (
        "pairing: {tolerance_seconds: 60, lag_seconds: 300}",
        reading(),
        [("weight", {})],
        "4 min too far apart in time",
    ),
    "asof": (
        "pairing: {mode: asof, tolerance_seconds: 60}",
        reading("2026-03-01T10:00:20Z"),
        [("weight", {})],
        "the reading is 20 s after the reference; asof takes those before it",
    ),
    "interpolate": (
        "pairing: {mode: interpolate, tolerance_seconds: 60}",
        reading("2026-03-01T10:00:20Z"),
        [("weight", {})],
        "no reading before the reference yet",
    ),
    "interval": (
        "pairing: {mode: mean_over_reference_interval, reading_seconds: 600}",
        reading(),
        [("weight", {})],
        "states no interval",
    ),
    "too few": (
        "pairing: {mode: mean_over_reference_interval, reading_seconds: 600}",
        reading("2026-03-01T09:30:00Z"),
        [("weight", {"start": "2026-03-01T09:00:00Z", "end": "2026-03-01T10:00:00Z"})],
        "too few readings yet: 5 of 10 min each are needed to cover 75 % of the reference's 1 h",
    ),
    "outside": (
        "pairing: {mode: mean_over_reference_interval, reading_seconds: 600}",
        reading("2026-03-01T08:30:00Z"),
        [("weight", {"start": "2026-03-01T09:00:00Z", "end": "2026-03-01T10:00:00Z"})],
        "30 min outside the reference's interval",
    ),
}


@pytest.mark.parametrize("case", WHYS)
def test_without_a_pair_it_says_why(case):
    more, message, references, expected = WHYS[case]
    earlier = [
        native("reference", quantity=quantity, **{**REFERENCE, **changed})
        for quantity, changed in references
    ]

    assert expected in why(more, message, *earlier)


def test_it_says_the_same_of_a_reference_without_a_reading():
    reference = native("reference", **REFERENCE)

    assert "no reading has come" in why(NEAREST, reference)
    assert "30 s too far apart in time" in why(NEAREST, reference, reading("2026-03-01T10:01:30Z"))
    assert "another reading or reference is nearer" in why(
        NEAREST,
        reading("2026-03-01T10:00:20Z"),
        native("reference", **REFERENCE),
        reading("2026-03-01T10:00:10Z"),
    )


def test_a_collocation_makes_the_pair_that_it_allows():
    settings = parse((RULES + NEAREST).encode(), "f")
    elsewhere = native("reference", name="S3", **REFERENCE)
    window = {"subject": "S3", "start": "2026-03-01T09:00:00Z", "end": "2026-03-01T11:00:00Z"}
    collocation = Message("monitor/s/collocation", json.dumps(window).encode())

    said = explain(settings, collocation, NOW_SECONDS, [elsewhere, reading()])
    half_past = "2026-03-01T11:30:00Z"
    too_late = native("reference", name="S3", **{**REFERENCE, "time": half_past})
    later = explain(settings, reading(half_past), NOW_SECONDS, [collocation, collocation, too_late])

    assert [pair.sentence for pair in said.observed[0].pairs] == ["1.0 u_eff above the reference"]
    stood = "S3 from 2026-03-01T09:00:00Z to 2026-03-01T11:00:00Z"
    assert later.observed[0].series.concerns == [stood]
    assert later.observed[0].unpaired == "'S3' did not stand beside 's' at that time"
