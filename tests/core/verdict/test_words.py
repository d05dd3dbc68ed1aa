"""Numbers in sentences and in advice have the digits that they need, whatever their magnitude."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from harness.verdict_sensors import HOUR, START, whole

from monitor.core.verdict import Estimate, Pairs, judge
from monitor.core.verdict.words import at_least, estimated

NUMBER = r"(-?\d+(?:\.\d+)?(?:e[+-]\d+)?)"


def normal_crps(error, u):
    """Return the mean CRPS of normals by Gneiting and Raftery (2007), eq. 21, with math.erf."""
    total = 0.0
    for one, sigma in zip(error, u, strict=True):
        z = one / sigma
        density = math.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi)
        total += sigma * (
            z * math.erf(z / math.sqrt(2.0)) + 2.0 * density - 1.0 / math.sqrt(math.pi)
        )
    return total / len(error)


def followed(advice, value, u):
    """Do what a sentence of advice says, as a person at the sensor would."""
    line = re.search(rf"take {NUMBER}(?: \D\S*)? ([+-]) {NUMBER} times its value instead", advice)
    if line:
        slope = float(line[3]) * (1.0 if line[2] == "+" else -1.0)
        value = float(line[1]) + slope * value
    added = re.search(rf"(add|subtract) {NUMBER}", advice)
    scaled = re.search(rf"multiply its u by {NUMBER}", advice)
    assert line or added or scaled, advice
    if added:
        value = value + float(added[2]) * (1.0 if added[1] == "add" else -1.0)
    return value, u * float(scaled[1]) if scaled else u


def pairs(size, *, mean, spread, gain=1.0, offset=0.0, factor=1.0, n=300):
    """Return pairs in units of ``size`` u: about a mean, with a fault in the second half."""
    random = np.random.default_rng(3)
    reference = mean + spread * random.standard_normal(n)
    error = factor * random.standard_normal(n)
    value = reference + error + (gain - 1.0) * (reference - mean) + offset
    ones = np.full(n, size)
    return Pairs(START + HOUR * np.arange(n), size * value, ones, size * reference, 0.0 * ones)


@pytest.mark.parametrize("size", [1e-9, 1e-3, 1.0, 5.0, 1e6])
@pytest.mark.parametrize(
    "fault",
    [
        {"mean": 10_130.0, "spread": 150.0, "gain": 1.02},
        {"mean": 300.0, "spread": 100.0, "gain": 0.6},
        {"mean": -40.0, "spread": 8.0, "gain": 2.0},
        {"mean": 0.0, "spread": 20.0, "gain": -1.0},
        {"mean": 1e5, "spread": 3.0, "offset": 24_691.34},
        {"mean": 50.0, "spread": 3.0, "offset": -3.0},
        {"mean": 50.0, "spread": 3.0, "offset": 4321.0, "factor": 0.05},
        {"mean": 50.0, "spread": 3.0, "factor": 0.2},
        {"mean": 50.0, "spread": 3.0, "factor": 9.0},
    ],
)
def test_advice_followed_to_the_letter_does_what_it_promises(fault, size):
    p = pairs(size, **fault)
    verdict = whole(p, unit="kg")
    remedy = verdict.remedy

    assert remedy.kind != "none", verdict
    value, u = followed(verdict.advice, p.value, p.u)
    got = normal_crps(value - p.reference, u)
    if remedy.kind == "linear":
        value, u = remedy.intercept + remedy.slope * p.value, abs(remedy.slope) * p.u
    else:
        value, u = p.value + np.nan_to_num(remedy.add), p.u * np.nan_to_num(remedy.scale_u, nan=1.0)
    assert got == pytest.approx(normal_crps(value - p.reference, u), rel=0.01)
    assert got == pytest.approx(remedy.crps_after, rel=0.2)  # of other pairs


@pytest.mark.parametrize("n", [40, 300])
@pytest.mark.parametrize(
    "fault", [{"offset": 3.3}, {"offset": -60.0}, {"factor": 0.3}, {"factor": 4.0}]
)
def test_advice_has_the_digits_of_the_sentence_and_stays_within_its_interval(fault, n):
    """No "add 63.4" beside "60 kg light (50 to 120)", which knows less."""
    verdict = whole(pairs(5.0, mean=50.0, spread=3.0, n=n, **fault), unit="kg")
    size = re.search(rf"(?:reads|by a factor of) {NUMBER}", verdict.sentence)[1]
    added, scaled = (
        re.search(rf"{doing} {NUMBER}", verdict.advice)
        for doing in ("(?:add|subtract)(?:ing)?", "multiply(?:ing)? its u by")
    )

    assert added or scaled, verdict.advice
    if added:
        half = 0.5 * (verdict.level.upper - verdict.level.lower)
        assert added[1] == size
        assert abs(float(added[1]) - abs(verdict.level.value)) <= 0.25 * half
    else:
        half = 0.5 * (verdict.scale.upper - verdict.scale.lower)
        estimate = re.search(rf"on the safe side of {NUMBER}", verdict.advice) or scaled
        told = float(size) if verdict.fault == "understated" else 1.0 / float(size)
        assert float(estimate[1]) == pytest.approx(told, rel=0.06)
        assert abs(float(estimate[1]) - verdict.scale.value) <= 0.5 * half
        assert float(scaled[1]) <= verdict.scale.upper


@pytest.mark.parametrize("size", [1e-9, 1e-3, 1.0, 1e6, 1e12])
@pytest.mark.parametrize("offset", [3.0, -40.0, 24_691.34])
def test_a_size_and_the_ends_of_its_interval_differ_as_they_are_written(size, offset):
    told = whole(pairs(size, mean=50.0, spread=3.0, offset=offset), unit="Pa").sentence
    found = re.match(rf"reads {NUMBER} Pa (high|low) \({NUMBER} to {NUMBER}\)", told)

    assert found, told
    value, lower, upper = (float(found[i]) for i in (1, 3, 4))
    assert 0.0 < lower < value < upper
    assert len({"e" in found[i] for i in (1, 3, 4)}) == 1


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_an_interval_that_excludes_nothing_does_not_read_as_if_it_held_it(sign):
    ends = sorted((0.2 * sign, 12.0 * sign))

    assert "0.2" in estimated(Estimate(6.0 * sign, *ends), 0.0)[1]
    assert "1.02 to" in estimated(Estimate(1.6, 1.02, 2.5), 1.0)[1]
    assert estimated(Estimate(6.0, 1e-6, 12.0), 0.0)[1] == " (almost 0 to 12)"
    assert estimated(Estimate(7e-5, 1e-6, 13e-5), 0.0)[1] == " (0.000001 to 0.00013)"


def test_at_least_is_never_more_than_is_known():
    assert [at_least(each) for each in (1.004, 1.87, 9.99, 14.9)] == ["1.004", "1.8", "9.9", "14"]


def test_a_falling_drift_has_its_sign_in_the_interval():
    random = np.random.default_rng(1)
    n = 300
    reference = 50.0 + 3.0 * random.standard_normal(n)
    falling = np.where(np.arange(n) < 150, 0.0, -0.05 * (np.arange(n) - 150.0))
    value = reference + random.standard_normal(n) + falling
    p = Pairs(START + HOUR * np.arange(n), value, np.ones(n), reference, np.zeros(n))
    told = judge(p, alarm=180, unit="kg").sentence
    found = re.match(rf"drifts {NUMBER} kg a day \({NUMBER} to {NUMBER}\), ", told)

    assert found, told
    rate, lower, upper = (float(each) for each in found.groups())
    assert lower < rate < upper < 0.0
    assert lower < -1.2 <= upper  # as they are told, in two digits
