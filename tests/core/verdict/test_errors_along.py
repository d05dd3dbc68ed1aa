"""Errors that go with the hour of the day, or with an end of the range, are told as that."""

from __future__ import annotations

import dataclasses
import math
import re

import numpy as np
import pytest
from harness.verdict_sensors import HOUR, START, autoregressive, sensor, whole

from monitor.core.snapshot.states import _numbers
from monitor.core.verdict import Pairs, judge
from monitor.core.verdict.sentences import document

N = 400
ALARM = 170
RELATED = ("clipped", "spells", "daily", "step", "sensitivity", "unrelated")


def both(p):
    return judge(p, alarm=ALARM, unit="kg"), whole(p, unit="kg")


def by_hour(p, size, highest, begin=0):
    """Return pairs whose error has a daily cycle from ``begin`` on, highest at an hour (UTC)."""
    angle = (p.time / 3600.0 - highest) * (np.pi / 12.0)
    error = np.where(np.arange(p.n) < begin, 0.0, size * np.cos(angle))
    return dataclasses.replace(p, value=p.value + error)


@pytest.mark.parametrize("begin", [0, 150])
@pytest.mark.parametrize("highest", [3.0, 15.0])
@pytest.mark.parametrize("shape", ["normal", "AR"])
def test_an_error_with_a_daily_cycle_is_told_with_its_hour(shape, highest, begin):
    found = [
        each
        for seed in range(6)
        for each in both(by_hour(sensor(seed, N, slow=0.8, shape=shape), 6.0, highest, begin))
    ]

    assert [each.fault for each in found].count("daily") >= 11, found[0].sentence
    named = [each for each in found if each.fault == "daily"]
    assert sum(each.size.lower <= 6.0 <= each.size.upper for each in named) >= 0.8 * len(named)
    for each in named:
        told = re.search(
            r"hour of the day: \+-\S+ kg \(.*\), highest about (\d\d):00 UTC", each.sentence
        )
        assert told, each.sentence
        assert abs(int(told[1]) - highest) <= 2.0
        assert each.remedy.kind == "none"


def test_a_level_that_is_most_of_the_error_is_told_first_and_the_day_beside_it():
    """The level is what advice can mend."""
    found = []
    for seed in range(6):
        p = sensor(seed, N, slow=0.8)
        found += both(by_hour(dataclasses.replace(p, value=p.value - 12.0), 6.0, 3.0))

    assert [each.fault for each in found].count("offset") >= 11, [each.sentence for each in found]
    named = [each for each in found if each.fault == "offset"]
    pattern = r"reads 1\d.* kg light .* and has an error that goes with the hour of the day: \+-"
    assert all(re.match(pattern, each.sentence) for each in named), [e.sentence for e in named]
    assert sum(each.level.lower <= -12.0 <= each.level.upper for each in named) >= 10
    assert all(each.advice.startswith("add 1") for each in named), [e.advice for e in named]


def test_a_level_that_is_less_than_the_day_stands_beside_it():
    p = sensor(2, N, slow=0.8)
    found = both(by_hour(dataclasses.replace(p, value=p.value + 2.0), 8.0, 3.0))

    for each in found:
        assert each.fault == "daily"
        assert " and reads " in each.sentence


def test_a_shape_whose_interval_holds_nothing_is_no_name():
    """Errors that wander, more on some days than on others, pass for a daily cycle."""
    n, found = 500, []
    for seed in range(20):
        random = np.random.default_rng(seed)
        p = sensor(seed, n, slow=0.95)
        wander = 8.0 * autoregressive(random.standard_normal(n), 0.8)
        of_day = (6.0 + 12.0 * random.standard_normal(n // 24 + 1))[np.arange(n) // 24]
        day = of_day * np.cos(p.time / 43_200.0 * np.pi)
        found += both(dataclasses.replace(p, value=p.value + wander + day - 40.0))

    shapes = [each for each in found if each.fault in ("daily", "step") or each.swing.is_known]
    for each in shapes:
        assert (each.size if each.fault == "step" else each.swing).excludes(0.0), each.sentence


def test_a_cycle_without_times_has_no_hour():
    p = dataclasses.replace(by_hour(sensor(1, N), 6.0, 15.0), timed=False)

    assert {each.fault for each in both(p)} == {"understated"}


@pytest.mark.parametrize("begin", [0, 150])
@pytest.mark.parametrize(("side", "size"), [("above", 8.0), ("above", -8.0), ("below", 8.0)])
def test_an_error_on_one_side_of_a_level_is_told_as_a_step(side, size, begin):
    found = []
    for seed in range(8):
        p = sensor(seed, N, slow=0.5, spread=8.0)
        off = (p.reference > 55.0) if side == "above" else (p.reference < 46.0)
        error = np.where(off & (np.arange(N) >= begin), size, 0.0)
        found += both(dataclasses.replace(p, value=p.value + error))
    named = [each for each in found if each.fault == "step"]

    assert len(named) >= 12, [each.sentence for each in found]
    assert sum(each.size.lower <= size <= each.size.upper for each in named) >= 0.8 * len(named)
    assert all(f" {side} " in each.sentence for each in named)


def test_a_step_in_the_middle_of_the_range_is_no_gain():
    """Its own errors are in its value, along which a line explains them better than a step."""
    found = []
    for seed in range(10):
        p = sensor(seed, 450, slow=0.6)
        off = (p.reference > 52.0) & (np.arange(p.n) >= 150)
        found += both(dataclasses.replace(p, value=p.value + 6.0 * off))

    assert sum(each.fault == "step" for each in found) >= 17, [each.sentence for each in found]


def test_a_sensor_that_saturates_has_no_step():
    """Its error grows with the level, so the best place of a step is chosen among many."""
    names, n = [], 500
    for seed in range(20):
        random = np.random.default_rng(seed)
        reference = 200.0 * np.exp(0.7 * autoregressive(random.standard_normal(n), 0.9))
        own = 50.0 * autoregressive(random.standard_normal(n), 0.85)
        value = 520.0 * (1.0 - np.exp(-reference / 400.0)) + own
        u = np.hypot(30.0, 0.12 * value)
        pairs = Pairs(START + HOUR * np.arange(n), value, u, reference, 0.0 * u)
        names += [each.fault for each in both(pairs)]

    assert names.count("step") <= 2, names


def test_a_sensor_that_is_off_at_every_level_has_no_step():
    """Its slow errors are in its value, so that low values are those with a small error."""
    names, n = [], 450
    for seed in range(20):
        random = np.random.default_rng(seed)
        reference = 60.0 * np.exp(0.5 * autoregressive(random.standard_normal(n), 0.9))
        error = 60.0 + 35.0 * autoregressive(random.standard_normal(n), 0.9)
        u = np.full(n, 20.0)
        pairs = Pairs(START + HOUR * np.arange(n), reference + error, u, reference, 0.0 * u)
        names += [each.fault for each in both(pairs)]

    assert "step" not in names, names


@pytest.mark.parametrize("predictive", [False, True])
@pytest.mark.parametrize("shape", ["normal", "t4", "AR"])
def test_an_honest_sensor_gets_none_of_these_names(shape, predictive):
    """Neither over a file, nor where an alert fires by mistake."""
    found = [
        each.fault
        for seed in range(20)
        for each in both(
            sensor(seed, 600, shape=shape, predictive=predictive, slow=(0.0, 0.9)[seed % 2])
        )
    ]

    assert not set(found) & set(RELATED), found


@pytest.mark.parametrize(
    ("fault", "name"),
    [
        (lambda p: p.value + 5.0, "offset"),
        (lambda p: p.value + 0.03 * np.arange(p.n), "drift"),
        (lambda p: p.reference + 2.5 * p.error, "understated"),
        (lambda p: 50.0 + 1.4 * (p.value - 50.0), "gain"),
        (lambda p: np.roll(p.reference, 2) + p.error, "lag"),
    ],
)
def test_a_day_in_the_measurand_is_not_one_in_the_error(fault, name):
    found = []
    for seed in range(8):
        p = sensor(seed, N, slow=0.9, spread=2.0)
        cycle = 12.0 * np.sin(np.arange(N) * (np.pi / 12.0))
        p = dataclasses.replace(p, value=p.value + cycle, reference=p.reference + cycle)
        found.append(judge(dataclasses.replace(p, value=fault(p)), alarm=60).fault)

    assert found.count(name) >= 7, found


def with_moving_gain(seed, a_week, begin=0, *, mean=60.0, every=8.0):
    """Return pairs of a sensor whose gain moves by ``a_week`` from ``begin`` on."""
    random = np.random.default_rng(seed)
    truth = mean + 15.0 * autoregressive(random.standard_normal(N), (0.0, 0.8)[seed % 2])
    weeks = np.maximum(np.arange(N) - begin, 0) * every / 168.0
    value = (truth + 2.0 * random.standard_normal(N)) * (1.0 + a_week * weeks)
    reference = truth + 0.4 * random.standard_normal(N)
    time = START + HOUR * every * np.arange(N)
    return Pairs(time, value, np.full(N, 2.0), reference, np.full(N, 0.4))


@pytest.mark.parametrize("begin", [0, 150])
@pytest.mark.parametrize("a_week", [-0.01, 0.01, -0.02])
def test_a_gain_that_moves_is_told_with_its_rate(a_week, begin):
    found = [each for seed in range(10) for each in both(with_moving_gain(seed, a_week, begin))]
    named = [each for each in found if each.fault == "sensitivity"]
    now = 1.0 + a_week * (N - 1 - begin) * 8.0 / 168.0

    assert len(named) >= (12 if begin else 16), [each.sentence for each in found]
    rates = [each.slope_per_day.times(7.0 / each.pivot) for each in named]
    assert sum(rate.lower <= a_week <= rate.upper for rate in rates) >= 0.8 * len(named)
    assert sum(each.size.lower <= now <= each.size.upper for each in named) >= 0.8 * len(named)
    way = "loses" if a_week < 0.0 else "gains"
    told = rf"{way} [\d.]+ % of its sensitivity a week \([\d.]+ to [\d.]+\), gain [\d.]+ now"
    assert all(re.match(told, each.sentence) for each in named), named[0].sentence
    # It is no drift of the error, which alone has the members that are a drift's.
    assert all(math.isnan(_numbers(each)["drift_per_day"]) for each in named)
    assert all(document(each, "kg")["slope_per_day"] is None for each in named)


def test_the_gain_now_mends_the_next_pairs_of_a_gain_that_moves():
    for seed in range(4):
        p = with_moving_gain(seed, -0.02)
        verdict = judge(p.rows(slice(0, 350)), alarm=ALARM, unit="kg")
        later = p.rows(slice(350, N))

        now = re.match(
            r"divide its value and its u by ([\d.]+) now \(mean CRPS .*\); its gain still moves$",
            verdict.advice,
        )
        assert now, verdict.advice
        assert 1.0 / verdict.remedy.slope == pytest.approx(float(now[1]), rel=0.01)
        mended = np.abs(later.value * verdict.remedy.slope - later.reference)
        assert mended.mean() < 0.4 * np.abs(later.error).mean()


def test_a_gain_that_moves_has_a_date_on_which_it_leaves_its_tolerance():
    p = with_moving_gain(1, -0.01)
    verdict = judge(p, alarm=ALARM, unit="kg", tolerance=15.0)
    weeks = (verdict.due - float(p.time[-1])) / 604_800.0

    assert verdict.fault == "sensitivity"
    assert re.search(r"; leaves its tolerance on 20\d\d-\d\d-\d\d$", verdict.sentence)
    usual = float(np.median(p.reference))
    assert weeks == pytest.approx((15.0 - 0.19 * usual) / (0.01 * usual), rel=0.3)


@pytest.mark.parametrize("mean", [15.0, 60.0, 500.0])
@pytest.mark.parametrize(
    ("fault", "name"),
    [
        (lambda value, _: value + 0.03 * np.arange(N), "drift"),
        (lambda value, _: 1.25 * value, "gain"),
        (lambda value, _: value + 5.0 * (np.arange(N) > 200), "offset"),
        (lambda value, reference: reference + 2.5 * (value - reference), "understated"),
    ],
)
def test_a_gain_that_stays_and_a_drift_are_not_a_gain_that_moves(fault, name, mean):
    found = []
    for seed in range(8):
        p = with_moving_gain(seed, 0.0, mean=mean)
        found.append(
            judge(dataclasses.replace(p, value=fault(p.value, p.reference)), alarm=230).fault
        )

    assert found.count("sensitivity") <= 1, found
    assert found.count(name) >= 6, found


@pytest.mark.parametrize("spread", [1.5, 3.0])
@pytest.mark.parametrize("rate", [-0.02, 0.02])
def test_a_drift_is_no_gain_that_moves_where_references_hold_the_errors(rate, spread):
    found = []
    for seed in range(8):
        p = sensor(seed, N, predictive=True, spread=spread)
        drifting = dataclasses.replace(p, value=p.value + rate * np.maximum(np.arange(N) - 100, 0))
        found.append(judge(drifting, alarm=ALARM).fault)

    assert found.count("drift") >= 7, found
