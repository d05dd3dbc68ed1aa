"""What a network says of its references and its messages, beside what it says of sensors."""

from __future__ import annotations

import re

import msgspec
import numpy as np
import pytest

from monitor.core.fleet.presence import Refusals
from monitor.core.model import Event, Reading, Reference
from monitor.core.pairing.join_index import Concern
from monitor.core.pairing.series_rules import Rules, SeriesRules, Systematic
from monitor.core.registry import Limits, SeriesKey
from monitor.core.snapshot.snapshot import COMPARED, LATE, LOST, compared
from monitor.core.state.core_settings import CoreSettings
from monitor.core.state.network import Network
from monitor.journal import Batch
from monitor.journal.in_memory import InMemoryStore

RULES = SeriesRules(unit="ppb", window_pairs=200, pairing=Rules("nearest", 30.0))
HOUR = 3600.0


class Town:
    """Sensors beside stations, hour by hour."""

    def __init__(self, stations: dict[str, str], common: float | None = None) -> None:
        """Take the station of each sensor, and what is declared of their errors."""
        self.stations = stations
        self.rules = RULES._replace(systematic=Systematic(common=common))
        self.store = InMemoryStore()
        self.network = self.started()

    def started(self) -> Network:
        plan = CoreSettings(
            lambda _s, _q: self.rules,
            lambda sensor: [Concern(self.stations[sensor])],
            limits=Limits(100, 1000),
            window_pairs_max=200,
            max_wait_seconds=1e9,
        )
        return Network(plan, self.store)

    def hours(self, first, last, seed, sensor_off=None, station_off=None):
        chance = np.random.default_rng(seed)
        seen = []
        for hour in range(first, last):
            for name in sorted(set(self.stations.values())):
                value = 40.0 + (station_off or {}).get(name, 0.0)
                seen.append(Reference(name, "o3", hour * HOUR, value, u=0.2))
            for at, sensor in enumerate(self.stations):
                value = 40.0 + 2.0 * chance.standard_normal() + (sensor_off or {}).get(sensor, 0.0)
                seen.append(Reading(sensor, "o3", hour * HOUR + 0.1 * at, value, u=2.0))
        return seen

    def take(self, observations, received=0.0):
        outcome = self.network.observe(observations, received)
        self.store.append(
            Batch(observations=observations, pairs=outcome.pairs, series=outcome.series)
        )
        self.network.apply(outcome.pairs)
        return outcome.pairs

    def active(self, alert, now=0.0):
        snapshot = self.network.evaluate(now)
        rows = np.flatnonzero(snapshot.alerts[alert]).tolist()
        return [snapshot.names[row].sensor for row in rows]


ONE = {f"s{at}": "A" for at in range(8)}
TWO = ONE | {f"t{at}": "B" for at in range(6)}


def test_a_reference_that_is_off_is_suspected_and_its_sensors_are_not():
    town = Town(ONE)
    town.take(town.hours(0, 40, 1) + town.hours(40, 80, 2, station_off={"A": -3.0}))
    snapshot = town.network.evaluate(0.0)
    (found,) = snapshot.suspects

    assert (found.reference, found.quantity, found.sensors) == ("A", "o3", 8)
    assert found.estimate.lower < -3.0 < found.estimate.upper
    assert found.estimate.upper - found.estimate.lower < 3.0
    assert abs(found.since - 40 * HOUR) <= 3 * HOUR
    assert found.sentence.startswith("either reference A reads ")
    assert "or 8 of the 8 sensors that met it share a fault: compare one " in found.sentence
    assert "firing" in snapshot.states
    assert town.active("offset") == []
    assert town.active("reference_suspect") == list(ONE)
    assert not snapshot.paged.any()
    assert found.sentence in snapshot.sentences[0]
    assert set(snapshot.advice) == {""}


def six_high(common):
    """Return what is said of six sensors that are all 1.5 u high, of a reference that is right."""
    town = Town({f"s{at}": "A" for at in range(6)}, common)
    off = dict.fromkeys(town.stations, 3.0)
    town.take(town.hours(0, 30, 1) + town.hours(30, 110, 2, sensor_off=off))
    return town, town.network.evaluate(0.0)


def test_sensors_that_are_declared_to_err_alone_leave_the_fault_to_their_reference():
    town, snapshot = six_high(0.0)
    (found,) = snapshot.suspects

    assert town.active("offset") == []
    assert town.active("reference_suspect") == list(town.stations)
    assert re.fullmatch(
        r"reference A reads [23]\.\d+ ppb low \(.*\), since .* UTC: 6 of the 6 sensors that met it "
        "agree with each other",
        found.sentence,
    )


def test_sensors_that_are_declared_to_err_together_have_the_fault_themselves():
    town, snapshot = six_high(0.9)

    assert snapshot.suspects == ()
    assert town.active("reference_suspect") == []
    assert town.active("offset") == list(town.stations)
    for sentence in snapshot.sentences:
        assert re.match(r"reads [23]\.\d+ ppb high ", sentence)
        assert sentence.endswith("(6 of the 6 sensors that met reference A share this fault)")
    assert all(snapshot.advice)


def test_under_a_reference_that_looks_wrong_no_sensor_is_called_right():
    town, chance = Town(ONE), np.random.default_rng(5)
    calm = town.hours(0, 120, 1)
    town.take(calm)
    before = town.network.evaluate(0.0)
    right = {row for row in range(8) if before.verdict(row).state == "right"}
    assert right

    noisy = [
        msgspec.structs.replace(each, value=each.value + 1.5 * chance.standard_normal())
        if isinstance(each, Reference)
        else each
        for each in town.hours(120, 160, 3)
    ]
    town.take(noisy)
    snapshot = town.network.evaluate(0.0)
    (found,) = snapshot.suspects
    ok = [row for row in range(8) if snapshot.states[row] == "ok"]

    assert ok
    for row in ok:
        assert snapshot.sentences[row] == f"cannot be judged ({found.sentence})"
        assert snapshot.verdict(row).state == "undecided"


def test_of_two_references_the_one_that_is_off_is_named_and_a_bad_sensor_stays_one():
    town = Town(TWO)
    town.take(town.hours(0, 30, 1))
    town.take(town.hours(30, 70, 2, station_off={"B": 3.0}, sensor_off={"s1": 5.0, "t2": -9.0}))
    snapshot = town.network.evaluate(0.0)

    assert [each.reference for each in snapshot.suspects] == ["B"]
    assert town.active("offset") == ["s1", "t2"]
    advised = {
        name.sensor for name, said in zip(snapshot.names, snapshot.advice, strict=True) if said
    }
    assert advised == {"s1", "t2"}
    assert town.active("reference_suspect") == [f"t{at}" for at in range(6) if at != 2]


def test_one_bad_sensor_accuses_nobody():
    town = Town({f"s{at}": "A" for at in range(5)})
    town.take(town.hours(0, 30, 1) + town.hours(30, 80, 2, sensor_off={"s3": 6.0}))

    assert town.network.evaluate(0.0).suspects == ()
    assert town.active("offset") == ["s3"]


def test_a_repaired_reference_is_suspected_no_longer():
    town = Town(ONE)
    town.take(town.hours(0, 40, 2, station_off={"A": -3.0}))
    assert town.active("reference_suspect") == list(ONE)

    town.take(town.hours(40, 110, 3))

    assert town.network.evaluate(0.0).suspects == ()


def test_a_restart_changes_nothing_of_what_is_said_of_references():
    town = Town(ONE)
    observations = town.hours(0, 40, 1) + town.hours(40, 60, 2, station_off={"A": -3.0})
    town.take(observations)
    before = town.network.evaluate(0.0).suspects

    again = town.started()
    again.restore_series(town.store.series())
    again.restore([(0.0, observations)])
    again.recall(town.store.pairs())
    town.network = again

    assert len(before) == 1
    assert again.evaluate(0.0).suspects == before


# --- references that stop, messages that cannot be used ------------------------------------------


def only_readings(first, last):
    return [Reading("s0", "o3", hour * HOUR, 40.0, u=2.0) for hour in range(first, last)]


@pytest.mark.parametrize(
    ("hours", "state", "active"), [(20, "ok", []), (30, "stale", ["s0"]), (60, "unknown", ["s0"])]
)
def test_a_series_whose_references_stop_is_stale_then_unknown_and_never_ok(hours, state, active):
    town = Town({"s0": "A"})
    town.take(town.hours(0, 40, 1) + only_readings(40, 40 + hours))
    snapshot = town.network.evaluate(0.0)

    assert snapshot.states == (state,)
    assert town.active("reference_stale") == active
    assert snapshot.withdrawn.tolist() == [state == "unknown"]
    assert ("no reference for" in snapshot.sentences[0]) is bool(active)


def test_an_alert_outlives_its_references():
    town = Town({"s0": "A"})
    town.take(town.hours(0, 60, 1, sensor_off={"s0": 9.0}) + only_readings(60, 150))
    snapshot = town.network.evaluate(0.0)

    assert town.active("offset") == ["s0"]
    assert "so it is not known whether it is right; before: reads" in snapshot.sentences[0]


@pytest.mark.parametrize(
    ("age", "gap", "at_least", "found"),
    [
        (10.0, 5.0, 9.0, COMPARED),
        (16.0, 5.0, 9.0, LATE),
        (31.0, 5.0, 9.0, LOST),
        (16.0, 5.0, 20.0, COMPARED),
        (16.0, np.nan, 9.0, LATE),
        (np.nan, 5.0, 9.0, COMPARED),
    ],
)
def test_late_is_three_usual_gaps_and_no_less_than_the_setting(age, gap, at_least, found):
    parts = (np.array([part]) for part in (100.0 + age, 100.0, gap, at_least))

    assert compared(*parts).tolist() == [found]


def test_an_adjusted_sensor_begins_without_evidence_and_with_its_autocorrelation():
    town = Town({"s0": "A"})
    town.take(town.hours(0, 60, 1, sensor_off={"s0": 9.0}))
    town.network.evaluate(0.0)
    detector, one = town.network.detector, np.zeros(1, np.int64)
    learnt = detector.records(one)["d1"][0]
    assert detector.discounted(one)[0] > 1e4

    town.take([Event("s0", 60 * HOUR, "recalibrated")])

    assert town.active("offset") == []
    assert detector.evidence(one)[0] == detector.discounted(one)[0] == 0.0
    assert detector.records(one)["d1"][0] == learnt


def keys(*sensors):
    return [SeriesKey(sensor, "o3") for sensor in sensors]


def test_the_share_of_refused_messages_is_that_of_the_last_few_hundred():
    refusals = Refusals(2)
    for _ in range(100):
        refusals.took(np.zeros(9, np.int64))
        refusals.took(np.ones(10, np.int64))
        refusals.refuse("a")
        shares = refusals.shares(keys("a", "b"))

    assert shares[0] == pytest.approx(0.1, abs=0.01)
    assert shares[1] == 0.0

    refusals.took(np.zeros(600, np.int64))

    assert refusals.shares(keys("a", "b"))[0] < 0.01


def test_a_sensor_that_long_sent_what_could_be_used_is_told_of_as_soon_as_any():
    refusals = Refusals(1)
    refusals.took(np.zeros(100_000, np.int64))
    refusals.shares(keys("a"))
    for _ in range(50):
        refusals.refuse("a")

    assert refusals.shares(keys("a"))[0] == pytest.approx(1 - np.exp(-50 / 200), abs=0.01)


def test_a_few_messages_are_no_share():
    refusals = Refusals(1)
    refusals.took(np.zeros(5, np.int64))
    for _ in range(5):
        refusals.refuse("a")

    assert refusals.shares(keys("a")).tolist() == [0.0]


def test_a_sensor_whose_messages_are_refused_is_told_of():
    town = Town(ONE)
    town.take(town.hours(0, 40, 1))
    for _ in range(10):
        town.network.refusals.refuse("s3")

    assert town.active("rejected_share") == ["s3"]
    assert "of its messages could not be used" in town.network.evaluate(0.0).sentences[3]

    assert town.network.evict(400 * 24 * HOUR, 90.0) == len(ONE)
    assert town.active("rejected_share", 400 * 24 * HOUR) == []
