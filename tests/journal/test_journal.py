"""The journal as a file: a batch is there whole or not at all; damage and a full disk are refused.

What it has in common with other stores is in test_store.py.
"""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import numpy as np
import pytest
from harness.batches import (
    EVENTS,
    EVIDENCE,
    LETTER,
    READINGS,
    REFERENCE,
    batch,
    by_series,
    contents,
    numbered,
    pairs,
)
from harness.programs import need
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.core.pairing.identities import digest, reference_identity
from monitor.journal import Journal, JournalBusyError, JournalError, JournalFullError
from monitor.journal import writing as module
from monitor.journal.copying import check_copy, restore
from monitor.journal.opening import try_folder
from monitor.journal.repairing import repair


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "journal.sqlite"


@pytest.fixture
def journal(path: Path) -> Iterator[Journal]:
    opened = Journal(path)
    yield opened
    opened.close()


# -- what comes back ----------------------------------------------------------------------------


def test_a_new_journal_is_a_file_and_its_folder_is_made(path):
    Journal(path).close()

    assert path.is_file()
    assert path.stat().st_mode & 0o077 == 0


def test_pairs_of_references_that_nobody_can_revise_are_not_indexed(journal):
    journal.append(batch(made=pairs((0, 1, 1.0, 1.0, 5)), observations=[REFERENCE]))

    assert journal.made_by(5).size == 0


# -- one transaction a batch --------------------------------------------------------------------

DYING = """
import os, sys
from pathlib import Path
sys.path[:0] = sys.argv[1].split(":")
from tests.journal.test_journal import FIRST, SECOND
from monitor.journal import Journal
journal = Journal(Path(sys.argv[2]))
journal.append(FIRST)
die = lambda text: os._exit(9) if text.startswith(sys.argv[3]) else None
journal._database.connection.set_trace_callback(die)
journal.append(SECOND)
os._exit(3)
"""
FIRST = batch(
    1.0, numbered(4), observations=READINGS[:1], totals={"received": 1}, evidence=EVIDENCE
)
SECOND = batch(
    2.0,
    numbered(2000, 4),
    observations=READINGS,
    dead_letters=[LETTER],
    totals={"received": 2},
    events=EVENTS,
)


@pytest.mark.parametrize(
    ("statement", "code"),
    [
        ("insert into observations", 9),
        ("insert into dead_letters", 9),
        ("delete from evidence", 9),
        ("insert or replace into seal", 9),
        ("commit", 9),
        ("no such statement", 3),
    ],
)
def test_a_batch_is_there_whole_or_not_at_all_when_the_process_dies(
    statement, code, path, tmp_path
):
    here = f"{Path(__file__).parents[1]}:{Path(__file__).parents[2]}"
    died = subprocess.run([sys.executable, "-c", DYING, here, str(path), statement], check=False)
    journal, alone = Journal(path), Journal(tmp_path / "alone.sqlite")
    alone.append(FIRST)
    if died.returncode == 3:
        alone.append(SECOND)

    assert died.returncode == code
    assert contents(journal) == contents(alone)
    if died.returncode == 9:
        journal.append(SECOND)
        alone.append(SECOND)
        assert contents(journal) == contents(alone)
    journal.close()
    alone.close()


def test_a_batch_that_cannot_be_written_leaves_nothing_and_the_next_one_can(journal):
    journal.append(FIRST)
    before = contents(journal)
    with pytest.raises(OverflowError):
        journal.append(SECOND._replace(totals={"received": 2**80}))
    assert contents(journal) == before

    journal.append(SECOND)
    assert journal.totals() == {"received": 2}


def test_evidence_that_a_failed_batch_would_have_dropped_is_dropped_by_the_next_that_does(journal):
    journal.append(FIRST)
    late = pairs((0, 90, 1.5, 1.0))
    with pytest.raises(OverflowError):
        journal.append(batch(made=late, totals={"received": 2**80}))
    assert journal.evidence() == EVIDENCE
    journal.append(batch(totals={"received": 2}))
    assert journal.evidence() == EVIDENCE
    journal.append(batch(made=late))

    assert journal.evidence() == EVIDENCE[1:]


def test_evidence_that_could_not_be_kept_hides_none_that_was(journal):
    journal.append(FIRST)
    newer = EVIDENCE[0]._replace(time=30.0)
    with pytest.raises(OverflowError):
        journal.append(batch(evidence=[newer], totals={"received": 2**80}))
    assert journal.evidence() == EVIDENCE
    for time in (20.0, 1.0):
        journal.append(batch(made=pairs((0, int(time), time, 1.0))))
    assert journal.evidence() == EVIDENCE[1:]

    journal.append(batch(made=pairs((2, 95, 1.0, 1.0)), evidence=[EVIDENCE[1]]))
    journal.append(batch(made=pairs((2, 96, 1.0, 1.0))))
    assert journal.evidence() == []


# -- one process at a time ----------------------------------------------------------------------


def test_a_second_opening_is_refused_and_the_first_goes_on(path, journal):
    journal.append(FIRST)
    with pytest.raises(JournalBusyError, match="another process has this journal open") as refused:
        Journal(path)
    assert str(path) in str(refused.value)
    assert refused.value.exit_code == 73

    opening = "import sys; from pathlib import Path; from monitor.journal import *"
    opening += (
        "\ntry: Journal(Path(sys.argv[1]))\nexcept JournalBusyError as e: sys.exit(e.exit_code)"
    )
    other = subprocess.run([sys.executable, "-c", opening, str(path)], check=False)
    assert other.returncode == 73
    journal.append(SECOND)
    assert journal.pairs().size == 2004


def test_a_closed_journal_can_be_opened_again(path):
    for _ in range(3):
        Journal(path).close()
    journal = Journal(path)
    journal.append(FIRST)
    journal.close()


# -- damage -------------------------------------------------------------------------------------


BODIES = {
    "observations": (
        "select body from observations where batch = ?",
        "update observations set body = ? where batch = ?",
    ),
    "pairs": (
        "select body from pairs where batch = ?",
        "update pairs set body = ? where batch = ?",
    ),
}


def damage(path: Path, table: str, number: int, at: int) -> None:
    """Flip one bit in the body of a batch."""
    select, update = BODIES[table]
    db = sqlite3.connect(path)
    spoilt = bytearray(db.execute(select, (number,)).fetchone()[0])
    spoilt[at] ^= 0x10
    db.execute(update, (bytes(spoilt), number))
    db.commit()
    db.close()


@pytest.mark.parametrize("at", [0, 40, -1])
@pytest.mark.parametrize("table", ["observations", "pairs"])
def test_a_damaged_batch_is_refused_with_file_table_and_number(table, at, path):
    journal = Journal(path)
    for start in range(3):
        journal.append(
            batch(1.0, numbered(4, start), observations=READINGS, totals={"received": 9})
        )
    journal.close()
    damage(path, table, 2, at)
    journal = Journal(path)
    readers = {
        "observations": [lambda: list(journal.observations())],
        "pairs": [journal.pairs, lambda: journal.pairs_of(0)],
    }

    for read in readers[table]:
        with pytest.raises(JournalError, match=f"batch 2 of {table} is damaged") as refused:
            read()
        assert str(path) in str(refused.value)
        assert "restore a backup" in str(refused.value)
        assert "monitor journal repair" in str(refused.value)
        assert refused.value.exit_code == 65
    for read in readers["pairs" if table == "observations" else "observations"]:
        assert len(read())
    assert journal.totals() == {"received": 9}
    journal.close()


@pytest.mark.parametrize("count", [-1, 1 << 60])
def test_a_batch_whose_number_of_pairs_is_damaged_is_refused_as_any_other(count, path):
    journal = Journal(path)
    journal.append(batch(1.0, numbered(4)))
    journal.close()
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("update pairs set count = ?", (count,))
    journal = Journal(path)

    with pytest.raises(JournalError, match="batch 1 of pairs is damaged"):
        journal.pairs()
    journal.close()


def test_a_batch_whose_newest_time_is_damaged_is_refused_by_who_reads_from_a_time_on(path):
    journal = Journal(path)
    for start in range(3):
        journal.append(batch(float(start), numbered(4, 10 * start)))
    journal.close()
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("update pairs set newest = -1.0 where batch = 2")
    journal = Journal(path)

    with pytest.raises(JournalError, match="batch 2 of pairs is damaged"):
        journal.pairs_of_each((0,), 5.0)
    journal.close()


def test_damaged_pairs_are_not_laid_together_with_good_ones(path, monkeypatch):
    monkeypatch.setattr(module, "_COMPACT_AT_BATCHES", 2)
    journal = Journal(path)
    for start in range(4):
        journal.append(batch(1.0, numbered(4, start)))
    journal.close()
    damage(path, "pairs", 3, 5)
    journal = Journal(path)
    for _ in range(2):
        with pytest.raises(JournalError, match="batch 3 of pairs is damaged"):
            journal.compact()
    journal.append(batch(totals={"received": 1}))
    journal.close()

    db = sqlite3.connect(path)
    assert db.execute("select batch, count from pairs").fetchall() == [(n, 4) for n in range(1, 5)]
    db.close()


@pytest.mark.parametrize("content", [b"time,value\n" * 500, b"\0" * 8192, b"SQLite format 3\0rest"])
def test_a_file_that_is_no_journal_is_refused_and_left_as_it_is(content, tmp_path):
    path = tmp_path / "notes.csv"
    path.write_bytes(content)
    with pytest.raises(
        JournalError, match="is not a journal, or its first page is damaged"
    ) as refused:
        Journal(path)

    assert str(path) in str(refused.value)
    assert refused.value.exit_code == 65
    assert path.read_bytes() == content


@pytest.mark.parametrize("version", [0, 1, 2, 3, 99])
@pytest.mark.parametrize(
    "use",
    [
        Journal,
        lambda path: repair(path, "now"),
        lambda path: restore(sound(path.with_name("copy")), path, "now"),
    ],
    ids=["open", "repair", "restore"],
)
def test_the_database_of_another_program_is_refused_and_left_as_it_is(version, use, tmp_path):
    path = tmp_path / "here" / "other.sqlite"
    path.parent.mkdir()
    db = sqlite3.connect(path)
    db.execute("pragma journal_mode = wal")
    db.execute("create table herd (name text)")
    db.execute(f"pragma user_version = {version}")
    db.commit()
    db.close()
    content = path.read_bytes()
    why = r"another program's file \(its tables: herd\).*use another path \(journal.path\)"
    with pytest.raises(JournalError, match=why) as refused:
        use(path)

    assert str(path) in str(refused.value)
    assert refused.value.exit_code == 65
    assert path.read_bytes() == content
    assert [each.name for each in path.parent.iterdir() if each.name[:4] != "copy"] == [path.name]


@pytest.mark.parametrize("use", [Journal, check_copy, try_folder, lambda path: repair(path, "now")])
def test_a_folder_in_place_of_a_file_is_told(use, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for path in (Path(), tmp_path):
        with pytest.raises(JournalError, match=r"is a folder; journal\.path must name a file"):
            use(path)


def sound(path: Path) -> Path:
    Journal(path).close()
    return path


@pytest.mark.parametrize(
    ("version", "why"),
    [
        (0, "another program's file"),
        (1, "has form 1, from before the first release.* move the file away to begin anew"),
        (2, "has form 2, from before the first release.* move the file away to begin anew"),
        (4, "has form 4, from before the first release.* move the file away to begin anew"),
        (5, "tables are not as they were created"),
        (99, "written by a newer version of monitor .* install that version"),
    ],
)
def test_a_journal_of_another_version_is_refused_and_left_as_it_is(version, why, tmp_path):
    path = tmp_path / "other.sqlite"
    db = sqlite3.connect(path)
    db.execute("create table seal (id integer)")
    db.execute(f"pragma user_version = {version}")
    db.commit()
    db.close()
    content = path.read_bytes()
    with pytest.raises(JournalError, match=why) as refused:
        Journal(path)

    assert str(path) in str(refused.value)
    assert path.read_bytes() == content
    assert [each.name for each in tmp_path.iterdir()] == ["other.sqlite"]


def everything(path: Path) -> dict[str, object]:
    journal = Journal(path)
    try:
        return contents(journal)
    finally:
        journal.close()


def test_a_journal_cut_off_anywhere_is_refused(path, tmp_path):
    journal = Journal(path)
    for start in range(0, 3000, 500):
        journal.append(batch(1.0, numbered(500, start), observations=READINGS, totals={"n": start}))
    journal.close()
    content = path.read_bytes()
    cuts = [*range(4096, len(content), 4096), 100, 1000, len(content) - 1, 5000]
    cut = tmp_path / "cut.sqlite"

    assert len(cuts) > 50
    for size in cuts:
        cut.write_bytes(content[:size])
        with pytest.raises(JournalError) as refused:
            everything(cut)
        assert str(cut) in str(refused.value)
    cut.write_bytes(content)
    assert everything(cut)["pairs"] == by_series(numbered(3000)).tobytes()


def test_a_place_that_cannot_be_written_is_refused_in_words(tmp_path):
    (tmp_path / "file").write_text("", encoding="utf-8")
    (tmp_path / "folder").mkdir()
    places = [tmp_path / "file" / "journal.sqlite", tmp_path / "folder", Path("/proc/no/journal")]
    for place in places:
        with pytest.raises(JournalError, match=r"check the path, its per|is a folder;") as refused:
            Journal(place)
        assert str(place) in str(refused.value)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_may_not_be_written_is_refused(tmp_path):
    folder = tmp_path / "locked"
    folder.mkdir(mode=0o555)
    with pytest.raises(JournalError, match="permissions"):
        Journal(folder / "journal.sqlite")


# -- no space -----------------------------------------------------------------------------------


def limit_pages(journal: Journal, more: int) -> None:
    (used,) = journal._database.connection.execute("pragma page_count").fetchone()
    journal._database.connection.execute(f"pragma max_page_count = {used + more}")


@pytest.mark.parametrize("room", [0, 1, 5])
def test_without_space_nothing_is_written_and_the_same_batch_can_be_tried_again(room, path):
    journal = Journal(path)
    journal.append(FIRST)
    before = contents(journal)
    limit_pages(journal, room)
    for _ in range(3):
        with pytest.raises(JournalFullError, match="no space left") as refused:
            journal.append(SECOND)
        assert str(path) in str(refused.value)
        assert contents(journal) == before
    limit_pages(journal, 10_000)
    journal.append(SECOND)
    after = contents(journal)

    assert after["pairs"] == by_series(numbered(2004)).tobytes()
    assert len(after["observations"]) == 2
    assert after["totals"] == {"received": 2}
    journal.close()
    assert everything(path) == after


def test_without_space_compacting_is_put_off_and_harms_nothing(journal, monkeypatch):
    monkeypatch.setattr(module, "_COMPACT_AT_BATCHES", 2)
    for start in range(10):
        journal.append(batch(1.0, numbered(100, 100 * start)))
    limit_pages(journal, 0)
    for _ in range(2):
        with suppress(JournalFullError):
            journal.compact()
    assert by_series(journal.pairs()).tobytes() == by_series(numbered(1000)).tobytes()

    limit_pages(journal, 10_000)
    journal.compact()
    journal.append(batch(1.0, numbered(1, 1000)))
    assert by_series(journal.pairs()).tobytes() == by_series(numbered(1001)).tobytes()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Return a file system of 512 kB; skip where none may be mounted."""
    folder = tmp_path / "disk"
    folder.mkdir()
    command = [need("mount"), "-t", "tmpfs", "-o", "size=512k", "tmpfs", str(folder)]
    if subprocess.run(command, check=False, capture_output=True).returncode:
        pytest.skip("this user may not mount a small file system")
    yield folder
    subprocess.run([need("umount"), str(folder)], check=True)


def commits_until_full(journal: Journal) -> int:
    for at in range(100):
        try:
            journal.append(batch(1.0, numbered(100, 100 * at)))
        except JournalFullError:
            return at
    pytest.fail("the disk is not full")


def test_on_a_full_disk_all_that_was_committed_stays_and_the_rest_follows_when_there_is_room(
    small_disk,
):
    path = small_disk / "journal.sqlite"
    journal = Journal(path)
    committed = commits_until_full(journal)
    held = by_series(journal.pairs()).tobytes()
    larger = [need("mount"), "-o", "remount,size=8m", str(small_disk)]
    subprocess.run(larger, check=True)
    journal.append(batch(1.0, numbered(100, 100 * committed)))
    journal.close()

    assert committed > 5
    assert held == by_series(numbered(100 * committed)).tobytes()
    assert everything(path)["pairs"] == by_series(numbered(100 * (committed + 1))).tobytes()


def test_a_read_only_file_system_is_named_and_all_is_there_once_it_is_writable(small_disk):
    path = small_disk / "journal.sqlite"
    journal = Journal(path)
    journal.append(batch(1.0, numbered(100)))
    journal.close()
    subprocess.run([need("mount"), "-o", "remount,ro", str(small_disk)], check=True)

    with pytest.raises(JournalError, match="cannot be written: Read-only file system") as refused:
        Journal(path)

    assert refused.value.exit_code == 75
    subprocess.run([need("mount"), "-o", "remount,rw", str(small_disk)], check=True)
    assert everything(path)["pairs"] == by_series(numbered(100)).tobytes()


# -- laying together and forgetting -------------------------------------------------------------


def batches_of(path: Path) -> list[int]:
    db = sqlite3.connect(path)
    counts = [count for (count,) in db.execute("select count from pairs order by batch")]
    db.close()
    return counts


def test_compacting_keeps_every_pair_in_its_order_and_makes_fewer_batches(path, monkeypatch):
    monkeypatch.setattr(module, "_COMPACT_AT_BATCHES", 8)
    monkeypatch.setattr(module, "_SEGMENT_PAIRS", 40)
    name = digest(*reference_identity(REFERENCE))
    journal = Journal(path)
    journal.append(batch(made=pairs((0, 900, 0.5, 1.0, name)), observations=[REFERENCE]))
    for start in range(0, 100, 5):
        journal.append(batch(1.0, numbered(5, start)))
    journal.append(batch(made=pairs((0, 30, 30.0, 7.0), (1, 31, 31.0, 7.0, 0, True))))
    before = contents(journal), journal.made_by(name).tobytes()
    history = [journal.pairs_of(series).tobytes() for series in range(4)]
    journal.compact()

    assert (contents(journal), journal.made_by(name).tobytes()) == before
    assert [journal.pairs_of(series).tobytes() for series in range(4)] == history
    journal.compact()
    journal.close()
    assert batches_of(path) == [41, 40, 22]
    assert everything(path) == before[0]


def test_few_batches_are_left_as_they_are(path):
    journal = Journal(path)
    for start in range(5):
        journal.append(batch(1.0, numbered(2, start)))
    journal.compact()
    journal.close()

    assert batches_of(path) == [2] * 5


def test_what_is_too_old_is_forgotten_by_batches(journal):
    for at in range(6):
        made = pairs((0, at, float(at), 1.0), (0, 100 + at, at - 0.5, 1.0))
        journal.append(batch(10.0 + at, made, observations=READINGS[:1], events=EVENTS))
    journal.expire(observations_before=12.0, pairs_before=3.0)

    assert [received for received, _ in journal.observations()] == [12.0, 13.0, 14.0, 15.0]
    assert journal.pairs()["id"].tolist() == [3, 103, 4, 104, 5, 105]
    assert len(journal.events()) == 2
    journal.expire(observations_before=1e9, pairs_before=1e9)
    assert journal.pairs().size == 0
    assert not list(journal.observations())


# -- any life -----------------------------------------------------------------------------------

rows = st.tuples(
    st.integers(0, 2),
    st.integers(0, 12),
    st.sampled_from([1.0, 2.0, 3.0]),
    st.floats(-1e15, 1e15),
    st.integers(0, 2**64 - 1),
    st.booleans(),
)
steps = st.lists(
    st.lists(rows, max_size=6) | st.sampled_from(["compact", "reopen", "full"]), max_size=25
)


def as_made(step: list[tuple], before: list[tuple]) -> list[tuple]:
    """Return rows as pairing makes them: a pair that gets another time is removed first."""
    latest = {row[:2]: row for row in before}
    made = []
    for row in step:
        old = latest.get(row[:2], row)
        if old[2] != row[2]:
            made.append((*old[:5], True))
        made.append(row)
        latest[row[:2]] = row
    return made


def standing(rows: list[tuple], series: int) -> list[tuple[float, int, float]]:
    """Return the pairs of a series that stand, by looking at every row."""
    latest = {row[1]: row for row in rows if row[0] == series}
    kept = [row for row in latest.values() if not row[5]]
    return sorted((row[2], row[1], row[3]) for row in kept)


@given(life=steps)
@settings(deadline=None, max_examples=60)
def test_whatever_a_journal_lives_through_it_gives_back_what_was_committed(life):
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_COMPACT_AT_BATCHES", 3)
        patch.setattr(module, "_SEGMENT_PAIRS", 8)
        path = Path(folder, "journal.sqlite")
        journal, wanted = Journal(path), []
        for step in life:
            if step == "compact":
                journal.compact()
            elif step == "reopen":
                journal.close()
                journal = Journal(path)
            elif step == "full":
                limit_pages(journal, 0)
                with pytest.raises(JournalFullError):
                    journal.append(SECOND)
                limit_pages(journal, 10_000)
            else:
                made = as_made(step, wanted)
                journal.append(batch(1.0, pairs(*made), observations=[REFERENCE] * len(made)))
                wanted += made
        found = journal.pairs()
        histories = [journal.pairs_of(series) for series in range(3)]
        observations = [each for _, batch_ in journal.observations() for each in batch_]
        journal.close()

    assert by_series(found).tobytes() == by_series(pairs(*wanted)).tobytes()
    assert observations == [REFERENCE] * len(wanted)
    for series, history in enumerate(histories):
        assert history[["time", "id", "value"]].tolist() == standing(wanted, series)


def test_the_histories_of_many_series_are_read_in_one_pass(path, monkeypatch):
    monkeypatch.setattr(module, "_COMPACT_AT_BATCHES", 8)
    monkeypatch.setattr(module, "_SEGMENT_PAIRS", 40)
    journal = Journal(path)
    for start in range(0, 100, 5):
        journal.append(batch(1.0, numbered(5, start)))
    journal.compact()
    journal.append(batch(made=pairs((0, 30, 30.0, 7.0), (1, 31, 31.0, 7.0, 0, True))))
    alone = {series: journal.pairs_of(series).tobytes() for series in (3, 0, 7, 1)}
    read: list[int] = []
    one = journal._batch

    def counted(table: str, number: int):
        read.append(number)
        return one(table, number)

    monkeypatch.setattr(journal, "_batch", counted)
    found = journal.pairs_of_each((3, 0, 7, 1))

    assert {series: rows.tobytes() for series, rows in found.items()} == alone
    assert len(read) == len(set(read)) > 0
    for series in range(11):
        changes = journal.pairs()["series"]
        assert journal.changes_of(series) == np.count_nonzero(changes == series)
    journal.close()


def test_histories_from_a_time_on_are_the_ends_of_whole_ones_and_read_no_older_batch(
    path, monkeypatch
):
    monkeypatch.setattr(module, "_COMPACT_AT_BATCHES", 8)
    monkeypatch.setattr(module, "_SEGMENT_PAIRS", 40)
    journal = Journal(path)
    for start in range(0, 100, 5):
        journal.append(batch(1.0, numbered(5, start)))
    journal.compact()
    for start in range(100, 130, 5):
        journal.append(batch(1.0, numbered(5, start)))
    # One is taken back, one moves to a later time, one to an earlier one.
    journal.append(batch(made=pairs((0, 121, 121.0, 7.0, 0, True), (1, 31, 31.0, 7.0, 0, True))))
    journal.append(batch(made=pairs((1, 31, 126.5, 7.0), (2, 122, 122.0, 7.0, 0, True))))
    journal.append(batch(made=pairs((2, 122, 30.5, 7.0))))
    every = tuple(range(10))
    whole = journal.pairs_of_each(every)
    parts: list[int] = []
    one = journal._part
    monkeypatch.setattr(journal, "_part", lambda *of: parts.append(of[1]) or one(*of), raising=True)
    for since in (0.0, 45.0, 118.0, 121.0, 126.5, 1e9):
        parts.clear()
        found = journal.pairs_of_each(every, since)
        for row in every:
            wanted = whole[row][whole[row]["time"] >= since]
            assert found[row].tobytes() == wanted.tobytes()
        assert since < 100.0 or not parts  # compacted batches end before
    journal.close()


def test_the_newest_arrival_is_that_of_the_last_batch(journal):
    for received in (100.0, 9e8, 200.0):
        journal.append(batch(received, observations=READINGS))

    assert journal.newest() == 200.0
