"""Distributions that a row states in several columns."""

from __future__ import annotations

import numpy as np
import pytest

from monitor.files import FileError, FileLayout, read_pairs
from monitor.files.pair_fields import parse_columns

TABLE = np.array([[8.0, 10.0, 12.5, 10.5], [9.0, 11.0, 13.0, 12.0]])


def read(written, head, columns="", rows=TABLE):
    text = "\n".join(",".join(map(repr, row)) for row in rows.tolist())
    return read_pairs(written(f"{head}\n{text}\n"), FileLayout(parse_columns(columns)))


def same(one, other):
    for name in ("value", "u", "lower", "upper", "p", "crps"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), name)


@pytest.mark.parametrize(
    ("head", "columns"),
    [
        ("0.05,0.5,0.95,reference", ""),
        ("y_lower_90,0.5,y_upper_90,reference", ""),
        ("model-lo-90,q0.5,model-hi-90,reference", ""),
        ("a,b,c,reference", "0.05=a,q0.5=b,0.95=c"),
        ("pred_5,pred_50,pred_95,reference", "quantiles=pred_*"),
        ("p05,p.5,P0.95,reference", "quantiles=p*"),
    ],
)
def test_a_quantile_is_known_by_its_name_or_is_given(written, head, columns):
    if head.startswith("p05"):
        head = head.replace("p05", "p0.05")
    same(read(written, head, columns), read(written, "q0.05,q0.5,q0.95,reference"))


def test_an_interval_that_is_named_by_its_level_stands_for_its_middle(written):
    table = read(written, "y_lower_80,y_upper_80,u,reference", "", TABLE)

    assert table.value.tolist() == [9.0, 10.0]
    assert set(table.p) == {0.8}


def test_members_in_columns_are_members_in_one(written):
    text = "reference,members\n10.5,8 10 12.5\n12,9 11 13\n"
    wanted = read_pairs(written(text, "one.csv"))

    same(read(written, "Ens_1,Ens_2,Ens_3,obs", "reference=obs,members=ens_*"), wanted)


def test_a_member_that_is_missing_costs_its_row_and_is_named(written):
    rows = np.vstack([TABLE, [1.0, np.nan, 2.0, 1.5]])

    table = read(written, "e1,E2,e3,reference", "members=e*", rows)

    assert table.value.size == 2
    assert table.notes[-1].endswith(
        "1 of 3 rows is left out, first line 4: E2: state all members of the row or none"
    )


@pytest.mark.parametrize("layout", ["e1,e2,e3,reference", "members,reference"])
def test_members_that_are_all_the_same_cost_their_row_unless_it_states_u(written, layout):
    between = " " if layout.startswith("members") else ","
    rows = [between.join(each) for each in (["0.1"] * 3, ["1.0", "2.0", "4.0"])]
    columns = FileLayout(parse_columns("" if between == " " else "members=e*"))
    bare = read_pairs(written(f"{layout}\n{rows[0]},0.2\n{rows[1]},2.0\n", "bare.csv"), columns)
    head = f"{layout},u"
    stated = read_pairs(written(f"{head}\n{rows[0]},0.2,1\n{rows[1]},2,1\n"), columns)

    assert bare.value.size == 1
    assert "first line 2: " in bare.notes[-1]
    assert "the members are all the same, which is no uncertainty" in bare.notes[-1]
    assert stated.value.tolist() == pytest.approx([0.1, 7.0 / 3.0])


@pytest.mark.parametrize(
    ("head", "columns", "told"),
    [
        ("a,b,c,reference", "members=e*", "no column is one of e*; there are a, b, c"),
        ("a,b,c,reference", "quantiles=q*", "no column is one of q*"),
        ("qa,b,c,reference", "quantiles=q*", "stands for 'a', which is no level such as 0.05"),
        ("a_lower_90,b_lower_90,a_upper_90,reference", "", "say --columns 0.05=COLUMN"),
    ],
)
def test_what_is_no_distribution_is_refused_with_what_to_give(written, head, columns, told):
    with pytest.raises(FileError) as caught:
        read(written, head, columns)
    assert told in str(caught.value)
