"""A table of a laboratory as references."""

from __future__ import annotations

import pytest

from monitor.files.input_file import FileError
from monitor.files.layout import FileLayout
from monitor.files.reference_table import TableLayout, read_references

NOW = 1_772_366_400.0  # 2026-03-01T12:00:00Z
HEAD = "time,subject,quantity,value,u\n"


def test_rows_are_references_and_those_without_a_value_are_counted(written):
    raw = HEAD + "2026-03-01T10:00:00Z,tank,density,841.2,0.6\n2026-03-01T11:00Z,tank,density,,\n"
    table = read_references(written(raw, "lab.csv"), TableLayout(), NOW)

    (row,) = table.references
    one = row.reference
    assert (one.subject, one.quantity, one.value, one.u) == ("tank", "density", 841.2, 0.6)
    assert one.time == NOW - 7200.0
    assert table.left_out == {"without a value": 1}


@pytest.mark.parametrize("row", ["2026-03-02T10:00:00Z,tank,density,1,1", "then,tank,density,1,1"])
def test_a_time_that_cannot_be_refuses_the_table_with_its_line(row, written):
    with pytest.raises(FileError, match=r"lab\.csv:2:time"):
        read_references(written(f"{HEAD}{row}\n", "lab.csv"), TableLayout(), NOW)


def test_an_expanded_uncertainty_with_decimal_commas_is_divided_by_its_k(written):
    raw = "time;value;U;k\n2026-03-01T10:00Z;0,84123;0,00015;3\n"
    columns = FileLayout({"u": "U/k"}, decimal_comma=True)
    constants = {"subject": "tank", "quantity": "density"}

    how = TableLayout(constants=constants, written=columns)
    (row,) = read_references(written(raw, "lab.csv"), how, NOW).references
    assert row.reference.value == 0.84123
    assert row.reference.u == pytest.approx(0.00005, rel=1e-12)


@pytest.mark.parametrize(
    ("header", "u"),
    [
        ("U [kg]", 0.3),
        ("U (k=3) [kg]", 0.2),
        ("u (k=2)", 0.3),
        ("u (lab)", 0.6),
        ("u [kg] (k=2)", 0.3),
    ],
)
def test_the_header_of_an_uncertainty_says_its_k_and_unit(header, u, written):
    raw = f"time,subject,quantity,value [kg],{header}\n2026-03-01T10:00Z,tank,mass,503.5,0.6\n"

    (row,) = read_references(written(raw, "lab.csv"), TableLayout(), NOW).references

    assert row.reference.u == pytest.approx(u, rel=1e-12)
    assert row.unit == "kg"


def test_an_uncertainty_in_another_unit_than_its_value_is_refused(written):
    raw = "time,subject,quantity,value [kg],u [g]\n2026-03-01T10:00Z,tank,mass,503.5,600\n"

    with pytest.raises(FileError, match=r"lab\.csv:1:u \[g\]: is in 'g', value \[kg\] in 'kg'"):
        read_references(written(raw, "lab.csv"), TableLayout(), NOW)


def test_each_quantity_of_a_wide_table_has_its_own_uncertainty(written):
    raw = "subject,time,NO2 [ug/m3],NO2_u,O3,O3_u,SO2\nS3,2026-03-01T10:00Z,20,1.5,60,9,4\n"

    how = TableLayout(FileLayout(wide=("NO2", "o3", "SO2")))
    rows = read_references(written(raw, "lab.csv"), how, NOW).references

    found = [(row.reference.quantity, row.reference.value, row.reference.u) for row in rows]
    assert found == [("NO2", 20.0, 1.5), ("O3", 60.0, 9.0), ("SO2", 4.0, 0.0)]


@pytest.mark.parametrize(
    ("row", "how"),
    [("46082,25;1.021,5", {"decimal_comma": True}), ("46,082.25;1,021.5", {"decimal_point": True})],
)
def test_days_and_thousands_are_read_as_the_options_say(row, how, written):
    raw = f"subject;quantity;time;value\nc;mass;{row}\n"

    written_as = FileLayout(time_zone="UTC", **how)
    (found,) = read_references(written(raw, "lab.csv"), TableLayout(written_as), NOW).references

    assert (found.reference.time, found.reference.value) == (NOW - 6.0 * 3600.0, 1021.5)
