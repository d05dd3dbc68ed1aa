"""Pairing is a function of the set of observations: held against a brute-force oracle."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence

import msgspec
import numpy as np
import pytest
from harness.examples import examples
from harness.one_by_one import add_reading
from hypothesis import given
from hypothesis import strategies as st

from monitor.core.model import (
    Reading,
    Records,
    Reference,
    event_order,
    in_event_order,
)
from monitor.core.pairing import buffers, identities
from monitor.core.pairing.buffers import ReadingBuffer, Watermarks
from monitor.core.pairing.engine import Pairing
from monitor.core.pairing.identities import encode
from monitor.core.pairing.join_index import Concern
from monitor.core.pairing.pairing_rules import PAIRING_RULES
from monitor.core.pairing.series_rules import PairUncertainty, Rules
from monitor.journal import Batch, Journal
from monitor.journal.in_memory import InMemoryStore

TOLERANCE = 3.0
SERIES = {"a": 0, "b": 1}


def make(mode: str, match_on: Sequence[str] = ("subject", "key")) -> Pairing:
    rules = Rules(mode=mode, tolerance_seconds=TOLERANCE, reading_seconds=1.0, completeness=0.5)
    return Pairing(lambda _sensor, _quantity: rules, frozenset(match_on), InMemoryStore())


def feed(pairing: Pairing, observations: Sequence[Reading | Reference]) -> None:
    for at, observation in enumerate(observations):
        if isinstance(observation, Reading):
            add_reading(pairing, observation, SERIES[observation.sensor], float(at))
        else:
            pairing.add_reference(observation, float(at))


def standing(*changes: Records) -> set[tuple[object, ...]]:
    """The pairs that stand after changes, as (series, time, value, reference, u_ref)."""
    rows = in_event_order(np.concatenate(changes))
    names = ("series", "time", "value", "reference", "u_ref")
    found = [tuple(row[name].item() for name in names) for row in rows]
    assert len(found) == len(set(found))
    assert np.unique(rows["id"]).size == rows.size  # each was removed before it got another time
    return rounded(found)


def rounded(pairs) -> set[tuple[object, ...]]:
    return {(s, t, round(value, 9), reference, u) for s, t, value, reference, u in pairs}


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

    def lane_readings(lane: tuple[str, str], reference: Reference) -> list[Reading]:
        fitting = [r for r in readings.values() if agree(r, reference) and lane_of(r) == lane]
        return sorted(fitting, key=lambda r: r.time)

    def claimed(reading: Reading, reference: Reference) -> bool:
        close = abs(reading.time - reference.time) <= TOLERANCE
        return close and nearest_reference(reading) is reference

    pairs = set()
    for reference in references:
        for lane in {lane_of(reading) for reading in readings.values()}:
            around = lane_readings(lane, reference)
            for time, value in chosen(mode, reference, around, claimed):
                pairs.add((SERIES[lane[0]], time, value, reference.value, reference.u))
    return pairs


def chosen(mode, reference, around, claimed):
    """The (time, value) that a reference pairs with among the readings of one lane."""
    candidates = [r for r in around if claimed(r, reference)]
    nearest = min(around, key=lambda r: (abs(r.time - reference.time), r.time), default=None)
    before = [r for r in around if r.time <= reference.time]
    after = [r for r in around if r.time >= reference.time]
    inside = [r for r in around if reference.start <= r.time < reference.end]
    if mode == "all":
        return [(r.time, r.value) for r in candidates]
    if mode == "nearest":
        return [(nearest.time, nearest.value)] if nearest in candidates else []
    if mode == "first":
        return [(r.time, r.value) for r in candidates[:1]]
    if mode == "reject":
        return [(r.time, r.value) for r in candidates] if len(candidates) == 1 else []
    if mode == "asof":
        close = [r for r in before if reference.time - r.time <= TOLERANCE]
        return [(close[-1].time, close[-1].value)] if close else []
    if mode == "interpolate":
        return interpolated(reference, before, after)
    enough = len(inside) * 1.0 >= 0.5 * (reference.end - reference.start)
    mean = sum(r.value for r in inside) / len(inside) if inside else 0.0
    return [(reference.time, mean)] if inside and enough else []


def interpolated(reference, before, after):
    if after and after[0].time == reference.time:
        return [(after[0].time, after[0].value)]
    if not before or not after:
        return []
    one, other = before[-1], after[0]
    if max(reference.time - one.time, other.time - reference.time) > TOLERANCE:
        return []
    share = (reference.time - one.time) / (other.time - one.time)
    return [(reference.time, (1.0 - share) * one.value + share * other.value)]


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
            references.append(  # noqa: PERF401 - draws in order
                Reference(
                    subject,
                    "x",
                    at := draw(times) if draw(st.booleans()) and revision else time,
                    value=10.0 * n + revision,
                    u=0.5 * revision,
                    key=key,
                    identity=f"id{n}",
                    revision=revision,
                    void=bool(revision) and draw(st.booleans()),
                    start=at - draw(st.integers(0, 4)),
                    end=at + 2.0,
                )
            )
    return [*readings, *references]


@pytest.mark.parametrize("mode", list(PAIRING_RULES))
@pytest.mark.parametrize("match_on", [("subject", "key"), ("key",), ("subject",), ()])
@given(data=st.data())
@examples(30)
def test_any_order_and_repetition_gives_the_pairs_of_the_oracle(mode, match_on, data):
    history = data.draw(histories())
    arrival = data.draw(st.permutations(history))
    repeated = data.draw(st.lists(st.sampled_from(history), max_size=4)) if history else []
    pairing = make(mode, match_on)
    feed(pairing, [*arrival, *repeated])

    assert standing(pairing.drain_changes()) == rounded(oracle(mode, history, match_on))


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


def test_a_clock_that_stands_still_does_not_make_each_reading_dearer(monkeypatch):
    """All of a device's readings have one time: each finds its place in a few steps."""
    buffer = ReadingBuffer(0, ("a", "x", ""), Rules(), 5.0, Watermarks())
    encodes = 0

    def counted(reading):
        nonlocal encodes
        encodes += 1
        return encode(reading)

    monkeypatch.setattr(buffers, "encode", counted)
    values = np.random.default_rng(1).standard_normal(3000).tolist()
    for at, value in enumerate(values):
        assert buffer.insert(100.0, Reading("a", "x", 100.0, value, 1.0), float(at)) >= 0
    for value in values:
        assert buffer.insert(100.0, Reading("a", "x", 100.0, value, 1.0), 9e9) == -1

    assert encodes <= 2 * 3000 * 15


def test_the_same_reading_twice_is_a_duplicate_by_sequence_or_by_content():
    pairing = make("nearest")
    one = Reading("a", "x", 1.0, 5.0, u=1.0)
    numbered = Reading("a", "x", 2.0, 5.0, u=1.0, sequence="7")

    assert add_reading(pairing, one, 0, 0.0) == "accepted"
    assert add_reading(pairing, one, 0, 1.0) == "duplicate"
    assert add_reading(pairing, Reading("a", "x", 1.0, 6.0, u=1.0), 0, 1.0) == "accepted"
    assert add_reading(pairing, numbered, 0, 1.0) == "accepted"
    assert add_reading(pairing, numbered, 0, 1.0) == "duplicate"
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
    before = pairing.drain_changes()
    pairing.expire(100.0)

    assert standing(before, pairing.drain_changes()) == {(0, 1.0, 5.0, 4.0, 0.0)}
    assert pairing.expired_unpaired == 1
    assert pairing.readings == len(pairing.references) == 0


def test_a_revision_reaches_a_pair_whose_reading_is_no_longer_held():
    pairing = make("nearest")
    add_reading(pairing, Reading("a", "x", 1.0, 5.0, u=1.0), 0, received=0.0)
    pairing.add_reference(Reference("a", "x", 1.0, 4.0, identity="s1"), received=50.0)
    before = pairing.drain_changes()
    pairing.expire(10.0)
    add_reading(pairing, Reading("a", "x", 1.5, 6.0, u=1.0), 0, received=60.0)
    pairing.add_reference(Reference("a", "x", 1.0, 4.5, identity="s1", revision=1), received=61.0)

    assert standing(before, pairing.drain_changes()) == {(0, 1.0, 5.0, 4.5, 0.0)}


def one_pair(rules: Rules, readings, reference) -> dict[str, float]:
    pairing = Pairing(lambda _s, _q: rules, frozenset(("subject", "key")), InMemoryStore())
    feed(pairing, [*readings, reference])
    (row,) = in_event_order(pairing.drain_changes())
    return {name: row[name].item() for name in row.dtype.names}


def test_a_lag_shifts_readings_to_when_their_sample_was_taken():
    rules = Rules("asof", tolerance_seconds=10.0, lag_seconds=120.0)
    readings = [Reading("a", "x", 1000.0 + t, t, u=1.0) for t in (110.0, 119.0, 130.0)]

    assert one_pair(rules, readings, Reference("a", "x", 1000.0, 5.0))["value"] == 119.0


def test_the_uncertainty_of_a_mean_follows_the_stated_correlation():
    readings = [Reading("a", "x", float(t), 4.0, u=u) for t, u in ((0, 3.0), (1, 4.0))]
    reference = Reference("a", "x", 2.0, 5.0, start=0.0, end=2.0)

    def u_for(correlation: float) -> float:
        rules = Rules("mean_over_reference_interval", reading_seconds=1.0, correlation=correlation)
        return one_pair(rules, readings, reference)["u"]

    assert u_for(0.0) == pytest.approx(2.5)
    assert u_for(1.0) == pytest.approx(3.5)


def test_u_pair_grows_with_distance_in_time_and_space():
    uncertainty = PairUncertainty(per_sqrt_hour=4.0, per_hour=1.0, per_km=2.0)

    assert uncertainty.of(3600.0, 0.0) == pytest.approx(17.0**0.5)
    assert uncertainty.of(-4 * 3600.0, 1.5) == pytest.approx((64 + 16 + 9) ** 0.5)
    rules = Rules("all", tolerance_seconds=7200.0, uncertainty=uncertainty)
    pair = one_pair(rules, [Reading("a", "x", 0.0, 1.0, u=1.0)], Reference("a", "x", 3600.0, 5.0))
    assert pair["u_pair"] == pytest.approx(17.0**0.5)


@pytest.mark.parametrize("concern_first", [True, False])
def test_a_station_serves_the_sensors_beside_it_while_they_are_beside_it(concern_first):
    rules = Rules("nearest", tolerance_seconds=1.0)
    concern = Concern("S3", start=10.0, end=20.0, distance_km=0.002)
    pairing = Pairing(lambda _s, _q: rules, frozenset(("subject",)), InMemoryStore())
    readings = [Reading("a", "x", float(t), float(t), u=1.0) for t in (5, 15, 25)]
    references = [Reference("S3", "x", float(t), 100.0 + t) for t in (5, 15, 25)]
    if concern_first:
        feed(pairing, readings[:1])
        pairing.add_concern("a", concern)
        feed(pairing, [*references, *readings[1:]])
    else:
        feed(pairing, [*references, *readings])
        pairing.add_concern("a", concern)

    assert standing(pairing.drain_changes()) == {(0, 15.0, 15.0, 115.0, 0.0)}


def test_a_revision_of_a_reference_let_go_long_ago_reaches_its_pairs():
    store = InMemoryStore()
    rules = Rules("nearest", tolerance_seconds=1.0)
    pairing = Pairing(lambda _s, _q: rules, frozenset(("subject",)), store)
    first = Reference("a", "x", 1.0, 4.0, identity="r")
    revised = Reference("a", "x", 1.0, 4.5, identity="r", revision=2)

    def take(reference: Reference, received: float) -> str:
        verdict = pairing.add_reference(reference, received)
        store.append(Batch(observations=[reference], pairs=pairing.drain_changes()))
        pairing.expire(received + 1.0)
        return verdict

    feed(pairing, [Reading("a", "x", 1.0, 5.0, u=1.0)])
    assert take(first, 0.0) == "accepted"
    assert take(revised, 2e9) == "accepted"
    assert standing(store.pairs()) == {(0, 1.0, 5.0, 4.5, 0.0)}

    assert take(msgspec.structs.replace(revised, revision=1, value=9.0), 3e9) == "duplicate"
    assert take(first, 3e9) == "duplicate"
    assert take(revised, 3e9) == "duplicate"
    assert standing(store.pairs()) == {(0, 1.0, 5.0, 4.5, 0.0)}

    assert take(msgspec.structs.replace(revised, revision=6, void=True), 4e9) == "accepted"
    assert standing(store.pairs()) == set()
    assert pairing.corrections == 2


def test_a_reference_revised_without_end_costs_the_same_each_time(monkeypatch):
    """Live and when a journal is restored: of its contents only the last ones are remembered."""
    count, encoded = 20_000, itertools.count()

    def counting(message: object) -> bytes:
        next(encoded)
        return encode(message)

    monkeypatch.setattr(identities, "encode", counting)
    revisions = [
        Reference("a", "x", 1.0, float(at), identity="r", revision=at) for at in range(count)
    ]
    live, restored = make("nearest"), make("nearest")
    feed(live, [Reading("a", "x", 1.0, 5.0, u=1.0), *revisions])
    before = live.drain_changes()
    with restored.recalling():
        feed(restored, [Reading("a", "x", 1.0, 5.0, u=1.0), *revisions])
    names = [("a", "x")]
    restored.recall(before, event_order(before), names)

    assert next(encoded) < 2 * 10 * count
    for pairing in (live, restored):
        (held,) = (held for _, held in pairing.references)
        assert len(held.seen) <= 64
        assert [pairing.add_reference(each, 1.0) for each in revisions[-50:]] == ["duplicate"] * 50
        assert pairing.add_reference(revisions[7], 1.0) == "accepted"
        assert [row[8] for _, row in pairing.pairs_of_series(0)] == [count - 1.0]
        assert pairing.drain_changes().size == 0


@pytest.mark.parametrize("is_durable", [False, True])
@pytest.mark.parametrize("subject", ["a", "S3"])
@pytest.mark.parametrize("more", [{"revision": 1}, {"void": True}, {"void": True, "revision": 1}])
def test_a_correction_without_an_identity_reaches_pairs_of_a_reference_let_go(
    more, subject, is_durable, tmp_path
):
    store = Journal(tmp_path / "journal.sqlite") if is_durable else InMemoryStore()
    rules, beside = Rules("nearest", tolerance_seconds=2.0), Concern("S3")
    pairing = Pairing(
        lambda _s, _q: rules, frozenset(("subject",)), store, lambda _sensor: (beside,)
    )
    feed(pairing, [Reading("a", "x", 1.0, 5.0, u=1.0), Reading("b", "x", 9.0, 6.0, u=1.0)])
    first = Reference(subject, "x", 3.0, 4.0)
    for reference in (first, Reference("b", "x", 9.0, 4.0)):
        pairing.add_reference(reference, 3.0)
        store.append(Batch(observations=[reference], pairs=pairing.drain_changes()))
    pairing.expire(2e9)
    late = msgspec.structs.replace(first, value=4.5, **more)
    assert pairing.add_reference(late, 3e9) == "accepted"
    store.append(Batch(observations=[late], pairs=pairing.drain_changes()))
    assert pairing.add_reference(late, 3e9) == "duplicate"

    stands = set() if late.void else {(0, 1.0, 5.0, 4.5, 0.0)}
    assert standing(store.pairs()) == stands | {(1, 9.0, 6.0, 4.0, 0.0)}
    assert pairing.corrections == 1
    if is_durable:
        store.close()


def sample(subject: str, quantity: str, revision: int = 0) -> Reference:
    return Reference(subject, quantity, 1.0, 4.0, identity="S-1", revision=revision)


VOID = Reference("", "", float("nan"), float("nan"), identity="S-1", revision=2, void=True)


@pytest.mark.parametrize("arrival", list(itertools.permutations(range(5))))
def test_a_void_that_names_a_sample_alone_takes_back_all_of_that_name(arrival):
    """But not what was revised since: the highest revision stands, in any order."""
    messages = [
        Reading("a", "x", 1.0, 5.0, u=1.0),
        Reading("b", "x", 1.0, 6.0, u=1.0),
        sample("a", "x"),
        sample("b", "x", revision=4),
        VOID,
    ]
    store = InMemoryStore()
    rules = Rules("nearest", tolerance_seconds=1.0)
    pairing = Pairing(lambda _s, _q: rules, frozenset(("subject",)), store)
    feed(pairing, [messages[at] for at in arrival])

    assert standing(pairing.drain_changes()) == {(1, 1.0, 6.0, 4.0, 0.0)}
    for message in messages[2:]:
        assert pairing.add_reference(message, 9.0) == "duplicate"


def test_a_void_by_name_finds_references_that_are_no_longer_held():
    store = InMemoryStore()
    rules = Rules("nearest", tolerance_seconds=1.0)
    pairing = Pairing(lambda _s, _q: rules, frozenset(("subject",)), store)
    feed(pairing, [Reading("a", "x", 1.0, 5.0, u=1.0), sample("a", "x")])
    store.append(Batch(observations=[sample("a", "x")], pairs=pairing.drain_changes()))
    pairing.expire(1e9)
    pairing.add_reference(VOID, 2e9)
    store.append(Batch(observations=[VOID], pairs=pairing.drain_changes()))

    assert standing(store.pairs()) == set()
    pairing.expire(3e9)
    assert pairing.add_reference(sample("a", "x"), 4e9) == "duplicate"


def test_availability_is_the_share_of_references_that_came_with_a_reading():
    pairing = make("nearest")
    assert np.isnan(pairing.availability(0, 0.0))
    feed(pairing, [Reading("a", "x", float(t), 5.0, u=1.0) for t in (10, 20, 30)])
    assert np.isnan(pairing.availability(0, 10.0))
    feed(pairing, [Reference("a", "x", float(t), 4.0) for t in (5, 10, 20, 24.5, 30, 40)])

    # The one at 5 came before the sensor.
    assert pairing.availability(0, 10.0) == pytest.approx(3 / 5)
    assert pairing.drain_changed_series() == {0}
    assert pairing.drain_changed_series() == set()


def test_by_key_every_reference_of_the_subject_counts_for_availability():
    pairing = make("nearest", match_on=("key",))
    feed(pairing, [Reading("a", "x", float(t), 5.0, u=1.0, key=f"cow{t}") for t in (10, 20)])
    feed(pairing, [Reference("crush", "x", float(t), 4.0, key=f"cow{t}") for t in (10, 15, 20, 90)])

    assert pairing.availability(0, 10.0) == pytest.approx(2 / 4)


@pytest.mark.parametrize("mode", list(PAIRING_RULES))
def test_two_stations_beside_one_sensor_make_a_pair_each(mode):
    rules = Rules(mode, tolerance_seconds=2.0, reading_seconds=1.0, completeness=0.5)
    concerns = [Concern("S1", distance_km=1.0), Concern("S2", distance_km=2.0)]
    pairing = Pairing(
        lambda _s, _q: rules, frozenset(("subject",)), InMemoryStore(), lambda _sensor: concerns
    )
    feed(pairing, [Reading("a", "x", float(t), float(t), u=1.0) for t in (9, 10, 11)])
    for station, value in (("S1", 100.0), ("S2", 200.0)):
        pairing.add_reference(Reference(station, "x", 11.0, value, start=9.0, end=12.0), 0.0)

    made = {row[3] for row in standing(pairing.drain_changes())}
    assert made == ({100.0, 200.0} if mode != "reject" else set())


def test_times_of_collocation_that_overlap_count_a_reference_once():
    rules = Rules("nearest", tolerance_seconds=1.0)
    pairing = Pairing(lambda _s, _q: rules, frozenset(("subject",)), InMemoryStore())
    feed(pairing, [Reading("a", "x", float(t), 5.0, u=1.0) for t in range(10)])
    pairing.add_concern("a", Concern("S3", 0.0, 6.0))
    pairing.add_concern("a", Concern("S3", 4.0, 8.0))
    feed(pairing, [Reference("S3", "x", t + 0.25, 4.0) for t in range(12)])

    assert pairing.availability(0, 0.0) == 1.0


def test_a_void_by_name_holds_for_references_that_come_after_it_was_let_go():
    store = InMemoryStore()
    rules = Rules("nearest", tolerance_seconds=1.0)

    def fresh() -> Pairing:
        return Pairing(lambda _s, _q: rules, frozenset(("subject",)), store)

    pairing = fresh()
    pairing.add_reference(VOID, 0.0)
    store.append(Batch(observations=[VOID], pairs=pairing.drain_changes()))
    pairing.add_reference(sample("a", "x"), 50.0)
    store.append(Batch(observations=[sample("a", "x")], pairs=pairing.drain_changes()))
    pairing.expire(10.0)
    again = fresh()
    with again.recalling():
        again.add_reference(sample("a", "x"), 50.0)
    again.recall(store.pairs(), event_order(store.pairs()), [("a", "x"), ("b", "x")])
    late = fresh()
    late.add_reference(sample("b", "x"), 60.0)
    late.add_reference(sample("c", "x", revision=4), 60.0)

    for each in (pairing, again, late):
        feed(each, [Reading("a", "x", 1.0, 5.0, u=1.0), Reading("b", "x", 1.0, 5.0, u=1.0)])
        assert standing(each.drain_changes()) == set()


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


INTERVALS = ["interpolate", "mean_over_reference_interval"]


def of_intervals(mode: str, readings: list[Reading], level: float = 0.9) -> Records:
    rules = Rules(mode=mode, tolerance_seconds=60.0, reading_seconds=10.0, level=level)
    pairing = Pairing(
        lambda _sensor, _quantity: rules, frozenset(("subject", "key")), InMemoryStore()
    )
    feed(pairing, [*readings, Reference("a", "q", 10.0, 10.0, start=0.0, end=20.0)])
    return pairing.drain_changes()


@pytest.mark.parametrize("mode", INTERVALS)
def test_intervals_without_a_level_pair_alike_before_and_after_a_journal(mode):
    """In memory they share one NaN; each that a journal restores is an object of its own."""
    live = [Reading("a", "q", t, 10.0, lower=8.0, upper=12.0) for t in (0.0, 10.5, 20.0)]
    restored = msgspec.msgpack.decode(msgspec.msgpack.encode(live), type=list[Reading])
    found, again = of_intervals(mode, live), of_intervals(mode, restored)

    assert found.tobytes() == again.tobytes()
    assert (found["lower"].item(), found["upper"].item()) == (8.0, 12.0)


@pytest.mark.parametrize(("level", "u"), [(0.9, 1.0 + 1.0 / 1.6448536), (0.68268949, 2.0)])
def test_an_interval_beside_a_stated_u_has_the_level_of_its_series(level, u):
    readings = [Reading("a", "q", 0.0, 10.0, u=2.0)]
    readings.append(Reading("a", "q", 20.0, 10.0, lower=8.0, upper=12.0))

    assert of_intervals("interpolate", readings, level)["u"].item() == pytest.approx(u)


def test_a_revision_may_say_what_measured_the_reference():
    pairing = make("nearest")
    feed(pairing, [Reading("a", "q", 1.0, 10.0, 1.0), Reference("a", "q", 1.0, 10.0, identity="r")])
    named = Reference("a", "q", 1.0, 10.5, identity="r", revision=1, reference_id="station-7")
    feed(pairing, [named])

    (buffer,) = pairing.reference_buffers.values()
    assert buffer.has_reference_ids
