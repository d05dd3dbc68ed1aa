"""Files of pairs and of streams: what is read, and how mistakes are said."""

from __future__ import annotations

import csv
import math
from datetime import datetime
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.core.model import Reading, Reference
from monitor.core.pairing.series_rules import SeriesRules
from monitor.files import FileError, FileLayout, detect, read_pairs, read_stream
from monitor.files.input_file import seconds
from monitor.files.pair_fields import parse_columns
from monitor.files.time_layouts import with_found_times
from monitor.mqtt.topic_templates import NAME_RULE
from monitor.report.recorded import events_of, read

SMALL = Path(__file__).parents[1] / "small"
NUMBERS = st.floats(min_value=-1e15, max_value=1e15)


def mistakes_of(read) -> list[str]:
    with pytest.raises(FileError) as caught:
        read()
    return [line.split(".csv:", 1)[-1] for line in str(caught.value).splitlines()]


# -- pairs ------------------------------------------------------------------------------------


def test_every_cell_of_a_pairs_file_is_read_as_python_reads_it():
    path = SMALL / "pairs_u.csv"
    with path.open() as text:
        rows = list(csv.DictReader(text))

    table = read_pairs(path)

    assert [table.names[at] for at in table.series] == [
        (row["sensor"], row["quantity"]) for row in rows
    ]
    for column, name in (
        (table.value, "value"),
        (table.u, "sigma"),
        (table.reference, "reference"),
        (table.u_ref, "reference_sigma"),
    ):
        assert column.tolist() == [float(row[name]) for row in rows]
    times = [datetime.fromisoformat(row["time"]).timestamp() for row in rows]
    assert table.time.tolist() == times
    assert np.isnan(table.lower).all()
    assert np.isnan(table.p).all()
    assert table.notes == ()


def test_intervals_are_read_with_their_coverage_probability():
    table = read_pairs(SMALL / "pairs_interval.csv")

    assert set(table.names) == {("cart-10", "mass"), ("cart-11", "mass")}
    assert (table.lower < table.value).all()
    assert (table.value < table.upper).all()
    assert set(table.p) == {0.9}
    assert np.isnan(table.u).all()


def test_columns_may_stand_in_any_order_with_both_uncertainties_and_a_unit(written):
    path = written(
        "unit,reference,upper,sigma,lower,value,sensor\nkg,10,13,1.5,9,11,a\nkg,20,,2,,21,b\n"
    )

    table = read_pairs(path)

    assert table.names == (("a", "value"), ("b", "value"))
    assert table.units == ("kg", "kg")
    assert table.value.tolist() == [11.0, 21.0]
    assert table.u.tolist() == [1.5, 2.0]
    assert table.lower[0] == 9.0
    assert math.isnan(table.upper[1])
    assert table.u_ref.tolist() == [0.0, 0.0]


def test_without_time_and_sensor_the_row_number_and_the_files_name_stand_in(written):
    table = read_pairs(written("value,sigma,reference\n1,1,1\n2,1,2\n", "my scale.v2.csv"))

    assert table.time.tolist() == [0.0, 1.0]
    assert table.names == (("my_scale.v2", "value"),)


def test_a_column_that_is_not_used_is_said_in_a_note(written):
    table = read_pairs(written("fold,value,sigma,reference\n3,1,1,1\n"))

    assert len(table.notes) == 1
    assert table.notes[0].endswith("columns not used: fold")


def test_named_columns_are_taken_for_what_they_hold(written):
    path = written("y_pred,value,y_std,Truth\n1,9,2,3\n")

    table = read_pairs(path, FileLayout(parse_columns("value=y_pred, u=y_std,reference=truth")))

    assert (*table.value, *table.u, *table.reference) == (1.0, 2.0, 3.0)
    assert table.notes[0].endswith("columns not used: value")
    with pytest.raises(FileError, match=r"1:y_sdt: there is no such column \(is it y_std\?\)"):
        read_pairs(path, FileLayout({"value": "y_pred", "u": "y_sdt", "reference": "truth"}))


@pytest.mark.parametrize("separator", [";", "\t"])
def test_cells_may_stand_between_semicolons_or_tabs_with_decimal_commas(written, separator):
    lines = ["\ufeffsensor;value;u;reference;unit", "a;21,5;0,5;-2,1e1;a,b", "a;1.5;1;2;a,b"]
    table = read_pairs(written("\r\n".join(lines).replace(";", separator) + "\r\n"))

    assert table.value.tolist() == [21.5, 1.5]
    assert table.u.tolist() == [0.5, 1.0]
    assert table.reference.tolist() == [-21.0, 2.0]
    assert table.units == ("a,b",)


def test_rows_that_lack_a_number_are_left_out_and_counted(written):
    rows = ["1,1,,,1", "NaN,1,,,1", "2,1,,,null", "3,,0,4,3", "4,n/a,,,4", ",1,,,1", "5,1,,,5"]
    table = read_pairs(written("value,u,lower,upper,reference\n" + "\n".join(rows) + "\n"))

    assert table.value.tolist() == [1.0, 3.0, 5.0]
    assert table.time.tolist() == [0.0, 1.0, 2.0]
    assert table.notes[0].endswith("4 of 7 rows lack a number and are left out")
    with pytest.raises(FileError, match="none of its 2 rows has all of the numbers"):
        read_pairs(written("value,u,reference\nnan,1,1\n1,,1\n"))


def test_an_interval_alone_stands_for_its_middle_as_over_mqtt(written):
    table = read_pairs(written("lower,upper,p,reference\n1,4,0.8,3\n"))

    assert (*table.value, *table.p) == (2.5, 0.8)
    assert np.isnan(table.u).all()


def in_form(rows: pd.DataFrame, path: Path) -> Path:
    if path.suffix == ".parquet":
        rows.to_parquet(path)
    elif path.suffix == ".jsonl":
        rows.to_json(path, orient="records", lines=True)
    else:
        rows.to_csv(path, index=False)
    return path


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
def test_a_row_without_a_value_stands_for_the_middle_of_its_interval(form, tmp_path):
    rows = pd.DataFrame(
        {"value": [2.0, None, None], "lower": [1.0, 1.0, None], "upper": [4.0, 4.0, None], "u": 1.0}
    ).assign(reference=3.0)
    path = in_form(rows, tmp_path / f"pairs.{form}")

    table = read_pairs(path)

    assert table.value.tolist() == [2.0, 2.5]
    assert table.notes == (f"{path}: 1 of 3 rows lacks a number and is left out",)
    alone = rows[1:2].drop(columns="u").astype({"value": object}).assign(value=None)
    assert read_pairs(in_form(alone, tmp_path / f"alone.{form}")).value.tolist() == [2.5]


def test_beside_an_empty_value_a_distribution_states_it(written):
    rows = "value,q0.1,q0.5,q0.9,members,reference\n,1,2,4,,3\n5,1,2,4,,3\n,,,,1 2 6,3\n"

    assert read_pairs(written(rows)).value.tolist() == [2.0, 5.0, 3.0]


LOCAL = FileLayout(time_zone="Europe/Berlin", time_format="%d.%m.%Y %H:%M", decimal_comma=True)
SPRING = (seconds("2026-03-28T18:30+01:00"), seconds("2026-03-29T18:30+02:00"))


def test_local_times_and_decimal_commas_are_read_as_the_layout_says(written):
    rows = "28.03.2026 18:30;1.021,5;0,5;n/a\n29.03.2026 18:30;1.021;1;1.020,25\n"
    table = read_pairs(written("time;value;u;reference\n" + rows.replace("n/a", "2")), LOCAL)

    assert tuple(table.time) == SPRING
    assert table.value.tolist() == [1021.5, 1021.0]
    assert table.u.tolist() == [0.5, 1.0]
    assert table.reference.tolist() == [2.0, 1020.25]
    assert read_pairs(written("time;value;u;reference\n" + rows), LOCAL).time.tolist() == [
        SPRING[1]
    ]


def test_a_number_of_json_keeps_its_point_whatever_texts_have(written):
    line = '{"time":"28.03.2026 18:30","value":21.5,"u":"0,5","reference":1.5e-7}\n'
    table = read_pairs(written(line, "pairs.jsonl"), LOCAL)

    assert (*table.value, *table.u, *table.reference) == (21.5, 0.5, 1.5e-7)


def test_members_have_decimal_commas_too(written):
    table = read_pairs(written("value;members;reference\n1,5;1,5 2,5 3,5;2,5\n"), LOCAL)

    assert table.u.tolist() == [pytest.approx(2.5349, abs=1e-4)]  # three members, see test_cells


def test_the_layout_holds_for_a_stream(written):
    rows = "28.03.2026 18:30;s;reading;1.021,5;0,5\n29.03.2026 18:30;s;reference;1.021;0\n"
    found = list(read_stream(written("time;sensor;kind;value;sigma\n" + rows), LOCAL))

    assert tuple(each.time for each in found) == SPRING
    assert [each.value for each in found] == [1021.5, 1021.0]


def test_cells_that_are_not_of_the_layout_are_told_with_their_places(written):
    rows = ["28.03.2026 18:30;21.5;1;1", "2026-03-28T18:30Z;1;1;1"]
    path = written("\n".join(["time;value;u;reference", *rows[:1]]) + "\n")

    assert mistakes_of(lambda: read_pairs(path, LOCAL)) == [
        "2:value: '21.5': is not a number; write 1.021,5",
    ]
    path = written("\n".join(["time;value;u;reference", *rows[1:]]) + "\n")
    assert mistakes_of(lambda: read_pairs(path, LOCAL)) == [
        "2:time: time '2026-03-28T18:30Z' is not of the layout '%d.%m.%Y %H:%M'",
    ]
    skipped = written("time;value;u;reference\n29.03.2026 02:30;1;1;1\n")
    many = "".join(f"29.03.2026 0{each // 60}:{each % 60};1;1;1\n" for each in range(110, 191, 10))
    (note,) = read_pairs(written("time;value;u;reference\n" + many, "many.csv"), LOCAL).notes
    assert "6 of 9 rows are left out, first line 3: time: does not exist in Europe" in note
    (told,) = mistakes_of(lambda: read_pairs(skipped, LOCAL))
    assert told.startswith("2:time: time 2026-03-29T02:30:00 does not exist in Europe/Berlin: ")
    assert told.endswith("A clock that stays on winter time has a zone such as Etc/GMT-1")
    half = FileLayout(time_zone="Australia/Adelaide")
    skipped = written("time,value,u,reference\n2026-10-04T02:30,1,1,1\n")
    (told,) = mistakes_of(lambda: read_pairs(skipped, half))
    assert told.endswith("A clock that stays on winter time needs its offset in each time: +09:30")
    naive = written("time,value,u,reference\n2026-03-28T18:30,1,1,1\n")
    assert "--time-zone" in mistakes_of(lambda: read_pairs(naive))[0]
    layout = FileLayout(time_format="%Y-%m-%dT%H:%M")
    assert mistakes_of(lambda: read_pairs(naive, layout)) == [
        "2:time: '2026-03-28T18:30' has no zone; give it as --time-zone"
    ]
    comma = written('value,u,reference\n"1.021,5",1,1\n')
    assert "--decimal-comma" in mistakes_of(lambda: read_pairs(comma))[0]


def test_a_file_longer_than_a_chunk_is_read_whole_and_in_order(written):
    count = 12_345
    lines = "".join(f"s{at % 7},{at},1,{at}\n" for at in range(count))

    table = read_pairs(written("sensor,value,sigma,reference\n" + lines))

    assert table.value.tolist() == list(range(count))
    assert table.series.tolist() == [at % 7 for at in range(count)]
    assert table.time.tolist() == list(range(count))


@given(st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1, max_size=20))
def test_numbers_survive_being_written_and_read_bit_for_bit(tmp_path_factory, pairs):
    path = tmp_path_factory.getbasetemp() / "exact.csv"
    path.write_text(
        "value,sigma,reference\n" + "".join(f"{one!r},1,{other!r}\n" for one, other in pairs)
    )

    table = read_pairs(path)

    assert list(zip(table.value.tolist(), table.reference.tolist(), strict=True)) == pairs


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("inf,1,,,,1", "2:value: 'inf' is not finite"),
        ("1e300,1,,,,1", "2:value: '1e300' is not finite, or is larger"),
        ("1_000,1,,,,1", "2:value: '1_000' is not a number"),
        ("12 kg,1,,,,1", "2:value: '12 kg' is not a number"),
        ("1,0,,,,1", "2:sigma: must be at least 1e-12"),
        ("1,-2,,,,1", "2:sigma: must be at least 1e-12"),
        ("1,,3,2,,1", "2:lower: is above upper"),
        ("1,,2,2,,1", "2:lower: the interval has no width"),
        ("1,1,2,,,1", "2:lower: lower and upper must be stated together"),
        ("1,,0,2,0,1", "2:alpha: must lie between 0 and 1"),
        ("1,,0,2,1,1", "2:alpha: must lie between 0 and 1"),
        ("1,,0,2,-0.1,1", "2:alpha: must lie between 0 and 1"),
        ("1,1,1", "2: has 3 cells, the header has 6"),
    ],
)
def test_a_bad_row_is_refused_with_line_column_and_reason(written, row, said):
    path = written(f"value,sigma,lower,upper,alpha,reference\n{row}\n")

    mistakes = mistakes_of(lambda: read_pairs(path))

    assert len(mistakes) == 1
    assert mistakes[0].startswith(said)


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        ("2026-03-01T06:00:00,a,mass,kg", "3:time: '2026-03-01T06:00:00' has no zone"),
        ("yesterday,a,mass,kg", "3:time: 'yesterday' is not a time"),
        (",a,mass,kg", "3:time: '' is not a time"),
        ("2026-03-01T06:00:00Z,a/b,mass,kg", "3:sensor: sensor 'a/b'"),
        ("2026-03-01T06:00:00Z,a,b#,kg", "3:quantity: quantity 'b#'"),
    ],
)
def test_times_names_and_units_are_refused_where_they_stand(written, cells, said):
    path = written(
        "time,sensor,quantity,unit,value,sigma,reference\n"
        f"2026-03-01T05:00:00Z,a,mass,kg,1,1,\n{cells},1,1,1\n"
    )

    mistakes = mistakes_of(lambda: read_pairs(path))

    assert len(mistakes) == 1
    assert mistakes[0].startswith(said)


def test_a_bad_row_costs_that_row_and_each_reason_is_counted(written):
    head = "Time,Sensor,quantity,Unit,value,sigma,Lower,upper,reference\n"
    good = "2026-03-01T05:00:00Z,a,mass,kg,1,1,,,1\n"
    bad = [
        "now,a,mass,kg,1,1,,,1\n",
        "2026-03-01T05:00:00Z,a,mass,lb,1,1,,,1\n",
        "2026-03-01T05:00:00Z,b/c,mass,kg,1,1,,,1\n",
        "2026-03-01T05:00:00Z,d,mass,kg,inf,1,,,1\n",
        "2026-03-01T05:00:00Z,a,mass,kg,1,0,,,1\n",
        "2026-03-01T05:00:00Z,a,mass,kg,1,,-inf,inf,1\n",
        "2026-03-01T05:00:00Z,a\n",
        "2026-03-01T05:00:00Z,a,mass,kg,,0,,,1\n",
    ]
    path = written(head + good + "".join(bad) + good + bad[0] + ",,,,,,,,1\n")

    table = read_pairs(path)

    assert table.value.tolist() == [1.0, 1.0]
    assert table.names == (("a", "mass"),)
    assert [note.partition(": ")[2] for note in table.notes] == [
        "1 of 12 rows lacks a number and is left out",
        "1 of 12 rows is left out, first line 9: has 2 cells, the header has 9; make them equal",
        "1 of 12 rows is left out, first line 6: value: is not finite, or is larger than 1e+15",
        "1 of 12 rows is left out, first line 8: Lower: is not finite, or is larger than 1e+15",
        (
            "2 of 12 rows are left out, first line 7: sigma: must be at least 1e-12; "
            "leave it empty if not stated"
        ),
        (
            "2 of 12 rows are left out, first line 3: Time: is not a time; write it as "
            "2026-03-01T06:12:44Z, or give --time-zone, or --time-format auto"
        ),
        "1 of 12 rows is left out, first line 4: Unit: is 'lb', was 'kg'; convert one of them",
        f"1 of 12 rows is left out, first line 5: Sensor: sensor 'b/c': {NAME_RULE}",
    ]


@pytest.mark.parametrize("bad", ["NaN", "Infinity", "-Infinity"])
def test_what_is_no_number_in_json_is_no_reading_of_its_row(written, bad):
    good = '{"value": 1, "u": 1, "reference": 1, "note": "NaN, \\"Infinity"}\n'
    lines = [f'{{"value": {bad}, "u": 1, "reference": 2}}\n', good, '{"value": 1, "u"\n', "[1]\n"]

    table = read_pairs(
        written("".join(lines).replace(', "note": "NaN, \\"Infinity"', ""), "a.jsonl")
    )
    texts = read_pairs(written(good + "".join(lines[:1]), "b.jsonl"))

    assert table.value.tolist() == texts.value.tolist() == [1.0]
    assert [note.partition(": ")[2].partition(":")[0] for note in table.notes] == [
        "1 of 4 rows lacks a number and is left out",
        "1 of 4 rows is left out, first line 3",
        "1 of 4 rows is left out, first line 4",
    ]


def test_a_distribution_with_a_bad_number_costs_its_row_and_names_its_column(written):
    rows = "reference,members\n1,1 2 3\n1,1 nan 3\n1,2 2 2\n1,1 2 inf\n"
    notes = read_pairs(written(rows)).notes
    assert [note.partition("left out, first ")[2][:16] for note in notes] == [
        "line 3: members:",
        "line 4: members:",
    ]
    levels = written("reference,q0.1,q0.5,q0.9\n1,1,2,3\n1,2,2,2\n")
    assert "line 3: q0.1: the interval has no width" in read_pairs(levels).notes[0]


def test_the_first_three_mistakes_of_each_kind_are_listed_in_the_order_of_the_lines(written):
    bad = "x,1,1\n1,0,1\n"
    path = written("value,sigma,reference\n" + "1,1,\n" + bad * 40)

    mistakes = mistakes_of(lambda: read_pairs(path))

    assert [int(line.split(":")[0]) for line in mistakes[:-1]] == list(range(3, 9))
    assert "more mistakes" in mistakes[-1]


def test_three_mistakes_of_a_kind_are_all_there_are(written):
    mistakes = mistakes_of(lambda: read_pairs(written("value,sigma,reference\n" + "x,1,1\n" * 3)))

    assert [int(line.split(":")[0]) for line in mistakes] == [2, 3, 4]


@pytest.mark.parametrize(
    ("header", "said"),
    [
        ("value,sigma", "1:reference: this column is missing"),
        ("value,reference", "1: no uncertainty is stated"),
        ("value,lower,reference", "1: lower and upper must be given together"),
        ("value,value,sigma,reference", "1:value: this column appears twice"),
        ("y_pred,y_std,y_true", "1:value: this column is missing; there are y_pred"),
        ('[{"value": 1}]', "1: is a JSON array; write one object per line"),
    ],
)
def test_a_header_that_cannot_be_used_is_refused(written, header, said):
    path = written(header + "\n1,1,1\n")

    assert mistakes_of(lambda: read_pairs(path))[0].startswith(said)


EXPANDED = (
    "U is an expanded uncertainty; divide it by its k: --columns u=U/2, or say --columns u=U if it "
    "is a standard"
)


def as_csv(folder, columns):
    path = folder / "pairs.csv"
    pd.DataFrame(columns).to_csv(path, index=False)
    return path


def as_json_lines(folder, columns):
    path = folder / "pairs.jsonl"
    pd.DataFrame(columns).to_json(path, orient="records", lines=True)
    return path


def as_parquet(folder, columns):
    pytest.importorskip("pyarrow", reason="install it with: pip install '.[parquet]'")
    path = folder / "pairs.parquet"
    pd.DataFrame(columns).to_parquet(path)
    return path


@pytest.mark.parametrize("written_as", [as_csv, as_json_lines, as_parquet])
def test_an_expanded_uncertainty_is_never_taken_for_a_standard_one(tmp_path, written_as):
    alone = {"Value": [1.0], "U": [3.0], "reference": [1.5]}
    path = written_as(tmp_path, alone)

    with pytest.raises(FileError) as caught:
        read_pairs(path)
    assert EXPANDED in str(caught.value)
    assert read_pairs(path, FileLayout(columns={"u": "U"})).u.tolist() == [3.0]

    both = read_pairs(written_as(tmp_path, {**alone, "u": [1.5]}))
    assert both.u.tolist() == [1.5]
    assert both.notes == (f"{tmp_path / path.name}: columns not used: U",)

    interval = {"lower": [0.0], "upper": [2.0]}
    assert np.isnan(read_pairs(written_as(tmp_path, {**alone, **interval})).u).all()


@pytest.mark.parametrize(
    ("header", "k", "unit"),
    [
        ("U [kg]", "2", "kg"),
        ("U (k=3)", "3", ""),
        ('"U (k = 1,96) [kg]"', "1.96", "kg"),
        ("U [kg] (k=2; p=95 %)", "2", "kg"),
        ("u (k=2)", "2", ""),
        ("u [kg] (k=3)", "3", "kg"),
        ("u(k=2)[kg]", "2", "kg"),
        ("u (expanded)", "2", ""),
    ],
)
def test_an_expanded_uncertainty_is_told_by_its_header_with_unit_and_k(header, k, unit, written):
    path = written(f"value,{header},reference\n1,3,1.5\n")
    (refused,) = mistakes_of(lambda: read_pairs(path))
    assert f"{EXPANDED.replace('U/2', f'U/{k}')}" in refused

    read = read_pairs(path, FileLayout(columns={"u": f"U/{k}"}))

    assert read.u.tolist() == [3.0 / float(k)]
    assert read.units == (unit,)


@pytest.mark.parametrize("header", ["u (k=1)", "u (k=1.0)", "sigma (k=1; 68 %)"])
def test_a_standard_uncertainty_may_say_that_its_k_is_1(header, written):
    read = read_pairs(written(f"value [kg],{header},reference\n1,3,1.5\n"))

    assert (read.u.tolist(), read.units) == ([3.0], ("kg",))


@pytest.mark.parametrize(
    ("field", "header", "remedy"),
    [
        ("u", "sigma (k=2)", "'u=sigma (k=2)/2'"),
        ("u_reference", "U_reference", "u_reference=U_reference/2"),
        ("u_reference", "u_reference (k=2)", "u_reference=U_reference/2"),
        ("u_reference", "U_reference [kg] (k=2)", "u_reference=U_reference/2"),
        ("u_reference", "u_reference [kg] (k=3)", "u_reference=U_reference/3"),
        ("u_reference", "reference_sigma (k=2)", "'u_reference=reference_sigma (k=2)/2'"),
    ],
)
def test_an_uncertainty_that_its_header_calls_expanded_is_divided_as_told(
    field, header, remedy, written
):
    other = "u" if field == "u_reference" else "u_reference"
    path = written(f"value,{other},reference,{header}\n1,0.5,1.5,6\n")
    (refused,) = mistakes_of(lambda: read_pairs(path))
    assert f"is an expanded uncertainty; divide it by its k: --columns {remedy}, or" in refused

    read = read_pairs(path, FileLayout(parse_columns(remedy.strip("'"))))

    stated = {"u": read.u.tolist(), "u_reference": read.u_ref.tolist()}
    assert stated == {other: [0.5], field: [6.0 / float(remedy.strip("'")[-1])]}


@pytest.mark.parametrize("header", ["U_ref", "u_ref (k=2)"])
def test_a_column_that_sounds_like_an_expanded_uncertainty_is_proposed_divided(header, written):
    notes = read_pairs(written(f"value,u,reference,{header}\n1,1,1,1\n")).notes

    assert f"{header}/2" in notes[-1]


@pytest.mark.parametrize("of_u", ["u [%]", "sigma (%)", "u [% of value]", "u_reference [%]"])
def test_a_share_of_what_has_no_unit_is_no_uncertainty_in_its_unit(of_u, written):
    rest = ["u", "reference"] if "reference" in of_u else ["reference"]

    def path(*names):
        return written(f"{','.join([*names, *rest])}\n9,5{',1' * len(rest)}\n")

    (refused,) = mistakes_of(lambda: read_pairs(path("value", of_u)))
    assert refused.startswith(f"1:{of_u}: is in '%")

    of_share = read_pairs(path("value [%]", f"{of_u.split(' ')[0]} [%]"))

    assert of_share.units == ("%",)


def test_one_unit_in_two_spellings_is_one(written):
    path = written(
        "value [µg/m³],u,reference [ug/m3],unit\n1,1,1,ug/m3\n1,1,1,µg/m³\n1,1,1,mg/m3\n"
    )

    read = read_pairs(path)

    assert (read.units, read.value.size) == (("ug/m3",), 2)
    assert "is 'mg/m3', was 'ug/m3'" in read.notes[0]


@pytest.mark.parametrize(
    "text",
    [
        "value,u,reference\n\N{MINUS SIGN}3.5,0.5,\N{MINUS SIGN}1021.25\n",
        "value;u;reference\n\N{MINUS SIGN}3,5;0,5;\N{MINUS SIGN}1021,25\n",
        "value;u;reference\n\N{MINUS SIGN}3,5;0,5;\N{MINUS SIGN}1 021,25\n",
    ],
)
def test_a_minus_sign_of_a_typesetter_is_a_minus(text, written):
    read = read_pairs(written(text))

    assert (read.value.tolist(), read.reference.tolist()) == ([-3.5], [-1021.25])


def test_blank_rows_empty_names_and_doubled_columns_that_nothing_uses_are_dropped(written):
    path = written(
        ";value;u;reference;;note;note\n0;1;1;2;;a;b\n;;;;;;\n ; ;\n1;2;1;2;;a;b\n;;;;;;\n"
    )

    table = read_pairs(path)

    assert table.value.tolist() == [1.0, 2.0]
    assert table.notes == (f"{path}: columns not used: note",)


def test_a_row_that_is_left_out_is_not_refused_for_its_time_or_name(written):
    path = written(
        "time,sensor,value,u,reference,reference_id\n2026-03-01T05:00:00Z,a,1,1,1,1\n"
        ",a,2,1,,2\nyesterday,,,1,1,\n2026-03-01T06:00:00Z,b,3,1,3,3\n,,,,,\n"
    )

    table = read_pairs(path)

    assert table.value.tolist() == [1.0, 3.0]
    assert [name for name, _ in table.names] == ["a", "b"]
    assert table.notes == (f"{path}: 2 of 4 rows lack a number and are left out",)


# -- streams ----------------------------------------------------------------------------------


def test_an_object_over_several_lines_is_told_from_lines_of_objects(written):
    path = written('{\n  "kind": "reading",\n  "value": 1\n}\n', "stream.jsonl")

    with pytest.raises(FileError, match=r"several lines; write each object on one line"):
        detect(path)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("[1, 2]", "Expected `object`"),
        ("{", "is not a JSON object on one line"),
        ('{"kind":"reading","value":1,"sigma":1}', "missing required field `time`"),
        (
            '{"time":"2026-03-01T05:00:00Z","kind":"reading","value":"1"}',
            ":value: Expected `float`",
        ),
        ('{"time":"2026-03-01T05:00:00Z","kind":"reading","value":1e300}', ":value: is larger"),
        ('{"time":"2026-03-01T05:00:00Z","kind":"reading","value":1e400}', ":value: is larger"),
        ('{"kind":"reading",}', "one line: a comma before a closing bracket; remove it (byte 17)"),
        ('{"time":"2026-03-01T05:00:00Z","kind":"x","value":1}', ":kind: Invalid enum value"),
    ],
)
def test_a_bad_line_of_json_costs_that_line_and_is_told_with_its_field(written, line, said):
    good = '{"time":"2026-03-01T05:00:00Z","kind":"reading","value":1,"sigma":1}\n'
    stream = read_stream(written(good + "\n" + line + "\n", "stream.jsonl"))

    assert len(list(stream)) == 1

    (note,) = stream.notes
    assert ".jsonl: 1 of 2 rows is left out, first line 3: " in note
    assert said.removeprefix(":") in note


# -- times and kinds of files -----------------------------------------------------------------


def test_the_real_data_sets_are_read_whole(shared_data):
    expected = {"uwb_pairs.csv": 233, "airquality_pairs.csv.gz": 22_133, "wine_gbr.csv": 4_898}

    read = {name: read_pairs(shared_data / name).value.size for name in expected}
    stream = list(read_stream(shared_data / "airquality_stream.csv.gz"))

    assert read == expected
    assert sum(isinstance(one, Reading) for one in stream) == 26_973
    assert sum(isinstance(one, Reference) for one in stream) == 22_133


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([], "has a header but no rows; write a row for each pair"),
        (["1,,2", "2,,2"], "none of its 2 rows has all .* most lack u: fill it in, .*--columns"),
        ([",1,2", "2,1,"] * 2 + [",1,2"], "none of its 5 rows .* most lack value: "),
    ],
)
def test_a_file_without_any_pair_says_what_it_lacks(tmp_path, rows, said):
    path = tmp_path / "pairs.csv"
    path.write_text("\n".join(["value,u,reference", *rows]) + "\n")

    with pytest.raises(FileError, match=said):
        read_pairs(path)


@pytest.mark.parametrize(
    ("below", "numbers", "places"),
    [("%", ["50", "", "52"], {}), ("", ["a", "b", "a"], {"room": ("a", "b")})],
)
def test_a_row_that_is_left_out_does_not_say_what_a_covariate_holds(
    below, numbers, places, written
):
    rows = "".join(f"1,1,1,{number}\n" for number in numbers)
    path = written(f"value,u,reference,room\nkg,kg,kg,{below}\n{rows}")

    read = read_pairs(path, covariates=["room"])

    wanted = [0.0, 1.0, 0.0] if places else [50.0, math.nan, 52.0]
    np.testing.assert_array_equal(read.covariates["room"], wanted)
    assert read.categories == places


def test_a_column_that_may_hold_the_time_is_asked_about(tmp_path):
    path = tmp_path / "pairs.csv"
    path.write_text("timestamp,station,value,u,reference\n2026-03-01T00:00:00Z,a,1,1,1\n")

    assert read_pairs(path).notes[1:] == (
        f"{path}: no column time; if timestamp holds it: --columns time=timestamp",
        f"{path}: no column sensor; if station holds it: --columns sensor=station",
    )
    columns = {"time": "timestamp", "sensor": "station"}
    assert read_pairs(path, FileLayout(columns)).notes == ()


# -- what others write --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rows", "numbers", "beside"),
    [
        ("1,004;2;1,000", [1004.0, 2.0, 1000.0], ""),
        ("1,004;2.5;1,000", [1004.0, 2.5, 1000.0], "2.5"),
        ("1,004;2;1,000.5", [1004.0, 2.0, 1000.5], "1,000.5"),
        ("-1,004;2;-1,234,567", [-1004.0, 2.0, -1234567.0], "-1,234,567"),
        ("1,004.25;2;1,000.5", [1004.25, 2.0, 1000.5], None),
    ],
)
@pytest.mark.parametrize("separator", [";", "\t"])
def test_commas_that_separate_thousands_beside_other_separators(
    separator, rows, numbers, beside, written
):
    path = written(f"value;u;reference\n{rows}\n".replace(";", separator))
    read = read_pairs(path, FileLayout(decimal_point=True))
    assert [read.value[0], read.u[0], read.reference[0]] == numbers

    if beside is None:
        assert read_pairs(path).value.tolist() == numbers[:1]
    elif beside:
        (refused,) = mistakes_of(lambda: read_pairs(path))
        assert f"is ambiguous beside '{beside}': it may be " in refused
        assert "give --decimal-point if commas separate thousands" in refused


def test_a_decimal_comma_elsewhere_says_what_the_others_are(written):
    read = read_pairs(written("note;value;u;reference\n2.5;1,004;0,5;1,000\n"))

    assert [read.value[0], read.u[0], read.reference[0]] == [1.004, 0.5, 1.0]


def test_thousands_beside_decimal_commas_are_asked_about(written):
    path = written("value;u;reference\n998,4;2,5;996,9\n1.022;2,5;1.020\n")

    assert mistakes_of(lambda: read_pairs(path)) == [
        (
            "3: '1.022' is ambiguous in a file with decimal commas: it may be 1022 or 1.022; give "
            "--decimal-comma if points separate thousands, --decimal-point if commas do"
        )
    ]
    assert read_pairs(path, FileLayout(decimal_comma=True)).value.tolist() == [998.4, 1022.0]
    assert read_pairs(written("value;u;reference\n1.022;2.5;1.020\n")).value.tolist() == [1.022]


def test_the_hint_at_decimal_commas_is_given_where_they_help(written):
    def told(cell):
        path = written(f'value,u,reference\n"{cell}",1,1\n')
        return mistakes_of(lambda: read_pairs(path))[0]

    assert told("21,5").endswith("with a decimal point; give --decimal-comma")
    assert not told("1,0215.00").endswith("--decimal-comma")
    assert "--decimal-point if commas separate thousands, or give --decimal-comma" in told("1,021")


def test_numbers_are_read_as_people_write_them(written):
    cells = ["1,021.5", "-2,345,678", "1 021.5", "1'021.5", "1\u202f021", "0.5"]
    rows = "".join(f'"{cell}",1,"{cell}"\n' for cell in cells)
    wanted = [1021.5, -2345678.0, 1021.5, 1021.5, 1021.0, 0.5]

    assert read_pairs(written("value,u,reference\n" + rows)).value.tolist() == wanted
    semicolons = written("value;u;reference\n1 021,5;1;998,4\n")
    assert read_pairs(semicolons).value.tolist() == [1021.5]
    point = FileLayout(decimal_point=True)
    plain = written('value,u,reference\n"1,021",1,"998"\n')
    assert read_pairs(plain, point).value.tolist() == [1021.0]
    with pytest.raises(FileError, match="--decimal-point"):  # 998 beside 1,021: not some rows
        read_pairs(written('value,u,reference\n998,1,998\n"1,021",1,1\n'))
    stream = written('time,kind,value,u\n1772330400,reading,"1,021",1\n', "stream.csv")
    assert [each.value for each in read_stream(stream, point)] == [1021.0]
    with pytest.raises(
        FileError, match=r"stream.csv:2: '1,021' is not a number with a decimal point; give"
    ):
        list(read_stream(stream))


def test_a_limit_is_no_value_and_is_counted(written):
    table = read_pairs(written("value,u,reference\n<0.5,1,1\n2,1,> 10\n3,1,3\n<1,1,1\n"))

    assert table.value.tolist() == [3.0]
    assert [note.partition("rows ")[2] for note in table.notes] == [
        "are left out, first line 2: value: is a limit, not a value",
        "is left out, first line 3: reference: is a limit, not a value",
    ]


def test_per_cent_signs_are_read_where_all_of_a_pair_has_them(written):
    table = read_pairs(written("value,u,reference\n45 %,2%,44.5%\n"))
    assert (*table.value, *table.u, *table.reference) == (45.0, 2.0, 44.5)
    assert table.notes[0].endswith("per cent signs are left out: 45 % is 45")
    for row, told in (("45%,2,0.44", "value: is in % and reference"), ("45,5%,44", "u: is in %")):
        with pytest.raises(FileError, match=told):
            read_pairs(written(f"value,u,reference\n{row}\n"))


def test_times_are_read_as_mail_and_people_write_them(written):
    texts = [
        '"Sun, 01 Mar 2026 06:00:00 +0000"',
        "1 Mar 2026 06:00 GMT",
        "2026-03-01 06:00:00 UTC",
        "2026-03-01 06:00 GMT",
    ]
    rows = "".join(f"{text},1,1,1\n" for text in texts)

    table = read_pairs(written("time,value,u,reference\n" + rows))

    assert table.time.tolist() == [seconds("2026-03-01T06:00:00Z")] * 4
    eastern = written('time,value,u,reference\n"Sun, 01 Mar 2026 06:00:00 EST",1,1,1\n')
    with pytest.raises(FileError, match="is not a time"):
        read_pairs(eastern)


def test_days_of_a_spreadsheet_need_a_zone_and_seconds_from_a_start_are_none(written):
    text = "time,value,u,reference\n46082.25,1,1,1\n46083,2,1,2\n"
    table = read_pairs(written(text), FileLayout(time_zone="Etc/GMT-1"))
    assert table.time.tolist() == [seconds(f"2026-03-0{at}+01:00") for at in ("1T06:00", "2T00:00")]
    (told, _) = mistakes_of(lambda: read_pairs(written(text)))
    assert told.startswith("2:time: '46082.25' is a day of a spreadsheet (2026-03-01 06:00)")
    assert "--time-zone" in told
    counted = "time,value,u,reference\n0,1,1,1\n46082,2,1,2\n"
    assert read_pairs(written(counted)).time.tolist() == [0.0, 46082.0]


def test_a_blank_first_line_and_empty_units_and_blanks_around_names_are_harmless(written):
    table = read_pairs(
        written("\nsensor;value;u;reference;unit\nA;1;1;1;kg\nA ;2;1;2; \nA;3;1;3;kg \n")
    )

    assert table.names == (("A", "value"),)
    assert table.units == ("kg",)


def test_times_that_count_from_a_start_are_remarked_on_and_may_be_given_one(written):
    text = "time,value,u,reference\n0,1,1,1\n60,2,1,2\n"
    (note,) = read_pairs(written(text)).notes
    assert note.endswith(
        "its times end at 1970-01-01T00:01:00Z: numbers are seconds since 1970; if they count from "
        "a start, name it with --time-start"
    )
    start = seconds("2026-03-01T06:00:00Z")
    found = read_pairs(written(text), FileLayout(time_start=start))
    assert (found.time.tolist(), found.notes) == ([start, start + 60.0], ())
    readings = written("time,kind,value,u\n0,reading,1,1\n60,reading,2,1\n", "stream.csv")
    stream = read_stream(readings, FileLayout(time_start=start))
    assert [each.time for each in stream] == [start, start + 60.0]


def test_a_file_of_pairs_may_have_a_kind(written):
    assert detect(written("kind,value,u,reference\nNTC,1,1,1\n")) == "pairs"


# -- streams as recorded data -------------------------------------------------------------------


def test_a_stream_gives_the_same_pairs_in_any_order_and_counts_references_alone(written):
    minutes = range(0, 3 * 24 * 60 * 7, 3)  # longer than readings wait, and three batches
    start = seconds("2026-03-01T00:00:00Z")
    readings = [f"{start + 60 * at},a,reading,{at % 7},1\n" for at in minutes]
    references = [f"{start + 60 * at},a,reference,{at % 5},\n" for at in minutes if at % 90 == 0]
    references.append(f"{start + 990.0},a,reference,1,\n")
    head = "time,sensor,kind,value,u\n"

    def of(rows):
        return read(written(head + "".join(rows), "stream.csv"), SeriesRules())

    found, mixed = of([*readings, *references]), of([*references, *readings[::-1]])

    assert found.pairs.size == len(references) - 1
    assert found.pairs.tobytes() == mixed.pairs.tobytes()
    assert found.notes[-1].endswith(
        f"1 of {len(references)} references found no reading within 1 min"
    )


def test_sensors_of_a_stream_share_the_events_that_sensors_of_pairs_share(written):
    rows = [
        f"{1772298600 + 600 * at},{sensor},{kind},{value},1\n"
        for at in range(3)
        for sensor in "ab"
        for kind, value in (("reading", at + 0.5), ("reference", at))
    ]

    found = read(written("time,sensor,kind,value,u\n" + "".join(rows), "s.csv"), SeriesRules())

    events = events_of(found)
    assert events[:3].tolist() == events[3:].tolist()
    assert np.unique(events).size == 3


@pytest.mark.parametrize(
    ("times", "how"),
    [
        ("46082,25;46082,5", {"decimal_comma": True}),
        ("46.082,25;46.082,5", {"decimal_comma": True}),
        ("46,082.25;46,082.5", {"decimal_point": True}),
        ("46082,25;46082,5", {}),
        ("46082,25;46082,5", {"decimal_comma": True, "time_format": "auto"}),
    ],
)
def test_days_of_a_spreadsheet_may_have_a_comma(times, how, written):
    first, second = times.split(";")
    layout = FileLayout(time_zone="UTC", **how)
    value = "1.021,5" if how.get("decimal_comma") else "1021"
    pairs = written(f"time;value;u;reference\n{first};{value};1;1\n{second};{value};1;1\n")
    rows = f"{first};a;reading;{value};1\n{second};a;reading;{value};1\n"
    stream = written(f"time;sensor;kind;value;u\n{rows}", "stream.csv")
    wanted = [seconds("2026-03-01T06:00:00Z"), seconds("2026-03-01T12:00:00Z")]

    layout = with_found_times(pairs, layout)

    assert read_pairs(pairs, layout).time.tolist() == wanted
    found = read_stream(stream, layout)
    assert [each.time for each in found] == wanted
    assert found.notes == [f"{stream}: times are the days of a spreadsheet, in UTC"]


def test_seconds_from_a_start_may_have_a_comma_and_no_comma_is_guessed(written):
    path = written("time;value;u;reference\n0,5;1;1;1\n1.200,5;1;1;1\n")
    read = read_pairs(path, FileLayout(time_start=1e9, decimal_comma=True))
    assert read.time.tolist() == [1e9 + 0.5, 1e9 + 1200.5]

    told = mistakes_of(lambda: read_pairs(written('time,value,u,reference\n"46082,25",1,1,1\n')))
    assert told == ["2:time: '46082,25' is no time with a point; give --decimal-comma"]
