"""Replays of the pairs that the rings hold, from copies of the evidence, for many series at once.

Rules of this file: the detector is the live one, so a replay takes effect at once. A series starts
from a copy of its evidence from before the change, else from the first pair of a ring that is
complete; where neither reaches back far enough, the result says so.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from monitor.core.detector.detector import Detector
from monitor.core.detector.detector_inputs import DetectorInputs
from monitor.core.detector.epoch_pieces import epoch_pieces
from monitor.core.detector.evidence_copies import DISTANCES, EvidenceCopies
from monitor.core.detector.full_replays import (
    AlertChange,
    FullReplays,
    bets_in,
    changes_of,
    epochs_begun,
)
from monitor.core.model import Bool, Float, Int, Records
from monitor.core.windows.rings import Names
from monitor.core.windows.windows import Windows

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
