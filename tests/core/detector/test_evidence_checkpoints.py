"""Checkpoints of evidence: which of them a replay starts from, and how far back they reach."""

from __future__ import annotations

import numpy as np
import pytest

from monitor.core.detector.detector import Detector
from monitor.core.detector.evidence_checkpoints import DISTANCES, EvidenceCheckpoints

ONE, PAIRS = np.array([1]), 4000


def filled(capacity: int) -> EvidenceCheckpoints:
    """Return checkpoints of a series that passed many pairs, one a second, 16 at a time."""
    checkpoints = EvidenceCheckpoints(Detector(np.full(capacity, 1e3)))
    checkpoints.open(ONE)
    for passed in range(0, PAIRS, 16):
        checkpoints.take(ONE, np.array([float(passed)]), np.array([passed], np.uint64))
        checkpoints.passed(ONE, np.array([16]))
    return checkpoints


@pytest.mark.parametrize("distance", DISTANCES)
def test_a_change_so_many_pairs_back_finds_one_less_than_twice_as_far_before_it(distance):
    since = float(PAIRS - distance)
    start = filled(4).before(ONE, np.array([since]))

    assert since - max(2 * distance, 1024) <= start.times[0] < since


def test_a_change_voids_those_after_it_and_none_is_left_before_the_oldest():
    checkpoints = filled(4)
    first = checkpoints.before(ONE, np.array([3900.0]))
    again = checkpoints.before(ONE, np.array([1e9]))
    none = checkpoints.before(ONE, np.array([10.0]))

    assert first.times == again.times < 3900.0
    assert none.entries == -1


def test_those_of_many_series_reach_as_far_with_fewer_between():
    start = filled(1_000_000).before(ONE, np.array([PAIRS - 1000.0]))

    assert PAIRS - 2100.0 < start.times[0] < PAIRS - 1000.0
