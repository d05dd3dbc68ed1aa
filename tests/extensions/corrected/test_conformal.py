"""Intervals that hold their level: against a plain oracle, an identity and hostile errors."""

import math

import numpy as np
import pytest

from monitor.extensions.corrected.corrected import FACTOR_STEP, first_log_factors, track_factors

LEVEL = 0.9
NORMAL_90 = 1.6448536269514722  # tables of the normal


def _ratios(kind: str, n: int = 6000) -> np.ndarray:
    rng = np.random.default_rng(21)
    normal = rng.standard_normal(n)
    if kind == "drift":
        return np.abs(normal + np.linspace(0.0, 6.0, n))
    if kind == "jump":
        return np.abs(normal + 5.0 * (np.arange(n) > n // 2))
    if kind == "t4":
        return np.abs(rng.standard_t(4, n))
    if kind == "understated":
        return np.abs(3.0 * normal)
    for k in range(1, n):  # AR(.7) of variance 1
        normal[k] = 0.7 * normal[k - 1] + math.sqrt(1.0 - 0.49) * normal[k]
    return np.abs(normal)


def test_factors_follow_the_rule_written_plainly():
    ratios = _ratios("t4", 500)
    found = track_factors(first_log_factors(1, LEVEL), ratios[None], LEVEL)

    factor, misses = NORMAL_90, 0
    for k, ratio in enumerate(ratios):
        assert math.exp(found.before[0, k]) == pytest.approx(factor, rel=1e-9)
        miss = ratio > factor
        misses += miss
        factor *= math.exp(0.1 * ((1.0 if miss else 0.0) - 0.1))
    assert math.exp(found.after[0]) == pytest.approx(factor, rel=1e-9)
    assert misses > 20


@pytest.mark.parametrize("kind", ["drift", "jump", "ar", "t4", "understated"])
def test_coverage_stays_within_2_percent_over_every_1000_pairs(kind):
    ratios = _ratios(kind)
    found = track_factors(first_log_factors(1, LEVEL), ratios[None], LEVEL)
    covered = np.concatenate([[0], np.cumsum(ratios <= np.exp(found.before[0]))])
    shares = (covered[1000:] - covered[:-1000]) / 1000
    assert shares.min() >= 0.88
    assert shares.max() <= 0.92


def test_misses_of_any_run_are_told_by_the_factors_at_its_ends():
    ratios = _ratios("jump")
    found = track_factors(first_log_factors(1, LEVEL), ratios[None], LEVEL)
    logs, miss = found.before[0], ratios > np.exp(found.before[0])
    for first, last in ((0, 10), (2900, 3100), (17, 5999)):
        moved = (logs[last] - logs[first]) / (FACTOR_STEP * (last - first))
        assert miss[first:last].mean() == pytest.approx(1.0 - LEVEL + moved, abs=1e-9)


def test_pieces_and_neighbours_change_no_bit():
    ratios = np.stack([_ratios("t4", 400), _ratios("jump", 400)])
    whole = track_factors(first_log_factors(2, LEVEL), ratios, LEVEL)
    now = first_log_factors(1, LEVEL)
    for part in np.split(ratios[1:], [1, 8, 200], axis=1):
        now = track_factors(now, part, LEVEL).after
    assert now[0] == whole.after[1]


def test_a_pair_that_is_not_there_moves_nothing():
    start = first_log_factors(1, LEVEL)
    found = track_factors(start, np.array([[np.nan, np.nan]]), LEVEL)
    assert found.after[0] == start[0]
    assert np.isnan(found.before).all()


def test_errors_without_end_leave_a_finite_factor():
    for ratio in (np.inf, 0.0):
        found = track_factors(first_log_factors(1, LEVEL), np.full((1, 3000), ratio), LEVEL)
        assert np.isfinite(np.exp(found.after)).all()


@pytest.mark.parametrize("level", [0.0, 1.0, -0.1, float("nan")])
def test_a_level_that_is_none_is_refused(level):
    with pytest.raises(ValueError, match="between 0 and 1"):
        first_log_factors(1, level)
    with pytest.raises(ValueError, match="between 0 and 1"):
        track_factors(np.zeros(1), np.ones((1, 1)), level)
