"""The pipeline behind the pairs: windows, evidence, and the snapshot derived from both.

Rules of this file: durable pairs wait until somebody reads a stage, because applying a few hundred
costs hardly more than applying one. A read that must see all durable pairs goes through
``Pipeline.stages``, which applies what waits first; ``_stages`` is for what needs no pair. Stages
are functions of the set of pairs, so the waiting cannot be observed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

import numpy as np

from monitor.core.columns import Columns
from monitor.core.detector.detector import Detector, Replays
from monitor.core.detector.kept_evidence import KeptEvidence
from monitor.core.detector.replay import AlertChange, Replayer
from monitor.core.diagnosis.columns_of import SeriesColumns
from monitor.core.fleet.presence import Eviction, HeardTimes
from monitor.core.model import Bool, Event, Float, Int, Records, some_rows
from monitor.core.pairing.engine import Pairing
from monitor.core.pairing.reference_revisions import History
from monitor.core.pairing.series_rules import SeriesRules
from monitor.core.registry import Registry, SeriesName
from monitor.core.snapshot.build import SnapshotBuilder, SnapshotSources
from monitor.core.snapshot.details import DetailReader, DetailSources
from monitor.core.snapshot.snapshot import Snapshot
from monitor.core.state.core_settings import CoreSettings
from monitor.core.state.recalled import Recalled
from monitor.core.state.self_check import CheckedStages, Compared, compare_states
from monitor.core.steps import Steps, with_each
from monitor.core.windows.rings import window_rows
from monitor.core.windows.windows import Applied, Epochs, Windows

# A larger number would not be cheaper per pair, and would delay the messages behind them.
WAITING_MAX: Final = 512
CHECKED_MOST: Final = 1 << 14  # changes of pairs of a series; 2 MB
# Pairs that are replayed together when all are in memory: so many, or this fraction of all.
_RECALLED_PAIRS: Final = 1 << 20
_RECALLED_PORTIONS: Final = 8


class Context(NamedTuple):
    """What the pipeline reads of the series besides their pairs; it goes on changing."""

    registry: Registry
    rules: Sequence[SeriesRules]
    names: Callable[[], tuple[SeriesName, ...]]
    epochs: Epochs
    arrivals: HeardTimes
    eviction: Eviction


class Stages(NamedTuple):
    """The stages, in the order in which pairs pass them."""

    windows: Windows
    detector: Detector
    replayer: Replayer
    derived: SnapshotBuilder
    views: DetailReader


class Pipeline:
    """State: the stages, the pairs that wait, and changes of alerts that nobody drained yet."""

    def __init__(
        self, settings: CoreSettings, history: History, pairing: Pairing, context: Context
    ) -> None:
        self._context: Final = context
        self._history: Final = history
        self._recalled: Recalled | None = None  # during a start: the whole history
        self._stages: Final = self._build(settings, history, pairing)
        self._waiting: list[Records] = []
        self._waiting_pairs = 0
        self._transitions: list[AlertChange] = []
        # How many transitions had been found when each series was last evaluated.
        self._looked_at: Int = np.zeros(settings.capacity, dtype=np.int64)

    @property
    def stages(self) -> Stages:
        """The stages, with all pairs that wait applied."""
        if self._waiting:
            self._apply_waiting()
        return self._stages

    # -- pairs ------------------------------------------------------------------------------

    def self_check(self, row: int, *, is_whole: bool) -> Steps[Compared | None]:
        """Compare a series with its history; None while its evidence waits to be recomputed.

        Of a history of more than ``CHECKED_MOST`` changes only what its window rests on is read, so
        that neither the memory nor the time of a check grows with it.
        """
        stages = self.stages
        if row in stages.replayer.disturbed or row in self._context.eviction.evicted:
            return None
        checked = CheckedStages(
            stages.windows, stages.replayer, self._columns_of, stages.derived.stats
        )
        since = -math.inf
        if self._history.changes_of(row) > CHECKED_MOST:
            is_whole, since = False, stages.windows.since(row)
        history = self._history.pairs_of_each((row,), since)[row]
        rules = self._context.rules[row]
        return (yield from compare_states(checked, row, rules, history, is_whole=is_whole))

    def as_columns(self, row: int, pairs: Records) -> Columns:
        """Return pairs of one series, at least one, as columns in double precision."""
        starts = np.zeros(1, dtype=np.int64)
        return self._columns_of.columns(np.array([row]), starts, window_rows(pairs))

    def renew(self, row: int) -> None:
        """Recompute everything about a series from its history."""
        windows = self.stages.windows
        windows.forget(row)
        windows.begin_epoch(row, self._start_of(row))
        windows.reload(row)
        self._stages.replayer.disturb(row, -np.inf)
        self._mark_anew(row)

    def foresee(self, changes: Records) -> None:
        """Void the onsets that ``changes`` outdate, so that the note of their batch says so."""
        self._stages.derived.reports.void(changes)

    def apply(self, pairs: Records) -> None:
        """Apply changes of pairs that are durable now; the next read of a stage sees them."""
        if pairs.size:
            self._waiting.append(pairs)
            self._waiting_pairs += pairs.size
            if self._waiting_pairs >= WAITING_MAX:
                self._apply_waiting()

    def recall(
        self, pairs: Records, standing: Int, notes: Sequence[KeptEvidence], *, is_resumed: bool
    ) -> None:
        """Apply the pairs at the places ``standing`` (in event order) of those a journal kept.

        Evidence continues from its ``notes``. ``is_resumed``: evidence that is not up to
        date is loaded afterwards.
        """
        gone = self._context.eviction.evicted
        if gone:
            standing = standing[~np.isin(pairs["series"][standing], list(gone))]
        self._recalled = recalled = Recalled(pairs, standing)
        windows = self.stages.windows
        for portion, firsts in recalled.ends(windows.length + 1):  # one more has left the ring
            self._follow(windows.recall(portion, firsts))
        if not is_resumed:
            self._replay_recalled(recalled, [each for each in notes if each.series not in gone])
        self._recalled = None

    def keep_evidence(self, whole: Bool, most: int) -> list[KeptEvidence]:
        """Return the evidence of some series for the next start to go on from.

        Only that of series whose history is ``whole``, and whose alerts a snapshot has shown.
        """
        replayer = self.stages.replayer
        due = replayer.keeper.due()
        unshown = [change.series for change in self._transitions]
        due = due[whole[due] & ~np.isin(due, [*unshown, *self._context.eviction.evicted])]
        return replayer.keep(due[:most])

    def drop_kept(self) -> None:
        """Note that the store has dropped pairs, and with them the kept evidence."""
        self.stages.replayer.keeper.drop()

    # -- series -----------------------------------------------------------------------------

    def begin_epoch(self, row: int, time: float) -> None:
        """Restrict an existing series to its latest epoch; its epochs changed from ``time`` on."""
        windows, replayer = self.stages.windows, self._stages.replayer
        start, former = self._start_of(row), windows.epoch(row)
        newest = np.nan_to_num(windows.newest(np.array([row]))[0], nan=-np.inf)
        windows.begin_epoch(row, start)
        is_next = time == start > max(former, newest)
        ended = replayer.begin_epoch(row, start) if is_next else None
        if ended is None:
            replayer.disturb(row, time)
        else:
            self._transitions += ended
        self._mark_anew(row)

    def open(self, row: int, name: int, patience: float) -> None:
        """Open a new series; ``name`` is the digest of its sensor."""
        windows, detector = self.stages.windows, self.stages.detector
        detector.patience[row] = patience
        windows.names[row] = name
        windows.begin_epoch(row, self._start_of(row))

    def forget(self, rows: Iterable[int]) -> None:
        """Drop series from memory; their durable data stay."""
        for row in rows:
            self.stages.windows.forget(row)
            self.stages.replayer.forget(row)
            self._mark_anew(row)

    def readmit(self, rows: Int, *, recalled: bool = False) -> None:
        """Load evicted series again; during a recall their pairs come anyway."""
        eviction = self._context.eviction
        if not eviction.evicted:
            return
        windows = self.stages.windows  # pairs that waited may bring some of them back
        for row in sorted(eviction.evicted.intersection(rows.tolist())):
            eviction.readmit(row)
            if not recalled:
                windows.reload(row)
                self._stages.replayer.disturb(row, -np.inf)
                self._stages.derived.mark(np.array([row]))

    # -- what comes out ---------------------------------------------------------------------

    def steps(self, now: float, rejected: Float, judged_most: int | None) -> Steps[Snapshot]:
        """Derive a snapshot in steps of a few milliseconds, between which pairs may be applied.

        ``rejected`` is the share of messages of each series' sensor that could not be used.
        """
        work = self._stages.derived.steps(now, self._context.names(), rejected, judged_most)
        snapshot = yield from with_each(work, lambda: self.stages)
        return replace(snapshot, gone=frozenset(self._context.eviction.evicted))

    def drain_transitions(self) -> list[AlertChange]:
        """Return the changes of alerts that the last snapshot shows, in the order they were found.

        Changes found after a series was evaluated are left for the next snapshot.
        """
        transitions, self._transitions = self._transitions, []
        shown: list[AlertChange] = []
        for at, change in enumerate(transitions):
            is_shown = at < self._looked_at[change.series]
            (shown if is_shown else self._transitions).append(change)
        self._looked_at[:] = 0
        return shown

    def drain_taken_back(self) -> frozenset[int]:
        """Return the series whose alert should never have fired, given the past as it is now."""
        replayer = self.stages.replayer
        taken_back, replayer.taken_back = frozenset(replayer.taken_back), set()
        return taken_back

    # -- inside -----------------------------------------------------------------------------

    def _build(self, settings: CoreSettings, history: History, pairing: Pairing) -> Stages:
        context, capacity = self._context, settings.capacity
        windows = Windows(
            capacity, settings.window_pairs_max, self._pairs_of, settings.window_precision
        )
        # Where the windows hold everything that a replay may need, nothing else stores it.
        in_windows = settings.replay_in_windows and settings.replay_pairs <= windows.length
        replays = Replays(
            settings.replay_pairs,
            settings.window_precision == "single",
            self._earlier if in_windows else None,
        )
        detector = Detector(
            np.full(capacity, 1000.0), horizon=settings.fleet.horizon, replays=replays
        )
        frames = SeriesColumns(windows, detector, context.rules)
        self._columns_of = frames

        def events_of(row: int) -> list[Event]:
            return context.epochs.of(context.registry.keys[row])

        replayer = Replayer(
            detector,
            windows,
            history.pairs_of_each,
            frames.columns,
            events_of,
            context.rules,
            settings.program,
        )
        derived = SnapshotBuilder(
            SnapshotSources(
                windows,
                detector,
                pairing,
                context.rules,
                context.registry.keys,
                frames,
                history.pairs_of,
                settings.fleet,
                settings.thresholds,
                context.arrivals,
                replayer.disturbed,
                self._replay_disturbed,
                events_of,
                [make() for make in settings.additions],
            )
        )
        views = DetailReader(
            DetailSources(
                context.registry,
                context.rules,
                context.names,
                context.epochs,
                pairing,
                windows,
                frames,
                derived.reports.get,
            )
        )
        return Stages(windows, detector, replayer, derived, views)

    def _apply_waiting(self) -> None:
        waiting, self._waiting, self._waiting_pairs = self._waiting, [], 0
        pairs = waiting[0] if len(waiting) == 1 else np.concatenate(waiting)
        self.readmit(pairs["series"])
        self._stages.replayer.keeper.count(pairs["series"])
        self._follow(self._stages.windows.apply(pairs, lambda newer: self._step([newer])))

    def _step(self, portions: Iterable[Records]) -> None:
        """Advance the evidence of series that only grow, before the windows have the new pairs."""
        self._transitions += self.stages.replayer.step(map(self._undisturbed, portions))

    def _undisturbed(self, pairs: Records) -> Records:
        disturbed = self.stages.replayer.disturbed
        if not disturbed:
            return pairs
        return some_rows(pairs, np.flatnonzero(~np.isin(pairs["series"], list(disturbed))))

    def _earlier(self, row: int, count: int) -> Float:
        """Return the last z of a series before the pairs that its evidence takes now."""
        return self.stages.replayer.earlier(row, count)

    def _follow(self, applied: Applied) -> None:
        """Mark what changes of windows disturb: evidence, and derived statistics."""
        series, since, _ = applied
        replayer, derived = self.stages.replayer, self.stages.derived
        disturbed = since < np.inf
        if replayer.disturbed:
            disturbed |= np.isin(series, list(replayer.disturbed))
        for row, time in zip(series[disturbed].tolist(), since[disturbed].tolist(), strict=True):
            replayer.disturb(row, time)
            root = replayer.root(row)
            began = -math.inf if root is None else math.nextafter(root.time, math.inf)
            derived.forget(row, max(time, began))
        derived.mark(series)

    def _replay_disturbed(self, rows: Int) -> None:
        """Replay disturbed evidence of ``rows``, which are then up to date."""
        self._transitions += self.stages.replayer.replay_disturbed(rows.tolist())
        self._looked_at[rows] = len(self._transitions)

    def _replay_recalled(self, recalled: Recalled, notes: Sequence[KeptEvidence]) -> None:
        """Compute the evidence of all series from their pairs, which are in memory here.

        Series with epochs are replayed, and series whose past changed before: only replays make
        copies of evidence, without which their next late reference would read the journal.
        """
        replayer = self.stages.replayer
        fired = {*self.stages.derived.reports.voided_rows()}.difference(
            self._context.eviction.evicted
        )
        for row in {*recalled.late().tolist(), *fired.intersection(recalled.series.tolist())}:
            replayer.disturb(row, -math.inf)
        replayer.keeper.count(recalled.series, recalled.counts)
        resumed = replayer.resumable(notes, recalled.up_to)
        some = dict.fromkeys(replayer.disturbed, 0)
        some |= {row: each.first for row, each in resumed.items()}
        self._step(recalled.without(np.array([*some], dtype=np.int64)))
        most = max(_RECALLED_PAIRS, int(recalled.counts.sum()) // _RECALLED_PORTIONS)
        for portion in recalled.parts(some, most):
            self._transitions += replayer.replay_recalled(portion, resumed, fired)
        replayer.taken_back |= fired.difference(recalled.series.tolist())  # no pair is left

    def _pairs_of(self, row: int) -> Records:
        """Return all standing pairs of a series."""
        return self._history.pairs_of(row) if self._recalled is None else self._recalled.of(row)

    def _start_of(self, row: int) -> float:
        return self._context.epochs.start_of(self._context.registry.keys[row])

    def _mark_anew(self, row: int) -> None:
        """Mark everything derived from a series as outdated."""
        self.stages.derived.forget(row)
        self.stages.derived.mark(np.array([row]))
