"""Errors without noise: the same in every pair, they are an offset, a gain or a step."""

from __future__ import annotations

import numpy as np
import pytest
from harness.verdict_sensors import START, whole

from monitor.core.verdict import Pairs, judge
from monitor.core.verdict.pairs import Side, rho_of_differences

# The step of a display, and the decimals it has.
SCALES = ((0.1, 1), (1.0, 0), (1e-6, 6), (1e6, 0))
WEIGHTS = ([500.0], [100.0, 500.0], [100.0, 300.0, 500.0])


def pairs(value, reference, u, *, timed=True):
    n = reference.size
    time = START + 3600.0 * np.arange(n)
    return Pairs(time, value, np.full(n, u), reference, np.zeros(n), timed=timed)


def display(number, scale, decimals):
    return np.round(np.round(number) * scale, decimals)


def verdicts(p):
    return judge(p, alarm=min(8, p.n - 1), unit="kg"), whole(p, unit="kg")


def references(n, scale, decimals, seed=2):
    return display(500.0 + 30.0 * np.random.default_rng(seed).normal(size=n), scale, decimals)


@pytest.mark.parametrize("n", [20, 60, 300])
@pytest.mark.parametrize(("scale", "decimals"), SCALES)
@pytest.mark.parametrize("off", [-12, 4, 9])
def test_the_same_error_in_every_pair_is_an_offset(off, scale, decimals, n):
    reference = references(n, scale, decimals)
    for value in (display(reference / scale + off, scale, decimals), reference + off * scale):
        for verdict in verdicts(pairs(value, reference, 3.0 * scale)):
            assert (verdict.state, verdict.fault) == ("fault", "offset"), verdict.sentence
            assert verdict.size.value == pytest.approx(off * scale)
            assert "overstates its uncertainty by a factor of at least 10" in verdict.sentence


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("n", [21, 60, 300])
@pytest.mark.parametrize("off", [-9.0, 9.0])
def test_a_check_weight_shows_an_offset_and_no_end_of_the_range(off, n, weights):
    reference = np.resize(weights, n)
    for verdict in verdicts(pairs(reference + off, reference, 3.0)):
        assert verdict.fault == "offset", verdict.sentence
        assert verdict.size.value == pytest.approx(off)


def test_a_display_that_creeps_up_above_one_weight_is_not_at_the_end_of_its_range():
    reference = np.full(200, 500.0)
    creeping = np.floor(np.arange(200) / 20.0)
    for way in (1.0, -1.0):
        for verdict in verdicts(pairs(reference + way * creeping, reference, 2.0)):
            assert verdict.fault in ("drift", "offset"), verdict.sentence


@pytest.mark.parametrize("n", [60, 300])
@pytest.mark.parametrize(("scale", "decimals"), SCALES)
def test_a_step_between_equal_errors_is_an_offset_from_there_on(scale, decimals, n):
    reference = references(n, scale, decimals)
    off = 9.0 * (np.arange(n) >= n // 2)
    p = pairs(display(reference / scale + off, scale, decimals), reference, 3.0 * scale)

    assert rho_of_differences(Side([p]))[0] == 0.0
    verdict = judge(p, alarm=n // 4, unit="kg")
    assert verdict.fault == "offset", verdict.sentence
    assert verdict.segment == n // 2
    assert verdict.size.value == pytest.approx(9.0 * scale, rel=0.01)


@pytest.mark.parametrize("gain", [0.5, 1.0001, 1.1, 1.5, 2.0])
@pytest.mark.parametrize(("scale", "decimals"), SCALES)
def test_a_gain_without_noise_is_told_in_as_many_digits_as_it_has(gain, scale, decimals):
    reference = references(60, scale, decimals)
    u = 3.0 * scale if abs(gain - 1.0) > 0.01 else 1e-3 * scale
    for verdict in verdicts(pairs(gain * reference, reference, u)):
        assert verdict.fault == "gain", verdict.sentence
        assert f"gain {gain:g} relative to" in verdict.sentence


def test_where_all_errors_are_0_the_advice_begins_with_the_reference():
    reference = references(200, 0.1, 1)
    for value in (reference, reference * 3.0 / 3.0, reference + 1.0 - 1.0):
        verdict = whole(pairs(value, reference, 0.3), unit="kg")
        assert verdict.fault == "overstated"
        assert verdict.advice.startswith("first check that nobody feeds it the reference; ")
    noisy = reference + 0.03 * np.random.default_rng(1).normal(size=200)
    verdict = whole(pairs(noisy, reference, 0.3), unit="kg")
    assert verdict.fault == "overstated"
    assert verdict.advice.startswith("multiply its u by ")


@pytest.mark.parametrize("way", [1.0, -1.0])
@pytest.mark.parametrize("noise", [0.0, 3.0])
def test_an_end_of_the_range_is_found_without_noise_too(noise, way):
    reference = references(300, 1.0, 0)
    value = reference + noise * np.random.default_rng(3).normal(size=300)
    value = 500.0 + way * np.minimum(way * (value - 500.0), 15.0)
    for verdict in verdicts(pairs(value, reference, 3.0)):
        assert verdict.fault == "clipped", verdict.sentence
        assert verdict.size.value == 500.0 + way * 15.0
