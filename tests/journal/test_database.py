"""Rows that are not as they were written, or missing, are told."""

from __future__ import annotations

import sqlite3

import pytest
from harness.damaged_journals import everything

from monitor.journal.failures import JournalDamagedError

ROWS = {
    "series": "update series set unit = 'g' where row = 1",
    "evidence": "update evidence set time = 1e9 where series = 0",
    "dead_letters": "update dead_letters set topic = topic || 'x' where id = 2",
    "events": "update events set time = 8.0 where sensor = 'b'",
    "collocations": "update collocations set distance_km = 0.4",
    "revisions": "update revisions set revision = 7",
    "made": "update made set batch = 1",
    "notes": "update notes set body = x'0103'",
    "seal": "update seal set crc = crc + 1",
    "observations": "update observations set received = 9.0 where batch = 2",
    "pairs": "update pairs set newest = 0.0 where batch = 1",
    "transitions": "update transitions set body = x'00'",
    "standing": "update standing set seq = 2",
    "deliveries": "update deliveries set seq = 2",
}


@pytest.mark.parametrize("table", ROWS)
def test_a_row_that_is_not_as_it_was_written_is_told(table, path):
    db = sqlite3.connect(path)
    db.execute(ROWS[table])
    db.commit()
    db.close()
    with pytest.raises(JournalDamagedError, match=table):
        everything(path)


@pytest.mark.parametrize("table", sorted(ROWS.keys() - {"seal"}))
def test_a_row_that_is_missing_is_told(table, path):
    db = sqlite3.connect(path)
    first = {"made": "batch", "revisions": "revision"}.get(table, "rowid")
    db.execute("delete from " + table + " where " + first + " < 9")  # noqa: S608
    db.commit()
    db.close()
    with pytest.raises(JournalDamagedError, match=rf"{table}: 0 rows are there, \d were written"):
        everything(path)
