"""Recorded data from a folder, by the names of its files; a missing file is a sentence."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np

from monitor.core.columns import Columns, columns
from monitor.core.model import Float
from monitor.errors import BAD_INPUT, USAGE, MonitorError
from monitor.files import read_pairs

LEVEL: Final = 0.9  # of intervals if their file does not state it


class DataFolderError(MonitorError):
    """The path is not a folder."""

    exit_code = USAGE


class FactsError(MonitorError):
    """A file of printed or computed figures has other columns, or cells that are not numbers."""

    exit_code = BAD_INPUT


class DataFolder:
    """A folder of recorded data, or none; it remembers which requested files are missing."""

    def __init__(self, path: Path | None) -> None:
        if path is not None and not path.is_dir():
            reason = "is not a folder" if path.exists() else "is not there"
            raise DataFolderError(f"--data {path}: {reason}; name the folder that holds the files")
        self._path: Final = path
        self._missing: list[tuple[str, str]] = []
        self._unusable: list[str] = []

    def pairs(self, name: str, shows: str) -> Columns | None:
        """Return the pairs of a file as one series, with intervals at 90 % if it states none.

        None if the file is missing; ``shows`` says what is then left out. Raises FileError.
        """
        path = self._found(name, shows)
        if path is None:
            return None
        table = read_pairs(path)
        return columns(
            np.zeros(1, dtype=np.int64),
            time=table.time,
            value=table.value,
            reference=table.reference,
            u=table.u,
            lower=table.lower,
            upper=table.upper,
            p=table.p,
            u_ref=table.u_ref,
            level=LEVEL,
        )

    def facts(self, name: str, wanted: Sequence[str], shows: str) -> dict[str, Float] | None:
        """Return numeric columns of a CSV file; None if it is missing."""
        path = self._found(name, shows)
        if path is None:
            return None
        try:
            with path.open(encoding="utf-8-sig", newline="") as text:
                rows = list(csv.DictReader(text))
            return {each: np.array([float(row[each]) for row in rows]) for each in wanted}
        except KeyError as error:
            raise FactsError(
                f"{path}: no column {error}; wanted are {', '.join(wanted)}"
            ) from error
        except (OSError, TypeError, ValueError) as error:
            raise FactsError(f"{path}: cannot be read as columns of numbers: {error}") from error

    def unusable(self, reason: str) -> None:
        """Remember a sentence on data that exist but cannot be used."""
        self._unusable.append(reason)

    def left_out(self) -> tuple[str, ...]:
        """Return sentences on what is left out, and which file is missing for it."""
        return (*self._said_missing(), *self._unusable)

    def _said_missing(self) -> tuple[str, ...]:
        if not self._missing:
            return ()
        if self._path is None:
            names = ", ".join(name for name, _ in self._missing)
            shown = "; ".join(shows for _, shows in self._missing)
            sentence = "These are generated data alone. With --data FOLDER stand beside them: "
            return (f"{sentence}{shown} (files {names}).",)
        return tuple(
            f"{name} is not in {self._path}: left out is {shows}." for name, shows in self._missing
        )

    def _found(self, name: str, shows: str) -> Path | None:
        """Return the path of a file, compressed or not."""
        if self._path is not None:
            for each in (name, f"{name}.gz"):
                if (self._path / each).exists():
                    return self._path / each
        self._missing.append((name, shows))
        return None
