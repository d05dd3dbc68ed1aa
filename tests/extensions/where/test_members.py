"""What the interface describes of covariates is what files print, too."""

from __future__ import annotations

import json

from harness.members import assert_described

from monitor.cli import main
from tests.extensions.where.test_covariate_keeper import stamp, warmed


def test_a_file_prints_the_members_that_the_interface_describes(tmp_path, capsys):
    file = tmp_path / "pairs.csv"
    lines = ["time,sensor,quantity,value,sigma,reference,rh"]
    lines += [f"{stamp(t)},a,x,{v!r},1,{r!r},{h!r}" for t, v, r, h in warmed(200)]
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")

    assert main(["score", str(file), "--covariates", "hour,rh", "--json"]) == 0
    (series,) = json.loads(capsys.readouterr().out)["series"]
    assert series["explained_by"]["covariate"] == "rh"
    assert_described("where", series)
