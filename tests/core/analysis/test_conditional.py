"""ENCE under its null against the chi distribution, binned ZMS against BCa, Holm against tables."""

from __future__ import annotations

import numpy as np
import pytest
from harness.series import drawn, pairs
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from monitor.core.analysis import conditional
from monitor.core.analysis.conditional import ence_null, holm, zms_by
from monitor.core.scores import bins, intervals


def generator(seed=0):
    return np.random.default_rng(seed)


# ENCE.


@pytest.mark.parametrize(("number", "per_bin"), [(1, 2), (5, 2), (10, 20), (4, 150)])
def test_mean_of_ence_under_the_null_is_that_of_chi(number, per_bin):
    """With one u a bin, sqrt(MSE/MV) of a bin is chi over the root of its degrees of freedom."""
    u = np.repeat(np.arange(1.0, number + 1.0), per_bin)
    c = pairs(np.ones(u.size), 0.0, generator(1).permutation(u))
    gap = stats.chi(per_bin).expect(lambda x: abs(1.0 - x / per_bin**0.5), limit=200)

    got = ence_null(c, generator(), bins=number, replicates=20_000)

    assert got.mean == pytest.approx(gap, rel=0.02)


@pytest.mark.slow
@pytest.mark.parametrize("spread", [0.0, 1.2])
def test_large_bins_have_the_null_of_errors_drawn_one_by_one(spread):
    """Ten bins of 450 pairs are drawn as sums of four neighbours each."""
    c = drawn(3, (4507,), spread=spread)
    errors = generator(4).normal(size=(2000, 4507)) * c.u_eff
    starts = np.arange(2000) * 4507
    want = bins.ence_in_bins(pairs(errors.reshape(-1), 0.0, np.tile(c.u, 2000), starts=starts), 10)

    got = ence_null(c, generator(), bins=10, replicates=4000, level=0.9)

    assert got.mean == pytest.approx(want.mean(), rel=0.02)
    assert (got.lower, got.upper) == pytest.approx(np.quantile(want, [0.05, 0.95]), rel=0.05)


def test_interval_of_ence_in_one_bin_is_that_of_chi():
    c = pairs(np.ones(8), 0.0, 2.0)
    chi = stats.chi(8)

    def share(gap):
        return chi.cdf((1.0 + gap) * 8**0.5) - chi.cdf((1.0 - gap) * 8**0.5)

    got = ence_null(c, generator(), bins=1, replicates=20_000, level=0.9)

    assert share(got.lower) == pytest.approx(0.05, abs=0.006)
    assert share(got.upper) == pytest.approx(0.95, abs=0.006)
    assert got.p_value == pytest.approx(1.0 - share(got.observed), abs=0.01)


def test_ence_under_the_null_is_that_of_series_drawn_so():
    """Different u within a bin, an uncertain reference, bins of unequal count."""
    c = drawn(3, (57,), spread=1.2, u_ref=0.5)
    errors = generator(4).normal(size=(4000, 57)) * c.u_eff
    many = pairs(
        errors.reshape(-1), 0.0, np.tile(c.u, 4000), u_ref=0.5, starts=np.arange(4000) * 57
    )
    want = bins.ence_in_bins(many, 4)

    got = ence_null(c, generator(), bins=4, replicates=4000)

    assert got.observed == bins.ence_in_bins(c, 4)[0]
    assert got.mean == pytest.approx(want.mean(), rel=0.03)
    assert (got.lower, got.upper) == pytest.approx(np.quantile(want, [0.025, 0.975]), rel=0.1)


def test_honest_series_are_rarely_beyond_their_null_and_an_overconfident_one_is():
    found = [
        ence_null(drawn(seed, (60,)), generator(seed), bins=5, replicates=99).p_value
        for seed in range(300)
    ]
    c = drawn(1, (60,))
    overconfident = pairs(c.value, c.reference, c.u / 2.0)

    assert stats.binom(300, 0.05).cdf(np.sum(np.array(found) <= 0.05)) < 0.999
    assert ence_null(overconfident, generator(), bins=5).p_value < 0.01


def test_simulation_hangs_on_the_generator_and_not_on_its_portions(monkeypatch):
    c = drawn(2, (50,))

    at_once = ence_null(c, generator(7), replicates=50)
    other = ence_null(c, generator(8), replicates=50)
    monkeypatch.setattr(conditional, "DRAWS", 1)
    one_by_one = ence_null(c, generator(7), replicates=50)

    assert at_once == one_by_one
    assert at_once.mean != other.mean


def test_too_few_pairs_for_the_bins_have_no_null_and_draw_nothing():
    random = generator()

    got = ence_null(drawn(1, (19,)), random)

    assert np.isnan([got.observed, got.mean, got.lower, got.upper, got.p_value]).all()
    assert random.bit_generator.state == generator().bit_generator.state


# Binned ZMS.


@pytest.mark.parametrize("by", ["u", "value"])
def test_each_bin_has_the_interval_of_its_pairs_alone(by):
    c = drawn(5, (403,), u_ref=0.3)
    covariate = np.round(getattr(c, by), 1)

    got = zms_by(c, covariate, bins=5)

    rows = np.array_split(np.argsort(covariate, kind="stable"), 5)
    for i, these in enumerate(rows):
        alone = intervals.abc_zms(
            pairs(c.value[these], c.reference[these], c.u[these], u_ref=c.u_ref[these])
        )
        assert got.pairs[i] == these.size
        assert (got.low[i], got.high[i]) == (covariate[these].min(), covariate[these].max())
        for field, want in (("zms", "estimate"), ("lower", "lower"), ("upper", "upper")):
            assert getattr(got, field)[i] == pytest.approx(getattr(alone, want)[0], rel=1e-12)


def test_interval_of_a_bin_is_that_of_scipys_bca():
    c = drawn(6, (1000,), heavy=True)
    got = zms_by(c, c.u, bins=2)
    upper_half = np.argsort(c.u)[500:]

    theirs = stats.bootstrap(
        (c.z[upper_half] ** 2,), np.mean, n_resamples=20_000, batch=500, rng=generator(1)
    ).confidence_interval

    width = theirs.high - theirs.low
    assert (got.lower[1], got.upper[1]) == pytest.approx(
        (theirs.low, theirs.high), abs=0.03 * width
    )


@pytest.mark.parametrize("target", [0.8, 0.9, 1.0, 1.1, 2.0])
def test_p_value_is_one_less_the_level_whose_end_is_the_target(target, monkeypatch):
    c = drawn(8, (200,), heavy=True)
    moments = intervals.zms_moments(c)
    p = float(intervals.abc_p_value(*moments, target)[0])

    monkeypatch.setattr(intervals, "LEVEL", 1.0 - p)
    ends = [float(end[0]) for end in intervals.abc_ends(*moments)]

    assert min(abs(end - target) for end in ends) < 1e-6


@given(seed=st.integers(0, 10_000), n=st.integers(20, 60), target=st.floats(0.2, 3.0))
def test_p_value_is_below_five_percent_exactly_where_the_interval_leaves_the_target_out(
    seed, n, target
):
    c = drawn(seed, (n,), heavy=True)
    interval = intervals.abc_zms(c)

    p = intervals.abc_p_value(*intervals.zms_moments(c), target)[0]

    assert (p >= 0.05) == (interval.lower[0] <= target <= interval.upper[0])


def test_p_value_of_a_target_that_no_level_reaches_is_that_of_the_last_reached():
    value = np.append(np.full(30, 0.1), [0.3, 40.0])
    moments = intervals.zms_moments(pairs(value, 0.0, 1.0))
    last = moments[0] - moments[1] / (4.0 * moments[2])

    got = [intervals.abc_p_value(*moments, target)[0] for target in (last[0], last[0] - 5.0)]

    assert got[1] == pytest.approx(got[0], rel=1e-4)
    assert 0.0 < got[1] < 1e-6


def test_equal_squares_have_no_interval_p_value_or_verdict():
    got = zms_by(pairs(np.full(100, 3.0), 0.0, 1.0), np.arange(100.0), bins=2)

    assert np.isnan(got.adjusted).all()
    assert np.isnan(got.lower).all()
    assert got.verdicts == ("undecided",) * 2


def faulty(seed, factor):
    """Return 1000 honest pairs but for the tenth of largest value, u too small by ``factor``."""
    c = drawn(seed, (1000,), spread=0.1)
    high = c.value >= np.quantile(c.value, 0.9)
    return pairs(c.value, c.reference, np.where(high, c.u / factor, c.u))


def test_the_one_bad_bin_is_found_by_level_and_the_others_are_let_alone():
    got = zms_by(faulty(3, 2.0), faulty(3, 2.0).value)

    assert got.verdicts == ("valid",) * 9 + ("invalid",)
    assert got.zms[9] > 2.0


def test_a_series_wrong_in_opposite_ways_is_right_on_average_only():
    c = drawn(9, (2000,), spread=0.5)
    wrong = pairs(c.value, c.reference, np.where(c.value > 0.0, c.u / 1.18, c.u * 1.3))
    assert abs(float(intervals.abc_zms(wrong).zeta[0])) < 1.0

    got = zms_by(wrong, wrong.value, bins=4)

    assert got.verdicts == ("invalid",) * 4


def test_honest_normal_series_are_called_invalid_no_more_often_than_holm_says():
    calls = [zms_by(c, c.u).verdicts for c in (drawn(seed, (1000,)) for seed in range(200))]

    assert stats.binom(200, 0.05).cdf(sum("invalid" in each for each in calls)) < 0.999
    assert sum(set(each) == {"valid"} for each in calls) > 170


def test_a_stretch_widens_the_arms_and_takes_verdicts_back():
    c = faulty(3, 1.35)
    plain, wide = (zms_by(c, c.value, stretch=stretch) for stretch in (1.0, 3.0))

    assert plain.verdicts[9] == "invalid"
    assert wide.verdicts[9] == "valid"
    np.testing.assert_allclose(wide.upper - wide.zms, 3.0 * (plain.upper - plain.zms))
    np.testing.assert_allclose(wide.zms - wide.lower, 3.0 * (plain.zms - plain.lower))


@pytest.mark.parametrize(
    ("n", "asked", "sizes"),
    [
        (1000, None, [100] * 10),
        (450, None, [113, 113, 112, 112]),
        (30, None, [30]),
        (3, 9, [1] * 3),
    ],
)
def test_bins_by_default_have_a_hundred_pairs_and_at_most_one_is_made_a_pair(n, asked, sizes):
    c = drawn(1, (n,))

    assert zms_by(c, c.u, bins=asked).pairs.tolist() == sizes


def test_bins_too_small_for_an_interval_are_undecided_even_beside_wrong_ones():
    c = drawn(1, (39,))
    wrong = pairs(c.value, c.reference, c.u / 5.0)

    got = zms_by(wrong, wrong.u, bins=2)

    assert got.verdicts == ("invalid", "undecided")
    np.testing.assert_array_equal(np.isnan(got.adjusted), [False, True])


# Holm.


def test_holm_equals_its_published_example():
    """Four p-values: 0.005 and 0.01 stand at 5 %, 0.03 and 0.04 do not (2 x 0.03 > 0.05)."""
    got = holm(np.array([0.01, 0.04, 0.03, 0.005]))

    assert got == pytest.approx([0.03, 0.06, 0.06, 0.02])


@given(st.lists(st.floats(0.0, 1.0) | st.just(np.nan), max_size=12), st.floats(0.001, 0.999))
def test_holm_rejects_as_its_step_down_procedure(p_values, level):
    known = sorted(p for p in p_values if not np.isnan(p))
    passed = 0
    while passed < len(known) and known[passed] * (len(known) - passed) <= level:
        passed += 1

    adjusted = holm(np.array(p_values, dtype=float))

    assert int(np.sum(adjusted <= level)) >= passed
    assert int(np.sum(adjusted <= level)) == sum(p in known[:passed] for p in p_values)
    np.testing.assert_array_equal(np.isnan(adjusted), np.isnan(p_values))
