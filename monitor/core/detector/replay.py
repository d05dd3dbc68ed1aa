"""The detector fed in event order: new pairs advance it, a changed past is replayed.

Rules of this file: the evidence of a series is a function of its pairs in event order and of its
epochs, in whatever order they arrived. A replay starts from a checkpoint before the change, else
from the first pair of a window that lacks none, and only then from the first pair in the journal.
What the windows hold is replayed for many series at once. No checkpoint is older than the present
epoch. What the journal alone holds runs in a detector of its own, which keeps all it looks back on.

The first pair of a series chooses its bets, and with what is declared of systematic effects their
share of its uncertainty, which stays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np

from monitor.core.columns import Columns
from monitor.core.detector.detector import Detector
from monitor.core.detector.e_values import COVERAGE, Z, coverage_code
from monitor.core.detector.evidence_copies import DISTANCES, EvidenceCopies
from monitor.core.detector.lifecycle import STATES, StateTransition
from monitor.core.detector.series_state import STATE
from monitor.core.model import Bool, Event, Float, Int, Records
from monitor.core.pairing.series_rules import SeriesRules, explained
from monitor.core.windows.changes import grouped
from monitor.core.windows.windows import Windows

FIRING: Final = "firing"
# Pairs that are replayed between two checkpoints, and at most after the last one of the journal's.
_PIECE: Final = 2 * DISTANCES[0]
_TAIL: Final = DISTANCES[-1]
_OLD_PIECE: Final = 512  # of the journal's pairs
_ONE: Final = np.zeros(1, dtype=np.int64)  # the only series of a detector, the start of its pairs
_FRESH: Final = np.zeros(1, STATE).tobytes()


class AlertChange(NamedTuple):
    """An alert's state changed, at the event time of one pair."""

    series: int
    time: float
    before: str
    after: str
    family: str


class Checkpoint(NamedTuple):
    """The detector's state after the pair (time, id)."""

    time: float
    id: int
    state: bytes


class Replayer:
    """Feeds ``detector`` the pairs of ``windows``; ``events_of`` are a series' epochs."""

    def __init__(
        self,
        detector: Detector,
        windows: Windows,
        histories: Callable[[Sequence[int]], Mapping[int, Records]],
        complete: Callable[[Int, Int, Records], Columns],
        events_of: Callable[[int], list[Event]],
        rules: Sequence[SeriesRules],
    ) -> None:
        self._detector: Final = detector
        self._alone: Final = detector.alone()
        self._windows: Final = windows
        self._histories: Final = histories
        self._complete: Final = complete
        self._events_of: Final = events_of
        self._rules: Final = rules
        self._checkpoints: Final = EvidenceCopies(detector, detector.path.size)
        self._behind: dict[int, int] = {}  # pairs in the window from where each replay stands on
        self._roots: dict[int, Checkpoint] = {}
        self._known: Bool = np.zeros(detector.path.size, dtype=np.bool_)
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
        self._known[row] = True
        self._detector.path[row] = path
        if share is not None:
            self._detector.systematic[row] = share
        elif any(self._rules[row].systematic):
            self._take_share(row, self._windows.as_kept(self._histories([row])[row][:1]))
        if state:
            self._detector.load(row, state)
        else:
            self.disturb(row, -np.inf)
        if root is not None:
            self._roots[row] = root

    def root(self, row: int) -> Checkpoint | None:
        """Return the state that a full replay of a series starts from, None for a fresh one."""
        return self._roots.get(row)

    def move_roots(self, pairs: Mapping[int, int]) -> None:
        """Make replays start after the first so many pairs, which may then be deleted.

        ``pairs`` maps rows to a number of pairs, at least one. The series must not be disturbed.
        """
        standing = self._histories([*pairs])
        histories = [standing[row][:count] for row, count in pairs.items()]
        last = [history[-1] for history in histories]
        rows = np.array([*pairs], dtype=np.int64)
        moved = self._detector.alone(rows.size)
        moved.patience[:] = self._detector.patience[rows]
        moved.path[:] = self._detector.path[rows]
        moved.systematic[:] = self._detector.systematic[rows]
        together: list[int] = []
        for at, row in enumerate(pairs):
            root = self._roots.get(row)
            if self._begins_anew(row, float(last[at]["time"])):
                moved.load(at, self._state_after(row, histories[at]))
            else:
                together.append(at)
                if root is not None:
                    moved.load(at, root.state)
        if together:
            first = np.concatenate([histories[at] for at in together])
            _, counts, inputs, _ = self._steps_of(first)
            moved.advance(np.array(together), np.cumsum(counts) - counts, inputs)
        for at, row in enumerate(pairs):
            self._roots[row] = Checkpoint(
                float(last[at]["time"]), int(last[at]["id"]), moved.dump(at)
            )

    def earlier(self, row: int, count: int) -> Float:
        """Return the last ``count`` z of a series before what its evidence takes now."""
        rows = self._windows.up_to(row, self._behind.get(row, 0), count)
        return self._detector_input(np.array([row]), _ONE, rows)

    def evidence_bits(self, row: int) -> bytes:
        """Return which bets a series' evidence is of, and the evidence, as bits."""
        detector = self._detector
        chosen = detector.path[[row]].tobytes() + detector.systematic[[row]].tobytes()
        return bytes(chosen + detector.bits(row))

    def evidence_by(self, row: int, history: Records) -> bytes:
        """Return what :meth:`evidence_bits` should be by all pairs of a series; change nothing."""
        detector, alone = self._detector, self._alone
        known, path, share = self._known[row], detector.path[row], detector.systematic[row]
        self._start(row, history)
        self._run_epochs(row, history)
        chosen = alone.path[:1].tobytes() + alone.systematic[:1].tobytes()
        found = bytes(chosen + alone.bits(0))
        self._known[row], detector.path[row], detector.systematic[row] = known, path, share
        return found

    def begin_epoch(self, row: int, time: float) -> list[AlertChange] | None:
        """Begin an epoch of one series after all its pairs; return how its alert changes.

        None where its evidence is not that of its pairs: they must be replayed.
        """
        if row in self.disturbed or not self._known[row]:
            return None
        one = np.array([row])
        ended = self._detector.reset(one)
        self._checkpoints.open(one)
        self._checkpoints.before(one, np.array([-np.inf]))  # those before the epoch are void
        began = np.nextafter(np.array([time]), -np.inf)
        self._checkpoints.take(one, began, np.zeros(1, np.uint64))
        return [AlertChange(row, time, e.before, e.after, e.family) for e in ended]

    def forget(self, row: int) -> None:
        """Drop everything about a series."""
        self._known[row] = False
        self.disturbed.pop(row, None)
        self.taken_back.discard(row)
        self._checkpoints.forget(row)
        self._roots.pop(row, None)
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
        kept = self._checkpoints.kept_of(series)
        if kept.size:
            self._take_before_windows_change(kept)
        found = self._detector.advance(series, np.cumsum(counts) - counts, inputs)
        if kept.size:
            self._checkpoints.passed(series, counts)
        return [_change(each.series, each, times) for each in found]

    def replay_disturbed(self, rows: Iterable[int]) -> list[AlertChange]:
        """Replay those of ``rows`` whose past changed; return how their alerts differ from before.

        ``taken_back`` gets those whose alert should, by the past as it is now, never have fired.
        """
        some = [row for row in rows if row in self.disturbed]
        if not some:
            return []
        series = np.array(some)
        since = np.array([self.disturbed.pop(row) for row in some])
        before = self._detector.states(series).tolist()
        seen: dict[int, list[AlertChange]] = {row: [] for row in some}
        counts = self._go_back(series, since)
        old = series[counts < 0].tolist()
        histories = self._histories(old) if old else {}
        for at in np.flatnonzero(counts < 0).tolist():
            counts[at] = self._replay_old(some[at], histories[some[at]], seen[some[at]])
        for change in self._replay_ends(series, counts):
            seen[change.series].append(change)
        changes = []
        after = self._detector.states(series).tolist()
        for row, was, now in zip(some, before, after, strict=True):
            if STATES[was] == FIRING != STATES[now] and all(FIRING not in e for e in seen[row]):
                self.taken_back.add(row)
            if was != now and seen[row]:
                changes.append(seen[row][-1]._replace(before=STATES[was]))
        return changes

    # -- inside -----------------------------------------------------------------------------

    def _choose_path(self, series: Int, first: Records) -> None:
        """Choose at a series' first pair whether the bets are on its z or on its intervals.

        ``first`` are rows of the first pairs of each series, whose u is NaN for an interval only.
        """
        is_new = np.flatnonzero(~self._known[series])
        if not is_new.size:
            return
        new = series[is_new]
        self._known[new] = True
        self._detector.path[new] = np.where(np.isnan(first["u"][is_new]), COVERAGE, Z)
        for at, row in zip(is_new.tolist(), new.tolist(), strict=True):
            if any(self._rules[row].systematic):
                self._take_share(row, first[at : at + 1])

    def _take_share(self, row: int, first: Records) -> None:
        """Set the share that systematic effects have of a series' uncertainty by its first pair."""
        share = 0.0
        if first.size:
            one = self._complete(np.array([row]), _ONE, first)
            share = float(self._rules[row].systematic.share_of(one.u, one.u_ref)[0])
        self._detector.systematic[row] = share

    def _steps_of(self, pairs: Records) -> tuple[Int, Int, Float, Float]:
        """Return the series of some pairs, the number of each, the detector's input, and times."""
        series, starts, _ = grouped(pairs)
        rows = self._windows.as_kept(pairs)
        self._choose_path(series, rows[starts])
        inputs = self._detector_input(series, starts, rows)
        return series, np.diff(starts, append=pairs.size), inputs, pairs["time"].copy()

    def _detector_input(self, series: Int, starts: Int, rows: Records) -> Float:
        """Return z, or for interval-only sensors the code of where the reference fell."""
        complete = self._complete(series, starts, rows)
        covers = self._detector.path[series] == COVERAGE
        if not covers.any():
            return complete.z
        lower, upper = complete.widened
        shares = self._detector.systematic[series]
        if shares.any():
            most = complete.times(complete.u_eff, explained(shares))
            lower, upper = lower - most, upper + most
        codes = coverage_code(complete.reference, lower, upper, complete.alpha)
        return np.where(np.repeat(covers, complete.counts), codes, complete.z)

    def _take_before_windows_change(self, series: Int) -> None:
        """Keep checkpoints after the newest pairs that the windows of ``series`` hold."""
        series = series[self._windows.counts(series) > 0]
        last = self._windows.last(series, np.ones_like(series))
        self._checkpoints.take(series, last["time"], last["id"])

    def _go_back(self, series: Int, since: Float) -> Int:
        """Put evidence back to before it changed; return how many rows of each window are next.

        -1 where neither a checkpoint nor the window reaches back so far.
        """
        self._checkpoints.open(series)
        found = self._checkpoints.before(series, since)
        counts = self._windows.later_than(series, found.times, found.ids)
        counts[found.entries < 0] = -1
        is_near = counts >= 0
        self._checkpoints.go_back(series[is_near], found.entries[is_near])
        is_new = ~is_near & self._windows.is_whole(series)
        is_new &= ~np.isin(series, np.array([*self._roots], dtype=np.int64))
        counts[is_new] = self._begin(series[is_new])
        return counts

    def _begin(self, series: Int) -> Int:
        """Begin evidence with the first pairs in the windows; return how many there are."""
        counts = self._windows.held(series)
        self._detector.forget(series)
        self._known[series] = False
        some = series[counts > 0]
        rows = self._windows.last(some, counts[counts > 0])
        firsts = np.cumsum(counts[counts > 0]) - counts[counts > 0]
        self._choose_path(some, rows[firsts])
        return counts

    def _replay_old(self, row: int, history: Records, seen: list[AlertChange]) -> int:
        """Replay one series up to the end of its window; return how many rows are left there."""
        left = min(int(self._windows.held(np.array([row]))[0]), history.size, _TAIL)
        old = history[: history.size - left]
        self._start(row, history)
        seen += self._run_epochs(row, old)
        self._detector.load(row, self._alone.dump(0))
        if old.size and left:
            # What changes before the epoch changes what was learnt: that state is the epoch's.
            began = np.nextafter(self._windows.epoch(row), -np.inf)
            after = np.maximum(old["time"][-1:], began)
            self._checkpoints.take(np.array([row]), after, old["id"][-1:])
        return left

    def _replay_ends(self, series: Int, counts: Int) -> list[AlertChange]:
        """Advance series through the last rows of their windows, so many of each."""
        series, counts = series[counts > 0], counts[counts > 0]
        rows = self._windows.last(series, counts)
        first, seen = np.cumsum(counts) - counts, []
        for done in range(0, int(counts.max(initial=0)), _PIECE):
            some = counts > done
            left = counts[some] - done
            size, now = np.minimum(left, _PIECE), series[some]
            if done:
                last = rows[first[some] + done - 1]
                self._checkpoints.take(now, last["time"], last["id"])
            starts = np.cumsum(size) - size
            within = np.arange(size.sum()) + np.repeat(first[some] + done - starts, size)
            piece = rows[within]
            self._behind = dict(zip(now.tolist(), left.tolist(), strict=True))
            inputs = self._detector_input(now, starts, piece)
            found = self._detector.advance(now, starts, inputs)
            self._checkpoints.passed(now, size)
            seen += [_change(each.series, each, piece["time"]) for each in found]
        self._behind = {}
        return seen

    def _load(self, row: int, state: bytes) -> None:
        """Load the state of a series into the detector for replays."""
        self._alone.patience[0] = self._detector.patience[row]
        self._alone.path[0] = self._detector.path[row]
        self._alone.systematic[0] = self._detector.systematic[row]
        self._alone.load(0, state)

    def _start(self, row: int, history: Records) -> None:
        """Load the state that a series had before the first pair of its history."""
        root = self._roots.get(row)
        if root is not None:
            self._load(row, root.state)
            return
        self._known[row] = False
        self._detector.path[row], self._detector.systematic[row] = Z, 0.0
        first = self._windows.as_kept(history[:1])
        self._choose_path(np.array([row])[: history.size], first)
        self._load(row, _FRESH)

    def _begins_anew(self, row: int, until: float) -> bool:
        """Return whether an epoch began by a time that the root of a series does not include."""
        root = self._roots.get(row)
        began = -np.inf if root is None else root.time
        return any(began < each.time <= until for each in self._events_of(row))

    def _state_after(self, row: int, history: Records) -> bytes:
        """Return the state of one series after the first pairs of its history."""
        self._start(row, history)
        self._run_epochs(row, history, float(history["time"][-1]))
        return self._alone.dump(0)

    def _run_epochs(self, row: int, history: Records, until: float = np.inf) -> list[AlertChange]:
        """Advance one series through its history, reset at each epoch after its root."""
        root = self._roots.get(row)
        began = -np.inf if root is None else root.time
        events = self._events_of(row)
        cuts = np.array([each.time for each in events if began < each.time <= until])
        places = np.searchsorted(history["time"], cuts).tolist()
        seen: list[AlertChange] = []
        for at, (first, last) in enumerate(pairwise([0, *places, history.size])):
            if first or (at and root is not None):
                self._alone.reset(_ONE)
            rows = self._windows.as_kept(history[first:last])
            for begin in range(0, rows.size, _OLD_PIECE):
                piece = rows[begin : begin + _OLD_PIECE]
                z = self._detector_input(np.array([row]), _ONE, piece)
                found = self._alone.advance(_ONE, _ONE, z)
                seen += [_change(row, each, piece["time"]) for each in found]
        return seen


def _change(row: int, transition: StateTransition, times: Float) -> AlertChange:
    time = float(times[transition.position])
    return AlertChange(row, time, transition.before, transition.after, transition.family)
