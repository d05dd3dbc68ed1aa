"""What is known of the series whose alert is pending or fires: the fault, its size, what mends it.

Rules of this file: derived from the windows and the detector's state, recomputed for series that
changed; the sentence says what is, the advice what to do, and nothing is ever applied.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np

from monitor.core import remedies
from monitor.core.bets import FAMILIES
from monitor.core.columns import Columns
from monitor.core.detection import RING, Detector
from monitor.core.diagnosis import Diagnosis, diagnose
from monitor.core.lifecycle import OK
from monitor.core.model import Int
from monitor.core.verdicts import verdict
from monitor.core.words import amount

# Pairs of a segment below which no remedy is said to clear an alert.
_PAIRS_FOR_ADVICE: Final = 50
_PAIRS_AFTER: Final = 100
_ADVICE: Final = {
    "stuck": "check the sensor: its value does not move while the reference does",
    "outliers": "look at the readings that are far off: misread, mismatched or disturbed ones",
}


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


class Judgements:
    """State: the judgement of each series that is not calm."""

    def __init__(self) -> None:
        self._known: dict[int, Judgement] = {}

    def get(self, row: int) -> Judgement | None:
        """Return what is known of a series."""
        return self._known.get(row)

    def update(self, series: Int, windows: Columns, detector: Detector, units: list[str]) -> None:
        """Judge those of ``series`` that are not calm; ``windows`` and ``units`` are theirs."""
        states, leading = detector.states(series), detector.leading(series)
        rho, fresh = detector.rho(series), detector.since_alarm(series)
        for at, row in enumerate(series.tolist()):
            if states[at] == OK:
                self._known.pop(row, None)
                continue
            one = windows.take(np.array([at]))
            alarm = None if fresh[at] < 0 else one.value.size - 1 - int(fresh[at])
            family = FAMILIES[int(leading[at])]
            self._known[row] = judge(one, float(rho[at]), family, alarm, units[at])
