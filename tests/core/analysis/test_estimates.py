"""Estimates over all pairs of a series, and the change point of a reference's errors."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from monitor.core.analysis import adjustments
from monitor.core.fleet.suspect_references import change_point


def best_by_brute_force(z):
    """Return the start of the tail with the largest penalised likelihood ratio, tail by tail."""
    penalty, scores = 0.5 * np.log(z.size), {}
    for since in range(z.size - 2):
        q = np.clip(z[since:], -4, 4)
        null = stats.norm.logpdf(q).sum()
        mean = stats.norm.logpdf(q, q.mean(), 1).sum() - null
        spread = stats.norm.logpdf(q, 0, np.sqrt((q**2).mean())).sum() - null
        both = stats.norm.logpdf(q, q.mean(), q.std()).sum() - null
        scores[since] = max(mean - penalty, spread - penalty, both - 2 * penalty)
    return max(scores, key=scores.get)


@pytest.mark.parametrize("seed", range(6))
def test_the_change_point_is_the_tail_of_largest_likelihood(seed):
    rng = np.random.default_rng(seed)
    z = rng.standard_normal(80)
    z[50:] = [z[50:] + 1, z[50:] * 2, z[50:] / 3][seed % 3]

    assert change_point(z, 0.0) == best_by_brute_force(z)


def test_a_change_point_of_fewer_than_three_pairs_is_the_first_pair():
    assert change_point(np.array([5.0, 5.0]), 0.0) == 0


@pytest.mark.parametrize("rho", [0.3, 0.7])
def test_effective_pairs_of_mean_and_variance_are_those_of_ar1(rho):
    rng = np.random.default_rng(2)
    z = rng.standard_normal((4000, 200))
    for t in range(1, 200):
        z[:, t] = rho * z[:, t - 1] + np.sqrt(1 - rho**2) * z[:, t]

    for_mean, for_variance = adjustments.share_independent(rho)

    assert 1 / (z.mean(axis=1).var() * 200) == pytest.approx(for_mean, rel=0.08)
    assert 2 / ((z**2).mean(axis=1).var() * 200) == pytest.approx(for_variance, rel=0.08)


def test_the_offset_and_its_interval_are_those_of_the_t_test():
    error = np.random.default_rng(3).normal(2, 5, 30)

    found = adjustments.mean_offset(error, np.full(30, 5.0), 0.0)

    wanted = stats.ttest_1samp(error, 0).confidence_interval(0.95)
    assert found == pytest.approx((error.mean(), wanted.low, wanted.high))


def test_the_offset_weighs_each_pair_by_its_own_u():
    found = adjustments.mean_offset(np.array([1.0, 4.0]), np.array([1.0, 2.0]), 0.0)

    assert found.value == pytest.approx((1.0 + 4.0 / 4) / 1.25)


@pytest.mark.parametrize("rho", [0.0, 0.5])
def test_the_offset_interval_holds_the_offset_as_often_as_it_says(rho):
    z = np.random.default_rng(4).standard_normal((800, 50))
    for t in range(1, 50):
        z[:, t] = rho * z[:, t - 1] + np.sqrt(1 - rho**2) * z[:, t]

    found = [adjustments.mean_offset(row, np.ones(50), rho) for row in z]

    assert 0.92 <= np.mean([low < 0 < high for _, low, high in found]) <= 0.98


@pytest.mark.parametrize("factor", [0.5, 1.0, 3.0])
def test_the_spread_interval_holds_the_factor_nearly_as_often_as_it_says(factor):
    z = 1.7 + factor * np.random.default_rng(5).standard_normal((800, 60))

    found = [adjustments.spread_factor(row, 0.0) for row in z]

    assert 0.90 <= np.mean([low < factor < high for _, low, high in found]) <= 0.98


@pytest.mark.parametrize("gain", [0.8, 1.0, 1.25])
def test_the_gain_is_unbiased_by_the_errors_of_value_and_reference(gain):
    rng = np.random.default_rng(6)
    truth = rng.normal(100, 20, 4000)
    value = 100 + gain * (truth - 100) + 5 * rng.standard_normal(4000)
    reference = truth + 3 * rng.standard_normal(4000)

    u_ref = np.full(4000, 3.0)
    found = adjustments.fitted_gain(value - reference, reference, u_ref)

    assert found.value == pytest.approx(gain, abs=0.02)
    assert found.lower < gain < found.upper


@pytest.mark.parametrize(("share", "spread", "pairs"), [(0.0, 0.3, 12), (0.1, 1.0, 1000)])
def test_the_gain_interval_holds_also_where_errors_go_with_the_level(share, spread, pairs):
    rng = np.random.default_rng(3)
    reference = 10.0 * np.exp(rng.normal(0.0, spread, (800, pairs)))
    error = rng.standard_normal((800, pairs)) * np.where(share, share * reference, 1.0)

    found = [
        adjustments.fitted_gain(*rows, np.zeros(pairs))
        for rows in zip(error, reference, strict=True)
    ]

    assert 0.90 <= np.mean([low < 1.0 < high for _, low, high in found]) <= 0.98


@pytest.mark.parametrize("size", [0, 1])
def test_too_few_pairs_have_no_interval(size):
    rows = np.ones(size)

    assert math.isnan(adjustments.mean_offset(rows, rows, 0.0).upper)
    assert math.isnan(adjustments.spread_factor(rows, 0.0).upper)
    assert math.isnan(adjustments.fitted_gain(rows, rows, rows).upper)
