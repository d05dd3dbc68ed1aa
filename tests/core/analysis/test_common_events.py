"""Which sensors are compared: against all subsets of small fleets, and as good on large ones."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from harness.series import pairs
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.core.analysis.common_events import common_set, required_events
from monitor.core.analysis.ranking import left_out_sentence, ranking


def fleet(saw, seed=0):
    """Return pairs of sensors from the sets of events that they saw, and their events."""
    saw = [sorted(each) for each in saw]
    counts = [len(each) for each in saw]
    event = np.array([number for each in saw for number in each])
    random = np.random.default_rng(seed)
    c = pairs(random.normal(size=event.size), 0.0, 1.0, starts=np.cumsum([0, *counts[:-1]]))
    return c, event


def some(random, events, share):
    """Return the numbers of a share of the events, drawn at random."""
    return set(np.flatnonzero(random.random(events) < share).tolist())


def best_of_all(saw):
    """Return (sensors, events) of the best set by looking at every one."""
    shared = [len(saw[a] & saw[b]) for a, b in combinations(range(len(saw)), 2)]
    most = max(shared, default=0)
    if not most:
        return None
    found = [
        (size, len(set.intersection(*(saw[row] for row in rows))))
        for size in range(2, len(saw) + 1)
        for rows in combinations(range(len(saw)), size)
    ]
    return max(each for each in found if each[1] >= required_events(most))


@settings(max_examples=300, deadline=None)
@given(data=st.data())
def test_the_set_is_the_best_of_all_sets(data):
    events = data.draw(st.sampled_from([3, 8, 60, 250]))
    n = data.draw(st.integers(1, 8))
    random = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    share = random.choice([0.0, 0.1, 0.5, 0.8, 1.0], n)
    saw = [
        {int(random.integers(events))} | set(np.flatnonzero(random.random(events) < each).tolist())
        for each in share
    ]
    c, event = fleet(saw)

    got = common_set(c, event)
    want = best_of_all(saw)

    if want is None:
        assert got is None
        return
    assert (got.kept.size, got.events) == want
    common = set.intersection(*(saw[row] for row in got.kept.tolist()))
    assert len(common) == got.events
    assert sorted([*got.kept.tolist(), *got.left_out.tolist()]) == list(range(n))
    assert got.seen.tolist() == [len(common & saw[row]) for row in got.left_out.tolist()]
    assert (got.seen < got.required).all()


def test_one_silent_sensor_empties_nothing_and_is_named():
    everything = set(range(100))
    c, event = fleet([everything, everything, {7}, everything, set(range(5, 100))])
    table = ranking(c, event, seed=1, replicates=200)
    names = ["a", "b", "silent", "d", "late"]

    assert table.common.kept.tolist() == [0, 1, 3, 4]
    assert (table.events, table.availability.tolist()) == (95, [1.0, 1.0, 1.0, 0.95])
    assert table.scores["crps"].mean.size == 4
    assert left_out_sentence(table, names) == (
        "Not compared: silent (saw 1) of the 95 common events; with it fewer than 25 would be left."
    )


def test_the_table_is_that_of_those_kept_alone():
    everything = set(range(60))
    c, event = fleet([{1}, everything, set(range(50)), everything])
    alone = ranking(c.take(np.array([1, 2, 3])), event[1:], seed=1, replicates=200)
    got = ranking(c, event, seed=1, replicates=200)

    for name, column in alone.scores.items():
        for one, other in zip(got.scores[name], column, strict=True):
            np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(got.best_first, alone.best_first)


def test_two_groups_that_never_meet_leave_the_larger_one():
    early, late = set(range(100)), set(range(100, 200))
    c, event = fleet([early, late, early, late, late])

    assert common_set(c, event).kept.tolist() == [1, 3, 4]


@pytest.mark.parametrize(
    ("most", "required"), [(1, 1), (2, 1), (10, 5), (40, 20), (60, 20), (100, 25), (4000, 50)]
)
def test_so_many_events_are_asked_for(most, required):
    assert required_events(most) == required


def test_a_large_fleet_with_gaps_is_searched_within_bounds_and_no_one_can_be_added():
    random = np.random.default_rng(3)
    saw = [
        set(np.flatnonzero(random.random(300) < share).tolist())
        for share in random.uniform(0.5, 1.0, 120)
    ]
    c, event = fleet(saw)
    got = common_set(c, event, looks=2_000)

    common = set.intersection(*(saw[row] for row in got.kept.tolist()))
    assert got.kept.size >= 10
    assert len(common) == got.events >= got.required
    assert all(len(common & saw[row]) < got.required for row in got.left_out.tolist())


def test_events_that_none_of_those_compared_could_see_count_against_nobody():
    here, elsewhere = set(range(100)), set(range(100, 400))
    c, event = fleet([here, set(range(10, 100)), elsewhere])

    table = ranking(c, event, seed=1, replicates=200)

    assert table.common.left_out.tolist() == [2]
    assert table.availability.tolist() == [1.0, 0.9]
