"""What waited too long goes in one sweep, and is counted once."""

from __future__ import annotations

import pytest
from harness.one_by_one import add_reading
from hypothesis import given
from hypothesis import strategies as st

from monitor.core.model import Reading, Reference
from monitor.core.pairing.engine import Pairing
from monitor.core.pairing.series_rules import Rules
from monitor.journal.in_memory import InMemoryStore


def pairing_of(mode: str = "nearest", tolerance: float = 0.4) -> Pairing:
    rules = Rules(mode=mode, tolerance_seconds=tolerance)
    return Pairing(lambda _sensor, _quantity: rules, frozenset(("subject",)), InMemoryStore())


@given(
    arrivals=st.lists(st.integers(0, 9), max_size=12),
    referenced=st.sets(st.integers(0, 11)),
    before=st.integers(0, 10),
)
def test_of_those_that_go_the_unpaired_are_counted(arrivals, referenced, before):
    pairing = pairing_of()
    for at, arrival in enumerate(arrivals):
        add_reading(pairing, Reading("a", "x", float(at), 5.0, u=1.0), 0, float(arrival))
    for at in referenced:
        pairing.add_reference(Reference("a", "x", float(at), 4.0), 99.0)
    gone = [at for at, arrival in enumerate(arrivals) if arrival < before]

    pairing.expire(float(before))
    pairing.expire(float(before))

    assert pairing.readings == len(arrivals) - len(gone)
    assert pairing.expired_unpaired == len(set(gone) - referenced)


@pytest.mark.slow
def test_a_long_pause_is_swept_without_comparing_every_reading_with_every_pair():
    """Each with each would be four thousand million comparisons."""
    pairing = pairing_of()
    for at in range(200_000):
        add_reading(pairing, Reading("a", "x", float(at), 5.0, u=1.0), 0, float(at))
        if at % 10 == 0:
            pairing.add_reference(Reference("a", "x", float(at), 4.0), 200_000.0)

    pairing.expire(200_000.0)

    assert pairing.readings == 0
    assert pairing.expired_unpaired == 180_000


@pytest.mark.parametrize("mode", ["nearest", "asof", "all"])
def test_a_pair_outlives_its_reading_and_a_later_reading_does_not_take_its_place(mode):
    pairing = pairing_of(mode, tolerance=5.0)
    add_reading(pairing, Reading("a", "x", 100.0, 5.0, u=1.0), 0, 0.0)
    pairing.add_reference(Reference("a", "x", 101.0, 4.0), 50.0)
    made = pairing.drain_changes()

    pairing.expire(10.0)
    add_reading(pairing, Reading("a", "x", 101.0, 9.0, u=1.0), 0, 60.0)

    assert len(made) == 1
    assert pairing.expired_unpaired == 0
    assert not len(pairing.drain_changes())
