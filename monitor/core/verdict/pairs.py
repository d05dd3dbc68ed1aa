"""The pairs of one series as a verdict looks at them.

Rules of this file: event order; every number finite; the error's standard uncertainty is never
smaller than what double precision can tell of the value and the reference.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from monitor.core.columns import Columns
from monitor.core.model import Float
from monitor.core.verdict.neighbours import median

_RESOLUTION: Final = 2.0**-51
# An error is never more than 1e9 of its uncertainties, and none of them 1e9 times as certain as
# most: larger ratios would spoil sums of squares.
_LEAST_SHARE: Final = 1e-9
_LEAST: Final = 1e-150
_MOVING: Final = 0.2  # share of pairs whose time is another than that of the pair before


@dataclass(frozen=True, eq=False)
class Pairs:
    """Pairs of one series in event order: time in s UTC, the rest in the series' unit.

    ``timed``: the times are real ones. A file without times has numbers instead, and nothing that
    is said of it holds a date or a rate a day.
    """

    time: Float
    value: Float
    u: Float
    reference: Float
    u_ref: Float
    timed: bool = True

    @classmethod
    def of(cls, one: Columns, *, timed: bool = True) -> Pairs:
        """Return the pairs of the only series of ``one``."""
        return cls(one.time, one.value, one.u, one.reference, one.u_ref, timed)

    @property
    def n(self) -> int:
        """How many pairs."""
        return self.value.size

    @cached_property
    def error(self) -> Float:
        """Value - reference."""
        return self.value - self.reference

    @cached_property
    def s(self) -> Float:
        """Standard uncertainty of the error, as stated, and at least what a double resolves."""
        stated, blur = self._parts
        least = _LEAST_SHARE * float(np.max(np.abs(self.error), initial=0.0))
        found = np.maximum(np.hypot(stated, blur), max(least, _LEAST))
        return np.maximum(found, _LEAST_SHARE * median(found)) if self.n else found

    @cached_property
    def _parts(self) -> tuple[Float, Float]:
        blur = _RESOLUTION * np.maximum(np.abs(self.value), np.abs(self.reference))
        return np.hypot(self.u, self.u_ref), blur

    @cached_property
    def is_resolved(self) -> bool:
        """Whether doubles as large as the values hold what the stated uncertainties claim."""
        stated, blur = self._parts
        return median(stated) > median(blur)

    @cached_property
    def z(self) -> Float:
        """Error over its standard uncertainty."""
        return self.error / self.s

    @cached_property
    def unit(self) -> float:
        """The typical standard uncertainty of an error, in the series' unit."""
        return median(self.s)

    @cached_property
    def clock(self) -> Float:
        """Time from 0 to 1 along the pairs; their numbers where times do not tell them apart."""
        span = float(self.time[-1] - self.time[0]) if self.n else 0.0
        if self.has_clock:
            return (self.time - self.time[0]) / span
        return np.arange(self.n) / max(self.n - 1, 1)

    @cached_property
    def has_clock(self) -> bool:
        """Whether the times are fit to take a rate by: in order, and not all in a few places."""
        if not self.timed or self.n < 2:
            return False
        steps = np.diff(self.time)
        is_ordered = bool(np.isfinite(steps).all() and (steps >= 0.0).all())
        return is_ordered and float(np.count_nonzero(steps)) > _MOVING * steps.size

    @property
    def span_days(self) -> float:
        """Days that the clock's 0 to 1 is."""
        return float(self.time[-1] - self.time[0]) / 86_400.0

    def rows(self, part: slice) -> Pairs:
        """Return some of the pairs, as certain as they are among all."""
        some = Pairs(
            time=self.time[part],
            value=self.value[part],
            u=self.u[part],
            reference=self.reference[part],
            u_ref=self.u_ref[part],
            timed=self.timed,
        )
        some.__dict__["s"] = self.s[part]
        return some
