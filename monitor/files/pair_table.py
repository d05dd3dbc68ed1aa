"""A file of pairs as columns: ``[time,sensor,quantity,]value,(u|lower,upper[,p|alpha]),...``.

CSV, JSON lines or Parquet, one row per pair; ``reference_id`` names what measured the reference,
``reference_event`` the measurement itself. Rules of this file: a row passes the same checks as a
message to the daemon (``decode.checks``), so that the score of a file is one the daemon could have
given; whole columns are checked at once. A row that lacks a number it needs, or has an
invalid one, is left out and counted by reason; a file without any other row is refused.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np

from monitor.core.model import NAN, Float, Int
from monitor.decode.checks import TIME_END, TIME_MIN, VALUE_MAX, Rejected, check_name
from monitor.decode.paths import says_no_value
from monitor.decode.units import is_same_unit
from monitor.files.arrow_csv import ArrowTexts
from monitor.files.cells import Chunk, Coded, as_texts, encoded_column, table_chunks
from monitor.files.distributions import CRPS, Claims, level_between
from monitor.files.input_file import (
    AmbiguousError,
    FileError,
    Mistakes,
    all_numbers,
    all_seconds,
    file_label,
    is_parquet,
    listing,
    logger_notes,
    refuse_doubled,
    unused_columns,
)
from monitor.files.layout import AS_USUAL, FileLayout, early_times
from monitor.files.pair_checks import (
    left_out,
    most_lacking,
    row_faults,
    rows_lacking,
    value_or_middle,
)
from monitor.files.pair_fields import (
    check_fields,
    columns_option,
    common_unit,
    fields_of,
    known_column,
    overlooked,
    standard_of,
    unit_in,
)
from monitor.files.paired_columns import (
    CATEGORIES_MOST,
    NameNumbers,
    PairTable,
    empty_column,
    joined,
    numbered,
    place_in,
    too_many_categories,
    zero_where_empty,
)
from monitor.files.repeated_hour import RepeatedHours
from monitor.files.shapes import ShapedTable, shaped

_NUMBERS: Final = ("value", "u", "lower", "upper", "p", "alpha", "reference", "u_reference")
_KEPT: Final = ("value", "u", "lower", "upper", "p", "reference", "u_reference", CRPS)
_LIKE_VALUE: Final = ("value", "reference", "u", "lower", "upper")
_NAMED: Final = ("reference_id", "reference_event")

Watch = Callable[[int], object]
Columns = dict[str, Any]  # of Float; of Int only the series
_Rows = tuple[Chunk, Columns]


def unwatched(_rows: int) -> None:
    """Show no progress."""


def read_pairs(
    path: str | Path,
    layout: FileLayout = AS_USUAL,
    watch: Watch = unwatched,
    covariates: Sequence[str] = (),
) -> PairTable:
    """Return the pairs of a file; raises FileError with the first mistakes.

    ``layout`` names the columns of some fields (:mod:`monitor.files.pair_fields`), ``covariates``
    other columns to keep, of numbers or of a few texts; ``watch`` is called with the number of rows
    added each time.
    """
    path = Path(path)
    mistakes = Mistakes(path)
    notes = [] if is_parquet(path) else logger_notes(path, layout.opening)
    with table_chunks(path, mistakes, layout) as (names, chunks):
        table = shaped(ShapedTable(path, names, chunks, layout.columns, mistakes, notes), layout)
        gathered = _Gathered(table, layout, covariates)
        for chunk in table.chunks(gathered.used):
            gathered.add(chunk)
            watch(len(chunk.lines))
    return gathered.table()


class _Gathered:
    """The columns of a file while it is read, chunk after chunk."""

    def __init__(self, table: ShapedTable, layout: FileLayout, covariates: Sequence[str]) -> None:
        path, names = table.path, table.names
        self._fields: Final = fields_of(path, names, table.columns)
        self._claims: Final = Claims(path, names, {**table.columns, **self._fields}, layout)
        stated = bool(self._claims) or layout.assume_u is not None
        centred = self._claims.have_value
        written_name = table.mistakes.written_name
        check_fields(path, names, self._fields, written_name, stated=stated, centred=centred)
        self._covariates: Final = [known_column(path, names, each) for each in covariates]
        refuse_doubled(path, names, {*self._fields.values(), *self._claims.columns, CRPS})
        written = {field: written_name(name) for field, name in self._fields.items()}
        self._unit: Final = common_unit(path, written)
        if unit_in(written.get("time", "")).upper() in ("UTC", "GMT", "Z"):
            layout = layout._replace(time_zone=layout.time_zone or "UTC")
        self._layout: Final = layout
        self._seconds = layout.seconds_of()
        self._names: Final = names
        self._path: Final = path
        self._mistakes: Final = table.mistakes
        self._shape_notes: Final = table.notes
        self._columns: dict[str, list[Float]] = {
            name: [] for name in ("time", *_KEPT, *self._covariates)
        }
        self._series: list[Int] = []
        self._named: Final[dict[str, list[NameNumbers]]] = {
            field: [] for field in _NAMED if field in self._fields
        }
        ends = [self._fields.get(field, "") for field in ("lower", "upper")]
        self._level: Final = level_between(*ends)
        self._known: dict[tuple[str, str], int] = {}
        self._units: dict[int, str] = {}
        self._rows = self._lost = self._assumed = 0
        self._has_days = False
        self._hours: Final = RepeatedHours()
        self._shifts: dict[int, float] = {}  # by line, of times that clocks show twice
        self._lines: list[Int] = []
        self._percent: set[str] = set()
        self._places: Final[dict[str, dict[str, int] | None]] = {}  # None: of a column of numbers
        self._lacking = ""

    @property
    def used(self) -> dict[str, str]:
        """The columns that are read, each with its field, or with its own name."""
        others = (*self._claims.columns, CRPS, *self._covariates)
        own = {name: name for name in others if name in self._names}
        return own | {name: field for field, name in self._fields.items()}

    def add(self, chunk: Chunk) -> None:
        """Check and keep some rows."""
        known = self._stated(chunk)
        chunk, known = self._good(chunk, known, self._lacking_rows(known))
        known |= {name: self._covariate(name, chunk) for name in self._covariates}
        known["time"] = self._times(chunk)  # what is left out is not blamed for its time or name
        chunk, known = self._good(chunk, known)
        known["series"] = self._index(chunk)
        chunk, known = self._good(chunk, known)
        count = len(chunk.lines)
        if not count:
            return
        if "time" not in self._fields:
            known["time"] = np.arange(self._rows, self._rows + count, dtype=np.float64)
        for name, parts in self._columns.items():
            parts.append(known[name])
        self._series.append(known["series"])
        self._lines.append(np.array(chunk.lines))
        for field, found_names in self._named.items():
            found_names.append(numbered(self._texts(field, chunk) or ()))
        self._rows += count

    def _good(self, chunk: Chunk, known: Columns, lacking: Sequence[int] = ()) -> _Rows:
        """Return the rows that are not left out: those without a mistake, and not ``lacking``."""
        bad = self._mistakes.rows_of(chunk.lines)
        self._lost += len({*lacking} - {*bad})
        if not bad and not len(lacking):
            return chunk, known
        good = np.delete(np.arange(len(chunk.lines)), [*{*bad, *lacking}])
        return chunk.taken(good), {name: column[good] for name, column in known.items()}

    def _stated(self, chunk: Chunk) -> Columns:
        """Return the numbers of some rows by field, NaN where one states none."""
        known = {name: self._numbers(name, chunk) for name in _NUMBERS}
        rows = len(chunk.lines)
        known[CRPS] = self._column(CRPS, chunk) if CRPS in self._names else empty_column(rows)
        if {"lower", "upper"} <= self._fields.keys():
            known["value"] = value_or_middle(known)
        if "alpha" in self._fields:
            known["p"] = np.where(np.isnan(known["p"]), 1.0 - known["alpha"], known["p"])
        if self._level:
            has_interval = ~np.isnan(known["lower"]) & np.isnan(known["p"])
            known["p"] = np.where(has_interval, self._level, known["p"])
        if self._claims:
            known = {name: np.array(column) for name, column in known.items()}  # arrow's: read only
            self._claims.fill(
                known,
                chunk.cells,
                lambda name: self._column(name, chunk),
                chunk.lines,
                self._mistakes,
            )
        if self._layout.assume_u is not None:
            bare = np.isnan(known["u"]) & (np.isnan(known["lower"]) | np.isnan(known["upper"]))
            self._assumed += int(np.count_nonzero(bare))
            known["u"] = np.where(bare, self._layout.assume_u.of(known["value"]), known["u"])
        for at, field, fault in row_faults(known):
            for row in np.flatnonzero(at).tolist():
                column = self._fields.get(field) or self._claims.column_of(field)
                self._mistakes.add(chunk.lines[row], column, fault)
        return known

    def _lacking_rows(self, known: Mapping[str, Float]) -> Sequence[int]:
        """Return which rows lack a number that a pair needs."""
        known = {**known, "reference": known["value"]} if self._layout.unpaired else known
        lacking = rows_lacking(known)
        if not lacking.any():
            return ()
        self._lacking = most_lacking(known)
        return np.flatnonzero(lacking).tolist()

    def table(self) -> PairTable:
        """Return all that was kept; raises FileError if there is nothing."""
        if not self._rows:
            self._mistakes.refuse()
            raise FileError(f"{self._path}: {self._nothing()}")
        self._refuse_some_percent()
        column = {name: joined(parts) for name, parts in self._columns.items()}
        series = np.concatenate(self._series)
        column["time"] = self._placed(column["time"], series)
        return PairTable(
            names=tuple(self._known),
            units=tuple(self._units.get(at, "") for at in range(len(self._known))),
            series=series,
            time=column["time"],
            value=column["value"],
            u=column["u"],
            lower=column["lower"],
            upper=column["upper"],
            p=column["p"],
            reference=column["reference"],
            u_ref=zero_where_empty(column["u_reference"]),
            reference_id=self._numbers_named("reference_id"),
            reference_event=self._numbers_named("reference_event"),
            crps=column[CRPS],
            notes=tuple(self._notes()),
            timed="time" in self._fields,
            covariates={name: column[name] for name in self._covariates},
            categories={name: tuple(places) for name, places in self._places.items() if places},
        )

    def _nothing(self) -> str:
        if not self._lost:
            return "has a header but no rows; write a row for each pair of reading and reference"
        return (
            f"none of its {self._lost} rows has all of the numbers a pair needs; most lack "
            f"{self._lacking}: fill it in, or say which column has it with --columns"
        )

    def _notes_on_cells(self) -> Iterator[str]:
        yield from self._shape_notes
        if self._percent:
            yield f"{self._path}: per cent signs are left out: 45 % is 45"
        if self._has_days:
            yield f"{self._path}: times are the days of a spreadsheet, in {self._layout.time_zone}"
        yield from (f"{self._path}: {note}" for note in self._hours.notes(self._layout.time_zone))
        if self._assumed:
            yield f"{self._path}: u is assumed, not stated, in {self._assumed} rows (--assume-u)"

    def _notes(self) -> Iterator[str]:
        yield from self._notes_on_cells()
        if "lower" in self._fields and self._fields.keys().isdisjoint(("u", "p", "alpha")):
            names = f"{self._fields['lower']} and {self._fields['upper']}"
            yield f"{self._path}: " + (
                f"the names of {names} say that their interval holds {100.0 * self._level:g} %"
                if self._level
                else f"no column states the probability of {names}: that of --alpha counts"
            )
        unused = unused_columns(self._names, self.used)
        if unused:
            yield f"{self._path}: columns not used: {listing(unused)}"
        for field, name in overlooked([*map(self._mistakes.written_name, unused)], self._fields):
            how = columns_option(field, standard_of(name))
            yield f"{self._path}: no column {field}; if {name} holds it: {how}"
        if "time" in self._fields:
            latest = max(float(part.max()) for part in self._columns["time"])
            if early := early_times(latest):
                yield f"{self._path}: {early}"
        total = self._rows + self._lost + len(self._mistakes)
        if self._lost:
            yield f"{self._path}: {left_out(self._lost, total)}"
        yield from self._mistakes.notes(total)

    def _numbers(self, field: str, chunk: Chunk) -> Float:
        if field not in self._fields:
            return empty_column(len(chunk.lines))
        return self._column(self._fields[field], chunk)

    def _column(self, name: str, chunk: Chunk) -> Float:
        """Return a column as numbers, NaN where it states none."""
        cells, lines = chunk.cells[name], chunk.lines
        if isinstance(cells, np.ndarray):
            wrong = np.abs(cells) > VALUE_MAX
            for row in np.flatnonzero(wrong).tolist():
                fault = f"{cells[row]:g} is not finite, or is larger than {VALUE_MAX:g}"
                self._mistakes.add(lines[row], name, fault)
            return cells
        if self._layout.decimal_comma:
            return self._one_by_one(name, cells, lines, partial(self._number, name))
        if isinstance(cells, ArrowTexts) and (numbers := cells.numbers(VALUE_MAX)) is not None:
            return numbers
        try:
            return all_numbers(cells)
        except ValueError:
            return self._one_by_one(name, cells, lines, partial(self._number, name))

    def _covariate(self, name: str, chunk: Chunk) -> Float:
        """Return a covariate's numbers, or the places of its texts if its first is no number."""
        cells = chunk.cells[name]
        if isinstance(cells, np.ndarray):
            return cells if self._places.get(name) else self._column(name, chunk)
        if name not in self._places:
            first = next((text for text in cells if not says_no_value(text)), "")
            if first:
                self._places[name] = None if self._is_number(first) else {}
        places = self._places.get(name)
        if places is None:
            return self._column(name, chunk)
        texts = [text.strip() for text in cells]
        numbers = [NAN if says_no_value(text) else place_in(places, text) for text in texts]
        if len(places) > CATEGORIES_MOST:
            raise FileError(f"{self._path}:1:{name}: {too_many_categories()}")
        return np.array(numbers)

    def _is_number(self, text: str) -> bool:
        try:
            self._layout.number(text.strip().removesuffix("%"))
        except AmbiguousError:
            return True
        except ValueError:
            return False
        return True

    def _number(self, name: str, text: str) -> float:
        if says_no_value(text):
            return NAN
        if text.rstrip().endswith("%"):
            self._percent.add(name)
            text = text.rstrip()[:-1]
        return self._layout.number(text)

    def _refuse_some_percent(self) -> None:
        """Raise FileError where a number has a per cent sign and what it belongs to has none."""
        named = [self._fields[field] for field in _LIKE_VALUE if field in self._fields]
        bare = [name for name in named if name not in self._percent]
        if bare and len(bare) < len(named):
            signed = next(name for name in named if name in self._percent)
            raise FileError(
                f"{self._path}:1:{signed}: is in % and {bare[0]} is not; write both alike (for a "
                "u in % of the value, delete its column and give --assume-u 5%)"
            )

    def _times(self, chunk: Chunk) -> Float:
        name = self._fields.get("time")
        if name is None:
            return empty_column(len(chunk.lines))
        cells = chunk.cells[name]
        if not self._rows:
            self._has_days = self._layout.has_days(next(iter(as_texts(cells[:1])), ""))
            self._seconds = self._layout.seconds_of(days=self._has_days)
        if self._has_days or not (self._layout.usual_times or isinstance(cells, np.ndarray)):
            return self._local_times(name, as_texts(cells), chunk.lines)
        return self._utc_times(name, cells, chunk)

    def _utc_times(self, name: str, cells: Sequence[str] | Float, chunk: Chunk) -> Float:
        if isinstance(cells, np.ndarray):
            for row in np.flatnonzero(np.isnan(cells)).tolist():
                self._mistakes.add(chunk.lines[row], name, "a time is missing")
            for row in np.flatnonzero((cells < TIME_MIN) | (cells >= TIME_END)).tolist():
                fault = f"is {cells[row]:g} s from 1970, and its year in UTC is not 1 to 9999"
                self._mistakes.add(chunk.lines[row], name, fault)
            return cells
        if isinstance(cells, ArrowTexts) and (times := cells.seconds()) is not None:
            return times
        try:
            return np.array(all_seconds(cells))
        except ValueError:
            return self._one_by_one(name, cells, chunk.lines, self._seconds)

    def _local_times(self, name: str, cells: Sequence[str], lines: Sequence[int]) -> Float:
        times = self._one_by_one(name, cells, lines, self._seconds)
        if self._layout.time_zone:
            rows = [row for row, time in enumerate(times.tolist()) if not math.isnan(time)]
            shifts = [(row, self._layout.shift(cells[row], times[row])) for row in rows]
            self._shifts |= {lines[row]: shift for row, shift in shifts if shift}
        return times

    def _placed(self, times: Float, series: Int) -> Float:
        """Return times of rows by the order of which the occurrence of their hour is known."""
        if not self._shifts:
            return times
        lines = np.concatenate(self._lines).tolist()
        rows = zip(series.tolist(), times.tolist(), lines, strict=True)
        placed = [
            self._hours.placed(at, time, self._shifts.get(line, 0.0)) for at, time, line in rows
        ]
        return np.array(placed)

    def _numbers_named(self, field: str) -> NameNumbers:
        parts = self._named.get(field)
        return np.concatenate(parts) if parts else np.zeros(self._rows, np.uint64)

    def _texts(self, field: str, chunk: Chunk) -> Sequence[str] | None:
        name = self._fields.get(field)
        if name is None:
            return None
        return as_texts(chunk.cells[name])

    def _one_by_one(
        self, name: str, cells: Sequence[str], lines: Sequence[int], read: Callable[[str], float]
    ) -> Float:
        numbers = np.full(len(cells), NAN)
        for at, text in enumerate(cells):
            try:
                numbers[at] = read(text)
            except AmbiguousError as error:
                raise FileError(f"{self._path}:{lines[at]}:{name}: {error}") from error
            except ValueError as error:
                self._mistakes.add(lines[at], name, str(error))
        return numbers

    def _index(self, chunk: Chunk) -> Int:
        """Return the series of each row; names and units are checked at their first occurrence."""
        names = (file_label(self._path), "value", self._unit)
        fields = zip(("sensor", "quantity", "unit"), names, strict=True)
        columns = [self._coded(field, chunk, usual) for field, usual in fields]
        shape = [len(column.texts) for column in columns]
        index = np.ravel_multi_index([column.which for column in columns], shape)
        small = index.astype(np.min_scalar_type(math.prod(shape)))  # sorts quicker
        kinds, first, kind_of = np.unique(small, return_index=True, return_inverse=True)
        codes = np.stack(np.unravel_index(kinds.astype(np.int64), shape), axis=-1)
        series = np.zeros(kinds.size, dtype=np.int64)
        for kind in np.argsort(first).tolist():
            sensor, quantity, unit = (
                column.texts[code].strip()
                for column, code in zip(columns, codes[kind], strict=True)
            )
            name = (sensor, quantity)
            at = self._known.get(name, len(self._known))
            column, fault = self._fault_of(name, at, unit)
            if fault:
                for row in np.flatnonzero(kind_of == kind).tolist():
                    self._mistakes.add(chunk.lines[row], column, fault)
                continue
            series[kind] = self._known[name] = at
            if unit:
                self._units.setdefault(at, unit)
        return series[kind_of]

    def _fault_of(self, name: tuple[str, str], at: int, unit: str) -> tuple[str, str]:
        """Return the column and what is wrong with a name and a unit, empty if nothing is."""
        for field, text in zip(("sensor", "quantity"), name, strict=True):
            try:
                check_name(field, text)
            except Rejected as error:
                return self._fields.get(field, field), error.detail
        was = self._units.get(at, unit)
        if unit and not is_same_unit(was, unit):
            return self._fields["unit"], f"is {unit!r}, was {was!r}; convert one of them"
        return "", ""

    def _coded(self, field: str, chunk: Chunk, usual: str) -> Coded:
        texts = self._texts(field, chunk)
        if texts is None:
            return Coded(np.zeros(len(chunk.lines), dtype=np.int64), [usual])
        return encoded_column(texts)
