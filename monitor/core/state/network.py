"""All that is known in memory: series, pairing, windows, evidence; batches in, a snapshot out.

Rules of this file: it wires the core's parts and owns none of their rules; pairs are applied
only after the shell has made them durable; no clock, the time of arrival is handed in.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

import msgspec

from monitor.core.detector.detector import Detector
from monitor.core.detector.replay import Change, Watch
from monitor.core.detector.thresholds import Thresholds
from monitor.core.diagnosis.fault_reports import FaultReport
from monitor.core.fleet.eviction import Silence
from monitor.core.fleet.liveness import Hearing
from monitor.core.fleet.reference_stations import Gathered, IsShared, Station
from monitor.core.fleet.refusals import Refusals
from monitor.core.model import (
    Collocation,
    Event,
    Float,
    Int,
    Observation,
    Records,
    Reference,
    event_order,
)
from monitor.core.pairing.buffers import digest
from monitor.core.pairing.engine import Concern, Pairing
from monitor.core.pairing.history import History
from monitor.core.pairing.observations import (
    Durable,
    Observed,
    PackedReadings,
    observed,
    pack,
    unpack,
)
from monitor.core.pairing.series_rules import SeriesRules
from monitor.core.registry import Registry, SeriesKey, SeriesName
from monitor.core.snapshot.details import (
    Contenders,
    Contest,
    Detail,
    Occasion,
)
from monitor.core.snapshot.snapshot import Snapshot
from monitor.core.state.core_settings import Plan
from monitor.core.state.ingest import House, Taken, Taking
from monitor.core.state.pipeline import Consequences, Known
from monitor.core.steps import Steps, finish
from monitor.core.windows.epochs import Epochs
from monitor.core.windows.windows import Windows

_COLLOCATIONS_A_SENSOR_MAX: Final = 1000


class KnownSeries(NamedTuple):
    """A series as a journal keeps it; ``since`` is the time of its first reading, s UTC."""

    row: int
    sensor: str
    quantity: str
    unit: str
    since: float


class Outcome(NamedTuple):
    """What a batch of observations came to; places refer to the batch, most are accepted.

    ``packed`` are the plain readings that are to be kept. ``series`` are those that are new, or
    whose first reading is earlier than was known.
    """

    duplicates: list[int]
    refused: list[tuple[int, str]]
    packed: PackedReadings | None
    pairs: Records
    series: list[KnownSeries]

    @property
    def gone(self) -> set[int]:
        """The places of what was not accepted."""
        return {*self.duplicates, *(at for at, _ in self.refused)}


class Network:
    """State of all series. Call :meth:`observe`, make its outcome durable, then :meth:`apply`."""

    def __init__(self, plan: Plan, history: History) -> None:
        self.plan: Final = plan
        self.epochs: Final = Epochs()
        capacity = plan.capacity
        self.silence: Final = Silence(capacity)
        self.registry: Final = Registry(plan.limits, self._on_new, capacity, self.silence.gone)
        self._collocations: dict[str, list[Concern]] = {}
        self._shared_rules: dict[SeriesRules, SeriesRules] = {}
        self.pairing: Final = Pairing(
            lambda sensor, quantity: self._rules_of(sensor, quantity).pairing,
            plan.match_on,
            lambda sensor: (*plan.concerns_of(sensor), *self._collocations.get(sensor, ())),
            history,
        )
        self.rules: list[SeriesRules] = []
        self._names: tuple[SeriesName, ...] = ()
        self._unnamed: list[SeriesName] = []
        self.hearing: Final = Hearing(capacity)
        self.refusals: Final = Refusals(capacity)
        self._of_pairs: Final = Consequences(
            plan,
            history,
            self.pairing,
            Known(
                self.registry,
                self.rules,
                self.names,
                self.epochs,
                self.hearing.arrivals,
                self.silence,
            ),
        )

    # -- what comes in ----------------------------------------------------------------------

    def observe(self, observations: Sequence[Observation], received: float) -> Outcome:
        """Take a batch that arrived at ``received`` (s since 1970 UTC); say what it came to."""
        self._make_room()
        batch = observed(observations)
        taken = self._take(batch, received, recalled=False)
        packed = pack(taken.rows, batch.plain)
        changes = self.pairing.take_changes()
        return Outcome(taken.duplicates, taken.refused, packed, changes, self._take_told())

    def _take(self, batch: Observed, received: float, *, recalled: bool) -> Taken:
        house = House(
            self.registry.admit,
            lambda rows, times: self._hear(rows, times, received, recalled=recalled),
            lambda other: self._add(other, received, recalled=recalled),
        )
        return Taking(self.pairing, house, received).take(batch)

    def _hear(self, rows: Int, times: Float, received: float, *, recalled: bool) -> None:
        self._of_pairs.bring_back(rows, recalled=recalled)
        self.hearing.hear(rows, times, received)
        self.refusals.took(rows)

    def _add(self, observation: Observation, received: float, *, recalled: bool) -> str:
        if isinstance(observation, Reference):
            return self.pairing.add_reference(observation, received, recalled=recalled)
        if isinstance(observation, Collocation):
            return self._collocate(observation)
        if isinstance(observation, Event):
            return self._begin_epoch(observation)
        raise TypeError(observation)

    def apply(self, pairs: Records) -> None:
        """Take changes of pairs that are durable now; they count for whatever is asked next."""
        self._of_pairs.apply(pairs)

    @property
    def windows(self) -> Windows:
        """The last pairs of every series."""
        return self._of_pairs.made.windows

    @property
    def detector(self) -> Detector:
        """The evidence of every series."""
        return self._of_pairs.made.detector

    @property
    def watch(self) -> Watch:
        """What feeds the detector."""
        return self._of_pairs.made.watch

    def restore_series(self, series: Iterable[KnownSeries]) -> None:
        """Give series the rows that a journal knows them by, in the order of their rows."""
        for each in series:
            row = self.registry.add(each.sensor, each.quantity)
            self.hearing.first_reading[row] = each.since
        self.hearing.take_told()

    def restore(self, received: float, kept: Sequence[Durable]) -> None:
        """Hold again what a journal kept; its pairs are in the journal and come by recall."""
        self._make_room()
        self._take(unpack(kept, self.registry.keys), received, recalled=True)
        self.pairing.take_changes()

    def recall(self, pairs: Records) -> None:
        """Take the pairs that a journal kept: all changes in the order they were made."""
        standing = event_order(pairs)
        self.pairing.recall(pairs, standing, self.registry.keys)
        self._of_pairs.recall(pairs, standing)

    def expire(self, now: float) -> None:
        """Let go of what has waited too long, or is too much."""
        self.pairing.expire(now - self.plan.max_wait_seconds)
        self._make_room()

    def let_go(self, now: float, after_days: float) -> int:
        """Let go of the series that were silent for so long; return how many these are.

        What is durable of them stays, under their rows: when one is heard again, its window and its
        evidence are made of that.
        """
        rows = self.silence.silent(self.hearing.heard[: len(self.registry.keys)], now, after_days)
        self._of_pairs.forget(rows)
        self.hearing.heard[rows] = -math.inf
        self.silence.let_go(rows)
        return len(rows)

    # -- what comes out ---------------------------------------------------------------------

    def evaluate(self, now: float, judged_most: int | None = None) -> Snapshot:
        """Recompute what changed and return all that is known at ``now``.

        At most ``judged_most`` series that are not calm are judged anew, the others later: None
        for all of them, which takes a tenth of a millisecond each.
        """
        return finish(self.steps(now, judged_most))

    def steps(self, now: float, judged_most: int | None = None) -> Steps[Snapshot]:
        """Do the same in steps of a few milliseconds, between which messages may be taken.

        The numbers of a series are then as of one moment between the first step and the last.
        """
        rejected = self.refusals.shares(self.registry.keys)
        return (yield from self._of_pairs.steps(now, rejected, judged_most))

    def take_transitions(self) -> list[Change]:
        """Return the changes of alerts that the last snapshot shows, in the order they were found.

        What was found of a series after it was looked at is left for the next one.
        """
        return self._of_pairs.take_transitions()

    @property
    def thresholds(self) -> Thresholds:
        """Return who is beyond which threshold."""
        return self._of_pairs.made.derived.thresholds

    def shared_references(
        self, concerned: Int, is_shared: IsShared
    ) -> list[tuple[Station, Gathered | None]]:
        """Return the references of which ``is_shared(subject, series)`` and what is known of them.

        It is gathered where one of the ``concerned`` series meets them, else None.
        """
        return self._of_pairs.made.derived.shared_references(concerned, is_shared)

    def judgement(self, row: int) -> FaultReport | None:
        """Return what is known of a series that is not calm, as of the last evaluation."""
        return self._of_pairs.made.derived.judgement(row)

    def names(self) -> tuple[SeriesName, ...]:
        """Return who each row is; the same object until there is a new series."""
        if self._unnamed:
            self._names += tuple(self._unnamed)
            self._unnamed.clear()
        return self._names

    def detail(self, key: SeriesKey, now: float) -> Detail | None:
        """Return one series in full as it is at ``now``, None if there is no such series."""
        return self._of_pairs.made.views.detail(key, now)

    def contenders(self, contest: Contest, now: float) -> Contenders:
        """Return the windows of the series that a contest invites, if they have any pair."""
        return self._of_pairs.made.views.contenders(contest, now)

    def occasion(self, name: str, now: float) -> Occasion:
        """Return the pairs of all series whose references have a key or an identity in common."""
        return self._of_pairs.made.views.occasion(name, now)

    # -- inside -----------------------------------------------------------------------------

    def _make_room(self) -> None:
        """Let go of the quarter that came first, if more is held than may be: it is rarely done."""
        pairing = self.pairing
        if pairing.readings + len(pairing.references) > self.plan.max_pending:
            pairing.expire(math.nextafter(pairing.oldest(0.25), math.inf))

    def _rules_of(self, sensor: str, quantity: str) -> SeriesRules:
        """Return the rules of a series: one object for all that have the same."""
        row = self.registry.get(sensor, quantity)
        if row is not None and row < len(self.rules):
            return self.rules[row]
        rules = self.plan.rules_of(sensor, quantity)
        return self._shared_rules.setdefault(rules, rules)

    def _on_new(self, row: int, key: SeriesKey) -> None:
        rules = self._rules_of(*key)
        self.rules.append(rules)
        self._unnamed.append(SeriesName(key.sensor, key.quantity, rules.unit, rules.group))
        self.hearing.tell(row)
        self._of_pairs.open(row, digest(key.sensor), rules.patience)

    def _take_told(self) -> list[KnownSeries]:
        """Return the series of which something is to be kept, and forget that it is."""
        since = self.hearing.first_reading
        return [
            KnownSeries(row, *self.registry.keys[row], self.rules[row].unit, float(since[row]))
            for row in self.hearing.take_told()
        ]

    def _collocate(self, collocation: Collocation) -> str:
        """Let the references of a subject concern a sensor for a while."""
        sensor, *concern = msgspec.structs.astuple(collocation)
        known = self._collocations.setdefault(sensor, [])
        if Concern(*concern) in known:
            return "duplicate"
        if len(known) >= _COLLOCATIONS_A_SENSOR_MAX:
            return "series_limit"
        known.append(Concern(*concern))
        self.pairing.add_concern(sensor, known[-1])
        return "accepted"

    def _begin_epoch(self, event: Event) -> str:
        """Cut the windows of a sensor's series; the latest epoch counts."""
        if not self.epochs.add(event):
            return "duplicate"
        for row, key in enumerate(self.registry.keys):
            if key.sensor == event.sensor:
                self._of_pairs.begin_epoch(row)
        return "accepted"
