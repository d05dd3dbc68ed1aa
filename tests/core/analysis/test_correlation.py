"""Correlations, against scipy."""

from __future__ import annotations

import numpy as np
import pytest
from harness.examples import examples
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from monitor.core.analysis import ranking
from monitor.core.analysis.correlation import correlation


def test_scores_go_together_as_scipy_says(read_table_1):
    for one, other in (("crps", "interval"), ("crps", "brier"), ("interval", "brier")):
        x, y = read_table_1[one], read_table_1[other]

        got = correlation(x, y)

        rank, line = stats.spearmanr(x, y), stats.linregress(x, y)
        assert got.spearman == pytest.approx(rank.statistic, rel=1e-12)
        assert got.p == pytest.approx(rank.pvalue, rel=1e-9)
        assert got.pearson == pytest.approx(line.rvalue, rel=1e-12)
        assert (got.slope, got.intercept) == pytest.approx((line.slope, line.intercept), rel=1e-9)


def test_correlation_needs_three_sensors_and_a_spread():
    for x in ([1.0, 2.0], [1.0, 1.0, 1.0], [0.1, 0.1, 0.1]):
        got = correlation(np.array(x), np.arange(float(len(x))))
        assert np.isnan(got).all()
    assert correlation(np.arange(5.0), -np.arange(5.0)).spearman == pytest.approx(-1.0)


@given(st.lists(st.tuples(st.integers(-3, 3), st.integers(-3, 3)), min_size=3, max_size=12))
@examples(200)
def test_ranks_and_their_correlation_are_those_of_scipy_with_any_ties(numbers):
    x, y = np.array(numbers, dtype=float).T

    np.testing.assert_array_equal(ranking.ranks(x), stats.rankdata(x))
    if np.ptp(x) > 0.0 and np.ptp(y) > 0.0:
        want = stats.spearmanr(x, y)
        got = correlation(x, y)
        assert got.spearman == pytest.approx(want.statistic, abs=1e-12)
        assert got.p == pytest.approx(want.pvalue, rel=1e-6, abs=1e-6)
