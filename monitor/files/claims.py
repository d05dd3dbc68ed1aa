"""Distributions in a file of pairs: quantiles (``q0.05``, ``q0.5`` ...) or ``members``, a row each.

Rules of this file: as a mapping does it, the outermost quantiles are the interval and the standard
deviation of the members is sigma, where the row states none itself; the CRPS is that of all.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

import numpy as np

from monitor.core.model import Float
from monitor.core.scores.ensembles import crps_ensemble, crps_quantiles
from monitor.files.opening import FileError, Mistakes, number

MEMBERS: Final = "members"
CRPS: Final = "crps_stated"
_QUANTILE: Final = re.compile(r"q(0?\.\d+)")
_BETWEEN: Final = re.compile(r"[ ;]+")

Numbers = dict[str, Float]


class Claims:
    """What columns of a file state distributions; raises FileError where quantiles make none."""

    def __init__(self, path: Path, names: Sequence[str]) -> None:
        found = ((_QUANTILE.fullmatch(name), name) for name in names)
        levels = sorted((float(match[1]), name) for match, name in found if match)
        self.quantiles: Final = tuple(name for _, name in levels)
        self._levels: Final = np.array([level for level, _ in levels])
        self._has_members: Final = MEMBERS in names
        if levels and not levels[0][0] < 0.5 < levels[-1][0]:
            raise FileError(f"{path}:1:{levels[0][1]}: needs one level below 0.5 and one above")
        if np.any(np.diff(self._levels) == 0.0):
            raise FileError(f"{path}:1:{levels[0][1]}: a level stands twice; keep one")

    def __bool__(self) -> bool:
        return bool(self.quantiles) or self._has_members

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the names of the columns it reads."""
        return (*self.quantiles, *([MEMBERS] if self._has_members else []))

    def fill(
        self,
        found: Numbers,
        cells: Mapping[str, Sequence[str]],
        read: Callable[[str], Float],
        lines: Sequence[int],
        mistakes: Mistakes,
    ) -> None:
        """Fill in what rows leave out of sigma, interval and CRPS; ``read`` gives a column."""
        if self.quantiles:
            self._of_quantiles(found, np.stack([read(name) for name in self.quantiles]).T, lines,
                               mistakes)  # fmt: skip
        if self._has_members:
            self._of_members(found, cells[MEMBERS], lines, mistakes)

    def _of_quantiles(
        self, found: Numbers, table: Float, lines: Sequence[int], mistakes: Mistakes
    ) -> None:
        there = ~np.isnan(table)
        whole = there.all(axis=1)
        crossing = whole & (np.diff(table) < 0.0).any(axis=1)
        for row in np.flatnonzero(there.any(axis=1) & ~whole).tolist():
            mistakes.add(lines[row], self.quantiles[0], "state all quantiles of the row or none")
        for row in np.flatnonzero(crossing).tolist():
            mistakes.add(lines[row], self.quantiles[0], "the quantiles do not ascend")
        whole &= ~crossing
        found[CRPS][whole] = crps_quantiles(table[whole], self._levels, found["reference"][whole])
        bare = whole & np.isnan(found["lower"]) & np.isnan(found["upper"])
        found["lower"][bare], found["upper"][bare] = table[bare, 0], table[bare, -1]
        found["alpha"][bare] = 1.0 - round(float(self._levels[-1] - self._levels[0]), 12)

    def _of_members(
        self, found: Numbers, texts: Sequence[str], lines: Sequence[int], mistakes: Mistakes
    ) -> None:
        for row, text in enumerate(texts):
            if not text.strip():
                continue
            try:
                members = np.array([number(each) for each in _BETWEEN.split(text.strip())])
            except ValueError as error:
                mistakes.add(lines[row], MEMBERS, str(error))
                continue
            if members.size < 2:
                mistakes.add(lines[row], MEMBERS, "must be two or more numbers with blanks between")
                continue
            reference = np.array(found["reference"][row])
            found[CRPS][row] = float(crps_ensemble(members, reference))
            if np.isnan(found["sigma"][row]):
                found["sigma"][row] = float(members.std(ddof=1))
