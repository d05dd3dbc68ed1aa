"""Why nothing pairs: each cause is told from the others, with the nearest miss."""

from __future__ import annotations

import math

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
