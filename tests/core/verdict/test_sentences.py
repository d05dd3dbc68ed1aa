"""A verdict's sentence carries its numbers, their unit and their dates, in plain words."""

from __future__ import annotations

import math
import re
from dataclasses import replace

import numpy as np
import pytest
from harness.series import pairs as one_series
from harness.verdict_sensors import HOUR, START, sensor, since, whole, widened

from monitor.core.diagnosis.fault_reports import Asked, fault_reports
from monitor.core.pairing.series_rules import SeriesRules
from monitor.core.snapshot.states import _numbers
from monitor.core.verdict import FAULTS, Estimate, Pairs, Verdict, judge, shows
from monitor.core.verdict.sentences import past_sentence

N, ONSET, ALARM = 300, 150, 170


def test_an_offset_is_told_with_way_unit_interval_and_date():
    verdict = judge(
        sensor(1, N, fault=since(ONSET, lambda value, _: value - 6.0)),
        alarm=ALARM,
        unit="kg",
    )
    found = re.fullmatch(
        r"reads ([\d.]+) kg light \(([\d.]+) to ([\d.]+)\), since (2026-\d\d-\d\d \d\d:\d\d) UTC",
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


def test_a_lag_is_told_with_the_usual_time_of_as_many_pairs():
    """Pairs come every twenty seconds, but for a night after each hundred."""
    p = sensor(4, N, slow=0.9, fault=since(ONSET, lambda value, _: np.roll(value, 3)))
    at = np.arange(N)
    p = replace(p, time=START + 20.0 * at + 50_000.0 * (at // 100))
    verdict = judge(p, alarm=ALARM + 40)
    without = judge(replace(p, timed=False), alarm=ALARM + 40)

    assert verdict.sentence.startswith("is late by 1 min: it shows what was 3 pairs before, since ")
    assert without.sentence.startswith("is late: it shows what was 3 pairs before")


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
        r"gain 1\.\d+ \(1\.\d+ to \d\.\d+\) relative to (49|50|51)[\d.]* V", verdict.sentence
    )


@pytest.mark.parametrize(("factor", "word"), [(3.0, "understates"), (0.3, "overstates")])
def test_a_wrong_uncertainty_is_told_as_times(factor, word):
    verdict = judge(sensor(4, N, scale=widened(N, ONSET, factor)), alarm=ALARM)
    found = re.match(
        rf"{word} its uncertainty by a factor of ([\d.]+) \(([\d.]+) to ([\d.]+)\)",
        verdict.sentence,
    )

    assert found, verdict.sentence
    assert float(found[2]) < max(factor, 1.0 / factor) < float(found[3])


def test_an_offset_beside_a_wrong_uncertainty_is_told_with_it():
    scale = widened(N, ONSET, 3.0)
    fault = since(ONSET, lambda value, _: value + 5.0)
    verdict = judge(sensor(6, N, scale=scale, fault=fault), alarm=ALARM, unit="V")

    assert "understates its uncertainty" in verdict.sentence
    assert re.search(r"reads [\d.]+ V high", verdict.sentence), verdict.sentence


def test_a_level_that_is_most_of_the_error_comes_before_a_gain_and_a_wrong_uncertainty():
    p = sensor(3, 400)
    gain, wide = (
        whole(replace(p, value=p.value + 20.0 + error), unit="kg")
        for error in (0.3 * (p.reference - 50.0), 1.8 * p.error)
    )

    assert gain.fault == "gain"
    level = r"reads (19|20|21)\S* kg heavy \(.*\) and "
    assert re.match(level + r"has an error that changes with the level: gain 1\.3", gain.sentence)
    assert wide.fault == "offset"
    assert re.match(level + "understates its uncertainty by a factor of ", wide.sentence)


def test_the_level_beside_a_gain_is_the_mean_error_where_the_gain_turns():
    """A weighted mean is that of low levels, where such a sensor states a small u."""
    random = np.random.default_rng(4)
    reference = 100.0 + 60.0 * random.random(400)
    u = 0.0004 * reference**2
    value = 0.6 * reference + u * random.standard_normal(400)
    p = Pairs(START + HOUR * np.arange(400), value, u, reference, np.zeros(400))
    for found in (whole(p), judge(p, alarm=100)):
        assert found.fault == "gain"
        assert found.level.value == pytest.approx(float(p.error.mean()), rel=0.01)
        assert found.level.excludes(0.0)


def test_the_sentence_says_what_it_does_not_know():
    p = sensor(7, 12)

    assert re.fullmatch(
        r"no fault found yet: within [\d.]+ u and a factor of [\d.]+ \(12 pairs\)",
        whole(p).sentence,
    )
    assert judge(p, alarm=11).sentence == (
        "is not as right as it says; not clear yet in which way (8 pairs)"
    )
    assert re.fullmatch(
        r"right within 0\.\d u and a factor of 1\.\d \(300 pairs.*\)", whole(sensor(7, N)).sentence
    )


def test_advice_says_what_to_do_and_what_it_did():
    fault = since(ONSET, lambda value, _: value + 10.0)
    verdict = judge(sensor(8, N, fault=fault), alarm=ALARM, unit="kg")

    assert re.fullmatch(
        r"subtract [\d.]+ kg \(mean CRPS from [\d.]+ to [\d.]+ kg on the \d+ pairs it was tried "
        r"on\)",
        verdict.advice,
    ), verdict.advice


def test_numbers_that_repeat_in_time_order_give_no_rate():
    p = sensor(9, N, fault=since(100, lambda value, late: value + 0.1 * late))
    still = Pairs(np.full(N, START), p.value, p.u, p.reference, p.u_ref)
    verdict = judge(still, alarm=150, unit="kg")

    assert "a day" not in verdict.sentence
    assert math.isnan(verdict.slope_per_day.value)


def falling(seed, n=300, *, step=HOUR, crossing=299, u=1.0):
    """Return a sensor that is honest for 100 pairs, then 6 u high and falling, through 0."""
    slope = -6.0 * u / (crossing - 100)
    p = sensor(
        seed, n, u=u, u_ref=0.0, fault=since(100, lambda v, late: v + 6.0 * u + slope * late)
    )
    return Pairs(START + step * np.arange(n), p.value, p.u, p.reference, p.u_ref), slope


@pytest.mark.parametrize("seed", range(8))
def test_a_drift_that_passes_through_0_is_one_by_its_slope(seed):
    p, slope = falling(seed)
    verdict = judge(p, alarm=105, unit="kg")

    assert (verdict.state, verdict.fault) == ("fault", "drift")
    assert not verdict.level.excludes(0.0)
    assert verdict.slope_per_day.value == pytest.approx(24.0 * slope, rel=0.15)
    assert verdict.slope_per_day.upper < 0.0
    assert re.match(
        r"drifts -0\.\d+ kg a day \(-\d\.\d+ to -0\.\d+\), crosses 0 now, since 2026",
        verdict.sentence,
    ), verdict.sentence


def test_the_alert_metric_and_sentence_of_a_drift_through_0_are_a_drifts():
    p, _ = falling(1)
    columns = one_series(p.value, p.reference, p.u)
    (report,) = fault_reports([Asked(columns, "outliers", 105, rules=SeriesRules(unit="kg"))])

    assert report.alert == "drift"
    assert shows(report.verdict)
    assert report.verdict.sentence.startswith("drifts -")
    assert _numbers(report.verdict)["drift_per_day"] == report.verdict.slope_per_day.value < 0.0


@pytest.mark.parametrize(
    ("step", "per", "day"),
    [(30.0, "an hour", 24.0), (1.0, "a minute", 1440.0), (0.01, "a second", 86_400.0)],
)
def test_a_rate_is_told_by_what_its_pairs_span(step, per, day):
    p, slope = falling(2, step=step, crossing=500)
    verdict = judge(p, alarm=105, unit="kg")
    found = re.match(rf"drifts (-[\d.]+) kg {per} \((-[\d.]+) to (-[\d.]+)\), ", verdict.sentence)

    assert found, verdict.sentence
    told = verdict.slope_per_day.value / day
    assert float(found[1]) == pytest.approx(told, rel=0.1)
    assert verdict.slope_per_day.lower < 86_400.0 / step * slope < verdict.slope_per_day.upper
    due = re.search(r"leaves its tolerance on (.*)$", verdict.sentence)
    assert due is None or re.fullmatch(r"2026-\d\d-\d\d \d\d:\d\d", due[1])


def test_what_mends_a_drift_does_not_last_and_says_so():
    found = []
    for seed in range(10):
        p = sensor(seed, 260, u=1.0, fault=since(60, lambda value, late: value + 0.05 * late))
        found.append(judge(p, alarm=90, unit="kg"))
    told = [each.advice for each in found if each.fault == "drift" and each.remedy.kind != "none"]

    assert len(told) >= 4
    for advice in told:
        assert re.fullmatch(
            r"subtract [\d.]+ kg(?: and multiply its u by [\d.]+)? now "
            r"\(mean CRPS from [\d.]+ to [\d.]+ kg on the \d+ pairs it was tried on\); "
            r"it is still drifting, \+[\d.]+ kg a day",
            advice,
        ), advice


def test_one_pair_is_told_as_one():
    assert whole(sensor(7, 1)).sentence == "no fault found yet (1 pair)"
    assert "(1 pair)" in judge(sensor(7, 1), alarm=0).sentence


def test_what_to_do_follows_a_colon_and_has_none():
    assert all(":" not in each.look for each in FAULTS.values())


def test_each_fault_has_a_past():
    for fault in FAULTS:
        found = Verdict(
            *("fault", fault, Estimate(3.0, 2.0, 4.0), Estimate(3.0, 2.0, 4.0)),
            slope_per_day=Estimate(0.3, 0.2, 0.4),
            scale=Estimate(0.5, 0.4, 0.6) if fault == "overstated" else Estimate(2.0, 1.5, 3.0),
            gain=Estimate(1.2, 1.1, 1.3),
            pivot=50.0,
            began=START,
            due=START + 5e6,
        )
        told = past_sentence(found, "kg", START + 1e6)

        assert re.search(r", from 2026-\d\d-\d\d \d\d:\d\d to 2026-\d\d-\d\d \d\d:\d\d UTC$", told)
        assert re.match(
            r"(read|drifted|had|was|understated|overstated|followed|showed|stood|gained) ", told
        )
        present = r"\b(reads|drifts|has|is|now|since|leaves|crosses|falls|rises|measures|changes)\b"
        assert not re.search(present, told), told


def test_the_past_of_an_incident_that_changed_has_both_dates():
    now = Estimate(-3.0, -4.0, -2.0)
    found = Verdict("fault", "offset", now, now, began=START, changed=START + 500_000.0)

    assert past_sentence(found, "kg", START + 1e6) == (
        "read 3.0 kg light (2.0 to 4.0), from 2026-02-07 21:33 to 2026-02-13 16:26 UTC; "
        "was not right from 2026-02-02 02:40 UTC on"
    )


def test_a_form_that_is_older_than_the_pairs_is_told_of_these_pairs():
    p = sensor(1, N, fault=since(0, lambda value, _: value - 6.0))
    verdict = judge(p, alarm=0, began=START - 1e6, unit="kg")

    assert re.fullmatch(
        r"reads ([\d.]+) kg light \(([\d.]+) to ([\d.]+)\), over its last 300 pairs; "
        r"not right since 2026-01-21 12:53 UTC",
        verdict.sentence,
    ), verdict.sentence


def test_an_incident_that_never_became_clear_says_so_in_the_past():
    told = past_sentence(Verdict("undecided", began=START), "kg", START + 1e6)

    assert told.startswith("was not as right as it said, from 2026-")
    assert told.endswith("; it never became clear in which way")
