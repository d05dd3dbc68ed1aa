"""Curves of scores against a scale."""

from __future__ import annotations

import numpy as np
import pytest
from harness.examples import examples
from harness.series import drawn
from hypothesis import given
from hypothesis import strategies as st

from monitor.core.scores import curves
from monitor.core.scores.curves import Curve
from tests.core.scores.test_characteristics import step_area

SMALL = st.integers(-4, 4).map(lambda i: i / 2.0)


BAND = st.integers(0, 4).map(lambda i: i / 4.0)


ROWS = st.lists(st.tuples(BAND, BAND, SMALL), min_size=1, max_size=25)


def by_definition(below, above, error, at):
    """Return the curve's four figures at each scale, every pair looked at for every scale."""
    points = []
    for k in at:
        low, high = -k * below, k * above  # around the value; the reference lies at -error
        hit = (low <= -error + 1e-12) & (-error <= high + 1e-12)
        near = np.minimum(-error - low, high + error)
        far = np.maximum(np.maximum(low + error, -error - high), 0.0)
        points.append(
            (k * np.mean(below + above) / 2.0, 1.0 - hit.mean(),
             np.mean(np.where(hit, near, 0.0)), np.mean(np.where(hit, 0.0, far)))
        )  # fmt: skip
    return np.array(points).T


@examples(300)
@given(ROWS)
def test_curve_equals_its_definition_with_ties_zero_bands_and_asymmetric_bands(rows):
    below, above, error = np.array(rows).T

    got = curves.curve(below, above, error)

    want = by_definition(below, above, error, got.scale)
    np.testing.assert_allclose(np.stack(got[1:]), want, atol=1e-12)
    assert got.scale[0] == 0.0
    assert np.all(np.diff(got.scale) > 0.0)


@examples(100)
@given(ROWS, st.floats(0.05, 0.95))
def test_least_cost_lies_at_a_point_of_the_curve(rows, weight):
    below, above, error = np.array(rows).T
    points = curves.curve(below, above, error)
    dense = np.linspace(0.0, 1.1 * points.scale[-1] + 1.0, 400)
    band, miss, excess, deficit = by_definition(below, above, error, dense)

    for x, y, xs, ys in (
        (points.bandwidth, points.miss, band, miss),
        (points.excess, points.deficit, excess, deficit),
        (points.bandwidth, points.deficit, band, deficit),
    ):
        best, least = curves.optimum(x, y, weight)
        assert least <= np.min(weight * xs + (1.0 - weight) * ys) + 1e-12
        assert least == pytest.approx(weight * x[best] + (1.0 - weight) * y[best])


def test_crossover_is_where_the_narrower_curve_changes():
    """The first needs less width for many misses, the second for few."""
    one = Curve(
        *np.array([[0, 1, 9], [0, 1, 9], [1.0, 0.5, 0.0], [0, 0, 0], [0, 0, 0]], dtype=float)
    )
    two = Curve(
        *np.array([[0, 2, 3], [0, 2, 3], [1.0, 0.5, 0.0], [0, 0, 0], [0, 0, 0]], dtype=float)
    )

    np.testing.assert_array_equal(curves.crossovers(one, two), [0.0])
    assert curves.crossovers(one, one).size == 0


@given(ROWS, st.floats(0.0, 1.0))
def test_bandwidth_at_a_miss_rate_is_the_least_that_keeps_it(rows, miss):
    below, above, error = np.array(rows).T
    points = curves.curve(below, above, error)

    got = curves.bandwidth_at(points, np.array([miss]))[0]

    fitting = points.bandwidth[points.miss <= miss + 1e-12]
    assert got == (fitting.min() if fitting.size else np.inf)


def paired_bands(random, n, informative):
    u = np.exp(random.normal(0.0, 0.7, n))
    distance = np.abs(u * random.normal(size=n))
    other = u if informative else random.permutation(u)
    return (u, distance / u), (other, distance / other)


def test_permutation_test_finds_the_worse_uncertainty_and_keeps_its_size():
    random = np.random.default_rng(1)
    one, other = paired_bands(random, 300, informative=False)

    difference, p = curves.permutation_test(one, other, replicates=999, seed=1)

    assert difference < 0.0
    assert p < 0.01
    sizes = []
    for seed in range(200):
        u = np.exp(random.normal(0.0, 0.4, (2, 60)))
        distance = np.abs(random.normal(size=60))
        pair = [(v, distance / v) for v in u]
        sizes.append(curves.permutation_test(pair[0], pair[1], replicates=99, seed=seed)[1])
    assert np.mean(np.array(sizes) <= 0.1) == pytest.approx(0.1, abs=0.07)


def test_addend_mends_a_floor_that_no_factor_can():
    random = np.random.default_rng(2)
    u = np.exp(random.normal(-2.0, 1.0, 2000))
    error = u * random.normal(size=2000) + random.uniform(-1.0, 1.0, 2000)
    half = 1.6448536269514722 * u

    b = curves.additive_for_level(half, half, error, 0.1)

    assert np.mean(np.abs(error) <= half + b) == pytest.approx(0.9, abs=0.001)
    assert np.isnan(curves.additive_for_level(half[:8], half[:8], error[:8], 0.1))


def test_normalised_curve_is_in_units_of_the_references_spread_and_thinned_keeps_the_ends():
    c = drawn(3, (500,))
    points = curves.curve(c.value - c.lower, c.upper - c.value, c.error)

    scaled, few = curves.normalised(points, 2.0), curves.thinned(points, 64)

    np.testing.assert_array_equal(scaled.deficit, points.deficit / 2.0)
    np.testing.assert_array_equal(scaled.miss, points.miss)
    assert few.scale.size == 64
    assert (few.scale[0], few.scale[-1]) == (points.scale[0], points.scale[-1])


def test_curve_of_a_constant_band_is_the_error_tolerance_curve():
    """C's relation to the REC curve: the share within a tolerance, the area over it the MAE."""
    error = np.random.default_rng(4).normal(size=300)
    ones = np.ones(300)

    points = curves.curve(ones, ones, error)

    within = np.mean(np.abs(error) <= points.bandwidth[:, None] * (1.0 + 1e-12), axis=1)
    np.testing.assert_allclose(1.0 - points.miss, within, atol=1e-12)
    area = step_area(points.bandwidth, points.miss)
    assert area == pytest.approx(np.mean(np.abs(error)), rel=1e-12)
