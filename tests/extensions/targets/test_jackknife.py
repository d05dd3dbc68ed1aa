"""How often intervals hold what they are of, for independent and for dependent averages."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from scipy.signal import lfilter

from monitor.extensions.targets.jackknife import jackknifed
from monitor.extensions.targets.moment_figures import MomentOrigin, log_expanded, moment_rows

RUNS = 300


def drawn(random, n: int, lag: float, share: float = 1.0):
    """Return the reference, and a sensor whose errors are AR(1) to a share of their variance."""
    slow = lfilter([np.sqrt(1.0 - lag**2)], [1.0, -lag], random.standard_normal(n + 100))[100:]
    errors = np.sqrt(share) * slow + np.sqrt(1.0 - share) * random.standard_normal(n)
    x = random.lognormal(3.2, 0.5, n)
    return x, 2.0 + 0.9 * x + 4.0 * errors


def interval(x, y):
    origin = MomentOrigin(float(x.mean()), float(y.mean()))
    of_means = partial(log_expanded, n=x.size, origin=origin, limit=50.0, u_ref=0.0)
    return jackknifed(moment_rows(x, y, origin), of_means)[:, 0]


@pytest.mark.parametrize(
    ("n", "lag", "share", "least"),
    [(40, 0.0, 1.0, 0.93), (400, 0.0, 1.0, 0.93), (400, 0.7, 1.0, 0.90), (2000, 0.95, 0.5, 0.90)],
)
def test_intervals_hold_their_level(n, lag, share, least):
    random = np.random.default_rng(7)
    truth = interval(*drawn(random, 400_000, 0.0))[0]
    ends = np.array([interval(*drawn(random, n, lag, share)) for _ in range(RUNS)])

    held = ((ends[:, 1] < truth) & (truth < ends[:, 2])).mean()
    assert least <= held <= 0.995


def test_an_interval_of_independent_averages_is_that_of_their_mean():
    rows = np.random.default_rng(3).normal(5.0, 2.0, (200, 1))

    value, lower, upper = jackknifed(rows, lambda means: means.T if means.ndim > 1 else means)

    se = float(rows.std(ddof=1)) / np.sqrt(200)
    assert value[0] == pytest.approx(float(rows.mean()))
    assert (upper - lower)[0] == pytest.approx(2.0 * 2.1852 * se, rel=1e-3)  # t of 199, 98.5 %
