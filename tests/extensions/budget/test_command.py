"""Whose uncertainty is wrong: command, page and document of the same pairs."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import numpy as np
import pytest

from monitor.cli import main

HOSTILE = "<b>&\"'"


def streams(events: int):
    random = np.random.default_rng(2)
    truth = 20.0 + random.normal(size=events)
    reference = truth + 0.3 * random.normal(size=events)
    return reference, {
        "good": truth + random.normal(size=events),
        HOSTILE: truth + 3.0 * random.normal(size=events),
    }


@pytest.fixture
def file(tmp_path):
    reference, values = streams(150)
    rows = ["time,sensor,quantity,value,sigma,reference,reference_sigma"]
    for name, value in values.items():
        quoted = name.replace('"', '""')
        for at, (v, r) in enumerate(zip(value, reference, strict=True)):
            when = datetime.fromtimestamp(1.77e9 + 60 * at, UTC).isoformat()
            rows.append(f'{when},"{quoted}",t,{v:.5f},1,{r:.5f},0.3')
    path = tmp_path / "pairs.csv"
    path.write_text("\n".join(rows))
    return path


def test_the_command_names_who_understates(file, capsys):
    assert main(["budget", str(file), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    told = {each["name"]: each["verdict"] for each in found["views"]}
    assert told == {"good": "", HOSTILE: "understated", "reference": ""}
    assert main(["budget", str(file)]) == 0
    assert "its uncertainty is understated" in capsys.readouterr().out


def test_what_of_the_file_is_not_used_is_said_beside_the_answer(file, tmp_path, capsys):
    head, *rows = file.read_text().splitlines()
    path = tmp_path / "noted.csv"
    path.write_text("\n".join([f"{head},note", *(f"{row},x" for row in rows)]) + "\n")

    assert main(["budget", str(path)]) == 0
    assert f"{path}: columns not used: note" in capsys.readouterr().err


def test_one_sensor_is_told_that_it_takes_three_views(file, capsys):
    assert main(["budget", str(file), "--sensors", "good"]) == 0
    assert "three are needed" in capsys.readouterr().out


@pytest.mark.parametrize("options", [["--sensors", "nobody"], ["--quantity", "mass"]])
def test_who_is_not_there_is_told(file, capsys, options):
    assert main(["budget", str(file), *options]) == 2
    assert "good (t)" in capsys.readouterr().err
