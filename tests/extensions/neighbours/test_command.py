"""``monitor neighbours`` on recorded streams."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from monitor.cli import main

START = 1_767_225_600.0
HEAD = "time,sensor,quantity,kind,value,sigma,unit"


def stream(
    path: Path, sensors: int, *, off: float = 0.0, every: int = 30, last: int = 70, days: int = 95
) -> Path:
    """Six readings a day; the first sensor is ``off`` from day 75 on; a reference now and then."""
    random = np.random.default_rng(2)
    rows = [HEAD]
    for hour in range(0, 24 * days, 4):
        day = hour // 24
        common = 40.0 + 8.0 * np.sin(day / 9.0) + 3.0 * np.sin(hour / 24.0 * 2.0 * np.pi)
        stamp = datetime.fromtimestamp(START + 3600.0 * hour, UTC).isoformat()
        for at in range(sensors):
            value = common + random.normal() + (off if at == 0 and day >= 75 else 0.0)
            rows.append(f"{stamp},n{at},pm,reading,{value:.4f},3,ug/m3")
            if every and day % every == 3 and hour % 24 == 12 and day < last:
                rows.append(f"{stamp},n{at},pm,reference,{common:.4f},0.5,ug/m3")
    path.write_text("\n".join(rows) + "\n")
    return path


def told(path: Path, capsys) -> dict[str, dict]:
    assert main(["neighbours", str(path), "--json"]) == 0
    return {each["sensor"]: each for each in json.loads(capsys.readouterr().out)}


def test_who_left_its_neighbours_is_named_and_nobody_else(tmp_path, capsys):
    path = stream(tmp_path / "town.csv", 6, off=6.0)
    found = told(path, capsys)

    assert {name for name, each in found.items() if each["state"] == "apart"} == {"n0"}
    assert found["n0"]["lower"] < 6.0 < found["n0"]["upper"]
    assert main(["neighbours", str(path)]) == 0
    (line,) = [each for each in capsys.readouterr().out.splitlines() if each.startswith("n0")]
    assert line.startswith("n0 pm: quiet for 31 d since its last reference; its neighbours say +")
    assert line.endswith(": compare it with a reference next")


@pytest.mark.parametrize(
    ("sensors", "options", "state", "reason"),
    [
        (2, {}, "few", "it has 1 neighbour; it takes 3"),
        (1, {}, "few", "it has 0 neighbours"),
        (6, {"last": 0}, "no_pair", "without a reference"),
        (6, {"days": 8}, "learning", "say nothing yet"),
    ],
)
def test_where_nothing_is_claimed_the_sentence_says_why(
    tmp_path, capsys, sensors, options, state, reason
):
    path = stream(tmp_path / "town.csv", sensors, off=50.0, **options)
    if not options.get("last", 1):  # a stream in which only a stranger has a reference
        with path.open("a") as out:
            stamp = datetime.fromtimestamp(START, UTC).isoformat()
            out.write(f"{stamp},z,pm,reading,1,1,m\n{stamp},z,pm,reference,1,1,m\n")
    found = told(path, capsys)["n0"]

    assert found["state"] == state
    assert reason in found["sentence"]
    assert found["shift"] is None


def test_a_file_of_pairs_is_refused_with_what_it_takes(tmp_path, capsys):
    path = tmp_path / "pairs.csv"
    path.write_text("time,sensor,value,sigma,reference\n2026-01-01T00:00:00Z,a,1,1,1\n")

    assert main(["neighbours", str(path)]) == 2
    assert "it takes a stream" in capsys.readouterr().err


def test_an_unreadable_file_is_refused(tmp_path, capsys):
    path = tmp_path / "town.csv"
    path.write_text(f"{HEAD}\nyesterday,n0,pm,reading,1,1,m\n")

    assert main(["neighbours", str(path)]) != 0
    assert "yesterday" in capsys.readouterr().err
