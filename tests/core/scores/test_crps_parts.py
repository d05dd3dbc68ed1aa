"""The mean CRPS in parts: Hersbach's own formula, the sum, and what each part answers to."""

from __future__ import annotations

import numpy as np
import pytest
from harness.series import drawn, pairs
from scipy import stats

from monitor.core.scores.statistics import compute

PARTS = ("crps", "crps_reliability", "crps_resolution", "crps_uncertainty")


def hersbach(members, y):
    """Return reliability, resolution and uncertainty by eq. 26 to 39, pair by pair, bin by bin."""
    n, m = members.shape
    alpha, beta = np.zeros((2, n, m + 1))
    for j in range(n):
        x = np.sort(members[j])
        alpha[j, 1:m] = np.clip(y[j] - x[:-1], 0.0, np.diff(x))
        beta[j, 1:m] = np.clip(x[1:] - y[j], 0.0, np.diff(x))
        beta[j, 0], alpha[j, m] = max(x[0] - y[j], 0.0), max(y[j] - x[-1], 0.0)
    below, p = beta.mean(axis=0), np.arange(m + 1) / m
    share = np.divide(below, alpha.mean(axis=0) + below, out=np.zeros(m + 1), where=below > 0.0)
    width = alpha.mean(axis=0) + below
    # Beyond the outermost members: how often, and how far there on average.
    share[0], share[m] = np.mean(y < members.min(axis=1)), np.mean(y < members.max(axis=1))
    width[0] = below[0] / share[0] if share[0] else 0.0
    width[m] = alpha.mean(axis=0)[m] / (1.0 - share[m]) if share[m] < 1.0 else 0.0
    reliability = np.sum(width * (share - p) ** 2)
    potential = np.sum(width * share * (1.0 - share))
    uncertainty = 0.5 * np.mean(np.abs(y[:, None] - y[None, :]))
    return reliability, uncertainty - potential, uncertainty


@pytest.mark.parametrize("wrong", ["honest", "offset", "understated"])
def test_parts_are_those_of_hersbachs_formula_for_a_large_ensemble(wrong):
    """An ensemble of 4000 at the quantiles of what is stated."""
    c = drawn(6, (150,))
    value = c.value + (0.7 * c.u if wrong == "offset" else 0.0)
    c = pairs(value, c.reference, 0.5 * c.u if wrong == "understated" else c.u)
    level = (np.arange(4000) + 0.5) / 4000

    got = compute(c, [*PARTS, "crps_tophat_resolution", "crps_tophat_reliability"])

    members = c.value[:, None] + c.u[:, None] * stats.norm.ppf(level)
    want = hersbach(members, c.reference)
    close = {"abs": 2e-3 * got["crps"][0]}
    assert [got[name][0] for name in PARTS[1:]] == pytest.approx(want, **close)


@pytest.mark.parametrize("density", ["crps", "crps_tophat"])
def test_reliability_less_resolution_plus_uncertainty_is_the_mean_crps(density):
    c = drawn(7, (60, 1, 200, 33), u_ref=0.3, skewed=True)

    got = compute(c, [*PARTS, density, f"{density}_reliability", f"{density}_resolution"])

    total = got[f"{density}_reliability"] - got[f"{density}_resolution"] + got["crps_uncertainty"]
    np.testing.assert_allclose(total, got[density], rtol=1e-12)


def test_honest_uncertainty_has_no_reliability_to_gain_and_an_offset_costs_nothing_else():
    random = np.random.default_rng(3)
    reference = random.normal(100.0, 10.0, 20_000)
    value = reference + random.normal(size=20_000)
    honest, off = pairs(value, reference, 1.0), pairs(value + 0.5, reference, 1.0)

    right, wrong = compute(honest, PARTS), compute(off, PARTS)

    assert right["crps_reliability"][0] < 1e-3 * right["crps"][0]
    # Of climate and claim, both normal: (10 - 1)/sqrt(pi).
    assert right["crps_resolution"][0] == pytest.approx(9.0 / np.sqrt(np.pi), rel=0.02)
    assert wrong["crps_resolution"][0] == pytest.approx(right["crps_resolution"][0], rel=1e-9)
    # Integral of (Phi(z - 0.5) - Phi(z))^2, by the CRPS of two normals.
    apart = stats.norm.pdf(0.5 / np.sqrt(2.0)) * np.sqrt(2.0) * 2.0
    apart += 0.5 * (2.0 * stats.norm.cdf(0.5 / np.sqrt(2.0)) - 1.0) - 2.0 / np.sqrt(np.pi)
    assert wrong["crps_reliability"][0] == pytest.approx(apart, rel=0.1)


def test_top_hats_drawn_from_their_intervals_are_reliable():
    random = np.random.default_rng(4)
    width = random.uniform(1.0, 4.0, 20_000)
    lower = random.normal(0.0, 10.0, 20_000)
    c = pairs(lower + width / 2, random.uniform(lower, lower + width), None, lower, lower + width)

    got = compute(c, ["crps_tophat", "crps_tophat_reliability"])

    assert got["crps_tophat"][0] == pytest.approx(np.mean(width) / 6.0, rel=0.02)
    assert got["crps_tophat_reliability"][0] < 1e-3 * got["crps_tophat"][0]
