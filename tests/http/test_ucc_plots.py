"""Plots of characteristics curves."""

from __future__ import annotations

import numpy as np
import pytest
from harness.series import drawn

from monitor.http import ucc_plots


def test_the_constant_curve_has_one_band_and_the_mean_absolute_error_below_it():
    c = drawn(6, (200,))
    constant = ucc_plots.characteristics(c, 1.0).constant

    area = float(np.sum(np.diff(constant.bandwidth) * constant.miss[:-1]))
    assert area == pytest.approx(float(np.mean(np.abs(c.error))), rel=1e-9)
