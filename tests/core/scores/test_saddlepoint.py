"""Saddlepoints, against a search for the root of their equation."""

from __future__ import annotations

import numpy as np
from harness.series import drawn
from scipy import stats

from monitor.core.scores import calibration, intervals, saddlepoint
from monitor.core.scores.intervals import saddlepoint_zms
from tests.core.scores.test_intervals import ends


def test_saddlepoint_is_the_root_of_its_equation():
    """Line, cubic and search against a bisection of the same equation."""
    for seed in range(20):
        c = drawn(seed, (60 if seed % 2 else 500,), heavy=seed % 4 < 2)
        off, second, a = intervals._central(c, calibration.z_square(c))
        rows = saddlepoint.PairRows(off / np.sqrt(second[0]), c.starts, c.counts)
        for tail, end in zip((0.025, 0.975), ends(saddlepoint_zms(c)), strict=True):
            w = a + stats.norm.ppf(tail)
            target = float((a + w / (1.0 - a * w))[0])
            low, high = (1e-3, 30.0) if target > 0.0 else (-30.0, -1e-3)
            for _ in range(80):
                middle = 0.5 * (low + high)
                at = saddlepoint._tilted(rows, np.array([[middle]]))
                low, high = (middle, high) if at.place[0, 0] < target else (low, middle)
            want = calibration.zms(c)[0] + np.sqrt(second[0]) * at.mean[0, 0]
            width = np.diff(ends(saddlepoint_zms(c)))[0]

            assert abs(end - want) < 5e-4 * width
