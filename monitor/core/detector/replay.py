"""The detector fed in event order: new pairs advance it, a changed past is replayed.

Rules of this file: the evidence of a series is a function of its pairs in event order and of its
epochs, in whatever order they arrived. There is one replay: it starts from the last checkpoint
before the change, else from the root (the state before the first pair that the history still has),
else without evidence; it takes the pairs after it, from the ring if that has them all, else from
the history, across epochs, for many series at once. Where it starts decides what it costs, never
what it finds.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np

from monitor.core.columns import Columns
from monitor.core.detector.detector import Detector
from monitor.core.detector.detector_inputs import (
    NO_CUTS,
    ChosenBets,
    DetectorInputs,
    SeriesCuts,
    epoch_pieces,
    series_cuts,
)
from monitor.core.detector.evidence_checkpoints import EvidenceCheckpoints, FoundCheckpoints
from monitor.core.detector.kept_evidence import EvidenceKeeper, KeptEvidence, Resumed, UpTo
from monitor.core.detector.lifecycle import STATES, StateTransition
from monitor.core.detector.series_state import STATE
from monitor.core.detector.usual_u import StatedColumns
from monitor.core.model import PAIR, Bool, Event, Float, Int, Records, some_rows
from monitor.core.pairing.series_rules import SeriesRules
from monitor.core.steps import Steps, finish
from monitor.core.windows.rings import WINDOW, Names
from monitor.core.windows.series_rings import grouped
from monitor.core.windows.windows import Windows

FIRING: Final = "firing"
_STEP: Final = 1024  # pairs of all series between two yields
_LAST_ID: Final = np.uint64(np.iinfo(np.uint64).max)
_NO_PAIRS: Final = np.zeros(0, PAIR)
_BARE: Final = np.dtype((np.void, PAIR.itemsize))  # rows without field names concatenate faster


class AlertChange(NamedTuple):
    """An alert's state changed, at the event time of one pair or at an epoch."""

    series: int
    time: float
    before: str
    after: str
    family: str


class Checkpoint(NamedTuple):
    """The detector's state after the pair (time, id), with the z that it needs."""

    time: float
    id: int
    state: bytes


class Past(NamedTuple):
    """Pairs (``PAIR``) or rows of windows (``WINDOW``) of some series, end to end.

    Of each series, where its rows start, how many there are for looking back on only, how many are
    to be taken, and the event time after which epochs are still to begin.
    """

    series: Int
    rows: Records
    starts: Int
    skipped: Int
    counts: Int
    after: Float


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
        self._events_of: Final = events_of
        self._checkpoints: Final = EvidenceCheckpoints(detector)
        self._roots: Final[dict[int, Checkpoint]] = {}
        self._every: Final = np.arange(detector.path.size)
        self._known: Final = np.zeros(detector.path.size, dtype=np.bool_)  # bets are chosen
        # Of series that a replay takes on now: how many pairs are left, and those it has passed.
        self._under_way: dict[int, tuple[int, Records]] = {}
        self.keeper: Final = EvidenceKeeper(detector, rules, program)
        self.disturbed: dict[int, float] = {}
        self.taken_back: set[int] = set()

    def disturb(self, row: int, since: float) -> None:
        """Mark a series whose past changed from an event time on."""
        self.disturbed[row] = min(since, self.disturbed.get(row, np.inf))
        self.keeper.disturb(row, since)

    def forget(self, row: int) -> None:
        """Drop everything about a series."""
        self._known[row] = False
        self.disturbed.pop(row, None)
        self.taken_back.discard(row)
        self._checkpoints.forget(row)
        self._roots.pop(row, None)
        self._detector.forget(np.array([row]))

    # -- saved states -----------------------------------------------------------------------

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
        self._known[row] = True
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
            self._roots[row] = root

    def root(self, row: int) -> Checkpoint | None:
        """Return the state that a replay of the whole history starts from, None for a fresh one."""
        return self._roots.get(row)

    def move_roots(self, pairs: Mapping[int, int]) -> None:
        """Make replays start after the first so many pairs, which may then be deleted.

        ``pairs`` maps rows to a number of pairs, at least one. The series must not be disturbed.
        """
        standing = self._histories([*pairs], -np.inf)
        past = self._from_roots({row: standing[row][:count] for row, count in pairs.items()})
        apart = self._apart(past)
        finish(self._through(apart, past, to_end=False))
        last = past.rows[past.starts + past.counts - 1]
        states = apart.dumps(np.arange(past.series.size))
        columns = past.series.tolist(), last["time"].tolist(), last["id"].tolist(), states
        self._roots.update((row, Checkpoint(*each)) for row, *each in zip(*columns, strict=True))

    def keep(self, rows: Int) -> list[KeptEvidence]:
        """Return the evidence of ``rows`` for later starts.

        Of a series whose past has changed it is that of a checkpoint; if it waits for a replay, of
        one from before the change, or the series is left out.
        """
        some = rows[self._known[rows] & (self._windows.rings.held[rows] > 0)]
        oldest, copied = self._checkpoints.oldest(some)
        since = np.array([self.disturbed.get(row, np.inf) for row in some.tolist()])
        is_copied = oldest.entries >= 0
        times, ids = self._newest(some)
        records = self._detector.records(some)
        records[is_copied] = copied[is_copied]
        times = np.where(is_copied, oldest.times, times)
        ids = np.where(is_copied, oldest.ids, ids)
        stands = (since == np.inf) | is_copied & (times < since)
        return self.keeper.made(some[stands], times[stands], ids[stands], records[stands])

    def resumable(self, notes: Iterable[KeptEvidence], up_to: UpTo) -> dict[int, Resumed]:
        """Return the states that can be resumed, by row; for ``up_to`` see :data:`.UpTo`."""
        states = {each.series: self.keeper.resumable(each, up_to) for each in notes}
        return {row: each for row, each in states.items() if each is not None}

    # -- the evidence of one series ---------------------------------------------------------

    def evidence_bits(self, row: int) -> bytes:
        """Return the kind of bets on a series, and its evidence, as bits."""
        return _bits_in(self._detector, row)

    def evidence_by(self, row: int, history: Records) -> Steps[bytes]:
        """Return what :meth:`evidence_bits` should return, given all pairs; change nothing.

        It works in steps, between which anything may happen: the events that count are those at the
        call.
        """
        past = self._from_roots({row: history})
        apart = self._apart(past)
        yield from self._through(apart, past)
        return _bits_in(apart, 0)

    def earlier(self, row: int, count: int) -> Float:
        """Return the last ``count`` z of a series before what its evidence takes now."""
        left, passed = self._under_way.get(row, (0, _NO_PAIRS))
        if passed.size >= count:
            rows = self._as_kept(passed[passed.size - count :])
        else:
            rows = self._windows.rings.up_to(row, left, count)
        one = np.array([row])
        z = self._inputs.of(one, np.zeros(1, np.int64), rows, _bets_in(self._detector, one)).z
        if z.size < count and row in self._roots:
            before = np.frombuffer(self._roots[row].state[STATE.itemsize :], np.float64)
            z = np.concatenate([before[max(before.size + z.size - count, 0) :], z])
        return z

    def begin_epoch(self, row: int, time: float) -> list[AlertChange] | None:
        """Begin an epoch of one series after all its pairs; return how its alert changes.

        None where its evidence is out of date: its pairs must be replayed.
        """
        if row in self.disturbed or not self._known[row]:
            return None
        one, at = np.array([row]), np.array([time])
        changes = _epochs_begun(self._detector, one, one, at)
        self._checkpoints.open(one)
        self._checkpoints.take(one, np.nextafter(at, -np.inf), np.array([_LAST_ID]))
        return changes

    # -- new pairs --------------------------------------------------------------------------

    def step(self, portions: Iterable[Records]) -> list[AlertChange]:
        """Advance by pairs newer than all others of their series, ordered (series, time, id).

        They may come in several portions of whole series; the detector takes all at once.
        """
        taken = [self._steps_of(pairs) for pairs in portions if pairs.size]
        if not taken:
            return []
        columns = [np.concatenate(column) for column in zip(*taken, strict=True)]
        series, counts, times, z, *stated = columns
        opened = self._checkpoints.opened(series)
        if opened.size:
            held = opened[self._windows.rings.held[opened] > 0]
            self._checkpoints.take(held, *self._newest(held))
        transitions = self._detector.advance(
            series, np.cumsum(counts) - counts, z, StatedColumns(*stated)
        )
        if opened.size:
            self._checkpoints.passed(series, counts)
        return _changes_of(transitions, self._every, times)

    def preview(self, pairs: Records) -> list[AlertChange]:
        """Return what :meth:`step` would for newer pairs of one series; its evidence stays."""
        series, counts, times, z, *stated = self._steps_of(pairs)
        before = self._detector.copies(series)
        transitions = self._detector.advance(
            series, np.cumsum(counts) - counts, z, StatedColumns(*stated)
        )
        self._detector.put_back(series, *before)
        return _changes_of(transitions, self._every, times)

    # -- a changed past ---------------------------------------------------------------------

    def replay_disturbed(self, rows: Iterable[int]) -> list[AlertChange]:
        """Replay those of ``rows`` whose past changed; return how their alerts differ from before.

        ``taken_back`` receives those whose alert should never have fired, given the past as it is
        now.
        """
        series = np.array([row for row in rows if row in self.disturbed], dtype=np.int64)
        if not series.size:
            return []
        since = np.array([self.disturbed.pop(row) for row in series.tolist()])
        before = self._detector.states(series).tolist()
        self._checkpoints.open(series)
        entries, after, ids = self._checkpoints.before(series, since)
        after[entries < 0] = -np.inf
        counts = self._windows.rings.later_than(series, after, ids)
        counts[(entries < 0) & np.isin(series, np.array([*self._roots], dtype=np.int64))] = -1
        changes: list[AlertChange] = []
        near, old = np.flatnonzero(counts >= 0), np.flatnonzero(counts < 0)
        if near.size:
            past = self._in_rings(series[near], counts[near], after[near])
            changes += self._replayed(past, entries[near])
        if old.size:
            starts = FoundCheckpoints(entries[old], after[old], ids[old])
            changes += self._replayed(*self._in_history(series[old], starts))
        return self._differences(series, before, changes)

    def replay_recalled(
        self,
        pairs: Records,
        resumed: Mapping[int, Resumed],
        fired: Collection[int] = (),
    ) -> list[AlertChange]:
        """Replay series of which nothing is loaded yet; return how their alerts change.

        ``pairs`` has all pairs of each in the order (series, time, id), or those from the first one
        that what is ``resumed`` needs. ``fired`` are series whose alert fired before their past
        changed, after what is resumed of them.
        """
        series, starts, sizes, _ = grouped(pairs)
        since = np.array([self.disturbed.pop(row, np.inf) for row in series.tolist()])
        self._checkpoints.open(series[since < np.inf])
        is_resumed = np.isin(series, [*resumed])
        states = [resumed[row] for row in series[is_resumed].tolist()]
        skipped, after = np.zeros_like(starts), np.full(series.size, -np.inf)
        skipped[is_resumed] = [each.next - each.first for each in states]
        after[is_resumed] = [each.time for each in states]
        past = Past(series, pairs, starts, skipped, sizes - skipped, after)
        self._begin(past, ~is_resumed)
        if states:
            self._continue(past, is_resumed, states)
        has_fired = np.isin(series, [*fired])
        before = np.where(has_fired, STATES.index(FIRING), self._detector.states(series))
        changes = finish(self._through(self._detector, past))
        compared = has_fired | ~is_resumed
        shown = [each for each in changes if each.series in series[~compared]]
        return shown + self._differences(series[compared], before[compared].tolist(), changes)

    # -- inside -----------------------------------------------------------------------------

    def _in_rings(self, series: Int, counts: Int, after: Float) -> Past:
        """Return the last rows of each ring, so many of each."""
        rows = self._windows.rings.last(series, counts)
        return Past(series, rows, np.cumsum(counts) - counts, np.zeros_like(counts), counts, after)

    def _in_history(self, series: Int, starts: FoundCheckpoints) -> tuple[Past, Int]:
        """Return the pairs that a journal has after checkpoints, or after later roots (-1)."""
        entries, times, ids = starts.entries.copy(), starts.times.copy(), starts.ids.copy()
        for at, row in enumerate(series.tolist()):
            root = self._roots.get(row)
            if root is not None and not (entries[at] >= 0 and times[at] > root.time):
                entries[at], times[at], ids[at] = -1, root.time, root.id
        histories = self._histories(series.tolist(), float(times.min()))
        columns = zip(series.tolist(), times.tolist(), ids.tolist(), strict=True)
        parts = [_after(histories[row], time, number) for row, time, number in columns]
        return _end_to_end(series, parts, times), entries

    def _from_roots(self, histories: Mapping[int, Records]) -> Past:
        """Return whole histories."""
        roots = [self._roots.get(row) for row in histories]
        after = np.array([-np.inf if root is None else root.time for root in roots])
        return _end_to_end(np.array([*histories]), [*histories.values()], after)

    def _apart(self, past: Past) -> Detector:
        """Return a detector, with all its z, in which series are as they are at their roots."""
        apart = self._detector.alone(past.series.size)
        apart.patience[:] = self._detector.patience[past.series]
        roots = [self._roots.get(row) for row in past.series.tolist()]
        has_root = np.array([root is not None for root in roots], dtype=np.bool_)
        for name in ("path", "systematic"):
            getattr(apart, name)[has_root] = getattr(self._detector, name)[past.series[has_root]]
        apart.loads(np.flatnonzero(has_root), [root.state for root in roots if root is not None])
        new = np.flatnonzero(~has_root & (past.counts > 0))
        if new.size:
            first = self._as_kept(some_rows(past.rows, past.starts[new]))
            apart.path[new], apart.systematic[new] = self._inputs.chosen(past.series[new], first)
        return apart

    def _begin(self, past: Past, is_new: Bool) -> None:
        """Put the evidence of some series back to their roots, or to none."""
        series = past.series[is_new]
        rooted = [row for row in series.tolist() if row in self._roots]
        self._detector.loads(
            np.array(rooted, dtype=np.int64), [self._roots[row].state for row in rooted]
        )
        fresh = is_new & ~np.isin(past.series, np.array(rooted, dtype=np.int64))
        series = past.series[fresh]
        self._detector.forget(series)
        self._known[series] = False
        fresh &= past.counts > 0
        self._choose(past.series[fresh], some_rows(past.rows, past.starts[fresh]))

    def _continue(self, past: Past, is_resumed: Bool, states: Sequence[Resumed]) -> None:
        """Load states that were kept, and the z before them."""
        series, sizes = past.series[is_resumed], past.skipped[is_resumed]
        self._known[series] = True
        self._detector.path[series] = [each.state.path for each in states]
        self._detector.systematic[series] = [each.state.systematic for each in states]
        starts = np.cumsum(sizes) - sizes
        places = np.arange(sizes.sum()) + np.repeat(past.starts[is_resumed] - starts, sizes)
        rows = self._as_kept(some_rows(past.rows, places))
        z = self._inputs.of(series, starts, rows, _bets_in(self._detector, series)).z
        records = np.frombuffer(b"".join(each.state.record for each in states), STATE)
        self._detector.restore(series, records, starts, z)
        ids = np.array([each.state.id for each in states], dtype=np.uint64)
        self._checkpoints.take(series, past.after[is_resumed], ids)

    def _replayed(self, past: Past, entries: Int) -> list[AlertChange]:
        """Put evidence back to checkpoints (-1: to the root, or to none), and take what follows."""
        is_near = entries >= 0
        self._checkpoints.go_back(past.series[is_near], entries[is_near])
        self._begin(past, ~is_near)
        return finish(self._through(self._detector, past))

    def _through(
        self, detector: Detector, past: Past, *, to_end: bool = True
    ) -> Steps[list[AlertChange]]:
        """Advance series through their pairs, in steps of a few milliseconds.

        ``detector`` is the live one, or has a place for each series. ``to_end``: epochs after the
        last pairs begin as well.
        """
        is_live, counts = detector is self._detector, past.counts
        places, names = (past.series, self._every) if is_live else (self._every, past.series)
        first = past.starts + past.skipped
        cuts = self._cuts(past, first, to_end=to_end)
        changes: list[AlertChange] = []
        taken = 0
        for begins, began, some, done, size in epoch_pieces(counts, cuts):
            if taken and taken + int(size.sum()) > _STEP:
                taken = 0
                yield
            taken += int(size.sum())
            now, stops = places[some], first[some] + done
            if is_live:
                came = done > 0
                last = past.rows[stops[came] - 1]
                self._checkpoints.take(now[came], last["time"], last["id"])
            changes += _epochs_begun(detector, places[begins], past.series[begins], began)
            if not some.size:
                continue
            starts = np.cumsum(size) - size
            at = np.arange(size.sum()) + np.repeat(stops - starts, size)
            rows = self._as_kept(some_rows(past.rows, at))
            if is_live:
                self._under_way = self._passed(past, some, stops, counts[some] - done)
            inputs = self._inputs.of(past.series[some], starts, rows, _bets_in(detector, now))
            transitions = detector.advance(now, starts, *inputs)
            changes += _changes_of(transitions, names, rows["time"])
            if is_live:
                self._checkpoints.passed(now, size)
        if is_live:
            self._under_way = {}
        return changes

    def _passed(
        self, past: Past, some: Int, stops: Int, left: Int
    ) -> dict[int, tuple[int, Records]]:
        """Return of some series how many pairs are left, and the rows that a replay has passed."""
        columns = (past.series[some], left, past.starts[some], stops)
        every = zip(*(column.tolist() for column in columns), strict=True)
        return {row: (more, past.rows[start:stop]) for row, more, start, stop in every}

    def _cuts(self, past: Past, first: Int, *, to_end: bool) -> list[SeriesCuts]:
        """Return where epochs that are still to begin cut the pairs of each series."""
        cuts = []
        columns = (past.series, past.after, first, first + past.counts)
        for row, after, start, stop in zip(*(each.tolist() for each in columns), strict=True):
            epochs = [each.time for each in self._events_of(row) if each.time > after]
            if epochs:
                own = series_cuts(past.rows["time"][start:stop], np.array(epochs))
                cuts.append(own if to_end else own.before(stop - start))
            else:
                cuts.append(NO_CUTS)
        return cuts

    def _differences(
        self, series: Int, before: list[int], changes: list[AlertChange]
    ) -> list[AlertChange]:
        """Return how states differ from those before, where alerts changed while replaying."""
        by_row: dict[int, list[AlertChange]] = {}
        for change in changes:
            by_row.setdefault(change.series, []).append(change)
        differences = []
        after = self._detector.states(series).tolist()
        for row, was, now in zip(series.tolist(), before, after, strict=True):
            own = by_row.get(row, [])
            if STATES[was] == FIRING != STATES[now] and all(FIRING not in each for each in own):
                self.taken_back.add(row)
            if was != now and own:
                differences.append(own[-1]._replace(before=STATES[was]))
        return differences

    def _steps_of(self, pairs: Records) -> tuple[Int, Int, Float, Float, Float, Float]:
        """Return the series of some pairs, the number of each, times, z, stated u and readings."""
        series, starts, counts, _ = grouped(pairs)
        rows = self._as_kept(pairs)
        self._choose(series, rows[starts])
        z, stated = self._inputs.of(series, starts, rows, _bets_in(self._detector, series))
        return series, counts, pairs["time"].copy(), z, *stated

    def _choose(self, series: Int, first: Records) -> None:
        """Choose the bets of those of ``series`` that have none yet, by their first rows."""
        is_new = np.flatnonzero(~self._known[series])
        if is_new.size:
            new = series[is_new]
            self._known[new] = True
            bets = self._inputs.chosen(new, self._as_kept(first[is_new]))
            self._detector.path[new], self._detector.systematic[new] = bets

    def _newest(self, series: Int) -> tuple[Float, Names]:
        """Return the pair (time, id), or the event, that the states of ``series`` follow.

        Each must hold a pair.
        """
        last = self._windows.rings.last(series, np.ones_like(series))
        epochs = self._windows.epochs(series)  # one that began since is in the state
        is_pair = last["time"] >= epochs
        times = np.where(is_pair, last["time"], np.nextafter(epochs, -np.inf))
        return times, np.where(is_pair, last["id"], _LAST_ID)

    def _as_kept(self, rows: Records) -> Records:
        return rows if rows.dtype == WINDOW else self._windows.as_kept(rows)


def _end_to_end(series: Int, parts: Sequence[Records], after: Float) -> Past:
    """Return pairs of several series in one piece."""
    rows = np.concatenate([part.view(_BARE) for part in parts]).view(PAIR)
    counts = np.array([part.size for part in parts])
    return Past(series, rows, np.cumsum(counts) - counts, np.zeros_like(counts), counts, after)


def _after(history: Records, time: float, number: int) -> Records:
    """Return the pairs that come after (time, id)."""
    part = history[np.searchsorted(history["time"], time) :]
    return part[(part["time"] != time) | (part["id"] > np.uint64(number))]


def _bets_in(detector: Detector, places: Int) -> ChosenBets:
    """Return the kind of bets that a detector places on some series."""
    return ChosenBets(detector.path[places], detector.systematic[places])


def _bits_in(detector: Detector, place: int) -> bytes:
    """Return a detector's kind of bets on a series, and its evidence, as bits."""
    bets = _bets_in(detector, np.array([place]))
    return bytes(bets.path.tobytes() + bets.systematic.tobytes() + detector.bits(place))


def _changes_of(
    transitions: Sequence[StateTransition], names: Int, times: Float
) -> list[AlertChange]:
    """Return transitions as changes; ``names`` are the series at places of the detector."""
    return [
        AlertChange(int(names[e.series]), float(times[e.position]), e.before, e.after, e.family)
        for e in transitions
    ]


def _epochs_begun(detector: Detector, places: Int, series: Int, times: Float) -> list[AlertChange]:
    """Begin an epoch of the series at some places of a detector; return how alerts change."""
    if not places.size:
        return []
    named = dict(zip(places.tolist(), series.tolist(), strict=True))
    began = dict(zip(places.tolist(), times.tolist(), strict=True))
    return [
        AlertChange(named[e.series], began[e.series], e.before, e.after, e.family)
        for e in detector.reset(places)
    ]
