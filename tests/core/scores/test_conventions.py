"""En, the bands of ISO 13528 and Westgard's rules, against their words written out."""

from __future__ import annotations

import numpy as np
import pytest

from monitor.core.columns import columns
from monitor.core.scores import conventions
from monitor.core.scores.conventions import (
    WESTGARD,
    en,
    performance_bands,
    violations,
)
from monitor.core.scores.statistics import STATISTICS, threshold_statistics


def series(*z, u=2.0, u_ref=1.5):
    flat = np.concatenate([np.asarray(each, float) for each in z])
    blank = np.full(flat.size, np.nan)
    return columns(
        np.cumsum([0, *(len(each) for each in z)])[:-1],
        time=np.arange(float(flat.size)),
        value=100.0 + np.hypot(u, u_ref) * flat,
        reference=np.full(flat.size, 100.0),
        u=np.full(flat.size, u),
        u_ref=np.full(flat.size, u_ref),
        lower=blank,
        upper=blank,
        p=blank,
        level=0.9,
    )


def test_en_is_the_error_over_the_expanded_uncertainties():
    c = series([1.0, -2.5])
    expanded = np.sqrt((2 * 2.0) ** 2 + (2 * 1.5) ** 2)

    assert en(c) == pytest.approx((c.value - c.reference) / expanded)


def test_the_bands_begin_at_two_and_three():
    warning, action = performance_bands(series([1.9, -2.1, 2.9, 3.1, -9.0]))

    assert warning.tolist() == [False, True, True, False, False]
    assert action.tolist() == [False, False, False, True, True]


EXAMPLES = {
    "1_2s": ([0, 2.1, -2.1, 1.9], [1, 2]),
    "1_3s": ([0, 3.1, -3.1, 2.9], [1, 2]),
    "2_2s": ([2.1, -2.1, -2.2, -2.3, 0, 2.5, 2.5], [2, 3, 6]),
    "R_4s": ([2.1, -2.1, 2.1, 2.1, -1.9], [1, 2]),
    "4_1s": ([1.1, 1.2, 1.1, 0.9, 1.1, 1.2, 1.1, 1.5, 1.1], [7, 8]),
    "10_x": ([-0.1] * 3 + [0.1] * 11, [12, 13]),
}


@pytest.mark.parametrize("rule", WESTGARD)
def test_a_rule_is_violated_at_the_last_of_the_pairs_it_names(rule):
    z, found = EXAMPLES[rule]

    assert np.flatnonzero(violations(series(z), rule)).tolist() == found
    assert np.flatnonzero(violations(series(np.negative(z)), rule)).tolist() == found


@pytest.mark.parametrize("rule", WESTGARD)
def test_a_series_is_not_judged_by_the_pairs_of_another(rule):
    z = np.random.default_rng(3).normal(0, 2, 60)
    parts = (z[:7], z[7:8], z[8:40], z[40:])

    together = violations(series(*parts), rule)

    assert (
        together.tolist()
        == np.concatenate([violations(series(each), rule) for each in parts]).tolist()
    )


@pytest.mark.parametrize("name", threshold_statistics())
def test_what_a_threshold_may_look_at_is_one_number_a_series(name):
    c = series([0.1, 0.2], [3.5], [2.5] * 12)

    assert threshold_statistics()[name].function(c).shape == (3,)


def test_the_last_pair_decides_and_shares_are_of_the_window():
    c = series([3.5, 0.0], [0.0, 3.5])

    assert STATISTICS["convention_en_last"].function(c) == pytest.approx([0.0, 1.75])
    assert STATISTICS["convention_en_ratio"].function(c).tolist() == [0.5, 0.5]
    assert STATISTICS["convention_westgard_1_3s"].function(c).tolist() == [0.0, 1.0]


def test_honest_normal_errors_fail_en_as_often_as_is_said():
    z = np.random.default_rng(1).standard_normal(200_000)

    share = STATISTICS["convention_en_ratio"].function(series(z))[0]

    assert share == pytest.approx(conventions.EN_EXPECTED, abs=0.0015)
