"""``monitor reproduce``: every number beside an independent one, and what is missing in words."""

from __future__ import annotations

import re

import numpy as np
import pytest

from monitor.cli import main
from tests.extensions.papers.conftest import written

QUICK = ("--sets", "20", "--pairs", "100")


# -- the command --------------------------------------------------------------------------------


@pytest.mark.parametrize("words", [("martin",), ("pernot", *QUICK), ("navratil",)], ids=lambda w: w[0])  # fmt: skip  # noqa: E501
def test_twice_the_same_bytes_and_every_figure_is_on_the_page(words, tmp_path, own, capsys):
    for name in ("one", "two"):
        assert (
            main(["reproduce", *words, "--data", str(own[0]), "--out", str(tmp_path / name)]) == 0
        )
    one, two = (
        {path.name: path.read_bytes() for path in (tmp_path / name).iterdir()}
        for name in ("one", "two")
    )

    assert one == two
    page = one[f"{words[0]}.md"].decode()
    assert set(re.findall(r"\]\(([^)]+\.svg)\)", page)) == set(one) - {f"{words[0]}.md"}
    said = capsys.readouterr()
    assert "figures beside it" in said.err
    assert len(said.out) > 1000


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("martin", "--data", "{}/nowhere"), 2, "is not there; name the folder"),
        (("martin", "--data", "{}/a-file"), 2, "is not a folder; name the folder"),
        (("martin", "--out", "{}/a-file"), 73, "cannot be written"),
        (("martin", "--data", "{}/bad"), 65, "no column 'x0'"),
        (("pernot", "--data", "{}/bad"), 65, "pernot_set1.csv"),
        (("navratil", "--data", "{}/bad"), 65, "ucc_sample.csv"),
        (("navratil", "--cost", "1.5"), 2, "must be 0 to 1"),
        (("navratil", "--cost", "nan"), 2, "must be 0 to 1"),
        (("pernot", "--sets", "0"), 2, "at least 1 set"),
        (("pernot", "--pairs", "5"), 2, "at least 20 pairs"),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(words, code, said, tmp_path, capsys):
    (tmp_path / "a-file").write_text("no folder", encoding="utf-8")
    bad = tmp_path / "bad"
    bad.mkdir()
    (bad / "seed000_fig1.csv").write_text("x,y\n1,2\n", encoding="utf-8")
    (bad / "pernot_set1.csv").write_text("value,sigma\n1,2\n", encoding="utf-8")
    (bad / "ucc_sample.csv").write_text("value,lower,upper,reference\n1,x,3,2\n", encoding="utf-8")

    assert main(["reproduce", *(word.format(tmp_path) for word in words)]) == code

    told = capsys.readouterr()
    assert said in told.err
    assert told.out == ""


def test_a_constant_u_and_equal_errors_end_in_no_exception(tmp_path):
    heads = ("value", "sigma", "reference")
    written(tmp_path / "pernot_set1.csv", heads, np.zeros(60), np.ones(60), np.ones(60))
    written(tmp_path / "pernot_set2.csv", heads, np.zeros(60), np.ones(60), np.linspace(-2, 2, 60))

    assert main(["reproduce", "pernot", "--data", str(tmp_path), *QUICK]) == 0
