"""Frames of pandas, Polars and Arrow in Python: the figures of `monitor score`."""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

import monitor
from monitor.cli import main


def frame(n: int = 240, seed: int = 1) -> pd.DataFrame:
    """Return two sensors: an honest one, and one that reads 4 high from its 100th pair on."""
    random = np.random.default_rng(seed)
    reference = random.normal(500.0, 20.0, 2 * n).round(6)
    u = random.uniform(1.0, 2.0, 2 * n).round(6)
    value = (reference + u * random.normal(size=2 * n)).round(6)
    value[n + 100 :] += 4.0
    hours = [datetime(2026, 3, 1, tzinfo=UTC) + timedelta(hours=i) for i in range(n)]
    return pd.DataFrame(
        {
            "sensor": np.repeat(["cart-1", "cart-2"], n),
            "time": pd.to_datetime(hours * 2),
            "value": value,
            "u": u,
            "reference": reference,
        }
    )


def by_command(capsys, tmp_path, pairs: pd.DataFrame, *options: str) -> dict:
    file = tmp_path / "pairs.csv"
    written = pairs.rename(columns={"u": "sigma"})
    written["time"] = [each.isoformat() for each in written["time"]]
    written.to_csv(file, index=False, float_format="%.17g")
    capsys.readouterr()
    assert main(["score", str(file), "--json", *options]) == 0
    return json.loads(capsys.readouterr().out)


def test_columns_of_other_names_and_several_that_tell_sensors_apart():
    pairs = frame().rename(columns={"value": "y_pred", "u": "y_std", "reference": "y_true"})
    pairs["site"] = "north"

    found = monitor.score(
        pairs, value="y_pred", u="y_std", reference="y_true", by=["site", "sensor"]
    )

    assert [each["sensor"] for each in found.series] == ["north/cart-1", "north/cart-2"]
    assert found.series[0]["statistics"] == monitor.score(frame()).series[0]["statistics"]


def test_intervals_without_u_and_numbers_without_times():
    pairs = frame()
    bare = pd.DataFrame(
        {
            "value": pairs["value"],
            "reference": pairs["reference"],
            "lower": pairs["value"] - 1.645 * pairs["u"],
            "upper": pairs["value"] + 1.645 * pairs["u"],
        }
    )[:240]

    found = monitor.score(bare, level=0.9)

    assert found.series[0]["sensor"] == "data"
    assert found.series[0]["statistics"]["coverage"] == pytest.approx(0.9, abs=0.06)
    assert found.incidents == []
    assert found.to_dict()["alerts"] == []


def test_times_that_are_numbers_have_the_unit_of_their_size():
    seconds = np.array([int(each.timestamp()) for each in frame()["time"]])
    wanted = monitor.score(frame()).incidents
    for size in (1, 10**3, 10**6, 10**9):
        assert monitor.score(frame().assign(time=seconds * size)).incidents == wanted
    assert wanted


def test_rows_that_lack_a_number_are_left_out_and_counted():
    pairs = frame()
    pairs.loc[[3, 7], "reference"] = np.nan
    pairs.loc[9, "u"] = np.nan

    found = monitor.score(pairs)

    assert [each["n"] for each in found.series] == [237, 240]
    assert found.notes == ("3 of 480 rows lack a number and are left out",)


@pytest.mark.parametrize("as_library", [lambda pairs: pairs, pl.from_pandas])
def test_a_row_that_is_left_out_needs_no_time(as_library):
    pairs = frame()
    pairs.loc[[3, 9], "value"] = np.nan
    pairs.loc[[3, 9], "time"] = pd.NaT

    assert monitor.score(as_library(pairs)).notes == (
        "2 of 480 rows lack a number and are left out",
    )
    pairs.loc[12, "time"] = pd.NaT
    assert monitor.score(as_library(pairs)).notes[1:] == (
        "1 of 480 rows is left out, first row 12: time: a time is missing",
    )
    with pytest.raises(monitor.FrameError, match="column 'time', row 0: a time is missing"):
        monitor.score(as_library(pairs[12:13]))


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame])
@pytest.mark.parametrize("wrong", [np.nan, np.inf, -1e300])
def test_a_number_that_is_no_time_costs_its_row(library, wrong):
    columns = {name: frame()[name].to_list() for name in ("sensor", "value", "u", "reference")}
    columns["time"] = [1.7e9 + 60.0 * row for row in range(480)]
    columns["time"][12] = wrong
    columns["value"][3] = np.nan

    found = monitor.score(library(columns))

    assert found.series[0]["n"] == 238
    assert found.notes[1].startswith("1 of 480 rows is left out, first row 12: time: ")


def test_a_row_without_the_references_u_means_what_it_means_in_a_file(capsys, tmp_path):
    pairs = frame()
    pairs["u_reference"] = 0.3
    pairs.loc[[3, 7], "u_reference"] = np.nan

    found = monitor.score(pairs)

    assert found.notes == ()
    wanted = by_command(capsys, tmp_path, pairs)
    assert found.series[0]["statistics"] == wanted["series"][0]["statistics"]


@pytest.mark.parametrize("as_library", [pd.DataFrame, pl.from_pandas])
def test_an_interval_without_a_value_stands_for_its_middle_in_a_frame_too(as_library):
    pairs = frame().drop(columns="u")
    pairs["lower"], pairs["upper"] = pairs["value"] - 2.0, pairs["value"] + 2.0
    wanted = monitor.score(as_library(pairs)).series

    bare = pairs.copy()
    bare.loc[300:, "value"] = np.nan
    for given in (bare, pairs.drop(columns="value"), pairs.assign(value=None)):
        found = monitor.score(as_library(given))
        assert found.notes == ()
        for one, other in zip(found.series, wanted, strict=True):
            assert one["statistics"]["bias"] == pytest.approx(other["statistics"]["bias"])


def test_a_column_that_may_hold_the_time_is_asked_about():
    renamed = frame().rename(columns={"time": "Timestamp", "sensor": "device"})

    assert monitor.score(renamed).notes == (
        "no column time; if 'Timestamp' holds it: time='Timestamp'",
        "no column sensor; if 'device' holds it: by='device'",
    )
    assert monitor.score(renamed, time="Timestamp", by=["device"]).notes == ()


def mistake(change, **arguments):
    return lambda: monitor.score(change(frame()), **arguments)


MISTAKES = {
    "no such column": (mistake(lambda f: f, value="valeu"), r"no column 'valeu' .is it 'value'\?"),
    "no uncertainty": (mistake(lambda f: f.drop(columns="u")), "no uncertainty is stated: name"),
    "expanded": (
        mistake(lambda f: f.rename(columns={"u": "U"})),
        "U is an expanded uncertainty; divide it by its k, or pass u='U' if it is a standard",
    ),
    "text": (mistake(lambda f: f.assign(value="1,5")), "column 'value' holds .*'1,5'.*convert"),
    "no name": (
        mistake(lambda f: f.assign(sensor=["", None] * 240)),
        "column 'sensor', row 0: a name is missing; fill it in",
    ),
    "no quantity": (
        mistake(lambda f: f.assign(quantity=pd.Categorical([" ", None] * 240))),
        "column 'quantity', row 0: a name is missing",
    ),
    "units": (
        mistake(lambda f: f.assign(unit=["kg", "g"] * 240)),
        "column 'unit', row 1: is 'g', was 'kg' for the same sensor; convert",
    ),
    "name of a column": (
        mistake(lambda f: f.rename(columns={"time": 7})),
        "the column name 7 is not a text: rename it",
    ),
    "doubled": (
        mistake(lambda f: pd.concat([f, f[["u"]]], axis=1)),
        "a column name appears twice: .*'u' 2 times; keep one",
    ),
    "in the index": (
        mistake(lambda f: f.set_index("time"), time="time"),
        "no column 'time'; its index has: pass df.reset_index",
    ),
    "no rows": (mistake(lambda f: f[:0]), "has no rows"),
    "all lack": (mistake(lambda f: f.assign(u=np.nan)), "none of .* 480 rows .* lack u: fill it"),
    "no zone": (
        mistake(lambda f: f.assign(time=f["time"].dt.tz_localize(None))),
        "without a zone: say which",
    ),
    "u of zero": (mistake(lambda f: f.assign(u=0.0)), "column 'u', row 0: 0 must be at least"),
    "infinite": (mistake(lambda f: f.assign(value=np.inf)), "column 'value', row 0: inf"),
    "of another length": (mistake(lambda f: f, u=[1.0, 2.0]), r"'u' has the shape \(2,\)"),
    "labels in another order": (
        lambda: monitor.score(frame()[::-1], u=frame()["u"]),
        "'u' has the labels of the frame in another order: pass .reindex",
    ),
    "sensor for by": (
        mistake(lambda f: f, sensor="sensor"),
        "no argument sensor; pass by='sensor'",
    ),
    "no such argument": (mistake(lambda f: f, density="normal"), "no argument density$"),
    "density": (
        lambda: monitor.compare(frame(), "cart-1", density="gaussian"),
        "density=gaussian: must be one of normal, tophat",
    ),
    "profile": (
        lambda: monitor.compare(frame(), "cart-1", profile="sharp"),
        "profile=sharp: must be one of accuracy, coverage, balanced",
    ),
    "no frame": (lambda: monitor.score([1, 2, 3]), "list is not a data frame: pass one of pandas"),
    "one end": (mistake(lambda f: f.assign(lower=0.0)), "two ends of an interval"),
    "level of 95": (mistake(lambda f: f, level=95), "level=95: must lie between 0 and 1"),
    "mixed times": (
        mistake(lambda f: f.assign(time=["2026-03-01T00:00:00", *["now"] * 479])),
        "column 'time', row 0: .*times are datetimes with a zone",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(MISTAKES))
def test_a_mistake_is_one_sentence_with_its_remedy(name):
    call, said = MISTAKES[name]

    with pytest.raises(monitor.FrameError, match=said) as caught:
        call()

    assert isinstance(caught.value, ValueError)
    assert "\n" not in str(caught.value)


def test_one_number_beside_a_frame_counts_for_all_pairs():
    pairs = frame()

    assert monitor.score(pairs, u=2.0).series == monitor.score(pairs.assign(u=2.0)).series
    assert monitor.score(pairs, u=pairs["u"]).series == monitor.score(pairs).series


def test_a_row_with_an_infinite_covariate_is_left_out_as_of_a_file(capsys, tmp_path):
    pairs = frame().assign(rh=[0.5, math.inf, *range(478)])
    pairs.to_csv(tmp_path / "pairs.csv", index=False)
    assert main(["score", str(tmp_path / "pairs.csv"), "--covariates", "rh", "--json"]) == 0

    found = monitor.score(pairs, covariates=["rh"])

    assert [each["n"] for each in found.series] == [239, 240]
    assert found.series == json.loads(capsys.readouterr().out)["series"]
    assert "1 of 480 rows is left out, first row 1: rh: is not finite" in found.notes[0]


def test_the_frame_is_not_changed():
    pairs = frame()
    before = pairs.copy()

    monitor.score(pairs)

    pd.testing.assert_frame_equal(pairs, before)


def test_a_frame_of_the_columns_that_export_writes_has_the_figures_of_the_file(capsys, tmp_path):
    pairs = frame().drop(columns="u").assign(unit="kg", alpha=0.4, crps_stated=1.25)
    pairs["lower"], pairs["upper"] = pairs["value"] - 2.0, pairs["value"] + 2.0

    found = monitor.score(pairs)

    assert json.loads(json.dumps(found.to_dict())) == by_command(capsys, tmp_path, pairs)
    assert found.series[0]["statistics"]["crps_stated"] == pytest.approx(1.25)
    assert "kg heavy" in found.sentences[1]
    assert monitor.score(pairs, unit="g").series[0]["unit"] == "g"
    named = pairs.rename(columns={"alpha": "miss", "unit": "engine"})
    again = monitor.score(named, alpha="miss", unit="kg")
    assert again.to_dict() == found.to_dict()
    assert monitor.score(pairs.assign(unit=7), unit="").series[0]["unit"] == ""


def test_what_a_frame_holds_beside_its_columns_is_remarked_on():
    pairs = frame()[:240].drop(columns="sensor")

    for index in (pairs.set_index("time"), pairs.set_index("time").rename_axis(None)):
        (note,) = monitor.score(index).notes
        assert re.fullmatch(r"the index \((time|datetimes)\) is not used: df.reset_index.*", note)
    assert monitor.score(pairs.set_index("time").reset_index()).notes == ()
    assert monitor.score(pairs[pairs["u"] > 1.1]).notes == ()
    claims = pairs.assign(**{"q0.05": pairs["value"] - 2.0, "q0.95": pairs["value"] + 2.0})
    assert monitor.score(claims).series[0]["statistics"]["crps_stated"] is not None
    named = claims.drop(columns="u")
    assert monitor.score(named, lower="q0.05", upper="q0.95").notes == ()
    (early,) = monitor.score(pairs.assign(time=np.arange(240.0))).notes
    assert early.startswith("its times end at 1970-01-01T00:03:59Z: numbers are seconds since 1970")


@pytest.mark.parametrize("missing", [pd.NA, None, np.nan])
def test_rows_without_a_reference_event_share_none(missing):
    pairs = frame()
    event = pd.Series([1, 2, *[missing] * 238] * 2, dtype="object")
    for dtype in ("object", "string"):
        pairs["reference_event"] = event.astype(dtype)
        told = monitor.compare(pairs, "cart-1", "cart-2")["sentences"][0]
        assert told.startswith("On 2 common events")


def test_the_page_on_python_runs(capsys):
    page = (Path(__file__).parents[2] / "docs" / "python.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)

    exec("\n".join(blocks), {})  # noqa: S102 - what the page says

    said = capsys.readouterr().out
    assert re.search(
        r"^cart-1 value: (right|no fault found yet): ?within|^cart-1 value: right within",
        said,
        re.MULTILINE,
    )
    assert "cart-1 reads better" in said
    assert re.search(r"^cart-2 \w+ reads [34]\.\d+ kg heavy", said, re.MULTILINE)


def test_the_page_on_data_scores_a_frame_as_it_scores_the_file(tmp_path, capsys):
    page = (Path(__file__).parents[2] / "docs" / "data.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    rows = re.search(r"<!-- test: file pairs.csv -->\n```csv\n(.*?)```", page, re.DOTALL)
    (tmp_path / "pairs.csv").write_text(rows[1], encoding="utf-8")

    exec(block, {})  # noqa: S102 - what the page says
    of_frame = capsys.readouterr().out
    assert main(["score", str(tmp_path / "pairs.csv")]) == 0
    of_file = capsys.readouterr().out

    assert of_frame == re.sub(r"(?m)^pairs", "data ", of_file).replace(
        "data  value:", "data value:"
    )
    assert of_file in page


def test_importing_the_package_imports_none_of_it():
    """What costs is imported at its first use; and no library of frames is imported at all."""
    code = (
        "import sys, monitor; assert 'numpy' not in sys.modules; "
        "monitor.score; assert not {'pandas', 'polars', 'pyarrow'} & set(sys.modules); "
        "assert 'fastapi' not in sys.modules; print(set(monitor.__all__) & set(dir(monitor)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )  # fmt: skip

    assert "'score'" in done.stdout
