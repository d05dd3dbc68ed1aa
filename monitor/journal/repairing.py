"""From a damaged journal to a sound one: every row with a good checksum, and what was lost.

The damaged file is only read, and kept beside the new one. A row is copied only if its own checksum
is right. Evidence is left out, because it may rest on lost pairs; the next start recomputes it.
Unreachable rows are counted where the checksums of the tables say how many there were.
"""

from __future__ import annotations

import shutil
import sqlite3
import zlib
from collections.abc import Generator, Iterator, Mapping
from contextlib import closing, suppress
from itertools import pairwise
from pathlib import Path
from typing import Final, NamedTuple

import msgspec
import numpy as np

from monitor.core.model import Records
from monitor.core.pairing.observations import Durable, PackedReadings, PlainReadings, pack
from monitor.journal.copying import verify
from monitor.journal.database import text_of
from monitor.journal.failures import (
    UNREADABLE,
    JournalDamagedError,
    JournalError,
    JournalFormError,
    lost_transactions,
    target_of,
    wal_of,
)
from monitor.journal.log_end import misses_log
from monitor.journal.opening import (
    UPGRADES,
    check_form,
    empty_journal,
    form_of,
    growing,
    move_aside,
    put_in_place,
    refuse_busy,
    refuse_foreign,
    write_through,
)
from monitor.journal.schema import (
    ROWS,
    SCHEMA_VERSION,
    TABLES,
    Checksums,
    Row,
    Table,
    insert,
    read_checksums,
    row_crc,
    rows_in_words,
    write_checksums,
)
from monitor.journal.writing import observations_row

_decode: Final = msgspec.msgpack.Decoder(list[Durable]).decode
_GAP: Final = 10_000
_PAGE: Final = 4096


class Repair(NamedTuple):
    """The result of a repair: rows kept and lost by table, and where the damaged file is now.

    ``lost`` is None where nothing says how many rows there were.
    """

    kept: Mapping[str, int]
    lost: Mapping[str, int] | None
    lost_transactions: int
    is_log_lost: bool
    aside: Path

    def sentences(self) -> list[str]:
        """Return it in words."""
        rescued = rows_in_words(self.kept) or "nothing"
        lines = [f"the damaged file is kept as {self.aside}", f"kept: {rescued}"]
        if self.lost is None:
            lines.append("lost: unknown, the seal that says how much there was is damaged too")
        else:
            nothing = "no row" if self.lost_transactions or self.is_log_lost else "nothing"
            lines.append(f"lost: {rows_in_words(self.lost) or nothing}")
        if self.kept.get("observations") and (self.lost is None or self.lost["pairs"]):
            lines.append(
                "`monitor journal repair-pairs --config FILE`, with the daemon stopped, makes the "
                "lost pairs again whose readings and references are still held"
            )
        if self.lost_transactions:
            lines.append(f"also lost: at least {self.lost_transactions} transactions of its log")
        if self.is_log_lost:
            lines.append("also lost: its log, with all that was written since it was last merged")
        return lines


def repair(path: Path, stamp: str) -> Repair:
    """Put a sound journal in place of a damaged one, which becomes ``*.corrupt.<stamp>``.

    Raises JournalBusyError where a daemon has it open, JournalFormError where it is none of ours,
    JournalError, OSError.
    """
    path = target_of(path)
    if not path.exists() and not wal_of(path).exists():
        raise JournalError(f"{path}: there is no journal to repair")
    refuse_foreign(path)
    refuse_busy(path)
    transactions = lost_transactions(wal_of(path))
    is_log_lost = path.exists() and misses_log(path)
    with growing(path.parent) as folder:
        new = folder / path.name
        write_through(new, empty_journal())
        saved, wanted = _salvage(path, new, folder)
        aside = move_aside(path, f"corrupt.{stamp}")
        put_in_place(new, path)
    lost = (
        None
        if wanted is None
        else {
            table: max(0, rows - saved[table])
            for table, (rows, _) in wanted.tables.items()
            if table != "evidence"
        }
    )
    return Repair(saved, lost, transactions, is_log_lost, aside)


def _salvage(path: Path, new: Path, folder: Path) -> tuple[dict[str, int], Checksums | None]:
    """Copy what is sound; return the rows of each table, and the checksums there should be."""
    with closing(sqlite3.connect(new, isolation_level=None)) as target:
        target.execute("begin immediate")
        damaged = _readable(path, folder)
        wanted = None
        sums = Checksums.empty()
        if damaged is not None:
            with closing(damaged):
                with suppress(*UNREADABLE):
                    wanted = read_checksums(damaged)
                sums = _Salvage(damaged, target).run()
        sums.totals.update(wanted.totals if wanted is not None else {})
        write_checksums(target, sums)
        target.execute("commit")
    return {table: rows for table, (rows, _) in sums.tables.items()}, wanted


class _Salvage:
    """Copies sound rows from one connection to another."""

    def __init__(self, damaged: sqlite3.Connection, target: sqlite3.Connection) -> None:
        self._damaged, self._target = damaged, target
        self._checksums = Checksums.empty()

    def run(self) -> Checksums:
        """Copy all tables; return the checksums of what was copied."""
        rows_of = self._series()
        for table, form in TABLES.items():
            if not form.blobs and table not in ("series", "made"):
                for row, _ in sound_rows(self._damaged, table):
                    self._put(table, row)
        for row, blobs in sound_rows(self._damaged, "observations"):
            self._observations(row, blobs, rows_of)
        revised = {row[0] for row, _ in sound_rows(self._damaged, "revisions")}
        for row, blobs in sound_rows(self._damaged, "pairs"):
            self._pairs(row, blobs, rows_of, revised)
        for row, blobs in sound_rows(self._damaged, "covariates"):
            self._rows("covariates", row, blobs, rows_of)
        return self._checksums

    def _put(self, table: str, row: Row, blobs: Row = ()) -> None:
        self._checksums.add(table, insert(self._target, table, [row], blobs))

    def _series(self) -> dict[int, int]:
        """Copy the series; rows must follow each other, so those after a lost one move up."""
        rows = [row for row, _ in sound_rows(self._damaged, "series")]
        rows.sort(key=lambda row: int(row[0]))
        for new, row in enumerate(rows):
            self._put("series", (new, *row[1:]))
        return {int(row[0]): new for new, row in enumerate(rows)}

    def _observations(self, row: Row, blobs: Row, rows_of: Mapping[int, int]) -> None:
        """Copy a batch of observations, without packed readings of series that are lost."""
        former = _decode(blobs[0])
        moved = [_with_rows(each, rows_of) for each in former]
        if any(one is not other for one, other in zip(former, moved, strict=True)):
            row, blobs = observations_row(row[0], row[1], [each for each in moved if each])
        self._put("observations", row, blobs)

    def _pairs(self, row: Row, blobs: Row, rows_of: dict[int, int], revised: set[int]) -> None:
        """Copy a batch of pairs, without those of series that are lost, and who made them."""
        pairs = self._rows("pairs", row, blobs, rows_of)
        references = np.unique(pairs["reference_id"]).view(np.int64).tolist()
        for reference in sorted(revised.intersection(references)):
            self._put("made", (reference, row[0]))

    def _rows(self, table: str, row: Row, blobs: Row, rows_of: Mapping[int, int]) -> Records:
        """Copy what there is of series that are not lost; return it."""
        rows = np.frombuffer(blobs[1], dtype=ROWS[table])
        present = np.unique(rows["series"]).tolist()
        if any(rows_of.get(series) != series for series in present):
            rows = rows[np.isin(rows["series"], list(rows_of))].copy()
            rows["series"] = [rows_of[series] for series in rows["series"].tolist()]
            body = rows.tobytes()
            row = (row[0], row[1], rows.size, zlib.crc32(body), zlib.crc32(b""))
            blobs = (None, body)
        if rows.size:
            self._put(table, row, blobs)
        return rows


def _with_rows(each: Durable, rows_of: Mapping[int, int]) -> Durable | None:
    """Return an observation with the row its series has now; None if nothing of it is left."""
    if not isinstance(each, PackedReadings):
        return each
    rows, *columns = each.columns()
    now = np.array([rows_of.get(row, -1) for row in rows.tolist()], dtype=np.int64)
    return each if (now == rows).all() else pack(now, PlainReadings((), now, *columns))


def _readable(path: Path, folder: Path) -> sqlite3.Connection | None:
    """Open what can be read of a file: as it is, with its log, or with a new first page."""
    if not path.exists() or not path.stat().st_size:
        return None
    copy = folder / "former"
    shutil.copyfile(path, copy)
    if wal_of(path).exists():
        shutil.copyfile(wal_of(path), wal_of(copy))
    connection = _connect(copy, path)
    if connection is None:
        first = bytearray(empty_journal()[:_PAGE])
        first[28:32] = (copy.stat().st_size // _PAGE).to_bytes(4, "big")  # how many pages there are
        with copy.open("r+b") as file:
            file.write(first)
        connection = _connect(copy, path)
    return connection


def _connect(copy: Path, path: Path) -> sqlite3.Connection | None:
    """Open a file if its tables can be read; raises JournalFormError if they are of another form.

    A file that has this version's tables under a damaged number of its form is opened.
    """
    form = 0
    db = sqlite3.connect(copy, isolation_level=None)
    db.text_factory = text_of
    try:
        form = form_of(db)
        db.execute("select 1 from seal, pairs, observations limit 1").fetchone()
    except UNREADABLE:
        db.close()
        if 0 < form < SCHEMA_VERSION:
            check_form(path, form)
        return None
    if form in UPGRADES:
        db.close()
        raise JournalFormError(
            path,
            f"has form {form}, which can be repaired only once `monitor run` has upgraded it to "
            f"form {SCHEMA_VERSION}; if it is damaged, restore a backup",
        )
    return db


def sound_rows(db: sqlite3.Connection, table: str) -> Iterator[tuple[Row, Row]]:
    """Yield (columns, blobs) of each row with good checksums: from both ends, then one by one."""
    form = TABLES[table]
    query = form.query(table, form.blobs, "")
    keys = form.columns[: form.keys]
    back = query.rpartition(" order by ")[0] + " order by " + ", ".join(f"{k} desc" for k in keys)
    walked: set[Row] = set()
    for walk in (query, back):
        if (yield from _walk(db, table, walk, walked)):
            return
    if form.keys == 1 and walked and all(isinstance(key[0], int) for key in walked):
        one = form.query(table, form.blobs, f"{keys[0]} = ?")
        for number in _between(walked):
            yield from _walk(db, table, one, walked, number)


def _between(walked: set[Row]) -> Iterator[int]:
    """Yield the numbers that are missing, some thousands at most."""
    numbers = sorted(int(key[0]) for key in walked)
    missing = 0
    for low, high in pairwise(numbers):
        for number in range(low + 1, high):
            missing += 1
            if missing > _GAP:
                return
            yield number


def _walk(
    db: sqlite3.Connection, table: str, query: str, walked: set[Row], *values: int
) -> Generator[tuple[Row, Row], None, bool]:
    """Yield sound rows not seen before; return whether the end was reached."""
    form = TABLES[table]
    try:
        for record in db.execute(query, values):
            width = len(form.columns)
            row, crc, blobs = record[:width], record[width], record[width + 1 :]
            key = row[: form.keys]
            if key not in walked and _is_sound(table, form, row, crc, blobs):
                walked.add(key)
                yield row, blobs
    except UNREADABLE:
        return False
    return True


def _is_sound(table: str, form: Table, row: Row, crc: int, blobs: Row) -> bool:
    return row_crc(table, row) == crc and all(
        zlib.crc32(body or b"") == row[form.columns.index(f"{blob}_crc")]
        for blob, body in zip(form.blobs, blobs, strict=True)
    )


def recover_journal(path: Path, stamp: str) -> Repair | None:
    """Repair a journal if it is damaged; return the result, None if the journal is sound.

    Raises JournalBusyError, JournalError, OSError.
    """
    path = target_of(path)
    if not path.exists() and not wal_of(path).exists():
        return None
    try:
        verify(path)
    except JournalDamagedError:
        return repair(path, stamp)
    except JournalFormError:
        return None  # opening it says more, or brings it to this form
    return None
