"""When the shared references of a recorded file were wrong, and for which sensors.

Rules of this file: sensors of one quantity and unit that meet the same measurements share a
reference; the daemon's own functions judge it, over all pairs. What it explains is not a fault of
the sensors that are right among the others.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy

from monitor.core.columns import Columns
from monitor.core.fleet.former_suspicions import suspicions_over
from monitor.core.fleet.suspect_references import MEETING, SENSORS_MIN, Suspect, Suspicion, met
from monitor.core.model import Int, Records
from monitor.core.verdict import Estimate
from monitor.report.recorded import Recorded, events_of

WrongReferences = dict[int, list[Suspect]]  # by the series that met them


def wrong_references(recorded: Recorded, windows: Columns) -> WrongReferences:
    """Return by series when its reference was wrong, or its sensors shared an error."""
    suspects: WrongReferences = {}
    if not recorded.timed or len(recorded.names) < SENSORS_MIN:
        return suspects
    series = recorded.pairs["series"].astype(np.int64)
    units, of_unit = np.unique([each.unit for each in recorded.names], return_inverse=True)
    events = events_of(recorded, _of_several(recorded.pairs["reference_id"], series))
    rounds = np.unique(events, return_inverse=True)[1] * units.size + of_unit[series]
    times = np.unique(windows.time, return_inverse=True)[1]
    of = _shared_by(series, rounds, times, len(recorded.names))
    for group in np.flatnonzero(np.bincount(of) >= SENSORS_MIN).tolist():
        rows = np.flatnonzero(of == group)
        quantity, unit = recorded.names[rows[0]].quantity, recorded.names[rows[0]].unit
        places = np.flatnonzero(of[series] == group)
        for each in _suspicions(recorded, windows, rows, places, rounds[places]):
            value, lower, upper = each.estimate
            high = Estimate(-value, -upper, -lower)
            suspect = Suspect(
                *("", quantity, unit, high, each.since, each.sensors, each.agree),
                tuple(rows.tolist()),
                each.nature,
                tuple(each.cleared.tolist()),
                each.until,
                each.whose,
            )
            for row in suspect.rows:
                suspects.setdefault(row, []).append(suspect)
    return suspects


def excusing(suspects: Sequence[Suspect], row: int) -> list[Suspect]:
    """Return the references that were wrong while a series was right among the others."""
    return [each for each in suspects if each.whose != "sensors" and row in each.cleared]


def explaining(suspects: Sequence[Suspect], row: int, time: float) -> Suspect | None:
    """Return the suspect that was wrong at a time (s UTC) while a series was right, if any."""
    return _at(excusing(suspects, row), time)


def clock_at(suspects: Sequence[Suspect], time: float) -> Suspect | None:
    """Return the reference whose clock was wrong at a time (s UTC), if any."""
    return _at([each for each in suspects if each.clock], time)


def _at(suspects: Sequence[Suspect], time: float) -> Suspect | None:
    return next((each for each in suspects if each.since <= time <= each.until), None)


def _suspicions(
    recorded: Recorded, windows: Columns, rows: Int, places: Int, rounds: Int
) -> list[Suspicion]:
    pairs = np.zeros(places.size, MEETING)
    pairs["series"] = recorded.pairs["series"][places]
    for name in ("time", "reference", "error", "u_eff", "u_ref"):
        pairs[name] = getattr(windows, name)[places]
    names = [(each.sensor, each.quantity) for each in recorded.names]
    rules = recorded.rules[min(rows.tolist(), key=names.__getitem__)]
    meetings = met(pairs, rounds, places.size)
    return suspicions_over(meetings, rules.patience, rules.systematic)


def _of_several(identities: Records, series: Int) -> Records:
    """Return the identities that several series have, 0 in place of the others.

    A daemon names a reference by its subject, so that sensors which are their own subjects have no
    measurement in common: that its time and value are equal must show what they share.
    """
    of = np.unique(identities, return_inverse=True)[1]
    first = np.zeros(identities.size, np.int64)
    first[of] = series  # of any of its pairs
    is_other = series != first[of]
    return np.where(np.bincount(of, is_other)[of] > 0.0, identities, 0)


def _shared_by(series: Int, rounds: Int, times: Int, count: int) -> Int:
    """Return for each series which reference it has, directly or through other series.

    Two series have one reference if more than half of the pairs that they have at the same time are
    of the same round: two stations may agree in a number now and then.
    """
    order = np.lexsort((series, rounds))
    is_met = (np.diff(rounds[order]) == 0) & (np.diff(series[order]) != 0)
    one, other = (series[order[at:][: is_met.size]][is_met] for at in (0, 1))
    one, other = np.unique(np.stack([one, other]), axis=1)
    same_round, same_time = (_in_common(series, of, one, other, count) for of in (rounds, times))
    some = 2 * same_round > same_time
    edges = scipy.sparse.coo_array(
        (np.ones(int(some.sum())), (one[some], other[some])), shape=(count, count)
    )
    return np.asarray(scipy.sparse.csgraph.connected_components(edges, directed=False)[1])


def _in_common(series: Int, of: Int, one: Int, other: Int, count: int) -> Int:
    """Return in how many rounds or times two series have pairs, for each two."""
    numbers = np.unique(of, return_inverse=True)[1]
    shape = (count, int(numbers.max()) + 1)
    has = scipy.sparse.csr_array((np.ones(series.size, np.int64), (series, numbers)), shape=shape)
    has.data[:] = 1
    return np.asarray((has[one] * has[other]).sum(axis=1))
