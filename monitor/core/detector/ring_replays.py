"""Replays of the pairs that the rings hold, from copies of the evidence, for many series at once.

Rules of this file: the detector is the live one, so a replay takes effect at once. A series starts
from a copy of its evidence from before the change, else from the first pair of a ring that is
complete; where neither reaches back far enough, the result says so. Copies decide what a replay
costs, never what it finds: a series gets them when its past changes for the first time, others cost
nothing. Two are kept for each distance, the older one at least that many pairs back; fleets whose
copies would be too large have fewer distances.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from monitor.core.detector.detector import Detector
from monitor.core.detector.detector_inputs import DetectorInputs, epoch_pieces
from monitor.core.detector.full_replays import (
    AlertChange,
    FullReplays,
    bets_in,
    changes_of,
    epochs_begun,
)
from monitor.core.detector.series_state import STATE
from monitor.core.model import Bool, Float, Int, Records
from monitor.core.windows.rings import Names, zeros_on_demand
from monitor.core.windows.windows import Windows

DISTANCES: Final = (16, 64, 256)  # pairs between two checkpoints
_BYTES_MAX: Final = 64 << 20  # for the largest number of series; one distance is always kept
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
        distances = _BYTES_MAX // (2 * size * max(capacity, 1))
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


_PIECE: Final = 2 * DISTANCES[0]  # pairs between two copies
LAST_ID: Final = np.uint64(np.iinfo(np.uint64).max)


class SettledStates(NamedTuple):
    """States (dtype STATE), and the pairs (time, id) that they follow."""

    times: Float
    ids: Names
    records: Records


class RingReplays:
    """Replays for ``detector`` of what the rings of ``windows`` hold.

    ``known`` marks the series whose bets are chosen.
    """

    def __init__(
        self, detector: Detector, windows: Windows, inputs: DetectorInputs, full: FullReplays
    ) -> None:
        self._detector: Final = detector
        self._windows: Final = windows
        self._inputs: Final = inputs
        self._full: Final = full
        self.copies: Final = EvidenceCopies(detector, detector.path.size)
        self.known: Bool = np.zeros(detector.path.size, dtype=np.bool_)
        self._behind: dict[int, int] = {}  # pairs in the ring from where each replay stands on

    def earlier(self, row: int, count: int) -> Float:
        """Return the last ``count`` z of a series before what its evidence takes now."""
        rows = self._windows.rings.up_to(row, self._behind.get(row, 0), count)
        return self.input_of(np.array([row]), np.zeros(1, np.int64), rows)

    def choose(self, series: Int, first: Records) -> None:
        """Choose the bets of those of ``series`` that have none yet, by their first rows."""
        is_new = np.flatnonzero(~self.known[series])
        if is_new.size:
            new = series[is_new]
            self.known[new] = True
            bets = self._inputs.chosen(new, first[is_new])
            self._detector.path[new], self._detector.systematic[new] = bets

    def input_of(self, series: Int, starts: Int, rows: Records) -> Float:
        """Return the detector's input for rows, end to end, by the bets on their series."""
        return self._inputs.of(series, starts, rows, bets_in(self._detector, series))

    def take_before_windows_change(self, series: Int) -> None:
        """Keep checkpoints after the newest pairs that the rings of ``series`` hold."""
        series = series[self._windows.rings.held[series] > 0]
        self.copies.take(series, *self._newest(series))

    def settled(self, series: Int) -> tuple[SettledStates, Bool]:
        """Return the oldest copied states of ``series``, and which of them are copies.

        Without copies it is the present state: the past of such a series has never changed. Each
        must hold a pair.
        """
        found = self.copies.oldest(series)
        times, ids = self._newest(series)
        records = self._detector.records(series)
        is_copied = found.entries >= 0
        records[is_copied] = self.copies.records(found.entries[is_copied])
        times = np.where(is_copied, found.times, times)
        return SettledStates(times, np.where(is_copied, found.ids, ids), records), is_copied

    def go_back(self, series: Int, since: Float) -> tuple[Int, Float]:
        """Put evidence back to before it changed; return how many rows of each ring are next.

        -1 where neither a checkpoint nor the ring reaches back so far. The second are the event
        times after which epochs are still to begin.
        """
        rings = self._windows.rings
        found = self.copies.before(series, since)
        counts = rings.later_than(series, found.times, found.ids)
        counts[found.entries < 0] = -1
        is_near = counts >= 0
        self.copies.go_back(series[is_near], found.entries[is_near])
        after = np.where(is_near, found.times, -np.inf)
        is_new = ~is_near & ~rings.truncated[series]
        is_new &= ~np.isin(series, np.array([*self._full.roots], dtype=np.int64))
        self._begin(series[is_new])
        counts[is_new] = rings.held[series[is_new]]
        return counts, after

    def replay_ends(self, series: Int, counts: Int, after: Float) -> list[AlertChange]:
        """Advance series through the last rows of their rings, so many of each.

        Epochs later than ``after`` begin on the way.
        """
        rows = self._windows.rings.last(series, counts)
        first = np.cumsum(counts) - counts
        own = np.split(rows["time"], first[1:])
        cuts = self._full.cuts(series, after, own)
        every, seen = np.arange(self.known.size), []
        for begins, times, some, done, size in epoch_pieces(counts, cuts, _PIECE):
            now, came = series[some], done > 0
            last = rows[(first[some] + done - 1)[came]]
            self.copies.take(now[came], last["time"], last["id"])
            seen += epochs_begun(self._detector, series[begins], series[begins], times)
            if not some.size:
                continue
            starts = np.cumsum(size) - size
            piece = rows[np.arange(size.sum()) + np.repeat(first[some] + done - starts, size)]
            left = counts[some] - done
            self._behind = dict(zip(now.tolist(), left.tolist(), strict=True))
            found = self._detector.advance(now, starts, self.input_of(now, starts, piece))
            self.copies.passed(now, size)
            seen += changes_of(found, every, piece["time"])
        self._behind = {}
        return seen

    # -- inside -----------------------------------------------------------------------------

    def _newest(self, series: Int) -> tuple[Float, Names]:
        """Return the pair (time, id), or the event, that the states of ``series`` follow."""
        last = self._windows.rings.last(series, np.ones_like(series))
        epochs = self._windows.epochs(series)  # one that began since is in the state
        is_pair = last["time"] >= epochs
        times = np.where(is_pair, last["time"], np.nextafter(epochs, -np.inf))
        return times, np.where(is_pair, last["id"], LAST_ID)

    def _begin(self, series: Int) -> None:
        """Begin evidence with the first pairs in the rings."""
        rings = self._windows.rings
        self._detector.forget(series)
        self.known[series] = False
        some = series[rings.held[series] > 0]
        counts = rings.held[some]
        rows = rings.last(some, counts)
        self.choose(some, rows[np.cumsum(counts) - counts])
