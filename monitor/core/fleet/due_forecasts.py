"""Due dates of a running network, kept up to date: a series is filtered again when it changes.

Rules of this file: only series whose settings ask for dates cost anything. Dates are a function of
windows, verdicts and the moment; sums over the fleet follow the order of names, so that the order
in which series were first heard changes no bit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np

from monitor.core.diagnosis.columns_of import SeriesColumns
from monitor.core.diagnosis.fault_reports import FaultReport
from monitor.core.fleet.due_dates import (
    NO_DATES,
    DueDates,
    Forecast,
    due_date_steps,
    laid_out,
    scale_of,
)
from monitor.core.fleet.offset_walks import Walks, walks_of
from monitor.core.model import NAN, Float, Int, Records
from monitor.core.pairing.series_rules import SeriesRules
from monitor.core.registry import SeriesName
from monitor.core.steps import Steps, portions

PAIRS_MAX: Final = 5000  # read of a sensor that was adjusted, moved or replaced
_SERIES_AT_ONCE: Final = 64


class FleetFacts(NamedTuple):
    """Names and settings of all series, and reports on those whose alert is pending or fires.

    ``events_of(row)`` are times at which the sensor of a series was adjusted, moved or replaced,
    ``history_of(row)`` all its standing pairs as rows of a window.
    """

    names: Sequence[SeriesName]
    rules: Sequence[SeriesRules]
    reports: Mapping[int, FaultReport]
    events_of: Callable[[int], Sequence[float]]
    history_of: Callable[[int], Records]


class DueForecasts:
    """State: how the error of each series moves by its own pairs, and the scale used for it."""

    def __init__(self) -> None:
        self._walks: dict[int, tuple[float, Walks]] = {}

    def steps(
        self, changed: Int, columns_of: SeriesColumns, facts: FleetFacts, now: float
    ) -> Steps[DueDates | None]:
        """Return the dates of all series at ``now``, None if no settings ask for any."""
        asked = [row for row in range(len(facts.names)) if facts.rules[row].due]
        if not asked:
            return None
        present = columns_of.present(np.array(asked, dtype=np.int64)).tolist()
        verdicts = {row: facts.reports[row].verdict for row in present if row in facts.reports}
        scales = {row: scale_of(verdicts.get(row)) for row in present}
        wanted, stale = set(present), set(changed.tolist())
        self._walks = {
            row: each
            for row, each in self._walks.items()
            if row in wanted and row not in stale and each[0] == scales[row]
        }
        for part in portions([row for row in present if row not in self._walks], _SERIES_AT_ONCE):
            # A void may have emptied a series since the last step.
            some = columns_of.present(np.array(part)).tolist()
            if not some:
                continue
            found = _walks(some, columns_of, facts, np.array([scales[row] for row in some]))
            for at, row in enumerate(some):
                self._walks[row] = (scales[row], found.rows(np.array([at])))
            yield
        if not self._walks:
            return laid_out(NO_DATES, np.zeros(0, np.int64), len(facts.names))
        order = sorted(self._walks, key=lambda row: _key(facts.names[row]))
        rows = zip(*(self._walks[row][1] for row in order), strict=True)
        forecast = Forecast(
            Walks(*(np.concatenate(each) for each in rows)),
            [facts.names[row].quantity for row in order],
            np.array([facts.rules[row].tolerance or NAN for row in order]),
            {at: verdicts[row] for at, row in enumerate(order) if row in verdicts},
        )
        yield
        dates = yield from due_date_steps(forecast, now)
        return laid_out(dates, np.array(order), len(facts.names))


def _key(name: SeriesName) -> tuple[str, str]:
    return name.sensor, name.quantity


def _walks(
    rows: Sequence[int], columns_of: SeriesColumns, facts: FleetFacts, scale: Float
) -> Walks:
    """Return how some series move, from their windows and the pairs before an event."""
    pairs, epochs = [], []
    for row in rows:
        events = np.array(facts.events_of(row))
        own = facts.history_of(row)[-PAIRS_MAX:] if events.size else None
        if own is None or not own.size:
            own = columns_of.window_rows(np.array([row]))[1]
        pairs.append(own)
        epochs.append(np.searchsorted(events, own["time"], side="right"))
    starts = np.cumsum([0, *(each.size for each in pairs[:-1])])
    columns = columns_of.columns(np.array(rows), starts, np.concatenate(pairs))
    return walks_of(columns, np.concatenate(epochs), scale)
