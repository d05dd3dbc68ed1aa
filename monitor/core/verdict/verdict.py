"""What is said of a series: one value that every sentence, metric, alert and report is made of."""

from __future__ import annotations

from typing import Final, NamedTuple

from monitor.core.model import NAN
from monitor.core.verdict.estimate import NOTHING, Estimate
from monitor.core.verdict.slopes import NO_SLOPES, UNDECIDED, Slopes

IS_RIGHT: Final = "right"
FAULT: Final = "fault"
FAULTS: Final = (
    *("offset", "drift", "gain", "understated", "overstated"),
    *("outliers", "stuck", "lag", "sign"),
)


# Faults of how the error moves with the level: its own pairs do not tell whose the error is.
RELATED: Final = ("gain", "sign", "lag", "stuck")


class Remedy(NamedTuple):
    """What to do about it, tried on pairs after those it was chosen from.

    ``kind``: add, linear (value' = intercept + slope value), scale_u, add_and_scale_u, or none.
    ``pairs`` were judged, with the mean CRPS before and after. NaN where a number is not part of
    the remedy.
    """

    kind: str
    add: float = NAN
    slope: float = NAN
    intercept: float = NAN
    scale_u: float = NAN
    pairs: int = 0
    crps_before: float = NAN
    crps_after: float = NAN


NO_REMEDY: Final = Remedy("none")


class Verdict(NamedTuple):
    """What is wrong with a series, how large, since when, and what would mend it.

    ``size`` is the fault's own: the level now (offset, drift; the series' unit), the gain, the
    factor on u (understated, overstated), the share of outliers, the value it is stuck at, or the
    pairs by which it is late (0: by and by). ``level`` is the error now whatever the fault;
    ``scale`` the factor on u once level, slope and gain have left the error. ``since`` (the
    incident's first pair, never after the alarm) and ``segment`` (the first of the pairs that the
    sizes are from) count in the pairs given, ``began`` is the time of ``since``, NaN without times.
    ``healthy`` is how the error moved with the level while it was right.
    ``due``: when a drift leaves its tolerance, s UTC; NaN if it is not known or has left it.
    """

    state: str
    fault: str = ""
    size: Estimate = NOTHING
    level: Estimate = NOTHING
    slope_per_day: Estimate = NOTHING
    scale: Estimate = NOTHING
    gain: Estimate = NOTHING
    pivot: float = NAN
    error_model: str = UNDECIDED
    healthy: Slopes = NO_SLOPES
    since: int = 0
    segment: int = 0
    began: float = NAN
    due: float = NAN
    pairs: int = 0
    n_effective: float = 0.0
    remedy: Remedy | None = None
    sentence: str = ""
    advice: str = ""
