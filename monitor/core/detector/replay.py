"""The detector fed in event order: new pairs advance it, a changed past is replayed.

Rules of this file: the evidence of a series is a function of its pairs in event order and of its
epochs, in whatever order they arrived. A replay starts from a copy of the evidence from before the
change, else from the first pair of a ring that lacks none, and only then from what the journal has:
since a far checkpoint, or all of it. It takes the pairs of the ring after that, across epochs, for
many series at once. What the journal alone holds is replayed in a detector of its own, which keeps
all it looks back on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

import numpy as np

from monitor.core.columns import Columns
from monitor.core.detector.detector import Detector
from monitor.core.detector.detector_inputs import DetectorInputs
from monitor.core.detector.evidence_copies import DISTANCES
from monitor.core.detector.far_checkpoints import Checkpoint, FarCheckpoints
from monitor.core.detector.full_replays import (
    AlertChange,
    FullReplays,
    Starts,
    bets_in,
    bits_in,
    changes_of,
    epochs_begun,
    times_of,
)
from monitor.core.detector.lifecycle import STATES
from monitor.core.detector.ring_replays import LAST_ID, RingReplays
from monitor.core.model import PAIR, Event, Float, Int, Records
from monitor.core.pairing.series_rules import SeriesRules
from monitor.core.steps import Steps, finish
from monitor.core.windows.changes import grouped
from monitor.core.windows.windows import Windows

FIRING: Final = "firing"
_TAIL: Final = DISTANCES[-1]  # pairs of a ring that are left after a full replay, for copies
_NO_PAIRS: Final = np.zeros(0, PAIR)


class Replayer:
    """Feeds ``detector`` the pairs of ``windows``; ``events_of`` are a series' epochs.

    ``histories(rows, since)`` returns the pairs of series from an event time on, in event order.
    """

    def __init__(
        self,
        detector: Detector,
        windows: Windows,
        histories: Callable[[Sequence[int], float], Mapping[int, Records]],
        complete: Callable[[Int, Int, Records], Columns],
        events_of: Callable[[int], list[Event]],
        rules: Sequence[SeriesRules],
    ) -> None:
        self._detector: Final = detector
        self._windows: Final = windows
        self._histories: Final = histories
        self._inputs: Final = DetectorInputs(complete, rules)
        self._full: Final = FullReplays(detector, windows, self._inputs, events_of)
        self._rings: Final = RingReplays(detector, windows, self._inputs, self._full)
        self._far: Final = FarCheckpoints()
        self.disturbed: dict[int, float] = {}
        self.taken_back: set[int] = set()

    def disturb(self, row: int, since: float) -> None:
        """Mark a series whose past changed from an event time on."""
        self.disturbed[row] = min(since, self.disturbed.get(row, np.inf))

    def resume(
        self,
        row: int,
        path: int,
        state: bytes,
        root: Checkpoint | None = None,
        share: float | None = None,
    ) -> None:
        """Load saved evidence: ``state`` as the detector dumped it; empty: it is gathered anew.

        ``root`` is the state before the first pair that the history still has, ``share`` what
        systematic effects have of the uncertainty; None: as of that pair.
        """
        self._rings.known[row] = True
        self._detector.path[row] = path
        if share is None:
            is_declared = self._inputs.is_declared(row)
            first = self._histories([row], -np.inf)[row][:1] if is_declared else _NO_PAIRS
            share = self._inputs.share(row, self._windows.as_kept(first))
        self._detector.systematic[row] = share
        if state:
            self._detector.load(row, state)
        else:
            self.disturb(row, -np.inf)
        if root is not None:
            self._full.roots[row] = root

    def root(self, row: int) -> Checkpoint | None:
        """Return the state that a full replay of a series starts from, None for a fresh one."""
        return self._full.roots.get(row)

    def move_roots(self, pairs: Mapping[int, int]) -> None:
        """Make replays start after the first so many pairs, which may then be deleted.

        ``pairs`` maps rows to a number of pairs, at least one. The series must not be disturbed.
        """
        standing = self._histories([*pairs], -np.inf)
        histories = {row: standing[row][:count] for row, count in pairs.items()}
        states = self._full.states_after(histories)
        for (row, history), state in zip(histories.items(), states, strict=True):
            last = history[-1]
            self._full.roots[row] = Checkpoint(float(last["time"]), int(last["id"]), state)
            self._far.forget(row)  # what came after an earlier one may be deleted

    def earlier(self, row: int, count: int) -> Float:
        """Return the last ``count`` z of a series before what its evidence takes now."""
        return self._rings.earlier(row, count)

    def evidence_bits(self, row: int) -> bytes:
        """Return which bets a series' evidence is of, and the evidence, as bits."""
        return bits_in(self._detector, row)

    def evidence_by(self, row: int, history: Records) -> Steps[bytes]:
        """Return what :meth:`evidence_bits` should be by all pairs of a series; change nothing.

        In steps, between which anything may happen: the events that count are those of now.
        """
        one = np.array([row])
        roots = self._full.roots_of(one)
        apart = self._full.begun(one, [history], roots)
        yield from self._full.steps(apart, one, [history], roots, to_end=True)
        return bits_in(apart, 0)

    def begin_epoch(self, row: int, time: float) -> list[AlertChange] | None:
        """Begin an epoch of one series after all its pairs; return how its alert changes.

        None where its evidence is not that of its pairs: they must be replayed.
        """
        if row in self.disturbed or not self._rings.known[row]:
            return None
        one = np.array([row])
        changes = epochs_begun(self._detector, one, one, np.array([time]))
        self._rings.copies.open(one)
        self._rings.copies.take(one, np.nextafter(np.array([time]), -np.inf), np.array([LAST_ID]))
        return changes

    def forget(self, row: int) -> None:
        """Drop everything about a series."""
        self._rings.known[row] = False
        self.disturbed.pop(row, None)
        self.taken_back.discard(row)
        self._rings.copies.forget(row)
        self._full.roots.pop(row, None)
        self._far.forget(row)
        self._detector.forget(np.array([row]))

    def step(self, portions: Iterable[Records]) -> list[AlertChange]:
        """Advance by pairs newer than all others of their series, ordered (series, time, id).

        They may come in several portions of whole series; the detector takes all at once.
        """
        taken = [self._steps_of(pairs) for pairs in portions if pairs.size]
        if not taken:
            return []
        columns = [np.concatenate(column) for column in zip(*taken, strict=True)]
        series, counts, inputs, times = columns
        kept = self._rings.copies.kept_of(series)
        if kept.size:
            self._rings.take_before_windows_change(kept)
        found = self._detector.advance(series, np.cumsum(counts) - counts, inputs)
        if kept.size:
            self._rings.copies.passed(series, counts)
        return changes_of(found, np.arange(self._rings.known.size), times)

    def replay_disturbed(
        self, rows: Iterable[int], histories: Mapping[int, Records] | None = None
    ) -> list[AlertChange]:
        """Replay those of ``rows`` whose past changed; return how their alerts differ from before.

        ``taken_back`` gets those whose alert should, by the past as it is now, never have fired.
        Where all pairs of each are at hand, in ``histories``, nothing else is looked for.
        """
        some = [row for row in rows if row in self.disturbed]
        if not some:
            return []
        series = np.array(some)
        since = np.array([self.disturbed.pop(row) for row in some])
        before = self._detector.states(series).tolist()
        after = np.full(series.size, -np.inf)
        counts = np.full(series.size, -1)
        self._rings.copies.open(series)
        if histories is None:
            counts, after = self._rings.go_back(series, since)
        else:  # all pairs are replayed: what is kept is void
            since[:] = -np.inf
        far = [self._far.before(*each) for each in zip(some, since.tolist(), strict=True)]
        seen: list[AlertChange] = []
        old = np.flatnonzero(counts < 0)
        if old.size:
            from_far = [far[at] for at in old.tolist()]
            parts = self._parts(series[old], from_far, histories)
            counts[old], after[old] = self._replay_old(series[old], from_far, parts, seen)
        seen += self._rings.replay_ends(series, counts, after)
        return self._differences(series, before, seen)

    # -- inside -----------------------------------------------------------------------------

    def _differences(
        self, series: Int, before: list[int], seen: list[AlertChange]
    ) -> list[AlertChange]:
        """Return how states differ from those before, where ``seen`` changed while replaying."""
        by_row: dict[int, list[AlertChange]] = {}
        for change in seen:
            by_row.setdefault(change.series, []).append(change)
        changes = []
        after = self._detector.states(series).tolist()
        for row, was, now in zip(series.tolist(), before, after, strict=True):
            own = by_row.get(row, [])
            if STATES[was] == FIRING != STATES[now] and all(FIRING not in each for each in own):
                self.taken_back.add(row)
            if was != now and own:
                changes.append(own[-1]._replace(before=STATES[was]))
        return changes

    def _steps_of(self, pairs: Records) -> tuple[Int, Int, Float, Float]:
        """Return the series of some pairs, the number of each, the detector's input, and times."""
        series, starts, _ = grouped(pairs)
        rows = self._windows.as_kept(pairs)
        self._rings.choose(series, rows[starts])
        inputs = self._rings.input_of(series, starts, rows)
        return series, np.diff(starts, append=pairs.size), inputs, pairs["time"].copy()

    def _parts(
        self, series: Int, far: Starts, histories: Mapping[int, Records] | None
    ) -> list[Records]:
        """Return the pairs of each series that come after its far checkpoint, all without one."""
        times = times_of(far)
        known = histories or self._histories(series.tolist(), float(times.min()))
        parts = []
        for row, start in zip(series.tolist(), far, strict=True):
            part = known[row]
            if start is not None:
                part = part[np.searchsorted(part["time"], start.time) :]
                is_tied = part["time"] == start.time
                part = part[~(is_tied & (part["id"] <= np.uint64(start.id)))]
            parts.append(part)
        return parts

    def _replay_old(
        self, series: Int, far: Starts, histories: Sequence[Records], seen: list[AlertChange]
    ) -> tuple[Int, Float]:
        """Replay series up to the ends of their rings, from far checkpoints, roots or nothing.

        Return how many rows of each ring are left, and the times of the last pairs before.
        """
        roots = self._full.roots_of(series)
        starts = [near or root for near, root in zip(far, roots, strict=True)]
        sizes = np.array([each.size for each in histories])
        left = np.minimum(np.minimum(self._windows.rings.held[series], sizes), _TAIL)
        apart = self._full.begun(series, histories, starts)
        bets = bets_in(apart, np.arange(series.size))
        self._detector.path[series], self._detector.systematic[series] = bets
        is_begun = np.array([start is not None for start in starts])
        self._rings.known[series] = (sizes > 0) | is_begun
        old = [each[:stop] for each, stop in zip(histories, (sizes - left).tolist(), strict=True)]
        replay = self._full.steps(apart, series, old, starts, to_end=False, keep=self._far.add)
        seen += finish(replay)
        times = times_of(starts)
        for at, state in enumerate(apart.dumps(np.arange(series.size))):
            self._detector.load(int(series[at]), state)
            if old[at].size:
                last = old[at][-1:]
                times[at] = last["time"][0]
                self._rings.copies.take(series[at : at + 1], last["time"], last["id"])
        return left, times
