"""``monitor correct``."""

from __future__ import annotations

import csv

from monitor.cli import main
from tests.extensions.corrected.test_corrections import N, write


def test_the_command_prints_what_it_was_worth_and_writes_what_it_corrected(tmp_path, capsys):
    file, out = write(tmp_path / "pairs.csv", "honest", "drift"), tmp_path / "out.csv"

    assert main(["correct", str(file), "--out", str(out)]) == 0

    said = capsys.readouterr().out
    assert "honest mass: as sent; 90 % of references then lie within 1." in said
    assert "drift mass: subtract 1" in said
    with out.open() as lines:
        rows = list(csv.DictReader(lines))
    assert len(rows) == 2 * N
    last = [float(rows[-1][name]) for name in ("value", "corrected_value", "lower", "upper")]
    assert rows[-1]["sensor"] == "honest" or last[0] - last[1] > 8.0
    assert last[2] < last[1] < last[3]


def test_the_level_must_be_a_share(tmp_path, capsys):
    assert main(["correct", str(tmp_path / "none.csv"), "--level", "90"]) == 2
    assert "between 0 and 1; 90 % is 0.9" in capsys.readouterr().err
