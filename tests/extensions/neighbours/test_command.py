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


def as_table(stream_path: Path, path: Path) -> list[str]:
    """Write a stream as a table with a column for each sensor and one that few rows fill."""
    value: dict[str, dict[str, str]] = {}
    for line in stream_path.read_text().splitlines()[1:]:
        stamp, sensor, _, kind, number, *_ = line.split(",")
        value.setdefault(stamp, {})[sensor if kind == "reading" else "reference"] = number
    names = sorted({name for each in value.values() for name in each} - {"reference"})
    rows = [["time", *names, "reference"]]
    rows += [
        [stamp, *(each.get(name, "") for name in rows[0][1:])] for stamp, each in value.items()
    ]
    path.write_text("\n".join(map(",".join, rows)) + "\n")
    return ["neighbours", str(path), "--wide", "n*", "--assume-u", "3", "--json"]


def test_a_table_whose_rows_mostly_lack_a_reference_says_what_the_stream_says(tmp_path, capsys):
    path = stream(tmp_path / "town.csv", 6, off=6.0)
    of_stream = told(path, capsys)
    assert main(as_table(path, tmp_path / "wide.csv")) == 0
    of_table = {each["sensor"]: each for each in json.loads(capsys.readouterr().out)}

    assert of_table["n0"]["state"] == "apart"
    units = {"quantity", "sentence"}  # a table of sensors names neither quantity nor unit
    for name, each in of_stream.items():
        assert {**each, **dict.fromkeys(units)} == {**of_table[name], **dict.fromkeys(units)}


def test_a_table_without_times_or_references_says_so(tmp_path, capsys):
    path = tmp_path / "pairs.csv"
    path.write_text("sensor,value,sigma,reference\na,1,1,1\n")
    assert main(["neighbours", str(path)]) == 2
    assert "has no times" in capsys.readouterr().err

    rows = [f"2026-01-{day:02}T{hour:02}:00:00Z,{name},1,1," for day in range(1, 5)
            for hour in range(24) for name in "abcd"]  # fmt: skip
    path.write_text("\n".join(["time,sensor,value,sigma,reference", *rows]) + "\n")
    assert {each["state"] for each in told(path, capsys).values()} == {"no_pair"}


def test_two_sensors_of_two_channels_are_four_views(tmp_path, capsys):
    path = stream(tmp_path / "town.csv", 4, off=6.0)
    text = path.read_text()
    for sensor, quantity in (("n1", "pm_b"), ("n3", "pm_b"), ("n0", "pm_a"), ("n2", "pm_a")):
        same = "n0" if sensor == "n1" else "n2" if sensor == "n3" else sensor
        text = text.replace(f",{sensor},pm,", f",{same},{quantity},")
    path.write_text(text)

    assert {each["state"] for each in told(path, capsys).values()} == {"few"}
    assert main(["neighbours", str(path), "--json", "--channels", "pm_a, pm_b"]) == 0
    series = json.loads(capsys.readouterr().out)
    apart = [(each["sensor"], each["quantity"]) for each in series if each["state"] == "apart"]
    assert apart == [("n0", "pm_a")]


def test_an_unreadable_file_is_refused(tmp_path, capsys):
    path = tmp_path / "town.csv"
    path.write_text(f"{HEAD}\nyesterday,n0,pm,reading,1,1,m\n")

    assert main(["neighbours", str(path)]) != 0
    assert "yesterday" in capsys.readouterr().err
