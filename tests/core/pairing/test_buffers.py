"""Reading buffers: many readings at once, and one by one."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.core.model import Reading
from monitor.core.pairing.buffers import ReadingBuffer
from monitor.core.pairing.observations import Watermarks
from monitor.core.pairing.series_rules import Rules

# Few times, values and sequence numbers, so that duplicates and ties come often.
readings = st.builds(
    lambda time, value, sequence: Reading("s", "weight", time, value, u=1.0, sequence=sequence),
    st.integers(0, 8).map(float),
    st.sampled_from([500.0, 501.0, -0.0, 0.0]),
    st.sampled_from([0, 0, 1, 2]),
)
arrivals = st.lists(st.tuples(readings, st.integers(0, 3).map(float)), max_size=12)


def buffer(lag: float) -> ReadingBuffer:
    return ReadingBuffer(0, ("s", "weight", ""), Rules(lag_seconds=lag), 0.0, Watermarks())


def content(held: ReadingBuffer) -> tuple[object, ...]:
    return (
        [held.reading(at) for at in range(len(held.times))],
        list(held.times),
        list(held.received),
        held.watermarks.newest[held.watermark],
    )


@given(arrivals, arrivals.filter(bool), st.sampled_from([0.0, 2.5]))
def test_all_at_once_leaves_what_one_by_one_leaves(before, came, lag):
    at_once, one_by_one = buffer(lag), buffer(lag)
    for held in (at_once, one_by_one):
        for reading, received in before:
            held.insert(reading.time - lag, reading, received)
    doubled = [
        received
        for reading, received in came
        if one_by_one.insert(reading.time - lag, reading, received) < 0
    ]

    assert sorted(at_once.insert_all(came)) == sorted(doubled)
    assert content(at_once) == content(one_by_one)
    # Who came in order is expired faster, no more.
    assert at_once.in_order is (list(at_once.received) == sorted(at_once.received))


@pytest.mark.parametrize("sequence", [0, 7])
def test_readings_that_came_in_order_stay_known_to_have(sequence):
    held = buffer(0.0)
    held.insert_all(
        [(Reading("s", "weight", float(at), 1.0, u=1.0, sequence=sequence), at) for at in range(9)]
    )

    assert held.in_order
    assert len(held.full_readings) == (9 if sequence else 0)
    assert held.watermarks.newest[held.watermark] == 8.0
    assert held.watermarks.until[held.watermark] == -math.inf
