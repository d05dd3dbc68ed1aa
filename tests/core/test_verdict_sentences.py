"""A verdict's sentence carries its numbers, their unit and their dates, in plain words."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from core.verdict_sensors import HOUR, START, sensor, since, widened

from monitor.core.verdict import Pairs, judge

N, ONSET, ALARM = 300, 150, 170


def test_an_offset_is_told_with_way_unit_interval_and_date():
    verdict = judge(
        sensor(1, N, fault=since(ONSET, lambda value, _: value - 6.0)),
        alarm=ALARM,
        unit="kg",
    )
    found = re.fullmatch(
        r"reads ([\d.]+) kg light \(([\d.]+) to ([\d.]+)\), since (2026-\d\d-\d\d \d\d:\d\d)",
        verdict.sentence,
    )

    assert found, verdict.sentence
    value, lower, upper = (float(each) for each in found.groups()[:3])
    assert lower <= value <= upper
    assert value == pytest.approx(-verdict.level.value, abs=0.06)
    assert lower < 6.0 < upper


def test_a_drift_is_told_with_rate_size_and_date_when_due():
    p = sensor(3, N, u=1.0, fault=since(100, lambda value, late: value + 0.01 * late))
    verdict = judge(p, alarm=220, unit="°C", tolerance=5.0)

    assert verdict.fault == "drift", verdict
    assert re.match(
        r"drifts \+0\.\d+ °C a day \(0\.\d+ to 0\.\d+\), [\d.]+ high now, since 2026",
        verdict.sentence,
    ), verdict.sentence
    assert re.search(r"; leaves its tolerance on 20\d\d-\d\d-\d\d$", verdict.sentence)
    left = 5.0 - verdict.level.value
    days = left / verdict.slope_per_day.value
    assert verdict.due == pytest.approx(START + HOUR * (N - 1) + 86_400.0 * days)


def test_a_drift_beyond_its_tolerance_has_no_date():
    p = sensor(3, N, fault=since(100, lambda value, late: value - 0.2 * late))
    verdict = judge(p, alarm=140, unit="°C")

    assert verdict.fault == "drift"
    assert verdict.sentence.startswith("drifts -")
    assert " low now" in verdict.sentence
    assert math.isnan(verdict.due)
    assert "tolerance" not in verdict.sentence


def test_a_gain_is_told_with_its_working_point():
    fault = since(ONSET, lambda value, _: 50.0 + 1.8 * (value - 50.0))
    verdict = judge(sensor(2, N, fault=fault), alarm=ALARM, unit="V")

    assert re.search(
        r"gain 1\.\d+ \(1\.\d+ to \d\.\d+\) about (49|50|51)[\d.]* V", verdict.sentence
    )


@pytest.mark.parametrize(("factor", "word"), [(3.0, "understates"), (0.3, "overstates")])
def test_a_wrong_uncertainty_is_told_as_times(factor, word):
    verdict = judge(sensor(4, N, scale=widened(N, ONSET, factor)), alarm=ALARM)
    found = re.match(
        rf"{word} its uncertainty ([\d.]+) times \(([\d.]+) to ([\d.]+)\)", verdict.sentence
    )

    assert found, verdict.sentence
    assert float(found[2]) < max(factor, 1.0 / factor) < float(found[3])


def test_an_offset_beside_a_wrong_uncertainty_is_told_with_it():
    scale = widened(N, ONSET, 3.0)
    fault = since(ONSET, lambda value, _: value + 5.0)
    verdict = judge(sensor(6, N, scale=scale, fault=fault), alarm=ALARM, unit="V")

    assert "understates its uncertainty" in verdict.sentence
    assert re.search(r"reads [\d.]+ V high", verdict.sentence), verdict.sentence


def test_the_sentence_says_what_it_does_not_know():
    p = sensor(7, 12)

    assert judge(p).sentence == "not clear yet whether it is right (12 pairs)"
    assert judge(p, alarm=11).sentence == (
        "is not as right as it says; not clear yet in which way (8 pairs)"
    )
    assert judge(sensor(7, N)).sentence == "as right as it says"


def test_advice_says_what_to_do_and_what_it_did():
    fault = since(ONSET, lambda value, _: value + 10.0)
    verdict = judge(sensor(8, N, fault=fault), alarm=ALARM, unit="kg")

    assert re.fullmatch(
        r"subtract [\d.]+ kg \(CRPS [\d.]+ -> [\d.]+ on the \d+ pairs it was tried on\)",
        verdict.advice,
    ), verdict.advice


def test_numbers_that_repeat_in_time_order_give_no_rate():
    p = sensor(9, N, fault=since(100, lambda value, late: value + 0.1 * late))
    still = Pairs(np.full(N, START), p.value, p.u, p.reference, p.u_ref)
    verdict = judge(still, alarm=150, unit="kg")

    assert "a day" not in verdict.sentence
    assert math.isnan(verdict.slope_per_day.value)
