"""Pairs made again, whatever the order of arrival."""

from __future__ import annotations

import itertools
import random

import pytest

from monitor.core.model import Reading, Reference
from monitor.core.pairing.engine import Pairing
from monitor.core.pairing.pairing_rules import PAIRING_RULES
from monitor.core.pairing.series_rules import Rules
from monitor.journal.in_memory import InMemoryStore
from tests.core.pairing.test_engine import feed, make, oracle, rounded, standing


@pytest.mark.parametrize("mode", list(PAIRING_RULES))
@pytest.mark.parametrize("times", [(7.0, 13.0), (13.0, 7.0)])
@pytest.mark.parametrize("kind", [Reading, Reference])
def test_of_two_equally_near_the_earlier_counts_whatever_comes_first(mode, times, kind):
    """Of two readings about a reference, and of two references about a reading."""
    if kind is Reading:
        history = [Reading("a", "x", time, time, u=1.0) for time in times]
        history.append(Reference("a", "x", 10.0, 1.0, start=10.0, end=12.0))
    else:
        history = [Reference("a", "x", time, time, identity=f"at {time}") for time in times]
        history.append(Reading("a", "x", 10.0, 1.0, u=1.0))
    for arrival in (history, history[::-1]):
        pairing = make(mode)
        feed(pairing, arrival)
        stands = standing(pairing.drain_changes())

        assert stands == rounded(oracle(mode, history))
        if mode == "nearest":
            pair = (7.0, 7.0, 1.0) if kind is Reading else (10.0, 1.0, 7.0)
            assert stands == {(0, *pair, 0.0)}


@pytest.mark.parametrize("mode", list(PAIRING_RULES))
def test_changes_taken_in_pieces_add_up_to_the_same_pairs(mode):
    chance = random.Random(5)
    history: list[Reading | Reference] = [
        Reading("a", "x", chance.uniform(0, 60), float(n), u=1.0, sequence=str(n))
        for n in range(60)
    ]
    history += [
        Reference("a", "x", chance.uniform(0, 60), -float(n), identity=str(n)) for n in range(40)
    ]
    chance.shuffle(history)
    pairing = make(mode)
    pieces = []
    for piece in (
        itertools.batched(history, 7)
        if hasattr(itertools, "batched")
        else [history[at : at + 7] for at in range(0, len(history), 7)]
    ):
        feed(pairing, list(piece))
        pieces.append(pairing.drain_changes())

    assert standing(*pieces) == rounded(oracle(mode, history))


def test_of_very_many_readings_the_nearest_pair_whatever_the_order_of_arrival():
    most, chance = 5, random.Random(3)
    rules = Rules("all", tolerance_seconds=50.0, max_pairs_per_reference=most)
    for _ in range(200):
        times = chance.sample(range(100), 30)
        readings = [Reading("a", "x", float(at), float(at), 1.0) for at in times]
        references = [
            Reference("a", "x", at, 1000.0 + at, 0.1, identity=str(at))
            for at in chance.sample(range(100), chance.choice((1, 2, 3)))
        ]
        said = [*readings, *references]
        chance.shuffle(said)
        pairing = Pairing(lambda _sensor, _quantity: rules, frozenset({"subject"}), InMemoryStore())
        feed(pairing, said)

        wanted: set[tuple[object, ...]] = set()
        for reference in references:
            own = [
                each
                for each in readings
                if abs(each.time - reference.time) <= 50.0
                and min(references, key=lambda r, t=each.time: (abs(r.time - t), r.time))
                is reference
            ]
            own.sort(key=lambda each, t=reference.time: (abs(each.time - t), each.time))
            wanted |= {(0, e.time, e.value, reference.value, 0.1) for e in own[:most]}
        assert standing(pairing.drain_changes()) == wanted
        if len(references) == 1:
            assert pairing.limited_references == 1
