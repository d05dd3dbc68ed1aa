"""The journal's file damaged, cut, of another form: refused, never used in silence, repaired."""

from __future__ import annotations

import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from harness.batches import LETTER, READINGS, batch, by_series, numbered
from harness.damaged_journals import REPAIRING, SERIES, commits_of, everything, spoil
from harness.programs import WAIT_SECONDS, need

from monitor.cli import main
from monitor.config import Settings
from monitor.core.pairing.observations import PlainReadings, pack, unpack
from monitor.daemon.assembly import open_journal
from monitor.journal import Journal, JournalError
from monitor.journal.copying import backup
from monitor.journal.failures import JournalDamagedError, JournalFormError, wal_of
from monitor.journal.opening import UPGRADES, Upgrade
from monitor.journal.repairing import recover_journal, repair
from monitor.journal.schema import (
    SCHEMA,
    SCHEMA_VERSION,
    TABLES,
    insert,
    read_checksums,
    write_checksums,
)

FLIPS = int(os.environ.get("MONITOR_FLIPS", "1000"))


# -- damage is told -----------------------------------------------------------------------------


def test_no_flipped_bit_is_read_as_something_else(sound, path):
    """MONITOR_FLIPS=100000 for more of them."""
    wanted, chance, read = everything(path), random.Random(25), 0
    for _ in range(FLIPS):
        at, bit = chance.randrange(len(sound)), chance.randrange(8)
        content = bytearray(sound)
        content[at] ^= 1 << bit
        path.write_bytes(content)
        with suppress(JournalError):
            assert everything(path) == wanted, f"byte {at}, bit {bit}"
            read += 1
        wal_of(path).unlink(missing_ok=True)

    assert read < FLIPS / 2


def test_a_file_cut_at_any_page_is_refused(sound, path):
    for size in range(0, len(sound), 4096):
        path.write_bytes(sound[:size])
        with pytest.raises(JournalError, match="monitor journal repair"):
            everything(path)


def test_an_empty_file_is_no_new_journal(path):
    path.write_bytes(b"")
    with pytest.raises(JournalDamagedError, match="empty") as refused:
        Journal(path)
    assert refused.value.exit_code == 65
    assert path.read_bytes() == b""


def test_rows_are_not_forgotten_because_their_time_is_damaged(path):
    db = sqlite3.connect(path)
    db.execute("update observations set received = -1.0 where batch = 2")
    db.commit()
    db.close()
    journal = Journal(path)
    with pytest.raises(JournalDamagedError, match="batch 2 of observations"):
        journal.expire(observations_before=0.0, pairs_before=0.0)
    journal.close()


# -- the log ------------------------------------------------------------------------------------


def test_a_log_without_its_journal_is_no_new_journal(killed):
    killed.unlink()
    with pytest.raises(JournalDamagedError, match=r"only killed\.sqlite-wal"):
        Journal(killed)


# -- repair -------------------------------------------------------------------------------------


def test_a_repair_of_a_sound_journal_loses_nothing(path):
    wanted = everything(path)
    done = repair(path, "now")

    assert done.aside == path.with_name("journal.sqlite.corrupt.now")
    assert not any(done.lost.values())
    assert everything(path) == wanted | {"evidence": []}  # it is found again
    assert sorted(each.name for each in path.parent.iterdir()) == [path.name, done.aside.name]


@pytest.mark.parametrize("successor", ["repair", "backup", "start"])
def test_what_a_killed_repair_left_goes_with_whatever_comes_next(successor, path, tmp_path):
    command = [sys.executable, "-c", REPAIRING, str(path)]
    assert subprocess.run(command, check=False).returncode == -signal.SIGKILL
    assert [each.is_dir() for each in tmp_path.iterdir()].count(True) == 1

    if successor == "repair":
        repair(path, "now")
    elif successor == "backup":
        backup(path, tmp_path / "copy.sqlite")
    else:
        open_journal(Settings(journal={"path": str(path)})).close()

    assert not [each for each in tmp_path.iterdir() if each.is_dir()]


def test_a_repair_keeps_every_sound_row_and_says_how_many_are_lost(path):
    db = sqlite3.connect(path)
    db.execute("update pairs set body = zeroblob(length(body)) where batch = 4")
    db.execute("delete from dead_letters where id = 1")
    db.commit()
    db.close()
    spoilt = path.read_bytes()
    done = repair(path, "now")
    after = everything(path)

    assert {table: count for table, count in done.lost.items() if count} == {
        "pairs": 1,
        "dead_letters": 1,
    }
    assert done.aside.read_bytes() == spoilt
    assert after["letters"] == [LETTER] * 2
    assert after["totals"] == {"received": 9, "committed": 8, "rejected.bad_name": 1}
    assert any("lost: 1 batch of pairs, 1 dead_letters" in line for line in done.sentences())
    assert any("monitor journal repair-pairs" in line for line in done.sentences())


def test_the_pairs_of_a_series_that_is_lost_go_and_the_others_stay_with_theirs(path):
    before = everything(path)["histories"]
    db = sqlite3.connect(path)
    db.execute("delete from series where row = 1")
    db.commit()
    db.close()
    repair(path, "now")
    journal = Journal(path)
    kept = journal.series(), [journal.pairs_of(at) for at in range(3)]
    journal.close()

    assert [each.sensor for each in kept[0]] == ["s0", "s2"]
    kept[1][1]["series"] = 2
    assert [kept[1][0].tobytes(), kept[1][1].tobytes(), kept[1][2].size] == [
        before[0],
        before[2],
        0,
    ]


@pytest.mark.parametrize("lost", [0, 1, 2])
def test_packed_readings_stay_with_their_series_when_another_one_is_lost(lost, path):
    """They name series by rows, and the rows after a lost one move up."""
    names = [(each.sensor, each.quantity) for each in SERIES]
    which = np.array([2, 0, 1, 1, 0, 2])
    columns = np.arange(6.0), np.arange(6.0) + 0.5, np.ones(6)
    journal = Journal(path)
    packed = pack(which, PlainReadings(names, which, *columns))
    journal.append(batch(9.0, observations=[packed, READINGS[0]]))
    journal.close()
    db = sqlite3.connect(path)
    db.execute("delete from series where row = ?", (lost,))
    db.commit()
    db.close()
    repair(path, "now")
    journal = Journal(path)
    left = [(each.sensor, each.quantity) for each in journal.series()]
    *_, (received, observations) = journal.observations()
    journal.close()
    found = unpack(observations, left)

    wanted = [at for at in range(6) if which[at] != lost]
    assert received == 9.0
    assert [(each.sensor, each.time, each.value) for each in found] == [
        *((f"s{which[at]}", at, at + 0.5) for at in wanted),
        ("a", 0.0, 0.5),
    ]


def test_a_journal_without_its_first_page_is_repaired(path):
    wanted = everything(path)
    spoil(path, 0, 4096)
    done = repair(path, "now")

    assert not any(done.lost.values())
    assert everything(path) == wanted | {"evidence": []}  # it is found again


@pytest.mark.parametrize("content", [b"", b"\0" * 8192, b"time,value\n" * 900])
def test_what_holds_nothing_becomes_an_empty_journal(content, path):
    path.write_bytes(content)
    done = recover_journal(path, "now")

    assert done.aside.read_bytes() == content
    assert done.lost is None
    assert not any(done.kept.values())
    assert everything(path)["series"] == []


def test_any_damage_can_be_repaired(sound, path):
    chance = random.Random(7)
    for turn in range(FLIPS // 20):
        content = bytearray(sound)
        for _ in range(4):
            content[chance.randrange(len(sound))] ^= 1 << chance.randrange(8)
        path.write_bytes(content[: chance.choice([len(sound), chance.randrange(len(sound))])])
        recover_journal(path, f"turn{turn}")
        assert everything(path)["pairs"] is not None


def test_a_repair_leaves_a_damaged_log_beside_the_damaged_file(killed):
    spoil(wal_of(killed), commits_of(killed)[-4] + 200)
    done = recover_journal(killed, "now")
    after = everything(killed)["pairs"]

    assert done.lost_transactions == 3
    assert any("3 transactions of its log" in line for line in done.sentences())
    assert wal_of(done.aside).exists()
    assert by_series(numbered(20)).tobytes() == after


# -- another form -------------------------------------------------------------------------------


# A form that never was: the present one without the table of notes, which were texts elsewhere.
FORM = 2
EARLIER = """
drop table notes;
create table remarks (name text primary key, body text not null);
insert into remarks values ('births', 'of form 2'), ('more', '');
"""


def from_earlier(db: sqlite3.Connection, path: Path) -> None:
    """Bring that form to the present one."""
    rows = db.execute("select name, cast(body as blob) from remarks order by name").fetchall()
    if any(name == "damaged" for name, _ in rows):
        raise JournalDamagedError(path, "a remark is damaged")
    (notes,) = (each for each in SCHEMA.split(";") if "create table notes" in each)
    db.execute(notes)
    checksums = read_checksums(db)
    checksums.tables["notes"] = (0, 0)
    checksums.add("notes", insert(db, "notes", rows))
    write_checksums(db, checksums)
    db.execute("drop table remarks")


NAMES = frozenset(
    {*TABLES, "remarks", "seal", "revisions_by_identity"} - {"notes"},
)


@pytest.fixture
def earlier(path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a journal of the earlier form, with an upgrade registered for it."""
    monkeypatch.setitem(UPGRADES, FORM, Upgrade(NAMES, from_earlier))
    db = sqlite3.connect(path)
    db.executescript(EARLIER)
    db.execute(f"pragma user_version = {FORM}")
    db.close()
    return path


def is_earlier(path: Path) -> bool:
    """Return whether a file is whole and of the earlier form."""
    db = sqlite3.connect(path)
    try:
        (form,) = db.execute("pragma user_version").fetchone()
        if form != FORM:
            return False
        assert db.execute("select count(*) from remarks").fetchone() == (2,)
        assert db.execute("pragma integrity_check").fetchone() == ("ok",)
        return True
    finally:
        db.close()


def test_an_earlier_form_is_brought_up_whole_and_a_copy_is_kept(sound, earlier, caplog, tmp_path):
    wanted = tmp_path / "wanted.sqlite"
    wanted.write_bytes(sound)
    after = everything(earlier)

    assert after == everything(wanted) | {"note": b"of form 2"}
    assert is_earlier(earlier.with_name("journal.sqlite.form2"))
    assert "the previous file is kept as journal.sqlite.form2" in caplog.text
    assert everything(earlier) == after


def test_an_earlier_form_is_neither_copied_nor_repaired_before_it_is_brought_up(earlier):
    content = earlier.read_bytes()

    assert main(["journal", "check", "--journal", str(earlier)]) == 65
    with pytest.raises(JournalFormError, match=r"has form 2.* restore a backup"):
        repair(earlier, "now")
    assert recover_journal(earlier, "now") is None
    assert earlier.read_bytes() == content


def test_an_earlier_form_that_is_damaged_is_left_as_it_is(earlier):
    db = sqlite3.connect(earlier)
    db.execute("update remarks set name = 'damaged' where name = 'more'")
    db.commit()
    db.close()
    with pytest.raises(JournalDamagedError, match="a remark is damaged"):
        Journal(earlier)

    assert is_earlier(earlier)


@pytest.mark.parametrize("form", range(1, SCHEMA_VERSION))
def test_a_form_from_before_the_first_release_is_refused_and_left_as_it_is(form, path, capsys):
    db = sqlite3.connect(path)
    db.execute(f"pragma user_version = {form}")
    db.close()
    content = path.read_bytes()
    with pytest.raises(JournalFormError, match="move the file away to begin anew") as refused:
        Journal(path)

    assert refused.value.exit_code == 65
    assert recover_journal(path, "now") is None
    assert main(["journal", "check", "--journal", str(path)]) == 65
    assert f"{path}: has form {form}, from before the first release" in capsys.readouterr().err
    assert path.read_bytes() == content


UPGRADED = """
import sys
from pathlib import Path
sys.path[:0] = sys.argv[1].split(":")
from tests.journal.test_repairing import FORM, NAMES, from_earlier
from monitor.journal import Journal
from monitor.journal.log_end import end_file_of
from monitor.journal.opening import UPGRADES, Upgrade
UPGRADES[FORM] = Upgrade(NAMES, from_earlier)
Journal(Path(sys.argv[2])).close()
"""


def upgraded(path: Path, *strace: str) -> int:
    here = f"{Path(__file__).parents[1]}:{Path(__file__).parents[2]}"
    command = [*strace, sys.executable, "-c", UPGRADED, here, str(path)]
    return subprocess.run(
        command, check=False, capture_output=True, timeout=WAIT_SECONDS
    ).returncode


@pytest.mark.parametrize("calls", ["pwrite64", "fdatasync,fsync", "rename,unlink"])
def test_an_upgrade_killed_at_any_write_leaves_one_form_or_the_other(calls, earlier, tmp_path):
    model = tmp_path / "model.sqlite"
    shutil.copy(earlier, model)
    after = everything(earlier)
    count = tmp_path / "count"
    shutil.copy(model, tmp_path / "counted.sqlite")
    watched = [need("strace"), "-f", "-o", str(count), "-e", f"trace={calls}"]
    assert upgraded(tmp_path / "counted.sqlite", *watched) == 0
    traced = count.read_text(encoding="utf-8")
    total = sum(traced.count(f" {call}(") for call in calls.split(","))
    step = max(1, total // int(os.environ.get("MONITOR_POINTS", "5")))
    outcomes = set()
    for number in range(1, total + 1, step):
        path = tmp_path / str(number) / "journal.sqlite"
        path.parent.mkdir()
        shutil.copy(model, path)
        fault = ["-e", f"inject={calls}:signal=SIGKILL:when={number}"]
        strace = (need("strace"), "-f", "-o", "/dev/null", "-e", f"trace={calls}")
        code = upgraded(path, *strace, *fault)
        outcomes.add((code == 0, is_earlier(path)))
        assert everything(path) == after

    assert (False, True) in outcomes
    assert (True, True) not in outcomes
