"""What neighbours say, against the same rules written out with Python's own numbers."""

from __future__ import annotations

import math
from statistics import fmean, median

import numpy as np
import pytest

from monitor.extensions.neighbours.weak_references import (
    Days,
    baseline_days,
    day_values,
    median_of,
    off_baseline,
    opinions,
)

NAN = math.nan


def all_others(series: int) -> np.ndarray:
    return np.array([[at for at in range(series) if at != own] for own in range(series)])


def town(seed: int, days: int = 130, series: int = 10, noise: float = 1.0) -> Days:
    """A common level, slopes about 1, a reference on every 20th day, and some days missing."""
    random = np.random.default_rng(seed)
    common = 40.0 + np.cumsum(random.normal(size=days))
    values = common[:, None] * random.uniform(0.9, 1.1, series) + random.uniform(-3, 3, series)
    values = values + noise * random.normal(size=(days, series))
    values[random.random((days, series)) < 0.05] = NAN
    pairs = np.zeros((days, series), dtype=np.int64)
    pairs[::20] = 1
    return Days(values, pairs, np.zeros(series, dtype=np.int64), all_others(series))


# -- the oracle -----------------------------------------------------------------------------------


def known(values) -> list[float]:
    return [each for each in values if not math.isnan(each)]


def middle(values) -> float:
    values = known(values)
    return median(values) if len(values) >= 3 else NAN


def spread(values) -> float:
    return 1.4826 * median(map(abs, values))


def oracle_baseline(value: list[float], pair: list[int], since: int) -> list[int]:
    paired = [day for day, count in enumerate(pair) if count and day >= since]
    usable = [
        day
        for day in range(since, len(value))
        if not math.isnan(value[day]) and any(abs(day - each) <= 15 for each in paired)
    ]
    newest = [day for day in usable if day <= paired[-1]][-45:] if paired else []
    if len(newest) >= 15 and sum(pair[day] for day in newest) >= 20:
        return newest
    return usable[:45] if len(usable) >= 15 else []


def oracle_fit(common: list[float], value: list[float]) -> tuple[float, float]:
    if len(common) < 15:
        return NAN, NAN
    x = [each - fmean(common) for each in common]
    y = [each - fmean(value) for each in value]
    apart = [b - a for a, b in zip(x, y, strict=True)]
    prior = (spread([each - median(apart) for each in apart]) / 0.3) ** 2
    slope = (math.fsum(a * b for a, b in zip(x, y, strict=True)) + prior) / (
        math.fsum(a * a for a in x) + prior
    )
    slope = min(max(slope, 0.25), 4.0)
    levels = [b - slope * a for a, b in zip(common, value, strict=True)]
    most = 3.0 * spread([each - median(levels) for each in levels])
    return fmean(min(max(e, median(levels) - most), median(levels) + most) for e in levels), slope


def oracle(days: Days, trusted: list[bool]):
    """Return residuals in scales, scales, and the means with their spreads by window."""
    value = days.values.T.tolist()
    series, count = range(len(value)), len(value[0])
    learnt = [
        oracle_baseline(value[s], days.pairs[:, s].tolist(), int(days.since[s])) for s in series
    ]
    speaks = [trusted[s] and bool(learnt[s]) for s in series]
    fits = [(0.0, 1.0)] * len(value)
    for _ in range(3):
        common = [
            [
                middle((value[o][d] - fits[o][0]) / fits[o][1] for o in days.nearby[s] if speaks[o])
                for d in range(count)
            ]
            for s in series
        ]
        own = [[d for d in learnt[s] if not math.isnan(common[s][d])] for s in series]
        fits = [
            oracle_fit([common[s][d] for d in own[s]], [value[s][d] for d in own[s]])
            for s in series
        ]
    off = [
        [value[s][d] - fits[s][0] - fits[s][1] * common[s][d] for d in range(count)] for s in series
    ]
    scale = []
    for s in series:
        before = known(off[s][d] for d in learnt[s])
        scale.append(spread([each - median(before) for each in before]) if before else NAN)
    usual = median(known(scale))
    scale = [max(each, usual) if not math.isnan(each) else NAN for each in scale]
    for s in series:
        for d in range(count):
            is_after = learnt[s] and d > learnt[s][-1]
            z = off[s][d] / scale[s] if is_after else NAN
            off[s][d] = z if math.isnan(z) else min(max(z, -10.0), 10.0)
    means, spreads = [], []
    total = sum(len(known(off[s])) for s in series if trusted[s])
    for window in (5, 10, 20, 40):
        lasts = [
            [known(off[s][max(d - window + 1, 0) : d + 1]) for d in range(count)] for s in series
        ]
        mean = [[fmean(e) if len(e) >= 0.7 * window else NAN for e in some] for some in lasts]
        fleet = known(m for s in series if trusted[s] for m in mean[s])
        means.append(mean)
        spreads.append(spread(fleet) if fleet and total >= 20 * window else NAN)
    return off, scale, means, spreads


@pytest.mark.parametrize("seed", range(4))
def test_differences_are_those_of_the_rules_written_out(seed):
    days = town(seed)
    days.pairs[25:, 3] = 0  # one met its reference at the beginning only
    days.pairs[:, 4] = 1  # one meets it every day
    days.pairs[:, 5] = 0  # one never
    days.since[6] = 50
    trusted = [at != 7 for at in range(10)]

    now = off_baseline(days, np.array(trusted))
    off, scale, means, spreads = oracle(days, trusted)

    np.testing.assert_allclose(now.off.T, off, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(now.scale, scale, rtol=1e-9)
    np.testing.assert_allclose(now.means.transpose(0, 2, 1), means, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(now.spreads, spreads, rtol=1e-9)
    assert np.isfinite(now.spreads).sum() >= 3


def test_the_median_is_that_of_what_is_known():
    random = np.random.default_rng(1)
    values = random.normal(size=(200, 7))
    values[random.random((200, 7)) < 0.4] = NAN

    np.testing.assert_allclose(median_of(values), [middle(row) for row in values.tolist()])
    assert np.isnan(median_of(values[:, :2])).all()


# -- who is apart ---------------------------------------------------------------------------------


def told(days: Days, *suspects: int) -> list:
    trusted = np.ones(days.values.shape[1], np.bool_)
    trusted[[*suspects]] = False
    return opinions(days, trusted)


def test_a_sensor_that_left_its_neighbours_is_named_with_size_and_day():
    days = town(11)
    days.values[100:, 2] += 4.0

    found = told(days)

    assert [at for at, each in enumerate(found) if each.state == "apart"] == [2]
    assert found[2].lower < 4.0 < found[2].upper
    assert abs(found[2].since - 100) <= 3
    assert {each.state for at, each in enumerate(found) if at != 2} == {"agrees"}


def test_faulty_neighbours_move_nobody_and_wild_days_claim_nothing():
    days = town(12)
    days.values[:, 8:] += 30.0  # two of ten, from the start
    days.values[110, 0] = 1e12
    days.values[127, 1] = -1e12

    assert {each.state for each in told(days)} == {"agrees"}


def test_a_suspect_says_nothing_and_nothing_is_said_of_it():
    days = town(13)
    days.values[60:, 4] += 9.0

    found = told(days, 4)

    assert found[4].state == "suspect"
    assert math.isnan(found[4].shift)
    assert {each.speaking for at, each in enumerate(found) if at != 4} == {8}
    assert {each.state for at, each in enumerate(found) if at != 4} == {"agrees"}


def test_of_a_common_cause_nobody_is_accused():
    days = town(14, series=12)
    days.values[105:, :5] += 6.0

    found = told(days)

    assert [each.state for each in found[:5]] == ["common"] * 5
    assert (found[0].apart, found[0].judged) == (5, 12)


@pytest.mark.parametrize(("series", "state"), [(2, "few"), (3, "few"), (4, "agrees")])
def test_a_network_of_two_or_three_claims_nothing(series, state):
    assert {each.state for each in told(town(15, series=series))} == {state}


def test_of_four_one_that_left_is_named():
    days = town(15, series=4)
    days.values[100:, 2] += 8.0

    found = told(days)

    assert [each.state for each in found] == ["agrees", "agrees", "apart", "agrees"]
    assert (found[2].apart, found[2].judged) == (1, 4)


def test_neighbours_that_are_all_faulty_say_nothing():
    found = told(town(16, series=6), 1, 2, 3, 4, 5)

    assert found[0].state == "few"
    assert (found[0].speaking, found[0].neighbours) == (0, 5)


def test_without_a_reference_nothing_is_claimed():
    days = town(17)
    days.values[90:, 0] += 20.0
    days.pairs[:, 0] = 0
    nobody = days._replace(pairs=np.zeros_like(days.pairs))

    assert told(days)[0].state == "no_pair"
    assert {each.state for each in told(nobody)} == {"no_pair"}


def test_after_an_event_it_is_learnt_anew():
    days = town(18)
    days.values[60:, 0] += 20.0
    days.since[0] = 60

    assert told(days)[0].state == "agrees"
    assert told(days._replace(since=np.where(np.arange(10) == 0, 125, 0)))[0].state == "no_pair"


def test_references_every_day_move_the_baseline_along():
    days = town(19)
    days.values[60:, 0] += 20.0
    days.pairs[:, 0] = 2
    assert told(days)[0].state == "compared"

    days.pairs[110:, 0] = 0
    days.values[115:, 0] += 6.0
    found = told(days)[0]
    assert found.state == "apart"
    assert found.lower < 6.0 < found.upper


def test_a_baseline_takes_the_first_days_near_a_reference():
    pairs = np.zeros(100, dtype=np.int64)
    pairs[20] = 1
    chosen = np.flatnonzero(baseline_days(np.ones(100, np.bool_), pairs, 0))

    assert (chosen[0], chosen[-1]) == (5, 35)


# -- days -----------------------------------------------------------------------------------------


def test_hours_that_are_missing_do_not_shift_a_day():
    hour = np.arange(24.0)
    hours = np.stack([10.0 * np.sin(hour / 24.0 * 2 * np.pi) + off for off in range(5)], axis=1)
    whole = day_values(hours, all_others(5))
    hours[:12, 2] = NAN
    hours[20, 1] = 1e15

    np.testing.assert_allclose(day_values(hours, all_others(5))[[1, 2]], whole[[1, 2]], atol=0.6)
    hours[:19, 3] = NAN
    assert np.isnan(day_values(hours, all_others(5))[3])
