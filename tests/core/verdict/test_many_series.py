"""Many series judged at once are judged as each alone, to the last bit."""

from __future__ import annotations

import numpy as np
import pytest
from harness.verdict_sensors import sensor, since, whole, widened

from monitor.core.verdict import Pairs, judge, judge_all, judge_whole

FAULTS = (
    None,
    since(60, lambda value, _: value + 5.0),
    since(60, lambda value, late: value + 0.05 * late),
    since(60, lambda value, _: 50.0 + 1.6 * (value - 50.0)),
    since(60, lambda value, late: np.full(late.size, value[0] if late.size else 0.0)),
    since(60, lambda value, _: 100.0 - value),
)


def fleet(seed, lengths):
    for i, n in enumerate(lengths):
        shape = ("normal", "t4", "AR")[i % 3]
        scale = widened(n, 60, (1.0, 2.5, 0.4)[i % 7 % 3])
        late = FAULTS[i % len(FAULTS)] if n > 61 else None
        yield sensor(seed + i, n, shape=shape, predictive=i % 2 == 1, scale=scale, fault=late)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_many_are_judged_as_each_alone(seed):
    lengths = np.random.default_rng(seed).integers(0, 513, 70).tolist()
    pairs = list(fleet(100 * seed, lengths))
    alarm = [min(80, max(p.n - 1, 0)) for p in pairs]
    unit = [("kg", "V", "")[i % 3] for i in range(len(pairs))]
    began = [float("nan") if i % 2 else 1.77e9 for i in range(len(pairs))]
    many = judge_all(pairs, alarm=alarm, began=began, unit=unit)

    for p, at, name, first, found in zip(pairs, alarm, unit, began, many, strict=True):
        alone = judge(p, alarm=at, began=first, unit=name)
        assert repr(found) == repr(alone)


@pytest.mark.parametrize("seed", range(4))
def test_calm_series_are_judged_as_each_alone(seed):
    lengths = np.random.default_rng(seed).integers(0, 513, 70).tolist()
    pairs = list(fleet(100 * seed, lengths))

    for p, among in zip(pairs, judge_whole(pairs), strict=True):
        assert repr(among) == repr(whole(p))


def test_what_earlier_verdicts_said_goes_with_its_series():
    pairs = list(fleet(1, [300] * 12))
    first = judge_all(pairs, alarm=[80] * 12)
    healthy = [each.healthy for each in first]
    late = [p.rows(slice(90, None)) for p in pairs]
    tolerance = [float(10 * i) for i in range(1, 13)]
    many = judge_all(late, alarm=[0] * 12, healthy=healthy, tolerance=tolerance)

    for p, was, most, found in zip(late, healthy, tolerance, many, strict=True):
        assert repr(found) == repr(judge(p, alarm=0, healthy=was, tolerance=most))
        assert found.healthy == was


def test_no_series_have_no_verdicts():
    assert judge_all([], alarm=[]) == []


def test_a_few_pairs_among_many_are_undecided():
    short = Pairs(*(np.ones(2) for _ in range(5)))
    many = judge_all([short, *fleet(7, [200, 300])], alarm=[0, 100, 100])

    assert many[0].state == "undecided"
    assert many[0].pairs == 2
