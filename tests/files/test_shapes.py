"""Tables of other shapes than one pair a row give the pairs of the plain table."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from monitor.files import FileError, FileLayout, arrow_csv, read_pairs
from monitor.files.layout import LayoutError, with_shape
from monitor.files.pair_fields import parse_columns
from monitor.files.paired_columns import PairTable

HOURS = pd.date_range("2026-03-01", periods=12, freq="h", tz="UTC")
RANDOM = np.random.default_rng(5)
PLAIN = pd.DataFrame(
    {
        "time": [f"{each:%Y-%m-%dT%H:%M:%SZ}" for each in HOURS] * 2,
        "sensor": ["Node_A"] * 12 + ["Node_B"] * 12,
        "value": RANDOM.normal(20.0, 3.0, 24).round(3),
        "u": RANDOM.uniform(0.5, 1.0, 24).round(3),
        "reference": [*RANDOM.normal(20.0, 3.0, 12).round(3)] * 2,
    }
)


def layout(columns: str = "", **shape: str) -> FileLayout:
    return with_shape(FileLayout(parse_columns(columns)), **shape)


def pairs_of(table: PairTable) -> set[tuple[object, ...]]:
    names = [table.names[at][0] for at in table.series]
    columns = (table.time, table.value, table.u, table.lower, table.p, table.reference)
    return set(zip(names, *(np.nan_to_num(each).tolist() for each in columns), strict=True))


@pytest.fixture(params=["csv", "jsonl", "parquet", "by columns"])
def file_of(request, tmp_path, monkeypatch):
    """Write a frame in one of the formats."""
    if request.param in ("parquet", "by columns"):
        pytest.importorskip("pyarrow", reason="install it with: pip install '.[parquet]'")
    if request.param == "by columns":
        monkeypatch.setattr(arrow_csv, "LEAST_BYTES", 1)

    def write(frame: pd.DataFrame, name: str = "table"):
        path = tmp_path / f"{name}.{request.param[:7].replace('by colu', 'csv')}"
        if path.suffix == ".jsonl":
            frame.to_json(path, orient="records", lines=True, double_precision=15)
        elif path.suffix == ".parquet":
            frame.to_parquet(path)
        else:
            frame.to_csv(path, index=False)
        return path

    return write


def plain(file_of) -> set[tuple[object, ...]]:
    return pairs_of(read_pairs(file_of(PLAIN, "plain")))


def test_a_column_for_each_sensor(file_of):
    wide = PLAIN[:12][["time", "reference"]].copy()
    for name in ("Node_A", "Node_B"):
        rows = PLAIN[PLAIN["sensor"] == name]
        wide[name], wide[f"u_{name[-1]}"] = rows["value"].to_numpy(), rows["u"].to_numpy()

    table = read_pairs(file_of(wide), layout("u=u_*", wide="node_*"))

    assert pairs_of(table) == plain(file_of)
    assert table.names == (("Node_A", "value"), ("Node_B", "value"))
    assert pairs_of(read_pairs(file_of(wide), layout(wide="node_*"))) == plain(file_of)
    in_unit = wide.rename(columns={"reference": "reference [kg]"})
    assert read_pairs(file_of(in_unit), layout("u=u_*", wide="node_*")).units == ("kg", "kg")


@pytest.mark.parametrize("beside", ["u_{}", "{}_u"])
def test_what_a_sensor_states_stands_beside_its_column(beside, file_of):
    wide = PLAIN[:12][["time", "reference"]].copy()
    for name in ("Node_A", "Node_B"):
        rows = PLAIN[PLAIN["sensor"] == name]
        wide[name] = rows["value"].to_numpy()
        wide[beside.format(name)] = rows["u"].to_numpy()

    assert pairs_of(read_pairs(file_of(wide), layout(wide="node_*"))) == plain(file_of)
    with pytest.raises(FileError, match="there is no such column"):
        read_pairs(file_of(wide.drop(columns=beside.format("Node_B"))), layout(wide="node_*"))


@pytest.mark.parametrize("beside", ["u_{}", "{}_u", "u_{} [kg]"])
@pytest.mark.parametrize("wide", ["a_*,B_*,c*", "A_*,b_1,C*", '"a_*","b_*","c*"'])
def test_each_of_several_patterns_finds_what_its_sensors_state(wide, beside, file_of):
    of = {"a_1": 1.0, "B_1": 3.0, "c_7": 9.0}
    columns = {name: [5.0, 6.0] for name in of}
    columns |= {beside.format(name): [u, 2.0 * u] for name, u in of.items()}

    read = read_pairs(
        file_of(pd.DataFrame({**columns, "reference": [5.5, 5.0]})), layout(wide=wide)
    )

    names = [read.names[at][0] for at in read.series]
    assert dict(zip(names[::2], read.u[::2], strict=True)) == of
    assert {*names} == {*of}


def test_a_pattern_without_u_does_not_take_that_of_another(file_of):
    frame = pd.DataFrame({"a_1": [5.0], "u_a_1": [1.0], "b_1": [5.0], "reference": [5.5]})

    read = read_pairs(file_of(frame), layout(wide="a_*,b_*"))

    assert (read.names, read.u.tolist()) == ((("a_1", "value"),), [1.0])
    assert "1 of 2 rows lacks a number and is left out" in read.notes[0]
    shared = file_of(frame.rename(columns={"u_a_1": "u_1"}))
    with pytest.raises(FileError, match="no uncertainty is stated"):
        read_pairs(shared, layout(wide="a_*,b_*"))
    assert read_pairs(shared, layout("u=u_*", wide="a_*,b_*")).u.tolist() == [1.0, 1.0]


@pytest.mark.parametrize(
    ("beside", "form", "k"),
    [
        ("U_s{}", "U_s*", 2),
        ("s{}_U", "s*_U", 2),
        ("U_{}", "U_*", 2),
        ("u_s{} (k=3)", "U_s*", 3),
        ("u_s{} (expanded)", "U_s*", 2),
    ],
)
def test_expanded_uncertainties_beside_sensors_are_divided_as_told(beside, form, k, file_of):
    columns = {f"s{each}": [5.0] for each in (1, 2)}
    columns |= {beside.format(each): [6.0 * each] for each in (1, 2)}
    path = file_of(pd.DataFrame({**columns, "reference": [5.5]}))
    with pytest.raises(FileError) as refused:
        read_pairs(path, layout(wide="s*"))
    assert f"divide it by its k: --columns 'u={form}/{k}', or say" in str(refused.value)

    assert read_pairs(path, layout(f"u={form}/{k}", wide="s*")).u.tolist() == [6.0 / k, 12.0 / k]
    assert read_pairs(path, layout(f"u={form}", wide="s*")).u.tolist() == [6.0, 12.0]


def test_sensors_may_be_called_u(file_of):
    columns = {"U_L1": [230.0], "U_L2": [231.0], "u_U_L1": [1.0], "u_U_L2": [2.0]}
    path = file_of(pd.DataFrame({**columns, "reference": [230.5]}))

    read = read_pairs(path, layout(wide="U_L*"))

    assert (read.names, read.u.tolist()) == ((("U_L1", "value"), ("U_L2", "value")), [1.0, 2.0])


@pytest.mark.parametrize(
    ("names", "refused"),
    [
        ("s1 [g],u_s1 [mg],reference", "u_s1 [mg]: is in 'mg', s1 [g] in 'g'"),
        ("s1,u_s1 [%],reference", "u_s1 [%]: is in '%' and s1 states no unit"),
        ("s1 [g],u_s1,reference [kg]", "'kg', s1 [g] in 'g'"),
    ],
)
def test_units_beside_sensors_are_theirs(names, refused, file_of):
    frame = pd.DataFrame([[5.0, 1.0, 5.5]], columns=names.split(","))

    with pytest.raises(FileError) as told:
        read_pairs(file_of(frame), layout(wide="s*"))
    assert refused in str(told.value)


def test_a_column_for_each_quantity_of_each_sensor(file_of):
    wide = PLAIN.rename(columns={"value": "inT [degC]", "reference": "true_in"}).drop(columns="u")

    table = read_pairs(file_of(wide), layout("reference=true_*", wide="*T", assume_u="2"))

    assert table.names == (("Node_A", "inT"), ("Node_B", "inT"))
    assert table.units == ("degC", "degC")
    assert table.value.tolist() == PLAIN["value"].tolist()
    assert set(table.u) == {2.0}


def test_a_row_for_each_number(file_of):
    long = PLAIN.melt(["time", "sensor"], var_name="Variable", value_name="Number")
    long["record"] = range(len(long))
    shuffled = long.sample(frac=1.0, random_state=1)

    for rows in (long, shuffled):
        table = read_pairs(file_of(rows), layout(long="variable=number"))
        assert pairs_of(table) == plain(file_of)


def test_quantiles_in_rows_and_a_station_among_the_sensors(file_of):
    levels = (0.025, 0.5, 0.975)
    rows = [
        ("2026-03-01T00:00:00Z", kind, level, 10.0 + at + shift, 10.5 + at)
        for at in range(3)
        for kind, shifts in (("quantile", (-2.0, 0.0, 2.0)), ("mean", (0.0,)))
        for level, shift in zip(levels if kind == "quantile" else ("",), shifts, strict=True)
    ]
    names = ["end", "output_type", "output_type_id", "value", "observed"]
    frame = pd.DataFrame(rows, columns=names).astype({"output_type_id": str})

    table = read_pairs(
        file_of(frame),
        layout("reference=observed", long="output_type_id=value", where="output_type=quantile"),
    )
    assert table.value.tolist() == [10.0, 11.0, 12.0]
    assert (table.upper - table.lower).tolist() == [4.0] * 3
    assert table.p.tolist() == [0.95] * 3
    assert table.notes[0].endswith("--where leaves out 3 of 12 rows")

    stations = PLAIN[["time", "sensor", "value"]].rename(columns={"sensor": "site"})
    station = stations[:12].assign(site="REF", value=PLAIN["reference"][:12])
    both = file_of(pd.concat([stations, station]), "stations")
    shape = layout("reference=ref", long="site=value", wide="node_*", assume_u="1")
    found = read_pairs(both, shape)
    assert found.value.tolist() == PLAIN["value"].tolist()
    assert found.reference.tolist() == PLAIN["reference"].tolist()


def test_rows_are_chosen_by_their_texts_and_numbers(file_of):
    frame = PLAIN.assign(qc=[0, 1, 9] * 8, flag=["ok", "bad"] * 12)

    def rows(where):
        return read_pairs(file_of(frame), layout(where=where)).value.tolist()

    assert (
        rows("qc=0|1.0,flag!=bad")
        == PLAIN["value"][(frame["qc"] < 9) & (frame["flag"] == "ok")].tolist()
    )
    with pytest.raises(FileError, match=r"there is no such column .is it flag"):
        rows("flagg=ok")


def test_a_date_and_a_clock_in_two_columns_are_one_time(file_of):
    frame = PLAIN.drop(columns="time").assign(
        **{"Date": "3/1/2026", "Time (UTC)": [f"{at}:00" for at in range(12)] * 2}
    )
    named = layout("time=Date+Time (UTC)")._replace(time_format="%m/%d/%Y %H:%M")

    assert pairs_of(read_pairs(file_of(frame), named)) == plain(file_of)
    assert pairs_of(read_pairs(file_of(frame), named._replace(columns={}))) == plain(file_of)
    whole = PLAIN.assign(date="2026-03-01")
    assert pairs_of(read_pairs(file_of(whole, "whole"))) == plain(file_of)


def test_rows_of_one_name_twice_are_told_apart_or_left_out(file_of):
    long = pd.DataFrame(
        {"id": [1, 1, 1, 1], "name": ["value", "u", "reference", "u"], "x": [1.0, 2.0, 3.0, 4.0]}
    )

    table = read_pairs(file_of(long), layout("reference_id=id", long="name=x"))

    assert (table.value.tolist(), table.u.tolist()) == ([1.0], [2.0])
    assert "x: is a second 'u' of one id" in table.notes[-1]
    with pytest.raises(FileError, match="--long needs a column that tells which rows belong"):
        read_pairs(file_of(long), layout(long="name=x"))


def test_u_that_is_assumed_stands_where_none_is_stated_and_is_said(file_of):
    frame = PLAIN.assign(u=[1.0, None] * 12)

    table = read_pairs(file_of(frame), layout(assume_u="3 + 10 %"))

    wanted = np.where(frame["u"].isna(), 3.0 + 0.1 * frame["value"].abs(), 1.0)
    np.testing.assert_allclose(table.u, wanted)
    assert table.notes[0].endswith("u is assumed, not stated, in 12 rows (--assume-u)")
    assert set(read_pairs(file_of(frame), layout(assume_u="0.25")).u) == {1.0, 0.25}
    share = read_pairs(file_of(frame), layout(assume_u="5%"))
    np.testing.assert_allclose(share.u[1::2], 0.05 * frame["value"][1::2].abs())


@pytest.mark.parametrize(
    ("shape", "told"),
    [
        ({"assume_u": "much"}, "--assume-u much: write a standard uncertainty such as 0.5"),
        ({"assume_u": "0%"}, "--assume-u 0%"),
        ({"long": "a"}, "--long a: write NAMES=VALUES"),
        ({"where": "qc"}, "--where qc: write COLUMN=TEXT"),
        ({"skip_lines": "x"}, "--skip-lines x: must be a number of lines"),
    ],
)
def test_an_option_that_cannot_be_read_is_told(shape, told):
    with pytest.raises(LayoutError) as caught:
        layout(**shape)
    assert str(caught.value).startswith(told)


def test_a_refusal_names_the_option_that_would_read_the_table(written):
    def told(text):
        with pytest.raises(FileError) as caught:
            read_pairs(written(text))
        return str(caught.value)

    assert "(--wide 'cell_*') or members" in told("time,reference,cell_1,cell_2\n1,1,1,1\n")
    assert "--long variable=value" in told("time,reference,variable,x\n1,1,u,1\n")
    assert "--assume-u 5%" in told("value,reference\n1,1\n")
    with pytest.raises(FileError, match="no column is one of --wide q_"):
        read_pairs(written("a,reference\n1,1\n"), layout(wide="q_*"))


def test_an_expanded_uncertainty_divided_by_its_k(file_of):
    frame = PLAIN.rename(columns={"u": "U"}).assign(k=[2.0, 3.0] * (len(PLAIN) // 2))

    halved = read_pairs(file_of(frame), layout("u=U/2"))
    assert halved.u.tolist() == (PLAIN["u"] / 2.0).tolist()
    table = read_pairs(file_of(frame), layout("u=U/k"))
    assert table.u.tolist() == (frame["U"] / frame["k"]).tolist()
    assert table.notes == ()
    frame.loc[3, "k"] = 0.0
    table = read_pairs(file_of(frame), layout("u=U/k"))
    assert table.u.size == len(PLAIN) - 1
    assert "1 of" in table.notes[0]


def test_a_joined_date_is_used(file_of):
    times = pd.to_datetime(PLAIN["time"], utc=True)
    frame = PLAIN.assign(date=times.dt.strftime("%Y-%m-%d"), time=times.dt.strftime("%H:%M:%S"))

    table = read_pairs(file_of(frame), layout()._replace(time_zone="UTC"))
    assert pairs_of(table) == plain(file_of)
    assert table.notes == ()


def test_the_names_of_an_intervals_ends_say_what_it_holds(file_of):
    frame = PLAIN.drop(columns="u")
    frame["lo95"], frame["hi95"] = PLAIN["value"] - 2.0, PLAIN["value"] + 2.0
    bare = frame.rename(columns={"lo95": "low", "hi95": "high"})

    named = read_pairs(file_of(frame), layout("lower=lo95,upper=hi95"))
    assert set(named.p) == {0.95}
    assert "the names of lo95 and hi95 say that their interval holds 95 %" in named.notes[0]
    assert set(read_pairs(file_of(frame), layout()).p) == {0.95}
    unknown = read_pairs(file_of(bare), layout("lower=low,upper=high"))
    assert all(np.isnan(unknown.p))
    assert "no column states the probability of low and high" in unknown.notes[0]


@pytest.mark.parametrize(
    ("names", "proposed"),
    [
        ("ts,device,measured,Std,Truth", "value=measured,reference=truth,u=std,time=ts,sensor=dev"),
        ("time,pred,sigma,actual", "--columns value=pred,reference=actual."),
        ("time,q05,q95,obs", "--columns reference=obs. q05, q95 ... may be quantiles (--columns q"),
        ("a,b,c", "--columns value=y_pred,u=y_std,reference=y_true."),
    ],
)
def test_a_refusal_proposes_columns_by_their_names(tmp_path, names, proposed):
    path = tmp_path / "pairs.csv"
    path.write_text(f"{names}\n" + ",".join("1" * len(names.split(","))) + "\n")

    with pytest.raises(FileError) as refusal:
        read_pairs(path)
    assert proposed in f"{refusal.value}."
