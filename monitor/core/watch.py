"""The detector, fed in event order: new pairs step it, a changed past is replayed.

Rules of this file: the evidence of a series is a function of its pairs in event order and of its
epochs, whatever way they came. A replay starts from a checkpoint before the change if there is
one, else from the first pair in the journal; only series whose past changes have checkpoints.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np

from monitor.core.bets import COVERAGE, coverage_code
from monitor.core.columns import Columns
from monitor.core.detection import STATE, Detector
from monitor.core.lifecycle import STATES, Transition
from monitor.core.model import Event, Float, Int, Records
from monitor.core.windows import History, Windows, grouped, portions

FIRING: Final = "firing"
# A checkpoint is taken when so many pairs came since the last one.
CHECKPOINT_PAIRS: Final = 64
_NONE: Final = np.zeros(1, dtype=np.int64)


class Change(NamedTuple):
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


class Watch:
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
        self._windows: Final = windows
        self._history: Final = history
        self._complete: Final = complete
        self._events_of: Final = events_of
        self._checkpoints: dict[int, list[Checkpoint]] = {}
        self._roots: dict[int, Checkpoint] = {}
        self._known: set[int] = set()
        self.disturbed: dict[int, float] = {}
        self.taken_back: set[int] = set()

    def disturb(self, row: int, since: float) -> None:
        """Note that the past of a series changed from an event time on."""
        self.disturbed[row] = min(since, self.disturbed.get(row, np.inf))

    def resume(self, row: int, path: int, state: bytes, root: Checkpoint | None = None) -> None:
        """Go on with evidence that was saved: ``state`` as the detector dumped it.

        ``root`` is the state before the first pair that the history still has.
        """
        self._known.add(row)
        self._detector.path[row] = path
        self._detector.load(row, state)
        if root is not None:
            self._roots[row] = root

    def root(self, row: int) -> Checkpoint | None:
        """Return the state that a full replay of a series starts from, None for a fresh one."""
        return self._roots.get(row)

    def move_root(self, row: int, pairs: int) -> Checkpoint:
        """Let replays start after the first ``pairs`` of the history, which may be forgotten then.

        The series must be settled.
        """
        history = self._history(row)[:pairs]
        now, kept = self._detector.dump(row), self._checkpoints.pop(row, None)
        last = history[-1]
        self._start(row, history)
        self._run_epochs(row, history, float(last["time"]))
        root = Checkpoint(float(last["time"]), int(last["id"]), self._detector.dump(row))
        self._detector.load(row, now)
        self._roots[row] = root
        if kept:
            self._checkpoints[row] = kept
        else:
            self._checkpoints.pop(row, None)
        return root

    def step(self, pairs: Records) -> list[Change]:
        """Take pairs newer than all before of their series, ordered (series, time, id)."""
        if not pairs.size:
            return []
        series, starts, _ = changes = grouped(pairs)
        self._learn_form(series, pairs["u"][starts])
        bet_on = [
            self._bet_on(each.series, each.starts, self._windows.as_kept(each.rows))
            for each in portions(changes)
        ]
        found = self._detector.advance(series, starts, np.concatenate(bet_on))
        return [_change(transition, pairs["time"]) for transition in found]

    def settle(self, rows: Iterable[int]) -> list[Change]:
        """Replay those of ``rows`` whose past changed; return how their alerts differ from before.

        ``taken_back`` gets those that fired before and, as the past is now, never did.
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

    def _learn_form(self, series: Int, u: Float) -> None:
        """Choose, at a series' first pair, whether its intervals or its z are bet on.

        ``u`` is what each series' first pair here states, NaN for an interval only.
        """
        for row, stated in zip(series.tolist(), u.tolist(), strict=True):
            if row not in self._known:
                self._known.add(row)
                self._detector.path[row] = COVERAGE if math.isnan(stated) else 0

    def _bet_on(self, series: Int, starts: Int, rows: Records) -> Float:
        """Return what is bet on: z, or where the reference fell of a series with intervals only."""
        complete = self._complete(series, starts, rows)
        covers = self._detector.path[series] == COVERAGE
        if not covers.any():
            return complete.z
        codes = coverage_code(complete.reference, complete.lower, complete.upper, complete.alpha)
        return np.where(np.repeat(covers, complete.counts), codes, complete.z)

    def _replay(self, row: int, since: float) -> list[Change]:
        kept = self._checkpoints.setdefault(row, [])
        while kept and not kept[-1].time < since:
            kept.pop()
        if kept:
            rows = self._windows.after(row, kept[-1].time, kept[-1].id)
            if rows is not None:
                self._detector.load(row, kept[-1].state)
                return self._run(row, rows)
        kept.clear()
        return self._replay_all(row)

    def _replay_all(self, row: int) -> list[Change]:
        history = self._history(row)
        self._start(row, history)
        return self._run_epochs(row, history)

    def _start(self, row: int, history: Records) -> None:
        """Set the state of one series to what it was before the first pair of its history."""
        root = self._roots.get(row)
        if root is not None:
            self._detector.load(row, root.state)
            return
        self._known.discard(row)
        self._learn_form(np.array([row])[: history.size], history["u"][:1])
        self._detector.restore(np.array([row]), np.zeros(1, STATE), _NONE, np.zeros(0))

    def _run_epochs(self, row: int, history: Records, until: float = np.inf) -> list[Change]:
        """Step one series through its history, anew at each epoch that the start does not know."""
        root = self._roots.get(row)
        began = -np.inf if root is None else root.time
        events = self._events_of(row)
        cuts = np.array([each.time for each in events if began < each.time <= until])
        places = np.searchsorted(history["time"], cuts).tolist()
        seen: list[Change] = []
        for at, (first, last) in enumerate(pairwise([0, *places, history.size])):
            if first or (at and root is not None):
                self._detector.reset(np.array([row]))
            seen += self._run(row, self._windows.as_kept(history[first:last]))
        return seen

    def _run(self, row: int, rows: Records) -> list[Change]:
        """Step one series through ``rows``, leaving checkpoints behind."""
        one = np.array([row])
        seen: list[Change] = []
        for first in range(0, rows.size, CHECKPOINT_PAIRS):
            piece = rows[first : first + CHECKPOINT_PAIRS]
            found = self._detector.advance(one, _NONE, self._bet_on(one, _NONE, piece))
            seen += [_change(transition, piece["time"]) for transition in found]
            if piece.size == CHECKPOINT_PAIRS:
                self._keep(row, piece[-1])
        return seen

    def _keep(self, row: int, last: np.void) -> None:
        kept = self._checkpoints.setdefault(row, [])
        state = self._detector.dump(row)
        kept.append(Checkpoint(float(last["time"]), int(last["id"]), state))
        del kept[:-2]


def _change(transition: Transition, times: Float) -> Change:
    time = float(times[transition.position])
    return Change(transition.series, time, transition.before, transition.after, transition.family)
