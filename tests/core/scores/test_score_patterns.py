"""How scores answer to known faults: 90 % intervals of N(0, 1) read as top hats, 400 000 draws."""

from __future__ import annotations

import numpy as np
import pytest
from harness.series import pairs
from scipy import stats

from monitor.core.scores import proper_scores
from monitor.core.scores.statistics import compute

# Offset in units of the spread, factor on u: CRPS over expected, width times quadratic score,
# interval score over expected, ZMS, miss rate; "expected" is the honest sensor's own mean.
CASES = {
    (0.0, 1.0): (1.00, -0.80, 1.00, 1.00, 0.100),
    (0.5, 1.0): (1.12, -0.72, 1.13, 1.25, 0.142),
    (1.0, 1.0): (1.47, -0.47, 1.56, 2.00, 0.265),
    (0.0, 0.5): (1.08, -0.18, 1.52, 4.01, 0.412),
    (0.0, 2.0): (1.23, -1.00, 1.59, 0.25, 0.001),
    (0.0, 4.0): (2.06, -1.00, 3.19, 0.06, 0.000),
}
NAMES = ("crps_tophat", "interval", "zms", "miss_rate")


def figures(error, factor):
    c = pairs(error, 0.0, factor)
    got = {name: numbers[0] for name, numbers in compute(c, NAMES).items()}
    return got | {"quadratic": float(np.mean(c.width * proper_scores.quadratic_tophat(c)))}


@pytest.fixture(scope="module")
def normal():
    return np.random.default_rng(1).normal(size=400_000)


@pytest.mark.parametrize(("offset", "factor"), CASES)
def test_each_fault_has_its_pattern_of_scores(offset, factor, normal):
    honest, got = figures(normal, 1.0), figures(normal + offset, factor)

    crps, quadratic, interval, zms, miss = CASES[offset, factor]

    assert got["crps_tophat"] / honest["crps_tophat"] == pytest.approx(crps, abs=0.01)
    assert got["quadratic"] == pytest.approx(quadratic, abs=0.01)
    assert got["interval"] / honest["interval"] == pytest.approx(interval, abs=0.015)
    assert got["zms"] == pytest.approx(zms, rel=0.01, abs=0.005)
    half = 1.6448536269514722 * factor
    exact = stats.norm.sf(half - offset) + stats.norm.sf(half + offset)
    assert exact == pytest.approx(miss, abs=0.0015)
    assert got["miss_rate"] == pytest.approx(exact, abs=0.003)


def test_no_raw_score_tells_an_offset_from_a_wrong_uncertainty(normal):
    """A cautious sensor's CRPS is higher than that of one that is half a spread off (E16)."""
    cautious, offset, bold = (
        figures(normal + shift, factor) for shift, factor in ((0.0, 2.0), (0.5, 1.0), (0.0, 0.5))
    )

    assert cautious["crps_tophat"] > offset["crps_tophat"] > bold["crps_tophat"]
    assert np.sign([cautious["zms"] - 1.0, bold["zms"] - 1.0]).tolist() == [-1.0, 1.0]
