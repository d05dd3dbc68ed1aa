"""A pairing rule by itself."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from monitor.core.pairing.pairing_rule import is_nearest, nearest


@given(st.lists(st.integers(0, 12), min_size=1, max_size=8), st.integers(-2, 28))
def test_a_look_at_the_neighbours_finds_the_nearest_of_all(times, doubled):
    times = sorted(map(float, times))
    time = doubled / 2.0

    found = [at for at in range(len(times)) if is_nearest(times, at, time)]

    assert found == [nearest(times, time)]
