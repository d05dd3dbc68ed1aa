"""What the log and SQLite report of a damaged journal."""

from __future__ import annotations

import sqlite3

import pytest
from harness.batches import by_series, numbered
from harness.damaged_journals import commits_of, everything, spoil

from monitor.journal import Journal
from monitor.journal.failures import JournalDamagedError, cannot_use, lost_transactions, wal_of


def test_a_log_that_is_whole_loses_nothing(killed):
    assert lost_transactions(wal_of(killed)) == 0
    assert everything(killed)["pairs"] == by_series(numbered(60)).tobytes()


@pytest.mark.parametrize("place", [4, 9, 20, 24, 2000])
def test_transactions_after_a_damaged_one_are_told_as_lost(place, killed):
    commits = commits_of(killed)
    spoil(wal_of(killed), commits[-4] + place)
    before = killed.read_bytes(), wal_of(killed).read_bytes()
    with pytest.raises(JournalDamagedError, match=r"its log is damaged, and at least [2-4] trans"):
        Journal(killed)
    assert (killed.read_bytes(), wal_of(killed).read_bytes()) == before


def test_a_log_whose_head_is_damaged_is_told(killed):
    spoil(wal_of(killed), 5)
    with pytest.raises(JournalDamagedError, match="its log is damaged"):
        Journal(killed)


def test_a_last_transaction_that_was_torn_is_left_out(killed):
    spoil(wal_of(killed), commits_of(killed)[-1] + 100)
    assert everything(killed)["pairs"] == by_series(numbered(50)).tobytes()


def test_a_short_read_is_damage_as_newer_versions_of_sqlite_report_it(path):
    """SQLite 3.53 reports an input error where 3.40 called a cut file malformed."""
    error = sqlite3.OperationalError("disk I/O error")
    error.sqlite_errorcode = sqlite3.SQLITE_IOERR_SHORT_READ
    assert isinstance(cannot_use(path, error), JournalDamagedError)
    error.sqlite_errorcode = sqlite3.SQLITE_IOERR_READ
    assert not isinstance(cannot_use(path, error), JournalDamagedError)
