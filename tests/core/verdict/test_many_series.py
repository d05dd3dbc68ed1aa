"""Many series judged at once are judged as each alone, to the last bit."""

from __future__ import annotations

import numpy as np
import pytest
from harness.cases import further
from harness.verdict_sensors import sensor, since, whole, widened

from monitor.core.verdict import Pairs, judge, judge_all, judge_whole, screened
from monitor.core.verdict.pairs import ManyPairs
from monitor.core.verdict.whole import Screened

FAULTS = (
    None,
    since(60, lambda value, _: value + 5.0),
    since(60, lambda value, late: value + 0.05 * late),
    since(60, lambda value, _: 50.0 + 1.6 * (value - 50.0)),
    since(60, lambda value, late: np.full(late.size, value[0] if late.size else 0.0)),
    since(60, lambda value, _: 100.0 - value),
    since(0, lambda value, _: value + 1e9),
)


def fleet(seed, lengths):
    for i, n in enumerate(lengths):
        shape = ("normal", "t4", "AR")[i % 3]
        scale = widened(n, 60, (1.0, 2.5, 0.4)[i % 7 % 3])
        late = FAULTS[i % len(FAULTS)] if n > 61 else None
        yield sensor(seed + i, n, shape=shape, predictive=i % 2 == 1, scale=scale, fault=late)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1, *further(2, 3)])
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


@pytest.mark.parametrize("seed", [0, 1, *further(2, 3)])
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


def screened_fleet(seed):
    random = np.random.default_rng(seed)
    for i in range(240):
        n = int(random.integers(0, 300))
        reference = random.normal(50.0, 10.0, n)
        u = (np.ones(n), random.uniform(0.5, 1.5, n), 0.02 * reference)[i % 3]
        error = u * random.standard_normal(n) * (1.0, 1.0, 1.15, 0.9)[i % 4] + 0.3 * (i % 5 == 0)
        error[: i % 2] += 12.0
        u = u * random.lognormal(-0.3, 0.8, n) if i % 8 == 1 else u
        time = 1.77e9 + 60.0 * np.arange(n)
        fixed = np.full(n, 0.2) if i % 7 == 0 else None
        u_ref = np.full(n, 0.5 * (i % 2))
        yield Pairs(time, reference + error, u, reference, u_ref, timed=i % 11 > 0, fixed=fixed)


@pytest.mark.parametrize("seed", range(3))
def test_a_calm_series_has_the_words_of_its_verdict(seed):
    pairs = list(screened_fleet(seed))
    unit, is_part = ["kg"] * len(pairs), [i % 13 == 0 for i in range(len(pairs))]
    verdicts = judge_whole(pairs, unit=unit, is_part=is_part)
    columns = screened(ManyPairs.of(pairs), unit=unit, is_part=np.array(is_part))
    calm = [
        (Screened(*row), verdict)
        for *row, verdict in zip(*columns, verdicts, strict=True)
        if not row[-1]
    ]
    words = ("too little to correct", "but for", "lies within", "since", "tells nothing")

    for one, verdict in calm:
        assert one.sentence == verdict.sentence
        assert one.error_model == verdict.error_model
        assert one.is_right == (verdict.state == "right")
        assert repr(float(one.right_since)) == repr(verdict.right_since)
    assert len(calm) > 100
    assert {one.error_model for one, _ in calm} >= {"classical", "undecided"}
    assert all(any(word in one.sentence for one, _ in calm) for word in words)
