"""Calibration statistics against their definitions, written out with other means."""

from __future__ import annotations

import numpy as np
import pytest
from harness.series import drawn, pairs
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, binomtest
from scipy.stats.mstats import hdquantiles

from monitor.core.scores import bins, calibration

MANY = drawn(1, (7, 200, 1, 33, 200, 2, 64), u_ref=0.3, dependent=0.6)


def each(c):
    """Yield the rows (error, u, u_eff) of each series, computed here."""
    for start, count in zip(c.starts, c.counts, strict=True):
        rows = slice(start, start + count)
        error = c.value[rows] - c.reference[rows]
        yield error, c.u[rows], np.hypot(c.u[rows], c.u_ref[rows])


PLAIN = {
    "bias": lambda e, _u, _v: e.mean(),
    "mae": lambda e, _u, _v: np.abs(e).mean(),
    "rmse": lambda e, _u, _v: np.sqrt((e**2).mean()),
    "ce": lambda e, _u, v: (e**2).mean() - (v**2).mean(),
    "rce": lambda e, _u, v: (
        (np.sqrt((v**2).mean()) - np.sqrt((e**2).mean())) / np.sqrt((v**2).mean())
    ),
    "z_mean": lambda e, _u, v: (e / v).mean(),
    "zms": lambda e, _u, v: ((e / v) ** 2).mean(),
    "nll": lambda e, u, _v: (0.5 * (e / u) ** 2 + np.log(u * np.sqrt(2.0 * np.pi))).mean(),
}


@pytest.mark.parametrize("name", PLAIN)
def test_statistic_equals_its_definition(name):
    got = getattr(calibration, name)(MANY)

    np.testing.assert_allclose(got, [PLAIN[name](*rows) for rows in each(MANY)], rtol=1e-12)


def test_variance_of_z_equals_numpy_and_is_absent_for_one_pair():
    got = calibration.z_var(MANY)

    want = [np.var(e / v, ddof=1) if e.size > 1 else np.nan for e, _, v in each(MANY)]
    np.testing.assert_allclose(got, want, rtol=1e-12)


def test_lag_one_correlation_equals_corrcoef_and_is_absent_below_three_pairs():
    got = calibration.z_lag1(MANY)

    z = [e / v for e, _, v in each(MANY)]
    want = [np.corrcoef(x[1:], x[:-1])[0, 1] if x.size > 2 else np.nan for x in z]
    np.testing.assert_allclose(got, want, rtol=1e-10)


@pytest.mark.parametrize("value", [0.0, 0.1, 1e9, [0.0] * 9 + [5.0], [5.0] + [0.0] * 9])
def test_lag_one_correlation_is_absent_where_z_does_not_vary(value):
    c = pairs(np.broadcast_to(value, 10), 0.0, 0.3)

    assert np.isnan(calibration.z_lag1(c)[0])


def test_effective_number_is_that_of_an_autoregressive_mean():
    c = drawn(3, (20_000,), dependent=0.8)

    assert calibration.n_effective(c)[0] == pytest.approx(20_000 * 0.2 / 1.8, rel=0.1)
    assert calibration.n_effective(pairs([1.0], 0.0, 1.0))[0] == 1.0
    assert calibration.n_effective(pairs([1.0, -1.0, 1.0, -1.0], 0.0, 1.0))[0] == 4.0


def test_nll_is_calibration_plus_sharpness():
    parts = calibration.nll_calibration(MANY) + calibration.nll_sharpness(MANY)

    np.testing.assert_allclose(parts, calibration.nll(MANY), rtol=1e-12)


@given(zms=st.floats(0.01, 100.0), seed=st.integers(0, 99))
def test_for_constant_u_rce_is_one_less_the_root_of_zms_not_one_less_zms(zms, seed):
    error = np.random.default_rng(seed).normal(0.0, 2.0 * np.sqrt(zms), 50)
    c = pairs(error, 0.0, 2.0)

    rce, got = calibration.rce(c)[0], calibration.zms(c)[0]

    assert rce == pytest.approx(1.0 - np.sqrt(got), abs=1e-12)


@pytest.mark.parametrize("share", [0.2, 0.33, 0.5, 1.0])
def test_a_noisy_reference_does_not_spoil_zms_when_its_uncertainty_is_stated(share):
    random = np.random.default_rng(5)
    reference = random.normal(0.0, np.hypot(1.0, share), 200_000)

    stated = calibration.zms(pairs(np.zeros(200_000), reference, 1.0, u_ref=share))[0]
    ignored = calibration.zms(pairs(np.zeros(200_000), reference, 1.0))[0]

    assert stated == pytest.approx(1.0, abs=0.02)
    assert ignored == pytest.approx(1.0 + share**2, rel=0.02)


def test_coverage_counts_closed_intervals():
    c = pairs([0.0] * 4, [1.0, -1.0, 1.0 + 1e-12, 0.0], None, -1.0, 1.0)

    assert calibration.coverage(c)[0] == 0.75
    assert calibration.miss_rate(c)[0] == 0.25


@pytest.mark.parametrize(("hits", "n"), [(0, 1), (1, 1), (0, 20), (20, 20), (17, 20), (900, 1000)])
def test_interval_of_a_share_is_the_exact_binomial_one(hits, n):
    theirs = binomtest(hits, n).proportion_ci(0.95, method="exact")

    lower, upper = calibration.binomial_interval(np.array([float(hits)]), np.array([n]))

    assert (lower[0], upper[0]) == pytest.approx((theirs.low, theirs.high), abs=1e-12)


def test_interval_of_a_share_covers_at_least_as_often_as_it_says():
    n, share = 50, 0.9
    hits = np.arange(n + 1.0)

    lower, upper = calibration.binomial_interval(hits, np.full(n + 1, n))

    held = (lower <= share) & (share <= upper)
    assert binom.pmf(hits, n, share)[held].sum() >= 0.95


# Bins.


# Skewness.


@pytest.mark.parametrize("n", [1, 2, 3, 10, 501])
def test_harrell_davis_median_equals_scipy(n):
    rows = np.sort(np.random.default_rng(n).lognormal(size=n))

    got = calibration.harrell_davis_median(rows)

    want = rows[0] if n == 1 else hdquantiles(rows, [0.5])[0]
    assert float(got) == pytest.approx(float(want), rel=1e-10)


def test_skewness_lies_within_one_and_is_absent_for_constant_u():
    skewed = drawn(6, (500, 30), spread=1.5)

    assert np.all(np.abs(calibration.beta_gm(skewed)) <= 1.0)
    assert calibration.beta_gm(skewed)[0] > 0.4
    assert np.isnan(calibration.beta_gm(pairs(np.arange(9.0), 0.0, 0.1))[0])


@pytest.mark.parametrize("half", [0.248, 0.445, 0.0173])
def test_intervals_of_one_width_state_one_uncertainty_however_their_ends_are_rounded(half):
    value = np.round(np.random.default_rng(5).normal(500.0, 30.0, 300), 1)
    c = pairs(value, value + 0.1 * half, None, value - half, value + half)

    assert np.isnan(calibration.beta_gm(c)[0])
    assert np.array_equal(bins.order_by_u(c), np.arange(300))


def test_the_references_uncertainty_is_compared_with_the_sensors():
    c = pairs([1.0, 2.0], 0.0, [3.0, 4.0], u_ref=[0.0, 5.0])

    assert calibration.u_ref_ratio(c)[0] == pytest.approx(1.0)


@pytest.mark.parametrize("sides", [(1.0, 1.0), (1.0, 3.0)])
def test_coverage_of_an_honest_sensor_is_what_its_claim_and_reference_make_it(sides):
    """Truths normal on either side of the value; the reference adds its own error."""
    random = np.random.default_rng(12)
    z, noise = random.standard_normal((2, 200_000))
    reference = np.where(z < 0.0, sides[0], sides[1]) * z + 0.5 * noise
    below, above = 1.6448536 * np.array(sides)
    c = pairs(np.zeros(z.size), reference, None, -below, above, u_ref=0.5)

    assert calibration.coverage(c) == pytest.approx(calibration.coverage_stated(c), abs=5e-3)
    assert calibration.coverage_stated(c)[0] < 0.893
