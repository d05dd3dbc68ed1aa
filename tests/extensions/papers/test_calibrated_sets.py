"""Simulated sets that are calibrated."""

from __future__ import annotations

import numpy as np
import pytest

from monitor.extensions.papers.calibrated_sets import TESTS, passed, skewness


def test_the_experiment_of_fig_3_gives_what_the_paper_says():
    """ZMS passes 95 % of calibrated sets whatever the tail of u; RCE below 80 % at nu = 2."""
    heavy, light = (passed(TESTS, 300, 2000, nu).share for nu in (2.0, 20.0))

    noise = 4.0 * np.sqrt(0.95 * 0.05 / 300)
    assert heavy[0] == pytest.approx(0.95, abs=noise)
    assert light.tolist() == pytest.approx([0.95, 0.95], abs=noise)
    assert heavy[1] < 0.86


def test_zms_too_suffers_from_heavy_tailed_errors():
    normal, heavy = (passed(TESTS, 1000, 50, 6.0, errors).share[0] for errors in ("normal", "t4"))

    assert normal > 0.90
    assert heavy < 0.88


@pytest.mark.parametrize("nu", [3.0, 6.0, 20.0])
def test_skewness_of_u_is_that_of_a_large_draw(nu):
    u = 1.0 / np.sqrt(np.random.default_rng(2).gamma(0.5 * nu, 2.0 / nu, 400_000))
    median = np.median(u)

    assert skewness(nu) == pytest.approx(
        np.mean(u - median) / np.mean(np.abs(u - median)), abs=0.005
    )
