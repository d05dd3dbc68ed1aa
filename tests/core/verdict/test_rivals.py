"""Stuck values and lags, and what looks like them."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from harness.verdict_sensors import sensor, since, whole

from monitor.core.verdict import Pairs, judge
from tests.core.verdict.test_judge import ALARM, FAULTS, ONSET, SEEDS, N


@pytest.mark.parametrize("spread", [0.3, 1.0, 3.0])
def test_stuck_is_named_on_a_steady_process(spread):
    found = [
        judge(sensor(seed, N, spread=spread, fault=FAULTS["stuck"]), alarm=ALARM) for seed in SEEDS
    ]

    assert {each.fault for each in found} == {"stuck"}
    assert all(abs(each.since - ONSET) <= 1 for each in found)


def test_a_coarse_scale_is_not_stuck():
    """Rounded to 10, the value of a slow process stands still for dozens of pairs."""
    coarse = since(0, lambda value, _: np.round(value, -1))
    found = [
        judge(sensor(seed, N, u=3.0, slow=0.99, spread=2.0, scale=0.1, fault=coarse), alarm=ALARM)
        for seed in SEEDS
    ]

    assert sum(each.fault == "stuck" for each in found) <= 1


def test_zero_beside_zero_is_not_stuck():
    p = sensor(3, N)
    dry = type(p)(p.time, 0.0 * p.value, p.u, 0.0 * p.reference, p.u_ref)

    assert judge(dry, alarm=ALARM).fault != "stuck"


@pytest.mark.slow
@pytest.mark.parametrize("times", [1, 2, 3, 5])
@pytest.mark.parametrize("slow", [0.0, 0.9, 0.99])
def test_error_codes_of_a_reference_are_not_a_lag_of_the_sensor(slow, times):
    """A lag left out the newest references, which no late value had shown yet."""
    for seed in range(8):
        pairs = sensor(seed, slow=slow)
        for at in (N - times, 200):
            reference = pairs.reference.copy()
            reference[at : at + times] = -999.0
            found = judge(dataclasses.replace(pairs, reference=reference), alarm=at)
            assert found.fault != "lag", (seed, at, found.sentence)


@pytest.mark.parametrize("offset", [6.0, -9.0])
def test_a_lag_does_not_hide_an_offset(offset):
    late = [
        sensor(seed, N, slow=0.95, fault=since(0, lambda v, _: np.roll(v, 3))) for seed in SEEDS
    ]
    both = [dataclasses.replace(p, value=p.value + offset) for p in late]
    found = [judge(p, alarm=60) for p in both] + [whole(p) for p in both]

    assert [each.fault for each in found] == ["lag"] * len(found)
    assert all("3 pairs before and reads " in each.sentence for each in found), found[0].sentence
    assert sum(each.level.lower <= offset <= each.level.upper for each in found) >= 17
    assert sum(" and reads " in judge(p, alarm=60).sentence for p in late) <= 1


@pytest.mark.parametrize("slow", [0.0, 0.9])
@pytest.mark.parametrize("late", [9, 12, 40])
def test_a_long_lag_has_its_length(late, slow):
    """The search once ended at 8 pairs: a slow process was "late by 8", another one unrelated."""
    fault = since(0, lambda value, _: np.roll(value, late))
    pairs = [sensor(seed, 400, slow=slow, fault=fault) for seed in range(8)]
    found = [judge(p, alarm=60) for p in pairs] + [whole(p) for p in pairs]

    assert sum(each.size.value == late for each in found) >= 14, [each.sentence for each in found]


@pytest.mark.parametrize(("moves", "u_ref"), [(0.0, 1.0), (0.0, 4.0), (0.3, 2.0)])
def test_errors_of_references_are_no_lag_and_no_sign_of_a_sensor(moves, u_ref):
    """Beside a process that hardly moves, other references are as near to a value as its own.

    The best of many lags was nearer by chance: half of such honest sensors were "late".
    """
    found = []
    for seed in range(24):
        random = np.random.default_rng(seed)
        true = 100.0 + np.cumsum(moves * random.normal(size=400))
        value, reference = (true + u * random.normal(size=400) for u in (1.0, u_ref))
        times = 1.7e9 + 3600.0 * np.arange(400)
        stated = (np.full(400, each) for each in (1.0, u_ref))
        pairs = Pairs(times, value, next(stated), reference, next(stated))
        found.append(whole(pairs))

    assert sum(each.fault != "" for each in found) <= 1, [each.sentence for each in found]


def test_a_lag_is_told_behind_references_as_uncertain_as_what_moves():
    fault = since(0, lambda value, _: np.roll(value, 2))
    found = [whole(sensor(seed, 200, spread=4.0, u_ref=4.0, fault=fault)) for seed in range(12)]

    assert sum(each.fault == "lag" for each in found) >= 11, [each.sentence for each in found]
