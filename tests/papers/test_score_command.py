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


def scored(path: Path, *options: str) -> list[dict]:
    command = [sys.executable, "-m", "monitor", "score", str(path), "--json", *options]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["series"]


def wrong(series: dict, figures: dict) -> list[str]:
    """Return the figures that are not within their tolerance; each must be there.

    Only the sets of the paper have a beta_GM.
    """
    found = []
    for name, (statistic, factor) in FIGURES.items():
        if name == "beta_gm_u_harrell_davis" and name not in figures:
            continue
        figure = figures[name]
        wanted, got = figure["value"] * factor, series["statistics"][statistic]
        absolute = figure.get("atol", 0.0) * abs(factor)
        if not abs(got - wanted) <= max(abs(wanted) * figure.get("rtol", 0.0), absolute, 1e-15):
            found.append(f"{name}: {got!r}, not {wanted!r}")
    return found


@pytest.mark.parametrize("number", [1, 2, 3, 4, 5])
def test_pernots_sets_give_the_figures_of_expected_json(number, shared_data):
    expected = json.loads((shared_data / "expected.json").read_text())
    figures = expected["sets"][f"pernot_set{number}"]
    (series,) = scored(shared_data / f"pernot_set{number}.csv", "--bca")

    assert series["n"] == figures["n"]
    assert wrong(series, figures["exact"]) == []
    for name in ("zms", "rce"):
        want, got = figures["bootstrap"][name], series["intervals"][name]
        assert got["method"] == "bca"
        for key, field in (
            ("lo", "lower"), ("hi", "upper"), ("zeta", "zeta"), ("bias", "bias"),
        ):  # fmt: skip
            assert abs(got[field] - want[key]["mean"]) <= want[key]["tol"], (name, key)


@pytest.mark.parametrize(
    ("file", "name", "part"),
    [
        ("airquality_pairs.csv.gz", "airquality", "exact_all_weeks"),
        ("airquality_stream.csv.gz", "airquality", "exact_all_weeks"),
        ("uwb_pairs.csv", "uwb", "exact"),
        ("uwb_stream.csv", "uwb", "exact"),
    ],
)
def test_sensors_give_the_figures_of_expected_json_from_pairs_and_from_a_stream(
    file, name, part, shared_data
):
    """The pairs' files state sigma and its rounded interval without alpha: sigma counts."""
    expected = json.loads((shared_data / "expected.json").read_text())
    figures = expected["sets"][name][part]
    found = {series["sensor"]: series for series in scored(shared_data / file)}

    assert set(found) == set(figures) - {"all"}
    for sensor, series in found.items():
        assert series["n"] == figures[sensor]["n"]
        assert wrong(series, figures[sensor]) == []


def test_an_interval_without_its_level_gives_way_to_sigma_and_one_with_it_does_not(tmp_path):
    bare, stated = tmp_path / "bare.csv", tmp_path / "stated.csv"
    bare.write_text("value,sigma,lower,upper,reference\n" + "0,1,-3,3,2\n" * 2)
    stated.write_text("value,sigma,lower,upper,alpha,reference\n" + "0,1,-3,3,0.1,2\n" * 2)

    (told,), (untold,) = scored(stated), scored(bare)

    assert told["statistics"]["bandwidth"] == 3.0
    assert untold["statistics"]["bandwidth"] == pytest.approx(1.6448536269514722)
    assert told["statistics"]["crps"] == untold["statistics"]["crps"]


def test_intervals_alone_give_the_figures_of_expected_json(shared_data):
    expected = json.loads((shared_data / "expected.json").read_text())["sets"]
    (wine,), (sample,) = (
        scored(shared_data / name) for name in ("wine_gbr.csv", "ucc_sample.csv.gz")
    )
    names = {
        "coverage": "coverage", "crps_tophat": "crps_tophat", "brier_tophat": "quadratic_tophat",
        "interval_alpha_0_1": "interval", "missrate": "miss_rate", "bandwidth": "bandwidth",
        "auucc_bw_miss_exact": "auucc", "const_bw_miss_exact": "auucc_constant",
    }  # fmt: skip
    for series, want in (
        (wine, expected["wine_gbr"]),
        (sample, expected["ucc_sample"]["segments"]["all"]),
    ):
        assert series["n"] == want["n"]
        for name in names.keys() & want.keys():
            got = series["statistics"][names[name]]
            assert got == pytest.approx(want[name], rel=1e-9), name
