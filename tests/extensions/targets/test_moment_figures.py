"""The orthogonal regression, W and the between-unit figures, against other ways to compute them."""

from __future__ import annotations

from math import exp, sqrt

import numpy as np
import pytest
import scipy.optimize

from monitor.extensions.targets.moment_figures import (
    MomentOrigin,
    log_expanded,
    moment_rows,
    orthogonal_line,
    parts_at_limit,
)


def expanded(x, y, limit: float, u_ref: float) -> float:
    """Return W by the product."""
    origin = MomentOrigin(float(np.mean(x)), float(np.mean(y)))
    means = moment_rows(np.asarray(x, float), np.asarray(y, float), origin).mean(axis=0)
    return exp(float(log_expanded(means, len(x), origin, limit, u_ref)[0]))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(("a", "b"), [(2.0, 0.9), (-30.0, 1.6), (400.0, -0.4), (1e5, 1.0)])
def test_the_line_has_the_least_sum_of_squared_perpendicular_distances(seed, a, b):
    random = np.random.default_rng(seed)
    x = random.gamma(3.0, 10.0, 80)
    y = a + b * x + 4.0 * random.standard_normal(80)
    points = np.stack([x - x.mean(), y - y.mean()])

    def spread(angle: float) -> float:
        """Return the sum of squared distances from the line through the centre at an angle."""
        return float(((points[1] * np.cos(angle) - points[0] * np.sin(angle)) ** 2).sum())

    at = np.arctan(b)
    best = scipy.optimize.minimize_scalar(spread, bracket=(at - 0.2, at, at + 0.2), tol=1e-12).x
    (right, up) = np.linalg.svd(points)[0][:, 0]  # the direction in which the points extend

    line = orthogonal_line(x, y)

    assert line.b == pytest.approx(np.tan(best), rel=1e-6)
    assert line.b == pytest.approx(up / right, rel=1e-9)
    assert line.a == pytest.approx(y.mean() - x.mean() * up / right, rel=1e-9, abs=1e-9)


def test_an_example_by_hand():
    # Means 4 and 5; S_xx = 20, S_yy = 20, S_xy = 16, so b = 1 and a = 1.
    # Residuals 2 - 1 - 1 = 0, 6 - 1 - 3 = 2, 4 - 1 - 5 = -2, 8 - 1 - 7 = 0: RSS = 8.
    # u(b)^2 = (20 - 256/20) / (2 * 20) = 0.18; u(a)^2 = 0.18 * (1 + 9 + 25 + 49)/4 = 3.78.
    # At 10 with u_ref 1: u_CR^2 = 8/2 - 1 + (1 + 0)^2 = 4, W = 2 * 2 / 10.
    x, y = np.array([1.0, 3.0, 5.0, 7.0]), np.array([2.0, 6.0, 4.0, 8.0])

    line = orthogonal_line(x, y)

    assert line == pytest.approx((1.0, 1.0, sqrt(3.78), sqrt(0.18), 8.0))
    assert expanded(x, y, 10.0, 1.0) == pytest.approx(0.4)
    assert expanded(x, y, 10.0, 3.0) == pytest.approx(0.2)  # 4 - 9 counts as no scatter


@pytest.mark.parametrize("seed", range(4))
def test_w_is_the_guides_formula_step_by_step(seed):
    random = np.random.default_rng(seed)
    n = int(random.integers(20, 200))
    x = random.lognormal(3.0, 0.5, n)
    y = 3.0 + 1.2 * x + 5.0 * random.standard_normal(n)
    s_xx, s_yy = ((each - each.mean()) @ (each - each.mean()) for each in (x, y))
    s_xy = (x - x.mean()) @ (y - y.mean())
    b = (s_yy - s_xx + sqrt((s_yy - s_xx) ** 2 + 4.0 * s_xy**2)) / (2.0 * s_xy)
    a = y.mean() - b * x.mean()
    rss = sum((y - a - b * x) ** 2)
    u_cr = sqrt(rss / (n - 2) - 1.5**2 + (a + (b - 1.0) * 50.0) ** 2)

    assert expanded(x, y, 50.0, 1.5) == pytest.approx(2.0 * u_cr / 50.0, rel=1e-9)


def test_a_sensor_that_does_not_follow_its_reference_has_no_line():
    x, y = np.array([1.0, 1.0, 2.0, 2.0]), np.array([1.0, 2.0, 1.0, 2.0])
    origin = MomentOrigin(1.5, 1.5)

    parts = parts_at_limit(moment_rows(x, y, origin).mean(axis=0), 4, origin, 10.0, 0.0)

    assert np.isnan(parts.bias)
