"""The first pair after a repair, of simulated sensors whose repair is known."""

from __future__ import annotations

import numpy as np
import pytest

from monitor.core.verdict.pairs import Pairs
from monitor.core.verdict.whole import right_from

BEGAN, REPAIRED, CLEAR, N = 100, 250, 300, 500
ERRORS = {
    "sign": lambda z, _: 10.0 * z,
    "understated": lambda z, _: 3.0 * z,
    "overstated": lambda z, _: z / 3.0,
    "offset": lambda z, _: z + 2.0,
    "one error": lambda z, _: np.full(z.size, 5.0),
    "outliers": lambda z, random: np.where(random.random(z.size) < 0.15, z + 10.0, z),
}


@pytest.mark.parametrize("kind", ERRORS)
def test_a_repair_is_dated_where_it_was_not_where_the_alert_ended(kind):
    off = []
    for seed in range(60):
        random = np.random.default_rng(seed)
        z = random.standard_normal(N)
        z[BEGAN:REPAIRED] = ERRORS[kind](z[BEGAN:REPAIRED], random)
        truth = random.normal(20.0, 5.0, N)
        pairs = Pairs(np.arange(N) * 3600.0, truth + z, np.ones(N), truth, np.zeros(N))
        off.append(right_from(pairs, 120, CLEAR) - REPAIRED)
    far = np.abs(off)
    assert np.median(far) <= (6 if kind == "outliers" else 2), off
    assert np.quantile(far, 0.9) <= (25 if kind == "outliers" else 15), off
    assert np.mean(np.array(off) >= CLEAR - REPAIRED) <= 0.02, off
