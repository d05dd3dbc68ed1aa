"""How far sensors side by side are apart, and which of them stood side by side."""

from __future__ import annotations

from math import sqrt
from pathlib import Path

import numpy as np
import pytest

from monitor.core.pairing.series_rules import SeriesRules
from monitor.extensions.targets.assessment import Question
from monitor.extensions.targets.recorded_targets import recorded_assessments
from monitor.extensions.targets.several_units import between_units
from monitor.report.recorded import read


def test_two_units_side_by_side_by_hand():
    # Differences 2, 2, 4, 0: u_bs^2 = 24 / (2 * 4) = 3; SD^2 = (2 + 2 + 8 + 0) / (4 * 2 - 1).
    one, other = np.array([10.0, 12.0, 9.0, 14.0]), np.array([12.0, 10.0, 13.0, 14.0])

    figures = between_units(np.stack([one, other]))

    assert figures["u_bs"].value == pytest.approx(sqrt(3.0))
    assert figures["SD"].value == pytest.approx(sqrt(12.0 / 7.0))
    assert figures["CV"].value == pytest.approx(sqrt(12.0 / 7.0) / 11.75)


def test_a_sensor_at_another_station_is_not_beside_the_others(tmp_path: Path):
    random = np.random.default_rng(6)
    lines = ["time,sensor,quantity,unit,value,u,reference"]
    for at in range(40):
        here, there = random.uniform(5.0, 40.0, 2)
        for sensor, truth in (("a", here), ("b", here), ("far", there)):
            value = truth + random.normal()
            day = f"2026-{3 + at // 31:02}-{1 + at % 31:02}"
            lines.append(f"{day}T12:00Z,{sensor},pm25,ug/m3,{value},1,{truth}")
    path = tmp_path / "pairs.csv"
    path.write_text("\n".join(lines) + "\n")
    recorded = read(path, SeriesRules())

    of = recorded_assessments(recorded, dict.fromkeys(range(3), Question("epa")))

    figures = [{each.target.figure for each in of[row].figures} for row in range(3)]
    assert [{"SD", "CV"} <= each for each in figures] == [True, True, False]


def test_without_times_units_are_compared_at_the_references_that_both_met(tmp_path: Path):
    random = np.random.default_rng(6)
    lines, apart = ["sensor,quantity,unit,value,u,reference,reference_event"], []
    for at in random.permutation(60).tolist():
        truth, errors = 5.0 + at, random.normal(size=2)
        met = [at != 7, at != 40]  # each lacks one reference of the other
        for sensor, error, is_there in zip("ab", errors, met, strict=True):
            if is_there:
                lines.append(f"{sensor},pm25,ug/m3,{truth + error},1,{truth},e{at}")
        if all(met):
            apart.append(errors[0] - errors[1])
    path = tmp_path / "pairs.csv"
    path.write_text("\n".join([lines[0], *lines[:0:-1]]) + "\n")

    of = recorded_assessments(read(path, SeriesRules()), dict.fromkeys(range(2), Question("eu")))

    (u_bs,) = (each for each in of[0].figures if each.target.figure == "u_bs")
    assert u_bs.estimate.value == pytest.approx(sqrt(np.mean(np.square(apart)) / 2.0))


def test_sensors_in_two_units_are_not_held_against_one_another(tmp_path: Path):
    lines = ["time,sensor,quantity,unit,value,u,reference"]
    for at in range(40):
        day, truth = f"2026-{3 + at // 31:02}-{1 + at % 31:02}", 10.0 + at % 7
        for sensor, unit, scale in (("a", "ug/m3", 1.0), ("b", "mg/m3", 1e-3)):
            numbers = f"{scale * (truth + at % 3)},{scale},{scale * truth}"
            lines.append(f"{day}T12:00Z,{sensor},pm25,{unit},{numbers}")
    path = tmp_path / "pairs.csv"
    path.write_text("\n".join(lines) + "\n")

    of = recorded_assessments(read(path, SeriesRules()), dict.fromkeys(range(2), Question("epa")))

    assert [each.unit for each in of.values()] == ["ug/m3", "mg/m3"]
    assert not {"SD", "CV"} & {each.target.figure for one in of.values() for each in one.figures}
