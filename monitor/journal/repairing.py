"""From a damaged journal to a sound one: every row with a good checksum, and what was lost.

Rules of this file: the damaged file is only read, and kept beside the new one; a row is taken
only if its own checksum vouches for it; what cannot be reached is counted where the seal says how
much there was.
"""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
import zlib
from collections.abc import Generator, Iterator, Mapping
from contextlib import closing, suppress
from itertools import pairwise
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from monitor.core.model import PAIR
from monitor.journal import log
from monitor.journal.copying import verify
from monitor.journal.errors import JournalDamagedError, JournalError, JournalFormError
from monitor.journal.failures import UNREADABLE
from monitor.journal.files import (
    move_aside,
    put_in_place,
    refuse_busy,
    write_through,
)
from monitor.journal.opening import in_memory
from monitor.journal.schema import SEALED_SINCE, TABLES, Table
from monitor.journal.seal import Seal, row_crc
from monitor.journal.tables import Row, insert, write_seal

_GAP: Final = 10_000
_PAGE: Final = 4096


class Repair(NamedTuple):
    """What a repair came to: rows kept and lost by table, and where the damaged file is now.

    ``lost`` is None where nothing says how many rows there were.
    """

    kept: Mapping[str, int]
    lost: Mapping[str, int] | None
    lost_transactions: int
    aside: Path

    def sentences(self) -> list[str]:
        """Return it in words."""
        kept = ", ".join(f"{count} {table}" for table, count in self.kept.items() if count)
        said = [f"the damaged file is kept as {self.aside}", f"kept: {kept or 'nothing'}"]
        if self.lost is None:
            said.append("lost: unknown, the seal that says how much there was is damaged too")
        else:
            lost = ", ".join(f"{count} {table}" for table, count in self.lost.items() if count)
            said.append(f"lost: {lost or 'nothing'}")
        if self.lost_transactions:
            said.append(f"lost besides: {self.lost_transactions} transactions of its log, at least")
        return said


def repair(path: Path, stamp: str) -> Repair:
    """Put a sound journal in place of a damaged one, which becomes ``*.corrupt.<stamp>``.

    Raises JournalBusyError where a daemon has it open, JournalError, OSError.
    """
    if not path.exists() and not log.of(path).exists():
        raise JournalError(f"{path}: there is no journal to repair")
    refuse_busy(path)
    lost_transactions = log.lost_transactions(log.of(path))
    with tempfile.TemporaryDirectory(prefix=f".{path.name}.repair.", dir=path.parent) as folder:
        new = Path(folder, path.name)
        with closing(in_memory()) as empty:
            write_through(new, empty.serialize())
        kept, seal = _salvage(path, new, Path(folder))
        aside = move_aside(path, f"corrupt.{stamp}")
        put_in_place(new, path)
    lost = (
        None
        if seal is None
        else {table: max(0, rows - kept[table]) for table, (rows, _) in seal.tables.items()}
    )
    return Repair(kept, lost, lost_transactions, aside)


def _salvage(path: Path, new: Path, folder: Path) -> tuple[dict[str, int], Seal | None]:
    with closing(sqlite3.connect(new, isolation_level=None)) as target:
        target.execute("begin immediate")
        former = _readable(path, folder)
        seal = None
        kept = Seal.empty()
        if former is not None:
            with closing(former):
                seal = _seal_of(former)
                kept = _Salvage(former, target).run()
        kept.totals.update(seal.totals if seal is not None else {})
        write_seal(target, kept)
        target.execute("commit")
    return {table: rows for table, (rows, _) in kept.tables.items()}, seal


class _Salvage:
    """Copies sound rows from one connection to another."""

    def __init__(self, former: sqlite3.Connection, target: sqlite3.Connection) -> None:
        self._former, self._target = former, target
        self._seal = Seal.empty()

    def run(self) -> Seal:
        """Copy all tables; return the seal of what was copied."""
        rows_of = self._series()
        for table, form in TABLES.items():
            if not form.blobs and table not in ("series", "made"):
                for row, _ in sound_rows(self._former, table):
                    self._put(table, row)
        for row, blobs in sound_rows(self._former, "observations"):
            self._put("observations", row, blobs)
        revised = {row[0] for row, _ in sound_rows(self._former, "revisions")}
        for row, blobs in sound_rows(self._former, "pairs"):
            self._pairs(row, blobs, rows_of, revised)
        return self._seal

    def _put(self, table: str, row: Row, blobs: Row = ()) -> None:
        self._seal.add(table, insert(self._target, table, [row], blobs))

    def _series(self) -> dict[int, int]:
        """Copy the series; rows must follow each other, so those after a lost one move up."""
        rows = [row for row, _ in sound_rows(self._former, "series")]
        rows.sort(key=lambda row: int(row[0]))
        for new, row in enumerate(rows):
            self._put("series", (new, *row[1:]))
        return {int(row[0]): new for new, row in enumerate(rows)}

    def _pairs(self, row: Row, blobs: Row, rows_of: dict[int, int], revised: set[int]) -> None:
        """Copy a batch of pairs, without those of series that are lost, and who made them."""
        pairs = np.frombuffer(blobs[1], dtype=PAIR)
        present = np.unique(pairs["series"]).tolist()
        if any(rows_of.get(series) != series for series in present):
            pairs = pairs[np.isin(pairs["series"], list(rows_of))].copy()
            pairs["series"] = [rows_of[series] for series in pairs["series"].tolist()]
            body = pairs.tobytes()
            row = (row[0], row[1], pairs.size, zlib.crc32(body), zlib.crc32(b""))
            blobs = (None, body)
        if not pairs.size:
            return
        self._put("pairs", row, blobs)
        references = np.unique(pairs["reference_id"]).view(np.int64).tolist()
        for reference in sorted(revised.intersection(references)):
            self._put("made", (reference, row[0]))


def _readable(path: Path, folder: Path) -> sqlite3.Connection | None:
    """Open what can be read of a file: as it is, with its log, or with a new first page."""
    if not path.exists() or not path.stat().st_size:
        return None
    copy = folder / "former"
    shutil.copyfile(path, copy)
    if log.of(path).exists():
        shutil.copyfile(log.of(path), log.of(copy))
    found = _connect(copy, path)
    if found is None:
        with closing(in_memory()) as empty:
            first = bytearray(empty.serialize()[:_PAGE])
        first[28:32] = (copy.stat().st_size // _PAGE).to_bytes(4, "big")  # how many pages there are
        with copy.open("r+b") as file:
            file.write(first)
        found = _connect(copy, path)
    return found


def _connect(copy: Path, path: Path) -> sqlite3.Connection | None:
    db = sqlite3.connect(copy, isolation_level=None)
    db.text_factory = lambda text: text.decode("utf-8", "replace")
    version = -1
    try:
        version = db.execute("pragma user_version").fetchone()[0]
        db.execute("select 1 from seal, pairs, observations limit 1").fetchone()
    except UNREADABLE:
        db.close()
    else:
        return db
    if 0 < version < SEALED_SINCE:
        raise JournalFormError(
            f"{path}: form {version} has no checksum for every row and cannot be repaired; "
            "restore a backup"
        )
    return None


def _seal_of(db: sqlite3.Connection) -> Seal | None:
    with suppress(*UNREADABLE, ValueError):
        for body, crc in db.execute("select body, crc from seal where id = 1"):
            if row_crc("seal", body) == crc:
                return Seal.load(body)
    return None


def sound_rows(db: sqlite3.Connection, table: str) -> Iterator[tuple[Row, Row]]:
    """Yield (columns, blobs) of each row with good checksums: from both ends, then one by one."""
    form = TABLES[table]
    query = form.query(table, form.blobs, "")
    keys = form.columns[: form.keys]
    back = query.rpartition(" order by ")[0] + " order by " + ", ".join(f"{k} desc" for k in keys)
    seen: set[Row] = set()
    for walk in (query, back):
        if (yield from _walk(db, table, walk, seen)):
            return
    if form.keys == 1 and seen and all(isinstance(key[0], int) for key in seen):
        one = form.query(table, form.blobs, f"{keys[0]} = ?")
        for number in _between(seen):
            yield from _walk(db, table, one, seen, number)


def _between(seen: set[Row]) -> Iterator[int]:
    """Yield the numbers that are missing, some thousands at most."""
    numbers = sorted(int(key[0]) for key in seen)
    missing = 0
    for low, high in pairwise(numbers):
        for number in range(low + 1, high):
            missing += 1
            if missing > _GAP:
                return
            yield number


def _walk(
    db: sqlite3.Connection, table: str, query: str, seen: set[Row], *values: int
) -> Generator[tuple[Row, Row], None, bool]:
    """Yield sound rows not seen before; return whether the end was reached."""
    form = TABLES[table]
    try:
        for found in db.execute(query, values):
            width = len(form.columns)
            row, crc, blobs = found[:width], found[width], found[width + 1 :]
            key = row[: form.keys]
            if key not in seen and _is_sound(table, form, row, crc, blobs):
                seen.add(key)
                yield row, blobs
    except UNREADABLE:
        return False
    return True


def _is_sound(table: str, form: Table, row: Row, crc: int, blobs: Row) -> bool:
    return row_crc(table, row) == crc and all(
        zlib.crc32(body or b"") == row[form.columns.index(f"{blob}_crc")]
        for blob, body in zip(form.blobs, blobs, strict=True)
    )


def recover(path: Path, stamp: str) -> Repair | None:
    """Repair a journal if it is damaged; return what that came to, None if it is sound.

    Raises JournalBusyError, JournalError, OSError.
    """
    if not path.exists() and not log.of(path).exists():
        return None
    try:
        verify(path)
    except JournalDamagedError:
        return repair(path, stamp)
    except JournalFormError:
        return None  # opening it says more, or brings it to this form
    return None
