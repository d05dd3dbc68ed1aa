"""A fault that began as another one is told with both dates, a steady one with its own."""

from __future__ import annotations

import numpy as np
import pytest

from monitor.core.verdict import Pairs, judge, judge_all, judge_file

HEALTHY, ALARM = 100, 110
MINUTE = 60.0


def pairs(z: np.ndarray, seed: int) -> Pairs:
    reference = np.random.default_rng(seed).normal(500.0, 30.0, z.size)
    one = np.ones(z.size)
    return Pairs(MINUTE * np.arange(z.size), reference + z, one, reference, 0.0 * one)


def turned(seed: int) -> Pairs:
    """Return a sensor that reads 4 u high for 150 pairs and then understates u 2.5 times."""
    z = np.random.default_rng([seed, 1]).standard_normal(HEALTHY + 300)
    z[HEALTHY : HEALTHY + 150] += 4.0
    z[HEALTHY + 150 :] *= 2.5
    return pairs(z, seed)


def test_what_was_an_offset_first_has_two_dates():
    near = 12.0 * MINUTE
    for seed in range(20):
        found = judge(turned(seed), alarm=ALARM)

        assert found.fault == "understated"
        assert abs(found.began - HEALTHY * MINUTE) < near
        assert abs(found.changed - (HEALTHY + 150) * MINUTE) < near
        assert "; not right since 1970-01-01 01:" in found.sentence
        assert found.sentence.index(", since 1970-01-01 04:") < found.sentence.index("; not right")


def test_a_file_tells_when_its_last_fault_began():
    found = judge_file(turned(3))

    assert found.fault == "understated"
    assert ", since 1970-01-01 04:" in found.sentence


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["offset", "understated", "overstated", "drift", "outliers"])
def test_a_steady_fault_hardly_ever_has_two(kind):
    told = []
    for seed in range(100):
        random = np.random.default_rng([seed, 2])
        z = random.standard_normal(HEALTHY + 60 + 140 * (seed % 3))
        late = z[HEALTHY:]
        if kind == "offset":
            late += 3.0
        elif kind == "drift":
            late += 0.02 * np.arange(late.size)
        elif kind == "outliers":
            late += (random.random(late.size) < 0.15) * random.choice([-9.0, 9.0], late.size)
        else:
            late *= 2.0 if kind == "understated" else 0.4
        told.append(pairs(z, seed))

    found = judge_all(told, alarm=[ALARM] * len(told))

    assert np.mean([np.isfinite(each.changed) for each in found]) <= 0.04


def test_a_file_without_times_has_no_dates():
    p = turned(1)
    untimed = Pairs(np.arange(p.n) + 0.0, p.value, p.u, p.reference, p.u_ref, timed=False)

    assert np.isnan(judge_file(untimed).changed)
