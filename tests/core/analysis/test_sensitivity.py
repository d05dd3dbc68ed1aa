"""Decimation and confidence curve against the statistics of what is left, worked out one by one."""

from __future__ import annotations

import numpy as np
import pytest
from harness.series import drawn, pairs
from scipy import stats

from monitor.core.analysis.sensitivity import confidence_curve, decimate
from monitor.core.scores import calibration, intervals

BY = pytest.mark.parametrize("by", ["u", "z"])
SHARES = np.array([0.0, 0.01, 0.05, 0.3, 0.7])


def kept(c, key, removed):
    """Return the pairs that are left without at most ``removed`` of largest key, ties together."""
    threshold = np.sort(key)[key.size - removed - 1]
    rows = key <= threshold
    return pairs(c.value[rows], c.reference[rows], c.u[rows], u_ref=c.u_ref[rows])


def key_of(c, by):
    return c.u if by == "u" else np.abs(c.z)


def tied(seed, n=200, **how):
    c = drawn(seed, (n,), spread=1.0, u_ref=0.2, **how)
    return pairs(np.round(c.value, 1), np.round(c.reference, 1), np.round(c.u, 1) + 0.1, u_ref=0.2)


@BY
@pytest.mark.parametrize("seed", [1, 2])
def test_decimation_gives_the_statistics_of_the_pairs_that_are_left(by, seed):
    c = tied(seed, heavy=True)

    got = decimate(c, SHARES, by=by)

    for i, removed in enumerate([0, 2, 10, 60, 140]):
        rest = kept(c, key_of(c, by), removed)
        interval = intervals.abc_zms(rest)
        assert got.kept[i] == rest.value.size
        assert got.rce[i] == pytest.approx(calibration.rce(rest)[0], rel=1e-9)
        assert got.zms[i] == pytest.approx(calibration.zms(rest)[0], rel=1e-12)
        for name in ("lower", "upper", "zeta"):
            assert getattr(got, name)[i] == pytest.approx(getattr(interval, name)[0], rel=1e-8)
        assert got.verdicts[i] == intervals.verdict(float(interval.zeta[0]))


def flip_one_by_one(c, key):
    """Return the first number removed whose verdict is the opposite, trying every one."""
    n = key.size
    first = intervals.verdict(float(intervals.abc_zms(c).zeta[0]))
    for removed in range(n // 2 + 1):
        rest = kept(c, key, removed)
        now = intervals.verdict(float(intervals.abc_zms(rest).zeta[0]))
        if {first, now} == {"valid", "invalid"} and rest.value.size >= n / 2:
            return n - rest.value.size
    return None


@BY
@pytest.mark.parametrize("seed", range(12))
def test_flip_is_the_first_of_all_numbers_of_pairs_removed(by, seed):
    c = tied(seed, 90, heavy=True)

    got = decimate(c, SHARES, by=by)

    want = flip_one_by_one(c, key_of(c, by))
    assert got.flip_pairs == want
    assert got.flip_share == (None if want is None else want / 90)


def test_a_series_spoilt_by_three_pairs_is_mended_by_removing_them():
    c = drawn(4, (400,))
    reference = c.reference.copy()
    reference[[7, 100, 399]] += 12.0 * c.u[[7, 100, 399]]

    got = decimate(pairs(c.value, reference, c.u), SHARES, by="z")

    assert got.verdicts[0] == "invalid"
    assert got.flip_pairs is not None
    assert got.flip_pairs <= 3


def test_a_verdict_that_hangs_on_the_largest_u_is_found_by_u():
    """The third of largest u is overstated just as much as the others are understated."""
    c = drawn(5, (1000,), spread=1.0)
    largest = c.u >= np.quantile(c.u, 0.7)
    wrong = pairs(c.value, c.reference, np.where(largest, 6.0 * c.u, c.u / 1.18))

    got = decimate(wrong, np.array([0.0, 0.3]), by="u")

    assert got.verdicts == ("valid", "invalid")
    assert got.flip_share is not None
    assert 0.02 < got.flip_share < 0.3


def test_an_honest_series_does_not_hang_on_its_largest_u():
    got = decimate(drawn(6, (2000,), spread=1.0), SHARES, by="u")

    assert set(got.verdicts) == {"valid"}
    assert got.flip_pairs is None
    np.testing.assert_array_equal(got.expected, 1.0)


def test_expected_without_the_largest_z_is_that_of_a_truncated_normal():
    c = drawn(7, (20_000,))

    got = decimate(c, SHARES, by="z")

    ends = stats.norm.ppf(0.5 + 0.5 * got.kept[1:] / 20_000)
    want = [1.0, *(stats.truncnorm(-end, end).var() for end in ends)]
    np.testing.assert_allclose(got.expected, want, rtol=1e-9)
    np.testing.assert_allclose(got.zms, got.expected, rtol=0.05)


def test_a_huge_error_leaves_no_trace_once_it_is_removed():
    c = drawn(8, (100,))
    reference = c.reference.copy()
    reference[50] = 1e12
    rest = kept(c, np.arange(100) == 50, 1)

    got = decimate(pairs(c.value, reference, c.u), np.array([0.01]), by="z")

    assert got.zms[0] == pytest.approx(calibration.zms(rest)[0], rel=1e-12)
    assert got.upper[0] == pytest.approx(intervals.abc_zms(rest).upper[0], rel=1e-9)


def test_constant_u_has_no_largest():
    c = pairs(np.random.default_rng(1).normal(size=100), 0.0, 1.0)

    got = decimate(c, SHARES, by="u")

    assert set(got.kept) == {100}
    assert len(set(got.zms)) == 1
    assert got.flip_pairs is None


def test_too_few_pairs_have_no_verdict_to_flip():
    c = drawn(1, (19,))
    wrong = pairs(c.value, c.reference, c.u / 9.0)

    got = decimate(wrong, SHARES, by="z")

    assert set(got.verdicts) == {"undecided"}
    assert got.flip_pairs is None
    assert np.isfinite(got.zms).all()


def test_a_stretch_widens_the_arms():
    c = drawn(9, (300,))
    plain, wide = (decimate(c, SHARES, by="u", stretch=s) for s in (1.0, 2.5))

    np.testing.assert_allclose(wide.upper - wide.zms, 2.5 * (plain.upper - plain.zms))
    np.testing.assert_allclose(wide.zeta, plain.zeta / 2.5)


@pytest.mark.parametrize("share", [-0.01, 1.0, np.nan])
def test_shares_outside_zero_to_one_are_refused(share):
    for function in (confidence_curve, lambda c, s: decimate(c, s, by="u")):
        with pytest.raises(ValueError, match="shares to remove"):
            function(drawn(1, (30,)), np.array([share]))


# The confidence curve.


@pytest.mark.parametrize("n", [1, 10, 1000])
def test_confidence_curve_gives_the_mean_errors_of_what_is_left(n):
    c = tied(10, n)

    got = confidence_curve(c, SHARES)

    for i, share in enumerate([0, 1, 5, 30, 70]):
        removed = n * share // 100
        rest = kept(c, c.u, removed)
        m = rest.value.size
        assert got.kept[i] == m
        assert got.mae[i] == pytest.approx(calibration.mae(rest)[0], rel=1e-12)
        assert got.ideal[i] == pytest.approx(np.sort(np.abs(c.error))[:m].mean(), rel=1e-12)
        assert got.stated[i] == pytest.approx(stats.halfnorm.mean() * rest.u_eff.mean(), rel=1e-12)


def test_confidence_curve_falls_for_an_informative_uncertainty_only():
    shares = np.linspace(0.0, 0.9, 10)
    c = drawn(8, (20_000,), spread=1.0)
    blind = pairs(c.value, c.reference, np.random.default_rng(0).permutation(c.u))

    told, nothing = (confidence_curve(each, shares) for each in (c, blind))

    assert np.all(np.diff(told.mae) < 0.0)
    np.testing.assert_allclose(told.mae, told.stated, rtol=0.05)
    np.testing.assert_allclose(nothing.mae, nothing.mae[0], rtol=0.2)
    assert np.all(told.ideal[1:] < told.mae[1:])
    assert told.ideal[0] == pytest.approx(told.mae[0], rel=1e-12)


def test_confidence_curve_is_ideal_where_u_ranks_the_errors():
    error = np.random.default_rng(3).normal(size=500)

    got = confidence_curve(pairs(error, 0.0, 3.0 * np.abs(error)), SHARES)

    np.testing.assert_allclose(got.mae, got.ideal, rtol=1e-12)
