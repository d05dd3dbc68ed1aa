"""From evidence, pairs and times to the state of each series, by the column."""

from __future__ import annotations

from typing import Final

import numpy as np

from monitor.core.columns import Columns
from monitor.core.detector.lifecycle import FIRING, OK, STATES
from monitor.core.model import Bool, Float, Int
from monitor.core.verdict import FAULTS

# The states of a series in the order of /metrics.
STATE_MEANINGS: Final = {
    "unknown": "too few pairs to call it right or wrong",
    "ok": "its errors agree with what it says of them",
    "pending": "evidence gathers, not yet enough to fire",
    "firing": "it is not as right as it says; `monitor_alert_active` says which way",
    "stale": "no reading came for longer than `series.stale_after_seconds`, or no reference for "
    "longer than `alerts.reference_stale_hours`; `unknown` after twice that",
}
STATE_NAMES: Final = (*STATES, "unknown", "stale")
_UNKNOWN, _STALE = STATE_NAMES.index("unknown"), STATE_NAMES.index("stale")
# Below this many pairs a calm series is "unknown": too few to call it right.
FEW_PAIRS: Final = 20
# A series is compared regularly while its last pair is not older than so many usual gaps.
GAPS: Final = 3.0
RECENT_GAPS: Final = 20
COMPARED, LATE, LOST = 0, 1, 2


def usual_gap(windows: Columns) -> Float:
    """Return the median time between the last pairs of each series, s; NaN with fewer than three.

    Pairs of one instant are one.
    """
    ends = windows.starts + windows.counts
    rows = ends[:, None] - np.arange(RECENT_GAPS + 1, 0, -1)
    times = np.where(rows >= windows.starts[:, None], windows.time[np.maximum(rows, 0)], np.nan)
    gaps = np.diff(times, axis=1)
    gaps = np.sort(np.where(gaps > 0.0, gaps, np.nan), axis=1)
    known = np.isfinite(gaps).sum(axis=1)
    middle = gaps[np.arange(known.size), np.maximum(known - 1, 0) // 2]
    return np.where(known >= 2, middle, np.nan)


def compared(reading: Float, pair: Float, gap: Float, at_least: Float) -> Int:
    """Return whether series are compared with references still: COMPARED, LATE or LOST.

    Late when the last ``pair`` is older than the last ``reading`` by more than three usual gaps and
    by more than ``at_least``, lost at twice that; times of events, in s. A series without a pair is
    neither.
    """
    limit = np.fmax(GAPS * gap, at_least)
    age = reading - pair
    found: Int = (age > limit).astype(np.int64) + (age > 2.0 * limit)
    return found


def state_codes(states: Int, pairs: Int, withdrawn: Bool, compared: Int) -> Int:
    """Return the state of each series as an index in ``STATE_NAMES``."""
    words = np.array([STATE_NAMES.index(state) for state in STATES])[states]
    words[(states == OK) & (pairs < FEW_PAIRS)] = _UNKNOWN
    words[compared == LATE] = _STALE
    words[compared == LOST] = _UNKNOWN
    words[withdrawn] = _STALE
    return words


def active(states: Int, faults: Int) -> dict[str, Bool]:
    """Return for each fault which series it is active for: one fault a firing series.

    ``faults`` are places in ``FAULTS``, other numbers for none of them.
    """
    firing = states == FIRING
    return {fault: firing & (faults == at) for at, fault in enumerate(FAULTS)}
