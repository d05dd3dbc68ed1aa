"""Distributions that rows state: quantiles or members of an ensemble, in one column or several.

Rules of this file: as in a mapping, the outermost quantiles are the interval and sigma is that of
one more member, the quantile 0.5 or the mean of the members is the value, unless the row states
them itself; the CRPS is that of the whole distribution. Columns that are given count alone; else
those whose names say what they are: ``q0.05``, ``0.05``, ``y_lower_90`` with ``y_upper_90``,
``members``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

import numpy as np

from monitor.core.model import Float, Int
from monitor.core.scores.ensembles import crps_ensemble, crps_quantiles, mean_and_u
from monitor.decode.checks import NOT_CENTRAL, U_MIN, central
from monitor.files.cells import as_texts
from monitor.files.input_file import FileError, Mistakes, listing
from monitor.files.layout import FileLayout
from monitor.files.pair_fields import MEMBERS, QUANTILES, known_column, level_in, matching

CRPS: Final = "crps_stated"
MEDIAN: Final = 0.5
_END: Final = re.compile(
    r"(.*[_.-])?(lower|lo|upper|hi)(?:[_.-](\d\d?(?:\.\d+)?)|([5-9]\d(?:\.\d+)?))%?"
)
_BETWEEN: Final = re.compile(r"[ ;]+")

Numbers = dict[str, Float]


def of_distributions(names: Iterable[str]) -> list[str]:
    """Return the names of columns that state distributions."""
    names = [*names]
    return [*(name for _, name in _usual_levels(names)), *(n for n in names if n == MEMBERS)]


def _usual_levels(names: Sequence[str]) -> list[tuple[float, str]]:
    """Return the columns of quantiles by their names: (level, column)."""
    levels = [(level_in(name), name) for name in names]
    levels += [(_level_of_end(name), name) for name in names]
    return sorted(each for each in levels if each[0])


def _level_of_end(name: str) -> float:
    """Return the level of ``y_lower_90``, the lower end of an interval of 90 %; 0 for others."""
    match = _END.fullmatch(name)
    if not match:
        return 0.0
    half = (100.0 - float(match[3] or match[4])) / 200.0
    return round(half if match[2] in ("lower", "lo") else 1.0 - half, 12)


def level_between(lower: str, upper: str) -> float:
    """Return the probability that an interval's ends have in their names, such as lo95; else 0."""
    low, high = (level_in(name) or _level_of_end(name) for name in (lower, upper))
    return round(high - low, 12) if 0.0 < low < MEDIAN < high else 0.0


def _given_levels(
    path: Path, names: Sequence[str], given: Mapping[str, str]
) -> list[tuple[float, str]]:
    levels = [
        (level_in(field), known_column(path, names, name))
        for field, name in given.items()
        if level_in(field)
    ]
    for name, star in matching(given.get(QUANTILES, ""), names):
        try:
            level = float(star)
        except ValueError as error:
            fault = (
                f"the * of {QUANTILES}={given[QUANTILES]} stands for {star!r}, which is no level"
            )
            raise FileError(f"{path}:1:{name}: {fault} such as 0.05 or 5") from error
        levels.append((level / 100.0 if level >= 1.0 else level, name))
    if QUANTILES in given and not levels:
        raise FileError(
            f"{path}:1: no column is one of {given[QUANTILES]}; there are {listing(names)}"
        )
    return sorted(levels)


class Claims:
    """Which columns of a file state distributions; raises FileError for invalid quantiles."""

    def __init__(
        self, path: Path, names: Sequence[str], given: Mapping[str, str], layout: FileLayout
    ) -> None:
        self._number: Final = layout.number
        levels = _given_levels(path, names, given)
        if not levels:
            levels = _usual_levels([name for name in names if name not in given.values()])
        self.quantiles: Final = tuple(name for _, name in levels)
        self._is_interval: Final = bool(levels) and all(_level_of_end(name) for _, name in levels)
        self._levels: Final = np.array([level for level, _ in levels])
        pattern = given.get(MEMBERS, MEMBERS)
        self.members: Final = tuple(name for name, _ in matching(pattern, names))
        if MEMBERS in given and not self.members:
            raise FileError(f"{path}:1: no column is one of {pattern}; there are {listing(names)}")
        twice = np.flatnonzero(np.diff(self._levels) == 0.0)
        if twice.size:
            fault = "a level appears twice; keep one, or say --columns 0.05=COLUMN,0.95=COLUMN"
            raise FileError(f"{path}:1:{levels[twice[0]][1]}: {fault}")
        ends = central(self._levels.tolist())
        if levels and ends is None:
            raise FileError(f"{path}:1:{levels[0][1]}: {NOT_CENTRAL}")
        self._ends: Final = ends or (0, 0)  # of the interval, where there are quantiles

    def __bool__(self) -> bool:
        return bool(self.quantiles or self.members)

    @property
    def have_value(self) -> bool:
        """Whether they give the value of a row that states none."""
        return bool(self.members) or MEDIAN in self._levels or self._is_interval

    def column_of(self, field: str) -> str:
        """Return the column that gives a field which no column of its own states."""
        if not self.quantiles or (field == "u" and self.members):
            return self.members[0] if self.members else field
        return self.quantiles[self._ends[field == "upper"]]

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the names of the columns it reads."""
        return (*self.quantiles, *self.members)

    def fill(
        self,
        into: Numbers,
        cells: Mapping[str, Sequence[str] | Float],
        read: Callable[[str], Float],
        lines: Sequence[int],
        mistakes: Mistakes,
    ) -> None:
        """Fill in value, sigma, interval and CRPS where rows omit them.

        ``read`` returns a column. The columns in ``into`` are written to.
        """
        if self.quantiles:
            self._of_quantiles(into, np.stack([read(name) for name in self.quantiles]).T, lines,
                               mistakes)  # fmt: skip
        if len(self.members) == 1:
            self._of_texts(into, as_texts(cells[self.members[0]]), lines, mistakes)
        elif self.members:
            table = np.stack([read(name) for name in self.members]).T
            there = ~np.isnan(table)
            for row in np.flatnonzero(there.any(axis=1) & ~there.all(axis=1)).tolist():
                name = self.members[int(np.argmin(there[row]))]
                mistakes.add(lines[row], name, "state all members of the row or none")
            whole = np.flatnonzero(there.all(axis=1))
            self._of_members(into, whole, table[whole], lines, mistakes)

    def _of_quantiles(
        self, into: Numbers, table: Float, lines: Sequence[int], mistakes: Mistakes
    ) -> None:
        there = ~np.isnan(table)
        whole = there.all(axis=1)
        crossing = whole & (np.diff(table) < 0.0).any(axis=1)
        for row in np.flatnonzero(there.any(axis=1) & ~whole).tolist():
            mistakes.add(lines[row], self.quantiles[0], "state all quantiles of the row or none")
        for row in np.flatnonzero(crossing).tolist():
            mistakes.add(lines[row], self.quantiles[0], "the quantiles do not ascend")
        whole &= ~crossing
        into[CRPS][whole] = crps_quantiles(table[whole], self._levels, into["reference"][whole])
        bare = whole & np.isnan(into["value"])
        if MEDIAN in self._levels:
            median = int(np.searchsorted(self._levels, MEDIAN))
            into["value"][bare] = table[bare, median]
        low, high = self._ends
        if self._is_interval:
            bare = whole & np.isnan(into["value"])
            into["value"][bare] = (table[bare, low] + table[bare, high]) / 2.0
        bare = whole & np.isnan(into["lower"]) & np.isnan(into["upper"])
        into["lower"][bare], into["upper"][bare] = table[bare, low], table[bare, high]
        into["p"][bare] = round(float(self._levels[high] - self._levels[low]), 12)

    def _of_texts(
        self, into: Numbers, texts: Sequence[str], lines: Sequence[int], mistakes: Mistakes
    ) -> None:
        for row, text in enumerate(texts):
            if not text.strip():
                continue
            try:
                members = [self._number(each) for each in _BETWEEN.split(text.strip())]
            except ValueError as error:
                mistakes.add(lines[row], self.members[0], str(error))
                continue
            if len(members) < 2:
                fault = "must be two or more numbers separated by blanks"
                mistakes.add(lines[row], self.members[0], fault)
                continue
            self._of_members(into, np.array([row]), np.array([members]), lines, mistakes)

    def _of_members(
        self, into: Numbers, rows: Int, table: Float, lines: Sequence[int], mistakes: Mistakes
    ) -> None:
        """Fill in what the members of some rows give; ``table`` has a row for each of them."""
        into[CRPS][rows] = crps_ensemble(table, into["reference"][rows])
        for row, members in zip(rows.tolist(), table.tolist(), strict=True):
            mean, u = mean_and_u(members)
            if np.isnan(into["value"][row]):
                into["value"][row] = mean
            if np.isnan(into["u"][row]) and u < U_MIN:
                fault = "the members are all the same, which is no uncertainty; state u beside them"
                mistakes.add(lines[row], self.members[0], fault)
            elif np.isnan(into["u"][row]):
                into["u"][row] = u
