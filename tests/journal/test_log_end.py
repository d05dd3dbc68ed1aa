"""A log that is gone, cut or another one is told until a repair."""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path

import pytest
from harness.batches import batch, by_series, numbered
from harness.damaged_journals import KILLED, SERIES, WRITING, commits_of, ended, everything

from monitor.journal import Journal
from monitor.journal.copying import check_copy
from monitor.journal.failures import JournalDamagedError, wal_of
from monitor.journal.log_end import end_file_of, end_of
from monitor.journal.repairing import recover_journal

GONE = r"killed\.sqlite-wal is missing or empty though the journal was not closed"
LOSSES = {
    "deleted": lambda log: log.unlink(),
    "emptied": lambda log: log.write_bytes(b""),
    "zeros": lambda log: log.write_bytes(bytes(log.stat().st_size)),
}


@pytest.mark.parametrize("loss", LOSSES)
def test_a_log_that_is_gone_is_told_until_a_repair(loss, killed):
    LOSSES[loss](wal_of(killed))
    before = killed.read_bytes()
    for _ in range(2):
        with pytest.raises(JournalDamagedError, match=GONE) as refused:
            Journal(killed)
        assert killed.read_bytes() == before
    with pytest.raises(JournalDamagedError, match=GONE):
        check_copy(killed)
    assert refused.value.exit_code == 65
    assert "monitor journal repair" in str(refused.value)

    done = recover_journal(killed, "now")

    assert any("also lost: its log" in line for line in done.sentences())
    assert everything(killed)["series"] == []


def test_a_log_that_comes_back_brings_all_of_it(killed):
    log = wal_of(killed).read_bytes()
    wal_of(killed).unlink()
    with pytest.raises(JournalDamagedError, match=GONE):
        Journal(killed)
    wal_of(killed).write_bytes(log)

    assert everything(killed)["pairs"] == by_series(numbered(60)).tobytes()


def test_the_file_of_a_running_daemon_alone_is_no_copy(running, path, tmp_path):
    (tmp_path / "copy").mkdir()
    copy = tmp_path / "copy" / path.name
    copy.write_bytes(path.read_bytes())
    with pytest.raises(JournalDamagedError, match="was not closed"):
        Journal(copy)
    assert running.poll() is None


@pytest.mark.parametrize("end", ["", "raise SystemExit(3)", "1 / 0", "del journal; os._exit(0)"])
def test_a_process_that_ends_without_closing_its_journal_leaves_it_sound(end, tmp_path):
    path = tmp_path / "left.sqlite"
    ended(WRITING + end, path)

    assert not wal_of(path).exists()
    assert not end_file_of(path).exists()
    assert everything(path)["pairs"] == by_series(numbered(60)).tobytes()


def test_a_journal_that_is_left_is_closed_by_whatever_thread_collects_it(tmp_path):
    left = [Journal(tmp_path / "left.sqlite")]
    left[0].append(batch(1.0, numbered(60), series=SERIES))
    collecting = threading.Thread(target=left.clear)
    collecting.start()
    collecting.join()

    assert not wal_of(tmp_path / "left.sqlite").exists()
    assert everything(tmp_path / "left.sqlite")["pairs"] == by_series(numbered(60)).tobytes()


def test_what_was_merged_needs_no_log(killed):
    wanted = everything(killed)  # opened, read and closed
    assert not wal_of(killed).exists()
    assert everything(killed) == wanted
    for start in (600, 700):
        journal = Journal(killed)
        journal.append(batch(2.0, numbered(10, start)))
        journal.close()
        assert not wal_of(killed).exists()
    assert everything(killed)["pairs"] != wanted["pairs"]


def laid(path: Path, log: bytes, folder: Path) -> Path:
    """Return a copy of a killed journal, with its note, that has another log."""
    folder.mkdir()
    copy = folder / path.name
    shutil.copy(path, copy)
    shutil.copy(end_file_of(path), end_file_of(copy))
    wal_of(copy).write_bytes(log)
    return copy


def test_a_log_that_was_cut_anywhere_is_refused_until_a_repair(killed, tmp_path):
    log, chance = wal_of(killed).read_bytes(), random.Random(4)
    end = commits_of(killed)[-1] + 4120
    places = [*commits_of(killed), *(chance.randrange(1, end) for _ in range(60))]
    for number, at in enumerate(places):
        copy = laid(killed, log[:at], tmp_path / f"cut-{number}")
        with pytest.raises(
            JournalDamagedError, match=r"its log .*(was truncated|is damaged)"
        ) as refused:
            Journal(copy)
        assert refused.value.exit_code == 65
        assert wal_of(copy).read_bytes() == log[:at]
    recover_journal(copy, "now")
    everything(copy)


@pytest.mark.parametrize("is_repaired", [False, True])
def test_a_log_of_another_journal_or_an_earlier_one_is_refused(is_repaired, killed, tmp_path):
    earlier = wal_of(killed).read_bytes()
    journal = Journal(killed)
    journal.append(batch(1.0, numbered(10, 700)))
    later = laid(killed, wal_of(killed).read_bytes(), tmp_path / "later")
    journal.close()
    here = f"{Path(__file__).parents[1]}:{Path(__file__).parents[2]}"
    other = tmp_path / "other.sqlite"
    subprocess.run([sys.executable, "-c", KILLED, here, str(other)], check=False)
    for name, log in (("other", wal_of(other).read_bytes()), ("earlier", earlier)):
        copy = laid(later, log, tmp_path / name)
        with pytest.raises(JournalDamagedError, match="another journal's, or an earlier one"):
            Journal(copy)
        assert wal_of(copy).read_bytes() == log
        if is_repaired:
            recover_journal(copy, "now")
            everything(copy)
    assert len(everything(later)["pairs"]) > len(everything(killed)["pairs"]) - 1


def test_what_is_closed_or_copied_without_its_note_opens_as_it_is(killed, tmp_path):
    (tmp_path / "copy").mkdir()
    copy = tmp_path / "copy" / killed.name
    shutil.copy(killed, copy)
    shutil.copy(wal_of(killed), wal_of(copy))
    assert everything(copy)["pairs"] == everything(killed)["pairs"]
    assert not end_file_of(killed).exists()
    journal = Journal(killed)
    journal.append(batch(2.0, numbered(10, 800)))
    assert end_file_of(killed).exists()
    journal.close()
    assert not end_file_of(killed).exists()


def test_the_end_of_a_log_is_that_of_its_last_transaction(tmp_path):
    """SQLite writes pages of a large transaction into the log before it ends."""
    path = tmp_path / "large.sqlite"
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("pragma journal_mode = wal")
        db.execute("pragma cache_size = 2")
        db.execute("create table large (content blob)")
        with wal_of(path).open("rb") as log:
            length, end = os.fstat(log.fileno()).st_size, end_of(log.fileno())
            db.execute("begin")
            for _ in range(100):
                db.execute("insert into large values (zeroblob(1000))")

            assert os.fstat(log.fileno()).st_size > length
            assert end_of(log.fileno()) == end
            db.execute("commit")
            assert end_of(log.fileno(), end).pages > end.pages
