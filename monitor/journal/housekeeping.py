"""What keeps the file small and quick to read: old batches go, small ones are laid together."""

from __future__ import annotations

import zlib
from typing import Final

import numpy as np

from monitor.core.model import PAIR, Records
from monitor.journal.database import Database
from monitor.journal.schema import PLACE

# Small batches are laid together once there are this many, so that a slow stream starts fast too.
_COMPACT_AT_BATCHES: Final = 512
_COMPACT_AT_PAIRS: Final = 131_072
_SEGMENT_PAIRS: Final = 65_536


def forget(database: Database, *, observations_before: float, pairs_before: float) -> None:
    """Drop observations that arrived before a time, and batches of pairs all older than one.

    Of pairs only the first batches go, so that no row outlives one that replaced it.
    """
    with database.transaction():
        db = database.connection
        db.execute("delete from observations where received < ?", (observations_before,))
        db.execute(
            "delete from pairs where batch < coalesce("
            "(select min(batch) from pairs where newest >= ?), 9223372036854775807)",
            (pairs_before,),
        )
        db.execute("delete from made where batch not in (select batch from pairs)")
        db.execute("delete from revisions where received < ?", (pairs_before,))


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
    query = "select batch, crc, body from pairs where batch between ? and ?"
    bodies = database.bodies("pairs", query, batches[0], batches[-1])
    rows = np.frombuffer(b"".join(body for _, body in bodies), dtype=PAIR)
    rows = rows[np.argsort(rows["series"], kind="stable")]
    body, places = rows.tobytes(), _places(rows).tobytes()
    database.connection.execute(
        "update pairs set newest = ?, count = ?, crc = ?, places = ?, body = ? where batch = ?",
        (float(rows["time"].max()), rows.size, zlib.crc32(body), places, body, batches[0]),
    )
    merged = (batches[0], batches[-1])
    database.connection.execute("delete from pairs where batch > ? and batch <= ?", merged)
    database.connection.execute(
        "insert or ignore into made select reference, ? from made where batch > ? and batch <= ?",
        (batches[0], *merged),
    )
    database.connection.execute("delete from made where batch > ? and batch <= ?", merged)


def _places(rows: Records) -> Records:
    """Return where each series begins in ``rows``, ordered by series, and an end mark."""
    series, first = np.unique(rows["series"], return_index=True)
    places = np.zeros(series.size + 1, dtype=PLACE)
    places["series"][:-1], places["first"][:-1] = series, first
    places["series"][-1], places["first"][-1] = np.iinfo(np.int64).max, rows.size
    for place, stop in zip(places[:-1], places["first"][1:], strict=True):
        place["crc"] = zlib.crc32(rows[place["first"] : stop].tobytes())
    return places
