"""Due dates of a running network, kept up to date: a series is filtered again when it changes.

Rules of this file: only series whose settings ask for dates cost anything. Dates are a function of
windows, verdicts and the moment; sums over the fleet follow the order of names, so that the order
in which series were first heard changes no bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from monitor.core.diagnosis.columns_of import SeriesColumns
from monitor.core.model import NAN, Float, Int
from monitor.core.registry import SeriesName
from monitor.core.snapshot.additions import Added, FleetFacts, OwnFindings
from monitor.core.snapshot.snapshot import Snapshot
from monitor.core.steps import Steps, portions
from monitor.extensions.due.due_dates import (
    NO_DATES,
    OF_DUE_DATES,
    DueDates,
    Forecast,
    due_date_steps,
    laid_out,
    published_due_dates,
    scale_of,
)
from monitor.extensions.due.offset_walks import Walks, walks_of

NAME: Final = "due"
KEY: Final = "due"  # of the settings, in alerts
PAIRS_MAX: Final = 5000  # read of a sensor that was adjusted, moved or replaced
_SERIES_AT_ONCE: Final = 64


class DueFindings(OwnFindings):
    """The dates of all series."""

    def __init__(self, dates: DueDates) -> None:
        self.dates: Final = dates


def due_dates_in(now: Snapshot) -> DueDates | None:
    """Return the due dates that a snapshot carries, None if no settings ask for any."""
    findings = now.additions.get(NAME)
    return findings.dates if isinstance(findings, DueFindings) else None


def as_added(now: Snapshot, dates: DueDates) -> Added:
    """Return due dates as an addition to a snapshot; those of its verdicts come first."""
    numbers = published_due_dates(dates, now.time)
    known = now.statistics.get("due_seconds")
    if known is not None:
        numbers["due_seconds"] = np.where(np.isfinite(known), known, numbers["due_seconds"])
    return Added(DueFindings(dates), numbers, {each.name: each.help for each in OF_DUE_DATES})


class DueForecasts:
    """State: how the error of each series moves by its own pairs, and the scale used for it."""

    name: Final = NAME

    def __init__(self) -> None:
        self._walks: dict[int, tuple[float, Walks]] = {}

    def steps(
        self, changed: Int, columns_of: SeriesColumns, facts: FleetFacts, snapshot: Snapshot
    ) -> Steps[Added | None]:
        """Return the dates of all series, None if no settings ask for any."""
        asked = [row for row in range(len(facts.names)) if facts.rules[row].asked(KEY)]
        if not asked:
            return None
        dates = yield from self._dates(asked, changed, columns_of, facts, snapshot.time)
        return as_added(snapshot, dates)

    def _dates(
        self,
        asked: list[int],
        changed: Int,
        columns_of: SeriesColumns,
        facts: FleetFacts,
        now: float,
    ) -> Steps[DueDates]:
        """Return the dates of all series at ``now``."""
        present = columns_of.present(np.array(asked, dtype=np.int64)).tolist()
        verdicts = {row: facts.reports[row].verdict for row in present if row in facts.reports}
        scales = {row: scale_of(verdicts.get(row)) for row in present}
        wanted, outdated = set(present), set(changed.tolist())
        self._walks = {
            row: each
            for row, each in self._walks.items()
            if row in wanted and row not in outdated and each[0] == scales[row]
        }
        for part in portions([row for row in present if row not in self._walks], _SERIES_AT_ONCE):
            # A void may have emptied a series since the last step.
            some = columns_of.present(np.array(part)).tolist()
            if not some:
                continue
            walks = _walks(some, columns_of, facts, np.array([scales[row] for row in some]))
            for at, row in enumerate(some):
                self._walks[row] = (scales[row], walks.rows(np.array([at])))
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
