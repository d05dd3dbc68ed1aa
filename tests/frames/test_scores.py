"""Scores and comparisons of a frame are those of the commands."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import monitor
from monitor.cli import main
from tests.frames.test_pair_frames import by_command, frame


@pytest.mark.parametrize("library", ["pandas", "polars", "arrow"])
def test_a_frame_has_the_figures_of_the_command_bit_for_bit(library, capsys, tmp_path):
    pairs = frame()
    wanted = by_command(capsys, tmp_path, pairs)
    given = {
        "pandas": lambda: pairs,
        "polars": lambda: pl.from_pandas(pairs),
        "arrow": lambda: pa.Table.from_pandas(pairs),
    }[library]()

    found = monitor.score(given)

    assert json.loads(json.dumps(found.to_dict())) == wanted
    table = found.to_frame()
    assert type(table) is type(given)
    assert list(table["n"].to_pylist() if library == "arrow" else table["n"]) == [240, 240]
    offset = found.series[1]["verdict"]
    assert offset["fault"] == "offset"
    assert offset["lower"] < 4.0 < offset["upper"]
    assert "cart-2: reads" in found.sentences[1]
    assert found.incidents[0]["sensor"] == "cart-2"
    assert "cart-2" in str(found)
    assert found.notes == ()


def test_bca_and_level_are_those_of_the_command(capsys, tmp_path):
    pairs = frame()

    assert (
        monitor.score(pairs, level=0.95, bca=True).to_dict()
        == by_command(capsys, tmp_path, pairs, "--alpha", "0.05", "--bca")
    )  # fmt: skip


def test_two_sensors_are_compared_as_the_command_does(capsys, tmp_path):
    pairs = frame()
    pairs["reference"] = [*pairs["reference"][:240]] * 2
    noise = np.random.default_rng(2).normal(size=480)
    pairs["value"] = (pairs["reference"] + noise + np.repeat([0.0, 4.0], 240)).round(6)
    file = tmp_path / "pairs.csv"
    written = pairs.rename(columns={"u": "sigma"})
    written["time"] = [each.isoformat() for each in written["time"]]
    written.to_csv(file, index=False, float_format="%.17g")
    assert main(["compare", str(file), "--sensors", "cart-1", "cart-2", "--json"]) == 0

    found = monitor.compare(pairs, "cart-1", "cart-2")

    assert json.loads(json.dumps(found)) == json.loads(capsys.readouterr().out)
    assert found["sentences"][0].startswith("On 240 common events cart-1")


def test_numbers_that_a_mask_leaves_out_make_no_pair():
    values, truth = np.ma.masked_greater([1.0, 2.0, 999.0, 1.5, 2.5] * 9, 100.0), [1.0] * 45

    masked = monitor.score(values, 0.5, truth)
    assert masked.series[0]["n"] == 36
    assert "9 of 45 rows" in masked.notes[0]
    assert abs(masked.series[0]["statistics"]["bias"] - 0.75) < 1e-12
