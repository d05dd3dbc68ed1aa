"""Bets: fair to an honest sensor of any stated shape, computed the same for any company."""

from __future__ import annotations

import numpy as np
import pytest
from harness.series import pairs
from scipy import stats

from monitor.core.detector import e_values, whitening
from monitor.core.detector.levels import Levels
from monitor.core.detector.scales import Ceilings
from monitor.core.detector.whitening import Whitening

NO_PAST = Whitening(*np.zeros((5, 3)))


def level(count):
    """Return the ceilings of errors that are not known to depend on each other."""
    return Ceilings(np.ones(count), np.ones(count))


ALONE = level(3)

# Honest shapes, standardised to mean 0 and standard deviation 1.
SHAPES = {
    "normal": stats.norm(),
    "uniform": stats.uniform(-np.sqrt(3), 2 * np.sqrt(3)),
    "logistic": stats.logistic(scale=np.sqrt(3) / np.pi),
    "Laplace": stats.laplace(scale=np.sqrt(0.5)),
    "t6": stats.t(6, scale=np.sqrt(4 / 6)),
    "t4": stats.t(4, scale=np.sqrt(2 / 4)),
    "t3": stats.t(3, scale=np.sqrt(1 / 3)),
    "exponential": stats.expon(loc=-1),
    "gamma4": stats.gamma(4, loc=-2, scale=0.5),
    "lognormal": stats.lognorm(0.5, loc=-1, scale=np.exp(-0.125)),
}


def standardised(shape):
    frozen = SHAPES[shape]
    return lambda z: frozen.std() * frozen.pdf(frozen.mean() + frozen.std() * z)


def means(shape, bias, spread, flat=0.0):
    """Return the mean of each bet for z = bias + spread * standardised shape.

    ``flat`` is what is known of the shape.
    """

    def bets(z):
        past = Whitening(*np.zeros((3, z.size)), np.full(z.size, flat), np.zeros(z.size))
        return e_values.z_bets(z, np.zeros(z.size), past, level(z.size))

    return chances(shape, bias, spread, bets)


def chances(shape, bias, spread, bets):
    """Return the mean of ``bets`` by quadrature.

    Gauss-Legendre on panels whose edges hold every kink; beyond 60 the bets are constant and the
    densities below 1e-5.
    """
    kinks = [(side - bias) / spread for side in (-4.0, 4.0)]
    own = [-np.sqrt(3), np.sqrt(3), -1.0, 0.0]
    edges = np.unique([*np.linspace(-60, 60, 241), *kinks, *own])
    nodes, weights = np.polynomial.legendre.leggauss(40)
    half, middle = np.diff(edges)[:, None] / 2, (edges[1:] + edges[:-1])[:, None] / 2
    t = (middle + half * nodes).ravel()
    chance = (half * weights).ravel() * standardised(shape)(t)
    return bets(bias + spread * t) @ chance


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("bias", [-0.1, 0.0, 0.1])
@pytest.mark.parametrize("spread", [0.9, 1.0, 1.1])
def test_no_bet_on_offset_or_too_small_u_gains_on_an_honest_sensor_of_any_shape(
    shape, bias, spread
):
    mean = means(shape, bias, spread)

    assert mean[:12].max() <= 1.0 + 2e-4


@pytest.mark.parametrize("shape", ["normal", "uniform", "logistic", "Laplace", "t6", "t4"])
@pytest.mark.parametrize("spread", [0.9, 1.0, 1.1])
def test_no_bet_on_too_large_u_or_outliers_gains_on_an_honest_sensor_of_a_stated_shape(
    shape, spread
):
    mean = means(shape, 0.0, spread)

    assert mean[12:].max() <= 1.0 + 2e-4


def gain_means(shape, bias, spread, place):
    """Return the mean of each bet on a gain, given the place of reference and value."""

    def bets(z):
        nothing = np.zeros((2, z.size))
        levels = Levels(nothing + place, nothing, np.ones(z.size))
        past = Whitening(*np.zeros((5, z.size)))
        return e_values.z_bets(z, nothing[0], past, level(z.size), levels=levels)

    return chances(shape, bias, spread, bets)[e_values.OF_GAIN]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("place", [-9.0, -1.5, -0.2, 0.0, 0.2, 0.7, 4.0])
def test_no_bet_on_a_gain_gains_on_an_honest_sensor_of_any_shape(shape, place):
    for bias in (-0.1, 0.0, 0.1):
        for spread in (0.9, 1.0, 1.1):
            assert gain_means(shape, bias, spread, place).max() <= 1.0 + 2e-4


@pytest.mark.parametrize("shape", ["normal", "t4", "exponential"])
@pytest.mark.parametrize("lean", [0.3, 1.0, 3.0, 8.0])
def test_no_bet_on_a_gain_gains_where_errors_lean_to_the_other_side(shape, lean):
    """As those of a regression do, given the reference, and those of an instrument, its value."""
    above, below = slice(0, 2), slice(2, 4)
    for place in (-2.0, 0.5, 3.0):
        against = np.copysign(lean, place)
        assert gain_means(shape, -against, 1.0, place)[above].max() <= 1.0
        assert gain_means(shape, against, 1.0, place)[below].max() <= 1.0


@pytest.mark.parametrize(("place", "bias"), [(1.5, 0.6), (-1.5, -0.6)])
def test_bets_on_a_gain_gain_where_the_error_goes_with_the_level(place, bias):
    assert gain_means("normal", bias, 1.0, place)[:2].min() > 1.03
    assert gain_means("normal", -bias, 1.0, place)[2:].min() > 1.03


@pytest.mark.parametrize(
    ("bias", "spread", "family"), [(0.5, 1, 0), (-0.5, 1, 0), (0, 1.5, 1), (0, 0.6, 2)]
)
def test_each_family_gains_on_its_own_fault(bias, spread, family):
    mean = means("normal", bias, spread)

    assert mean[e_values.ROWS[family]].max() > 1.03


@pytest.mark.parametrize("shape", ["normal", "uniform", "logistic", "Laplace", "t6", "t4"])
@pytest.mark.parametrize("spread", [0.9, 1.0, 1.1])
def test_no_bet_on_too_large_u_gains_on_a_sensor_whose_shape_was_learnt(shape, spread):
    """From the mean of one bet over 400 pairs (what fades counts), by quadrature."""
    learnt = chances(shape, 0.0, spread, lambda z: whitening.middle_bet(np.clip(z, -4, 4)))

    flat = whitening.flatness(learnt, np.full(1, 400.0), np.zeros(1))
    mean = means(shape, 0.0, spread, flat=flat)

    assert mean[e_values.ROWS[2]].max() <= 1.0 + 2e-4


@pytest.mark.parametrize("alpha", [0.05, 0.1, 0.32, 0.8, 0.95])
@pytest.mark.parametrize("share", [1 / 1.1, 1.0, 1.1])
def test_coverage_bets_are_fair_to_any_miss_rate_within_ten_percent(alpha, share):
    missed = min(share * alpha, 0.99)
    codes = e_values.coverage_code(
        np.array([2.0, -2.0, 0.0]), np.full(3, -1.0), np.full(3, 1.0), np.full(3, alpha)
    )
    chances = np.array([missed / 2, missed / 2, 1 - missed])

    mean = e_values.coverage_bets(codes, codes, NO_PAST, ALONE) @ chances

    assert mean.max() <= 1.0 + 1e-12


def test_misses_that_follow_each_other_count_for_less():
    codes = np.array([0.1, 1.1, -1.1])
    plain = e_values.coverage_bets(codes, codes, NO_PAST, ALONE)

    tempered = e_values.coverage_bets(codes, codes, Whitening(*np.full((5, 3), 0.5)), ALONE)

    assert tempered == pytest.approx(plain ** (1 / 3))


def test_coverage_codes_say_side_and_alpha():
    codes = e_values.coverage_code(
        np.array([2.0, -2.0, 0.0]), np.full(3, -1.0), np.full(3, 1.0), np.full(3, 0.1)
    )

    high, low, alpha = e_values.coverage_parts(codes)

    assert high.tolist() == [False, True, False]  # reference below: the sensor reads high
    assert low.tolist() == [True, False, False]
    assert alpha == pytest.approx([0.1, 0.1, 0.1])


@pytest.mark.parametrize("p", [0.68, 0.9, 0.99])
@pytest.mark.parametrize("sides", [(1.0, 1.0), (1.0, 3.0), (2.0, 0.7)])
@pytest.mark.parametrize("u_ref", [0.33, 0.5, 1.0])
def test_bets_on_intervals_are_fair_whatever_the_uncertainty_of_the_reference(p, sides, u_ref):
    """The truth is normal on either side of the value, at u that the side implies."""
    quantile = stats.norm.ppf(0.5 + 0.5 * p)
    below, above = quantile * np.array(sides)
    c = pairs([5.0], [5.0], None, 5.0 - below, 5.0 + above, p=p, u_ref=u_ref * min(sides))
    spread = float(c.u_ref[0])
    truth = np.linspace(-9.0, 9.0, 40_001)
    chance = stats.norm.pdf(truth) * (truth[1] - truth[0])
    truth = 5.0 + np.where(truth < 0.0, sides[0], sides[1]) * truth
    lower, upper = (float(end[0]) for end in c.widened)
    missed = np.array(
        [
            chance @ stats.norm.cdf((lower - truth) / spread),
            chance @ stats.norm.sf((upper - truth) / spread),
        ]
    )
    codes = e_values.coverage_code(
        np.array([lower - 1.0, upper + 1.0, 5.0]), *c.widened, np.full(3, 1.0 - p)
    )

    mean = e_values.coverage_bets(codes, codes, NO_PAST, ALONE) @ np.append(
        missed, 1.0 - missed.sum()
    )

    assert missed == pytest.approx(0.5 * (1.0 - p), rel=1e-4 if sides == (1.0, 1.0) else 0.13)
    assert mean.max() <= 1.0 + 1e-4


def test_an_exact_reference_widens_no_interval():
    c = pairs([0.0, 0.0], [0.1, 0.2], None, [-0.1, -3.0], [0.3, 2.0], u_ref=[0.0, 1.0])

    lower, upper = c.widened

    assert (lower[0], upper[0]) == (c.lower[0], c.upper[0])
    assert lower[1] < -3.0 < 2.0 < upper[1]


def test_sides_of_an_interval_without_its_value_are_half_its_width():
    apart = pairs([9.0], [0.0], None, -1.0, 1.0, u_ref=0.5)
    middle = pairs([0.0], [0.0], None, -1.0, 1.0, u_ref=0.5)

    assert np.array(apart.widened) == pytest.approx(np.array(middle.widened))


def test_mixed_paths_give_each_pair_its_own_bets():
    rng = np.random.default_rng(5)
    z, path = rng.normal(size=20), rng.integers(0, 2, 20)
    learnt = Whitening(*(np.full(20, value) for value in (0.3, 0.4, 0.2, 0.6, 1.0)))

    mixed = e_values.bets_of(path, z, z, learnt, level(20))

    for number, compute in enumerate(e_values.PATHS):
        assert (
            mixed[:, path == number] == compute(z, z, learnt, level(20))[:, path == number]
        ).all()


def test_weights_of_each_path_sum_to_one():
    assert e_values.WEIGHTS.sum(axis=1) == pytest.approx([1.0, 1.0, 1.0])


@pytest.mark.parametrize("known", [0.5, 1.0])
def test_what_is_known_of_a_coarse_display_only_makes_bets_smaller(known):
    z, previous = np.random.default_rng(4).normal(0.0, 2.0, (2, 4000))
    fine, coarse = (
        Whitening(*(np.full(4000, value) for value in (0.3, 0.4, 0.2, 0.6, each)))
        for each in (0.0, known)
    )

    usual = e_values.z_bets(z, previous, fine, level(4000))
    found = e_values.z_bets(z, previous, coarse, level(4000))

    assert (found <= usual).all()
    assert (found[e_values.ROWS[2]] < usual[e_values.ROWS[2]]).any()
    assert (found[e_values.ROWS[0]] < usual[e_values.ROWS[0]]).any() == (known == 1.0)
    assert (found == usual)[:, np.abs(z) > 2.0].all()
