"""Results of windows are those of computing all anew, and only what changed is computed."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from monitor.core.snapshot.window_results import WindowResults


class Windows:
    """Windows as lists of numbers, in the place of columns."""

    def __init__(self, held):
        self.held = held

    def present(self, series):
        return np.array([row for row in series.tolist() if self.held.get(row)], dtype=np.int64)

    def windows(self, series):
        rows = [self.held[row] for row in series.tolist()]
        return SimpleNamespace(
            counts=np.array([len(each) for each in rows]),
            ends=lambda at, begins: rows[at[0]][begins[0] :],
        )


@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.lists(st.integers(0, 9), max_size=4), st.integers(1, 4)),
        max_size=12,
    ),
    st.integers(1, 3),
)
def test_results_are_those_of_the_present_windows_and_nothing_is_computed_twice(changes, at_once):
    results, held = WindowResults(), {}
    pairs = np.ones(4, dtype=np.int64)
    for row, window, last in changes:
        held[row], pairs[row] = window, last
        computed = []

        def result_of(row, own, computed=computed):
            computed.append(row)
            return list(own)

        steps = results.steps(range(3), np.array([row]), Windows(held), pairs, result_of, at_once)
        assert len(list(steps)) <= 1
        assert set(computed) <= {row}
        assert results.of == {
            each: own[-int(pairs[each]) :] for each, own in held.items() if own and each < 3
        }
