"""Frames of other shapes, arrays, dicts and datasets give the scores of the plain frame."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import monitor
from tests.frames.test_pair_frames import by_command, frame

LIBRARIES = [lambda pairs: pairs, pl.from_pandas, pa.Table.from_pandas]


def figures(found: monitor.Scores) -> list[tuple[str, object]]:
    return [(each["sensor"], each["statistics"]) for each in found.series]


def table(pairs: pd.DataFrame | None = None, **wanted: str) -> list[tuple[str, object]]:
    return figures(monitor.score(frame() if pairs is None else pairs, **wanted))


def wide() -> pd.DataFrame:
    pairs = frame()
    pairs["reference"] = [*pairs["reference"][:240]] * 2
    parts = {name: part.reset_index() for name, part in pairs.groupby("sensor")}
    columns = {"time": parts["cart-1"]["time"], "reference": parts["cart-1"]["reference"]}
    for name, part in parts.items():
        columns |= {name: part["value"], f"u_{name}": part["u"]}
    return pd.DataFrame(columns)


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_column_for_each_sensor_and_a_row_for_each_number(library):
    pairs = frame()
    pairs["reference"] = [*pairs["reference"][:240]] * 2
    wanted = table(pairs)

    assert table(library(wide()), wide="cart-*", u="u_cart-*") == wanted
    assert table(library(wide()), wide=["cart-*"], u="u_cart-*") == wanted
    long = pairs.melt(["time", "sensor"], var_name="What", value_name="x")
    assert table(library(long), long="What=x") == wanted
    assert table(library(pairs.assign(qc=[0] * 479 + [1])), where="qc=0") == table(pairs[:479])


def test_arrays_a_dict_and_a_dataset_are_frames():
    pairs = frame()[:240]
    value, u, reference = (pairs[name].to_numpy() for name in ("value", "u", "reference"))
    wanted = monitor.score(pairs[["value", "u", "reference"]]).series

    assert monitor.score(value, u, reference).series == wanted
    assert monitor.score([*value], [*u], [*reference]).series == wanted
    assert monitor.score({"value": value, "u": u, "reference": reference}).series == wanted
    arrays = {"time": pairs["time"], "by": np.array(pairs["sensor"])}
    assert monitor.score(value, u, reference, **arrays).series == monitor.score(pairs).series
    assert monitor.score(pairs, reference=reference + 1.0).series[0]["statistics"][
        "bias"
    ] == pytest.approx(wanted[0]["statistics"]["bias"] - 1.0)
    assert set(monitor.score(value, 2.0, reference).rows()["u"]) == {2.0}

    class Dataset:
        """What a dataset of xarray has."""

        data_vars = ("value", "u", "reference")

        def to_dataframe(self) -> pd.DataFrame:
            return pairs.set_index("time")

    assert monitor.score(Dataset()).series == monitor.score(pairs).series
    with pytest.raises(monitor.FrameError, match=r"'u' has the shape \(3,\); pass one number"):
        monitor.score(value, u[:3], reference)


@pytest.mark.parametrize("library", LIBRARIES)
def test_quantiles_and_members_are_read_as_from_a_file(library, capsys, tmp_path):
    pairs = frame()[:240].drop(columns=["u", "value"])
    claims = pairs.assign(**{f"q{at}": 500.0 + 100.0 * (at - 0.5) for at in (0.05, 0.5, 0.95)})
    members = pairs.assign(**{f"ens{at}": pairs["reference"] + at - 3.5 for at in range(10)})

    for rows, given, options in (
        (claims, {}, ()),
        (members, {"members": "ens*"}, ("--columns", "members=ens*")),
    ):
        found = monitor.score(library(rows), **given).to_dict()
        wanted = by_command(capsys, tmp_path, rows, *options)
        assert found["series"][0]["statistics"] == wanted["series"][0]["statistics"]
        assert found["series"][0]["statistics"]["crps_stated"] is not None


def test_a_bad_row_costs_that_row_and_is_counted_and_u_may_be_assumed():
    pairs = frame()
    pairs.loc[3, "u"], pairs.loc[[5, 7], "value"] = 0.0, np.inf

    found = monitor.score(pairs)

    assert found.series[0]["n"] == 237
    assert found.notes == (
        "2 of 480 rows are left out, first row 5: value: is not finite, or larger than 1e+15",
        (
            "1 of 480 rows is left out, first row 3: u: must be at least 1e-12; "
            "leave it empty if not stated"
        ),
    )
    pairs.loc[9, "sensor"], pairs["time"] = None, [each.isoformat() for each in pairs["time"]]
    pairs.loc[11, "time"] = "now"
    found = monitor.score(pairs)
    assert found.series[0]["n"] == 235
    assert [note.partition("first ")[2].partition(";")[0] for note in found.notes[2:]] == [
        "row 9: sensor: a name is missing",
        "row 11: time: is not a time",
    ]
    assumed = monitor.score(frame().drop(columns="u"), assume_u="1 + 2 %")
    assert assumed.notes == ("u is assumed, not stated, in 480 rows (assume_u)",)
    np.testing.assert_allclose(assumed.rows()["u"], 1.0 + 0.02 * frame()["value"])
    assert set(monitor.score(frame().drop(columns="u"), assume_u=2).rows()["u"]) == {2.0}


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"wide": "q_*"}, "no column is one of wide=q_"),
        ({"long": "sensor"}, "write NAMES=VALUES"),
        ({"assume_u": "much"}, "write a standard uncertainty such as 0.5"),
        ({"members": "e*"}, r"no column is one of e\*; there are"),
    ],
)
def test_a_shape_that_does_not_fit_is_refused(arguments, told):
    with pytest.raises(monitor.FrameError, match=told):
        monitor.score(frame(), **arguments)


def test_each_of_several_patterns_of_a_frame_has_its_own_uncertainty():
    columns = {"a_1": 5.0, "u_a_1": 1.0, "b_1": 5.0, "u_b_1": 3.0, "U_c_1": 9.0, "c_1": 5.0}
    numbers = pd.DataFrame({**columns, "reference": 6.0}, index=range(30))

    found = monitor.score(numbers, wide=["A_*", "b_*"])

    in_u = {each["sensor"]: each["statistics"]["zms"] for each in found.series}
    assert in_u == pytest.approx({"a_1": 1.0, "b_1": 1.0 / 9.0})
    with pytest.raises(monitor.FrameError, match=r"divide it by its k: 'u=U_c_\*/2', or say"):
        monitor.score(numbers, wide="c_*")
    (of_u,) = monitor.score(numbers, wide="c_*", u="U_c_*/3").series
    assert of_u["statistics"]["zms"] == pytest.approx(1.0 / 9.0)


def test_an_expanded_uncertainty_of_the_reference_is_remarked_on_in_a_frame():
    notes = monitor.score(frame().assign(U_reference=1.0)).notes

    assert notes[-1].endswith("if 'U_reference' holds it: u_reference=df['U_reference']/2")
