"""Intervals against BCa with many replicates, against scipy, and against what they promise."""

from __future__ import annotations

import numpy as np
import pytest
from harness.series import drawn, pairs

from monitor.core.analysis import resampling
from monitor.core.columns import columns
from monitor.core.scores import calibration, intervals
from monitor.core.scores.intervals import abc_rce, abc_zms, saddlepoint_zms, verdict, zeta_of


def ends(interval):
    return np.array([interval.lower[0], interval.upper[0]])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "most"), [(abc_zms, 0.01), (saddlepoint_zms, 0.005)], ids=["abc", "saddlepoint"]
)
@pytest.mark.parametrize(("n", "heavy"), [(60, False), (200, True), (1000, True)])
def test_closed_intervals_of_zms_are_those_of_bca_with_many_replicates(method, most, n, heavy):
    c = drawn(11, (n,), heavy=heavy)
    theirs = ends(resampling.bca_zms(c, seed=3, replicates=200_000))

    off = np.abs(ends(method(c)) - theirs) / (theirs[1] - theirs[0])

    assert off.max() < most


@pytest.mark.slow
@pytest.mark.parametrize(("n", "heavy"), [(60, False), (200, True), (1000, True)])
def test_closed_interval_of_rce_is_that_of_bca_with_many_replicates(n, heavy):
    c = drawn(12, (n,), heavy=heavy)
    theirs = ends(resampling.bca_rce(c, seed=3, replicates=200_000))

    off = np.abs(ends(abc_rce(c)) - theirs) / (theirs[1] - theirs[0])

    assert off.max() < 0.02


def test_live_interval_counts_autocorrelation_and_says_so():
    c = drawn(1, (200,))

    assert intervals.zms_interval(c).method == "effective"
    assert saddlepoint_zms(c).method == "saddlepoint"
    assert abc_zms(c).method == "abc"


@pytest.mark.parametrize("method", [abc_zms, saddlepoint_zms, abc_rce])
def test_no_interval_below_twenty_pairs_or_without_spread(method):
    few, flat = drawn(1, (19,)), pairs(np.full(50, 0.3), 0.0, 0.2)

    assert np.isnan(ends(method(few))).all()
    assert np.isnan(method(few).zeta[0])
    assert np.isnan(method(flat).zeta[0]) or abs(np.diff(ends(method(flat)))[0]) < 1e-6


@pytest.mark.parametrize("method", [abc_zms, saddlepoint_zms, abc_rce])
def test_interval_of_a_series_is_the_same_bits_alone_or_among_others(method):
    many = drawn(5, (30, 500, 30, 19, 25, 25), heavy=True)
    together = method(many)

    for i in range(many.starts.size):
        alone = method(many.take(np.array([i])))
        np.testing.assert_array_equal(alone.lower[0], together.lower[i])
        np.testing.assert_array_equal(alone.upper[0], together.upper[i])


def test_one_pair_that_rules_the_mean_still_has_an_interval():
    value = np.append(np.random.default_rng(0).normal(size=99), 1e6)
    c = pairs(value, 0.0, 1.0)

    lower, upper = ends(saddlepoint_zms(c))

    assert 0.0 < lower < calibration.zms(c)[0] < upper < value.max() ** 2


# Zeta and verdicts.


def test_zeta_is_within_one_exactly_when_the_interval_holds_the_target():
    random = np.random.default_rng(0)
    estimate = random.normal(1.0, 1.0, 2000)
    lower, upper = (
        estimate - random.exponential(1.0, 2000),
        estimate + random.exponential(1.0, 2000),
    )

    zeta = zeta_of(estimate, lower, upper, 1.0)

    np.testing.assert_array_equal(np.abs(zeta) <= 1.0, (lower <= 1.0) & (upper >= 1.0))
    np.testing.assert_array_equal(np.sign(zeta), np.sign(estimate - 1.0))


@pytest.mark.parametrize(
    ("zeta", "word"),
    [
        (0.0, "valid"),
        (-0.9, "valid"),
        (1.3, "invalid"),
        (-4.0, "invalid"),
        (1.02, "undecided"),
        (-0.98, "undecided"),
        (np.nan, "undecided"),
    ],
)
def test_verdict_is_not_given_where_it_hangs_on_the_seed(zeta, word):
    assert verdict(zeta) == word


# Resampling.


def coverage_of(method, dependent, sets=150, n=300):
    c = drawn(77, (n,) * sets, spread=0.0, dependent=dependent)
    found = method(c)
    return float(np.mean((found.lower <= 1.0) & (found.upper >= 1.0)))


def test_the_plain_interval_is_too_short_where_pairs_depend_on_each_other():
    assert coverage_of(saddlepoint_zms, 0.8) < 0.75
    assert coverage_of(saddlepoint_zms, 0.0) > 0.88


def autocorrelated(rho, n, level=0.0, sets=1000, seed=12):
    """Return sets of z = level + x, x normal AR(1) of variance 1, written as its recursion."""
    random = np.random.default_rng(seed)
    x = np.empty((sets, n))
    x[:, 0] = random.normal(size=sets)
    for at in range(1, n):
        x[:, at] = rho * x[:, at - 1] + np.sqrt(1.0 - rho * rho) * random.normal(size=sets)
    return pairs((level + x).ravel(), 0.0, 1.0, starts=np.arange(sets) * n)


@pytest.mark.parametrize(("rho", "n"), [(0.5, 200), (0.9, 200), (0.9, 666)])
@pytest.mark.parametrize("level", [0.0, 1.8])
def test_live_interval_holds_zms_nineteen_times_in_twenty_under_autocorrelation(rho, n, level):
    """1000 sets: a standard error of 0.007; the interval for independent pairs beside it."""
    c = autocorrelated(rho, n, level)
    truth = 1.0 + level * level

    def held(method):
        found = method(c)
        return np.mean((found.lower <= truth) & (truth <= found.upper))

    assert held(intervals.zms_interval) == pytest.approx(0.945, abs=0.025)
    assert held(saddlepoint_zms) < (0.9 if rho == 0.5 else 0.55)


@pytest.mark.slow
@pytest.mark.parametrize(("rho", "level"), [(0.0, 0.0), (0.5, 0.0), (0.9, 0.0), (0.9, 1.8)])
def test_inflation_is_that_of_the_variance_of_zms_over_many_series(rho, level):
    """The variance of the mean of z squared over 4000 series against that of independent pairs."""
    c = autocorrelated(rho, 500, level, sets=4000)

    seen = np.var(calibration.zms(c)) * 500 / (2.0 + 4.0 * level * level)

    assert np.median(intervals.zms_inflation(c)) == pytest.approx(seen, rel=0.12)


@pytest.mark.parametrize("n", [50, 200, 1000])
def test_live_interval_of_independent_pairs_is_that_of_independent_pairs(n):
    c = autocorrelated(0.0, n)

    plain, live = saddlepoint_zms(c), intervals.zms_interval(c)

    wider = (live.upper - live.lower) / (plain.upper - plain.lower)
    assert wider.min() >= 1.0 - 1e-12
    assert wider.mean() < 1.0 + 1.0 / n
    np.testing.assert_allclose(live.lower[wider < 1.0 + 1e-12], plain.lower[wider < 1.0 + 1e-12])
    for found in (plain, live):
        held = np.mean((found.lower <= 1.0) & (found.upper >= 1.0))
        assert held == pytest.approx(0.94, abs=0.025)


def test_live_interval_is_never_below_zero_however_few_pairs_count():
    """A drift: z moves so slowly that its pairs tell no more than a few."""
    z = np.linspace(-2.0, 2.0, 25)

    live = intervals.zms_interval(pairs(z, 0.0, 1.0))

    assert 0.0 <= live.lower[0] < np.mean(z * z) < live.upper[0]


def test_intervals_of_a_window_with_no_error_at_all_are_absent_without_a_warning():
    n = 30
    empty = np.full(n, np.nan)
    c = columns(
        np.array([0]), time=np.arange(n) * 1.0, value=np.zeros(n), reference=np.zeros(n),
        u=np.ones(n), lower=empty, upper=empty, p=empty, u_ref=np.zeros(n), level=0.9,
    )  # fmt: skip

    assert np.isnan(saddlepoint_zms(c).zeta[0])
    assert np.isnan(abc_rce(c).zeta[0])
