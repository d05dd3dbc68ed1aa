"""How often intervals hold what they are of, for independent and for dependent averages."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from scipy.signal import lfilter

from monitor.extensions.targets.jackknife import jackknifed
from monitor.extensions.targets.moment_figures import MomentOrigin, log_expanded, moment_rows

RUNS = 300


def drawn(random, n: int, lag: float):
    """Return the reference, and a sensor with a line of its own and AR(1) errors."""
    noise = random.standard_normal(n + 100)
    x = random.lognormal(3.2, 0.5, n)
    return x, 2.0 + 0.9 * x + 4.0 * lfilter([np.sqrt(1.0 - lag**2)], [1.0, -lag], noise)[100:]


def interval(x, y):
    origin = MomentOrigin(float(x.mean()), float(y.mean()))
    of_means = partial(log_expanded, n=x.size, origin=origin, limit=50.0, u_ref=0.0)
    return jackknifed(moment_rows(x, y, origin), of_means)[:, 0]


@pytest.mark.parametrize(
    ("n", "lag", "least"), [(40, 0.0, 0.93), (400, 0.0, 0.93), (400, 0.7, 0.90)]
)
def test_intervals_hold_their_level(n, lag, least):
    random = np.random.default_rng(7)
    truth = interval(*drawn(random, 400_000, 0.0))[0]
    ends = np.array([interval(*drawn(random, n, lag)) for _ in range(RUNS)])

    held = ((ends[:, 1] < truth) & (truth < ends[:, 2])).mean()
    assert least <= held <= 0.995


def test_an_interval_of_independent_averages_is_that_of_their_mean():
    rows = np.random.default_rng(3).normal(5.0, 2.0, (200, 1))

    value, lower, upper = jackknifed(rows, lambda means: means.T if means.ndim > 1 else means)

    se = float(rows.std(ddof=1)) / np.sqrt(200)
    assert value[0] == pytest.approx(float(rows.mean()))
    assert (upper - lower)[0] == pytest.approx(2.0 * 2.1852 * se, rel=1e-3)  # t of 199, 98.5 %
