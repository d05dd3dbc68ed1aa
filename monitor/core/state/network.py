"""The core as one object: batches of observations in, changes of pairs and a snapshot out.

Rules of this file: it wires the rooms of the core and owns none of their rules. Pairs are applied
only after the shell has made them durable. There is no clock: times are handed in.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Final, NamedTuple

import msgspec
import numpy as np

from monitor.core.columns import Columns
from monitor.core.detector.detector import Detector
from monitor.core.detector.kept_evidence import KeptEvidence
from monitor.core.detector.replay import AlertChange, Replayer
from monitor.core.detector.thresholds import Thresholds
from monitor.core.diagnosis.fault_reports import FaultReports
from monitor.core.fleet.presence import Eviction, Liveness, Refusals
from monitor.core.fleet.reference_stations import IsShared, MeetingPairs, Station
from monitor.core.model import (
    Bool,
    Collocation,
    Event,
    Float,
    Int,
    Observation,
    Reading,
    Records,
    Reference,
    event_order,
    in_event_order,
    some_rows,
)
from monitor.core.pairing.engine import Pairing
from monitor.core.pairing.identities import digest
from monitor.core.pairing.join_index import Concern
from monitor.core.pairing.observations import (
    NOTHING,
    Durable,
    Observed,
    PackedReadings,
    observed,
    pack,
    unpack,
)
from monitor.core.pairing.reference_revisions import History
from monitor.core.pairing.series_rules import SeriesRules
from monitor.core.registry import KnownSeries, Registry, SeriesKey, SeriesName
from monitor.core.snapshot.details import Contenders, Contest, Detail, Occasion
from monitor.core.snapshot.snapshot import Snapshot
from monitor.core.state.core_settings import CoreSettings
from monitor.core.state.ingest import Callbacks, Ingest, IngestResult
from monitor.core.state.pipeline import Context, Pipeline
from monitor.core.state.self_check import Compared
from monitor.core.state.waiting import Waiting
from monitor.core.steps import Steps, finish
from monitor.core.windows.windows import Epochs, Windows

ACCEPTED: Final = "accepted"
_COLLOCATIONS_A_SENSOR_MAX: Final = 1000
_WAITING_SHARE: Final = 10  # one of so many that may be held


class Outcome(NamedTuple):
    """The outcome of a batch: what was not accepted, by place, and what a journal must write.

    ``packed`` are the plain readings. ``series`` are new ones, and those whose first reading turned
    out earlier. ``waiting`` are the readings accepted to wait until their series begins, by place,
    ``begun`` those of former batches whose series began.
    """

    duplicates: list[int]
    refused: list[tuple[int, str]]
    packed: PackedReadings | None
    pairs: Records
    series: list[KnownSeries]
    waiting: Mapping[int, Reading] = {}
    begun: Sequence[Reading] = ()

    @property
    def gone(self) -> set[int]:
        """The positions of the observations that were not accepted."""
        return {*self.duplicates, *(at for at, _ in self.refused)}


class Network:
    """State of all series. Call :meth:`observe`, make its outcome durable, then :meth:`apply`.

    ``keep`` returns those of some changes of pairs that count; the others are dropped. ``review``
    says of a new event whether it counts, or why not; an extension may replace it.
    """

    def __init__(
        self,
        settings: CoreSettings,
        history: History,
        keep: Callable[[Records], Records] = lambda changes: changes,
    ) -> None:
        self._keep: Final = keep
        self.review: Callable[[Event], str] = lambda _event: ACCEPTED
        self.settings: Final = settings
        self.epochs: Final = Epochs()
        capacity = settings.capacity
        self.eviction: Final = Eviction(capacity)
        self._held_from = -math.inf
        self._history_from = -math.inf  # pairs from this event time on are all in the store
        self._begun_again: Final[dict[str, float]] = {}
        self._without_series: Final[set[str]] = set()  # sensors of events and collocations
        self.waiting: Final = Waiting()
        self.registry: Final = Registry(
            settings.limits,
            self._on_new,
            capacity,
            self.eviction.evicted,
            self.waiting.by_series,
        )
        self._collocations: dict[str, list[Concern]] = {}
        self._shared_rules: dict[SeriesRules, SeriesRules] = {}
        self.pairing: Final = Pairing(
            lambda sensor, quantity: self._rules_of(sensor, quantity).pairing,
            settings.match_on,
            history,
            self.concerns_of,
        )
        self.rules: list[SeriesRules] = []
        self._names: tuple[SeriesName, ...] = ()
        self._unnamed: list[SeriesName] = []
        self.liveness: Final = Liveness(capacity)
        self.refusals: Final = Refusals(capacity)
        self._pipeline: Final = Pipeline(
            settings,
            history,
            self.pairing,
            Context(
                self.registry,
                self.rules,
                self.names,
                self.epochs,
                self.liveness.arrivals,
                self.eviction,
            ),
        )

    # -- what comes in ----------------------------------------------------------------------

    def observe(self, observations: Sequence[Observation], received: float) -> Outcome:
        """Ingest a batch that arrived at ``received`` (s since 1970 UTC); return its outcome."""
        self._evict_excess()
        self._held_from = min(self._held_from, received)
        begun = self._begin_series(received) if self.waiting.readings else []
        batch = observed(observations)
        self.pairing.look_up(batch.others)
        result = self._ingest(batch, received, recalled=False)
        most = self.settings.max_pending // _WAITING_SHARE
        waiting = self.waiting.take(batch, result, received, most) if result.refused else {}
        packed = pack(result.rows, batch.plain)
        changes = self._keep(self.pairing.drain_changes())
        self._pipeline.foresee(changes)
        series = self._drain_new_series()
        return Outcome(result.duplicates, result.refused, packed, changes, series, waiting, begun)

    def concerns_of(self, sensor: str) -> list[Concern]:
        """Return whose references concern a sensor besides its own, by areas and collocations."""
        return [*self.settings.concerns_of(sensor), *self._collocations.get(sensor, ())]

    def _ingest(self, batch: Observed, received: float, *, recalled: bool) -> IngestResult:
        callbacks = Callbacks(
            self.registry.admit_again if recalled else self.registry.admit,
            lambda rows, times, assumed: self._record(
                rows, times, assumed, received, recalled=recalled
            ),
            lambda other: self._add(other, received),
        )
        return Ingest(self.pairing, callbacks, received).ingest(batch)

    def _begin_series(self, now: float) -> list[Reading]:
        """Begin the series that waited long enough; return their readings."""
        begun: list[Reading] = []
        while self.registry.may_begin(now):
            arrived = self.waiting.pop(self.registry.begin())
            for received, group in groupby(arrived, itemgetter(0)):
                readings = [reading for _, reading in group]
                self._ingest(Observed(NOTHING, readings), received, recalled=False)
                begun += readings
        return begun

    def _record(
        self, rows: Int, times: Float, assumed: Bool | None, received: float, *, recalled: bool
    ) -> None:
        self._pipeline.readmit(rows, recalled=recalled)
        self.liveness.record(rows, times, received, assumed)
        self.refusals.took(rows)

    def _add(self, observation: Observation, received: float) -> str:
        if isinstance(observation, Reference):
            return self.pairing.add_reference(observation, received)
        if isinstance(observation, Collocation):
            return self._collocate(observation)
        if isinstance(observation, Event):
            return self._begin_epoch(observation)
        raise TypeError(observation)

    def apply(self, pairs: Records) -> None:
        """Apply changes of pairs that are durable now."""
        self._pipeline.apply(pairs)

    @property
    def windows(self) -> Windows:
        """The last pairs of every series."""
        return self._pipeline.stages.windows

    @property
    def detector(self) -> Detector:
        """The evidence of every series."""
        return self._pipeline.stages.detector

    @property
    def replayer(self) -> Replayer:
        """What feeds the detector in event order."""
        return self._pipeline.stages.replayer

    def restore_series(self, series: Iterable[KnownSeries]) -> None:
        """Register series under the rows a journal has them under, in the order of the rows."""
        for each in series:
            row = self.registry.add(each.sensor, each.quantity)
            self.liveness.first_reading[row] = each.since
        self.liveness.drain_new()

    def restore(self, stored: Iterable[tuple[float, Sequence[Durable]]]) -> None:
        """Restore observations from a journal, in batches with their time of arrival.

        :meth:`recall` restores their pairs.
        """
        with self.pairing.recalling():
            for received, packed in stored:
                self._evict_excess()
                self._held_from = min(self._held_from, received)
                batch = unpack(packed, self.registry.keys)
                result = self._ingest(batch, received, recalled=True)
                if result.refused:
                    self.waiting.take(batch, result, received)
        for sensor, time in self._begun_again.items():
            self._begin_epochs(self.registry.rows_of(sensor), time)
        self._begun_again.clear()

    def recall(
        self, pairs: Records, notes: Sequence[KeptEvidence] = (), *, is_resumed: bool = False
    ) -> None:
        """Load the pairs that a journal kept: all changes in the order they were made.

        Evidence continues from its ``notes``. ``is_resumed``: evidence that is marked as
        disturbed is loaded afterwards.
        """
        standing = event_order(pairs)
        self.pairing.recall(pairs, standing, self.registry.keys)
        self._pipeline.recall(pairs, standing, notes, is_resumed=is_resumed)

    def pair_anew(self, pairs: Records, rows: Int, whole_from: float) -> tuple[Records, Records]:
        """Make the pairs of the series ``rows`` again, of all ``pairs`` that were recalled.

        Nothing observed from ``whole_from`` on (event time, s UTC) was evicted. Returns the
        changes, to be made durable, and the pairs that stay, as what made them is evicted.
        """
        stored = in_event_order(some_rows(pairs, np.flatnonzero(np.isin(pairs["series"], rows))))
        anew = self.pairing.pair_anew(stored, frozenset(rows.tolist()), whole_from)
        changes = self._keep(self.pairing.drain_changes())
        self._pipeline.foresee(changes)
        names = zip(stored["series"].tolist(), stored["reference_id"].tolist(), strict=True)
        return changes, stored[[name not in anew for name in names]]

    def keep_evidence(self, most: int) -> list[KeptEvidence]:
        """Return the evidence of at most so many series, to be made durable.

        It is that of series with many new pairs whose history has all their pairs.
        """
        return self._pipeline.keep_evidence(self.liveness.first_reading >= self._history_from, most)

    def drop_history(self, pairs_before: float) -> None:
        """Note that the store has dropped pairs, all older than an event time, and kept evidence.

        A clock that is set back brings none of them back.
        """
        self._history_from = max(self._history_from, pairs_before)
        self._pipeline.drop_kept()

    def expire(self, now: float) -> None:
        """Evict observations that have waited too long, or are too many."""
        self._expire(now - self.settings.max_wait_seconds)
        self._evict_excess()

    @property
    def held_from(self) -> float:
        """The arrival time (s UTC) before which observations were dropped, as too many were held.

        -inf if that never happened.
        """
        return self._held_from

    def self_check(self, row: int) -> Steps[Compared | None]:
        """Compare a series with its history.

        It works in steps of a few milliseconds; everything is as of the first step. None while its
        evidence waits to be recomputed, or if the series was evicted.
        """
        is_whole = bool(self.liveness.first_reading[row] >= self._history_from)
        return self._pipeline.self_check(row, is_whole=is_whole)

    def since_event(self, row: int, history: Records) -> Records:
        """Return the pairs of a series since its last event, given all its pairs."""
        start = self.epochs.start_of(self.registry.keys[row])
        return history[history["time"] >= start]

    def still_counts(self, row: int, time: float) -> bool:
        """Return whether a pair of a series at an event time is kept, and of its last epoch."""
        start = self.epochs.start_of(self.registry.keys[row])
        return time >= max(start, self._history_from)

    def as_columns(self, row: int, pairs: Records) -> Columns:
        """Return pairs of one series, at least one, as columns in double precision."""
        return self._pipeline.as_columns(row, pairs)

    def renew(self, row: int) -> None:
        """Recompute everything about a series from its history."""
        self._pipeline.renew(row)

    def evict(self, now: float, after_days: float) -> int:
        """Evict the series that were silent for so long; return how many.

        Their durable data stay under their rows: when one is heard again, its window and its
        evidence are loaded from these.
        """
        rows = self.eviction.due(self.liveness.heard[: len(self.registry.keys)], now, after_days)
        self._let_go(rows)
        return len(rows)

    def evict_not_allowed(self) -> None:
        """Evict the series that the settings do not accept any more, in the same way."""
        keys, gone = enumerate(self.registry.keys), self.eviction.evicted
        allows = self.registry.allows
        self._let_go([row for row, key in keys if row not in gone and not allows(key.sensor)])

    def _let_go(self, rows: list[int]) -> None:
        self._pipeline.forget(rows)
        self.liveness.heard[rows] = -math.inf
        self.eviction.evict(rows)

    # -- what comes out ---------------------------------------------------------------------

    def evaluate(self, now: float, judged_most: int | None = None) -> Snapshot:
        """Recompute what changed and return the snapshot as of ``now``.

        At most ``judged_most`` series that are not calm are judged again, the others later; None
        for all of them, which takes a tenth of a millisecond each.
        """
        return finish(self.steps(now, judged_most))

    def steps(self, now: float, judged_most: int | None = None) -> Steps[Snapshot]:
        """Do the same in steps of a few milliseconds, between which messages may be ingested.

        All numbers of one series' window are then as of one moment between the first step and the
        last, and so is its verdict with its numbers.
        """
        rejected = self.refusals.shares(self.registry.keys)
        rejected[list(self.eviction.evicted)] = 0.0  # of whom nothing is shown
        return (yield from self._pipeline.steps(now, rejected, judged_most))

    def drain_transitions(self) -> list[AlertChange]:
        """Return the changes of alerts that the last snapshot shows, in the order they were found.

        Changes found after a series was evaluated are left for the next snapshot.
        """
        return self._pipeline.drain_transitions()

    def drain_taken_back(self) -> frozenset[int]:
        """Return the series whose alert should never have fired, given the past as it is now."""
        return self._pipeline.drain_taken_back()

    @property
    def reports(self) -> FaultReports:
        """Return the reports on series that are not calm."""
        return self._pipeline.stages.derived.reports

    @property
    def thresholds(self) -> Thresholds:
        """Return the thresholds and which series are beyond them."""
        return self._pipeline.stages.derived.thresholds

    def shared_references(
        self, concerned: Int, is_shared: IsShared
    ) -> list[tuple[Station, MeetingPairs | None]]:
        """Return the references for which ``is_shared(subject, series)``, with their last pairs.

        Pairs are gathered where one of the ``concerned`` series meets the reference, else None.
        """
        return self._pipeline.stages.derived.shared_references(concerned, is_shared)

    def names(self) -> tuple[SeriesName, ...]:
        """Return the name of each row; the same object until there is a new series."""
        if self._unnamed:
            self._names += tuple(self._unnamed)
            self._unnamed.clear()
        return self._names

    def detail(self, key: SeriesKey, now: float) -> Detail | None:
        """Return one series in full as it is at ``now``, None if there is no such series."""
        return self._pipeline.stages.views.detail(key, now)

    def contenders(self, contest: Contest, now: float) -> Contenders:
        """Return the windows of the series that a contest invites, if they have any pair."""
        return self._pipeline.stages.views.contenders(contest, now)

    def occasion(self, name: str, now: float) -> Occasion:
        """Return the pairs of all series whose references have a key or an identity in common."""
        return self._pipeline.stages.views.occasion(name, now)

    # -- inside -----------------------------------------------------------------------------

    def _evict_excess(self) -> None:
        """Evict the quarter that arrived first if more is held than allowed, which is rare."""
        pairing = self.pairing
        if pairing.holds_more_than(self.settings.max_pending):
            self._held_from = math.nextafter(pairing.oldest(0.25), math.inf)
            self._expire(self._held_from)

    def _expire(self, received_before: float) -> None:
        self.pairing.expire(received_before)
        self.pairing.expired_unpaired += self.waiting.expire(received_before)

    def _rules_of(self, sensor: str, quantity: str) -> SeriesRules:
        """Return the rules of a series: one object for all that have the same."""
        row = self.registry.get(sensor, quantity)
        if row is not None and row < len(self.rules):
            return self.rules[row]
        rules = self.settings.rules_of(sensor, quantity)
        return self._shared_rules.setdefault(rules, rules)

    def _on_new(self, row: int, key: SeriesKey) -> None:
        self._without_series.discard(key.sensor)
        rules = self._rules_of(*key)
        self.rules.append(rules)
        shown = (rules.unit, rules.group, rules.site, rules.severity)
        self._unnamed.append(SeriesName(*key, *shown))
        self.liveness.mark_new(row)
        self._pipeline.open(row, digest(key.sensor), rules.patience)

    def _drain_new_series(self) -> list[KnownSeries]:
        """Return the series a journal must write, once: new ones, or with an earlier start."""
        since = self.liveness.first_reading
        return [
            KnownSeries(row, *self.registry.keys[row], self.rules[row].unit, float(since[row]))
            for row in self.liveness.drain_new()
        ]

    def _collocate(self, collocation: Collocation) -> str:
        """Join the references of a subject to a sensor for a while."""
        sensor, *concern = msgspec.structs.astuple(collocation)
        if self._is_one_too_many(sensor):
            return "series_limit"
        known = self._collocations.setdefault(sensor, [])
        if Concern(*concern) in known:
            return "duplicate"
        if len(known) >= _COLLOCATIONS_A_SENSOR_MAX:
            return "series_limit"
        known.append(Concern(*concern))
        self.pairing.add_concern(sensor, known[-1])
        return "accepted"

    def _begin_epoch(self, event: Event) -> str:
        """Begin a new epoch of the series that an event concerns; the latest one counts."""
        if self._is_one_too_many(event.sensor):
            return "series_limit"
        if not self.pairing.is_recalling and (verdict := self.review(event)) != ACCEPTED:
            return verdict
        if not self.epochs.add(event):
            return "duplicate"
        dropped = self.epochs.make_room(event.sensor)
        if dropped == event:
            return "series_limit"
        time = event.time if dropped is None else dropped.time
        if self.pairing.is_recalling:  # the latest of a sensor is begun when all are known
            first = self._begun_again.get(event.sensor, time)
            self._begun_again[event.sensor] = min(first, time)
        elif dropped is None:
            self._begin_epochs(self.registry.rows_for(event), time)
        else:
            self._begin_epochs(self.registry.rows_of(event.sensor), time)
        return "accepted"

    def _is_one_too_many(self, sensor: str) -> bool:
        """Return whether a sensor without a series is one more than there may be."""
        if sensor in self._without_series or self.registry.rows_of(sensor):
            return False
        is_full = len(self._without_series) >= self.settings.limits.maximum
        if is_full and not self.pairing.is_recalling:
            return True
        self._without_series.add(sensor)
        return False

    def _begin_epochs(self, rows: Iterable[int], time: float) -> None:
        """Begin the latest epoch of some series; they changed from ``time`` on."""
        for row in rows:
            self._pipeline.begin_epoch(row, time)
