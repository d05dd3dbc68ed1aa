"""Two sensors are compared in one unit, on events that both saw."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from monitor.cli import main
from tests.commands.test_compare import compared, instants, table


@pytest.fixture
def two_units(tmp_path: Path) -> Path:
    """Return a sensor in kg and a better one in g that weighed the same things."""
    chance, file = np.random.default_rng(5), tmp_path / "units.csv"
    rows = []
    for at, time in enumerate(instants()):
        truth, kg, g = chance.normal(500.0, 40.0), *chance.normal(0.0, (9.0, 3000.0))
        rows.append(f"{time},a,kg,{truth + kg},9,{truth},{at + 1}")
        rows.append(f"{time},b,g,{1e3 * truth + g},3000,{1e3 * truth},{at + 1}")
    heads = "time,sensor,unit,value,sigma,reference,reference_event"
    file.write_text("\n".join([heads, *rows]) + "\n")
    return file


def test_sensors_in_different_units_are_not_compared(two_units, tmp_path, capsys):
    assert main(["compare", str(two_units), "--sensors", "a", "b"]) == 2
    assert "the two are in g and kg; convert one of them" in capsys.readouterr().err
    assert main(["report", str(two_units), "--out", str(tmp_path / "report.html")]) == 0
    assert "reads best" not in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_without_common_events_there_is_a_sentence(tmp_path, capsys):
    rows = [f"{time},{'ab'[at % 2]},m,1.0,1,{at},kg" for at, time in enumerate(instants())]
    found = compared(capsys, str(table(tmp_path / "apart.csv", rows)), "--sensors", "a", "b")

    assert found["events"] == [0, 0]
    assert "cannot be compared: they share no event" in found["sentences"][0]
