"""Pairing is a function of the set of observations: held against a brute-force oracle."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.core.model import Reading, Records, Reference
from monitor.core.modes import Rules
from monitor.core.pairing import Pairing
from monitor.core.windows import in_event_order

TOLERANCE = 3.0
SERIES = {"a": 0, "b": 1}


def make(mode: str, match_on: Sequence[str] = ("subject", "key")) -> Pairing:
    rules = Rules(mode=mode, tolerance_seconds=TOLERANCE)
    return Pairing(lambda _sensor, _quantity: rules, frozenset(match_on))


def feed(pairing: Pairing, observations: Sequence[Reading | Reference]) -> None:
    for at, observation in enumerate(observations):
        if isinstance(observation, Reading):
            pairing.add_reading(observation, SERIES[observation.sensor], float(at))
        else:
            pairing.add_reference(observation, float(at))


def standing(*changes: Records) -> set[tuple[object, ...]]:
    """The pairs that stand after changes, as (series, time, value, reference, u_ref)."""
    rows = in_event_order(np.concatenate(changes))
    names = ("series", "time", "value", "reference", "u_ref")
    return {tuple(row[name].item() for name in names) for row in rows}


def highest_revisions(references: Sequence[Reference]) -> list[Reference]:
    best: dict[str, Reference] = {}
    for reference in references:
        known = best.get(reference.identity)
        if known is None or reference.revision > known.revision:
            best[reference.identity] = reference
    return [reference for reference in best.values() if not reference.void]


def oracle(
    mode: str,
    observations: Sequence[Reading | Reference],
    match_on: Sequence[str] = ("subject", "key"),
) -> set[tuple[object, ...]]:
    """All readings against all references, by the words of the documentation."""
    readings = {(r.sensor, r.time, r.sequence): r for r in observations if isinstance(r, Reading)}
    references = highest_revisions([r for r in observations if isinstance(r, Reference)])

    def agree(reading: Reading, reference: Reference) -> bool:
        return (
            reading.quantity == reference.quantity
            and ("subject" not in match_on or reading.sensor == reference.subject)
            and ("key" not in match_on or reading.key == reference.key)
        )

    def lane_of(reading: Reading) -> tuple[str, str]:
        return (reading.sensor, reading.key if "key" in match_on else "")

    def nearest_reference(reading: Reading) -> Reference | None:
        fitting = [r for r in references if agree(reading, r)]
        return min(
            fitting,
            key=lambda r: (abs(r.time - reading.time), r.time, r.subject, r.identity),
            default=None,
        )

    def nearest_reading(reference: Reference, lane: tuple[str, str]) -> Reading | None:
        fitting = [r for r in readings.values() if agree(r, reference) and lane_of(r) == lane]
        return min(fitting, key=lambda r: (abs(r.time - reference.time), r.time), default=None)

    pairs = set()
    for reading in readings.values():
        reference = nearest_reference(reading)
        if reference is None or abs(reference.time - reading.time) > TOLERANCE:
            continue
        if mode == "nearest" and nearest_reading(reference, lane_of(reading)) is not reading:
            continue
        pairs.add(
            (SERIES[reading.sensor], reading.time, reading.value, reference.value, reference.u)
        )
    return pairs


times = st.integers(0, 20).map(float)
keys = st.sampled_from(["", "k"])


@st.composite
def histories(draw: st.DrawFn) -> list[Reading | Reference]:
    reading_times = draw(
        st.lists(
            st.tuples(st.sampled_from("ab"), times, keys), max_size=10, unique_by=lambda x: x[:2]
        )
    )
    readings = [
        Reading(sensor, "x", time, value=100.0 + n, u=1.0, key=key, sequence=str(n))
        for n, (sensor, time, key) in enumerate(reading_times)
    ]
    places = draw(st.lists(st.tuples(st.sampled_from("ab"), times, keys), max_size=6))
    references = []
    for n, (subject, time, key) in enumerate(places):
        for revision in range(draw(st.integers(1, 3))):
            references.append(
                Reference(
                    subject,
                    "x",
                    draw(times) if draw(st.booleans()) and revision else time,
                    value=10.0 * n + revision,
                    u=0.5 * revision,
                    key=key,
                    identity=f"id{n}",
                    revision=revision,
                    void=bool(revision) and draw(st.booleans()),
                )
            )
    return [*readings, *references]


@pytest.mark.parametrize("mode", ["nearest", "key"])
@pytest.mark.parametrize("match_on", [("subject", "key"), ("key",), ("subject",), ()])
@given(data=st.data())
@settings(max_examples=300, deadline=None)
def test_any_order_and_repetition_gives_the_pairs_of_the_oracle(mode, match_on, data):
    history = data.draw(histories())
    arrival = data.draw(st.permutations(history))
    repeated = data.draw(st.lists(st.sampled_from(history), max_size=4)) if history else []
    pairing = make(mode, match_on)
    feed(pairing, [*arrival, *repeated])

    assert standing(pairing.take_changes()) == oracle(mode, history, match_on)


@pytest.mark.parametrize("mode", ["nearest", "key"])
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
        pieces.append(pairing.take_changes())

    assert standing(*pieces) == oracle(mode, history)


def test_the_same_reading_twice_is_a_duplicate_by_sequence_or_by_content():
    pairing = make("nearest")
    one = Reading("a", "x", 1.0, 5.0, u=1.0)
    numbered = Reading("a", "x", 2.0, 5.0, u=1.0, sequence="7")

    assert pairing.add_reading(one, 0, 0.0) == "accepted"
    assert pairing.add_reading(one, 0, 1.0) == "duplicate"
    assert pairing.add_reading(Reading("a", "x", 1.0, 6.0, u=1.0), 0, 1.0) == "accepted"
    assert pairing.add_reading(numbered, 0, 1.0) == "accepted"
    assert pairing.add_reading(numbered, 0, 1.0) == "duplicate"
    assert pairing.readings == 3


def test_the_same_reference_twice_is_a_duplicate():
    pairing = make("nearest")
    reference = Reference("a", "x", 1.0, 5.0)

    assert pairing.add_reference(reference, 0.0) == "accepted"
    assert pairing.add_reference(reference, 0.0) == "duplicate"


def test_what_expires_unpaired_is_counted_and_pairs_stay():
    pairing = make("nearest")
    feed(pairing, [Reading("a", "x", 1.0, 5.0, u=1.0), Reading("a", "x", 9.0, 5.0, u=1.0)])
    feed(pairing, [Reference("a", "x", 1.0, 4.0)])
    before = pairing.take_changes()
    pairing.expire(100.0)

    assert standing(before, pairing.take_changes()) == {(0, 1.0, 5.0, 4.0, 0.0)}
    assert pairing.expired_unpaired == 1
    assert pairing.readings == pairing.references == 0


def test_a_revision_reaches_a_pair_whose_reading_is_no_longer_held():
    pairing = make("nearest")
    pairing.add_reading(Reading("a", "x", 1.0, 5.0, u=1.0), 0, received=0.0)
    pairing.add_reference(Reference("a", "x", 1.0, 4.0, identity="s1"), received=50.0)
    before = pairing.take_changes()
    pairing.expire(10.0)
    pairing.add_reading(Reading("a", "x", 1.5, 6.0, u=1.0), 0, received=60.0)
    pairing.add_reference(Reference("a", "x", 1.0, 4.5, identity="s1", revision=1), received=61.0)

    assert standing(before, pairing.take_changes()) == {(0, 1.0, 5.0, 4.5, 0.0)}
