"""Buffers: many readings at once and one by one; references as columns."""

from __future__ import annotations

import math
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.core.model import Reading, Reference
from monitor.core.pairing.buffers import (
    ReadingBuffer,
    ReferenceBuffer,
    Scope,
    Tally,
)
from monitor.core.pairing.engine import Pairing
from monitor.core.pairing.identities import encode, reference_digest
from monitor.core.pairing.observations import Watermarks
from monitor.core.pairing.series_rules import Rules
from monitor.journal.in_memory import InMemoryStore

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


# -- references -----------------------------------------------------------------------------------

references = st.builds(
    Reference,
    st.sampled_from(["s", "t"]),
    st.just("weight"),
    st.integers(0, 5).map(float),
    st.sampled_from([500.0, -0.0, 0.0]),
    st.sampled_from([0.0, 0.5]),
    st.sampled_from(["", "", "k"]),
    st.sampled_from(["", "", "i"]),
    st.sampled_from([0, 0, 1]),
    st.just(value=False),
    st.sampled_from([math.nan, math.nan, 1.0]),
    st.sampled_from([math.nan, math.nan, 2.0]),
    st.sampled_from(["", "", "station"]),
)


@given(
    st.lists(references, max_size=12, unique_by=reference_digest),
    st.lists(st.integers(0, 11), max_size=4),
    st.sets(st.integers(0, 11)),
)
def test_references_come_back_as_they_were(came, replaced, removed):
    tally = Tally()
    held = ReferenceBuffer(("s", "weight", ""), 7, Scope(), tally)
    expected = {}
    for number, each in enumerate(came):
        identity = reference_digest(each)
        place = held.insert(each, identity, 10.0 + number, is_plain=held.is_plain(each))
        assert encode(held.reference(place)) == encode(each)
        expected[identity] = each, 10.0 + number
    for at in replaced:
        if at < len(came):
            place = held.place_of(came[at].time, reference_digest(came[at]))
            held.replace(place, came[at], 99.0)
            expected[reference_digest(came[at])] = came[at], 99.0
    gone = sorted(at for at in removed if at < len(came))
    for at in gone:
        del expected[held.identities[at]]
    held.remove(gone)

    everything = zip(held.references(), held.identities, held.received, strict=True)
    assert sorted((one, encode(each), at) for each, one, at in everything) == sorted(
        (one, encode(each), at) for one, (each, at) in expected.items()
    )
    assert list(held.times) == list(held.scope.times) == sorted(held.times)
    assert tally.plain == sum(held.is_plain(each) and at != 99.0 for each, at in expected.values())
    for identity, (each, _) in expected.items():
        assert held.identities[held.place_of(each.time, identity)] == identity


def test_a_pair_that_waits_for_corrections_takes_some_two_hundred_bytes():
    rules = Rules(tolerance_seconds=60.0)
    pairing = Pairing(lambda _sensor, _quantity: rules, frozenset({"subject"}), InMemoryStore())
    held = pairing.open_buffer(Reading("s", "weight", 0.0, 500.0, 1.0), 0)
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        for at in range(1000):
            time = 600.0 * at
            pairing.ingest_reading(held, Reading("s", "weight", time, 500.0 + at, 1.0), time)
            pairing.ingest_in_order([Reference("s", "weight", time + 5.0, 501.0 + at, 0.5)], time)
            assert pairing.drain_changes().size == 1
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert len(held.matches) == len(pairing.references) == pairing.readings == 1000
    assert after - before < 1000 * 300  # an object for each: three times as much
