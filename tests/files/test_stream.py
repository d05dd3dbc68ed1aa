"""Files of streams: what is read, and how mistakes are told."""

from __future__ import annotations

import csv
import json
import math
from datetime import datetime

import msgspec
import pandas as pd
import pytest

from monitor.core.model import Reading, Reference
from monitor.files import FileError, read_stream
from tests.files.test_pair_table import SMALL, mistakes_of


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
def test_a_bad_row_of_a_stream_costs_that_row_and_is_refused_where_there_is_no_other(
    written, row, said
):
    head, good = (
        "time,kind,value,lower,upper,alpha,sigma\n",
        "2026-03-01T04:00:00Z,reading,1,,,,1\n",
    )
    stream = read_stream(written(f"{head}{good}{row}\n{row}\n{good}"))

    assert [each.value for each in stream] == [1.0, 1.0]
    (note,) = stream.notes
    assert note.partition(".csv: ")[2].startswith("2 of 4 rows are left out, first line 3: ")
    mistakes = mistakes_of(lambda: list(read_stream(written(f"{head}\n{row}\n"))))
    assert len(mistakes) == 1
    assert mistakes[0].startswith(said)
    assert note[-12:] == mistakes[0][-12:]


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
        ("time,kind,value,u (k=2)\n2026-03-01T05:00:00Z,reading,1,3\n", "1:U: U is an"),
        (
            "time,kind,value,u,U_reference\n2026-03-01T05:00:00Z,reference,1,,3\n",
            "1:U_reference: U",
        ),
        (
            '{"time":"2026-03-01T05:00:00Z","kind":"reference","value":1,"U_reference":3}\n',
            "1:U_reference: U_reference is an",
        ),
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
