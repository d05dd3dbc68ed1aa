"""All that is known in memory: series, pairing, windows, evidence; batches in, a snapshot out.

Rules of this file: it wires the core's parts and owns none of their rules; pairs are applied
only after the shell has made them durable; no clock, the time of arrival is handed in. Pairs that
are durable wait until somebody reaches what is made of them, which is a function of the set of
pairs: to take a few hundred costs hardly more than to take one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

import msgspec
import numpy as np

from monitor.core import fresh
from monitor.core.derived import Derived, Ground
from monitor.core.details import Contenders, Contest, Detail, Occasion
from monitor.core.detection import RING, Detector, Replays
from monitor.core.epochs import Epochs
from monitor.core.facts import Arrivals
from monitor.core.fleet import FleetRules
from monitor.core.framing import Frames
from monitor.core.judgements import Judgement
from monitor.core.lanes import Lane, digest
from monitor.core.model import (
    Collocation,
    Event,
    Float,
    Int,
    Observation,
    Reading,
    Records,
    Reference,
    event_order,
    in_portions,
    some_rows,
)
from monitor.core.observed import (
    Durable,
    Observed,
    PackedReadings,
    PlainReadings,
    in_order,
    observed,
    pack,
    unpack,
)
from monitor.core.pairing import Concern, Pairing
from monitor.core.past import Past
from monitor.core.refusals import Refusals
from monitor.core.registry import Limits, Registry, SeriesKey
from monitor.core.rules import SeriesRules
from monitor.core.silence import Silence
from monitor.core.snapshot import SeriesName, Snapshot
from monitor.core.stations import Gathered, IsShared, Station
from monitor.core.steps import Steps, finish, with_each
from monitor.core.thresholds import Threshold, Thresholds
from monitor.core.views import Seen, Views
from monitor.core.watch import Change, Watch
from monitor.core.windows import Applied, Precision, Windows

_COLLOCATIONS_A_SENSOR_MAX: Final = 1000
# So many pairs wait no longer: with more at once a pair costs no less, and the data would wait.
WAITING_MAX: Final = 512


class Plan(NamedTuple):
    """The settings of a network: rules for each series, and the limits.

    ``concerns_of(sensor)`` names the references that concern a sensor besides its own. A journal
    may know more series (``known_series``) than the limits now let in. A replay of the evidence
    looks back on ``replay_pairs``, those in the windows where they hold so many and
    ``replay_in_windows``. ``rows_spare`` more series may come while others are let go of.
    """

    rules_of: Callable[[str, str], SeriesRules]
    concerns_of: Callable[[str], Iterable[Concern]] = lambda _sensor: ()
    match_on: frozenset[str] = frozenset(("subject", "key"))
    limits: Limits = Limits()
    window_pairs_max: int = 500
    window_precision: Precision = "double"
    replay_pairs: int = RING
    replay_in_windows: bool = True
    rows_spare: int = 0
    max_wait_seconds: float = 72 * 3600.0
    max_pending: int = 500_000
    known_series: int = 0
    fleet: FleetRules = FleetRules()
    thresholds: tuple[Threshold, ...] = ()


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


class _Taken(NamedTuple):
    """The series of each plain reading, -1 if it was not accepted; places of what was not."""

    rows: Int
    duplicates: list[int]
    refused: list[tuple[int, str]]


class _Heard(NamedTuple):
    """The series and times of readings that came one by one."""

    rows: list[int]
    times: list[float]


class _Made(NamedTuple):
    """What is made of the pairs that were applied."""

    windows: Windows
    detector: Detector
    watch: Watch
    derived: Derived
    views: Views


class Network:
    """State of all series. Call :meth:`observe`, make its outcome durable, then :meth:`apply`."""

    def __init__(self, plan: Plan, past: Past) -> None:
        self.plan: Final = plan
        self.epochs: Final = Epochs()
        capacity = max(plan.limits.maximum, plan.known_series) + plan.rows_spare
        self.silence: Final = Silence(capacity)
        self.registry: Final = Registry(plan.limits, self._on_new, capacity, self.silence.gone)
        self._collocations: dict[str, list[Concern]] = {}
        self._shared_rules: dict[SeriesRules, SeriesRules] = {}
        self.pairing: Final = Pairing(
            lambda sensor, quantity: self._rules_of(sensor, quantity).pairing,
            plan.match_on,
            lambda sensor: (*plan.concerns_of(sensor), *self._collocations.get(sensor, ())),
            past,
        )
        windows = Windows(capacity, plan.window_pairs_max, past.history, plan.window_precision)
        # Where the windows hold all that a replay may look back on, nothing else keeps it.
        in_windows = plan.replay_in_windows and plan.replay_pairs <= windows.length
        replays = Replays(
            plan.replay_pairs,
            plan.window_precision == "single",
            self._earlier if in_windows else None,
        )
        detector = Detector(np.full(capacity, 1000.0), horizon=plan.fleet.horizon, replays=replays)
        self.rules: list[SeriesRules] = []
        frames = Frames(windows, detector, self.rules)
        watch = Watch(
            detector,
            windows,
            past.history,
            frames.columns,
            lambda row: self.epochs.of(self.registry.keys[row]),
        )
        self._told: set[int] = set()
        self._names: tuple[SeriesName, ...] = ()
        self._unnamed: list[SeriesName] = []
        self.first_reading: Float = np.full(capacity, np.inf)
        self.last_reading: Float = np.full(capacity, np.nan)
        self.heard: Float = np.full(capacity, -np.inf)
        self.refusals: Final = Refusals(capacity)
        derived = Derived(
            Ground(
                windows,
                detector,
                self.pairing,
                self.rules,
                self.registry.keys,
                frames,
                past.history,
                plan.fleet,
                plan.thresholds,
                Arrivals(self.first_reading, self.last_reading, self.heard),
                watch.disturbed,
                self._settle,
            )
        )
        views = Views(
            Seen(
                self.registry,
                self.rules,
                self.names,
                self.epochs,
                self.pairing,
                windows,
                frames,
                detector,
                derived.judgement,
            )
        )
        self._made: Final = _Made(windows, detector, watch, derived, views)
        self._waiting: list[Records] = []
        self._waiting_pairs = 0
        self._transitions: list[Change] = []
        # How many of them had been found when each series was last looked at.
        self._looked_at: Int = np.zeros(capacity, dtype=np.int64)

    # -- what comes in ----------------------------------------------------------------------

    def observe(self, observations: Sequence[Observation], received: float) -> Outcome:
        """Take a batch that arrived at ``received`` (s since 1970 UTC); say what it came to."""
        self._make_room()
        batch = observed(observations)
        taken = self._take(batch, received, recalled=False)
        packed = pack(taken.rows, batch.plain)
        changes = self.pairing.take_changes()
        return Outcome(taken.duplicates, taken.refused, packed, changes, self._take_told())

    def _take(self, batch: Observed, received: float, *, recalled: bool) -> _Taken:
        """Take plain readings by the column, and then what else there is one by one."""
        plain = batch.plain
        taken, heard = _Taken(self.pairing.take_plain(plain, received), [], []), _Heard([], [])
        left = np.flatnonzero(taken.rows < 0)
        if left.size > fresh.FEW:
            left = self._take_left(plain, left, received, taken, heard)
        self._hear(taken.rows, plain.times, received, recalled=recalled)
        for at, observation in self._one_by_one(batch, left, received):
            verdict = self._take_one(observation, received, heard, recalled=recalled)
            if verdict == "duplicate":
                taken.duplicates.append(at)
            elif verdict != "accepted":
                taken.refused.append((at, verdict))
            elif at < len(plain):
                taken.rows[at] = heard.rows[-1]
        by_one = np.array(heard.rows, dtype=np.int64)
        self._hear(by_one, np.array(heard.times), received, recalled=recalled)
        return taken

    def _one_by_one(
        self, batch: Observed, left: Int, received: float
    ) -> Iterator[tuple[int, Observation]]:
        """Yield the plain readings at places ``left`` and all others, but the newest references.

        Those are taken at once, after all readings, so that what they pair with is made once.
        """
        plain, others = batch.plain, batch.others
        yield from ((at, plain.reading(at)) for at in left.tolist())
        for at, each in enumerate(others, len(plain)):
            if isinstance(each, Reading):
                yield at, each
        for at in self.pairing.take_newest(others, received):
            if not isinstance(others[at], Reading):
                yield len(plain) + at, others[at]

    def _take_left(
        self, plain: PlainReadings, left: Int, received: float, taken: _Taken, heard: _Heard
    ) -> Int:
        """Take the readings at places ``left`` by the column: of new series, or not in order.

        Returns the places of those that are to be taken one by one.
        """
        let_in = self._let_in(plain, left, received)
        refused = {name: why for name, why in let_in.items() if isinstance(why, str)}
        if refused:
            is_out = np.isin(plain.which[left], list(refused))
            reasons = [refused[name] for name in plain.which[left[is_out]].tolist()]
            taken.refused.extend(zip(left[is_out].tolist(), reasons, strict=True))
            left = left[~is_out]
        left, repeats = in_order(plain, left)
        taken.duplicates.extend(repeats.tolist())
        rows = {name: lane.series for name, lane in let_in.items() if isinstance(lane, Lane)}
        heard.rows.extend(map(rows.__getitem__, plain.which[repeats].tolist()))
        heard.times.extend(plain.times[repeats].tolist())
        taken.rows[left] = self.pairing.take_plain(plain.part(left), received)
        return left[taken.rows[left] < 0]

    def _let_in(self, plain: PlainReadings, places: Int, received: float) -> dict[int, Lane | str]:
        """Return by name the lanes of the readings at some places, or why they may not come in.

        Who comes first in the batch is let in first.
        """
        _, firsts = np.unique(plain.which[places], return_index=True)
        found = {}
        for at in places[np.sort(firsts)].tolist():
            reading = plain.reading(at)
            lane = self.pairing.lane_of(reading) or self._open_lane(reading, received)
            found[int(plain.which[at])] = lane
        return found

    def _take_one(
        self, observation: Observation, received: float, heard: _Heard, *, recalled: bool
    ) -> str:
        """Take any observation; return what becomes of it: accepted, duplicate, or why refused."""
        if not isinstance(observation, Reading):
            return self._add(observation, received, recalled=recalled)
        lane = self.pairing.lane_of(observation) or self._open_lane(observation, received)
        if isinstance(lane, str):
            return lane
        heard.rows.append(lane.series)
        heard.times.append(observation.time)
        return self.pairing.take_reading(lane, observation, received)

    def _open_lane(self, reading: Reading, received: float) -> Lane | str:
        """Return the lane of a reading that has none yet, or why its series may not come in."""
        row = self.registry.admit(reading.sensor, reading.quantity, received)
        return row if isinstance(row, str) else self.pairing.open_lane(reading, row)

    def _hear(self, rows: Int, times: Float, received: float, *, recalled: bool) -> None:
        """Note when the series ``rows`` (-1: none) were heard, and the times of their readings."""
        if not rows.size:
            return
        if rows.min() < 0:
            rows, times = rows[rows >= 0], times[rows >= 0]
        self._bring_back(rows, recalled=recalled)
        self.heard[rows] = received
        self.refusals.took(rows)
        np.fmax.at(self.last_reading, rows, times)
        earlier = times < self.first_reading[rows]
        if earlier.any():
            np.minimum.at(self.first_reading, rows[earlier], times[earlier])
            self._told.update(rows[earlier].tolist())

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
        if pairs.size:
            self._waiting.append(pairs)
            self._waiting_pairs += pairs.size
            if self._waiting_pairs >= WAITING_MAX:
                self._take_waiting()

    @property
    def _current(self) -> _Made:
        """What is made of all pairs that were applied: the only way to it."""
        if self._waiting:
            self._take_waiting()
        return self._made

    @property
    def windows(self) -> Windows:
        """The last pairs of every series."""
        return self._current.windows

    @property
    def detector(self) -> Detector:
        """The evidence of every series."""
        return self._current.detector

    @property
    def watch(self) -> Watch:
        """What feeds the detector."""
        return self._current.watch

    def _take_waiting(self) -> None:
        waiting, self._waiting, self._waiting_pairs = self._waiting, [], 0
        pairs = waiting[0] if len(waiting) == 1 else np.concatenate(waiting)
        self._bring_back(pairs["series"])
        self._follow(self._made.windows.apply(pairs, lambda newer: self._step([newer])))

    def _step(self, portions: Iterable[Records]) -> None:
        """Let the evidence of series that only grow have their new pairs, before the windows do."""
        self._transitions += self.watch.step(map(self._undisturbed, portions))

    def _undisturbed(self, pairs: Records) -> Records:
        if not self.watch.disturbed:
            return pairs
        rows = list(self.watch.disturbed)
        return some_rows(pairs, np.flatnonzero(~np.isin(pairs["series"], rows)))

    def _earlier(self, row: int, count: int) -> Float:
        """Return the last z of a series before the pairs that its evidence is given now."""
        return self.watch.earlier(row, count)

    def _follow(self, applied: Applied) -> None:
        """Note what the windows took."""
        series, since, _ = applied
        disturbed = since < np.inf
        if self.watch.disturbed:
            disturbed |= np.isin(series, list(self.watch.disturbed))
        for row, time in zip(series[disturbed].tolist(), since[disturbed].tolist(), strict=True):
            self.watch.disturb(row, time)
            root = self.watch.root(row)
            began = -math.inf if root is None else math.nextafter(root.time, math.inf)
            self._current.derived.forget(row, max(time, began))
        self._current.derived.mark(series)

    def restore_series(self, series: Iterable[KnownSeries]) -> None:
        """Give series the rows that a journal knows them by, in the order of their rows."""
        for each in series:
            row = self.registry.add(each.sensor, each.quantity)
            self.first_reading[row] = each.since
        self._told.clear()

    def restore(self, received: float, kept: Sequence[Durable]) -> None:
        """Hold again what a journal kept; its pairs are in the journal and come by recall."""
        self._make_room()
        self._take(unpack(kept, self.registry.keys), received, recalled=True)
        self.pairing.take_changes()

    def recall(self, pairs: Records) -> None:
        """Take the pairs that a journal kept: all changes in the order they were made."""
        standing = event_order(pairs)
        self.pairing.recall(pairs, standing, self.registry.keys)
        if self.silence.gone:
            series = pairs["series"][standing]
            standing = standing[~np.isin(series, list(self.silence.gone))]
        self._step(in_portions(pairs, standing))
        for portion in in_portions(pairs, standing):
            self._follow(self.windows.recall(portion))

    def expire(self, now: float) -> None:
        """Let go of what has waited too long, or is too much."""
        self.pairing.expire(now - self.plan.max_wait_seconds)
        self._make_room()

    def let_go(self, now: float, after_days: float) -> int:
        """Let go of the series that were silent for so long; return how many these are.

        What is durable of them stays, under their rows: when one is heard again, its window and its
        evidence are made of that.
        """
        rows = self.silence.silent(self.heard[: len(self.registry.keys)], now, after_days)
        self._forget(rows)
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
        self.watch.taken_back = set()
        rejected = self.refusals.shares(self.registry.keys)
        work = self._current.derived.steps(now, self.names(), rejected, judged_most)
        found = yield from with_each(work, lambda: self._current)
        return replace(found, gone=frozenset(self.silence.gone))

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

    @property
    def thresholds(self) -> Thresholds:
        """Return who is beyond which threshold."""
        return self._current.derived.thresholds

    def shared_references(
        self, concerned: Int, is_shared: IsShared
    ) -> list[tuple[Station, Gathered | None]]:
        """Return the references of which ``is_shared(subject, series)`` and what is known of them.

        It is gathered where one of the ``concerned`` series meets them, else None.
        """
        return self._current.derived.shared_references(concerned, is_shared)

    def judgement(self, row: int) -> Judgement | None:
        """Return what is known of a series that is not calm, as of the last evaluation."""
        return self._current.derived.judgement(row)

    def names(self) -> tuple[SeriesName, ...]:
        """Return who each row is; the same object until there is a new series."""
        if self._unnamed:
            self._names += tuple(self._unnamed)
            self._unnamed.clear()
        return self._names

    def detail(self, key: SeriesKey, now: float) -> Detail | None:
        """Return one series in full as it is at ``now``, None if there is no such series."""
        return self._current.views.detail(key, now)

    def contenders(self, contest: Contest, now: float) -> Contenders:
        """Return the windows of the series that a contest invites, if they have any pair."""
        return self._current.views.contenders(contest, now)

    def occasion(self, name: str, now: float) -> Occasion:
        """Return the pairs of all series whose references have a key or an identity in common."""
        return self._current.views.occasion(name, now)

    # -- inside -----------------------------------------------------------------------------

    def _settle(self, rows: Int) -> None:
        """Make the evidence of ``rows`` that of their windows; what was found may be told."""
        self._transitions += self.watch.settle(rows.tolist())
        self._looked_at[rows] = len(self._transitions)

    def _forget(self, rows: Iterable[int]) -> None:
        for row in rows:
            self.windows.forget(row)
            self.watch.forget(row)
            self._current.derived.forget(row)
            self._current.derived.mark(np.array([row]))
            self.heard[row] = -np.inf

    def _bring_back(self, rows: Int, *, recalled: bool = False) -> None:
        """Know series again that memory let go of; where all is recalled, their pairs will come."""
        if not self.silence.gone:
            return
        made = self._current  # pairs that waited may bring some of them back
        for row in sorted(self.silence.gone.intersection(rows.tolist())):
            self.silence.came_back(row)
            if not recalled:
                made.windows.reload(row)
                made.watch.disturb(row, -np.inf)
                made.derived.mark(np.array([row]))

    def _make_room(self) -> None:
        """Let go of the tenth that came first, if more is held than may be."""
        pairing = self.pairing
        if pairing.readings + len(pairing.references) > self.plan.max_pending:
            pairing.expire(math.nextafter(pairing.oldest(0.1), math.inf))

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
        self.detector.patience[row] = rules.patience
        self._told.add(row)
        self.windows.names[row] = digest(key.sensor)
        self.windows.begin_epoch(row, self.epochs.start_of(key))

    def _take_told(self) -> list[KnownSeries]:
        """Return the series of which something is to be kept, and forget that it is."""
        rows, self._told = sorted(self._told), set()
        return [
            KnownSeries(
                row, *self.registry.keys[row], self.rules[row].unit, float(self.first_reading[row])
            )
            for row in rows
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
                self.windows.begin_epoch(row, self.epochs.start_of(key))
                self.watch.disturb(row, -np.inf)
                self._current.derived.forget(row)
                self._current.derived.mark(np.array([row]))
        return "accepted"
