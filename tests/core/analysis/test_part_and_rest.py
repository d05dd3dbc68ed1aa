"""A part of the pairs beside the rest of them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.signal import lfilter

from monitor.core.analysis.part_and_rest import bin_sums


@pytest.mark.parametrize("rho", [0.0, 0.7])
@pytest.mark.parametrize("covariate", ["any", "slow"])
def test_alike_errors_seldom_differ_between_a_part_and_its_rest(rho, covariate):
    over = 0
    inside = np.arange(8) < 2
    for seed in range(200):
        random = np.random.default_rng([18, seed])
        noise = random.standard_t(4, 400)
        z = lfilter([math.sqrt(1.0 - rho * rho)], [1.0, -rho], noise)
        of = random.integers(0, 8, 400) if covariate == "any" else np.arange(400) // 50
        over += bin_sums(z, of, 8).log_evidence(inside, ~inside) >= math.log(20.0)
    # Of 200 more than 16 would be over with probability 3 % if the rate were 5 %.
    assert over <= 16
