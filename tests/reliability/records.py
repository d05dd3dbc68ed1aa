"""What trials found, kept in files: one can be run anew, and a run of hours can be broken off.

Rules of this file: a record is of one trial, whole; it says how much was tried, of which commit it
is, when it ended and how busy the machine was. docs/evidence/reliability.md is made of
``records.json``.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import msgspec

from .trials import PROJECT, TRIALS, Found

RECORDS: Final = Path(__file__).with_name("records.json")
_NAME: Final = "{trial}.json"


class Record(msgspec.Struct, frozen=True):
    """One trial: ``commit`` is abbreviated, ``day`` that of its end (UTC), ``load`` of a minute.

    Portions that were done at several commits name each of them.
    """

    trial: str
    share: str
    commit: str
    day: str
    load: float
    found: list[Found]


def recorded(trial: str, share: str, found: Sequence[Found]) -> Record:
    """Return the record of a trial that has just ended."""
    day = datetime.now(UTC).date().isoformat()
    return Record(trial, share, _commit(), day, round(os.getloadavg()[0], 1), list(found))


def joined(portions: Sequence[Record]) -> Record:
    """Return the record of a trial whose portions, one at least, found the same things."""
    found = [
        each._replace(
            held=sum(record.found[at].held for record in portions),
            of=sum(record.found[at].of for record in portions),
        )
        for at, each in enumerate(portions[0].found)
    ]
    return Record(
        trial=portions[0].trial,
        share=portions[0].share,
        commit=", ".join(dict.fromkeys(record.commit for record in portions)),
        day=max(record.day for record in portions),
        load=max(record.load for record in portions),
        found=found,
    )


def keep(record: Record, folder: Path, portion: str = "") -> None:
    """Write a record, of a trial or of a ``portion``, into a folder, which is made if need be."""
    folder.mkdir(parents=True, exist_ok=True)
    _write(folder / _NAME.format(trial=record.trial + portion), record)


def kept(trial: str, folder: Path, portion: str = "") -> Record | None:
    """Return the record of a trial or of a ``portion`` that a folder has; None if it has none."""
    file = folder / _NAME.format(trial=trial + portion)
    return msgspec.json.decode(file.read_bytes(), type=Record) if file.exists() else None


def all_recorded(file: Path = RECORDS) -> list[Record]:
    """Return the last record of each trial, in the order of the trials."""
    return msgspec.json.decode(file.read_bytes(), type=list[Record]) if file.exists() else []


def record_all(records: Iterable[Record], file: Path = RECORDS) -> list[Record]:
    """Put records in the place of the former ones of their trials; return all."""
    last = {each.trial: each for each in (*all_recorded(file), *records)}
    found = [last[trial] for trial in TRIALS if trial in last]
    _write(file, found)
    return found


def _write(file: Path, content: object) -> None:
    """Write a file whole or not at all."""
    part = file.with_suffix(".part")
    part.write_bytes(msgspec.json.format(msgspec.json.encode(content)) + b"\n")
    part.replace(file)


def _commit() -> str:
    """Return the commit of this checkout, "unknown" where there is none or no git."""
    command = ["git", "describe", "--always", "--dirty=+"]
    if shutil.which("git") is None:
        return "unknown"
    done = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"
