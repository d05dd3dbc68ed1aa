"""The characteristics curve against its definition, tried scale by scale."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from harness.series import drawn, pairs
from scipy import integrate, optimize, stats

from monitor.core.scores import calibration, characteristics, curves, proper_scores
from monitor.core.scores.curves import Curve


def test_one_sided_excess_differs_from_the_nearer_one_for_asymmetric_bands_only():
    """The value of the design: d = 0.1, 0.2 below, 5 above: 4.9 one-sided, 0.3 by eq. 8."""
    error = np.array([-0.1])
    sided = by_scale(curves.curve(np.array([0.2]), np.array([5.0]), error, nearer=False))
    nearer = by_scale(curves.curve(np.array([0.2]), np.array([5.0]), error))

    assert sided(0.02) == pytest.approx(0.0)
    assert nearer(0.02) == pytest.approx(0.0)
    c = pairs([0.0], [0.1], None, -0.2, 5.0)
    assert characteristics.excess(c)[0] == pytest.approx(0.3)


def by_scale(points: Curve):
    return lambda k: points.excess[np.flatnonzero(np.isclose(points.scale, k))[0]]


# The three means.


def step_area(x, y):
    """Return the area under the step curve that keeps y from each x to the next."""
    return np.sum(np.diff(x) * y[:-1])


@pytest.mark.parametrize("skewed", [False, True])
def test_area_is_the_integral_of_the_step_curve(skewed):
    c = drawn(3, (60,), skewed=skewed)
    half = np.mean(c.width) / 2.0
    k = curves.critical_scales(c.value - c.lower, c.upper - c.value, c.error)

    pieces = np.diff(np.sort(k), prepend=0.0)
    want = sum(p * half * (60 - i) / 60 for i, p in enumerate(pieces))

    assert characteristics.auucc(c)[0] == pytest.approx(want, rel=1e-12)
    points = curves.curve(c.value - c.lower, c.upper - c.value, c.error)
    assert step_area(points.bandwidth, points.miss) == pytest.approx(want, rel=1e-12)


def test_area_of_a_constant_band_is_the_mean_absolute_error_and_its_gain_nothing():
    c = drawn(3, (60,), spread=0.0)

    assert characteristics.auucc(c)[0] == pytest.approx(np.mean(np.abs(c.error)), rel=1e-12)
    assert characteristics.auucc_gain(c)[0] == pytest.approx(0.0, abs=1e-12)


def gains_of(figure):
    """Return the gain of a perfect, an honest, a constant and a shuffled uncertainty."""
    c = drawn(4, (5000,), spread=0.8)
    shuffled = np.random.default_rng(0).permutation(c.u)
    stated = (np.abs(c.error) + 1e-9, c.u, np.ones(5000), shuffled)
    return [figure(pairs(c.value, c.reference, u))[0] for u in stated]


def test_partial_gain_ranks_perfect_honest_constant_and_shuffled_uncertainties():
    gains = gains_of(characteristics.auucc_partial_gain)

    assert gains == sorted(gains, reverse=True)
    assert gains[0] == pytest.approx(1.0, abs=1e-6)
    assert gains[1] > 0.1
    assert gains[2] == pytest.approx(0.0, abs=1e-12)
    assert gains[3] < -0.1


@pytest.mark.slow
@pytest.mark.parametrize(("spread", "factor"), [(0.5, 1.0), (1.0, 1.0), (1.0, 3.0), (1.25, 0.5)])
def test_information_of_an_honest_lognormal_uncertainty_is_its_integral(spread, factor):
    """Area beyond the median m of X is E max(X - m, 0): of |z| in closed form, of |u z| by u."""

    def beyond(m, u):
        """Return E max(|u z| - m, 0) for normal z."""
        return 2.0 * (u * stats.norm.pdf(m / u) - m * stats.norm.sf(m / u))

    def over_u(function):
        def weighted(t):
            return function(np.exp(spread * t)) * stats.norm.pdf(t)

        return integrate.quad(weighted, -9.0, 9.0)[0]

    median = optimize.brentq(lambda m: over_u(lambda u: 2.0 * stats.norm.sf(m / u)) - 0.5, 0.01, 9)
    own = np.exp(0.5 * spread**2) * beyond(stats.norm.ppf(0.75), 1.0)
    want = 1.0 - own / over_u(lambda u: beyond(median, u))
    random = np.random.default_rng(8)
    u = np.exp(spread * random.normal(size=200_000))
    c = pairs(u * random.normal(size=u.size), 0.0, factor * u)

    assert characteristics.auucc_partial_gain(c)[0] == pytest.approx(want, abs=0.012)
    assert want == pytest.approx({0.5: 0.22, 1.0: 0.45, 1.25: 0.51}[spread], abs=0.005)


def test_gain_is_nothing_for_an_honest_uncertainty_and_below_for_a_shuffled_one():
    """The whole area is mean(band) mean(k): the MAE wherever k does not hang on the band."""
    perfect, honest, constant, shuffled = gains_of(characteristics.auucc_gain)

    assert perfect == pytest.approx(0.0, abs=1e-6)
    assert honest == pytest.approx(0.0, abs=0.02)
    assert constant == pytest.approx(0.0, abs=1e-12)
    assert shuffled < -0.3


@pytest.mark.parametrize("largest", [1.0, 0.5, 0.3, 0.05])
def test_partial_area_is_the_integral_from_where_the_miss_rate_is_down(largest):
    c = drawn(5, (41,), skewed=True)
    points = curves.curve(c.value - c.lower, c.upper - c.value, c.error)
    k = np.sort(curves.critical_scales(c.value - c.lower, c.upper - c.value, c.error))

    got = characteristics.tail_area(c, k[None], largest)[0] * np.mean(c.width) / 2.0

    def miss(x):
        return np.mean(k > x / (np.mean(c.width) / 2.0))

    x0 = points.bandwidth[np.flatnonzero(points.miss <= largest + 1e-12)[0]]
    edges = [x for x in points.bandwidth if x >= x0]
    want = sum(integrate.quad(miss, a, b)[0] for a, b in pairwise(edges))
    assert got == pytest.approx(want, rel=1e-9)
    kept = points.miss <= largest + 1e-12
    assert step_area(points.bandwidth[kept], points.miss[kept]) == pytest.approx(want)


@pytest.mark.slow
@pytest.mark.parametrize("skewed", [False, True])
def test_optimal_scale_minimises_the_interval_score_of_the_stretched_intervals(skewed):
    c = drawn(6, (60, 200, 33), skewed=skewed)
    scales = characteristics.scale_optimal(c)

    for i, k in enumerate(scales):
        one = c.take(np.array([i]))

        def score(k, one=one):
            low, high = (one.value + k * (end - one.value) for end in (one.lower, one.upper))
            return proper_scores.interval(pairs(one.value, one.reference, None, low, high)).mean()

        dense = [score(d) for d in np.linspace(0.01, 4.0, 2000)]
        assert score(k) <= min(dense) + 1e-12


@pytest.mark.parametrize("weight", [0.0, 0.02, 0.3, 0.7, 0.99])
def test_costs_with_the_users_weight_are_those_of_a_search(weight):
    """C(k) = c half-width + (1 - c) distance missed by, pair by pair, over a fine grid of k."""
    c = drawn(6, (60, 200, 33), skewed=True)
    got = characteristics.costs_with(weight, c)

    for i, best in enumerate(got.scale_optimal):
        one = c.take(np.array([i]))

        def cost(k, one=one):
            low, high = (one.value + k * (end - one.value) for end in (one.lower, one.upper))
            missed = np.maximum(np.maximum(low - one.reference, one.reference - high), 0.0)
            return weight * np.mean(high - low) / 2 + (1.0 - weight) * missed.mean()

        assert got.cost[i] == pytest.approx(cost(1.0), rel=1e-9)
        assert got.cost_optimal[i] == pytest.approx(cost(best), rel=1e-9, abs=1e-12)
        assert got.cost_optimal[i] <= min(map(cost, np.linspace(0.0, 8.0, 4000))) + 1e-12


def test_cost_is_the_interval_score_times_its_factor():
    """C Remark 3 with the weight corrected to alpha/(1 + alpha): inside, outside, at any level."""
    for p in (0.5, 0.9, 0.99):
        c = drawn(7, (80,))
        c = pairs(c.value, c.reference, c.u, p=p)
        alpha = 1.0 - p

        ratio = proper_scores.interval(c).mean() / characteristics.cost(c)[0]

        assert ratio == pytest.approx(2.0 * (1.0 + alpha) / alpha, rel=1e-9)


def test_excess_and_deficit_at_equal_weights_are_half_the_distance_to_the_band():
    """C Remark 2: C = mean ||d| - k z| / 2 for symmetric bands and c = 1/2."""
    c = drawn(8, (70,))
    half, distance = c.width / 2.0, np.abs(c.error)

    got = 0.5 * characteristics.excess(c)[0] + 0.5 * characteristics.deficit(c)[0]

    assert got == pytest.approx(0.5 * np.mean(np.abs(distance - half)), rel=1e-12)


def test_scale_for_the_level_is_the_split_conformal_rank():
    errors = np.arange(1.0, 21.0)
    c = pairs(errors, 0.0, None, errors - 1.0, errors + 1.0, p=0.9)

    assert characteristics.scale_for_level(c)[0] == 19.0
    nine = c.take(np.array([0]))
    assert characteristics.scale_for_level(nine)[0] == 19.0
    few, enough = (pairs(errors[:n], 0.0, 1.0) for n in (8, 9))
    assert np.isnan(characteristics.scale_for_level(few)[0])
    assert characteristics.scale_for_level(enough)[0] == pytest.approx(9.0 / 1.6448536269514722)


def test_scale_for_the_level_holds_that_share_of_new_references():
    past, new = drawn(9, (50,) * 400), drawn(10, (50,) * 400)

    k = characteristics.scale_for_level(past)

    held = np.abs(new.error) <= np.repeat(k, 50) * new.width / 2.0
    assert held.mean() == pytest.approx(46 / 51, abs=0.01)


# Edges: defined results or a stated absence.

EVERY = (
    "auucc", "auucc_constant", "auucc_gain", "scale_optimal", "cost", "cost_optimal",
    "bandwidth", "excess", "deficit",
)  # fmt: skip


@pytest.mark.parametrize(
    "c",
    [
        pairs([1.0], [1.5], 1.0),
        pairs([1.0, 2.0], [1.5, 1.8], [1.0, 0.3]),
        pairs([1.0] * 30, 1.5, 1.0),
        pairs(np.linspace(-0.1, 0.1, 30), 0.001, 1.0),
        pairs(np.linspace(5.0, 9.0, 30), 0.0, 1.0),
    ],
    ids=["one", "two", "all equal", "all inside", "all outside"],
)
def test_small_and_plain_series_have_every_figure(c):
    for name in EVERY:
        assert np.isfinite(getattr(characteristics, name)(c)[0]), name


def test_partial_gain_is_absent_where_a_constant_band_leaves_no_area():
    assert np.isnan(characteristics.auucc_partial_gain(pairs([1.0], [1.5], 1.0))[0])
    assert np.isnan(characteristics.auucc_partial_gain(pairs([1.0] * 30, 1.5, 1.0))[0])
    assert np.isfinite(characteristics.auucc_partial_gain(pairs([1.0, 2.0, 3.0], 0.0, 1.0))[0])


def test_series_without_any_error_has_no_gain_and_needs_no_uncertainty():
    c = pairs([1.0, 2.0, 3.0], [1.0, 2.0, 3.0], 0.5)

    assert np.isnan(characteristics.auucc_gain(c)[0])
    assert characteristics.scale_optimal(c)[0] == 0.0
    assert characteristics.auucc(c)[0] == 0.0


def test_pairs_whose_value_lies_outside_its_interval_are_left_out_of_the_curve_and_counted():
    odd = pairs([0.0, 0.0, 5.0], [0.5, -0.2, 0.0], None, -1.0, 1.0)
    plain = pairs([0.0, 0.0], [0.5, -0.2], None, -1.0, 1.0)

    assert characteristics.banded_count(odd)[0] == 2.0
    for name in ("auucc", "auucc_constant", "auucc_partial_gain", "scale_optimal", "cost"):
        figure = getattr(characteristics, name)
        assert figure(odd)[0] == pytest.approx(figure(plain)[0], abs=1e-15)


def test_series_with_no_band_at_all_has_no_curve():
    c = pairs([5.0, 6.0], 0.0, None, -1.0, 1.0)

    for name in ("auucc", "auucc_gain", "auucc_partial_gain", "scale_optimal", "cost"):
        assert np.isnan(getattr(characteristics, name)(c)[0]), name


def test_zero_band_has_infinite_scale_for_an_error_and_none_without():
    c = pairs([0.0, 0.0, 0.0], [0.5, 0.0, 0.5], None, [-1.0, -1.0, -1.0], [0.0, 0.0, 1.0])

    np.testing.assert_array_equal(characteristics.bands(c).scale, [np.inf, 0.0, 0.5])


def test_band_near_zero_is_widened():
    c = pairs([0.0] * 3, 0.5, None, -1.0, [1e-9, 1.0, 1.0])
    mean = np.mean(c.width) / 2.0

    assert characteristics.bands(c).scale[0] == pytest.approx(0.5 / (1e-6 * mean))


# What is read off two curves.


@pytest.mark.parametrize("true", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("u_ref", [0.33, 1.0])
@pytest.mark.parametrize("spread", [0.0, 0.7])
def test_scales_are_those_of_the_sensor_whatever_its_reference_adds(true, u_ref, spread):
    random = np.random.default_rng(5)
    u = np.exp(spread * random.normal(size=40_000))
    half = 1.6448536269514722 * u
    error = true * u * random.normal(size=u.size) - u_ref * random.normal(size=u.size)
    c = pairs(error, 0.0 * error, None, error - half, error + half, p=0.9, u_ref=u_ref)

    assert characteristics.scale_optimal(c)[0] == pytest.approx(true, rel=0.04)
    assert characteristics.scale_for_level(c)[0] == pytest.approx(true, rel=0.04)
    assert characteristics.cost_optimal(c)[0] <= characteristics.cost(c)[0]


@pytest.mark.parametrize("u_ref", [0.33, 0.6, 1.0])
def test_an_uncertain_reference_does_not_turn_an_informative_uncertainty_into_a_misleading_one(
    u_ref,
):
    random = np.random.default_rng(6)
    u = np.exp(0.7 * random.normal(size=20_000))
    error = u * random.normal(size=u.size) - u_ref * random.normal(size=u.size)

    def information(stated):
        half = 1.6448536269514722 * stated
        c = pairs(error, 0.0 * error, None, error - half, error + half, p=0.9, u_ref=u_ref)
        return characteristics.auucc_partial_gain(c)[0]

    assert information(u) > 0.08
    assert information(np.ones(u.size)) == pytest.approx(0.0, abs=1e-9)
    assert information(random.permutation(u)) < -0.08


def test_a_constant_uncertainty_tells_nothing_apart_to_the_last_digit():
    for seed in range(200):
        random = np.random.default_rng(seed)
        value = 50.0 + 0.3 * random.standard_normal(97)
        gain = characteristics.auucc_partial_gain(pairs(value, 50.0, 0.3))[0]
        assert gain == 0.0
        assert f"{gain:.4g}" == "0"


def test_miss_rate_is_that_of_the_curve_of_the_area_at_scale_one():
    """Of the same errors as AUUCC: an honest sensor misses as stated whatever its reference."""
    honest = drawn(11, (20_000,), u_ref=0.8)
    c = drawn(12, (300,), u_ref=0.5, skewed=True)
    c = pairs(c.value + 0.5 * c.u, c.reference, None, c.lower, c.upper, u_ref=0.5)
    banded = np.flatnonzero((c.lower <= c.value) & (c.value <= c.upper))
    part = c.select(banded, np.array([0]))
    points = curves.curve(part.value - part.lower, part.upper - part.value, part.own_error)

    assert calibration.miss_rate(honest)[0] == pytest.approx(0.1, abs=0.01)
    assert np.mean(~honest.inside) > 0.15
    at = points.miss[np.flatnonzero(points.scale <= 1.0)[-1]]
    assert 0.0 < at < 1.0
    assert calibration.miss_rate(part)[0] == pytest.approx(at, abs=1e-12)
    exact = pairs(c.value, c.reference, None, c.lower, c.upper)
    assert calibration.miss_rate(exact)[0] == np.mean(~exact.inside)
