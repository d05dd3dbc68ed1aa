"""A stream with a fault, and what a journal of it shows."""

from __future__ import annotations

import csv
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from monitor.cli import main
from monitor.core.formatting import instant
from monitor.extensions.due.due_dates import OF_DUE_DATES

BEGAN = 1_772_000_000.0
PAIRS = 120
HEADS = ("time", "sensor", "quantity", "kind", "value", "sigma", "unit")
# What depends on the moment of a question, as due dates do, and what the replay adds.
OF_THE_MOMENT = {"last_reading", "raised", "due", "due_seconds"} | {
    each.name for each in OF_DUE_DATES
}


def stream(path: Path, *, times: float = 1.0, less: float = 0.0) -> Path:
    """Write the readings of three sensors, one of which reads 5 high from its pair 50 on.

    References are 5 or 20 s later. ``times`` and ``less`` change u and values of that sensor.
    """
    random = np.random.default_rng(46)
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file)
        table.writerow(HEADS)
        for at in range(PAIRS):
            for sensor, off in (("right", 0.0), ("high", 5.0 * (at >= 50)), ("wide", 0.0)):
                when, true = BEGAN + 60.0 * at, 20.0 + random.normal()
                value, u = true + off + random.normal(), 3.0 if sensor == "wide" else 1.0
                if sensor == "high":
                    value, u = value - less, u * times
                reading = (instant(when), sensor, "t", "reading", value, u, "C")
                later = when + (5.0 if at % 2 else 20.0)
                reference = (instant(later), sensor, "t", "reference", true, 0.1, "C")
                table.writerows((reading, reference))
    return path


def without_moment(entry: Mapping) -> dict:
    """Return the interface's document of a series without what depends on the moment."""
    numbers = {key: one for key, one in entry["statistics"].items() if key not in OF_THE_MOMENT}
    rest = {key: one for key, one in entry.items() if key not in OF_THE_MOMENT}
    return rest | {"statistics": numbers}


def answers(capsys, *options: str) -> dict:
    """Return the document of ``monitor what-if`` with these options."""
    code = main(["what-if", *options, "--json"])
    shown = capsys.readouterr()
    assert code == 0, shown.err
    return json.loads(shown.out)


def settings_file(folder: Path, more: str = "") -> Path:
    """Write settings whose journal is in a folder."""
    folder.mkdir(exist_ok=True)
    file = folder / "monitor.yaml"
    file.write_text(f"mqtt: {{port: 1}}\njournal: {{path: journal.sqlite}}\n{more}")
    return file


def judged(capsys, folder: Path, recorded: Path, more: str = "") -> list[dict]:
    """Return what a journal of a stream shows that had these settings from the beginning."""
    settings = settings_file(folder, more)
    assert main(["replay", str(recorded), "--config", str(settings), "--direct"]) == 0
    capsys.readouterr()
    document = answers(capsys, "--config", str(settings))
    assert document["changes"] == []
    return [without_moment(each["was"]) for each in document["series"]]


@pytest.fixture
def config(tmp_path, capsys) -> Path:
    """Settings with a journal that has the stream."""
    settings = settings_file(tmp_path / "own")
    recorded = stream(tmp_path / "stream.csv")
    assert main(["replay", str(recorded), "--config", str(settings), "--direct"]) == 0
    capsys.readouterr()
    return settings


def digest(folder: Path) -> dict[str, str]:
    """Return what the files of a journal hold."""
    files = folder.glob("journal.sqlite*")
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}
