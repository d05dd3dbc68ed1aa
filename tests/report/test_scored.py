"""A file's figures, and where along a covariate a sensor is wrong: the same in files and frames."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import monitor
from monitor.cli import main
from monitor.errors import USAGE
from monitor.report.scored import covariates_of, in_file

COUNT = 800


def frame(*, shuffled: bool = False) -> pd.DataFrame:
    """Return pairs whose errors are twice as large above 80 % RH; twelve have no humidity."""
    random = np.random.default_rng(11)
    rh, reference = random.uniform(20.0, 100.0, COUNT), random.normal(20.0, 3.0, COUNT)
    value = reference + 0.5 * np.where(rh > 80.0, 2.0, 1.0) * random.normal(size=COUNT)
    rh[::70] = np.nan
    made = pd.DataFrame(
        {
            "sensor": "node-7",
            "time": pd.date_range("2026-03-01", periods=COUNT, freq="h", tz="UTC"),
            "value": value,
            "u": 0.5,
            "reference": reference,
            "RH": rh,
            "battery": 3.3,
        }
    )
    return made.sample(frac=1.0, random_state=1) if shuffled else made


def written(folder: Path, pairs: pd.DataFrame) -> Path:
    path = folder / "pairs.csv"
    told = pairs.assign(time=[each.isoformat() for each in pairs["time"]])
    told.to_csv(path, index=False, float_format="%.17g")
    return path


def test_the_command_says_where_whatever_the_order_of_rows(tmp_path, capsys):
    found = []
    for shuffled in (False, True):
        path = written(tmp_path, frame(shuffled=shuffled))
        assert main(["score", str(path), "--json", "--covariates", "RH,hour,battery"]) == 0
        found.append(json.loads(capsys.readouterr().out)["series"][0]["where"])
    assert found[0] == found[1]
    rh, hour, battery = found[0]

    assert (rh["state"], rh["without"], rh["rest_is_right"]) == ("found", 12, True)
    (only,) = rh["findings"]
    assert (only["fault"], only["to"]) == ("understated", None)
    assert only["from"] == pytest.approx(80.0, abs=8.0)
    assert only["estimate_lower"] < 2.0 < only["estimate_upper"]
    assert sum(each["n"] for each in rh["bins"]) == COUNT - 12
    assert "understates its uncertainty" in rh["sentence"]
    assert f"above {only['from']:g} rh, right below (12 pairs have no rh)" in rh["sentence"]
    assert hour["state"] == "everywhere"  # as wrong at any hour as at any other
    assert "the same in all pairs" in battery["sentence"]


def test_a_frame_has_what_the_command_has(tmp_path, capsys):
    path = written(tmp_path, frame())
    assert main(["score", str(path), "--json", "--covariates", "rh,level"]) == 0
    (series,) = json.loads(capsys.readouterr().out)["series"]

    pairs = frame().rename(columns={"RH": "rh"})
    found = monitor.score(pairs, covariates=["rh", "level"])

    assert found.series[0]["where"] == series["where"]
    assert series["where"][0]["sentence"] in str(found)
    assert "where" not in monitor.score(pairs).series[0]
    with pytest.raises(ValueError, match="no column 'humidity'"):
        monitor.score(pairs, covariates=["humidity"])


def test_a_report_says_it_as_the_command_does(tmp_path, capsys):
    path, out = written(tmp_path, frame()), tmp_path / "report.html"
    assert main(["score", str(path), "--covariates", "rh"]) == 0
    (line,) = [each for each in capsys.readouterr().out.splitlines() if "rh, right below" in each]
    sentence = line.partition(": ")[2]

    assert main(["report", str(path), "--covariates", "rh", "--out", str(out)]) == 0
    assert sentence in out.read_text()


def test_pairs_without_times_have_no_hour(tmp_path, capsys):
    path = written(tmp_path, frame())
    frame().drop(columns="time").to_csv(path, index=False)
    assert main(["score", str(path), "--covariates", "hour"]) == 0
    assert "cannot be judged by hour: no pair has it" in capsys.readouterr().out


def test_a_daemon_has_no_column_to_ask_for(tmp_path, capsys):
    path = tmp_path / "report.html"
    settings = Path(__file__).parents[2] / "configs" / "default.yaml"
    told = ["report", "--config", str(settings), "--covariates", "rh", "--out", str(path)]
    assert main(told) == USAGE
    assert "for a daemon's pairs it can be hour or level" in capsys.readouterr().err


def test_an_expanded_uncertainty_is_another_column_than_u(tmp_path, capsys):
    path = written(tmp_path, frame())

    assert main(["score", str(path), "--covariates", "U"]) == 65
    assert "there is no such column; there are sensor, time" in capsys.readouterr().err
    assert main(["score", str(path), "--covariates", "u"]) == 0


def by_operator(tmp_path, operators: str = "AB"):
    """Return a file whose errors are 3 higher where the operator is the second."""
    random = np.random.default_rng(8)
    second = random.integers(0, 2, 200)
    reference = random.normal(50.0, 10.0, 200).round(3)
    value = (reference + 3.0 * second + random.normal(size=200)).round(3)
    lines = ["sensor,value,u,reference,operator"]
    for at in range(200):
        operator = operators[second[at]] if at % 50 else ""
        lines.append(f"a,{value[at]},1,{reference[at]},{operator}")
    path = tmp_path / "operators.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize("operators", ["AB", "BA"])
def test_a_verdict_names_the_category_in_files_and_frames_alike(tmp_path, capsys, operators):
    path = by_operator(tmp_path, operators)
    assert main(["score", str(path), "--json", "--covariates", "operator"]) == 0
    (series,) = json.loads(capsys.readouterr().out)["series"]

    explained = series["explained_by"]
    assert (explained["category"], explained["except"]) == (operators[1], False)
    assert explained["estimate_lower"] <= 3.0 <= explained["estimate_upper"]
    assert f" high where operator is {operators[1]} (" in series["verdict"]["sentence"]
    assert series["verdict"]["advice"].startswith("subtract ")
    assert series["where"] == []
    frame = pd.read_csv(path)
    of_frame = monitor.score(frame, covariates=["operator"]).series[0]
    assert (of_frame["explained_by"], of_frame["verdict"]) == (explained, series["verdict"])


def test_texts_are_no_bins_and_too_many_of_them_no_categories(tmp_path, capsys):
    path = by_operator(tmp_path)
    assert main(["score", str(path), "--bins-by", "operator"]) == 65
    assert "--bins-by operator: 'A' is not a number" in capsys.readouterr().err
    rows = [f"a,{at}.5,1,{at},name {at}" for at in range(60)]
    path.write_text("\n".join(["sensor,value,u,reference,operator", *rows]) + "\n")
    assert main(["score", str(path), "--covariates", "operator"]) == 65
    assert "operator: holds texts, and more than 50" in capsys.readouterr().err
    with pytest.raises(monitor.FrameError, match="more than 50"):
        monitor.score(pd.read_csv(path), covariates=["operator"])


def test_covariates_are_named_once_and_those_built_in_need_no_column():
    names = covariates_of("Humidity, hour,,Humidity")

    assert names == ("humidity", "hour")
    assert in_file(names) == ["humidity"]


def test_the_advice_and_the_table_of_a_report_tell_the_same_trial(tmp_path):
    """Of an offset that is another one every 300 pairs: no fixed number holds for long."""
    random = np.random.default_rng(3)
    level = np.repeat([4.0, -3.0, 3.5, -4.0, 3.0, -3.5, 4.0, -4.0, 3.0, -3.0], 300)
    reference = random.normal(20.0, 3.0, 3000)
    pairs = pd.DataFrame(
        {
            "sensor": "node-7",
            "time": pd.date_range("2026-03-01", periods=3000, freq="h", tz="UTC"),
            "value": reference + level + random.normal(size=3000),
            "u": 1.0,
            "reference": reference,
        }
    )
    (series,) = monitor.score(pairs).series
    main(["report", str(written(tmp_path, pairs)), "--out", str(tmp_path / "report.html")])
    page = (tmp_path / "report.html").read_text()

    told = re.search(
        r"or adjust it anew every 50 pairs, by the mean error of the 50 before "
        r"\(mean CRPS from ([\d.]+) to ([\d.]+) on 2950 pairs; ",
        series["verdict"]["advice"],
    )
    table = re.search(r"offset: CRPS ([\d.]+) to ([\d.]+), ", page)
    assert told, series["verdict"]
    assert told[0] in page
    assert [float(each) for each in told.groups()] == pytest.approx(
        [float(each) for each in table.groups()], rel=0.005
    )


def test_the_bias_of_the_bootstrap_is_stated_and_called_too_much_where_it_is(tmp_path, capsys):
    """ZMS is a mean and has none; RCE of u with few large ones has more than its interval bears."""
    chance = np.random.default_rng(1)
    u = np.where(np.arange(60) == 7, 60.0, 1.0)
    error = u * chance.standard_normal(60)
    error[7] = 3.0
    path = tmp_path / "pairs.csv"
    rows = [
        f"{each!r},{spread!r},0" for each, spread in zip(error.tolist(), u.tolist(), strict=True)
    ]
    path.write_text("\n".join(["value,sigma,reference", *rows]) + "\n")

    assert main(["score", str(path), "--bca"]) == 0
    shown = capsys.readouterr().out
    assert main(["score", str(path), "--bca", "--json"]) == 0
    intervals = json.loads(capsys.readouterr().out)["series"][0]["intervals"]
    assert main(["score", str(path)]) == 0
    assert "b_BS" not in capsys.readouterr().out

    drawn = chance.integers(0, 60, (20_000, 60))
    squares, variances = error[drawn] ** 2, u[drawn] ** 2
    of_draws = {
        "zms": (squares / variances).mean(axis=1),
        "rce": 1.0 - np.sqrt(squares.mean(axis=1) / variances.mean(axis=1)),
    }
    of_all = {"zms": np.mean((error / u) ** 2), "rce": 1.0 - np.sqrt((error @ error) / (u @ u))}
    for name, got in intervals.items():
        noise = 5.0 * of_draws[name].std() * np.sqrt(1 / 20_000 + 1 / 10_000)
        assert abs(got["bias"] - (of_draws[name].mean() - of_all[name])) < noise, name
    lines = [line for line in shown.splitlines() if "b_BS" in line]
    assert [line.endswith("do not rely on the interval") for line in lines] == [False, True]


def repaired(*, with_times: bool) -> pd.DataFrame:
    """Return 700 pairs of which 200 in the middle read 5 u high."""
    random = np.random.default_rng(3)
    reference = random.normal(100.0, 5.0, 700)
    value = reference + random.normal(size=700)
    value[200:400] += 5.0
    made = pd.DataFrame({"value": value, "u": 1.0, "reference": reference})
    times = pd.date_range("2026-03-01", periods=700, freq="h", tz="UTC")
    return made.assign(time=times) if with_times else made


@pytest.mark.parametrize("with_times", [True, False])
def test_figures_beside_a_sentence_are_of_the_pairs_that_it_speaks_of(with_times):
    pairs = repaired(with_times=with_times)
    scores = monitor.score(pairs)
    (only,) = scores.series
    verdict, last = only["verdict"], only["verdict"]["pairs"]
    assert (verdict["state"], last) == ("right", pytest.approx(300, abs=3))
    error = (pairs["value"] - pairs["reference"]).to_numpy()
    assert only["statistics"]["zms"] == pytest.approx(np.mean(error**2))
    assert only["judged"]["zms"] == pytest.approx(np.mean(error[-last:] ** 2))
    assert 4.0 * only["judged"]["zms"] < only["statistics"]["zms"]

    table = str(scores).partition("verdicts")[0].splitlines()
    first = (pd.Timestamp("2026-03-01", tz="UTC") + pd.Timedelta(hours=700 - last)).isoformat()
    said = f"  since {first[:10]} {first[11:16]} UTC" if with_times else "  its last"
    assert table[2].startswith(f"{said} ")
    assert f" {last} " in table[2]
    assert f"{only['judged']['zms']:.4g}" in table[2]


def test_where_every_reference_was_wrong_the_figures_are_of_all_pairs():
    random, hours = np.random.default_rng(1), np.arange(60)
    reference = random.normal(40.0, 5.0, 60)
    pairs = pd.concat(
        pd.DataFrame(
            {
                "sensor": f"s{sensor}",
                "time": pd.Timestamp("2026-03-01", tz="UTC") + pd.to_timedelta(hours, "h"),
                "value": reference + 6.0 + random.normal(size=60),
                "u": 1.0,
                "reference": reference,
                "reference_id": "A",
            }
        )
        for sensor in range(8)
    )
    for series in monitor.score(pairs).series:
        assert series["verdict"]["state"] == "undecided"
        assert "60 pairs left out" in series["verdict"]["sentence"]
        assert series["judged"] == series["statistics"]


def test_one_row_of_figures_where_the_sentence_is_about_all_pairs():
    scores = monitor.score(repaired(with_times=True)[:150])
    assert scores.series[0]["judged"] == scores.series[0]["statistics"]
    assert len(str(scores).partition("\n\n")[0].splitlines()) == 2


def test_a_report_shows_both(tmp_path):
    out, path = tmp_path / "report.html", written_pairs(tmp_path)
    assert main(["report", str(path), "--out", str(out)]) == 0
    page = out.read_text("utf-8")
    assert re.search(r"last \d+ pairs, since 2026-03-17 \d\d:00 UTC</th>", page)
    assert "all 700 pairs</th>" in page


def written_pairs(folder: Path) -> Path:
    path = folder / "repaired.csv"
    pairs = repaired(with_times=True)
    pairs.assign(time=[each.isoformat() for each in pairs["time"]]).to_csv(path, index=False)
    return path
