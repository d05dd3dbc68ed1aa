"""Two sensors of recorded pairs side by side on their common events, or one before and after."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from monitor.core.analysis.comparison import of_parts, of_two
from monitor.core.analysis.ranking import Profile
from monitor.core.analysis.side_by_side import MISS, SEED, Sides, comparison_document
from monitor.core.formatting import instant
from monitor.core.scores.proper_scores import Density
from monitor.decode.units import is_same_unit
from monitor.errors import USAGE, MonitorError
from monitor.report.recorded import Recorded, events_of

VERSION: Final = 1


class CompareError(MonitorError):
    """There is nothing to compare; the message says why."""

    exit_code = USAGE


class Comparing(NamedTuple):
    """The two sides: two ``sensors``, or one before and after a time (without it, its halves)."""

    sensors: Sequence[str]
    quantity: str | None = None
    at: float | None = None
    density: Density = "normal"
    profile: Profile = "balanced"
    level: float = 0.9
    miss: float = MISS


def comparison_of(recorded: Recorded, asked: Comparing) -> dict[str, Any]:
    """Return the comparison as plain values: what ``monitor compare --json`` prints."""
    if not 0 < len(asked.sensors) <= 2:
        raise CompareError("name two sensors, or one; `monitor report` ranks more")
    rows = _rows(recorded, asked.sensors, asked.quantity)
    sides = Sides(
        *_named(asked),
        unit=recorded.names[rows[0]].unit,
        density=asked.density,
        profile=asked.profile,
        miss=asked.miss,
    )
    windows = recorded.columns(asked.level)
    if len(rows) == 1:
        one = windows.take(np.array(rows))
        comparison = of_parts(one, asked.at, sides.scores, seed=SEED, miss=sides.miss)
    else:
        events = events_of(recorded)
        places = np.concatenate([np.flatnonzero(windows.series == row) for row in rows])
        two = windows.take(np.array(rows))
        comparison = of_two(two, events[places], sides.scores, seed=SEED, miss=sides.miss)
    return {"version": VERSION, **comparison_document(comparison, sides)}


def _named(asked: Comparing) -> tuple[str, str]:
    """Return the names of the two sides."""
    if len(asked.sensors) == 2:
        return asked.sensors[0], asked.sensors[1]
    (sensor,) = asked.sensors
    if asked.at is None:
        return f"{sensor} (first half)", f"{sensor} (second half)"
    when = instant(asked.at)
    return f"{sensor} before {when}", f"{sensor} since {when}"


def _rows(recorded: Recorded, sensors: Sequence[str], quantity: str | None) -> list[int]:
    """Return the selected series."""
    matched = []
    for sensor in dict.fromkeys(sensors):
        rows = [
            row
            for row, name in enumerate(recorded.names)
            if name.sensor == sensor and quantity in (None, name.quantity)
        ]
        if not rows:
            known = ", ".join(sorted({name.sensor for name in recorded.names})[:20])
            hint = "" if len(recorded.names) > 1 else "; which column has the names of sensors?"
            raise CompareError(f"there are no pairs of {sensor}; there are pairs of {known}{hint}")
        if len(rows) > 1:
            several = ", ".join(recorded.names[row].quantity for row in rows)
            raise CompareError(
                f"{sensor} has {several}; choose one by --quantity, or give the rows of one only"
            )
        matched += rows
    if len(sensors) == 2 and len(matched) == 1:
        raise CompareError("the same sensor twice; name it once to compare its halves")
    if len({recorded.names[row].quantity for row in matched}) > 1:
        raise CompareError("the two measure different quantities and cannot be compared")
    first, last = sorted((recorded.names[matched[0]].unit, recorded.names[matched[-1]].unit))
    if not is_same_unit(first, last):
        raise CompareError(f"the two are in {first} and {last}; convert one of them")
    return matched
