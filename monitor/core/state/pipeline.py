"""What is made of the pairs: windows, evidence, and what is shown of both.

Rules of this file: pairs that are durable wait until somebody reaches what is made of them, which
is a function of the set of pairs: to take a few hundred costs hardly more than to take one. There
is one way to what is made, and it takes first what waits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

import numpy as np

from monitor.core.detector.detector import Detector, Replays
from monitor.core.detector.replay import Change, Watch
from monitor.core.diagnosis.columns_of import Frames
from monitor.core.fleet.eviction import Silence
from monitor.core.fleet.liveness import Arrivals
from monitor.core.model import (
    Float,
    Int,
    Records,
    in_portions,
    some_rows,
)
from monitor.core.pairing.engine import Pairing
from monitor.core.pairing.history import History
from monitor.core.pairing.series_rules import SeriesRules
from monitor.core.registry import Registry, SeriesName
from monitor.core.snapshot.build import Derived, Ground
from monitor.core.snapshot.details import Seen, Views
from monitor.core.snapshot.snapshot import Snapshot
from monitor.core.state.core_settings import Plan
from monitor.core.steps import Steps, with_each
from monitor.core.windows.epochs import Epochs
from monitor.core.windows.windows import Applied, Windows

# So many pairs wait no longer: with more at once a pair costs no less, and the data would wait.
WAITING_MAX: Final = 512


class Known(NamedTuple):
    """What is known of the series besides their pairs; it goes on changing."""

    registry: Registry
    rules: Sequence[SeriesRules]
    names: Callable[[], tuple[SeriesName, ...]]
    epochs: Epochs
    arrivals: Arrivals
    silence: Silence


class Made(NamedTuple):
    """What is made of the pairs that were applied."""

    windows: Windows
    detector: Detector
    watch: Watch
    derived: Derived
    views: Views


class Consequences:
    """State: what is made of the pairs, the pairs that wait, changes of alerts not told yet."""

    def __init__(self, plan: Plan, history: History, pairing: Pairing, known: Known) -> None:
        self._known: Final = known
        self._made: Final = self._build(plan, history, pairing)
        self._waiting: list[Records] = []
        self._waiting_pairs = 0
        self._transitions: list[Change] = []
        # How many of them had been found when each series was last looked at.
        self._looked_at: Int = np.zeros(plan.capacity, dtype=np.int64)

    @property
    def made(self) -> Made:
        """What is made of all pairs that were applied: the only way to it."""
        if self._waiting:
            self._take_waiting()
        return self._made

    # -- pairs ------------------------------------------------------------------------------

    def apply(self, pairs: Records) -> None:
        """Take changes of pairs that are durable now; they count for whatever is asked next."""
        if pairs.size:
            self._waiting.append(pairs)
            self._waiting_pairs += pairs.size
            if self._waiting_pairs >= WAITING_MAX:
                self._take_waiting()

    def recall(self, pairs: Records, standing: Int) -> None:
        """Take the pairs at the places ``standing`` (in event order) of those a journal kept."""
        gone = self._known.silence.gone
        if gone:
            standing = standing[~np.isin(pairs["series"][standing], list(gone))]
        self._step(in_portions(pairs, standing))
        for portion in in_portions(pairs, standing):
            self._follow(self.made.windows.recall(portion))

    # -- series -----------------------------------------------------------------------------

    def begin_epoch(self, row: int) -> None:
        """Cut the window of a series that is there at its latest epoch."""
        self.made.windows.begin_epoch(row, self._start_of(row))
        self.made.watch.disturb(row, -np.inf)
        self._mark_anew(row)

    def open(self, row: int, name: int, patience: float) -> None:
        """Let a series be that is new; ``name`` is the number of its sensor."""
        windows, detector = self.made.windows, self.made.detector
        detector.patience[row] = patience
        windows.names[row] = name
        windows.begin_epoch(row, self._start_of(row))

    def forget(self, rows: Iterable[int]) -> None:
        """Let go of series; what is durable of them stays."""
        for row in rows:
            self.made.windows.forget(row)
            self.made.watch.forget(row)
            self._mark_anew(row)

    def bring_back(self, rows: Int, *, recalled: bool = False) -> None:
        """Know series again that memory let go of; where all is recalled, their pairs will come."""
        silence = self._known.silence
        if not silence.gone:
            return
        windows = self.made.windows  # pairs that waited may bring some of them back
        for row in sorted(silence.gone.intersection(rows.tolist())):
            silence.came_back(row)
            if not recalled:
                windows.reload(row)
                self._made.watch.disturb(row, -np.inf)
                self._made.derived.mark(np.array([row]))

    # -- what comes out ---------------------------------------------------------------------

    def steps(self, now: float, rejected: Float, judged_most: int | None) -> Steps[Snapshot]:
        """Derive a snapshot in steps of a few milliseconds, between which pairs may be applied.

        ``rejected`` is the share of messages of each series' sensor that could not be used.
        """
        self.made.watch.taken_back = set()
        work = self._made.derived.steps(now, self._known.names(), rejected, judged_most)
        found = yield from with_each(work, lambda: self.made)
        return replace(found, gone=frozenset(self._known.silence.gone))

    def take_transitions(self) -> list[Change]:
        """Return the changes of alerts that the last snapshot shows, in the order they were found.

        What was found of a series after it was looked at is left for the next one.
        """
        found, self._transitions = self._transitions, []
        shown: list[Change] = []
        for at, change in enumerate(found):
            is_shown = at < self._looked_at[change.series]
            (shown if is_shown else self._transitions).append(change)
        self._looked_at[:] = 0
        return shown

    # -- inside -----------------------------------------------------------------------------

    def _build(self, plan: Plan, history: History, pairing: Pairing) -> Made:
        known, capacity = self._known, plan.capacity
        windows = Windows(capacity, plan.window_pairs_max, history.pairs_of, plan.window_precision)
        # Where the windows hold all that a replay may look back on, nothing else keeps it.
        in_windows = plan.replay_in_windows and plan.replay_pairs <= windows.length
        replays = Replays(
            plan.replay_pairs,
            plan.window_precision == "single",
            self._earlier if in_windows else None,
        )
        detector = Detector(np.full(capacity, 1000.0), horizon=plan.fleet.horizon, replays=replays)
        frames = Frames(windows, detector, known.rules)
        watch = Watch(
            detector,
            windows,
            history.pairs_of,
            frames.columns,
            lambda row: known.epochs.of(known.registry.keys[row]),
        )
        derived = Derived(
            Ground(
                windows,
                detector,
                pairing,
                known.rules,
                known.registry.keys,
                frames,
                history.pairs_of,
                plan.fleet,
                plan.thresholds,
                known.arrivals,
                watch.disturbed,
                self._settle,
            )
        )
        views = Views(
            Seen(
                known.registry,
                known.rules,
                known.names,
                known.epochs,
                pairing,
                windows,
                frames,
                detector,
                derived.judgement,
            )
        )
        return Made(windows, detector, watch, derived, views)

    def _take_waiting(self) -> None:
        waiting, self._waiting, self._waiting_pairs = self._waiting, [], 0
        pairs = waiting[0] if len(waiting) == 1 else np.concatenate(waiting)
        self.bring_back(pairs["series"])
        self._follow(self._made.windows.apply(pairs, lambda newer: self._step([newer])))

    def _step(self, portions: Iterable[Records]) -> None:
        """Let the evidence of series that only grow have their new pairs, before the windows do."""
        self._transitions += self.made.watch.step(map(self._undisturbed, portions))

    def _undisturbed(self, pairs: Records) -> Records:
        disturbed = self.made.watch.disturbed
        if not disturbed:
            return pairs
        return some_rows(pairs, np.flatnonzero(~np.isin(pairs["series"], list(disturbed))))

    def _earlier(self, row: int, count: int) -> Float:
        """Return the last z of a series before the pairs that its evidence is given now."""
        return self.made.watch.earlier(row, count)

    def _follow(self, applied: Applied) -> None:
        """Note what the windows took."""
        series, since, _ = applied
        watch, derived = self.made.watch, self.made.derived
        disturbed = since < np.inf
        if watch.disturbed:
            disturbed |= np.isin(series, list(watch.disturbed))
        for row, time in zip(series[disturbed].tolist(), since[disturbed].tolist(), strict=True):
            watch.disturb(row, time)
            root = watch.root(row)
            began = -math.inf if root is None else math.nextafter(root.time, math.inf)
            derived.forget(row, max(time, began))
        derived.mark(series)

    def _settle(self, rows: Int) -> None:
        """Make the evidence of ``rows`` that of their windows; what was found may be told."""
        self._transitions += self.made.watch.settle(rows.tolist())
        self._looked_at[rows] = len(self._transitions)

    def _start_of(self, row: int) -> float:
        return self._known.epochs.start_of(self._known.registry.keys[row])

    def _mark_anew(self, row: int) -> None:
        """Note that all that is shown of a series is another now."""
        self.made.derived.forget(row)
        self.made.derived.mark(np.array([row]))
