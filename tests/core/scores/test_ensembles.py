"""CRPS of ensembles and quantiles against scoringrules, double loops and numerical integrals."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import scoringrules
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.integrate import quad
from scipy.stats import norm, t

from monitor.core.scores.ensembles import (
    crps_ensemble,
    crps_quantiles,
    mean_and_u,
)

RANDOM = np.random.default_rng(0)
MEMBERS = RANDOM.gamma(2.0, 3.0, (40, 9))
REFERENCE = RANDOM.gamma(2.0, 4.0, 40)
LEVELS = np.array([0.05, 0.25, 0.5, 0.9])
QUANTILES = np.sort(RANDOM.normal(5.0, 3.0, (40, 4)), axis=1)

numbers = st.floats(-1e3, 1e3) | st.sampled_from([0.0, 1.0, -2.5])


@pytest.mark.parametrize("estimator", ["nrg", "int", "qd"])
def test_ensemble_crps_equals_that_of_scoringrules(estimator):
    want = scoringrules.crps_ensemble(REFERENCE, MEMBERS, estimator=estimator)

    np.testing.assert_allclose(crps_ensemble(MEMBERS, REFERENCE), want, rtol=1e-12)


@given(hnp.arrays(np.float64, st.integers(1, 12), elements=numbers), numbers)
def test_ensemble_crps_equals_the_double_loop(members, reference):
    m = members.size
    near = np.abs(members - reference).mean()
    apart = np.abs(members[:, None] - members).sum()

    got = crps_ensemble(members, reference)

    assert got == pytest.approx(near - apart / (2.0 * m * m), abs=1e-10)
    if m == 1:
        assert got == near


def test_ensemble_crps_keeps_its_digits_far_from_zero():
    members, shift = np.round(MEMBERS * 64.0) / 64.0, 2.0**40

    far = crps_ensemble(members + shift, np.round(REFERENCE) + shift)

    np.testing.assert_array_equal(far, crps_ensemble(members, np.round(REFERENCE)))


def test_an_ensemble_needs_a_member():
    with pytest.raises(ValueError, match="at least one member"):
        crps_ensemble(np.empty((3, 0)), np.zeros(3))


# Quantiles.


def test_mean_pinball_loss_at_midpoints_is_the_crps_of_the_ensemble():
    levels = (np.arange(9) + 0.5) / 9.0

    want = scoringrules.crps_quantile(REFERENCE, np.sort(MEMBERS), levels)

    np.testing.assert_allclose(crps_ensemble(MEMBERS, REFERENCE), want, rtol=1e-12)


def cdf(quantiles, levels):
    """Return the CDF as a function, with its knots, written out for one row."""
    low, high = quantiles[0], quantiles[-1]
    low -= levels[0] * (quantiles[1] - quantiles[0]) / (levels[1] - levels[0])
    high += (1 - levels[-1]) * (quantiles[-1] - quantiles[-2]) / (levels[-1] - levels[-2])
    knots, heights = [low, *quantiles, high], [0.0, *levels, 1.0]

    def at(x):
        return 1.0 if x > high else float(np.interp(x, knots, heights))

    return at, knots


def integral(function, ends):
    ends = np.unique(ends)
    return sum(quad(function, a, b)[0] for a, b in pairwise(ends))


def test_crps_of_quantiles_equals_its_integral():
    got = crps_quantiles(QUANTILES, LEVELS, REFERENCE)

    for row, y in enumerate(REFERENCE):
        at, knots = cdf(QUANTILES[row], LEVELS)
        want = integral(lambda x, at=at, y=y: (at(x) - (x >= y)) ** 2, [*knots, y])
        assert got[row] == pytest.approx(want, rel=1e-7)


def test_two_quantiles_are_a_uniform_distribution():
    half = np.diff(QUANTILES[:, :2])[:, 0] / 0.9

    got = crps_quantiles(QUANTILES[:, :2], np.array([0.05, 0.95]), REFERENCE)

    middle = QUANTILES[:, :2].mean(axis=1)
    want = scoringrules.crps_uniform(REFERENCE, middle - half / 2.0, middle + half / 2.0)
    np.testing.assert_allclose(got, want, rtol=1e-11)


def test_many_quantiles_of_a_normal_have_its_crps():
    levels = np.linspace(0.001, 0.999, 999)
    y = np.array([-3.0, 0.2, 7.0])

    got = crps_quantiles(np.tile(norm.ppf(levels, 1.0, 2.0), (3, 1)), levels, y)

    np.testing.assert_allclose(got, scoringrules.crps_normal(y, 1.0, 2.0), rtol=1e-3)


def test_equal_quantiles_are_a_jump_and_those_of_steps_an_ensemble():
    jump = crps_quantiles(np.full(3, 2.0), np.array([0.1, 0.5, 0.9]), 5.0)
    steps = crps_quantiles(
        np.array([0.0, 0.0, 1.0, 1.0]), np.array([0.0, 0.5, 0.5 + 1e-12, 1.0]), 0.3
    )

    assert jump == 3.0
    assert steps == pytest.approx(float(crps_ensemble(np.array([0.0, 1.0]), 0.3)), abs=1e-9)


def test_one_quantile_is_a_point_and_crossing_ones_have_no_crps():
    crossing = np.array([[0.0, 2.0, 1.0], [0.0, 1.0, 2.0]])

    got = crps_quantiles(crossing, np.array([0.1, 0.5, 0.9]), np.zeros(2))

    assert crps_quantiles(np.array([4.0]), np.array([0.5]), 1.5) == 2.5
    np.testing.assert_array_equal(np.isnan(got), [True, False])


@pytest.mark.parametrize("levels", [[], [0.5, 0.5], [0.9, 0.1], [-0.1, 0.5], [0.5, 1.1]])
def test_levels_that_do_not_ascend_within_one_are_refused(levels):
    with pytest.raises(ValueError, match="levels must ascend"):
        crps_quantiles(np.zeros((1, len(levels))), np.array(levels), np.zeros(1))


def test_a_median_at_the_reference_scores_best():
    shifts = np.linspace(-2.0, 2.0, 41)
    symmetric = np.array([-1.0, 0.0, 1.0])

    got = crps_quantiles(symmetric + shifts[:, None], np.array([0.1, 0.5, 0.9]), np.zeros(41))

    assert shifts[np.argmin(got)] == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("m", [4, 5, 8, 10, 50])
def test_u_of_members_is_the_scaled_t_of_one_more(m):
    members = RANDOM.normal(10.0, 2.0, m)

    mean, u = mean_and_u(members.tolist())

    scale = members.std(ddof=1) * np.sqrt(1.0 + 1.0 / m)
    assert mean == pytest.approx(members.mean(), rel=1e-14)
    assert u == pytest.approx(t.std(m - 1, scale=scale), rel=1e-12)


@pytest.mark.parametrize("m", [2, 3])
def test_u_of_very_few_members_is_a_normals_of_the_same_interval(m):
    members = RANDOM.normal(10.0, 2.0, m)

    _, u = mean_and_u(members.tolist())

    half = t.ppf(0.975, m - 1) * members.std(ddof=1) * np.sqrt(1.0 + 1.0 / m)
    assert norm.ppf(0.975) * u == pytest.approx(half, rel=1e-12)
