"""A window is the last pairs of the set, whatever way they came in."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from harness.examples import examples
from hypothesis import given
from hypothesis import strategies as st

from monitor.core.model import PAIR, Records, in_event_order
from monitor.core.windows.windows import Windows, spare_of

SIZE = 4


def pair(series: int, identity: int, time: float, value: float = 0.0, *, removed: bool = False):
    nan = float("nan")
    return (series, identity, time, value, 1.0, nan, nan, nan, 0.0, 0.3, 0.4, 9, nan, removed)


def no_pairs(_series: int) -> Records:
    """Return the history of a series that is all in memory."""
    return np.zeros(0, PAIR)


def records(*rows) -> Records:
    return np.array(list(rows), dtype=PAIR)


def content(windows: Windows, series: int) -> list[tuple[float, int, float]]:
    if not windows.counts(np.array([series]))[0]:
        return []
    _, rows = windows.gather(np.array([series]), np.array([SIZE]), np.array([np.inf]))
    return [(row["time"].item(), row["id"].item(), row["value"].item()) for row in rows]


class Log:
    """Stands in for the journal: remembers every change."""

    def __init__(self) -> None:
        self.changes = records()

    def history(self, series: int) -> Records:
        standing = in_event_order(self.changes)
        return standing[standing["series"] == series]


changes = st.lists(
    st.tuples(
        st.integers(0, 1),
        st.integers(0, 11),  # so few that pairs change, move and go
        st.integers(0, 20).map(float),
        st.integers(0, 5).map(float),
        st.booleans(),
    ),
    min_size=30,
    max_size=90,
)


def moved_by_removal(rows):
    """A pair that gets another time is removed first, as pairing does, and only what stands is."""
    times = {}
    for series, identity, time, value, gone in rows:
        name = (series, identity)
        if name in times and (gone or times[name] != time):
            yield (*name, times.pop(name), value, True)
        if not gone:
            times[name] = time
            yield (*name, time, value, False)


@pytest.mark.parametrize("precision", ["double", "single"])
@given(rows=changes, cuts=st.lists(st.integers(0, 120), max_size=8))
@examples(100)
def test_window_is_the_newest_pairs_of_the_set(precision, rows, cuts):
    log = Log()
    windows = Windows(3, SIZE, log.history, precision)
    rows = list(moved_by_removal(rows))
    places = sorted({0, len(rows), *(min(cut, len(rows)) for cut in cuts)})
    for first, last in itertools.pairwise(places):
        piece = records(
            *(pair(s, 100 * s + i, t, v, removed=gone) for s, i, t, v, gone in rows[first:last])
        )
        log.changes = np.concatenate([log.changes, piece])
        windows.apply(piece)

    for series in range(3):
        expected = log.history(series)[-SIZE:]
        assert content(windows, series) == [
            (row["time"].item(), row["id"].item(), row["value"].item()) for row in expected
        ]


def test_a_window_whose_pairs_all_change_has_the_one_before_it_from_the_history():
    log = Log()
    windows = Windows(1, SIZE, log.history)
    first = records(*(pair(0, at, float(at)) for at in range(SIZE + 2)))
    moved = [pair(0, at, float(at), removed=True) for at in (0, 2, 3, 4, 5)]
    moved += [pair(0, 0, 0.5), *(pair(0, at, 10.0 + at) for at in (2, 3, 4))]
    for piece in (first, records(*moved)):
        log.changes = np.concatenate([log.changes, piece])
        windows.apply(piece)

    assert [time for time, _, _ in content(windows, 0)] == [1.0, 12.0, 13.0, 14.0]


def test_newer_pairs_of_many_series_are_told_from_disturbed_pasts():
    windows = Windows(3, SIZE, no_pairs)
    windows.apply(records(pair(0, 1, 1.0), pair(1, 2, 5.0)))
    series, since, newer = windows.apply(
        records(pair(2, 6, 1.0), pair(0, 3, 2.0), pair(1, 4, 4.0), pair(2, 5, 1.0))
    )

    assert series.tolist() == [0, 1, 2]
    assert since.tolist() == [np.inf, 4.0, np.inf]
    assert newer["id"].tolist() == [3, 5, 6]


def test_pairs_of_one_time_are_in_the_order_of_their_identities():
    windows = Windows(1, SIZE, no_pairs)
    for identity in (5, 3, 9):
        windows.apply(records(pair(0, identity, 1.0)))

    assert [identity for _, identity, _ in content(windows, 0)] == [3, 5, 9]


def test_a_window_by_age_holds_what_is_young_beside_its_newest_pair():
    windows = Windows(1, 10, no_pairs)
    windows.apply(records(*(pair(0, n, 10.0 * n) for n in range(6))))
    starts, rows = windows.gather(np.array([0]), np.array([10]), np.array([20.0]))

    assert starts.tolist() == [0]
    assert rows["time"].tolist() == [30.0, 40.0, 50.0]


def test_an_epoch_cuts_the_window_and_keeps_older_pairs_out():
    windows = Windows(1, 10, no_pairs)
    windows.apply(records(*(pair(0, n, float(n)) for n in range(6))))
    windows.begin_epoch(0, 4.0)
    windows.apply(records(pair(0, 77, 3.5), pair(0, 78, 6.5)))

    assert [time for time, _, _ in content(windows, 0)] == [4.0, 5.0, 6.5]


def test_the_uncertainty_of_the_pairing_is_part_of_the_reference():
    windows = Windows(1, 10, no_pairs)
    windows.apply(records(pair(0, 1, 1.0)))

    assert windows.rows(0)["u_ref"].tolist() == [0.5]


def test_a_ring_keeps_a_few_pairs_more_than_its_window():
    asked = []

    def history(series: int) -> Records:
        asked.append(series)
        return records()

    size = 320
    windows, length = Windows(1, size, history), size + spare_of(size)
    windows.apply(records(*(pair(0, n, float(n)) for n in range(length + 5))))
    windows.apply(records(*(pair(0, length + n, 0.0, removed=True) for n in range(5))))

    assert asked == []
    assert windows.counts(np.array([0])).tolist() == [size]
    assert [spare_of(each) for each in (4, 100, 500, 10_000)] == [0, 2, 12, 16]


def test_a_series_without_pairs_has_no_ring_and_one_let_go_of_leaves_its_own_to_another():
    windows = Windows(1000, SIZE, no_pairs)
    windows.apply(records(*(pair(row, row, 1.0) for row in (7, 900, 3))))
    windows.forget(900)

    assert windows.rings._slots_used == 3
    assert content(windows, 900) == []
    windows.apply(records(pair(5, 1, 2.0), pair(900, 2, 0.5)))
    assert windows.rings._slots_used == 4
    assert content(windows, 5) == [(2.0, 1, 0.0)]
    assert content(windows, 900) == [(0.5, 2, 0.0)]
    assert content(windows, 7) == [(1.0, 7, 0.0)]


def test_more_new_pairs_than_the_ring_holds_leave_the_last_ones():
    windows = Windows(2, SIZE, no_pairs)
    windows.apply(records(*(pair(n % 2, n, float(n)) for n in range(100))))

    assert [time for time, _, _ in content(windows, 1)] == [93.0, 95.0, 97.0, 99.0]
    assert windows.rows(0)["id"].tolist() == list(range(92, 100, 2))


def test_a_pair_that_moves_before_a_window_has_it_disturbs_nothing():
    windows = Windows(2, SIZE, no_pairs)
    windows.apply(records(pair(0, 1, 10.0), pair(1, 2, 10.0)))
    applied = windows.apply(
        records(
            pair(0, 3, 20.0),
            pair(0, 3, 20.0, removed=True),
            pair(0, 3, 30.0),
            pair(1, 4, 20.0),
            pair(1, 4, 20.0, removed=True),
        )
    )

    assert applied.series.tolist() == [0]
    assert applied.since.tolist() == [np.inf]
    assert [row[:2] for row in content(windows, 0)] == [(10.0, 1), (30.0, 3)]


def test_what_changes_in_a_ring_is_merged_without_its_history():
    log = Log()
    windows = Windows(1, 40, lambda _series: pytest.fail("the history was asked"))
    log.changes = records(*(pair(0, 10 * at + 1, 10.0 * at) for at in range(100)))
    windows.apply(log.changes)
    moved = records(
        pair(0, 991, 990.0, removed=True), pair(0, 991, 965.0), pair(0, 971, 970.0, 7.0)
    )
    applied = windows.apply(moved)
    log.changes = np.concatenate([log.changes, moved])

    assert applied.since.tolist() == [965.0]
    assert windows.rows(0)[-40:]["time"].tolist() == log.history(0)["time"][-40:].tolist()
    assert windows.rows(0)[-40:]["value"].tolist() == log.history(0)["value"][-40:].tolist()
