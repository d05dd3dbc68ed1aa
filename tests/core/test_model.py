"""Pairs in event order, against a dictionary."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.core.model import PAIR, in_event_order

CHANGES = st.lists(
    st.tuples(
        st.sampled_from([0, 1, 70_000]),
        st.integers(0, 5),
        st.sampled_from([0.0, 1.0, 2.5]),
        st.booleans(),
    ),
    max_size=30,
)


def rows_of(changes) -> np.ndarray:
    rows = np.zeros(len(changes), PAIR)
    for at, (series, identity, time, removed) in enumerate(changes):
        rows[at]["series"], rows[at]["id"] = series, (1 << 64) - 1 - identity
        rows[at]["time"], rows[at]["removed"], rows[at]["value"] = time, removed, at
    return rows


def as_made(wanted) -> list[tuple[int, int, float, bool]]:
    """Return the changes as pairing says them: removed at its time before it gets another one."""
    made, times = [], {}
    for series, identity, time, removed in wanted:
        before = times.get((series, identity), time)
        if before != time:
            made.append((series, identity, before, True))
        made.append((series, identity, time, removed))
        times[series, identity] = time
    return made


@given(wanted=CHANGES)
def test_the_last_row_of_each_pair_counts_and_removed_ones_are_gone(wanted):
    latest, changes = {}, as_made(wanted)
    for at, (series, identity, time, removed) in enumerate(changes):
        latest[series, identity] = (series, time, (1 << 64) - 1 - identity, removed, float(at))
    expected = sorted(row for row in latest.values() if not row[3])
    found = in_event_order(rows_of(changes))

    names = ["series", "time", "id", "removed", "value"]
    assert [tuple(row[name].item() for name in names) for row in found] == expected


@pytest.mark.parametrize("step", [-1, 2])
def test_rows_that_do_not_lie_together_are_ordered_too(step):
    rows = rows_of([(0, at, float(at), False) for at in range(6)])

    assert in_event_order(rows[::step])["time"].tolist() == sorted(rows["time"][::step].tolist())


def test_what_was_given_is_left_as_it_was():
    rows = rows_of([(0, 1, 2.0, False), (0, 2, 1.0, True), (0, 1, 2.0, False)])
    before = rows.tobytes()
    rows.flags.writeable = False

    assert in_event_order(rows).size == 1
    assert rows.tobytes() == before
