"""Files of pairs and of streams: what is read, and how mistakes are said."""

from __future__ import annotations

import csv
import gzip
import json
import math
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.cli import main
from monitor.core.model import Reading, Reference
from monitor.core.pairing.series_rules import SeriesRules
from monitor.errors import BAD_INPUT, USAGE
from monitor.files import (
    FileError,
    FileLayout,
    arrow_csv,
    detect,
    read_pairs,
    read_stream,
    write_stream,
)
from monitor.files.input_file import MISTAKES_MAX, seconds
from monitor.files.pair_fields import parse_columns
from monitor.report.recorded import events_of, read

SMALL = Path(__file__).parents[1] / "small"
NUMBERS = st.floats(min_value=-1e15, max_value=1e15)


@pytest.fixture
def written(tmp_path):
    def write(text: str, name: str = "pairs.csv") -> Path:
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return write


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


def test_parquet_says_the_same_as_csv_with_times_as_they_are_and_texts_as_ids(tmp_path, written):
    rows = [
        ("2026-03-01T06:00:00.123456+00:00", "7", "s1", 0.1 + 0.2, 1.5, 3.0),
        ("2026-03-01T06:00:01+00:00", "8", "", 1.0, 2.0, 4.0),
    ]
    names = ("time", "sensor", "reference_id", "value", "u", "reference")
    columns = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
    csv_file = written(
        "\n".join([",".join(names), *(",".join(map(str, each)) for each in rows)]) + "\n"
    )
    frame = pd.DataFrame({**columns, "time": pd.to_datetime(columns["time"], format="ISO8601")})
    frame["sensor"] = frame["sensor"].astype(int)
    frame.to_parquet(tmp_path / "pairs.parquet")

    one, other = read_pairs(csv_file), read_pairs(tmp_path / "pairs.parquet")

    for field in ("time", "value", "u", "reference", "reference_id", "series"):
        assert getattr(one, field).tolist() == getattr(other, field).tolist()
    assert one.names == other.names == (("7", "value"), ("8", "value"))
    assert one.reference_id[0] != 0
    frame["time"] = frame["time"].dt.tz_localize(None)
    frame.to_parquet(tmp_path / "naive.parquet")
    with pytest.raises(FileError, match="1:time: has times without a zone"):
        read_pairs(tmp_path / "naive.parquet")
    berlin = read_pairs(tmp_path / "naive.parquet", FileLayout(time_zone="Europe/Berlin"))
    assert berlin.time.tolist() == [time - 3600.0 for time in one.time]


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

    assert table.u.tolist() == [1.0]


def test_the_layout_holds_for_a_stream(written):
    rows = "28.03.2026 18:30;s;reading;1.021,5;0,5\n29.03.2026 18:30;s;reference;1.021;0\n"
    found = list(read_stream(written("time;sensor;kind;value;sigma\n" + rows), LOCAL))

    assert tuple(each.time for each in found) == SPRING
    assert [each.value for each in found] == [1021.5, 1021.0]


def test_cells_that_are_not_of_the_layout_are_told_with_their_places(written):
    rows = ["28.03.2026 18:30;21.5;1;1", "2026-03-28T18:30Z;1;1;1"]
    path = written("\n".join(["time;value;u;reference", *rows]) + "\n")

    assert mistakes_of(lambda: read_pairs(path, LOCAL)) == [
        "2:value: '21.5': is not a number; write 1.021,5",
        "3:time: time '2026-03-28T18:30Z' is not of the layout '%d.%m.%Y %H:%M'",
    ]
    skipped = written("time;value;u;reference\n29.03.2026 02:30;1;1;1\n25.10.2026 02:30;1;1;1\n")
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


@pytest.mark.parametrize(
    "words",
    [
        ["score"],
        ["report", "--out", "report.html"],
        ["compare"],
        ["correct"],
        ["due", "--tolerance", "5"],
        ["budget"],
    ],
)
def test_every_command_that_reads_pairs_takes_the_layout(tmp_path, monkeypatch, capsys, words):
    monkeypatch.chdir(tmp_path)
    rows = [
        f"0{1 + at // 24}.03.2026 {at % 24}:30;{each};{20 + at % 7},5;0,5;{20 + at % 7},{at % 9}"
        for at in range(100)
        for each in "abc"
    ]
    Path("pairs.csv").write_text("\n".join(["when;sensor;value;u;reference", *rows]) + "\n")
    written = ["--columns", "time=when", "--time-format", "%d.%m.%Y %H:%M", "--decimal-comma"]
    sensors = ["--sensors", "a", "b"] if words == ["compare"] else []

    command = [*words[:1], "pairs.csv", *words[1:], *sensors, *written]
    assert main([*command, "--time-zone", "Europe/Berlin"]) == 0, capsys.readouterr().err
    assert main(command) == BAD_INPUT
    assert main([*command, "--time-zone", "Mars"]) == USAGE
    assert "--time-zone: 'Mars' is not a time zone" in capsys.readouterr().err


def test_replay_takes_the_layout_for_a_stream_and_refuses_it_for_messages(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    Path("settings.yaml").write_text("mqtt: {port: 1}\njournal: {path: journal.sqlite}\n")
    rows = "28.03.2026 18:30;s;reading;21,5;0,5\n28.03.2026 18:30;s;reference;21,25;0,1\n"
    Path("stream.csv").write_text("time;sensor;kind;value;sigma\n" + rows)
    Path("messages.jsonl").write_text('{"time": 1772341200, "topic": "a", "payload": {}}\n')
    options = ["--config", "settings.yaml", "--direct", "--time-format", "%d.%m.%Y %H:%M"]
    options += ["--time-zone", "Europe/Berlin", "--decimal-comma"]

    assert main(["replay", "stream.csv", *options]) == 0, capsys.readouterr().err
    assert "2 messages in the journal" in capsys.readouterr().out
    assert main(["replay", "messages.jsonl", *options]) == USAGE


@pytest.mark.parametrize("size", [1, 10**3, 10**6, 10**9])
def test_parquet_times_that_are_numbers_have_the_unit_of_their_size(tmp_path, size):
    times = [1772330400, 1772330401]
    columns = {"value": [1.0, 2.0], "u": [1.0, 1.0], "reference": [1.0, 1.0]}
    path = as_parquet(tmp_path, {"time": [time * size for time in times], **columns})

    assert read_pairs(path).time.tolist() == times

    path = as_parquet(tmp_path, {"t": [1.0, 3e11 * 1e9], **columns})
    with pytest.raises(FileError, match=r"pairs.parquet:2:t: is 3e\+11 s from 1970, and its year"):
        read_pairs(path, FileLayout(columns={"time": "t"}))


def test_a_date_of_parquet_is_midnight_in_the_zone_that_is_given(tmp_path):
    days = [datetime(2026, 3, 1, tzinfo=UTC).date()]
    path = as_parquet(tmp_path, {"time": days, "value": [1.0], "u": [1.0], "reference": [1.0]})

    table = read_pairs(path, FileLayout(time_zone="UTC"))

    assert table.time.tolist() == [datetime(2026, 3, 1, tzinfo=UTC).timestamp()]
    with pytest.raises(FileError, match="'2026-03-01' has no zone"):
        read_pairs(path)


def test_parquet_with_missing_and_huge_numbers_is_read_as_csv_is(tmp_path):
    frame = pd.DataFrame({"value": [1.0, None, 3.0], "u": [1, 1, 1], "reference": [1.0, 1.0, 2.0]})
    frame.to_parquet(tmp_path / "pairs.parquet")

    table = read_pairs(tmp_path / "pairs.parquet")

    assert table.value.tolist() == [1.0, 3.0]
    assert "1 of 3 rows" in table.notes[0]
    frame["value"] = [1.0, np.inf, 1e300]
    frame.to_parquet(tmp_path / "pairs.parquet")
    with pytest.raises(FileError, match=r"3:value: 1e\+300 is not finite, or is larger"):
        read_pairs(tmp_path / "pairs.parquet")


def test_gzip_is_told_by_its_bytes_and_not_by_the_name(tmp_path):
    path = tmp_path / "pairs_u.csv"
    path.write_bytes(gzip.compress((SMALL / "pairs_u.csv").read_bytes()))

    packed = read_pairs(path)

    plain = read_pairs(SMALL / "pairs_u.csv")
    assert packed.value.tolist() == plain.value.tolist()
    assert packed.names == plain.names


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
        ("2026-03-01T06:00:00Z,a,mass,lb", "3:unit: is 'lb', was 'kg'"),
    ],
)
def test_times_names_and_units_are_refused_where_they_stand(written, cells, said):
    path = written(
        "time,sensor,quantity,unit,value,sigma,reference\n"
        f"2026-03-01T05:00:00Z,a,mass,kg,1,1,1\n{cells},1,1,1\n"
    )

    mistakes = mistakes_of(lambda: read_pairs(path))

    assert len(mistakes) == 1
    assert mistakes[0].startswith(said)


def test_all_of_the_first_mistakes_are_listed_in_the_order_of_the_lines(written):
    bad = "x,1,1\n1,0,1\n"
    path = written("value,sigma,reference\n" + "1,1,1\n" + bad * 40)

    mistakes = mistakes_of(lambda: read_pairs(path))

    assert len(mistakes) == MISTAKES_MAX + 1
    assert [int(line.split(":")[0]) for line in mistakes[:-1]] == list(range(3, 3 + MISTAKES_MAX))
    assert "more mistakes" in mistakes[-1]


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
    "U is an expanded uncertainty; divide it by its k, or say --columns u=U if it is a standard"
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


def test_files_that_are_no_text_or_not_there_are_refused_with_their_name(tmp_path):
    cut = tmp_path / "cut.csv.gz"
    cut.write_bytes(gzip.compress(b"value,sigma,reference\n" + b"1,1,1\n" * 1000)[:-20])
    latin = tmp_path / "latin.csv"
    latin.write_bytes("sensor,value,sigma,reference\nä,1,1,1\n".encode("latin-1"))
    empty = tmp_path / "empty.csv"
    empty.write_text("value,sigma,reference\n")

    said = {}
    for path in (cut, latin, empty, tmp_path / "none.csv", tmp_path):
        with pytest.raises(FileError) as caught:
            read_pairs(path)
        said[path.name] = str(caught.value)

    assert "damaged or cut short" in said["cut.csv.gz"]
    assert "not UTF-8" in said["latin.csv"]
    assert "no rows" in said["empty.csv"]
    assert "No such file" in said["none.csv"]
    assert "Is a directory" in said[tmp_path.name]


# -- streams ----------------------------------------------------------------------------------


def test_a_stream_is_read_in_order_with_keys_and_units():
    with (SMALL / "stream.csv").open() as text:
        rows = list(csv.DictReader(text))
    stream = read_stream(SMALL / "stream.csv")

    observations = list(stream)

    assert len(observations) == len(rows)
    for row, seen in zip(rows, observations, strict=True):
        reading = row["kind"] == "reading"
        assert isinstance(seen, Reading if reading else Reference)
        assert (seen.sensor if reading else seen.subject) == row["sensor"]
        assert seen.time == datetime.fromisoformat(row["time"]).timestamp()
        assert (seen.quantity, seen.value, seen.key) == ("mass", float(row["value"]), row["key"])
        assert seen.u == float(row["sigma"]) if row["sigma"] else math.isnan(seen.u)
        if reading and row["lower"]:
            assert (seen.lower, seen.upper, seen.p) == (
                float(row["lower"]),
                float(row["upper"]),
                0.9,
            )
    assert stream.units[("cart-01", "mass")] == "kg"


def test_json_lines_say_the_same_as_csv(tmp_path):
    with (SMALL / "stream.csv").open() as text:
        rows = list(csv.DictReader(text))
    numbers = ("value", "lower", "upper", "alpha", "sigma")
    path = tmp_path / "stream.jsonl"
    path.write_text(
        "\n".join(
            json.dumps({k: float(v) if k in numbers else v for k, v in row.items() if v})
            for row in rows
        )
    )

    from_json = [msgspec.json.encode(one) for one in read_stream(path)]

    assert from_json == [msgspec.json.encode(one) for one in read_stream(SMALL / "stream.csv")]


@pytest.mark.parametrize("layout", ["csv", "jsonl"])
@pytest.mark.parametrize("source", ["stream.csv", "stream.jsonl"])
def test_a_stream_written_and_read_again_is_the_same_bit_for_bit(tmp_path, source, layout):
    first = read_stream(SMALL / source)
    observations = list(first)
    path = tmp_path / f"again.{layout}"
    with path.open("w", newline="") as out:
        write_stream(out, observations, first.units, layout)

    again = read_stream(path)

    assert msgspec.json.encode(list(again)) == msgspec.json.encode(observations)
    assert again.units == first.units


def test_a_sensor_or_quantity_that_is_not_named_gets_a_default(written):
    path = written("time,kind,value,sigma\n2026-03-01T05:00:00Z,reading,1,0.5\n", "scale.csv")

    (reading,) = read_stream(path)

    assert (reading.sensor, reading.quantity) == ("scale", "value")


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("2026-03-01T05:00:00,reading,1,,,,1", "3:time: '2026-03-01T05:00:00' has no zone"),
        ("2026-03-01T05:00:00Z,weight,1,,,,1", "3:kind: is 'weight'; write reading or reference"),
        ("2026-03-01T05:00:00Z,reading,,,,,1", "3:value: a value is needed"),
        ("2026-03-01T05:00:00Z,reading,nan,,,,1", "3:value: a value is needed"),
        ("2026-03-01T05:00:00Z,reading,1,,,,0", "3:sigma: u is 0"),
        ("2026-03-01T05:00:00Z,reading,1,,,,", "3:sigma: state u"),
        ("2026-03-01T05:00:00Z,reading,1,3,2,,", "3:lower: lower 3 is above upper 2"),
        ("2026-03-01T05:00:00Z,reading,1,2,2,,", "3:lower: lower and upper are both 2"),
        ("2026-03-01T05:00:00Z,reading,1,2,,,", "3:lower: lower and upper must be stated"),
        ("2026-03-01T05:00:00Z,reading,1,0,2,1.5,", "3:alpha: p is -0.5"),
        ("2026-03-01T05:00:00Z,reference,1,,,,-1", "3:sigma: sigma is -1"),
        ("2026-03-01T05:00:00Z,reading", "3: has 2 cells, the header has 7"),
    ],
)
def test_a_bad_row_of_a_stream_is_refused_and_nothing_after_it_is_handed_out(written, row, said):
    good = "2026-03-01T04:00:00Z,reading,1,,,,1\n"
    path = written(f"time,kind,value,lower,upper,alpha,sigma\n{good}{row}\n{good}")
    stream = read_stream(path)
    before = next(stream)

    mistakes = mistakes_of(lambda: next(stream))

    assert before.value == 1.0
    assert len(mistakes) == 1
    assert mistakes[0].startswith(said)


STREAM = [
    ("reading", {"value": 1.0, "u": 0.5}),
    ("reading", {"value": 2.0, "lower": 1.0, "upper": 3.0, "p": 0.8}),
    ("reading", {"value": 3.0, "u": 0.25, "sigma": 7.0}),
    ("reference", {"value": 4.0, "u": 0.125}),
    ("reference", {"value": 5.0, "u": 7.0, "u_reference": 0.0625}),
]


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_a_stream_states_u_and_p_as_pairs_and_messages_do(written, form):
    rows = [
        {"time": f"2026-03-01T05:00:0{at}Z", "kind": kind, **stated, "note": "x", "flag": 1}
        for at, (kind, stated) in enumerate(STREAM)
    ]
    table = pd.DataFrame(rows)
    lines = "".join(f"{json.dumps(row)}\n" for row in rows)
    path = written(table.to_csv(index=False) if form == "csv" else lines, f"stream.{form}")

    stream = read_stream(path)
    first, second, third, fourth, fifth = stream

    assert (first.u, third.u, fourth.u, fifth.u) == (0.5, 0.25, 0.125, 0.0625)
    assert (second.lower, second.upper, second.p) == (1.0, 3.0, 0.8)
    what = "columns" if form == "csv" else "keys"
    assert stream.notes == [f"{path}: {what} not used: note, flag"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("time,kind,value,U\n2026-03-01T05:00:00Z,reading,1,3\n", "1:U: U is an expanded"),
        ('{"time":"2026-03-01T05:00:00Z","kind":"reference","value":1,"U":3}\n', "1:U: U is an"),
        ("time,kind,value,u,p\n2026-03-01T05:00:00Z,reading,1,1,95\n", "2:p: p is 95.0; it must"),
        ("time,kind,value,u\n2026-03-01T05:00:00Z,reading,1,-1\n", "2:u: u is -1"),
        ("time,kind,value,value,u\n2026-03-01T05:00:00Z,reading,1,1,1\n", "1:value: this column"),
    ],
)
def test_what_a_stream_cannot_mean_is_refused_where_it_stands(written, text, said):
    with pytest.raises(FileError) as caught:
        list(read_stream(written(text)))

    assert f"pairs.csv:{said}" in str(caught.value)


def test_a_cell_of_a_stream_may_say_that_it_has_nothing(written):
    path = written(
        "time,kind,value,u,lower,upper\n2026-03-01T05:00:00Z,reading,1,1,#N/A, \n"
        "2026-03-01T05:00:00Z,reference,1,#NV,,unknown\n"
    )

    reading, reference = read_stream(path)

    assert math.isnan(reading.lower)
    assert reference.u == 0.0


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
def test_a_bad_line_of_json_is_refused_with_its_line_and_field(written, line, said):
    good = '{"time":"2026-03-01T05:00:00Z","kind":"reading","value":1,"sigma":1}\n'
    path = written(good + "\n" + line + "\n", "stream.jsonl")

    with pytest.raises(FileError) as caught:
        list(read_stream(path))

    (mistake,) = caught.value.mistakes
    assert "stream.jsonl:3" in mistake
    assert said in mistake


# -- times and kinds of files -----------------------------------------------------------------


@given(st.datetimes(timezones=st.timezones()))
def test_a_time_is_the_number_that_the_payload_decoder_gets(time):
    text = time.isoformat()
    payload = msgspec.json.encode(text)

    try:
        expected = msgspec.json.decode(payload, type=datetime).timestamp()
    except msgspec.ValidationError:  # offsets with seconds, which RFC 3339 does not have
        expected = datetime.fromisoformat(text).timestamp()

    assert seconds(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1970-01-01T00:00:00.127944Z", 0.127944),
        ("2026-03-01T06:12:44+13:00", 1772298764.0),
        ("2026-02-28T17:12Z", 1772298720.0),
        (" 2026-02-28T17:12Z ", 1772298720.0),
        ("2026-02-28 17:12:44z", 1772298764.0),
    ],
)
def test_times_are_read_in_every_form_of_rfc_3339(text, expected):
    assert seconds(text) == expected


@pytest.mark.parametrize("zone", ["", "Europe/Berlin"])
def test_a_time_of_digits_is_a_number_of_seconds_or_of_less(written, zone):
    head, rows = "time,value,u,reference\n", "1772071200000,1,1,1\n1772071200,1,1,1\n"
    layout = FileLayout(time_zone=zone)

    assert read_pairs(written(head + rows), layout).time.tolist() == [1772071200.0] * 2
    (said,) = mistakes_of(lambda: read_pairs(written(f"{head}202602261712,1,1,1\n"), layout))
    assert "name the layout %Y%m%d%H%M (time_layout, of a file --time-format)" in said


def test_pairs_and_streams_are_told_apart_by_their_header(written):
    neither = written("a,b\n1,2\n", "neither.csv")

    assert detect(SMALL / "pairs_u.csv") == "pairs"
    assert detect(SMALL / "pairs_interval.csv") == "pairs"
    assert detect(SMALL / "stream.csv") == "stream"
    assert detect(SMALL / "stream.jsonl") == "stream"
    with pytest.raises(FileError, match="neither a file of pairs"):
        detect(neither)


def test_the_real_data_sets_are_read_whole(shared_data):
    expected = {"uwb_pairs.csv": 233, "airquality_pairs.csv.gz": 22_133, "wine_gbr.csv": 4_898}

    read = {name: read_pairs(shared_data / name).value.size for name in expected}
    stream = list(read_stream(shared_data / "airquality_stream.csv.gz"))

    assert read == expected
    assert sum(isinstance(one, Reading) for one in stream) == 26_973
    assert sum(isinstance(one, Reference) for one in stream) == 22_133


def test_a_mistake_is_told_with_the_line_on_which_its_row_ends(tmp_path):
    """Also after blank lines and cells that go over several lines."""
    path = tmp_path / "pairs.csv"
    path.write_text(
        'value,u,reference,note\n1,1,1,a\n\n\n2,1,2,"two\nlines"\nx,1,3,b\n\n4,-1,4,"c\r\nd"\n'
    )

    with pytest.raises(FileError) as caught:
        read_pairs(path)

    assert [str(each).split(": ")[0] for each in str(caught.value).splitlines()] == [
        f"{path}:7:value",
        f"{path}:10:u",
    ]


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

QUANTILES = pd.DataFrame(
    {
        "value": [10.0, 11.0, 12.5],
        "u": [1.0, math.nan, 2.0],
        "reference": [10.5, 10.0, 12.0],
        "q0.05": [8.0, 9.0, 10.0],
        "q0.5": [10.0, 11.0, 12.0],
        "q0.95": [12.0, 13.0, 14.0],
    }
)


@pytest.mark.parametrize(
    "stated", [{"p": 0.9}, {"lower": 5.0, "upper": 15.0}, {"crps_stated": 1.0}]
)
def test_quantiles_beside_other_claims_are_read_alike_in_every_format(
    tmp_path, monkeypatch, stated
):
    frame = QUANTILES.assign(**stated).fillna({"u": 1.5})
    frame.to_csv(tmp_path / "pairs.csv", index=False)
    frame.to_parquet(tmp_path / "pairs.parquet")
    plain = read_pairs(tmp_path / "pairs.csv")
    monkeypatch.setattr(arrow_csv, "LEAST_BYTES", 0)
    for path in ("pairs.parquet", "pairs.csv"):
        found = read_pairs(tmp_path / path)
        for name in ("value", "u", "lower", "upper", "p", "crps"):
            np.testing.assert_array_equal(getattr(found, name), getattr(plain, name), name)


def test_the_median_or_the_mean_is_the_value_of_a_distribution_without_one(written):
    whole = written(QUANTILES.to_csv(index=False))
    bare = written(QUANTILES.drop(columns="value").to_csv(index=False), "bare.csv")
    assert read_pairs(bare).value.tolist() == [10.0, 11.0, 12.0]
    np.testing.assert_array_equal(read_pairs(bare).crps, read_pairs(whole).crps)
    members = written('{"members": [1, 2, 4.5], "reference": 2}\n', "members.jsonl")
    found = read_pairs(members)
    assert (found.value[0], found.u[0]) == (2.5, np.std([1, 2, 4.5], ddof=1))
    assert mistakes_of(lambda: read_pairs(written("q0.1,q0.9,reference\n1,2,1\n"))) == [
        (
            "1:value: this column is missing; there are q0.1, q0.9, reference; say which is meant, "
            "such as --columns value=y_pred,u=y_std,reference=y_true"
        )
    ]


def test_columns_of_parquet_that_are_not_used_stop_nothing(tmp_path):
    path, rows = tmp_path / "pairs.parquet", 3
    QUANTILES.assign(
        created=pd.date_range("2026-01-01", periods=rows),
        hash=np.full(rows, (1 << 62) + 1),
        event=np.arange(rows) + (1 << 60) + 1,
    ).to_parquet(path)

    table = read_pairs(path, FileLayout({"reference_id": "event"}))

    assert table.value.tolist() == [10.0, 11.0, 12.5]
    assert table.reference_id.tolist() == [(1 << 60) + 1 + at for at in range(rows)]
    assert table.notes == (f"{path}: columns not used: created, hash",)


def test_thousands_beside_decimal_commas_are_asked_about(written):
    path = written("value;u;reference\n998,4;2,5;996,9\n1.022;2,5;1.020\n")

    assert mistakes_of(lambda: read_pairs(path)) == [
        (
            "3: '1.022' is ambiguous in a file with decimal commas: it may be 1022 or 1.022; give "
            "--decimal-comma if points separate thousands, else write no commas"
        )
    ]
    assert read_pairs(path, FileLayout(decimal_comma=True)).value.tolist() == [998.4, 1022.0]
    assert read_pairs(written("value;u;reference\n1.022;2.5;1.020\n")).value.tolist() == [1.022]


def test_the_hint_at_decimal_commas_is_given_where_they_help(written):
    def told(cell):
        path = written(f'value,u,reference\n"{cell}",1,1\n')
        return mistakes_of(lambda: read_pairs(path))[0]

    assert told("21,5").endswith("or give --decimal-comma")
    assert not told("1,021.500").endswith("--decimal-comma")


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


def test_a_stream_in_json_may_have_numbers_for_times_and_names(written):
    rows = [
        (1772298600, 12, "reading"),
        (1772298600500, 12, "reading"),
        (1.7722986e18, 7, "reading"),
    ]
    text = "".join(
        json.dumps({"time": time, "sensor": sensor, "kind": kind, "value": 1, "u": 1, "unit": None})
        + "\n"
        for time, sensor, kind in rows
    )

    found = [*read_stream(written(text, "stream.jsonl"))]

    assert [each.time for each in found] == [1772298600.0, 1772298600.5, 1772298600.0]
    assert [each.sensor for each in found] == ["12", "12", "7"]


@pytest.mark.parametrize(
    ("name", "text", "columns", "told"),
    [
        ("m.jsonl", '{"topic": "a/b", "payload": "1", "time": 1}\n', "", "holds raw messages"),
        ("p.jsonl", '{"y_pred": 1, "y_std": 1, "y_true": 1}\n', "", "say which column holds what"),
        ("s.csv", "timestamp,kind,value\n1,reading,1\n", "time=timestamp", "is a stream"),
    ],
)
def test_a_file_that_is_something_else_is_called_by_its_name(
    written, capsys, name, text, columns, told
):
    assert main(["score", str(written(text, name)), "--columns", columns]) == 65
    assert told in capsys.readouterr().err


def test_a_file_of_pairs_may_have_a_kind(written):
    assert detect(written("kind,value,u,reference\nNTC,1,1,1\n")) == "pairs"


# -- streams as recorded data -------------------------------------------------------------------


def test_a_stream_gives_the_same_pairs_in_any_order_and_counts_references_alone(written):
    minutes = range(0, 3 * 24 * 60 * 7, 30)
    start = seconds("2026-03-01T00:00:00Z")
    readings = [f"{start + 60 * at},a,reading,{at % 7},1\n" for at in minutes]
    references = [f"{start + 60 * at},a,reference,{at % 5},\n" for at in minutes if at % 90 == 0]
    references.append(f"{start + 950.0},a,reference,1,\n")
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
