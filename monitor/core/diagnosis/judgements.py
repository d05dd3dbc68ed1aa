"""What is known of the series whose alert is pending or fires: the fault, its size, what mends it.

Rules of this file: derived from the windows and the detector's state, recomputed for series that
changed; the sentence says what is, the advice what to do, and nothing is ever applied.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import chain, islice
from typing import Final, NamedTuple

import numpy as np

from monitor.core.columns import Columns
from monitor.core.detector.detector import RING, Detector
from monitor.core.detector.e_values import FAMILIES
from monitor.core.detector.lifecycle import OK
from monitor.core.diagnosis import remedies
from monitor.core.diagnosis.columns_of import Frames
from monitor.core.diagnosis.faults import PROVISIONAL_PAIRS, Diagnosis, diagnose
from monitor.core.diagnosis.sentences import amount, verdict
from monitor.core.model import Int
from monitor.core.steps import Steps, portions

# Pairs of a segment below which no remedy is said to clear an alert.
_PAIRS_FOR_ADVICE: Final = 50
_PAIRS_AFTER: Final = 100
_JUDGED_AT_ONCE: Final = 32
_ADVICE: Final = {
    "stuck": "check the sensor: its value does not move while the reference does",
    "outliers": "look at the readings that are far off: misread, mismatched or disturbed ones",
}

Units = Callable[[int], str]


class Judgement(NamedTuple):
    """A fault in words: which (an alert's name), how large, since when, what would mend it.

    ``estimate`` is in ``unit`` (of the series for an offset, else none); ``since`` in s UTC.
    ``clear`` unless it is not known yet in which way it is wrong.
    """

    alert: str
    sentence: str
    advice: str
    estimate: remedies.Estimate
    since: float
    provisional: bool
    clear: bool = True


def judge(pairs: Columns, rho: float, leading: str, alarm: int | None, unit: str) -> Judgement:
    """Return what the last pairs of one series say; arguments as those of :func:`diagnose`."""
    found = diagnose(pairs, rho, leading, alarm)
    since = float(pairs.time[found.since])
    alert = leading if found.label == "unclear" else found.label
    sentence = verdict(found, unit, since)
    return Judgement(
        alert,
        sentence,
        advice(found, pairs, unit),
        found.estimate,
        since,
        found.provisional,
        clear=not (found.hinted or found.label == "unclear"),
    )


def pairs_around(windows: Columns, row: int, alarm: float, until: float) -> tuple[Columns, int]:
    """Return the pairs of one series that tell of an alert, and which of them raised it.

    They end a hundred pairs after the alarm at the latest: an alert may last, and change.
    """
    one = windows.take(np.array([row]))
    raised = int(np.searchsorted(one.time, alarm, side="right")) - 1
    last = min(int(np.searchsorted(one.time, until, side="right")), raised + 1 + _PAIRS_AFTER)
    first = max(0, last - RING)
    return one.rows(slice(first, last)), raised - first


def advice(found: Diagnosis, pairs: Columns, unit: str) -> str:
    """Return what would mend a fault, empty where too little is known."""
    value = found.estimate.value
    if found.label == "unclear" or found.hinted or not math.isfinite(value):
        return ""
    if found.fading:
        return "nothing yet: the alert ends by itself if it is right again"
    if found.label in _ADVICE:
        return _ADVICE[found.label]
    if found.label == "gain":
        return f"divide its span by {value:.4g}"
    z = pairs.z[found.since :]
    bias = float(pairs.error[found.since :].mean())
    scale = float(np.sqrt(np.mean(z * z)))
    spread = float(z.std())
    alone = {
        "offset": _subtract(value if found.label == "offset" else bias, unit),
        "scale": f"multiply its u by {scale:.2g}",
        "both": f"{_subtract(bias, unit)} and multiply its u by {spread:.2g}",
    }
    if z.size < _PAIRS_FOR_ADVICE:
        return alone["offset" if found.label == "offset" else "scale"]
    clears = remedies.clears(z)
    order = ("offset", "scale") if found.label == "offset" else ("scale", "offset")
    best = next((name for name in (*order, "both") if clears[name]), "both")
    return alone[best]


def _subtract(bias: float, unit: str) -> str:
    return f"{'subtract' if bias >= 0.0 else 'add'} {amount(abs(bias), unit)}"


def unjudged(leading: str, pairs: Columns) -> Judgement:
    """Return what is said of a series until there was time to judge it; ``pairs`` are its own."""
    found = Diagnosis("unclear", remedies.UNKNOWN, 0, pairs.value.size, provisional=True)
    return Judgement(
        leading, verdict(found, ""), "", found.estimate, float(pairs.time[0]), provisional=True
    )


class Judgements:
    """State: the judgement of each series that is not calm, and which of them are out of date.

    To judge takes a tenth of a millisecond: where many are to be judged anew, the new alerts come
    first, then those whose judgement is the oldest.
    """

    def __init__(self) -> None:
        self._known: dict[int, Judgement] = {}
        self._waiting: dict[int, None] = {}
        self._new: dict[int, None] = {}

    def get(self, row: int) -> Judgement | None:
        """Return what is known of a series."""
        return self._known.get(row)

    def mark(self, series: Int, detector: Detector) -> None:
        """Note that the windows of ``series`` changed: those that are calm need no judgement."""
        is_calm = detector.states(series) == OK
        for row in series[is_calm].tolist():
            self._known.pop(row, None)
            self.leave(row)
        others = series[~is_calm]
        since = detector.since_alarm(others)
        is_fresh = (since >= 0) & (since < PROVISIONAL_PAIRS)
        for row, soon in zip(others.tolist(), is_fresh.tolist(), strict=True):
            if row not in self._known or soon:
                self._waiting.pop(row, None)
                self._new[row] = None
            elif row not in self._new:
                self._waiting[row] = None

    def steps(
        self, frames: Frames, detector: Detector, units: Units, most: int | None
    ) -> Steps[Int]:
        """Judge at most so many of those that wait, and return the series that were judged.

        Every series that is not calm has a judgement then, if only that it is not clear yet.
        """
        chosen = [*islice(chain(self._new, self._waiting), most)]
        for row in chosen:
            self._new.pop(row, None)
            self._waiting.pop(row, None)
        for part in portions(chosen, _JUDGED_AT_ONCE):
            self._judge(np.array(part), frames, detector, units)
            yield
        bare = [row for row in self._new if row not in self._known]
        for part in portions(bare, _JUDGED_AT_ONCE):
            self._name(np.array(part), frames, detector)
            yield
        return np.array([*chosen, *bare], dtype=np.int64)

    def _name(self, series: Int, frames: Frames, detector: Detector) -> None:
        """Say of series that wait no more than that they are not as right as they say."""
        series = frames.present(series)
        if series.size:
            windows, leading = frames.windows(series), detector.leading(series)
            for at, row in enumerate(series.tolist()):
                family = FAMILIES[int(leading[at])]
                self._known[row] = unjudged(family, windows.take(np.array([at])))

    def _judge(self, series: Int, frames: Frames, detector: Detector, units: Units) -> None:
        # Of one that lost its pairs since it was chosen there is nothing to say.
        series = frames.present(series)
        if not series.size:
            return
        windows, leading = frames.windows(series), detector.leading(series)
        rho, fresh = detector.rho(series), detector.since_alarm(series)
        for at, row in enumerate(series.tolist()):
            one = windows.take(np.array([at]))
            alarm = None if fresh[at] < 0 else one.value.size - 1 - int(fresh[at])
            family = FAMILIES[int(leading[at])]
            self._known[row] = judge(one, float(rho[at]), family, alarm, units(row))

    def leave(self, row: int) -> None:
        """Judge a series no longer: there is nothing to judge it by."""
        self._waiting.pop(row, None)
        self._new.pop(row, None)
