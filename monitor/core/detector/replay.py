"""The detector fed in event order: new pairs advance it, a changed past is replayed.

Rules of this file: the evidence of a series is a function of its pairs in event order and of its
epochs, in whatever order they arrived. A replay starts from a copy of the evidence from before the
change, else from the first pair of a ring that is complete, and only then from the journal: after a
far checkpoint, or from the beginning. It then takes the pairs of the ring, across epochs, for many
series at once. Pairs that only the journal holds are replayed in a separate detector, which keeps
all the z it needs.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Final

import numpy as np

from monitor.core.columns import Columns
from monitor.core.detector.detector import Detector
from monitor.core.detector.detector_inputs import DetectorInputs
from monitor.core.detector.full_replays import (
    AlertChange,
    Checkpoint,
    FarCheckpoints,
    FullReplays,
    Starts,
    bets_in,
    bits_in,
    changes_of,
    end_to_end,
    epochs_begun,
    times_of,
)
from monitor.core.detector.kept_evidence import EvidenceKeeper, KeptEvidence, Resumed, UpTo
from monitor.core.detector.lifecycle import STATES
from monitor.core.detector.ring_replays import DISTANCES, LAST_ID, RingReplays
from monitor.core.model import PAIR, Event, Float, Int, Records
from monitor.core.pairing.series_rules import SeriesRules
from monitor.core.steps import Steps, finish
from monitor.core.windows.series_rings import grouped
from monitor.core.windows.windows import Windows

FIRING: Final = "firing"
_TAIL: Final = DISTANCES[-1]  # pairs of a ring that are left after a full replay, for copies
_NO_PAIRS: Final = np.zeros(0, PAIR)


class Replayer:
    """Feeds ``detector`` the pairs of ``windows``; ``events_of`` are a series' epochs.

    ``histories(rows, since)`` returns the pairs of series from an event time on, in event order.
    ``program`` is the version of the deciding code.
    """

    def __init__(
        self,
        detector: Detector,
        windows: Windows,
        histories: Callable[[Sequence[int], float], Mapping[int, Records]],
        complete: Callable[[Int, Int, Records], Columns],
        events_of: Callable[[int], list[Event]],
        rules: Sequence[SeriesRules],
        program: str,
    ) -> None:
        self._detector: Final = detector
        self._windows: Final = windows
        self._histories: Final = histories
        self._inputs: Final = DetectorInputs(complete, rules)
        self._full: Final = FullReplays(detector, windows, self._inputs, events_of)
        self._rings: Final = RingReplays(detector, windows, self._inputs, self._full)
        self._far: Final = FarCheckpoints()
        self.keeper: Final = EvidenceKeeper(detector, rules, program)
        self.disturbed: dict[int, float] = {}
        self.taken_back: set[int] = set()

    def disturb(self, row: int, since: float) -> None:
        """Mark a series whose past changed from an event time on."""
        self.disturbed[row] = min(since, self.disturbed.get(row, np.inf))
        self.keeper.disturb(row, since)

    def resume(
        self,
        row: int,
        path: int,
        state: bytes,
        root: Checkpoint | None = None,
        share: float | None = None,
    ) -> None:
        """Load saved evidence: ``state`` as the detector dumped it; empty: it is gathered anew.

        ``root`` is the state before the first pair that the history still has, ``share`` the
        systematic share of the uncertainty; None: as of that pair.
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
        """Return the kind of bets on a series, and its evidence, as bits."""
        return bits_in(self._detector, row)

    def evidence_by(self, row: int, history: Records) -> Steps[bytes]:
        """Return what :meth:`evidence_bits` should return, given all pairs; change nothing.

        It works in steps, between which anything may happen: the events that count are those at the
        call.
        """
        one = np.array([row])
        roots = self._full.roots_of(one)
        apart = self._full.begun(one, [history], roots)
        yield from self._full.steps(apart, one, [history], roots, to_end=True)
        return bits_in(apart, 0)

    def begin_epoch(self, row: int, time: float) -> list[AlertChange] | None:
        """Begin an epoch of one series after all its pairs; return how its alert changes.

        None where its evidence is out of date: its pairs must be replayed.
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

    def preview(self, pairs: Records) -> list[AlertChange]:
        """Return what :meth:`step` would for newer pairs of one series; its evidence stays."""
        series, counts, inputs, times = self._steps_of(pairs)
        before = self._detector.copies(series)
        found = self._detector.advance(series, np.cumsum(counts) - counts, inputs)
        self._detector.put_back(series, *before)
        return changes_of(found, np.arange(self._rings.known.size), times)

    def replay_disturbed(self, rows: Iterable[int]) -> list[AlertChange]:
        """Replay those of ``rows`` whose past changed; return how their alerts differ from before.

        ``taken_back`` receives those whose alert should never have fired, given the past as it is
        now.
        """
        some = [row for row in rows if row in self.disturbed]
        if not some:
            return []
        series = np.array(some)
        since = np.array([self.disturbed.pop(row) for row in some])
        before = self._detector.states(series).tolist()
        self._rings.copies.open(series)
        counts, after = self._rings.go_back(series, since)
        far = [self._far.before(*each) for each in zip(some, since.tolist(), strict=True)]
        seen: list[AlertChange] = []
        old = np.flatnonzero(counts < 0)
        if old.size:
            from_far = [far[at] for at in old.tolist()]
            from_time = float(times_of(from_far).min())
            histories = self._histories(series[old].tolist(), from_time)
            parts = _parts(series[old], from_far, histories)
            counts[old], after[old] = self._replay_old(series[old], from_far, parts, seen)
        seen += self._rings.replay_ends(series, counts, after)
        return self._differences(series, before, seen)

    def keep(self, rows: Int) -> list[KeptEvidence]:
        """Return the evidence of ``rows`` for later starts.

        Of a series that waits for a replay it is a copy from before the change, which is still the
        state after the pairs up to there; a series without one is left out.
        """
        some = rows[self._rings.known[rows] & (self._windows.rings.held[rows] > 0)]
        found, is_copied = self._rings.settled(some)
        since = np.array([self.disturbed.get(row, np.inf) for row in some.tolist()])
        stands = (since == np.inf) | is_copied & (found.times < since)
        return self.keeper.made(some[stands], *(column[stands] for column in found))

    def resumable(self, kept: Iterable[KeptEvidence], up_to: UpTo) -> dict[int, Resumed]:
        """Return the states that can be resumed, by row; for ``up_to`` see :data:`.UpTo`."""
        found = {each.series: self.keeper.resumable(each, up_to) for each in kept}
        return {row: each for row, each in found.items() if each is not None}

    def replay_recalled(
        self,
        histories: Mapping[int, Records],
        resumed: Mapping[int, Resumed],
        fired: Collection[int] = (),
    ) -> list[AlertChange]:
        """Replay series of which nothing is loaded yet; return how their alerts change.

        ``histories`` has all pairs of each, or those from the first one that what is ``resumed``
        needs. ``fired`` are series whose alert fired before their past changed, after what is
        resumed of them.
        """
        series = np.array([*histories])
        since = np.array([self.disturbed.pop(row, np.inf) for row in series.tolist()])
        self._rings.copies.open(series[since < np.inf])
        starts = self._resume(histories, resumed)
        has_fired = np.isin(series, [*fired])
        before = np.where(has_fired, STATES.index(FIRING), self._detector.states(series))
        compared = has_fired | ~np.isin(series, [*starts])
        far = [starts.get(row) for row in series.tolist()]
        parts = _parts(series, far, histories)
        seen: list[AlertChange] = []
        counts, after = self._replay_old(series, far, parts, seen)
        seen += self._rings.replay_ends(series, counts, after)
        shown = [each for each in seen if each.series in series[~compared]]
        return shown + self._differences(series[compared], before[compared].tolist(), seen)

    # -- inside -----------------------------------------------------------------------------

    def _resume(
        self, histories: Mapping[int, Records], resumed: Mapping[int, Resumed]
    ) -> dict[int, Checkpoint]:
        """Load states that were kept, with the z before them; return them as checkpoints."""
        rows = [row for row in histories if row in resumed]
        if not rows:
            return {}
        series, known = np.array(rows), [resumed[row] for row in rows]
        self._rings.known[series] = True
        self._detector.path[series] = [each.state.path for each in known]
        self._detector.systematic[series] = [each.state.systematic for each in known]
        sizes = np.array([each.next - each.first for each in known])
        before = [histories[row][:size] for row, size in zip(rows, sizes.tolist(), strict=True)]
        starts = np.cumsum(sizes) - sizes
        pairs = self._windows.as_kept(end_to_end(before))
        z = np.split(self._rings.input_of(series, starts, pairs), starts[1:])
        found = {}
        for row, each, own in zip(rows, known, z, strict=True):
            state = each.state.record + own.tobytes()
            found[row] = Checkpoint(each.time, each.state.id, state)
            self._far.add(row, found[row])
        self._detector.loads(series, [found[row].state for row in rows])
        return found

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
        series, starts, counts, _ = grouped(pairs)
        rows = self._windows.as_kept(pairs)
        self._rings.choose(series, rows[starts])
        inputs = self._rings.input_of(series, starts, rows)
        return series, counts, inputs, pairs["time"].copy()

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
        self._detector.loads(series, apart.dumps(np.arange(series.size)))
        times = times_of(starts)
        some = np.flatnonzero([each.size > 0 for each in old])
        if some.size:
            last = end_to_end([old[at][-1:] for at in some.tolist()])
            times[some] = last["time"]
            self._rings.copies.take(series[some], last["time"], last["id"])
        return left, times


def _parts(series: Int, far: Starts, known: Mapping[int, Records]) -> list[Records]:
    """Return the pairs of each series that come after a checkpoint, all without one."""
    parts = []
    for row, start in zip(series.tolist(), far, strict=True):
        part = known[row]
        if start is not None:
            part = part[np.searchsorted(part["time"], start.time) :]
            is_tied = part["time"] == start.time
            part = part[~(is_tied & (part["id"] <= np.uint64(start.id)))]
        parts.append(part)
    return parts
