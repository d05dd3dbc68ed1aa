"""Copies of the evidence of series whose past changes, which keep replays short.

Rules of this file: they decide what a replay costs, never what it finds. A series gets them when
its past changes for the first time; others cost nothing. Two are kept for each distance, the older
one at least that many pairs back. Fleets whose copies would be too large have fewer distances.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from monitor.core.detector.detector import Detector
from monitor.core.detector.series_state import STATE
from monitor.core.model import Float, Int, Records
from monitor.core.windows.rings import Names, zeros_on_demand

DISTANCES: Final = (16, 64, 256)  # pairs between two checkpoints
BYTES_MAX: Final = 64 << 20  # for the largest number of series; one distance is always kept
_NONE: Final = -1


class FoundCopies(NamedTuple):
    """Copies found: their places, -1 for none, and the pairs (time, id) they come after."""

    entries: Int
    times: Float
    ids: Names


class EvidenceCopies:
    """Copies of the states of ``detector`` for up to ``capacity`` series."""

    def __init__(self, detector: Detector, capacity: int) -> None:
        self._detector: Final = detector
        rows, ring = detector.copies(np.zeros(0, np.int64))
        size = STATE.itemsize + ring.itemsize * ring.shape[1]
        distances = BYTES_MAX // (2 * size * max(capacity, 1))
        self._distances: Final = DISTANCES[: max(1, min(distances, len(DISTANCES)))]
        self._each: Final = 2 * len(self._distances)
        count = capacity * self._each
        self._rows: Final = zeros_on_demand(count, np.dtype(STATE)).view(rows.dtype)
        ring_rows = zeros_on_demand(count * ring.shape[1], ring.dtype)
        self._rings: Final = ring_rows.reshape(count, ring.shape[1])
        self._times: Final = zeros_on_demand(count, np.dtype(np.float64))
        self._ids: Final = zeros_on_demand(count, np.dtype(np.uint64))
        self._at: Final = zeros_on_demand(count, np.dtype(np.int64))  # pairs passed by then
        self._passed: Final = zeros_on_demand(capacity, np.dtype(np.int64))
        self._slot: Final[Int] = np.full(capacity, _NONE, dtype=np.int64)
        self._free: Final[list[int]] = []
        self._slots_used = 0

    def open(self, series: Int) -> None:
        """Keep checkpoints of ``series`` from now on."""
        for row in series[self._slot[series] == _NONE].tolist():
            if not self._free:
                self._free.append(self._slots_used)
                self._slots_used += 1
            self._slot[row] = slot = self._free.pop()
            self._passed[slot] = 0
            self._at[slot * self._each : (slot + 1) * self._each] = _NONE

    def forget(self, row: int) -> None:
        """Drop the checkpoints of a series."""
        if self._slot[row] != _NONE:
            self._free.append(int(self._slot[row]))
            self._slot[row] = _NONE

    def kept_of(self, series: Int) -> Int:
        """Return those of ``series`` that have checkpoints."""
        return series[self._slot[series] != _NONE] if self._slots_used else series[:0]

    def passed(self, series: Int, counts: Int) -> None:
        """Note that the evidence of ``series`` has advanced by so many pairs."""
        slots = self._slot[series]
        is_kept = slots != _NONE
        self._passed[slots[is_kept]] += counts[is_kept]

    def take(self, series: Int, times: Float, ids: Names) -> None:
        """Copy the states of ``series`` after the pairs (time, id), where a copy is due."""
        slots = self._slot[series]
        is_kept = slots != _NONE
        if not is_kept.all():
            series, times, ids = series[is_kept], times[is_kept], ids[is_kept]
            slots = slots[is_kept]
        passed, first = self._passed[slots], slots * self._each
        for level, distance in enumerate(self._distances):
            two = first[:, None] + (2 * level, 2 * level + 1)
            at = self._at[two]
            last = at.max(axis=1, initial=_NONE)
            due = np.flatnonzero((last == _NONE) | (passed - last >= distance))
            if due.size:
                entries = two[due, at[due].argmin(axis=1)]
                self._rows[entries], self._rings[entries] = self._detector.copies(series[due])
                self._times[entries], self._ids[entries] = times[due], ids[due]
                self._at[entries] = passed[due]

    def oldest(self, series: Int) -> FoundCopies:
        """Return the first checkpoint there is of each series."""
        entries = self._slot[series][:, None] * self._each + np.arange(self._each)
        at = self._at[entries]
        at[(at == _NONE) | (self._slot[series] == _NONE)[:, None]] = np.iinfo(at.dtype).max
        first, every = at.argmin(axis=1), np.arange(series.size)
        is_none = at[every, first] == np.iinfo(at.dtype).max
        found = np.where(is_none, _NONE, entries[every, first])
        return FoundCopies(found, self._times[found], self._ids[found])

    def records(self, entries: Int) -> Records:
        """Return the states (dtype STATE) at some places."""
        return self._rows[entries].view(STATE)

    def before(self, series: Int, since: Float) -> FoundCopies:
        """Return the last checkpoint of each series before an event time; forget those after it."""
        entries = self._slot[series][:, None] * self._each + np.arange(self._each)
        at, times = self._at[entries], self._times[entries]
        is_void = (at != _NONE) & ~(times < since[:, None])
        self._at[entries[is_void]] = at[is_void] = _NONE
        last = at.argmax(axis=1)
        every = np.arange(series.size)
        found = np.where(at[every, last] == _NONE, _NONE, entries[every, last])
        return FoundCopies(found, self._times[found], self._ids[found])

    def go_back(self, series: Int, entries: Int) -> None:
        """Put the states of ``series`` back to their checkpoints."""
        self._detector.put_back(series, self._rows[entries], self._rings[entries])
        self._passed[self._slot[series]] = self._at[entries]
