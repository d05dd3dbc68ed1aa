"""The detector fed in event order: new pairs advance it, a changed past is replayed.

Rules of this file: the evidence of a series is a function of its pairs in event order and of its
epochs, in whatever order they arrived. A replay starts from a checkpoint before the change, else
from the first pair in the journal; only series whose past changes have checkpoints. It runs in a
detector of its own, because the main one may read the windows, which hold the present. No
checkpoint is older than the present epoch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np

from monitor.core.columns import Columns
from monitor.core.detector.detector import Detector
from monitor.core.detector.e_values import COVERAGE, Z, coverage_code
from monitor.core.detector.lifecycle import STATES, StateTransition
from monitor.core.detector.series_state import STATE
from monitor.core.model import Bool, Event, Float, Int, Records
from monitor.core.windows.changes import grouped
from monitor.core.windows.windows import History, Windows

FIRING: Final = "firing"
# Pairs between two checkpoints.
CHECKPOINT_PAIRS: Final = 64
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
        history: History,
        complete: Callable[[Int, Int, Records], Columns],
        events_of: Callable[[int], list[Event]],
    ) -> None:
        self._detector: Final = detector
        self._alone: Final = detector.alone()
        self._windows: Final = windows
        self._history: Final = history
        self._complete: Final = complete
        self._events_of: Final = events_of
        self._checkpoints: dict[int, list[Checkpoint]] = {}
        self._roots: dict[int, Checkpoint] = {}
        self._known: Bool = np.zeros(detector.path.size, dtype=np.bool_)
        self.disturbed: dict[int, float] = {}
        self.taken_back: set[int] = set()

    def disturb(self, row: int, since: float) -> None:
        """Mark a series whose past changed from an event time on."""
        self.disturbed[row] = min(since, self.disturbed.get(row, np.inf))

    def resume(self, row: int, path: int, state: bytes, root: Checkpoint | None = None) -> None:
        """Load saved evidence: ``state`` as the detector dumped it; empty: it is gathered anew.

        ``root`` is the state before the first pair that the history still has.
        """
        self._known[row] = True
        self._detector.path[row] = path
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
        histories = [self._history(row)[:count] for row, count in pairs.items()]
        last = [history[-1] for history in histories]
        rows = np.array([*pairs], dtype=np.int64)
        moved = self._detector.alone(rows.size)
        moved.patience[:] = self._detector.patience[rows]
        moved.path[:] = self._detector.path[rows]
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
            standing = np.concatenate([histories[at] for at in together])
            _, counts, inputs, _ = self._steps_of(standing)
            moved.advance(np.array(together), np.cumsum(counts) - counts, inputs)
        for at, row in enumerate(pairs):
            self._roots[row] = Checkpoint(
                float(last[at]["time"]), int(last[at]["id"]), moved.dump(at)
            )

    def earlier(self, row: int, count: int) -> Float:
        """Return the last ``count`` z of a series, from the pairs in its window."""
        return self._detector_input(np.array([row]), _ONE, self._windows.rows(row)[-count:])

    def evidence_bits(self, row: int) -> bytes:
        """Return which bets a series' evidence is of, and the evidence, as bits."""
        return bytes(self._detector.path[[row]].tobytes() + self._detector.bits(row))

    def evidence_by(self, row: int, history: Records) -> bytes:
        """Return what :meth:`evidence_bits` should be by all pairs of a series; change nothing."""
        known, path = self._known[row], self._detector.path[row]
        kept = self._checkpoints.pop(row, None)
        self._start(row, history)
        self._run_epochs(row, history)
        found = bytes(self._alone.path[:1].tobytes() + self._alone.bits(0))
        self._known[row], self._detector.path[row] = known, path
        self._checkpoints.pop(row, None)
        if kept is not None:
            self._checkpoints[row] = kept
        return found

    def forget(self, row: int) -> None:
        """Drop everything about a series."""
        self._known[row] = False
        self.disturbed.pop(row, None)
        self.taken_back.discard(row)
        self._checkpoints.pop(row, None)
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
        found = self._detector.advance(series, np.cumsum(counts) - counts, inputs)
        return [_change(each.series, each, times) for each in found]

    def replay_disturbed(self, rows: Iterable[int]) -> list[AlertChange]:
        """Replay those of ``rows`` whose past changed; return how their alerts differ from before.

        ``taken_back`` gets those whose alert should, by the past as it is now, never have fired.
        """
        changes = []
        for row in rows:
            since = self.disturbed.pop(row, None)
            if since is None:
                continue
            one = np.array([row])
            before = STATES[int(self._detector.states(one)[0])]
            seen = self._replay(row, since)
            after = STATES[int(self._detector.states(one)[0])]
            if before == FIRING != after and all(FIRING not in each for each in seen):
                self.taken_back.add(row)
            if before != after and seen:
                changes.append(seen[-1]._replace(before=before))
        return changes

    # -- inside -----------------------------------------------------------------------------

    def _choose_path(self, series: Int, u: Float) -> None:
        """Choose at a series' first pair whether the bets are on its z or on its intervals.

        ``u`` is what the first pair of each series states, NaN for an interval only.
        """
        is_new = ~self._known[series]
        self._known[series] = True
        self._detector.path[series[is_new]] = np.where(np.isnan(u[is_new]), COVERAGE, Z)

    def _steps_of(self, pairs: Records) -> tuple[Int, Int, Float, Float]:
        """Return the series of some pairs, the number of each, the detector's input, and times."""
        series, starts, _ = grouped(pairs)
        self._choose_path(series, pairs["u"][starts])
        inputs = self._detector_input(series, starts, self._windows.as_kept(pairs))
        return series, np.diff(starts, append=pairs.size), inputs, pairs["time"].copy()

    def _detector_input(self, series: Int, starts: Int, rows: Records) -> Float:
        """Return z, or for interval-only sensors the code of where the reference fell."""
        complete = self._complete(series, starts, rows)
        covers = self._detector.path[series] == COVERAGE
        if not covers.any():
            return complete.z
        codes = coverage_code(complete.reference, *complete.widened, complete.alpha)
        return np.where(np.repeat(covers, complete.counts), codes, complete.z)

    def _replay(self, row: int, since: float) -> list[AlertChange]:
        seen = self._replay_since(row, since)
        self._detector.load(row, self._alone.dump(0))
        return seen

    def _replay_since(self, row: int, since: float) -> list[AlertChange]:
        kept = self._checkpoints.get(row, [])
        while kept and not kept[-1].time < since:
            kept.pop()
        if kept:
            one = np.array([row])
            count = self._windows.later_than(
                one, np.array([kept[-1].time]), np.array([kept[-1].id], dtype=np.uint64)
            )
            if count[0] >= 0:
                rows = self._windows.last(one, count)
                self._load(row, kept[-1].state)
                return self._run(row, rows)
        kept.clear()
        return self._replay_all(row)

    def _load(self, row: int, state: bytes) -> None:
        """Load the state of a series into the detector for replays."""
        self._alone.patience[0] = self._detector.patience[row]
        self._alone.path[0] = self._detector.path[row]
        self._alone.load(0, state)

    def _replay_all(self, row: int) -> list[AlertChange]:
        history = self._history(row)
        self._start(row, history)
        return self._run_epochs(row, history)

    def _start(self, row: int, history: Records) -> None:
        """Load the state that a series had before the first pair of its history."""
        root = self._roots.get(row)
        if root is not None:
            self._load(row, root.state)
            return
        self._known[row] = False
        self._detector.path[row] = Z
        self._choose_path(np.array([row])[: history.size], history["u"][:1])
        self._load(row, _FRESH)

    def _begins_anew(self, row: int, until: float) -> bool:
        """Return whether an epoch began by a time that the root of a series does not include."""
        root = self._roots.get(row)
        began = -np.inf if root is None else root.time
        return any(began < each.time <= until for each in self._events_of(row))

    def _state_after(self, row: int, history: Records) -> bytes:
        """Return the state of one series after the first pairs of its history."""
        kept = self._checkpoints.pop(row, None)
        self._start(row, history)
        self._run_epochs(row, history, float(history["time"][-1]))
        self._checkpoints.pop(row, None)
        if kept:
            self._checkpoints[row] = kept
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
                # From a state before an epoch a replay would never come to its beginning: the
                # windows, which it reads then, hold only what came after.
                self._checkpoints.pop(row, None)
            seen += self._run(row, self._windows.as_kept(history[first:last]))
        return seen

    def _run(self, row: int, rows: Records) -> list[AlertChange]:
        """Advance one series through ``rows`` and keep checkpoints."""
        seen: list[AlertChange] = []
        for first in range(0, rows.size, CHECKPOINT_PAIRS):
            piece = rows[first : first + CHECKPOINT_PAIRS]
            z = self._detector_input(np.array([row]), _ONE, piece)
            found = self._alone.advance(_ONE, _ONE, z)
            seen += [_change(row, transition, piece["time"]) for transition in found]
            if piece.size == CHECKPOINT_PAIRS:
                self._keep(row, piece[-1])
        return seen

    def _keep(self, row: int, last: np.void) -> None:
        kept = self._checkpoints.setdefault(row, [])
        state = self._alone.dump(0)
        kept.append(Checkpoint(float(last["time"]), int(last["id"]), state))
        del kept[:-2]


def _change(row: int, transition: StateTransition, times: Float) -> AlertChange:
    time = float(times[transition.position])
    return AlertChange(row, time, transition.before, transition.after, transition.family)
