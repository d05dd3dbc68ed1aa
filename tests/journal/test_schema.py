"""Checksums of rows and tables, and the places of series in a batch."""

from __future__ import annotations

import sqlite3
import struct
import zlib

import msgspec
import numpy as np
import pytest
from harness.batches import numbered

from monitor.journal.schema import (
    TABLES,
    Checksums,
    create_tables,
    places_of,
    read_checksums,
    row_crc,
    signed_64,
)


def test_a_table_without_rows_again_has_the_checksum_of_an_empty_one():
    sums = Checksums.empty()
    crcs = [row_crc("notes", ("a", b"x")), row_crc("notes", ("b", 2))]
    sums.add("notes", crcs)
    assert Checksums.load(sums.dump()).tables["notes"] == (2, sum(crcs))
    sums.drop("notes", 2, sum(crcs))

    assert sums.dump() == Checksums.empty().dump()
    assert crcs[0] == zlib.crc32(msgspec.msgpack.encode(("notes", ("a", b"x"))))
    with pytest.raises(ValueError, match="tables are missing"):
        Checksums.load(msgspec.msgpack.encode(({}, {})))


def test_a_new_journal_has_the_tables_of_the_list_and_a_seal_that_a_bit_breaks():
    db = sqlite3.connect(":memory:")
    create_tables(db)
    names = {name for (name,) in db.execute("select name from sqlite_master where type = 'table'")}
    assert names == {*TABLES, "seal"}
    assert read_checksums(db).tables == dict.fromkeys(TABLES, (0, 0))
    db.execute("update seal set crc = crc + 1")
    assert read_checksums(db) is None
    db.close()


@pytest.mark.parametrize("name", [0, 2**63 - 1, 2**63, 2**64 - 1])
def test_a_name_has_the_same_64_bits_in_the_journal(name):
    assert struct.pack("<q", signed_64(name)) == struct.pack("<Q", name)


def test_each_series_begins_at_its_place_with_the_checksum_of_its_rows():
    rows = numbered(20)
    rows = rows[np.argsort(rows["series"], kind="stable")]
    *places, end = places_of(rows)

    assert [place["series"] for place in places] == sorted(set(rows["series"].tolist()))
    assert end["first"] == rows.size
    for place, after in zip(places, [*places[1:], end], strict=True):
        part = rows[rows["series"] == place["series"]]
        assert (after["first"] - place["first"], place["crc"]) == (
            part.size,
            zlib.crc32(part.tobytes()),
        )
