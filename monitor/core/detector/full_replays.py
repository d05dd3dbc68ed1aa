"""Replays of whole histories, in a separate detector that keeps all the z it needs.

Rules of this file: a series starts from a checkpoint, else without evidence; the live state does
not change. Epochs begin along the way. The root of a series is the state before the first pair that
its history still has. Checkpoints decide what a replay costs, never what it finds: a series that
was once replayed from its history keeps the newest few, so that the next replay reads only the
history after one of them, however long the history is.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np

from monitor.core.detector.detector import Detector
from monitor.core.detector.detector_inputs import (
    NO_CUTS,
    ChosenBets,
    DetectorInputs,
    SeriesCuts,
    epoch_pieces,
    series_cuts,
)
from monitor.core.detector.lifecycle import StateTransition
from monitor.core.model import PAIR, Event, Float, Int, Records
from monitor.core.steps import Steps, finish
from monitor.core.windows.windows import Windows

_SPACING: Final = 256  # pairs between two checkpoints
EACH: Final = 8  # checkpoints of a series
_BYTES_MAX: Final = 32 << 20  # of checkpoints in total; beyond that, the least recently used go


class Checkpoint(NamedTuple):
    """The detector's state after the pair (time, id)."""

    time: float
    id: int
    state: bytes


class FarCheckpoints:
    """State: the checkpoints of each series, in event order."""

    def __init__(self, bytes_max: int = _BYTES_MAX) -> None:
        self._bytes_max: Final = bytes_max
        self._bytes = 0
        self._kept: Final[OrderedDict[int, list[Checkpoint]]] = OrderedDict()

    def before(self, row: int, since: float) -> Checkpoint | None:
        """Return the last one before an event time; forget those after it: its past changed."""
        kept = self._kept.get(row)
        if kept is None:
            return None
        self._kept.move_to_end(row)
        while kept and not kept[-1].time < since:
            self._bytes -= len(kept.pop().state)
        return kept[-1] if kept else None

    def add(self, row: int, checkpoint: Checkpoint) -> None:
        """Keep one that is later than all others of its series."""
        kept = self._kept.setdefault(row, [])
        kept.append(checkpoint)
        self._bytes += len(checkpoint.state)
        if len(kept) > EACH:
            self._bytes -= len(kept.pop(0).state)
        while self._bytes > self._bytes_max:
            self.forget(next(iter(self._kept)))

    def forget(self, row: int) -> None:
        """Drop the checkpoints of a series."""
        self._bytes -= sum(len(each.state) for each in self._kept.pop(row, ()))


_PIECE: Final = 512  # pairs of a series that are taken at once
_STEP: Final = 1024  # of all series, between two yields
_BARE: Final = np.dtype((np.void, PAIR.itemsize))  # rows without field names concatenate faster


class AlertChange(NamedTuple):
    """An alert's state changed, at the event time of one pair or at an epoch."""

    series: int
    time: float
    before: str
    after: str
    family: str


Starts = Sequence[Checkpoint | None]  # where the replay of each series starts
Keep = Callable[[int, Checkpoint], None]


class FullReplays:
    """Replays for ``detector``; ``events_of`` are a series' epochs, ``roots`` may be set."""

    def __init__(
        self,
        detector: Detector,
        windows: Windows,
        inputs: DetectorInputs,
        events_of: Callable[[int], list[Event]],
    ) -> None:
        self._detector: Final = detector
        self._windows: Final = windows
        self._inputs: Final = inputs
        self._events_of: Final = events_of
        self.roots: Final[dict[int, Checkpoint]] = {}

    def roots_of(self, series: Int) -> Starts:
        """Return the root of each of ``series``, None where its history is whole."""
        return [self.roots.get(row) for row in series.tolist()]

    def cuts(self, series: Int, after: Float, times: Sequence[Float]) -> list[SeriesCuts]:
        """Return where epochs later than ``after`` cut pairs at so many times."""
        found = []
        for row, since, own in zip(series.tolist(), after.tolist(), times, strict=True):
            epochs = [each.time for each in self._events_of(row) if each.time > since]
            found.append(series_cuts(own, np.array(epochs)) if epochs else NO_CUTS)
        return found

    def begun(self, series: Int, histories: Sequence[Records], starts: Starts) -> Detector:
        """Return a detector in which each of ``series`` is as it was before its history."""
        apart = self._detector.alone(series.size)
        apart.patience[:] = self._detector.patience[series]
        is_begun = np.array([start is not None for start in starts], dtype=np.bool_)
        apart.path[is_begun] = self._detector.path[series[is_begun]]
        apart.systematic[is_begun] = self._detector.systematic[series[is_begun]]
        loaded = [start.state for start in starts if start is not None]
        apart.loads(np.flatnonzero(is_begun), loaded)
        new = [at for at in np.flatnonzero(~is_begun).tolist() if histories[at].size]
        if new:
            first = end_to_end([histories[at][:1] for at in new])
            bets = self._inputs.chosen(series[new], self._windows.as_kept(first))
            apart.path[new], apart.systematic[new] = bets
        return apart

    def steps(
        self,
        apart: Detector,
        series: Int,
        histories: Sequence[Records],
        starts: Starts,
        *,
        to_end: bool,
        keep: Keep | None = None,
    ) -> Steps[list[AlertChange]]:
        """Advance what :meth:`begun` made through histories, in steps of a few milliseconds.

        ``to_end``: epochs after the last pairs begin as well. ``keep(row, checkpoint)`` is called
        on the way, every few hundred pairs of a series.
        """
        counts = np.array([each.size for each in histories])
        times = [each["time"] for each in histories]
        cuts = self.cuts(series, times_of(starts), times)
        passed, kept = np.zeros((2, series.size), dtype=np.int64)
        if not to_end:
            cuts = [each.before(own.size) for each, own in zip(cuts, times, strict=True)]
        seen: list[AlertChange] = []
        taken = 0
        for begins, began, some, done, size in epoch_pieces(counts, cuts, _PIECE):
            if taken and taken + int(size.sum()) > _STEP:
                taken = 0
                yield
            taken += int(size.sum())
            seen += epochs_begun(apart, begins, series[begins], began)
            if some.size:
                rows = self._windows.as_kept(_parts(histories, some, done, size))
                first = np.cumsum(size) - size
                z = self._inputs.of(series[some], first, rows, bets_in(apart, some))
                found = apart.advance(some, first, z)
                seen += changes_of(found, series, rows["time"])
                passed[some] = done + size
                is_due = passed[some] - kept[some] >= _SPACING
                # Only the last EACH are kept.
                is_due &= counts[some] - passed[some] < EACH * _SPACING
                if keep is not None and is_due.any():
                    due = some[is_due]
                    kept[due] = passed[due]
                    for at, state in zip(due.tolist(), apart.dumps(due), strict=True):
                        last = histories[at][passed[at] - 1]
                        checkpoint = Checkpoint(float(last["time"]), int(last["id"]), state)
                        keep(int(series[at]), checkpoint)
        return seen

    def states_after(self, histories: Mapping[int, Records]) -> list[bytes]:
        """Return the state of each series after its history, as a detector dumps it."""
        series, parts = np.array([*histories]), [*histories.values()]
        roots = self.roots_of(series)
        apart = self.begun(series, parts, roots)
        finish(self.steps(apart, series, parts, roots, to_end=False))
        return apart.dumps(np.arange(series.size))


def times_of(starts: Starts) -> Float:
    """Return the event times of checkpoints, -inf for none."""
    return np.array([-np.inf if start is None else start.time for start in starts])


def bets_in(detector: Detector, places: Int) -> ChosenBets:
    """Return the kind of bets that a detector places on some series."""
    return ChosenBets(detector.path[places], detector.systematic[places])


def bits_in(detector: Detector, place: int) -> bytes:
    """Return a detector's kind of bets on a series, and its evidence, as bits."""
    bets = bets_in(detector, np.array([place]))
    return bytes(bets.path.tobytes() + bets.systematic.tobytes() + detector.bits(place))


def changes_of(found: Sequence[StateTransition], series: Int, times: Float) -> list[AlertChange]:
    """Return transitions as changes; ``series`` are the names of their places."""
    return [
        AlertChange(int(series[e.series]), float(times[e.position]), e.before, e.after, e.family)
        for e in found
    ]


def epochs_begun(detector: Detector, places: Int, series: Int, times: Float) -> list[AlertChange]:
    """Begin an epoch of the series at some places of a detector; return how alerts change."""
    if not places.size:
        return []
    named = dict(zip(places.tolist(), series.tolist(), strict=True))
    began = dict(zip(places.tolist(), times.tolist(), strict=True))
    return [
        AlertChange(named[e.series], began[e.series], e.before, e.after, e.family)
        for e in detector.reset(places)
    ]


def end_to_end(parts: Sequence[Records]) -> Records:
    """Return pairs of several series in one piece."""
    return np.concatenate([part.view(_BARE) for part in parts]).view(PAIR)


def _parts(histories: Sequence[Records], some: Int, done: Int, size: Int) -> Records:
    """Return the next pairs of some series, end to end."""
    cut = zip(some.tolist(), done.tolist(), (done + size).tolist(), strict=True)
    return end_to_end([histories[at][first:stop] for at, first, stop in cut])
