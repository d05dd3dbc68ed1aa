"""Where the newest piece begins."""

from __future__ import annotations

import numpy as np
import pytest
from harness.verdict_sensors import sensor, since

from monitor.core.verdict import judge
from tests.core.verdict.test_judge import ONSET, SEEDS


@pytest.mark.parametrize(("first", "then"), [(8.0, 4.0), (2.0, 8.0), (-4.0, 6.0)])
def test_a_level_that_changes_is_told_as_it_is_now(first, then):
    fault = since(ONSET, lambda value, late: value + np.where(late < 80, first, then))
    found = [judge(sensor(seed, 280, fault=fault), alarm=140) for seed in SEEDS]

    assert sum(each.level.lower <= then <= each.level.upper for each in found) >= 8
    assert sum(abs(each.since - ONSET) <= 12 for each in found) >= 8


@pytest.mark.parametrize("size", [20.0, 100.0])
@pytest.mark.parametrize("late", [3, 4, 6])
def test_a_clear_step_is_told_at_its_alarm(size, late):
    """Three pairs of an offset of 10 or 50 u, the last of which raised the alarm."""
    for seed in range(8):
        onset = 500 + seed
        fault = since(onset, lambda value, _: value + size)
        p = sensor(seed, 560, fault=fault).rows(slice(0, onset + late))
        found = judge(p, alarm=onset + late - 1)

        assert found.fault == "offset", found.sentence
        assert abs(found.since - onset) <= 1
        assert found.level.lower < size < found.level.upper
