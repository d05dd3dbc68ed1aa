"""The normal's tail against the error function of the C library."""

from __future__ import annotations

import math

import numpy as np

from monitor.core.scores.proper_scores import LAST, density, upper_tail


def tail(t):
    return upper_tail(np.asarray(t))


def test_tail_is_that_of_the_error_function():
    t = np.linspace(0.0, 8.0, 10_001)
    want = np.array([0.5 * math.erfc(at / math.sqrt(2.0)) for at in t])

    np.testing.assert_allclose(tail(t), want, rtol=1e-13)


def test_tail_far_out_is_nothing_beside_one_and_never_negative():
    far = tail([9.9, LAST, 12.0, 1e3, 1e15])

    assert np.all((far >= 0.0) & (far < 1e-22))


def test_nothing_lies_above_or_below_a_number_that_is_none():
    with np.errstate(invalid="ignore"):
        assert np.isnan(tail([math.nan])).all()


def test_density_is_the_derivative_of_the_tail():
    t, step = np.linspace(0.1, 5.0, 50), 1e-4

    np.testing.assert_allclose(
        density(t), (tail(t - step) - tail(t + step)) / (2 * step), rtol=1e-6
    )
