"""``monitor compare``: two sensors on their common events, two parts of one; against the core."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from monitor.cli import main

N = 120


def table(path: Path, rows: list[str]) -> Path:
    path.write_text("time,sensor,quantity,value,sigma,reference,unit\n" + "\n".join(rows) + "\n")
    return path


def instants() -> list[str]:
    return [f"2026-03-{1 + at // 24:02}T{at % 24:02}:00:00Z" for at in range(N)]


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    """Return three sensors: near, far and late (near at first, then 9 kg heavy)."""
    chance = np.random.default_rng(3)
    rows = []
    for at, time in enumerate(instants()):
        truth = chance.normal(500.0, 40.0)
        for sensor, bias, sd in (("near", 0, 2.0), ("far", 0, 8.0), ("late", 9.0 * (at >= 80), 2)):
            value = truth + bias + sd * chance.normal()
            rows.append(f"{time},{sensor},mass,{value:.3f},{sd},{truth:.3f},kg")
    return table(tmp_path / "fleet.csv", rows)


def compared(capsys, *arguments: str) -> dict:
    assert main(["compare", *arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_the_nearer_sensor_wins_on_the_common_events(fleet, capsys):
    found = compared(capsys, str(fleet), "--sensors", "near", "far")
    rows = [line.split(",") for line in fleet.read_text().splitlines()[1:]]
    mae = [
        np.mean([abs(float(row[3]) - float(row[5])) for row in rows if row[1] == name])
        for name in ("near", "far")
    ]

    assert found["events"] == [N, N]
    assert found["sentences"][0].startswith(f"On {N} common events near reads better")
    assert found["scores"]["crps"]["p"] <= 0.001
    assert found["savings"]["mae"] == pytest.approx(1.0 - mae[0] / mae[1], rel=1e-9)


def test_constant_uncertainties_save_nothing_not_what_rounding_leaves(fleet, capsys):
    found = compared(capsys, str(fleet), "--sensors", "near", "far")["uncertainty"]
    names = ("first", "second", "difference", "saved_at_first", "saved_at_second")
    assert [found[name] for name in names] == [0.0] * 5


def test_where_there_is_no_error_no_uncertainty_is_the_more_useful(tmp_path, capsys):
    rows = [f"{time},s,mass,{at},1,{at + (at >= 60)},kg" for at, time in enumerate(instants())]
    path = table(tmp_path / "exact.csv", rows)

    found = compared(capsys, str(path), "--sensors", "s")

    assert found["sentences"][-1] == (
        "Neither uncertainty is clearly more useful (areas saved 0 against 0, p = 1)."
    )
    assert (found["uncertainty"]["first"], found["uncertainty"]["p"]) == (0.0, 1.0)
    exact = table(tmp_path / "all.csv", [f"{time},s,mass,1,1,1,kg" for time in instants()])
    assert main(["compare", str(exact), "--sensors", "s"]) == 0
    said = capsys.readouterr()
    assert "nan" not in said.out
    assert "cost of the intervals as stated: the same in both" in said.out
    assert said.err == ""


def test_raw_curves_of_different_values_are_refused_in_words_and_savings_offered(fleet, capsys):
    found = compared(capsys, str(fleet), "--sensors", "near", "far")

    assert found["uncertainty"]["measure"] == "auucc_gain"
    assert found["uncertainty"]["crossovers"] is None
    assert found["uncertainty"]["width_saved"] is None
    assert any("raw curves are not compared" in said for said in found["sentences"])
    # Constant uncertainties save nothing, whichever sensor reads nearer (C Fig. 11).
    assert found["uncertainty"]["first"] == pytest.approx(0.0, abs=1e-9)
    assert found["uncertainty"]["second"] == pytest.approx(0.0, abs=1e-9)


@pytest.fixture
def firmware(tmp_path: Path) -> Path:
    """Return two claims about the same values: u that tells, and the same in any order."""
    chance = np.random.default_rng(5)
    u = np.exp(chance.normal(0.0, 0.8, N))
    other, rows = chance.permutation(u), []
    for at, time in enumerate(instants()):
        value = chance.normal(0.0, 9.0)
        reference = value + u[at] * chance.normal()
        rows += [
            f"{time},{name},mass,{value:.6f},{sigma:.6f},{reference:.6f},kg"
            for name, sigma in (("v1", other[at]), ("v2", u[at]))
        ]
    return table(tmp_path / "firmware.csv", rows)


def test_two_claims_about_the_same_values_have_their_areas_compared(firmware, capsys):
    found = compared(capsys, str(firmware), "--sensors", "v2", "v1", "--miss", "0.2")["uncertainty"]
    rows = [line.split(",") for line in firmware.read_text().splitlines()[1:]]
    areas, widths = [], []
    for name in ("v2", "v1"):
        mine = np.array([[float(row[at]) for at in (3, 4, 5)] for row in rows if row[1] == name])
        half = 1.6448536269514722 * mine[:, 1]
        scale = np.abs(mine[:, 0] - mine[:, 2]) / half
        areas.append(half.mean() * scale.mean())
        widths.append(half.mean() * np.sort(scale)[N - int(0.2 * N) - 1])

    assert found["measure"] == "auucc"
    assert [found["first"], found["second"]] == pytest.approx(areas, rel=1e-9)
    assert found["p"] < 0.01
    assert found["width_saved"] == pytest.approx(1.0 - widths[0] / widths[1], rel=1e-9)
    assert found["saved_at_first"] > found["saved_at_second"]
    assert isinstance(found["crossovers"], list)


def test_curves_are_in_units_of_the_references_spread(firmware, capsys):
    found = compared(capsys, str(firmware), "--sensors", "v1", "v2")["curves"]
    rows = [line.split(",") for line in firmware.read_text().splitlines()[1:]]
    sd = np.std([float(row[5]) for row in rows])
    mine = np.array([[float(row[at]) for at in (3, 4, 5)] for row in rows if row[1] == "v1"])
    widest = mine[:, 1].mean() * np.max(np.abs(mine[:, 0] - mine[:, 2]) / mine[:, 1])

    assert found["sd"] == pytest.approx(sd, rel=1e-9)
    assert found["first"][-1]["bandwidth"] == pytest.approx(widest / sd, rel=1e-9)
    assert found["first"][-1]["miss"] == 0.0


def test_one_sensor_is_compared_before_and_after(fleet, capsys):
    day = instants()[80]
    found = compared(capsys, str(fleet), "--sensors", "late", "--at", day)
    same = compared(capsys, str(fleet), "--sensors", "near")

    assert (found["paired"], found["events"]) == (False, [80, N - 80])
    assert found["sentences"][0].startswith(f"On 80 and 40 events late before {day} reads better")
    assert found["scores"]["crps"]["p"] <= 0.001
    assert same["events"] == [60, 60]
    assert same["scores"]["crps"]["p"] > 0.05


def test_people_get_sentences_and_a_table(fleet, capsys):
    assert main(["compare", str(fleet), "--sensors", "near", "far"]) == 0
    out = capsys.readouterr().out

    assert out.startswith("On 120 common events near reads better by the mean interval score")
    assert "mean CRPS" in out
    assert "% less in the first" in out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--sensors", "near", "nobody"], "no pairs of nobody"),
        (["--sensors", "near", "near"], "the same sensor twice"),
        (["--sensors", "near", "far", "late"], "name two"),
        (["--sensors", "near", "--at", "2026-03-01"], "has no zone"),
        (["--sensors", "near", "far", "--at", "2026-03-01T00:00Z"], "give one sensor"),
        (["--sensors", "near", "--miss", "1"], "between 0 and 1"),
    ],
)
def test_what_cannot_be_compared_is_said(fleet, capsys, arguments, says):
    assert main(["compare", str(fleet), *arguments]) != 0
    assert says in capsys.readouterr().err


def test_one_unit_that_is_spelled_in_two_ways_is_one(fleet, capsys):
    text = re.sub(r"(,near,.*),kg", r"\1,ug/m3", fleet.read_text())
    fleet.write_text(re.sub(r"(,far,.*),kg", r"\1,µg/m³", text), encoding="utf-8")

    assert compared(capsys, str(fleet), "--sensors", "near", "far")["events"] == [N, N]


def test_what_of_the_file_is_not_used_is_said_beside_the_answer(fleet, tmp_path, capsys):
    head, *rows = fleet.read_text().splitlines()
    path = tmp_path / "noted.csv"
    path.write_text("\n".join([f"{head},note", *(f"{row},x" for row in rows)]) + "\n")

    assert main(["compare", str(path), "--sensors", "near", "far"]) == 0
    assert f"{path}: columns not used: note" in capsys.readouterr().err


def test_scores_block_by_block_hold_every_pair_once(fleet, capsys):
    assert main(["score", str(fleet), "--json", "--blocks", "6"]) == 0
    series = {each["sensor"]: each for each in json.loads(capsys.readouterr().out)["series"]}
    late = series["late"]["blocks"]

    assert [part["n"] for part in late] == [20] * 6
    assert (late[0]["since"], late[-1]["until"]) == (instants()[0], instants()[-1])
    bias = [part["statistics"]["bias"] for part in late]
    assert np.mean(bias) == pytest.approx(series["late"]["statistics"]["bias"], rel=1e-9)
    assert max(np.abs(bias[:4])) < 2.0
    assert min(bias[4:]) > 7.0
    assert main(["score", str(fleet), "--blocks", "6"]) == 0
    assert "late mass, block by block" in capsys.readouterr().out


@pytest.fixture
def humid(tmp_path: Path) -> Path:
    """Return pairs in any order whose errors are twice as large above 80 % of humidity."""
    chance = np.random.default_rng(5)
    rh, reference = chance.uniform(20.0, 100.0, 1500), chance.normal(20.0, 3.0, 1500)
    value = reference + 0.5 * np.where(rh > 80.0, 2.0, 1.0) * chance.normal(size=1500)
    rows = [
        f"2026-03-{1 + at // 1440:02}T{at // 60 % 24:02}:{at % 60:02}:00Z,"
        f"{value[at]:.4f},0.5,{reference[at]:.4f},{rh[at]:.3f}"
        if at % 100
        else f"2026-03-{1 + at // 1440:02}T{at // 60 % 24:02}:{at % 60:02}:00Z,20,0.5,20,"
        for at in chance.permutation(1500)
    ]
    path = tmp_path / "humid.csv"
    path.write_text("time,value,u,reference,RH\n" + "\n".join(rows) + "\n")
    return path


def test_zms_in_bins_of_a_column_shows_where_a_sensor_is_wrong(humid, capsys):
    cells = [line.split(",") for line in humid.read_text().splitlines()[1:]]
    known = np.array([[float(each) for each in row[1:]] for row in cells if row[4]])
    z, rh = (known[:, 0] - known[:, 2]) / known[:, 1], known[:, 3]

    assert main(["score", str(humid), "--json", "--bins-by", "rh"]) == 0
    (series,) = json.loads(capsys.readouterr().out)["series"]

    found = series["bins_by"]
    assert (found["column"], found["without"]) == ("rh", 15)
    assert sum(each["n"] for each in found["bins"]) == known.shape[0]
    for each in found["bins"]:
        within = (rh >= each["from"]) & (rh <= each["to"])
        assert each["n"] == within.sum()
        assert each["zms"] == pytest.approx(np.mean(z[within] ** 2), rel=1e-9)
        assert (each["verdict"] == "understated") == (each["to"] > 82.0)
    assert found["sentence"].startswith("3 differ from 1 by more than chance")
    whole = stats.spearmanr(z**2, rh)
    assert found["dependence"]["spearman"] == pytest.approx(whole.statistic, rel=1e-9)
    assert found["dependence"]["p"] == pytest.approx(whole.pvalue, rel=1e-6)
    assert 0.0 < whole.pvalue < 1e-6


def test_bins_along_a_column_are_printed_with_what_they_say(humid, capsys):
    assert main(["score", str(humid), "--bins-by", "RH"]) == 0

    printed = capsys.readouterr().out
    assert "humid value, ZMS by RH: 3 differ from 1 by more than chance" in printed
    assert "15 pairs have none" in printed
    assert printed.count("understated") == 3


@pytest.mark.parametrize(
    ("column", "told"),
    [
        ("hum", "there is no such column"),
        ("value,u", "there is no such column"),
        ("U", "there is no such column"),
        ("sensor", "'a' is not a number"),
    ],
)
def test_a_column_that_cannot_be_binned_is_refused_with_the_reason(tmp_path, capsys, column, told):
    path = tmp_path / "pairs.csv"
    path.write_text("sensor,value,u,reference\na,1.0,0.5,1.2\n")

    assert main(["score", str(path), "--bins-by", column]) == 65
    assert told in capsys.readouterr().err


def test_the_hour_is_that_of_the_times_whatever_a_column_is_called(tmp_path, capsys):
    path = tmp_path / "pairs.csv"
    times = pd.date_range("2026-03-01", periods=200, freq="h", tz="UTC")
    error = np.random.default_rng(1).normal(size=200) + 5.0 * (times.hour < 6)
    frame = pd.DataFrame({"time": times, "value": error, "u": 1.0, "reference": 0.0, "hour": 7.0})
    frame.to_csv(path, index=False, date_format="%Y-%m-%dT%H:%M:%SZ")

    def where(*more):
        assert main(["score", str(path), "--json", "--covariates", "hour", *more]) == 0
        return json.loads(capsys.readouterr().out)["series"][0]["where"]

    assert where() == where("--bins-by", "hour")


def test_a_stream_has_no_column_to_bin_by(tmp_path, capsys):
    path = tmp_path / "stream.csv"
    assert main(["simulate", "--seconds", "20", "--out", str(path)]) == 0

    assert main(["score", str(path), "--bins-by", "value"]) == 65
    assert "only a file of pairs has a covariate" in capsys.readouterr().err


def test_costs_have_the_weight_that_was_asked_for(humid, capsys):
    cells = [line.split(",") for line in humid.read_text().splitlines()[1:]]
    value, u, reference = np.array([row[1:4] for row in cells], dtype=float).T
    half = stats.norm.ppf(0.95) * u

    assert main(["score", str(humid), "--json", "--cost", "0.2"]) == 0
    (series,) = json.loads(capsys.readouterr().out)["series"]
    assert main(["score", str(humid), "--cost", "0.2"]) == 0
    printed = capsys.readouterr().out.splitlines()

    def cost(k):
        missed = np.maximum(np.abs(value - reference) - k * half, 0.0)
        return 0.2 * k * half.mean() + 0.8 * missed.mean()

    found = series["costs"]
    assert (found["c"], found["cost"]) == (0.2, pytest.approx(cost(1.0), rel=1e-9))
    assert found["cost_optimal"] == pytest.approx(cost(found["scale_optimal"]), rel=1e-9)
    assert found["cost_optimal"] <= min(map(cost, np.linspace(0.0, 3.0, 3000))) + 1e-12
    assert printed[-1].split() == [
        *("humid", "value", "0.2"),
        *(f"{found[name]:.4g}" for name in ("cost", "scale_optimal", "cost_optimal")),
    ]
    for wrong in ("1", "-0.1", "nan"):
        assert main(["score", str(humid), "--cost", wrong]) == 2
        assert "--cost" in capsys.readouterr().err
