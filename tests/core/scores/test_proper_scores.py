"""Each score against an independent program, its own integral, and the claim it is judged by."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
import scoringrules
from harness.examples import examples
from harness.series import drawn, pairs
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate
from scipy.stats import norm as normal
from scipy.stats import triang

from monitor.core.scores import proper_scores
from monitor.core.scores.proper_scores import SCORES

RANDOM = [drawn(seed, (500,), skewed=bool(seed % 2)) for seed in range(4)]


@pytest.mark.parametrize("c", RANDOM)
def test_crps_of_the_normal_equals_scoringrules(c):
    theirs = scoringrules.crps_normal(c.reference, c.value, c.u)

    np.testing.assert_allclose(proper_scores.crps_normal(c), theirs, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("c", RANDOM)
def test_crps_of_the_top_hat_equals_scoringrules(c):
    theirs = scoringrules.crps_uniform(c.reference, c.lower, c.upper)

    np.testing.assert_allclose(proper_scores.crps_tophat(c), theirs, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("c", RANDOM)
def test_interval_score_equals_scoringrules(c):
    theirs = scoringrules.interval_score(c.reference, c.lower, c.upper, float(c.alpha[0]))

    np.testing.assert_allclose(proper_scores.interval(c), theirs, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("c", RANDOM)
def test_norm_score_is_half_the_dawid_sebastiani_score(c):
    dawid_sebastiani = ((c.reference - c.value) / c.u) ** 2 + 2.0 * np.log(c.u)

    np.testing.assert_allclose(
        proper_scores.norm(c), 0.5 * dawid_sebastiani, rtol=1e-12, atol=1e-12
    )


@pytest.mark.parametrize("c", RANDOM)
def test_log_score_of_the_normal_equals_scoringrules(c):
    theirs = scoringrules.logs_normal(c.reference, c.value, c.u)

    np.testing.assert_allclose(proper_scores.log_normal(c), theirs, rtol=1e-12, atol=1e-12)


def integral(function, low, high, *edges):
    """Integrate piece by piece, so that jumps lie on the ends of pieces."""
    cuts = [low, *sorted(e for e in edges if low < e < high), high]
    parts = (integrate.quad(function, a, b, epsabs=1e-13)[0] for a, b in pairwise(cuts))
    return sum(parts)


@pytest.mark.parametrize("z", [-3.0, -0.4, 0.0, 1.5])
def test_crps_of_the_normal_equals_its_integral(z):
    c = pairs([z * 0.7], [0.0], 0.7)
    claim = normal(z * 0.7, 0.7)

    got = integral(lambda x: (claim.cdf(x) - (x >= 0.0)) ** 2, -12.0, 12.0, 0.0, z * 0.7)

    assert proper_scores.crps_normal(c)[0] == pytest.approx(got, abs=1e-10)


@pytest.mark.parametrize("z", [-3.0, -0.4, 0.0, 1.5])
def test_quadratic_score_of_the_normal_equals_its_integral(z):
    c = pairs([z * 0.7], [0.0], 0.7)
    claim = normal(z * 0.7, 0.7)

    got = integral(lambda x: claim.pdf(x) ** 2, -12.0, 12.0, z * 0.7) - 2.0 * claim.pdf(0.0)

    assert proper_scores.quadratic_normal(c)[0] == pytest.approx(got, abs=1e-10)


@pytest.mark.parametrize("reference", [-2.0, 0.0, 0.3, 1.0, 5.0])
def test_crps_of_the_top_hat_equals_its_integral(reference):
    c = pairs([0.5], [reference], None, 0.0, 2.0)

    got = integral(
        lambda x: (np.clip(x / 2.0, 0.0, 1.0) - (x >= reference)) ** 2,
        -9.0,
        9.0,
        0.0,
        2.0,
        reference,
    )

    assert proper_scores.crps_tophat(c)[0] == pytest.approx(got, abs=1e-12)


@pytest.mark.parametrize(("reference", "held"), [(-0.1, 0), (0.0, 1), (0.3, 1), (2.0, 1), (2.1, 0)])
def test_quadratic_score_of_the_top_hat_equals_its_integral_with_closed_ends(reference, held):
    c = pairs([0.5], [reference], None, 0.0, 2.0)

    got = integral(lambda _: 0.25, 0.0, 2.0) - 2.0 * 0.5 * held

    assert proper_scores.quadratic_tophat(c)[0] == pytest.approx(got, abs=1e-12)


# Expected scores: the mean under what the sensor claims and the reference's own uncertainty.

CASES = [(u, u_ref) for u in (0.3, 2.0) for u_ref in (0.0, 0.2, 1.0, 7.0)]


def under_normal(score, u, u_ref, *, p=0.9):
    """Integrate a score over references that are N(value, u_eff)."""
    spread = math.hypot(u, u_ref)
    half = normal.ppf(0.5 + 0.5 * p) * u

    def density_times_score(x):
        c = pairs([0.0], [x], u, p=p)
        return score.rows(c)[0] * normal.pdf(x, 0.0, spread)

    return integral(density_times_score, -12.0 * spread, 12.0 * spread, -half, half)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["crps", "quadratic", "norm", "log", "interval", "quadratic_tophat"]
)
@pytest.mark.parametrize(("u", "u_ref"), CASES)
def test_expected_score_equals_the_mean_over_the_claim_and_the_reference(name, u, u_ref):
    c = pairs([0.0], [0.1], u, u_ref=u_ref)

    got = under_normal(SCORES[name], u, u_ref)

    assert SCORES[name].expected(c)[0] == pytest.approx(got, rel=1e-8, abs=1e-10)


@pytest.mark.parametrize("u_ref", [0.001, 0.05, 1.0, 30.0, 400.0])
def test_expected_crps_of_the_top_hat_takes_the_truth_as_uniform_and_the_reference_as_noisy(u_ref):
    width = 3.0
    c = pairs([1.0], [1.0], None, 0.0, width, u_ref=u_ref)
    triangle = triang(0.5, -width, 2.0 * width)

    def distance(d):
        z = d / u_ref
        return triangle.pdf(d) * (d * (2.0 * normal.cdf(z) - 1.0) + 2.0 * u_ref * normal.pdf(z))

    got = 2.0 * integral(distance, 0.0, width, *(u_ref * k for k in (1, 3, 8))) - width / 6.0

    assert proper_scores.crps_tophat_expected(c)[0] == pytest.approx(got, rel=1e-7)


def test_expected_scores_for_an_exact_reference_are_the_closed_forms_of_the_design():
    c = pairs([1.0], [1.0], 2.0)
    w = c.width[0]

    assert proper_scores.crps_normal_expected(c)[0] == pytest.approx(
        2.0 / math.sqrt(math.pi), rel=1e-14
    )
    assert proper_scores.quadratic_normal_expected(c)[0] == pytest.approx(
        -0.25 / math.sqrt(math.pi)
    )
    assert proper_scores.crps_tophat_expected(c)[0] == pytest.approx(w / 6.0)
    assert proper_scores.quadratic_tophat_expected(c)[0] == pytest.approx(-0.8 / w)


# Propriety: no other claim scores better on average than the true one.


@pytest.mark.parametrize("name", ["crps", "quadratic", "norm", "log"])
def test_the_true_spread_scores_best_on_average(name):
    spreads = np.linspace(0.5, 2.0, 61)

    means = [mean_under_unit_normal(SCORES[name], 0.0, s) for s in spreads]

    assert spreads[int(np.argmin(means))] == pytest.approx(1.0)


@pytest.mark.parametrize("name", ["crps", "quadratic", "norm", "log", "interval"])
def test_the_true_value_scores_best_on_average(name):
    offsets = np.linspace(-1.0, 1.0, 21)

    means = [mean_under_unit_normal(SCORES[name], o, 1.0) for o in offsets]

    assert offsets[int(np.argmin(means))] == pytest.approx(0.0, abs=1e-12)


@pytest.mark.slow
def test_only_the_interval_score_is_best_at_the_stated_level_and_the_top_hat_ones_near_88_percent():
    def best_coverage(name):
        factors = np.linspace(1.4, 1.9, 501)
        means = [mean_under_unit_normal(SCORES[name], 0.0, k / 1.6448536269514722) for k in factors]
        return 2.0 * normal.cdf(factors[int(np.argmin(means))]) - 1.0

    assert best_coverage("interval") == pytest.approx(0.9, abs=0.001)
    assert best_coverage("crps_tophat") == pytest.approx(0.878, abs=0.001)
    assert best_coverage("quadratic_tophat") == pytest.approx(0.876, abs=0.001)


GRID = np.linspace(-9.0, 9.0, 20_001)


def mean_under_unit_normal(score, offset, spread):
    """Return the mean score of the claim N(offset, spread) for references from N(0, 1)."""
    rows = score.rows(pairs(np.full(GRID.size, offset), GRID, spread))
    weights = normal.pdf(GRID)
    return float(np.sum(rows * weights) / np.sum(weights))


# Limits and traps.


def test_limits_of_the_width_are_those_of_the_paper():
    narrow, wide = (pairs([80.0], [100.0], None, 80.0 - h, 80.0 + h) for h in (1e-9, 1e12))

    assert proper_scores.crps_tophat(narrow)[0] == pytest.approx(20.0)
    assert proper_scores.interval(narrow)[0] == pytest.approx(400.0)
    assert proper_scores.quadratic_tophat(narrow)[0] > 1e8
    assert proper_scores.norm(narrow)[0] > 1e18
    assert proper_scores.crps_tophat(wide)[0] > 1e10
    assert proper_scores.interval(wide)[0] > 1e11
    assert proper_scores.norm(wide)[0] > 10.0
    assert -1e-11 < proper_scores.quadratic_tophat(wide)[0] < 0.0


def test_log_score_of_the_top_hat_is_the_log_of_the_width_inside_and_infinite_outside():
    c = pairs([0.0, 0.0], [0.5, 5.0], None, -2.0, 2.0)

    np.testing.assert_array_equal(proper_scores.log_tophat(c), [math.log(4.0), math.inf])


@examples(200)
@given(
    value=st.floats(-1e15, 1e15),
    reference=st.floats(-1e15, 1e15),
    u=st.floats(1e-12, 1e15),
    u_ref=st.just(0.0) | st.floats(1e-12, 1e15),
)
def test_scores_of_any_numbers_in_range_are_finite_and_silent(value, reference, u, u_ref):
    c = pairs([value], [reference], u, u_ref=u_ref)
    hat = pairs([0.0], [reference], None, -u, u, u_ref=u_ref)

    for name, score in SCORES.items():
        chosen = hat if score.density == "tophat" else c
        assert np.isfinite(score.rows(chosen)[0]) or name == "log_tophat"
        assert score.expected is None or np.isfinite(score.expected(chosen)[0])
