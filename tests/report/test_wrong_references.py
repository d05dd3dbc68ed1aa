"""References of recorded files that were wrong for a time: who is told of, and of what."""

from __future__ import annotations

import csv
import re
from datetime import UTC, datetime

import numpy as np
import pytest

from monitor.core.pairing.series_rules import SeriesRules, Systematic
from monitor.extensions.corrected import corrections
from monitor.report.recorded import read
from monitor.report.scored import Scored
from tests.core.fleet import test_late_clocks as late_clocks
from tests.core.fleet.test_former_suspicions import ONSET, REPAIR, WRONG, world

START, HOUR = 1_772_323_200.0, 3600.0
SENSORS, ROUNDS = 20, 200


def scored(tmp_path, value, reference, common=None, *, exported=False):
    """Return what a file of pairs with one reference is scored as.

    ``exported``: each sensor's references have identities of their own, as in a daemon.
    """
    path = tmp_path / "pairs.csv"
    with path.open("w", newline="", encoding="utf-8") as out:
        rows = csv.writer(out)
        head = ["time", "sensor", "quantity", "unit", "value", "sigma", "reference"]
        rows.writerow([*head, "reference_sigma", *(["reference_event"] if exported else [])])
        for at, one in enumerate(reference):
            time = datetime.fromtimestamp(START + HOUR * at, UTC).isoformat()
            for i, each in enumerate(value[at]):
                event = [f"{i} {at}"] if exported else []
                row = [time, f"s{i:02}", "o3", "ppb", float(each), 1.0, float(one), 0.2]
                rows.writerow([*row, *event])
    rules = SeriesRules(level=0.9, systematic=Systematic(common=common))
    return Scored(read(path, rules), 0.9)


def test_sensors_that_are_their_own_subjects_share_the_reference_all_the_same(tmp_path):
    value, reference = world("offset", 3, SENSORS, ROUNDS)

    found, exported = (scored(tmp_path, value, reference, exported=each) for each in (False, True))

    assert exported.verdicts[3].sentence == found.verdicts[3].sentence
    assert "pairs left out: " in exported.verdicts[3].sentence
    assert not any(each.fault for each in exported.verdicts)


def test_a_fault_beside_a_reference_that_may_be_wrong_has_no_advice(tmp_path):
    value, reference = world("offset", 3, SENSORS, ROUNDS)
    value[:, 7] += 5.0
    found = scored(tmp_path, value[:REPAIR], reference[:REPAIR])

    assert found.verdicts[7].fault == "offset"
    assert re.search(r" high \(.*\(either its reference reads ", found.verdicts[7].sentence)
    assert found.verdicts[7].advice == ""


@pytest.mark.parametrize("kind", WRONG)
def test_a_wrong_reference_is_no_fault_of_the_sensors_of_a_file(tmp_path, kind):
    value, reference = world(kind, 3, SENSORS, ROUNDS)
    value[120:, 7] += 2.0
    found = scored(tmp_path, value, reference)
    own = {each["sensor"] for each in found.incidents if not each["explained"]}
    explained = [each for each in found.incidents if each["explained"]]

    assert "s07" in own
    assert len(own) <= 3
    assert explained or kind == "gain"
    for each in explained:
        since = datetime.fromisoformat(each["fired"]).timestamp()
        assert START + HOUR * (ONSET - 1) <= since <= START + HOUR * REPAIR
        assert " its reference " in f" {each['explained']}"
        assert (" or " in each["explained"]) == (kind in ("offset", "gain"))
    faults = [each.fault for row, each in enumerate(found.verdicts) if row != 7]
    assert sum(map(bool, faults)) <= 1
    assert found.verdicts[7].fault == "offset"
    (left_out,) = re.findall(r"(\d+) pairs left out: ", found.verdicts[3].sentence)
    assert abs(int(left_out) - (REPAIR - ONSET)) <= 5
    lines = "\n".join(found.lines())
    assert lines.count("would be held back: ") == bool(explained)


def test_a_reference_that_is_wrong_to_the_end_is_told_in_the_present(tmp_path):
    value, reference = world("offset", 4, SENSORS, REPAIR)
    found = scored(tmp_path, value, reference)

    assert found.wrong
    assert all(each.until == np.inf for of in found.wrong.values() for each in of)
    explained = [each["explained"] for each in found.incidents if each["explained"]]
    assert len(explained) >= len(found.incidents) - 1
    assert all(
        each.startswith("either its reference reads 0.90 ppb high (0.80 to") for each in explained
    )
    assert sum(bool(each.fault) for each in found.verdicts) <= 1
    in_doubt = [each for each in found.verdicts if not each.fault]
    assert {each.state for each in in_doubt} == {"undecided"}
    assert all(each.sentence.startswith("cannot be judged; ") for each in in_doubt)


def six_high(seed):
    """Return values of six sensors that are all 1.5 u high, and of their right reference."""
    chance = np.random.default_rng([20261127, seed])
    truth = 100.0 + 3.0 * chance.standard_normal(300)
    value = truth[:, None] + 1.5 + chance.standard_normal((300, 6))
    return value, truth + 0.2 * chance.standard_normal(300)


def test_what_is_declared_of_sensors_decides_whose_their_common_offset_is(tmp_path):
    theirs = scored(tmp_path, *six_high(1), common=0.9)

    assert {each.fault for each in theirs.verdicts} == {"offset"}
    for each in theirs.verdicts:
        assert re.match(r"reads 1\.[3-7]\d* ppb high ", each.sentence)
        assert each.sentence.endswith(
            "(6 of the 6 sensors that met its reference share this fault)"
        )
    assert not any(each["explained"] for each in theirs.incidents)

    of_reference = scored(tmp_path, *six_high(1), common=0.0)
    assert not any(each.fault for each in of_reference.verdicts)
    for each in of_reference.verdicts:
        assert each.sentence.startswith("cannot be judged; ")
        assert re.search(r": its reference reads 1\.[3-7]\d* ppb low ", each.sentence)
        assert each.sentence.endswith(" of the 6 sensors that met it agree with each other")


@pytest.mark.parametrize("seed", range(4))
def test_six_sensors_that_share_an_offset_are_not_right_and_neither_is_their_reference(
    tmp_path, seed
):
    found = scored(tmp_path, *six_high(seed))

    assert "right" not in {each.state for each in found.verdicts}
    for each in found.verdicts:
        assert re.search(
            r"either its reference reads 1\.[3-7]\d* ppb low \(.*\), since .* UTC, or [56] of the "
            "6 sensors that met it share a fault: compare one of them with another reference$",
            each.sentence,
        )


def test_sensors_of_a_late_clock_are_held_back_in_a_file_and_one_that_is_high_is_not(tmp_path):
    found = scored(tmp_path, *late_clocks.world(2, 3))
    own = [each for each in found.incidents if not each["explained"]]

    assert {each["sensor"] for each in own} == {"s00", "s01"}
    assert {each.fault for each in found.verdicts[:2]} == {"offset"}
    assert not any(each.fault for each in found.verdicts[2:])
    for each in found.incidents:
        assert each["explained"] is None or " has a clock 2 h late (2 pairs), " in each["explained"]
    assert len(found.incidents) > len(own)


def test_a_wrong_reference_corrects_no_sensor(tmp_path, monkeypatch):
    found = scored(tmp_path, *world("offset", 5, SENSORS, ROUNDS))

    def changed():
        every = corrections.corrections(found.recorded, 0.9)
        return {each.name.sensor for each in every if len(each.corrected.adopted.steps) > 1}

    assert changed() == set()
    monkeypatch.setattr(corrections, "explaining", lambda *_: None)
    assert len(changed()) == 1


def test_honest_references_explain_nothing_and_nothing_is_left_out(tmp_path):
    value, reference = world("", 5, SENSORS, ROUNDS)
    value[60:, 2] += 2.0
    found = scored(tmp_path, value, reference)

    assert found.wrong == {}
    assert {each["sensor"] for each in found.incidents} >= {"s02"}
    assert not any("left out" in each.sentence for each in found.verdicts)


def test_sensors_with_references_of_their_own_share_none(tmp_path):
    value, reference = world("offset", 6, SENSORS, ROUNDS)
    others = np.random.default_rng(6).normal(0.0, 3.0, value.shape)
    path = tmp_path / "pairs.csv"
    with path.open("w", newline="", encoding="utf-8") as out:
        rows = csv.writer(out)
        rows.writerow(["time", "sensor", "value", "sigma", "reference"])
        for at, i in np.ndindex(value.shape):
            time = datetime.fromtimestamp(START + HOUR * at, UTC).isoformat()
            off = others[at, i]
            rows.writerow([time, f"s{i}", value[at, i] + off, 1.0, reference[at] + off])

    assert Scored(read(path, SeriesRules(level=0.9)), 0.9).wrong == {}


def test_two_stations_that_agree_once_are_two(tmp_path):
    """Five sensors each: together they could accuse what neither of them meets alone."""
    value, right = world("", 3, SENSORS, ROUNDS)
    other = right + 20.0 * (np.arange(ROUNDS) != 7)  # what the second one says at that time
    path = tmp_path / "pairs.csv"
    with path.open("w", newline="", encoding="utf-8") as out:
        rows = csv.writer(out)
        rows.writerow(["time", "sensor", "value", "sigma", "reference", "reference_sigma"])
        for at, one in enumerate(right):
            time = datetime.fromtimestamp(START + HOUR * at, UTC).isoformat()
            off = 3.0 * (at >= ONSET)
            for i, each in enumerate(value[at]):
                second = i >= SENSORS // 2
                reference = (other if second else right)[at]
                shown = float(each - one + reference) + off * second
                rows.writerow([time, f"s{i:02}", shown, 1.0, float(reference), 0.2])
    found = Scored(read(path, SeriesRules(level=0.9)), 0.9)

    names = found.recorded.names
    assert {int(names[row].sensor[1:]) for row in found.wrong} <= {*range(SENSORS // 2, SENSORS)}
    assert {each.sensors for of in found.wrong.values() for each in of} == {SENSORS // 2}


def test_references_of_two_units_are_apart_though_they_share_a_number(tmp_path):
    value, reference = world("offset", 3, SENSORS, ROUNDS)
    path = tmp_path / "pairs.csv"
    with path.open("w", newline="", encoding="utf-8") as out:
        rows = csv.writer(out)
        rows.writerow(["time", "sensor", "unit", "value", "sigma", "reference", "reference_sigma"])
        for at, one in enumerate(reference):
            time = datetime.fromtimestamp(START + HOUR * at, UTC).isoformat()
            other = one if at == 0 else one + 20.0  # a number in common joins no references
            for i, each in enumerate(value[at]):
                rows.writerow([time, f"o{i:02}", "ppb", float(each), 1.0, float(one), 0.2])
                moist = float(other + each - value[at].mean())
                rows.writerow([time, f"r{i:02}", "%", moist, 1.0, float(other), 0.2])
    found = Scored(read(path, SeriesRules(level=0.9)), 0.9)

    assert found.wrong
    assert {each.unit for of in found.wrong.values() for each in of} == {"ppb"}
    names = found.recorded.names
    assert {names[row].sensor[0] for row in found.wrong} == {"o"}
