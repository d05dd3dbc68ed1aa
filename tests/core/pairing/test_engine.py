"""Pairing is a function of the set of observations: held against a brute-force oracle."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
import pytest
from harness.examples import examples
from harness.one_by_one import add_reading
from hypothesis import given
from hypothesis import strategies as st

from monitor.core.model import Reading, Records, Reference, in_event_order
from monitor.core.pairing import buffers
from monitor.core.pairing.buffers import ReadingBuffer, Watermarks
from monitor.core.pairing.engine import Pairing
from monitor.core.pairing.identities import encode
from monitor.core.pairing.join_index import Concern
from monitor.core.pairing.pairing_rules import PAIRING_RULES
from monitor.core.pairing.series_rules import PairUncertainty, Rules
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
