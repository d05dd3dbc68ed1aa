"""The one function that says what is wrong with a series, from its last pairs.

Rules of this file: the errors are cut into pieces; the cheapest explanation of the newest pairs
gives the fault its name; level, slope and factor come from the newest piece, and their intervals
from all rivals of it. What the intervals do not show is not said.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from monitor.core.diagnosis_new import partition as cut
from monitor.core.diagnosis_new.dependence import (
    inflation,
    inflation_of_squares,
    rho_of_differences,
)
from monitor.core.diagnosis_new.estimate import NOTHING, Estimate, mixed
from monitor.core.diagnosis_new.naming import Evidence, named
from monitor.core.diagnosis_new.pairs import Pairs
from monitor.core.diagnosis_new.relations import NO_SLOPES, Gain, Slopes, gain_of, slopes_of
from monitor.core.diagnosis_new.remedy import remedy_for
from monitor.core.diagnosis_new.rivals import NONE, Rival, gain_rival, lag_of, sign_of
from monitor.core.diagnosis_new.sentences import with_words
from monitor.core.diagnosis_new.spread import FAR, far_since, shape_of, spread_of
from monitor.core.diagnosis_new.stuck import stuck_for
from monitor.core.diagnosis_new.verdict import FAULT, RIGHT, UNDECIDED, Verdict
from monitor.core.model import Float, NAN

FEWEST: Final = 4  # pairs below which nothing is said
_CALM: Final = 20.0  # independent pairs from which a sensor that shows nothing is right
_HISTORY: Final = 30  # pairs before a fault that show what the sensor is like when it is right
_T_GAIN: Final = 2.2
_MARGIN: Final = 12
_CAUTION: Final = 0.5  # standard errors that autocorrelation is taken to be larger


def judge(
    p: Pairs,
    *,
    alarm: int | None = None,
    onset: int | None = None,
    tolerance: float = NAN,
    unit: str = "",
) -> Verdict:
    """Say what is wrong with the sensor of these pairs, in event order.

    ``alarm`` is the pair at which the detector fired; without it nothing is called a fault, only
    what it may be. ``onset`` is the pair that the incident was first said to begin at: what is
    said now begins no later. ``tolerance`` is the largest error that is allowed, in the series'
    unit (NaN: the typical standard uncertainty); ``unit`` is the series' unit.
    """
    if p.n < FEWEST:
        return with_words(Verdict(UNDECIDED, pairs=p.n, n_effective=float(p.n)), p, unit)
    evidence = gathered(p, alarm)
    found = named(evidence, p, alarm)
    since = found.since if onset is None else min(found.since, onset)
    found = found._replace(since=since, began=float(p.time[since]) if p.timed else NAN)
    found = found._replace(due=_due(found, p, tolerance))
    if found.state == FAULT:
        found = found._replace(remedy=remedy_for(p, found))
    return with_words(found, p, unit)


def gathered(p: Pairs, alarm: int | None) -> Evidence:
    """Return all that the pairs show."""
    h = p.unit / p.s
    median = cut.running_median(p.z)
    rho = rho_of_differences(median + np.clip(p.z - median, -FAR, FAR))
    rho = min(rho + _CAUTION / np.sqrt(p.n + 20.0), 0.95) if rho > 0.0 else 0.0
    parts = cut.partition(p.z, h, p.clock, inflation(rho))
    since = _onset(parts, alarm)
    healthy = since - min(_MARGIN, since // 8)  # where it began is known to some pairs only
    before = slopes_of(p.rows(slice(0, healthy))) if since >= _HISTORY else NO_SLOPES
    rivals = {"sign": sign_of(p, parts), "lag": lag_of(p, parts)}
    rivals["gain"], gain = _gain(p, parts, before)
    level, slope = _now(parts.last, p)
    top = int(np.argmax(parts.last.weight))
    segment = int(parts.last.start[top])
    line = _line(parts.last, top, p.clock[segment:])
    off = p.z - parts.fit * h
    shape = shape_of(off[:since]) if since >= _HISTORY else np.zeros(1)
    fitted = float(parts.last.kind[top] % 4 != cut.RIGHT)
    return Evidence(
        parts=parts,
        rivals=rivals,
        gain=gain,
        level=level,
        slope_per_day=slope.times(1.0 / p.span_days) if p.has_clock else NOTHING,
        spread=spread_of(p.z[segment:] - line * h[segment:], inflation_of_squares(rho), fitted, shape),
        far=far_since(off, parts.kept),
        stuck=stuck_for(p),
        model=before.model,
        since=since,
        segment=segment,
        rho=rho,
    )


def _onset(parts: cut.Partition, alarm: int | None) -> int:
    """Return where the incident began: the newest piece and those before it that are wrong alike."""
    starts, kinds = parts.starts, parts.kinds
    at = starts.size - 1
    if alarm is not None:
        at = min(at, int(np.searchsorted(starts, alarm, side="right")) - 1)
    while at > 0 and _alike(parts, at):
        at -= 1
    begin = int(starts[at])
    if kinds[at] == cut.RIGHT and alarm is not None:
        return alarm
    return begin if alarm is None else min(begin, alarm)


def _alike(parts: cut.Partition, at: int) -> bool:
    """Whether the piece before is wrong as well: another level, or another spread."""
    earlier, later = parts.kinds[at - 1], parts.kinds[at]
    begin = int(parts.starts[at])
    if earlier % 4 and later % 4:
        return bool(abs(parts.fit[begin - 1]) >= 0.25 * abs(parts.fit[begin]))
    return bool(earlier >= 4 and later >= 4)


def _now(last: cut.Last, p: Pairs) -> tuple[Estimate, Estimate]:
    """Return level and slope over the clock now, given that there are any, over all rivals."""
    level = slope = NOTHING
    for kinds in (cut.LEVEL, cut.SLOPE):
        weight = np.where(last.kind % 4 >= kinds, last.weight, 0.0)
        if not float(weight.sum()) > 1e-12:
            continue
        if kinds == cut.LEVEL:
            level = mixed(last.level, last.se_level, last.df, weight).times(p.unit)
        else:
            slope = mixed(last.slope, last.se_slope, last.df, weight).times(p.unit)
    return level, slope


def _line(last: cut.Last, top: int, clock: Float) -> Float:
    """Return the level of one rival pair by pair."""
    line: Float = last.level[top] + last.slope[top] * (clock - clock[-1])
    return line


def _gain(p: Pairs, parts: cut.Partition, before: Slopes) -> tuple[Rival, Gain]:
    rival = gain_rival(p, parts, before)
    begin = rival.start + min(_MARGIN, (p.n - rival.start) // 10)
    gain = gain_of(slopes_of(p.rows(slice(begin, None))), before)
    return (rival if abs(gain.t) > _T_GAIN else NONE), gain


def _due(found: Verdict, p: Pairs, tolerance: float) -> float:
    """Return when a drift leaves its tolerance, NaN if it has left it or never does."""
    rate = found.slope_per_day.value / 86_400.0
    most = tolerance if np.isfinite(tolerance) else p.unit
    if found.fault != "drift" or not np.isfinite(rate) or rate == 0.0:
        return NAN
    left = np.copysign(most, rate) - found.level.value
    seconds = left / rate
    return float(p.time[-1] + seconds) if 0.0 < seconds < 1e10 else NAN
