"""A file of pairs as columns: ``[time,sensor,quantity,]value,(sigma|lower,upper[,alpha]),...``.

CSV, JSON lines or Parquet, each with a row a pair; ``reference_id`` names whose reference it is.
Rules of this file: a row passes the same gate as a message to the daemon (``decode.checks``), so
that a score of the file is a score the daemon could have given; whole columns are checked at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from monitor.core.model import NAN, Bool, Float, Int
from monitor.decode.checks import U_MIN, Rejected, check_name
from monitor.files.cells import CRPS, Claims, table_rows
from monitor.files.input_file import (
    FileError,
    Mistakes,
    Row,
    all_numbers,
    all_seconds,
    file_label,
    header,
    listing,
    number,
    seconds,
)

_CHUNK_ROWS: Final = 5_000  # larger ones cost more in garbage collection than they save
_NUMBERS: Final = (
    *("value", "sigma", "lower", "upper", "alpha", "reference", "reference_sigma"),
    CRPS,
)
_TEXTS: Final = ("time", "sensor", "quantity", "unit", "reference_id")
_ID_MAX: Final = 2**64 - 1


class PairTable(NamedTuple):
    """The pairs of a file, in its order; arrays have one number a row.

    ``names`` and ``units`` are by series ((sensor, quantity) and unit, empty if none); ``series``
    indexes them. ``time`` is s UTC, or the row's number where the file has none (``timed``). ``u``,
    ``lower``, ``upper`` and ``p`` (1 - alpha) are NaN where not stated; ``u_ref`` is 0 there, and
    so is ``reference_id``, which is the same for pairs with the same reference. ``crps`` is that of
    quantiles or members, NaN where none are stated.
    ``notes`` says what in the file is not used.
    """

    names: tuple[tuple[str, str], ...]
    units: tuple[str, ...]
    series: Int
    time: Float
    value: Float
    u: Float
    lower: Float
    upper: Float
    p: Float
    reference: Float
    u_ref: Float
    reference_id: npt.NDArray[np.uint64]
    crps: Float
    notes: tuple[str, ...]
    timed: bool


def read_pairs(path: str | Path) -> PairTable:
    """Return the pairs of a file; raises FileError with the first mistakes."""
    path = Path(path)
    mistakes = Mistakes(path)
    with table_rows(path) as table:
        names = header(path, table)
        claims = Claims(path, names)
        _check_columns(path, names, stated=bool(claims))
        gathered = _Gathered(path, names, mistakes, claims)
        while chunk := list(islice(table, _CHUNK_ROWS)):
            gathered.add(chunk)
            if mistakes.enough:
                break
    mistakes.refuse()
    if not gathered.rows:
        raise FileError(f"{path}: has a header but no rows")
    return gathered.table()


def _check_columns(path: Path, names: list[str], *, stated: bool) -> None:
    missing = [name for name in ("value", "reference") if name not in names]
    if missing:
        raise FileError(
            f"{path}:1:{missing[0]}: this column is missing; there are {listing(names)}"
        )
    if ("lower" in names) != ("upper" in names):
        raise FileError(f"{path}:1: lower and upper must be there together")
    if "sigma" not in names and "lower" not in names and not stated:
        raise FileError(
            f"{path}:1: no uncertainty is stated: add a column sigma, or lower and upper "
            f"(and alpha); there are {listing(names)}"
        )


class _Gathered:
    """The columns of a file while it is read, chunk after chunk."""

    def __init__(self, path: Path, names: list[str], mistakes: Mistakes, claims: Claims) -> None:
        self._claims: Final = claims
        self._names: Final = names
        self._path: Final = path
        self._mistakes: Final = mistakes
        self._columns: dict[str, list[Float]] = {name: [] for name in ("time", *_NUMBERS)}
        self._series: list[Int] = []
        self._ids: list[npt.NDArray[np.uint64]] = []
        self._known: dict[tuple[str, str], int] = {}
        self._units: dict[int, str] = {}
        self.rows = 0

    def add(self, chunk: list[Row]) -> None:
        """Check and keep some rows."""
        chunk = self._whole(chunk)
        if not chunk:
            return
        lines = [line for line, _ in chunk]
        cells = dict(zip(self._names, zip(*(row for _, row in chunk), strict=True), strict=True))
        found = {name: self._numbers(name, cells.get(name), lines) for name in _NUMBERS}
        self._claims.fill(
            found,
            cells,
            lambda name: self._numbers(name, cells[name], lines),
            lines,
            self._mistakes,
        )
        self._check(cells, found, lines)
        self._columns["time"].append(self._times(cells.get("time"), lines))
        for name in _NUMBERS:
            self._columns[name].append(found[name])
        self._series.append(self._index(cells, lines))
        self._ids.append(self._references(cells.get("reference_id"), lines))
        self.rows += len(chunk)

    def table(self) -> PairTable:
        """Return all that was kept."""
        column = {name: np.concatenate(parts) for name, parts in self._columns.items()}
        unused = [
            name for name in self._names if name not in (*_TEXTS, *_NUMBERS, *self._claims.columns)
        ]
        note = f"{self._path}: columns not used: {listing(unused)}"
        return PairTable(
            names=tuple(self._known),
            units=tuple(self._units.get(at, "") for at in range(len(self._known))),
            series=np.concatenate(self._series),
            time=column["time"],
            value=column["value"],
            u=column["sigma"],
            lower=column["lower"],
            upper=column["upper"],
            p=1.0 - column["alpha"],
            reference=column["reference"],
            u_ref=np.nan_to_num(column["reference_sigma"]),
            reference_id=np.concatenate(self._ids),
            crps=column[CRPS],
            notes=(note,) if unused else (),
            timed="time" in self._names,
        )

    def _whole(self, chunk: list[Row]) -> list[Row]:
        width = len(self._names)
        if all(len(cells) == width for _, cells in chunk):
            return chunk
        for line, cells in chunk:
            if len(cells) != width:
                self._mistakes.add(
                    line, "", f"has {len(cells)} cells, the header has {width}; make them equal"
                )
        return [row for row in chunk if len(row[1]) == width]

    def _numbers(self, name: str, cells: Sequence[str] | None, lines: list[int]) -> Float:
        if cells is None:
            return np.full(len(lines), NAN)
        try:
            return all_numbers(cells)
        except ValueError:
            return self._one_by_one(name, cells, lines, lambda text: number(text) if text else NAN)

    def _times(self, cells: Sequence[str] | None, lines: list[int]) -> Float:
        if cells is None:
            return np.arange(self.rows, self.rows + len(lines), dtype=np.float64)
        try:
            return np.array(all_seconds(cells))
        except ValueError:
            return self._one_by_one("time", cells, lines, seconds)

    def _references(self, cells: Sequence[str] | None, lines: list[int]) -> npt.NDArray[np.uint64]:
        found = np.zeros(len(lines), dtype=np.uint64)
        for at, text in enumerate(cells or ()):
            if text.isdecimal() and int(text) <= _ID_MAX:
                found[at] = int(text)
            elif text:
                self._mistakes.add(
                    lines[at], "reference_id", f"{text[:40]!r} is no whole number below 2^64"
                )
        return found

    def _one_by_one(
        self, name: str, cells: Sequence[str], lines: list[int], read: Callable[[str], float]
    ) -> Float:
        found = np.full(len(cells), NAN)
        for at, text in enumerate(cells):
            try:
                found[at] = read(text)
            except ValueError as error:
                self._mistakes.add(lines[at], name, str(error))
        return found

    def _check(
        self, cells: dict[str, tuple[str, ...]], found: dict[str, Float], lines: list[int]
    ) -> None:
        none = np.zeros(len(lines), dtype=bool)
        stated = {
            name: np.fromiter(map(bool, cells[name]), bool, len(lines)) if name in cells else none
            for name in _NUMBERS
        }
        for name in ("sigma", "lower", "upper"):
            stated[name] = stated[name] | ~np.isnan(found[name])
        for at, name, what in (*_absences(stated), *_faults(found)):
            for row in np.flatnonzero(at):
                self._mistakes.add(lines[row], name, what)

    def _index(self, cells: dict[str, tuple[str, ...]], lines: list[int]) -> Int:
        count = len(lines)
        sensors = cells.get("sensor") or (file_label(self._path),) * count
        quantities = cells.get("quantity") or ("value",) * count
        known = self._known
        new = len(known)
        found = [
            known.setdefault(name, len(known)) for name in zip(sensors, quantities, strict=True)
        ]
        for name in islice(known, new, None):
            self._check_name(name, lines[found.index(known[name])])
        for series, unit in dict.fromkeys(zip(found, cells.get("unit", ()), strict=False)):
            if self._units.setdefault(series, unit) != unit:
                line = lines[list(zip(found, cells["unit"], strict=True)).index((series, unit))]
                was = self._units[series]
                self._mistakes.add(line, "unit", f"is {unit!r}, was {was!r}; convert one of them")
        return np.array(found, dtype=np.int64)

    def _check_name(self, name: tuple[str, str], line: int) -> None:
        for column, text in zip(("sensor", "quantity"), name, strict=True):
            try:
                check_name(column, text)
            except Rejected as error:
                self._mistakes.add(line, column, error.detail)


def _absences(stated: dict[str, Bool]) -> list[tuple[Bool, str, str]]:
    """Return (rows, column, sentence) for what rows must state and do not."""
    interval = stated["lower"] | stated["upper"]
    return [
        (~stated["value"], "value", "a value is needed in every row"),
        (~stated["reference"], "reference", "a reference is needed in every row"),
        (stated["lower"] != stated["upper"], "lower", "lower and upper must be stated together"),
        (~(stated["sigma"] | interval), "sigma", "state sigma or an interval in every row"),
    ]


def _faults(found: dict[str, Float]) -> list[tuple[Bool, str, str]]:
    """Return (rows, column, sentence) for what rows state and may not; NaN breaks no rule."""
    lower, upper, sigma = found["lower"], found["upper"], found["sigma"]
    u_ref, alpha = found["reference_sigma"], found["alpha"]
    return [
        (sigma < U_MIN, "sigma", f"must be at least {U_MIN:g}; leave it empty if not stated"),
        (lower > upper, "lower", "is above upper; write them the other way round"),
        ((upper >= lower) & (upper - lower < U_MIN), "lower", "the interval has no width"),
        ((alpha <= 0.0) | (alpha >= 1.0), "alpha", "must lie between 0 and 1, such as 0.1"),
        ((u_ref < U_MIN) & (u_ref != 0.0), "reference_sigma", f"must be 0 or at least {U_MIN:g}"),
    ]
