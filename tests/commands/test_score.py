"""Commands that read pairs take the layout of the file."""

from __future__ import annotations

from pathlib import Path

import pytest

from monitor.cli import main
from monitor.errors import BAD_INPUT, USAGE
from tests.files.conftest import written

__all__ = ["written"]


@pytest.mark.parametrize(
    "words",
    [
        ["score"],
        ["report", "--out", "report.html"],
        ["compare"],
        ["correct"],
        ["due", "--tolerance", "5"],
        ["budget"],
    ],
)
def test_every_command_that_reads_pairs_takes_the_layout(tmp_path, monkeypatch, capsys, words):
    monkeypatch.chdir(tmp_path)
    rows = [
        f"0{1 + at // 24}.03.2026 {at % 24}:30;{each};{20 + at % 7},5;0,5;{20 + at % 7},{at % 9}"
        for at in range(100)
        for each in "abc"
    ]
    Path("pairs.csv").write_text("\n".join(["when;sensor;value;u;reference", *rows]) + "\n")
    written = ["--columns", "time=when", "--time-format", "%d.%m.%Y %H:%M", "--decimal-comma"]
    sensors = ["--sensors", "a", "b"] if words == ["compare"] else []

    command = [*words[:1], "pairs.csv", *words[1:], *sensors, *written]
    assert main([*command, "--time-zone", "Europe/Berlin"]) == 0, capsys.readouterr().err
    assert main(command) == BAD_INPUT
    assert main([*command, "--time-zone", "Mars"]) == USAGE
    assert "--time-zone: 'Mars' is not a time zone" in capsys.readouterr().err
