"""Checkpoints: copies of the evidence of series whose past changes, from which replays start.

Rules of this file: a series gets checkpoints when its past changes for the first time, others cost
nothing. Two are there for each distance, the older one at least that many pairs back; fleets whose
checkpoints would be too large have fewer distances, the nearest and the farthest at least. A change
of the past voids those after it.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from monitor.core.detector.detector import Detector
from monitor.core.detector.series_state import STATE
from monitor.core.model import Float, Int, Records
from monitor.core.windows.rings import Names, zeros_on_demand

DISTANCES: Final = (16, 64, 256, 1024)  # pairs between two checkpoints
_BYTES_MAX: Final = 96 << 20  # for the largest number of series; two distances are always there
_NONE: Final = -1


class FoundCheckpoints(NamedTuple):
    """EvidenceCheckpoints: their places, -1 for none, and the pairs (time, id) they come after."""

    entries: Int
    times: Float
    ids: Names


class EvidenceCheckpoints:
    """Copies of the states of ``detector``."""

    def __init__(self, detector: Detector) -> None:
        self._detector: Final = detector
        capacity = detector.path.size
        rows, ring = detector.copies(np.zeros(0, np.int64))
        size = STATE.itemsize + ring.itemsize * ring.shape[1]
        distances = _BYTES_MAX // (2 * size * max(capacity, 1))
        nearer = max(1, min(distances, len(DISTANCES)) - 1)
        self._distances: Final = (*DISTANCES[:nearer], DISTANCES[-1])
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
        """Take checkpoints of ``series`` from now on."""
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

    def opened(self, series: Int) -> Int:
        """Return those of ``series`` that have checkpoints."""
        return series[self._slot[series] != _NONE] if self._slots_used else series[:0]

    def passed(self, series: Int, counts: Int) -> None:
        """Note that the evidence of ``series`` has advanced by so many pairs."""
        slots = self._slot[series]
        is_open = slots != _NONE
        self._passed[slots[is_open]] += counts[is_open]

    def take(self, series: Int, times: Float, ids: Names) -> None:
        """Copy the states of ``series`` after the pairs (time, id), where a copy is due."""
        slots = self._slot[series]
        is_open = slots != _NONE
        if not is_open.all():
            series, times, ids = series[is_open], times[is_open], ids[is_open]
            slots = slots[is_open]
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

    def before(self, series: Int, since: Float) -> FoundCheckpoints:
        """Return the last checkpoint of each series before an event time; void those after it."""
        entries = self._slot[series][:, None] * self._each + np.arange(self._each)
        at, times = self._at[entries], self._times[entries]
        is_void = (at != _NONE) & ~(times < since[:, None])
        self._at[entries[is_void]] = at[is_void] = _NONE
        return self._chosen(entries, at, at.argmax(axis=1))

    def oldest(self, series: Int) -> tuple[FoundCheckpoints, Records]:
        """Return the oldest checkpoint of each series, farthest distance apart, and its state."""
        entries = self._slot[series][:, None] * self._each + np.arange(self._each - 2)
        at = np.where((self._slot[series] == _NONE)[:, None], _NONE, self._at[entries])
        first = np.where(at == _NONE, np.iinfo(at.dtype).max, at).argmin(axis=1)
        oldest = self._chosen(entries, at, first)
        return oldest, self._rows[oldest.entries].view(STATE)

    def go_back(self, series: Int, entries: Int) -> None:
        """Put the states of ``series`` back to their checkpoints."""
        self._detector.put_back(series, self._rows[entries], self._rings[entries])
        self._passed[self._slot[series]] = self._at[entries]

    def _chosen(self, entries: Int, at: Int, column: Int) -> FoundCheckpoints:
        every = np.arange(len(entries))
        chosen = np.where(at[every, column] == _NONE, _NONE, entries[every, column])
        return FoundCheckpoints(chosen, self._times[chosen], self._ids[chosen])
