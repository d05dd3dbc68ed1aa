"""The journal's file damaged, cut, of another form: refused, never used in silence, repaired."""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from harness.batches import (
    COLLOCATION,
    EVENTS,
    EVIDENCE,
    LETTER,
    READINGS,
    REFERENCE,
    batch,
    beside,
    by_series,
    contents,
    numbered,
    pairs,
)
from harness.programs import WAIT_SECONDS, need

from monitor.cli import main
from monitor.core.pairing.identities import digest, reference_identity
from monitor.core.pairing.observations import PlainReadings, pack, unpack
from monitor.core.registry import KnownSeries
from monitor.journal import Journal, JournalError, Notification
from monitor.journal import writing as module
from monitor.journal.failures import (
    JournalDamagedError,
    JournalFormError,
    cannot_use,
    lost_transactions,
    wal_of,
)
from monitor.journal.log_end import note_of
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

NAME = digest(*reference_identity(REFERENCE))
SERIES = [KnownSeries(at, f"s{at}", "x", "kg", float(at)) for at in range(3)]
FLIPS = int(os.environ.get("MONITOR_FLIPS", "1000"))


def filled(path: Path) -> None:
    """Make a journal with something in every table, and a batch laid together."""
    journal = Journal(path)
    journal.append(batch(0.0, numbered(1500), series=SERIES, observations=READINGS))
    for start in range(1500, 1560, 10):
        number = beside((start % 3, start, float(start), 7, start / 9.0))
        journal.append(
            batch(
                1.0,
                numbered(10, start),
                observations=READINGS[: start % 3 + 1],
                covariates=number,
            )
        )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_COMPACT_AT_BATCHES", 2)
        journal.compact()
    journal.append(
        batch(
            2.0,
            pairs((0, 7, 1.0, 2.0, NAME), (1, 8, 2.0, 3.0)),
            observations=[*READINGS, REFERENCE],
            dead_letters=[LETTER] * 3,
            events=EVENTS,
            collocations=[COLLOCATION],
            notes={"births": b"\x01\x02"},
            totals={"received": 9, "committed": 8, "rejected.bad_name": 1},
        )
    )
    journal.alerts.record(
        [Notification(1, ("s0", "x", "offset"), is_active=True, body=b"body")], {"web": 1}
    )
    for start in range(1560, 1590, 10):
        journal.append(batch(3.0, numbered(10, start)))
    journal.append(batch(evidence=EVIDENCE))
    journal.close()


def everything(path: Path) -> dict[str, object]:
    """Open a journal and return all that its readers give."""
    journal = Journal(path)
    try:
        return {
            **contents(journal),
            "histories": [journal.pairs_of(at).tobytes() for at in range(4)],
            "made": journal.made_by(NAME).tobytes(),
            "revision": journal.revisions([NAME]),
            "named": journal.named("lab-7"),
            "note": journal.note("births"),
            "alerts": (
                journal.alerts.active(),
                journal.alerts.newest(9),
                journal.alerts.delivered(),
            ),
        }
    finally:
        journal.close()


@pytest.fixture(scope="module")
def sound(tmp_path_factory) -> bytes:
    path = tmp_path_factory.mktemp("sound") / "journal.sqlite"
    filled(path)
    return path.read_bytes()


@pytest.fixture
def path(sound: bytes, tmp_path: Path) -> Path:
    made = tmp_path / "journal.sqlite"
    made.write_bytes(sound)
    return made


def spoil(path: Path, at: int, length: int = 1) -> None:
    content = bytearray(path.read_bytes())
    for place in range(at, at + length):
        content[place] ^= 0x15
    path.write_bytes(content)


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


def test_rows_are_not_forgotten_because_their_time_is_damaged(path):
    db = sqlite3.connect(path)
    db.execute("update observations set received = -1.0 where batch = 2")
    db.commit()
    db.close()
    journal = Journal(path)
    with pytest.raises(JournalDamagedError, match="batch 2 of observations"):
        journal.forget(observations_before=0.0, pairs_before=0.0)
    journal.close()


# -- the log ------------------------------------------------------------------------------------

WRITING = """
import os, sys
from pathlib import Path
sys.path[:0] = sys.argv[1].split(":")
from harness.batches import batch, numbered
from tests.journal.test_repairing import SERIES
from monitor.journal import Journal
journal = Journal(Path(sys.argv[2]))
for start in range(0, 60, 10):
    journal.append(batch(1.0, numbered(10, start), series=SERIES))
"""
KILLED = f"{WRITING}os._exit(9)"


@pytest.fixture
def killed(tmp_path: Path) -> Path:
    """Return a journal whose last transactions are in its log."""
    path = tmp_path / "killed.sqlite"
    assert ended(KILLED, path) == 9
    assert wal_of(path).stat().st_size > 4096
    return path


def ended(program: str, path: Path) -> int:
    """Run a program that writes a journal, and return its exit code."""
    here = f"{Path(__file__).parents[1]}:{Path(__file__).parents[2]}"
    command = [sys.executable, "-c", program, here, str(path)]
    return subprocess.run(command, check=False).returncode


def commits_of(path: Path) -> list[int]:
    """Return where in the log each transaction's last frame begins."""
    content = wal_of(path).read_bytes()
    frames = range(32, len(content) - 4119, 4120)
    return [at for at in frames if struct.unpack_from(">I", content, at + 4)[0]]


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


def test_a_log_without_its_journal_is_no_new_journal(killed):
    killed.unlink()
    with pytest.raises(JournalDamagedError, match=r"only killed\.sqlite-wal"):
        Journal(killed)


# -- a log that is gone -------------------------------------------------------------------------

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
    assert not note_of(path).exists()
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


# -- a log that was cut, or is another one ------------------------------------------------------


def laid(path: Path, log: bytes, folder: Path) -> Path:
    """Return a copy of a killed journal, with its note, that has another log."""
    folder.mkdir()
    copy = folder / path.name
    shutil.copy(path, copy)
    shutil.copy(note_of(path), note_of(copy))
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
    assert not note_of(killed).exists()
    journal = Journal(killed)
    journal.append(batch(2.0, numbered(10, 800)))
    assert note_of(killed).exists()
    journal.close()
    assert not note_of(killed).exists()


# -- repair -------------------------------------------------------------------------------------


def test_a_repair_of_a_sound_journal_loses_nothing(path):
    wanted = everything(path)
    done = repair(path, "now")

    assert done.aside == path.with_name("journal.sqlite.corrupt.now")
    assert not any(done.lost.values())
    assert everything(path) == wanted | {"evidence": []}  # it is found again
    assert sorted(each.name for each in path.parent.iterdir()) == [path.name, done.aside.name]


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
    assert any("lost: 1 pairs, 1 dead_letters" in line for line in done.sentences())


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


def test_a_short_read_is_damage_as_newer_versions_of_sqlite_report_it(path):
    """SQLite 3.53 reports an input error where 3.40 called a cut file malformed."""
    error = sqlite3.OperationalError("disk I/O error")
    error.sqlite_errorcode = sqlite3.SQLITE_IOERR_SHORT_READ
    assert isinstance(cannot_use(path, error), JournalDamagedError)
    error.sqlite_errorcode = sqlite3.SQLITE_IOERR_READ
    assert not isinstance(cannot_use(path, error), JournalDamagedError)


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


# -- copies -------------------------------------------------------------------------------------

HOLDING = """
import sys
from pathlib import Path
sys.path[:0] = sys.argv[1].split(":")
from harness.batches import batch, numbered
from monitor.journal import Journal
journal = Journal(Path(sys.argv[2]))
journal.append(batch(1.0, numbered(10, 500)))
print("open", flush=True)
for start in range(1000, 10_000_000, 10):
    if sys.argv[3] == "idle":
        sys.stdin.read()
        break
    journal.append(batch(1.0, numbered(10, start)))
"""


@pytest.fixture(params=["idle", "busy"])
def running(request, path: Path) -> Iterator[subprocess.Popen]:
    """Let another process have the journal open."""
    here = f"{Path(__file__).parents[1]}:{Path(__file__).parents[2]}"
    command = [sys.executable, "-c", HOLDING, here, str(path), request.param]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline() == "open\n"
        yield process
        process.kill()


def test_a_running_daemon_is_backed_up_and_goes_on(running, path, capsys):
    target = path.parent / "copies" / "journal.sqlite"
    assert main(["journal", "backup", "--journal", str(path), str(target)]) == 75
    assert f"there is no folder {target.parent}; create it" in capsys.readouterr().err
    target.parent.mkdir()
    assert main(["journal", "backup", "--journal", str(path), str(target)]) == 0
    assert main(["journal", "check", "--journal", str(path)]) == 0
    assert running.poll() is None
    said = capsys.readouterr().out
    assert "written and verified: 3 series" in said
    assert "(a copy, taken while the daemon runs)" in said
    assert [each.name for each in target.parent.iterdir()] == [target.name]
    copied = everything(target)
    assert numbered(1, 500).tobytes() in copied["pairs"]
    assert copied["totals"]["received"] == 9


def test_nothing_else_is_done_while_a_daemon_runs(running, path, capsys):
    copy = path.parent / "copy.sqlite"
    assert main(["journal", "backup", "--journal", str(path), str(copy)]) == 0
    for command in (["repair"], ["restore", str(copy)]):
        at = ["journal", command[0], "--journal", str(path), *command[1:]]
        assert main(at) == 73
        assert "another process has this journal open" in capsys.readouterr().err
    assert running.poll() is None


def test_a_backup_is_restored_and_what_was_there_is_kept(path, capsys):
    wanted = everything(path)
    copy = path.parent / "copy.sqlite"
    assert main(["journal", "backup", "--journal", str(path), str(copy)]) == 0
    journal = Journal(path)
    journal.append(batch(9.0, numbered(5, 900)))
    journal.close()
    changed = everything(path)
    assert main(["journal", "restore", "--journal", str(path), str(copy)]) == 0
    (aside,) = path.parent.glob("*.replaced.*")

    assert everything(path) == wanted
    assert everything(aside) == changed
    assert f"kept as {aside}" in capsys.readouterr().out
    assert main(["journal", "backup", "--journal", str(path), str(copy)]) == 75
    assert "already exists; give another name" in capsys.readouterr().err


@pytest.mark.parametrize("action", ["restore", "repair"])
def test_what_root_puts_in_place_is_the_account_s_that_had_the_journal(path, monkeypatch, action):
    """Else the daemon, which runs as another account, cannot open it."""
    copy, given = path.parent / "copy.sqlite", []
    assert main(["journal", "backup", "--journal", str(path), str(copy)]) == 0
    had = path.stat()
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(os, "chown", lambda _path, *owner: given.append(owner))
    more = [str(copy)] * (action == "restore")
    assert main(["journal", action, "--journal", str(path), *more]) == 0

    assert given == [(had.st_uid, had.st_gid)]
    assert path.stat().st_mode & 0o077 == 0


def test_a_damaged_backup_is_not_restored(path, capsys):
    copy = path.parent / "copy.sqlite"
    shutil.copy(path, copy)
    db = sqlite3.connect(copy)
    db.execute("update pairs set count = 3 where batch = 1")
    db.commit()
    db.close()
    content = path.read_bytes()
    assert main(["journal", "restore", "--journal", str(path), str(copy)]) == 65
    assert f"{copy}: batch 1 of pairs is damaged" in capsys.readouterr().err
    assert path.read_bytes() == content


def test_a_damaged_journal_fails_the_check_and_gives_no_backup(path, capsys):
    spoil(path, len(path.read_bytes()) // 2, 40)
    for command in (["check"], ["backup"]):
        target = [str(path.parent / "copy.sqlite")] * (command == ["backup"])
        assert main(["journal", *command, "--journal", str(path), *target]) == 65
        assert "monitor journal repair" in capsys.readouterr().err
    assert [each.name for each in path.parent.iterdir()] == [path.name]
    assert main(["journal", "repair", "--journal", str(path)]) == 0
    assert main(["journal", "check", "--journal", str(path)]) == 0


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
from monitor.journal.log_end import note_of
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
