"""What keeps the file small and quick to read: old batches go, small ones are laid together."""

from __future__ import annotations

import zlib
from typing import Final

import numpy as np

from monitor.core.model import PAIR
from monitor.journal.database import Database
from monitor.journal.schema import places_of

# Small batches are laid together once there are this many, so that a slow stream starts fast too.
_COMPACT_AT_BATCHES: Final = 512
_COMPACT_AT_PAIRS: Final = 131_072
_SEGMENT_PAIRS: Final = 65_536
_ALL_OLDER: Final = (
    "batch < coalesce((select min(batch) from pairs where newest >= ?), 9223372036854775807)"
)


def forget(database: Database, *, observations_before: float, pairs_before: float) -> None:
    """Drop observations that arrived before a time, and batches of pairs all older than one.

    Of pairs only the first batches go, so that no row outlives one that replaced it.
    """
    with database.transaction():
        _delete_sound(database, "observations", "received < ?", observations_before)
        _delete_sound(database, "pairs", _ALL_OLDER, pairs_before)
        database.delete("made", "batch not in (select batch from pairs)")
        _delete_sound(database, "revisions", "received < ?", pairs_before)


def _delete_sound(database: Database, table: str, where: str, before: float) -> None:
    """Take rows out, once it is sure that none goes because its time is damaged."""
    for _ in database.read(table, where, (before,), bodies=False):
        pass
    database.delete(table, where, before)


def compact(database: Database) -> None:
    """Lay the small batches after the last large one together once there are many."""
    query = (
        "select batch, count from pairs where batch > "
        "(select coalesce(max(batch), 0) from pairs where count >= ?) order by batch"
    )
    tail = list(database.rows(query, _SEGMENT_PAIRS // 4))
    is_long = sum(count for _, count in tail) >= _COMPACT_AT_PAIRS and len(tail) > 1
    if len(tail) < _COMPACT_AT_BATCHES and not is_long:
        return
    with database.transaction():
        run: list[int] = []
        run_pairs = 0
        for batch, count in tail:
            run.append(batch)
            run_pairs += count
            if run_pairs >= _SEGMENT_PAIRS:
                _lay_together(database, run)
                run, run_pairs = [], 0
        _lay_together(database, run)


def _lay_together(database: Database, batches: list[int]) -> None:
    """Make one batch, ordered by series, of several that follow each other."""
    if len(batches) < 2:
        return
    first, last = batches[0], batches[-1]
    run = list(database.read("pairs", "batch between ? and ?", (first, last)))
    rows = np.frombuffer(b"".join(row[-1] for row in run), dtype=PAIR)
    rows = rows[np.argsort(rows["series"], kind="stable")]
    body, places = rows.tobytes(), places_of(rows).tobytes()
    newest = float(rows["time"].max()) + 0.0
    row = (first, newest, rows.size, zlib.crc32(body), zlib.crc32(places))
    database.delete("pairs", "batch between ? and ?", first, last)
    database.insert("pairs", [row], (places, body))
    made = {name for name, _ in database.read("made", "batch between ? and ?", (first, last))}
    database.delete("made", "batch between ? and ?", first, last)
    database.insert("made", [(reference, first) for reference in sorted(made)])
