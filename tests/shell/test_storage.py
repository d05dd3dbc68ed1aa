"""The journal's file damaged, cut, of another form: told, never used in silence, and mended."""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
import struct
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from test_journal import (
    COLLOCATION,
    EVENTS,
    LETTER,
    READINGS,
    REFERENCE,
    batch,
    by_series,
    contents,
    numbered,
    pairs,
)

from monitor.cli import main
from monitor.core.model import PAIR
from monitor.core.pairing.buffers import digest, reference_identity
from monitor.core.state.network import KnownSeries
from monitor.journal import (
    SCHEMA_VERSION,
    Journal,
    JournalError,
    Told,
    log,
)
from monitor.journal import housekeeping as module
from monitor.journal.errors import JournalDamagedError, JournalFormError
from monitor.journal.repairing import recover, repair

NAME = digest(*reference_identity(REFERENCE))
SERIES = [KnownSeries(at, f"s{at}", "x", "kg", float(at)) for at in range(3)]
FLIPS = int(os.environ.get("MONITOR_FLIPS", "1000"))
FORM_1 = Path(__file__).parents[1] / "small" / "journal_form_1.sql"


def filled(path: Path) -> None:
    """Make a journal with something in every table, and a batch laid together."""
    journal = Journal(path)
    journal.commit(batch(0.0, numbered(1500), series=SERIES, observations=READINGS))
    for start in range(1500, 1560, 10):
        journal.commit(batch(1.0, numbered(10, start), observations=READINGS[: start % 3 + 1]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_COMPACT_AT_BATCHES", 2)
        journal.compact()
    journal.commit(
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
    journal.alerts.write([Told(1, ("s0", "x", "offset"), stands=True, body=b"told")], {"web": 1})
    for start in range(1560, 1590, 10):
        journal.commit(batch(3.0, numbered(10, start)))
    journal.close()


def everything(path: Path) -> dict[str, object]:
    """Open a journal and return all that its readers give."""
    journal = Journal(path)
    try:
        return {
            **contents(journal),
            "histories": [journal.history(at).tobytes() for at in range(4)],
            "made": journal.made_by(NAME).tobytes(),
            "revision": journal.revision(NAME),
            "named": journal.named("lab-7"),
            "note": journal.note("births"),
            "told": (journal.alerts.standing(), journal.alerts.newest(9), journal.alerts.done()),
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
        log.of(path).unlink(missing_ok=True)

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

KILLED = """
import os, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from test_storage import SERIES, batch, numbered
from monitor.journal import Journal
journal = Journal(Path(sys.argv[2]))
for start in range(0, 60, 10):
    journal.commit(batch(1.0, numbered(10, start), series=SERIES))
os._exit(9)
"""


@pytest.fixture
def killed(tmp_path: Path) -> Path:
    """Return a journal whose last transactions are in its log."""
    path = tmp_path / "killed.sqlite"
    here = str(Path(__file__).parent)
    subprocess.run([sys.executable, "-c", KILLED, here, str(path)], check=False)
    assert log.of(path).stat().st_size > 4096
    return path


def commits_of(path: Path) -> list[int]:
    """Return where in the log each transaction's last frame begins."""
    content = log.of(path).read_bytes()
    frames = range(32, len(content) - 4119, 4120)
    return [at for at in frames if struct.unpack_from(">I", content, at + 4)[0]]


def test_a_log_that_is_whole_loses_nothing(killed):
    assert log.lost_transactions(log.of(killed)) == 0
    assert everything(killed)["pairs"] == by_series(numbered(60)).tobytes()


@pytest.mark.parametrize("place", [4, 9, 20, 24, 2000])
def test_transactions_after_a_damaged_one_are_told_as_lost(place, killed):
    commits = commits_of(killed)
    spoil(log.of(killed), commits[-4] + place)
    before = killed.read_bytes(), log.of(killed).read_bytes()
    with pytest.raises(JournalDamagedError, match=r"its log is damaged, and at least [2-4] trans"):
        Journal(killed)
    assert (killed.read_bytes(), log.of(killed).read_bytes()) == before


def test_a_log_whose_head_is_damaged_is_told(killed):
    spoil(log.of(killed), 5)
    with pytest.raises(JournalDamagedError, match="its log is damaged"):
        Journal(killed)


def test_a_last_transaction_that_was_torn_is_left_out(killed):
    spoil(log.of(killed), commits_of(killed)[-1] + 100)
    assert everything(killed)["pairs"] == by_series(numbered(50)).tobytes()


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
    assert everything(path) == wanted
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
    kept = journal.series(), [journal.history(at) for at in range(3)]
    journal.close()

    assert [each.sensor for each in kept[0]] == ["s0", "s2"]
    kept[1][1]["series"] = 2
    assert [kept[1][0].tobytes(), kept[1][1].tobytes(), kept[1][2].size] == [
        before[0],
        before[2],
        0,
    ]


def test_a_journal_without_its_first_page_is_repaired(path):
    wanted = everything(path)
    spoil(path, 0, 4096)
    done = repair(path, "now")

    assert not any(done.lost.values())
    assert everything(path) == wanted


@pytest.mark.parametrize("content", [b"", b"\0" * 8192, b"time,value\n" * 900])
def test_what_holds_nothing_becomes_an_empty_journal(content, path):
    path.write_bytes(content)
    done = recover(path, "now")

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
        recover(path, f"turn{turn}")
        assert everything(path)["pairs"] is not None


def test_a_repair_leaves_a_damaged_log_beside_the_damaged_file(killed):
    spoil(log.of(killed), commits_of(killed)[-4] + 200)
    done = recover(killed, "now")
    after = everything(killed)["pairs"]

    assert done.lost_transactions == 3
    assert any("3 transactions of its log" in line for line in done.sentences())
    assert log.of(done.aside).exists()
    assert by_series(numbered(20)).tobytes() == after


# -- copies -------------------------------------------------------------------------------------

HOLDING = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from test_journal import batch, numbered
from monitor.journal import Journal
journal = Journal(Path(sys.argv[2]))
journal.commit(batch(1.0, numbered(10, 500)))
print("open", flush=True)
for start in range(1000, 10_000_000, 10):
    if sys.argv[3] == "idle":
        sys.stdin.read()
        break
    journal.commit(batch(1.0, numbered(10, start)))
"""


@pytest.fixture(params=["idle", "busy"])
def running(request, path: Path) -> Iterator[subprocess.Popen]:
    """Let another process have the journal open."""
    here = str(Path(__file__).parent)
    command = [sys.executable, "-c", HOLDING, here, str(path), request.param]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline() == "open\n"
        yield process
        process.kill()


def test_a_running_daemon_is_backed_up_and_goes_on(running, path, capsys):
    target = path.parent / "copies" / "journal.sqlite"
    assert main(["journal", "backup", "--journal", str(path), str(target)]) == 0
    assert main(["journal", "check", "--journal", str(path)]) == 0
    assert running.poll() is None
    said = capsys.readouterr().out
    assert "written and proven: 3 series" in said
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
    journal.commit(batch(9.0, numbered(5, 900)))
    journal.close()
    changed = everything(path)
    assert main(["journal", "restore", "--journal", str(path), str(copy)]) == 0
    (aside,) = path.parent.glob("*.replaced.*")

    assert everything(path) == wanted
    assert everything(aside) == changed
    assert f"kept as {aside}" in capsys.readouterr().out
    assert main(["journal", "backup", "--journal", str(path), str(copy)]) == 75
    assert "is there already" in capsys.readouterr().err


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


def of_form_1(path: Path) -> Path:
    """Make the journal that a former version left."""
    db = sqlite3.connect(path)
    db.executescript(FORM_1.read_text(encoding="utf-8").replace(",Inf,", ",9e999,"))
    db.execute("pragma user_version = 1")
    db.execute("pragma journal_mode = wal")
    db.close()
    return path


def rows_of_form_1(path: Path) -> dict[str, object]:
    db = sqlite3.connect(path)
    wanted = {
        "totals": dict(db.execute("select name, value from totals")),
        "pairs": b"".join(body for (body,) in db.execute("select body from pairs order by batch")),
        "letters": db.execute("select count(*) from dead_letters").fetchone()[0],
        "made": db.execute("select count(*) from made").fetchone()[0],
    }
    db.close()
    return wanted


def test_a_former_form_is_brought_up_whole_and_a_copy_is_kept(tmp_path, caplog):
    path = of_form_1(tmp_path / "journal.sqlite")
    wanted = rows_of_form_1(path)
    after = everything(path)
    copy = path.with_name("journal.sqlite.form1")

    assert after["totals"] == wanted["totals"] == {
        "received": 9, "committed": 8, "rejected.bad_name": 1
    }  # fmt: skip
    pairs = np.frombuffer(after["pairs"], dtype=PAIR)
    names = [name for name in PAIR.names or () if name != "crps"]  # which form 1 did not have
    former = np.zeros(pairs.size, dtype=[(name, PAIR[name]) for name in names])
    for name in names:
        former[name] = pairs[name]
    assert sorted(former.tobytes()) == sorted(wanted["pairs"])
    assert np.isnan(pairs["crps"]).all()
    assert after["letters"] == [LETTER]
    assert after["collocations"] == [COLLOCATION]
    assert after["events"] == [EVENTS[1], EVENTS[0]]
    assert len(after["made"]) == PAIR.itemsize
    assert (after["revision"], after["named"], after["note"]) == (6, [("a", "x")], b"\0\1")
    assert rows_of_form_1(copy) == wanted
    assert "the former is kept as journal.sqlite.form1" in caplog.text
    assert everything(path) == after


def test_a_former_form_is_not_copied_nor_repaired_before_it_is_brought_up(tmp_path):
    path = of_form_1(tmp_path / "journal.sqlite")
    assert main(["journal", "check", "--journal", str(path)]) == 65
    content = path.read_bytes()
    with pytest.raises(JournalFormError, match="restore a backup"):
        repair(path, "now")
    assert recover(path, "now") is None
    assert path.read_bytes() == content


def test_a_former_form_that_is_damaged_is_left_as_it_is(tmp_path):
    path = of_form_1(tmp_path / "journal.sqlite")
    db = sqlite3.connect(path)
    db.execute("update pairs set body = zeroblob(97) where batch = 2")
    db.commit()
    db.close()
    wanted = rows_of_form_1(path)
    with pytest.raises(JournalDamagedError, match="batch 2 of pairs"):
        Journal(path)
    assert rows_of_form_1(path) == wanted


UPGRADED = """
import sys
from pathlib import Path
from monitor.journal import Journal
Journal(Path(sys.argv[1])).close()
"""


def upgraded(path: Path, *strace: str) -> int:
    command = [*strace, sys.executable, "-c", UPGRADED, str(path)]
    return subprocess.run(command, check=False, capture_output=True, timeout=60).returncode


@pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace")
@pytest.mark.parametrize("calls", ["pwrite64", "fdatasync,fsync", "rename,unlink"])
def test_an_upgrade_killed_at_any_write_leaves_one_form_or_the_other(calls, tmp_path):
    model = of_form_1(tmp_path / "model.sqlite")
    wanted = rows_of_form_1(model)
    new = tmp_path / "wanted.sqlite"
    shutil.copy(model, new)
    after = everything(new)
    count = tmp_path / "count"
    shutil.copy(model, tmp_path / "counted.sqlite")
    watched = ["strace", "-f", "-o", str(count), "-e", f"trace={calls}"]
    assert upgraded(tmp_path / "counted.sqlite", *watched) == 0
    traced = count.read_text(encoding="utf-8")
    total = sum(traced.count(f" {call}(") for call in calls.split(","))
    step = max(1, total // int(os.environ.get("MONITOR_POINTS", "8")))
    outcomes = set()
    for number in range(1, total + 1, step):
        path = tmp_path / str(number) / "journal.sqlite"
        path.parent.mkdir()
        shutil.copy(model, path)
        fault = ["-e", f"inject={calls}:signal=SIGKILL:when={number}"]
        code = upgraded(path, "strace", "-f", "-o", "/dev/null", "-e", f"trace={calls}", *fault)
        db = sqlite3.connect(path)
        form = db.execute("pragma user_version").fetchone()[0]
        db.close()
        outcomes.add((code == 0, form))
        if form == 1:
            assert rows_of_form_1(path) == wanted
        assert everything(path) == after

    assert (False, 1) in outcomes
    assert all(form in (1, SCHEMA_VERSION) for _, form in outcomes)
