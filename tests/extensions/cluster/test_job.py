"""The Parquet tables of results: readable while a batch is written, corrected, and let go of."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from monitor.extensions.cluster import results
from monitor.extensions.cluster.fleet_verdicts import FleetVerdict, SeriesVerdict
from tests.extensions.cluster.conftest import MESSAGES
from tests.extensions.cluster.test_block import block_of

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
job = pytest.importorskip("monitor.extensions.cluster.job", reason="pyspark is not installed")


@pytest.fixture(scope="module")
def found():
    return block_of(None).apply(MESSAGES[:300])


def rows(found, right: FleetVerdict) -> list[dict]:
    body = results.dump(results.changed(found))
    part = pa.RecordBatch.from_pydict({"block": [7], "heard": [body]})
    return [row for batch in job._rows(iter([part]), right) for row in batch.to_pylist()]


def test_a_row_has_every_column_and_what_the_driver_knows_better(found):
    right = FleetVerdict(
        {("cart-1", "mass"): SeriesVerdict(["offset"], "reads 3 high", page=True)},
        {("cart-2", "mass"): "reference S looks high"},
    )
    plain = {row["sensor"]: row for row in rows(found, FleetVerdict({}, {}))}
    put_right = {row["sensor"]: row for row in rows(found, right)}

    assert list(plain["cart-1"]) == job._TABLE.names
    assert {row["block"] for row in plain.values()} == {7}
    assert not any(row["page"] for row in plain.values())
    one, two = put_right["cart-1"], put_right["cart-2"]
    assert (one["alerts"], one["sentence"], one["page"]) == (["offset"], "reads 3 high", True)
    assert two["sentence"] == f"{plain['cart-2']['sentence']} (reference S looks high)"
    assert two["alerts"] == [*plain["cart-2"]["alerts"], "reference_suspect"]
    assert str(put_right["cart-3"]) == str(plain["cart-3"])  # NaN is NaN
    numbers = [(str(one[name]), str(plain["cart-1"][name])) for name in results.STATISTICS]
    assert all(mine == before for mine, before in numbers)


def written(folder, found) -> None:
    table = pa.Table.from_pylist(rows(found, FleetVerdict({}, {})), job._TABLE)
    folder.mkdir(parents=True)
    pq.write_table(table, folder / "part-00000.snappy.parquet")
    (folder / "_SUCCESS").touch()


def test_a_table_is_read_while_another_batch_is_written(found, tmp_path):
    """Spark writes below _temporary and moves files to their place when they are complete."""
    written(tmp_path / "batch=1", found)
    coming = tmp_path / "batch=2" / "_temporary" / "0" / "task_1"
    coming.mkdir(parents=True)
    (coming / "part-00000.snappy.parquet").write_bytes(b"PAR1 half of")
    beside = tmp_path / "_deadletters" / "batch=1"
    beside.mkdir(parents=True)
    letter = {"block": 7, "received": 1.0, "topic": "t", "reason": "bad_payload"}
    letter |= {"detail": "", "place": "", "payload": b"{"}
    pq.write_table(
        pa.Table.from_pylist([letter], job.BESIDE["deadletters"]), beside / "part-0.parquet"
    )
    read = pq.read_table(tmp_path)

    assert read.num_rows == len(found.rows)
    assert set(job._TABLE.names) | {"batch"} == set(read.column_names)
    assert pq.read_table(tmp_path / "_deadletters").to_pylist() == [{**letter, "batch": 1}]


def test_tables_and_what_is_beside_them_go_when_they_are_old(found, tmp_path):
    for name in ("batch=1", "batch=2", "_deadletters/batch=1", "_references/batch=2"):
        written(tmp_path / name, found)
    for name in ("batch=1", "_deadletters/batch=1"):
        os.utime(tmp_path / name, (1000.0, 1000.0))
    job.delete_tables(str(tmp_path), 60.0, now=2000.0)

    assert sorted(str(each.relative_to(tmp_path)) for each in tmp_path.rglob("batch=*")) == [
        "_references/batch=2",
        "batch=2",
    ]


def test_a_table_that_somebody_else_deletes_meanwhile_is_no_error(found, tmp_path, monkeypatch):
    written(tmp_path / "batch=1", found)
    listed = [tmp_path / "batch=0", tmp_path / "batch=1"]
    monkeypatch.setattr(Path, "glob", lambda _self, pattern: listed if pattern[0] == "b" else [])
    os.utime(tmp_path / "batch=1", (1000.0, 1000.0))
    job.delete_tables(str(tmp_path), 60.0, now=2000.0)

    assert not (tmp_path / "batch=1").exists()
