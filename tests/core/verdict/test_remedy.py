"""Advice has passed a test on pairs after those it was chosen from, and helps on those to come."""

from __future__ import annotations

import math

import numpy as np
import pytest
from harness.verdict_sensors import sensor, since, widened

from monitor.core.verdict import Pairs, judge

ONSET, ALARM, N, NEXT = 100, 120, 260, 100
SEEDS = range(10)


def crps(error, u):
    """Return the mean CRPS of normals by its integral, for an oracle of its own."""
    x = np.linspace(-12.0, 12.0, 4001)
    scale = np.maximum(np.abs(error), u)
    grid = x[:, None] * scale
    below = 0.5 * (1.0 + np.array([[math.erf(v) for v in row] for row in grid / u / math.sqrt(2)]))
    inside = (below - (grid >= -error)) ** 2
    return float(np.mean(np.trapezoid(inside, x, axis=0) * scale))


def told(fault=None, scale=1.0, **changes):
    """Yield verdict and the pairs to come."""
    for seed in SEEDS:
        p = sensor(seed, N + NEXT, fault=fault, scale=scale, **changes)
        yield judge(p.rows(slice(0, N)), alarm=ALARM), p.rows(slice(N, None))


def ratio(remedy, p: Pairs):
    """Return the squared error, or its distance from u, after over before."""
    if remedy.kind == "linear":
        value = remedy.intercept + remedy.slope * p.value
    else:
        value = p.value + np.nan_to_num(remedy.add)
    return np.mean((value - p.reference) ** 2) / np.mean(p.error**2)


def test_an_offset_is_taken_off():
    found = list(told(since(ONSET, lambda value, _: value + 5.0)))
    remedies = [verdict.remedy for verdict, _ in found]

    assert sum(each.kind in ("add", "add_and_scale_u") for each in remedies) >= 8
    for (verdict, following), remedy in zip(found, remedies, strict=True):
        if remedy.kind != "none":
            assert remedy.add == pytest.approx(-verdict.level.value)
            assert ratio(remedy, following) < 0.5
            assert remedy.crps_after < remedy.crps_before


@pytest.mark.parametrize("gain", [0.5, 1.7])
@pytest.mark.parametrize("predictive", [False, True])
def test_a_gain_about_a_working_point_is_undone_about_it(gain, predictive):
    fault = since(ONSET, lambda value, _: 50.0 + gain * (value - 50.0))
    found = list(told(fault, predictive=predictive))
    linear = [(v.remedy, p) for v, p in found if v.remedy and v.remedy.kind == "linear"]

    assert len(linear) >= 5
    for remedy, following in linear:
        assert remedy.slope == pytest.approx(1.0 / gain, rel=0.25)
        assert remedy.intercept + remedy.slope * 50.0 == pytest.approx(50.0, abs=1.5)
        assert ratio(remedy, following) < 1.0


@pytest.mark.parametrize("factor", [0.3, 4.0])
def test_a_wrong_uncertainty_gets_its_factor(factor):
    found = list(told(scale=widened(N + NEXT, ONSET, factor)))
    scales = [v.remedy.scale_u for v, _ in found if v.remedy and v.remedy.kind == "scale_u"]

    assert len(scales) >= 5
    assert all(each == pytest.approx(factor, rel=0.35) for each in scales)


def test_an_offset_with_a_varying_u_leaves_the_u_alone():
    """The offset must leave the error before the error tells of u."""
    for seed in SEEDS:
        p = sensor(seed, N, fault=since(ONSET, lambda value, _: value + 40.0))
        random = np.random.default_rng(seed)
        u = random.uniform(3.0, 8.0, N)
        value = p.reference + u * random.standard_normal(N) + 40.0 * (np.arange(N) >= ONSET)
        verdict = judge(Pairs(p.time, value, u, p.reference, 0.0 * u), alarm=ALARM)

        assert verdict.remedy.kind == "add"
        assert "u by" not in verdict.advice
        assert verdict.scale.lower < 1.0 < verdict.scale.upper or 0.8 < verdict.scale.value < 1.25


@pytest.mark.parametrize("kind", ["stuck", "lag"])
def test_what_no_number_mends_gets_none(kind):
    change = {
        "stuck": lambda value, late: np.full(late.size, value[0]),
        "lag": lambda value, _: np.roll(value, 2),
    }[kind]
    found = list(told(since(ONSET, change), slow=0.9))

    assert all(verdict.remedy.kind == "none" for verdict, _ in found if verdict.state == "fault")
    assert all("check" in verdict.advice for verdict, _ in found if verdict.fault == kind)


def test_a_fault_that_comes_and_goes_gets_no_number():
    """The sign of the error changes every 20 pairs: whatever is taken off makes the next worse."""

    def change(value, late):
        return value + np.where(late // 20 % 2 == 0, 6.0, -6.0)

    found = list(told(since(ONSET, change)))

    assert sum(v.remedy is None or math.isnan(v.remedy.add) for v, _ in found) >= 8


def test_few_pairs_after_the_alarm_give_no_advice():
    p = sensor(2, 130, fault=since(ONSET, lambda value, _: value + 10.0))
    verdict = judge(p.rows(slice(0, 108)), alarm=105)

    assert verdict.remedy is None or verdict.remedy.kind == "none"


def test_the_crps_told_is_that_of_the_pairs_tried():
    p = sensor(5, N, fault=since(ONSET, lambda value, _: value + 8.0))
    verdict = judge(p, alarm=ALARM)
    tried = p.rows(slice(N - verdict.remedy.pairs, None))

    assert verdict.remedy.crps_before == pytest.approx(crps(tried.error, tried.u), rel=1e-2)
