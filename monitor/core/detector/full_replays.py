"""Replays of whole histories, in a detector of their own which keeps all it looks back on.

Rules of this file: a series starts from its root, the state before the first pair that its history
still has, else from nothing; nothing of what is live changes. Epochs begin on the way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np

from monitor.core.detector.detector import Detector
from monitor.core.detector.detector_inputs import ChosenBets, DetectorInputs
from monitor.core.detector.epoch_pieces import SeriesCuts, epoch_pieces, series_cuts
from monitor.core.detector.lifecycle import StateTransition
from monitor.core.model import Event, Float, Int, Records
from monitor.core.steps import Steps, finish
from monitor.core.windows.windows import Windows

_PIECE: Final = 512  # pairs of a series that are taken at once
_STEP: Final = 1024  # of all series, between two yields


class AlertChange(NamedTuple):
    """An alert's state changed, at the event time of one pair or at an epoch."""

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

    def root_times(self, series: Int) -> Float:
        """Return the time of the root of each of ``series``, -inf without one."""
        roots = (self.roots.get(row) for row in series.tolist())
        return np.array([-np.inf if root is None else root.time for root in roots])

    def cuts(self, series: Int, after: Float, times: Sequence[Float]) -> list[SeriesCuts]:
        """Return where epochs later than ``after`` cut pairs at so many times."""
        found = []
        for row, since, own in zip(series.tolist(), after.tolist(), times, strict=True):
            epochs = np.array([each.time for each in self._events_of(row) if each.time > since])
            found.append(series_cuts(own, epochs))
        return found

    def begun(self, series: Int, histories: Sequence[Records]) -> Detector:
        """Return a detector in which each of ``series`` is as it was before its history."""
        apart = self._detector.alone(series.size)
        apart.patience[:] = self._detector.patience[series]
        for at, (row, history) in enumerate(zip(series.tolist(), histories, strict=True)):
            root = self.roots.get(row)
            if root is not None:
                apart.path[at] = self._detector.path[row]
                apart.systematic[at] = self._detector.systematic[row]
                apart.load(at, root.state)
            elif history.size:
                bets = self._inputs.chosen(np.array([row]), self._windows.as_kept(history[:1]))
                apart.path[at], apart.systematic[at] = bets.path[0], bets.systematic[0]
        return apart

    def steps(
        self, apart: Detector, series: Int, histories: Sequence[Records], *, to_end: bool
    ) -> Steps[list[AlertChange]]:
        """Advance what :meth:`begun` made through histories, in steps of a few milliseconds.

        ``to_end``: epochs after the last pairs begin as well.
        """
        counts = np.array([each.size for each in histories])
        times = [each["time"] for each in histories]
        cuts = self.cuts(series, self.root_times(series), times)
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
                starts = np.cumsum(size) - size
                z = self._inputs.of(series[some], starts, rows, bets_in(apart, some))
                found = apart.advance(some, starts, z)
                seen += changes_of(found, series, rows["time"])
        return seen

    def states_after(self, histories: Mapping[int, Records]) -> list[bytes]:
        """Return the state of each series after its history, as a detector dumps it."""
        series, parts = np.array([*histories]), [*histories.values()]
        apart = self.begun(series, parts)
        finish(self.steps(apart, series, parts, to_end=False))
        return apart.dumps(np.arange(series.size))


def bets_in(detector: Detector, places: Int) -> ChosenBets:
    """Return the bets that a detector has of some series."""
    return ChosenBets(detector.path[places], detector.systematic[places])


def bits_in(detector: Detector, place: int) -> bytes:
    """Return the bets that a detector has of a series, and its evidence, as bits."""
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


def _parts(histories: Sequence[Records], some: Int, done: Int, size: Int) -> Records:
    """Return the next pairs of some series, end to end."""
    cut = zip(some.tolist(), done.tolist(), (done + size).tolist(), strict=True)
    return np.concatenate([histories[at][first:stop] for at, first, stop in cut])
