"""The journal: what is committed is there again, whole, or the journal says why not."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.core.model import (
    PAIR,
    Collocation,
    Event,
    Reading,
    Records,
    Reference,
)
from monitor.core.pairing.buffers import digest, reference_identity
from monitor.core.state.network import KnownSeries
from monitor.journal import (
    Batch,
    DeadLetter,
    Journal,
    JournalBusyError,
    JournalError,
    JournalFullError,
)
from monitor.journal import housekeeping as module

READINGS = [
    Reading("a", "x", float(at), at + 0.5, u=1.0, key="k", sequence=str(at)) for at in range(3)
]
REFERENCE = Reference("a", "x", 1.0, 2.0, 0.1, identity="lab-7", revision=6, start=0.5, end=1.5)
EVENTS = [Event("b", 7.0, "moved", "to the barn"), Event("a", 5.0, "adjusted")]
COLLOCATION = Collocation("a", "station", 1.0, float("inf"), 0.3)
LETTER = DeadLetter(3.0, "monitor/\u202e/x", "bad_name", "sensor", b"\x00\xff{")


def pairs(*rows: tuple[float, ...]) -> np.ndarray:
    """Return pairs of (series, id, time, value[, reference id, removed])."""
    made = np.zeros(len(rows), dtype=PAIR)
    for row, (series, number, time, value, *more) in zip(made, rows, strict=True):
        row["series"], row["id"], row["time"], row["value"] = series, number, time, value
        row["u"], row["lower"], row["p"] = 0.5, np.nan, np.nan
        row["reference_id"], row["removed"] = (*more, 0, False)[:2]
    return made


def batch(received: float = 0.0, made: np.ndarray | None = None, **parts) -> Batch:
    empty = {"observations": [], "series": [], "dead_letters": [], "totals": {}}
    return Batch(received=received, pairs=pairs() if made is None else made, **{**empty, **parts})


def numbered(count: int, start: int = 0) -> np.ndarray:
    """Return so many pairs, each with an identity of its own, of three series in turn."""
    return pairs(*((at % 3, at, float(at), at / 7.0) for at in range(start, start + count)))


def by_series(made: Records) -> Records:
    """Order pairs by series; those of one series stay in the order they were made."""
    return made[np.argsort(made["series"], kind="stable")]


def contents(journal: Journal) -> dict[str, object]:
    """Return all that a journal holds, in a form that compares."""
    encode = msgspec.msgpack.encode
    return {
        "series": journal.series(),
        "observations": [(time, encode(each)) for time, each in journal.observations()],
        "pairs": by_series(journal.pairs()).tobytes(),
        "letters": journal.dead_letters(1_000_000),
        "events": journal.events(),
        "collocations": journal.collocations(),
        "totals": journal.totals(),
    }


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "journal.sqlite"


@pytest.fixture
def journal(path: Path) -> Iterator[Journal]:
    opened = Journal(path)
    yield opened
    opened.close()


# -- what comes back ----------------------------------------------------------------------------


def test_every_table_comes_back_as_it_was_committed(path):
    made = pairs((0, 2**64 - 1, 1.0, 0.1, 2**63 + 5, False), (1, 7, 2.0, 1e15, 9, True))
    whole = batch(
        12.5,
        made,
        observations=[*READINGS, REFERENCE],
        series=[KnownSeries(0, "a", "x", "kg", 0.0), KnownSeries(1, "b", "y", "", -3.5)],
        dead_letters=[LETTER],
        totals={"received": 5, "committed": 4},
        events=EVENTS,
        collocations=[COLLOCATION],
        notes={"births": b"\x00\x01", "more": b""},
    )
    journal = Journal(path)
    journal.commit(whole)
    before = contents(journal)
    journal.close()
    journal = Journal(path)

    assert contents(journal) == before
    assert journal.series() == whole.series
    ((received, observations),) = journal.observations()
    assert (received, msgspec.msgpack.encode(observations)) == (
        12.5,
        msgspec.msgpack.encode(whole.observations),
    )
    assert by_series(journal.pairs()).tobytes() == made.tobytes()
    assert journal.dead_letters() == [LETTER]
    assert journal.events() == [EVENTS[1], EVENTS[0]]
    assert journal.collocations() == [COLLOCATION]
    assert journal.totals() == {"received": 5, "committed": 4}
    assert (journal.note("births"), journal.note("more"), journal.note("?")) == (b"\0\1", b"", b"")
    assert journal.named("lab-7") == [("a", "x")]
    assert journal.revision(digest(*reference_identity(REFERENCE))) == 6
    journal.close()


def test_a_new_journal_is_empty_and_its_folder_is_made(path):
    journal = Journal(path)

    assert path.exists()
    assert not any(contents(journal).values())
    assert journal.history(0).size == 0
    journal.close()


def test_batches_come_back_in_the_order_they_were_committed(journal):
    for at in range(20):
        journal.commit(batch(20.0 - at, numbered(3, at), observations=[READINGS[at % 3]]))

    assert [received for received, _ in journal.observations()] == [20.0 - at for at in range(20)]
    found = [each.sequence for _, (each,) in journal.observations()]
    assert found == [str(at % 3) for at in range(20)]
    assert journal.pairs().tobytes() == b"".join(numbered(3, at).tobytes() for at in range(20))


def test_totals_are_those_of_the_last_batch_that_named_them(journal):
    journal.commit(batch(totals={"received": 1, "committed": 1}))
    journal.commit(batch(totals={"received": 2**62, "rejected.future": 3}))

    assert journal.totals() == {"received": 2**62, "committed": 1, "rejected.future": 3}


def test_a_series_event_or_collocation_that_comes_again_stands_once(journal):
    for since in (5.0, 2.0):
        known = [KnownSeries(0, "a", "x", "kg", since)]
        journal.commit(batch(series=known, events=EVENTS, collocations=[COLLOCATION]))

    assert journal.series() == [KnownSeries(0, "a", "x", "kg", 2.0)]
    assert len(journal.events()) == 2
    assert journal.collocations() == [COLLOCATION]


def test_the_pairs_of_a_reference_with_a_name_are_found(journal):
    name = digest(*reference_identity(REFERENCE))
    journal.commit(batch(made=pairs((0, 1, 1.0, 1.0, name)), observations=[REFERENCE]))
    journal.commit(batch(made=pairs((0, 2, 2.0, 1.0, 5), (1, 3, 0.5, 1.0, name))))
    journal.commit(batch(made=pairs((0, 1, 1.0, 9.0, name, True))))

    assert journal.made_by(name)["id"].tolist() == [3]
    assert journal.made_by(5).size == 0  # it came without a name: nobody can revise it


@pytest.mark.parametrize("kept", [0, 1, 5])
def test_only_the_newest_dead_letters_are_kept_however_they_come(kept, path):
    journal = Journal(path, dead_letters_kept=kept)
    letters = [LETTER._replace(received=float(at), payload=b"%d" % at) for at in range(40)]
    sent: list[DeadLetter] = []
    for size in (1, 0, 12, 3, 1, 20, 3):
        journal.commit(batch(dead_letters=letters[len(sent) : len(sent) + size]))
        sent = letters[: len(sent) + size]
        assert journal.dead_letters(1000) == sent[::-1][:kept]

    assert journal.dead_letters(2) == sent[::-1][: min(kept, 2)]
    journal.close()


# -- one transaction a batch --------------------------------------------------------------------

DYING = """
import os, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from test_journal import FIRST, SECOND
from monitor.journal import Journal
journal = Journal(Path(sys.argv[2]))
journal.commit(FIRST)
die = lambda text: os._exit(9) if text.startswith(sys.argv[3]) else None
journal._database.connection.set_trace_callback(die)
journal.commit(SECOND)
os._exit(3)
"""
FIRST = batch(1.0, numbered(4), observations=READINGS[:1], totals={"received": 1})
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
        ("commit", 9),
        ("no such statement", 3),
    ],
)
def test_a_batch_is_there_whole_or_not_at_all_when_the_process_dies(
    statement, code, path, tmp_path
):
    here = str(Path(__file__).parent)
    died = subprocess.run([sys.executable, "-c", DYING, here, str(path), statement], check=False)
    journal, alone = Journal(path), Journal(tmp_path / "alone.sqlite")
    alone.commit(FIRST)
    if died.returncode == 3:
        alone.commit(SECOND)

    assert died.returncode == code
    assert contents(journal) == contents(alone)
    if died.returncode == 9:
        journal.commit(SECOND)
        alone.commit(SECOND)
        assert contents(journal) == contents(alone)
    journal.close()
    alone.close()


def test_a_batch_that_cannot_be_written_leaves_nothing_and_the_next_one_can(journal):
    journal.commit(FIRST)
    before = contents(journal)
    with pytest.raises(OverflowError):
        journal.commit(SECOND._replace(totals={"received": 2**80}))
    assert contents(journal) == before

    journal.commit(SECOND)
    assert journal.totals() == {"received": 2}


# -- one process at a time ----------------------------------------------------------------------


def test_a_second_opening_is_refused_and_the_first_goes_on(path, journal):
    journal.commit(FIRST)
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
    journal.commit(SECOND)
    assert journal.pairs().size == 2004


def test_a_closed_journal_can_be_opened_again(path):
    for _ in range(3):
        Journal(path).close()
    journal = Journal(path)
    journal.commit(FIRST)
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
        journal.commit(
            batch(1.0, numbered(4, start), observations=READINGS, totals={"received": 9})
        )
    journal.close()
    damage(path, table, 2, at)
    journal = Journal(path)
    readers = {
        "observations": [lambda: list(journal.observations())],
        "pairs": [journal.pairs, lambda: journal.history(0)],
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
    journal.commit(batch(1.0, numbered(4)))
    journal.close()
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("update pairs set count = ?", (count,))
    journal = Journal(path)

    with pytest.raises(JournalError, match="batch 1 of pairs is damaged"):
        journal.pairs()
    journal.close()


def test_damaged_pairs_are_not_laid_together_with_good_ones(path, monkeypatch):
    monkeypatch.setattr(module, "_COMPACT_AT_BATCHES", 2)
    journal = Journal(path)
    for start in range(4):
        journal.commit(batch(1.0, numbered(4, start)))
    journal.close()
    damage(path, "pairs", 3, 5)
    journal = Journal(path)
    for _ in range(2):
        with pytest.raises(JournalError, match="batch 3 of pairs is damaged"):
            journal.compact()
    journal.commit(batch(totals={"received": 1}))
    journal.close()

    db = sqlite3.connect(path)
    assert db.execute("select batch, count from pairs").fetchall() == [(n, 4) for n in range(1, 5)]
    db.close()


@pytest.mark.parametrize("content", [b"time,value\n" * 500, b"\0" * 8192, b"SQLite format 3\0rest"])
def test_a_file_that_is_no_journal_is_refused_and_left_as_it_is(content, tmp_path):
    path = tmp_path / "notes.csv"
    path.write_bytes(content)
    with pytest.raises(JournalError, match="is no journal") as refused:
        Journal(path)

    assert str(path) in str(refused.value)
    assert refused.value.exit_code == 65
    assert path.read_bytes() == content


@pytest.mark.parametrize(
    ("version", "why"),
    [
        (0, "the file of another program"),
        (1, "tables are not as they were made"),
        (2, "tables are not as they were made"),
        (99, "written by a newer version of monitor .* install that version"),
    ],
)
def test_the_database_of_another_program_or_version_is_refused_and_left_as_it_is(
    version, why, tmp_path
):
    path = tmp_path / "other.sqlite"
    db = sqlite3.connect(path)
    db.execute("create table herd (name text)")
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
        journal.commit(batch(1.0, numbered(500, start), observations=READINGS, totals={"n": start}))
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
        with pytest.raises(JournalError, match="check the path, its permissions") as refused:
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
    journal.commit(FIRST)
    before = contents(journal)
    limit_pages(journal, room)
    for _ in range(3):
        with pytest.raises(JournalFullError, match="no space left") as refused:
            journal.commit(SECOND)
        assert str(path) in str(refused.value)
        assert contents(journal) == before
    limit_pages(journal, 10_000)
    journal.commit(SECOND)
    after = contents(journal)

    assert after["pairs"] == by_series(numbered(2004)).tobytes()
    assert len(after["observations"]) == 2
    assert after["totals"] == {"received": 2}
    journal.close()
    assert everything(path) == after


def test_without_space_compacting_is_put_off_and_harms_nothing(journal, monkeypatch):
    monkeypatch.setattr(module, "_COMPACT_AT_BATCHES", 2)
    for start in range(10):
        journal.commit(batch(1.0, numbered(100, 100 * start)))
    limit_pages(journal, 0)
    for _ in range(2):
        with suppress(JournalFullError):
            journal.compact()
    assert by_series(journal.pairs()).tobytes() == by_series(numbered(1000)).tobytes()

    limit_pages(journal, 10_000)
    journal.compact()
    journal.commit(batch(1.0, numbered(1, 1000)))
    assert by_series(journal.pairs()).tobytes() == by_series(numbered(1001)).tobytes()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Return a file system of 512 kB; skip where none may be mounted."""
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=512k", "tmpfs", str(folder)]
    try:
        mounted = subprocess.run(command, check=False, capture_output=True)
    except FileNotFoundError:
        pytest.skip("there is no mount")
    if mounted.returncode:
        pytest.skip("this user may not mount a small file system")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def commits_until_full(journal: Journal) -> int:
    for at in range(100):
        try:
            journal.commit(batch(1.0, numbered(100, 100 * at)))
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
    larger = ["mount", "-o", "remount,size=8m", str(small_disk)]
    subprocess.run(larger, check=True)
    journal.commit(batch(1.0, numbered(100, 100 * committed)))
    journal.close()

    assert committed > 5
    assert held == by_series(numbered(100 * committed)).tobytes()
    assert everything(path)["pairs"] == by_series(numbered(100 * (committed + 1))).tobytes()


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
    journal.commit(batch(made=pairs((0, 900, 0.5, 1.0, name)), observations=[REFERENCE]))
    for start in range(0, 100, 5):
        journal.commit(batch(1.0, numbered(5, start)))
    journal.commit(batch(made=pairs((0, 30, 30.0, 7.0), (1, 31, 31.0, 7.0, 0, True))))
    before = contents(journal), journal.made_by(name).tobytes()
    history = [journal.history(series).tobytes() for series in range(4)]
    journal.compact()

    assert (contents(journal), journal.made_by(name).tobytes()) == before
    assert [journal.history(series).tobytes() for series in range(4)] == history
    journal.compact()
    journal.close()
    assert batches_of(path) == [41, 40, 22]
    assert everything(path) == before[0]


def test_few_batches_are_left_as_they_are(path):
    journal = Journal(path)
    for start in range(5):
        journal.commit(batch(1.0, numbered(2, start)))
    journal.compact()
    journal.close()

    assert batches_of(path) == [2] * 5


def test_what_is_too_old_is_forgotten_by_batches(journal):
    for at in range(6):
        made = pairs((0, at, float(at), 1.0), (0, 100 + at, at - 0.5, 1.0))
        journal.commit(batch(10.0 + at, made, observations=READINGS[:1], events=EVENTS))
    journal.forget(observations_before=12.0, pairs_before=3.0)

    assert [received for received, _ in journal.observations()] == [12.0, 13.0, 14.0, 15.0]
    assert journal.pairs()["id"].tolist() == [3, 103, 4, 104, 5, 105]
    assert len(journal.events()) == 2
    journal.forget(observations_before=1e9, pairs_before=1e9)
    assert journal.pairs().size == 0
    assert not list(journal.observations())


def test_forgetting_brings_nothing_back_that_was_removed_or_revised(journal):
    journal.commit(batch(made=pairs((0, 1, 10.0, 1.0), (0, 2, 11.0, 1.0), (0, 3, 1000.0, 1.0))))
    journal.commit(batch(made=pairs((0, 1, 10.0, 1.0, 0, True), (0, 2, 11.0, 5.0))))
    before = journal.history(0).tobytes()
    journal.forget(observations_before=0.0, pairs_before=100.0)

    assert journal.history(0).tobytes() == before


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
                    journal.commit(SECOND)
                limit_pages(journal, 10_000)
            else:
                made = as_made(step, wanted)
                journal.commit(batch(1.0, pairs(*made), observations=[REFERENCE] * len(made)))
                wanted += made
        found = journal.pairs()
        histories = [journal.history(series) for series in range(3)]
        observations = [each for _, batch_ in journal.observations() for each in batch_]
        journal.close()

    assert by_series(found).tobytes() == by_series(pairs(*wanted)).tobytes()
    assert observations == [REFERENCE] * len(wanted)
    for series, history in enumerate(histories):
        assert history[["time", "id", "value"]].tolist() == standing(wanted, series)
