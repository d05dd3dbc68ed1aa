"""Of many that pair, those that do not are told, each with its cause and its nearest miss."""

from __future__ import annotations

import pytest
from harness.one_by_one import add_reading

from monitor.core.model import Reading, Reference
from monitor.core.pairing.engine import Pairing
from monitor.core.pairing.join_index import Concern
from monitor.core.pairing.series_rules import Rules
from monitor.core.pairing.unpaired_members import MEMBER_CAUSES, Member, examine_members
from monitor.journal.in_memory import InMemoryStore

NEAREST = Rules("nearest", tolerance_seconds=60.0)
HONEST = ("s1", "s2", "s3")
HOUR = 3600.0


class Yard:
    """Three sensors with a reading and a reference each hour, and what a test adds."""

    def __init__(self, match_on=("subject", "key"), concerns=(), rules=NEAREST) -> None:
        self.pairing = Pairing(
            lambda _s, _q: rules, frozenset(match_on), InMemoryStore(), lambda _sensor: concerns
        )
        self._series: dict[str, int] = {}

    def honest(self) -> Yard:
        for sensor in HONEST:
            self.reads(sensor)
            self.refers(sensor)
        return self

    def reads(self, sensor: str, off: float = 0.0, late: float = 1.0, key: str = "") -> None:
        """Send ten readings an hour apart, whose stamps are ``off`` and which come ``late``."""
        series = self._series.setdefault(sensor, len(self._series))
        for n in range(10):
            time = n * HOUR
            own = Reading(sensor, "mass", time + off, 1.0, u=1.0, key=f"{key}{n}" if key else "")
            add_reading(self.pairing, own, series, time + late)

    def refers(self, subject: str, key: str = "") -> None:
        for n in range(10):
            own = Reference(subject, "mass", n * HOUR + 5.0, 1.0, key=f"{key}{n}" if key else "")
            self.pairing.add_reference(own, n * HOUR + 6.0)

    def found(self) -> list[Member]:
        return examine_members(self.pairing)


def test_of_those_that_pair_nothing_is_said():
    assert Yard().honest().found() == []
    assert Yard().found() == []


def test_a_misspelt_subject_is_told_with_the_sensor_it_means():
    yard = Yard().honest()
    yard.reads("cart-04")
    yard.refers("Cart 04")
    yard.refers("elsewhere")
    told, other = sorted(yard.found(), key=lambda each: each.name)

    assert (told.name, told.cause, told.nearest) == ("cart-04", "subject", ("cart-04", "Cart 04"))
    assert (told.readings, told.references, told.paired) == (10, 0, 0)
    assert (other.name, other.cause, other.references) == ("elsewhere", "no_sensor", 10)


def test_a_sensor_that_states_times_ten_minutes_ago_is_told_by_its_gap_and_its_clock():
    yard = Yard().honest()
    yard.reads("s4", off=-600.0)
    yard.refers("s4")
    (told,) = yard.found()

    assert (told.name, told.cause, told.paired) == ("s4", "clock", 0)
    assert told.late_seconds - told.usual_seconds == 600.0


def test_a_slow_clock_is_told_also_of_a_sensor_that_pairs():
    """With readings every ten minutes, one that is ten minutes slow pairs with wrong ones."""
    yard = Yard().honest()
    yard.reads("s4", off=-600.0)
    for n in range(1, 10):
        reference = Reference("s4", "mass", n * HOUR - 595.0, 1.0)
        yard.pairing.add_reference(reference, n * HOUR)
    (told,) = yard.found()

    assert (told.cause, told.paired) == ("clock", 9)


@pytest.mark.parametrize("prompt", [1, 2, 3])
def test_a_sensor_that_sends_at_once_beside_stored_readings_has_no_fast_clock(prompt):
    yard = Yard()
    for at in range(prompt):
        yard.reads(f"s{at}")
        yard.refers(f"s{at}")
    for at in range(4):
        yard.reads(f"stored{at}", late=205.65 * 24.0 * HOUR)
        yard.refers(f"stored{at}")

    assert not any(each.name.startswith("s") and each.name[1:].isdigit() for each in yard.found())


def test_one_clock_that_is_years_slow_is_still_told():
    yard = Yard().honest()
    yard.reads("s4", late=20_000.0 * 24.0 * HOUR)
    yard.refers("s4")

    assert [(each.name, each.cause) for each in yard.found()] == [("s4", "clock")]


def test_readings_that_are_gathered_and_sent_together_are_no_clock():
    yard = Yard().honest()
    for n in range(100):  # an hour's readings at once: the last of them is in time
        reading = Reading("s4", "mass", n * 60.0, 1.0, u=1.0)
        add_reading(yard.pairing, reading, 9, (n // 60 + 1) * HOUR)
    yard.refers("s4")

    assert [each.cause for each in yard.found()] == []


def test_readings_too_far_from_their_references_without_a_clock_to_blame():
    yard = Yard().honest()
    yard.reads("s4", off=-600.0, late=-599.0)  # sends ten minutes before, in time
    yard.refers("s4")
    (told,) = yard.found()

    assert (told.cause, told.gap_seconds, told.tolerance_seconds) == ("tolerance", -605.0, 60.0)


def test_references_of_a_time_when_their_subject_stood_elsewhere():
    yard = Yard(concerns=[Concern("S3", -2.0 * HOUR, -HOUR)]).honest()
    yard.reads("s4")
    yard.refers("S3")
    (told,) = yard.found()

    assert (told.name, told.cause, told.references) == ("s4", "collocation", 10)


def test_each_pair_of_a_slow_clock_is_counted():
    yard = Yard(rules=Rules("all", tolerance_seconds=10.0 * HOUR)).honest()
    yard.reads("s4", off=-600.0)
    yard.pairing.add_reference(Reference("s4", "mass", 5.0 * HOUR, 1.0), 5.0 * HOUR)
    (told,) = yard.found()

    assert (told.cause, told.paired) == ("clock", 10)


def test_keys_of_one_sensor_that_nearly_agree():
    yard = Yard()
    for sensor in HONEST:
        yard.reads(sensor, key=f"{sensor}/")
        yard.refers(sensor, key=f"{sensor}/")
    yard.reads("s4", key="s4 ")
    yard.refers("s4", key="s4-")
    (told,) = yard.found()

    assert (told.name, told.cause, told.references) == ("s4", "key", 10)
    assert told.nearest is not None
    assert told.nearest[0].replace(" ", "-") == told.nearest[1]


def test_what_concerns_by_area_is_no_stray_subject():
    yard = Yard(concerns=[Concern("station")])
    for sensor in HONEST:
        yard.reads(sensor)
    yard.refers("station")
    assert yard.found() == []

    yard.refers("staton")
    (told,) = yard.found()
    assert (told.name, told.cause) == ("staton", "no_sensor")


@pytest.mark.parametrize(
    ("rules", "cause"),
    [(Rules("asof", 60.0), "side"), (Rules("mean_over_reference_interval"), "interval")],
)
def test_what_its_mode_missed(rules, cause):
    yard = Yard(rules=rules)
    yard.reads("s4", off=20.0, late=21.0)
    yard.refers("s4")
    (told,) = yard.found()

    assert (told.cause, told.mode) == (cause, rules.mode)
    assert {each.cause for each in yard.found()} <= set(MEMBER_CAUSES)
