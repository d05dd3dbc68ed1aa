"""``monitor score --json`` gives the figures that the data must give."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

# Figure of expected.json -> statistic, and the factor between them.
FIGURES = {
    "crps_gauss": ("crps", 1.0),
    "norm_score": ("norm", 1.0),
    "quadratic_gauss": ("quadratic", 1.0),
    "crps_tophat90": ("crps_tophat", 1.0),
    "brier_tophat90": ("quadratic_tophat", 1.0),
    "interval90": ("interval", 1.0),
    "mean_error": ("bias", -1.0),
    "mean_z": ("z_mean", -1.0),
    "mae": ("mae", 1.0),
    "zms": ("zms", 1.0),
    "rce": ("rce", 1.0),
    "nll": ("nll", 1.0),
    "coverage90": ("coverage", 1.0),
    "ucc90_missrate": ("miss_rate", 1.0),
    "ucc90_bandwidth": ("bandwidth", 1.0),
    "ucc90_excess": ("excess", 1.0),
    "ucc90_deficit": ("deficit", 1.0),
    "auucc_bw_miss_exact": ("auucc", 1.0),
    "auucc_const_exact": ("auucc_constant", 1.0),
    "gain_bw_miss_exact_pct": ("auucc_gain", 0.01),
    "beta_gm_u_harrell_davis": ("beta_gm", 1.0),
    "ence_10": ("ence", 1.0),
}


def scored(path: Path) -> list[dict]:
    command = [sys.executable, "-m", "monitor", "score", str(path), "--json", "--bca"]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["series"]


@pytest.mark.parametrize("number", [1, 2, 3, 4, 5])
def test_pernots_sets_give_the_figures_of_expected_json(number, shared_data):
    expected = json.loads((shared_data / "expected.json").read_text())
    figures = expected["sets"][f"pernot_set{number}"]
    (series,) = scored(shared_data / f"pernot_set{number}.csv")
    checked = 0
    for name, (statistic, factor) in FIGURES.items():
        if name in figures["exact"]:
            figure = figures["exact"][name]
            wanted = figure["value"] * factor
            got = series["statistics"][statistic]
            absolute = figure.get("atol", 0.0) * abs(factor)
            tolerance = max(abs(wanted) * figure.get("rtol", 0.0), absolute, 1e-15)
            assert abs(got - wanted) <= tolerance, name
            checked += 1

    assert series["n"] == figures["n"]
    assert checked >= 15
