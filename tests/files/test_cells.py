"""A table is the same rows in every format; a row may state a distribution."""

from __future__ import annotations

import math
from datetime import UTC, datetime

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from monitor.files import FileError, FileLayout, arrow_csv, read_pairs
from tests.files.test_pair_table import as_parquet, mistakes_of


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


@pytest.mark.parametrize("size", [1, 10**3, 10**6, 10**9])
def test_parquet_times_that_are_numbers_have_the_unit_of_their_size(tmp_path, size):
    times = [1772330400, 1772330401]
    columns = {"value": [1.0, 2.0], "u": [1.0, 1.0], "reference": [1.0, 1.0]}
    path = as_parquet(tmp_path, {"time": [time * size for time in times], **columns})

    assert read_pairs(path).time.tolist() == times

    path = as_parquet(tmp_path, {"t": [math.nan, 3e11 * 1e9], **columns})
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
    assert (
        read_pairs(tmp_path / "pairs.parquet")
        .notes[0]
        .endswith(
            "2 of 3 rows are left out, first line 2: value: is not finite, or is larger than 1e+15"
        )
    )


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


# The truth is one more member; of three, half a 95 % interval with two degrees of freedom.
ONE_MORE_OF_THREE = np.sqrt(4.0 / 3.0) * stats.t.ppf(0.975, 2) / stats.norm.ppf(0.975)


def test_the_median_or_the_mean_is_the_value_of_a_distribution_without_one(written):
    whole = written(QUANTILES.to_csv(index=False))
    bare = written(QUANTILES.drop(columns="value").to_csv(index=False), "bare.csv")
    assert read_pairs(bare).value.tolist() == [10.0, 11.0, 12.0]
    np.testing.assert_array_equal(read_pairs(bare).crps, read_pairs(whole).crps)
    members = written('{"members": [1, 2, 4.5], "reference": 2}\n', "members.jsonl")
    found = read_pairs(members)
    assert found.value[0] == 2.5
    assert found.u[0] == pytest.approx(np.std([1, 2, 4.5], ddof=1) * ONE_MORE_OF_THREE)
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
