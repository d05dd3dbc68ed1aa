"""From an earlier form of the journal to this version's, in one transaction, after a copy.

Rules of this file: nothing is taken over whose checksum differs; whatever ends it, the file is of
the former form, whole, or of the new one.
"""

from __future__ import annotations

import logging
import os
import sqlite3
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, Final

import numpy as np

from monitor.core.model import PAIR, Records
from monitor.journal.failures import damaged
from monitor.journal.schema import SCHEMA, SCHEMA_VERSION, places_of
from monitor.journal.seal import Seal
from monitor.journal.tables import Row, insert, write_seal

_log: Final = logging.getLogger("monitor")

# Pairs did not yet have the CRPS of what was stated.
_PAIR_OF_FORM_1: Final = np.dtype(
    [(name, PAIR[name]) for name in PAIR.names or () if name != "crps"]
)
_TABLES_OF_FORM_1: Final = (
    "series",
    "observations",
    "pairs",
    "dead_letters",
    "events",
    "collocations",
    "revisions",
    "made",
    "notes",
    "totals",
)


def upgrade(db: sqlite3.Connection, path: Path, version: int) -> None:
    """Bring a locked journal to this form; raises sqlite3.DatabaseError, OSError, JournalError."""
    copy = Path(f"{path}.form{version}")
    _copy(db, copy)
    db.execute("begin immediate")
    try:
        UPGRADES[version](db, path)
        db.execute(f"pragma user_version = {SCHEMA_VERSION}")
        db.execute("commit")
    finally:
        if db.in_transaction:
            with suppress(sqlite3.DatabaseError):
                db.execute("rollback")
    _log.warning(
        "%s: brought from form %d to %d; the former is kept as %s, delete it when all is well",
        path,
        version,
        SCHEMA_VERSION,
        copy.name,
    )


def _copy(db: sqlite3.Connection, target: Path) -> None:
    """Keep a copy beside the journal, there whole or not at all."""
    part = Path(f"{target}.part")
    part.unlink(missing_ok=True)
    with closing(sqlite3.connect(part, isolation_level=None)) as copy:
        db.backup(copy)
    with part.open("rb") as file:
        os.fsync(file.fileno())
    part.rename(target)


def _from_form_1(db: sqlite3.Connection, path: Path) -> None:
    """Give every row a checksum, and the journal a seal."""
    db.execute("drop index revisions_by_identity")
    for table in _TABLES_OF_FORM_1:
        db.execute(f"alter table {table} rename to former_{table}")
    for statement in SCHEMA.split(";"):
        db.execute(statement)
    seal = Seal.empty()
    for table, columns in _SMALL_OF_FORM_1.items():
        rows = db.execute(f"select {columns} from former_{table}")
        for chunk in _chunks(rows):
            seal.add(table, insert(db, table, chunk))
    for table, batches in _BATCHES_OF_FORM_1.items():
        for row, blobs in batches(db, path):
            seal.add(table, insert(db, table, [row], blobs))
    seal.totals.update(db.execute("select name, value from former_totals"))
    write_seal(db, seal)
    for table in _TABLES_OF_FORM_1:
        db.execute(f"drop table former_{table}")


_SMALL_OF_FORM_1: Final[Mapping[str, str]] = {
    "series": "row, sensor, quantity, unit, since",
    "dead_letters": "id, received, topic, reason, detail, payload",
    "events": "sensor, time, event, note",
    "collocations": "sensor, subject, start, end, distance_km",
    "revisions": "reference, identity, subject, quantity, revision, received",
    "made": "reference, batch",
    "notes": "name, body",
}


def _observations_of_form_1(db: sqlite3.Connection, path: Path) -> Iterator[tuple[Row, Row]]:
    query = "select batch, received, count, crc, body from former_observations order by batch"
    for *row, body in db.execute(query):
        _check(path, "observations", row[0], row[3], body)
        yield tuple(row), (body,)


def _pairs_of_form_1(db: sqlite3.Connection, path: Path) -> Iterator[tuple[Row, Row]]:
    query = "select batch, newest, count, crc, places, body from former_pairs order by batch"
    for batch, newest, count, crc, places, body in db.execute(query):
        _check(path, "pairs", batch, crc, body)
        rows = _with_crps(np.frombuffer(body, dtype=_PAIR_OF_FORM_1))
        blobs = None if places is None else places_of(rows).tobytes(), rows.tobytes()
        crcs = zlib.crc32(blobs[1]), zlib.crc32(blobs[0] or b"")
        yield (batch, newest, count, *crcs), blobs


def _with_crps(former: Records) -> Records:
    """Return pairs of form 1 with the column that they lack: none stated a distribution."""
    rows = np.zeros(former.size, dtype=PAIR)
    for name in former.dtype.names or ():
        rows[name] = former[name]
    rows["crps"] = np.nan
    return rows


_BATCHES_OF_FORM_1: Final = {
    "observations": _observations_of_form_1,
    "pairs": _pairs_of_form_1,
}


def _check(path: Path, table: str, batch: int, crc: int, body: bytes) -> None:
    if zlib.crc32(body) != crc:
        raise damaged(path, f"batch {batch} of {table} is damaged, its checksum differs")


def _chunks(rows: Iterable[Any]) -> Iterator[list[Any]]:
    chunk: list[Any] = []
    for row in rows:
        chunk.append(row)
        if len(chunk) == 10_000:
            yield chunk
            chunk = []
    yield chunk


NAMES: Final[Mapping[int, set[str]]] = {1: {*_TABLES_OF_FORM_1, "revisions_by_identity"}}


def _from_form_2(db: sqlite3.Connection, path: Path) -> None:
    """Change nothing: observations may be packed from now on; those here stay as they are."""
    del db, path


UPGRADES: Final[Mapping[int, Callable[[sqlite3.Connection, Path], None]]] = {
    1: _from_form_1,
    2: _from_form_2,
}
