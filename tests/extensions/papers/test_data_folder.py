"""A folder of recorded data: packed, missing or of no use."""

from __future__ import annotations

import gzip
import re

import pytest

from monitor.cli import main
from tests.extensions.papers.conftest import written
from tests.extensions.papers.test_command import QUICK


@pytest.mark.parametrize(
    ("words", "files"),
    [
        (("martin",), ("seed000_fig1.csv", "seed000_fig2.csv")),
        (("pernot", *QUICK), tuple(f"pernot_set{n}.csv" for n in range(1, 6))),
        (("navratil",), ("ucc_sample.csv", "wine_gbr.csv")),
    ],
    ids=lambda each: each[0],
)
def test_a_missing_file_is_said_with_what_it_would_have_shown(words, files, tmp_path, capsys):
    assert main(["reproduce", *words, "--data", str(tmp_path)]) == 0
    said = " ".join(capsys.readouterr().out.split())
    for name in files:
        assert re.search(rf"{name} is not in \S+: left out is \w[^.]{{5,}}\.", said), name

    assert main(["reproduce", *words]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "With --data FOLDER" in said
    assert all(name in said for name in files)


def test_a_file_may_be_packed(tmp_path, own, capsys):
    plain = (own[0] / "pernot_set1.csv").read_bytes()
    (tmp_path / "pernot_set1.csv.gz").write_bytes(gzip.compress(plain))
    assert main(["reproduce", "pernot", "--data", str(tmp_path), *QUICK]) == 0
    packed = capsys.readouterr().out
    assert main(["reproduce", "pernot", "--data", str(own[0]), *QUICK]) == 0

    assert capsys.readouterr().out.split("pernot_set2.csv")[0] == packed.split("pernot_set2.csv")[0]


def test_data_of_no_use_are_left_out_in_words(tmp_path, capsys):
    """A set of three pairs has no interval; one without a band has no curve."""
    written(tmp_path / "pernot_set1.csv", ("value", "sigma", "reference"), [0, 0, 0], [1, 1, 2], [1, -1, 0])  # fmt: skip  # noqa: E501
    written(
        tmp_path / "wine_gbr.csv", ("value", "lower", "upper", "reference"),
        [1, 2], [2, 3], [3, 4], [1, 1],
    )  # fmt: skip
    written(
        tmp_path / "ucc_sample.csv", ("value", "lower", "upper", "reference"),
        [1, 2], [0, 1], [3, 4], [1, 1],
    )  # fmt: skip

    assert main(["reproduce", "pernot", "--data", str(tmp_path), *QUICK]) == 0
    assert main(["reproduce", "navratil", "--data", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    assert "Left out is set 1: pernot_set1.csv has 3 pairs, below 50." in said
    assert "Left out is wine: no value lies within its own interval." in said
    assert "nan" not in said
