"""Rings of pairs, against a plain list."""

from __future__ import annotations

from bisect import bisect_left

import numpy as np
import pytest

from monitor.core.windows.series_rings import (
    Ends,
    SeriesRings,
    ends_with,
    grouped,
    reckoned_changes,
)
from tests.core.windows.test_windows import pair, records

LENGTH = 5
ONE = np.array([1])


@pytest.mark.parametrize("count", [1, 4, 5, 6, 13])
def test_a_ring_has_the_last_pairs_and_the_history_those_before(count):
    history = records(*(pair(1, 10 + at, float(at // 2)) for at in range(count + 3)))
    rings, pairs = SeriesRings(2, LENGTH, lambda _row: history, "double"), history[:count]
    rings.assign(ONE)
    for cut in (slice(0, count // 2), slice(count // 2, count)):
        rings.append(grouped(pairs[cut]))
    rows, times = rings.as_kept(pairs), pairs["time"][-LENGTH:].tolist()

    assert rings.rows(1).tobytes() == rows[-LENGTH:].tobytes()
    assert (rings.newest(ONE)[0], rings.truncated[1]) == (times[-1], count > LENGTH)
    for time in (-1.0, 0.5, times[0], times[-1], 99.0):
        assert rings.ranks(ONE, np.array([time]))[0] == bisect_left(times, time)
    for back in range(3):
        for most in range(1, 9):
            end = max(count - back, 0)
            wanted = rows[max(end - most, 0) : end]
            assert rings.up_to(1, back, most).tobytes() == wanted.tobytes()


def test_a_series_that_comes_back_has_none_of_the_pairs_it_had():
    rings = SeriesRings(2, LENGTH, lambda _row: records(), "double")
    for made in (records(*(pair(1, at, float(at)) for at in range(3))), records(pair(1, 9, 9.0))):
        rings.release(1)
        rings.assign(ONE)
        rings.append(grouped(made))

        assert rings.rows(1).tobytes() == rings.as_kept(made).tobytes()


@pytest.mark.parametrize("seed", range(20))
def test_ends_with_changes_are_what_one_change_after_the_other_leaves(seed):
    random = np.random.default_rng(seed)
    held = records(*(pair(0, identity, float(identity)) for identity in range(6)))
    stands = {identity: float(identity) for identity in range(6)}
    changes = []
    for identity in random.integers(0, 9, 12).tolist():
        if identity in stands:
            changes.append(pair(0, identity, stands.pop(identity), removed=True))
        if random.random() < 0.6:
            stands[identity] = float(random.integers(9))
            changes.append(pair(0, identity, stands[identity]))
    rows = SeriesRings(1, 9, lambda _row: held, "double").as_kept(held)
    ends = ends_with(Ends(np.zeros(6, np.int64), rows), reckoned_changes(records(*changes)))

    wanted = sorted((time, identity) for identity, time in stands.items())
    assert list(zip(ends.rows["time"].tolist(), ends.rows["id"].tolist(), strict=True)) == wanted
