"""Why nothing pairs: each cause is told from the others, with the nearest miss."""

from __future__ import annotations

import math

import numpy as np
import pytest
from harness.one_by_one import add_reading

from monitor.core.model import Reading, Reference
from monitor.core.pairing.engine import Pairing
from monitor.core.pairing.join_index import Concern
from monitor.core.pairing.series_rules import Rules
from monitor.core.pairing.unpaired import (
    CAUSES,
    Unpaired,
    examine,
    half_hours,
)
from monitor.journal.in_memory import InMemoryStore


def held(
    readings, references, rules: Rules, match_on=("subject", "key"), concerns=()
) -> list[Unpaired]:
    pairing = Pairing(
        lambda _s, _q: rules, frozenset(match_on), InMemoryStore(), lambda _sensor: concerns
    )
    for reading in readings:
        add_reading(pairing, reading, 0, 0.0)
    for reference in references:
        pairing.add_reference(reference, 0.0)
    return examine(pairing)


def reading(time: float = 0.0, sensor: str = "p03", quantity: str = "weight", key: str = ""):
    return Reading(sensor, quantity, time, 500.0, u=5.0, key=key)


def reference(time: float = 0.0, subject: str = "p03", quantity: str = "weight", key: str = ""):
    return Reference(subject, quantity, time, 503.0, key=key)


NEAREST = Rules("nearest", tolerance_seconds=10.0)


def test_what_is_left_of_a_sensor_whose_readings_are_gone_is_not_taken_for_a_reading():
    """Its last pair is voided after its readings expired, before the next round of housekeeping."""
    pairing = Pairing(lambda _s, _q: NEAREST, frozenset(("subject", "key")), InMemoryStore())
    add_reading(pairing, reading(1000.0, "b"), 0, 0.0)
    pairing.add_reference(Reference("b", "weight", 1000.0, 503.0, identity="r1"), 100.0)
    pairing.add_reference(Reference("b", "weight", 5000.0, 503.0, identity="r2"), 100.0)
    add_reading(pairing, reading(5000.0, "a"), 1, 100.0)
    pairing.expire(50.0)
    void = Reference("b", "weight", 1000.0, math.nan, identity="r1", revision=2, void=True)
    pairing.add_reference(void, 101.0)

    (found,) = examine(pairing)
    assert (found.cause, found.on_readings, found.on_references) == ("subject", ("a",), ("b",))


def test_pairs_are_counted_and_come_last():
    found = held(
        [reading(), reading(0.0, quantity="zinc")],
        [reference(), reference(50.0), reference(quantity="tin")],
        NEAREST,
    )

    assert [each.quantity for each in found] == ["tin", "zinc", "weight"]
    assert [each.cause for each in found] == ["no_readings", "no_references", "paired"]
    weight = found[-1]
    assert (weight.readings, weight.references, weight.paired) == (1, 2, 1)


def test_it_says_that_it_looked_at_a_part_where_much_is_held():
    many = [reading(sensor=f"p{n}") for n in range(2001)]
    (found,) = held(many, [reference()], NEAREST)
    (few,) = held(many[:3], [reference()], NEAREST)

    assert (found.readings, found.partly) == (2000, True)
    assert (few.readings, few.partly) == (3, False)


def test_a_quantity_spelt_in_two_ways_is_shown():
    found = held([reading(quantity="PM2.5")], [reference(quantity="pm25")], NEAREST)

    assert {each.nearest for each in found} == {("PM2.5", "pm25"), ("pm25", "PM2.5")}


def test_references_about_nobody_who_reads():
    (found,) = held([reading()], [reference(subject="crush"), reference(5, "P-03")], NEAREST)

    assert found.cause == "subject"
    assert found.on_readings == ("p03",)
    assert found.on_references == ("P-03", "crush")
    assert found.nearest == ("p03", "P-03")


def test_keys_that_nearly_agree():
    readings = [reading(key=f"982 00041234567{n}") for n in range(5)]
    references = [reference(key=f"98200041234567{n}") for n in (4, 9)]
    (found,) = held(readings, references, NEAREST, match_on=("key",))

    assert found.cause == "key"
    assert found.nearest == ("982 000412345674", "982000412345674")
    assert found.on_readings == tuple(f"982 00041234567{n}" for n in range(3))


@pytest.mark.parametrize("gap", [3600.0, -1800.0, 11.0, -500.0])
def test_too_far_apart_in_time(gap):
    (found,) = held([reading(1000.0 + gap)], [reference(1000.0)], NEAREST)

    assert found.cause == "tolerance"
    assert (found.gap_seconds, found.tolerance_seconds) == (gap, 10.0)


def test_the_nearest_of_many_times_is_found():
    times = [float(t) for t in range(0, 100_000, 500)]
    (found,) = held(map(reading, times), [reference(t + 200.0) for t in times], NEAREST)

    assert found.gap_seconds == -200.0


def test_the_gap_is_the_median_over_the_references_whose_side_is_told_if_it_is_one():
    """Of references an hour away from a block of readings, the nearest edge is no typical one."""
    times = [60.0 * n for n in range(31)]
    (before,) = held(map(reading, times), [reference(t + 5400.0) for t in times], NEAREST)
    (around,) = held([reading(0.0), reading(3600.0)], map(reference, (600.0, 2900.0)), NEAREST)

    assert (before.gap_seconds, before.gap_side) == (-4500.0, "before")
    assert (around.gap_seconds, around.gap_side) == (650.0, "before or after")


MINUTE, HOUR, DAY = 60.0, 3600.0, 86_400.0
# How long both came for, how often readings did, how often references: at times of readings, which
# are regular or not.
STREAMS = {
    "20 min": (20 * MINUTE, MINUTE, 5 * MINUTE, True),
    "31 min": (31 * MINUTE, MINUTE, 5 * MINUTE, True),
    "irregular": (31 * MINUTE, 20.0, MINUTE, False),
    "an hour": (59 * MINUTE, MINUTE, 5 * MINUTE, True),
    "95 min": (95 * MINUTE, MINUTE, 5 * MINUTE, True),
    "11 h": (11 * HOUR, MINUTE, 2 * MINUTE, True),
    "sparse for a day": (DAY, 20 * MINUTE, 4 * HOUR, False),
    "sparse for 3 days": (3 * DAY, HOUR, 5 * HOUR, False),
}


def streams(name, rng, start=1e6):
    """Return the times of readings, and of the references measured beside some of them."""
    span, every, each, is_regular = STREAMS[name]
    count = int(span / every)
    times = every * np.arange(count) if is_regular else np.sort(rng.uniform(0.0, span, count))
    step = int(each / every)
    beside = times[::step] if is_regular else np.sort(rng.choice(times, max(count // step, 6)))
    return start + times, start + np.unique(beside) + rng.uniform(-2.0, 2.0, np.unique(beside).size)


@pytest.mark.parametrize("name", STREAMS)
@pytest.mark.parametrize("hours", [1, 2, 5.5, 5.75, 12, 13])
@pytest.mark.parametrize("sign", [1, -1])
def test_a_wrong_time_zone_is_named_as_it_is_or_not_at_all(name, hours, sign):
    rng = np.random.default_rng(round(100 * hours) + sign)
    named = []
    for _ in range(5):
        times, beside = streams(name, rng)
        (found,) = held(map(reading, times + sign * hours * HOUR), map(reference, beside), NEAREST)
        if found.cause == "tolerance":  # else some are near others that are as wrong
            named.append(found.zone_hours)

    assert set(named) <= {0.0, sign * hours}
    if STREAMS[name][0] < hours * HOUR:
        assert len(named) == 5
        assert sum(each != 0.0 for each in named) >= 3 or name == "irregular"
    if "sparse" in name and hours != 1:
        assert any(named)


def honest(rng):
    """Return readings and references that no time zone keeps apart."""
    kind = rng.integers(3)
    if kind == 0:  # each by the hour, or the half of it, between the other
        step = rng.choice([600.0, 1800.0, 3600.0])
        times = step * np.arange(rng.integers(3, 72))
        return times, times + step * rng.uniform(0.2, 0.8)
    if kind == 1:  # both now and then
        return np.sort(rng.uniform(0.0, DAY, 20)), np.sort(rng.uniform(0.0, DAY, 5))
    length, other = rng.uniform(20 * MINUTE, 6 * HOUR, 2)  # one after the other
    gap = rng.uniform(600.0, 6 * HOUR)
    return np.arange(0.0, length, 60.0), np.arange(length + gap, length + gap + other, 300.0)


def test_where_no_time_zone_is_wrong_hardly_ever_one_is_named():
    rng = np.random.default_rng(1)
    found = [held(*map(map, (reading, reference), honest(rng)), NEAREST)[0] for _ in range(200)]
    apart = [each for each in found if each.cause == "tolerance"]

    assert len(apart) >= 150
    assert sum(each.zone_hours != 0.0 for each in apart) <= 1


def test_a_single_pair_hours_apart_tells_of_no_time_zone():
    (found,) = held([reading(46_800.0)], [reference(0.0)], NEAREST)

    assert (found.gap_seconds, found.zone_hours) == (46_800.0, 0.0)


def test_a_time_zone_is_named_of_readings_that_have_a_key_each():
    keys = [str(n) for n in range(40)]
    times = np.random.default_rng(2).uniform(0.0, DAY, 40)
    readings = [reading(t - 46_800.0, key=key) for t, key in zip(times, keys, strict=True)]
    references = [reference(t, key=key) for t, key in zip(times, keys, strict=True)]
    (found,) = held(readings, references, NEAREST)

    assert (found.cause, found.gap_seconds, found.zone_hours) == ("tolerance", -46_800.0, -13.0)


def test_references_of_a_time_when_their_subject_stood_elsewhere():
    concerns = [Concern("S3", -200.0, -100.0)]
    times = [60.0 * n for n in range(10)]
    references = [reference(t + 2.0, "S3") for t in times]
    (found,) = held(map(reading, times), references, NEAREST, concerns=concerns)
    (near,) = held(
        map(reading, times), [*references, reference(-150.0, "S3")], NEAREST, concerns=concerns
    )

    assert (found.cause, found.on_readings, found.on_references) == (
        "collocation",
        ("p03",),
        ("S3",),
    )
    assert (near.cause, near.gap_seconds) == ("tolerance", 150.0)


def test_each_pair_of_a_reference_with_several_is_counted():
    references = [Reference("p03", "weight", 0.0, 503.0, key=key, identity=key) for key in "ab"]
    readings = [reading(float(t), key=key) for t in range(5) for key in "ab"]
    (found,) = held(readings, references, Rules("all", 10.0))

    assert (found.readings, found.references, found.paired) == (10, 2, 10)


def test_references_that_were_withdrawn_are_counted_where_none_is_left():
    voids = [
        Reference("p03", "weight", float(n), math.nan, identity=str(n), revision=2, void=True)
        for n in range(3)
    ]
    (found,) = held([reading()], voids, NEAREST)
    (left,) = held([reading()], [*voids, reference(5.0)], NEAREST)

    assert (found.cause, found.references, found.voided) == ("no_references", 0, 3)
    assert (left.cause, left.voided) == ("paired", 0)


@pytest.mark.parametrize(
    ("rules", "readings", "cause"),
    [
        (Rules("asof", 10.0), [reading(1.0)], "side"),
        (Rules("interpolate", 10.0), [reading(1.0)], "side"),
        (Rules("reject", 10.0), [reading(1.0), reading(2.0)], "several"),
        (Rules("mean_over_reference_interval"), [reading(0.0)], "interval"),
    ],
)
def test_what_a_mode_missed(rules, readings, cause):
    (found,) = held(readings, [reference(0.0)], rules)

    assert found.cause == cause
    assert found.mode == rules.mode


def test_an_area_makes_the_subject_right():
    concerns = [Concern("S3")]
    (found,) = held([reading(100.0)], [reference(0.0, "S3")], NEAREST, concerns=concerns)

    assert found.cause == "tolerance"


def test_nothing_held_is_nothing_to_say():
    assert held([], [], NEAREST) == []
    assert "paired" in CAUSES


@pytest.mark.parametrize(
    ("gap", "hours"),
    [(3600.0, 1.0), (-46_790.0, -13.0), (19_800.0, 5.5), (600.0, 0.0), (2700.0, 0.0), (1e6, 0.0)],
)
def test_a_gap_of_half_hours_looks_like_a_time_zone(gap, hours):
    assert half_hours(gap) == hours
