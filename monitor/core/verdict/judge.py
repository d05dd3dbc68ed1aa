"""The one function that says what is wrong with a series, from its last pairs.

Rules of this file: gather all that the pairs show, give it a name, try what would mend it, put it
in words. Nothing is said twice from different pairs.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from monitor.core.model import NAN, Float
from monitor.core.verdict.naming import Evidence, named
from monitor.core.verdict.pairs import (
    RHO_MAX,
    Pairs,
    inflation,
    inflation_of_squares,
    rho_of_differences,
    running_median,
)
from monitor.core.verdict.partition import LEVEL, LINE, RIGHT, WIDE, Last, Partition, partition
from monitor.core.verdict.relations import Gain, gain_by, slopes_of
from monitor.core.verdict.remedy import remedy_for
from monitor.core.verdict.rivals import NONE, Rival, gain_of, lag_of, sign_of, stuck_for
from monitor.core.verdict.sentences import with_words
from monitor.core.verdict.spread import Spread, far_since, shape_of, spread_of
from monitor.core.verdict.verdict import (
    FAULT,
    NO_SLOPES,
    NOTHING,
    UNDECIDED,
    Estimate,
    Slopes,
    Verdict,
    mixed,
)

FEWEST: Final = 4  # pairs below which nothing is said
_HISTORY: Final = 30  # pairs before a fault that show what the sensor is like when it is right
_MARGIN: Final = 12  # pairs to which it is known where a fault began
_CHOSEN: Final = 1.25  # by what the choice of the segment widens the variance of a factor
_CAUTION: Final = 0.5  # standard errors by which autocorrelation is taken to be larger
_T_GAIN: Final = (4.0, 2.5)  # without, and with pairs from before the fault
_ALIKE: Final = 0.25  # share of a level that the one before must have to be the same incident's
_DUE_MOST: Final = 1e10  # seconds


def judge(
    p: Pairs,
    *,
    alarm: int | None = None,
    began: float = NAN,
    healthy: Slopes | None = None,
    tolerance: float = NAN,
    unit: str = "",
) -> Verdict:
    """Say what is wrong with the sensor of these pairs, which are in event order.

    ``alarm`` is the pair at which the detector fired (0 if it was before the first of these);
    without it nothing is called a fault, only what it may be. Of an incident that lasts, pass what
    was said at the alarm: ``began``, when it began (s UTC; the incident keeps it), and ``healthy``,
    for when its healthy pairs have left the window. ``tolerance`` is the largest error that is
    allowed, in the series' unit (NaN: its typical standard uncertainty), ``unit`` the series' unit.
    """
    fired = alarm is not None
    if p.n < FEWEST:
        few = Verdict(UNDECIDED, began=began, pairs=p.n, n_effective=float(p.n))
        return with_words(few, p, unit, fired=fired)
    evidence = gathered(p, alarm, healthy)
    found = named(evidence, p, alarm)
    found = found._replace(began=_began(found, p, began), due=_due(found, p, tolerance))
    if found.state == FAULT:
        found = found._replace(remedy=remedy_for(p, found, _held(evidence.cut, found)))
    return with_words(found, p, unit, fired=fired)


def _began(found: Verdict, p: Pairs, earlier: float) -> float:
    """Return when the incident began, NaN where there are no times."""
    if not p.timed:
        return NAN
    return earlier if np.isfinite(earlier) else float(p.time[found.since])


def gathered(p: Pairs, alarm: int | None, healthy: Slopes | None = None) -> Evidence:
    """Return all that the pairs show."""
    h = p.unit / p.s
    median = running_median(p.error) / p.s
    rho = rho_of_differences(p.error, p.s)
    if rho > 0.0:
        rho = min(rho + _CAUTION / np.sqrt(p.n), RHO_MAX)
    cut = partition(p.z, h, p.clock, median, inflation(rho))
    since = _onset(cut, alarm)
    before = _healthy(p, since, healthy)
    gain_rival, gain = _gain(p, cut, before)
    level, slope = _now(cut.last, p)
    _, place = cut.last.top
    off = p.z - cut.fit * h
    return Evidence(
        cut=cut,
        rivals={"sign": sign_of(p, cut), "lag": lag_of(p, cut), "gain": gain_rival},
        gain=gain,
        level=level,
        slope_per_day=slope.times(1.0 / p.span_days) if p.has_clock else NOTHING,
        spread=_spread(p, cut.last, off[:since], _CHOSEN * inflation_of_squares(rho)),
        far=far_since(off),
        stuck=stuck_for(p),
        healthy=before,
        since=since,
        segment=int(cut.last.starts[place]),
        rho=rho,
    )


def _healthy(p: Pairs, since: int, known: Slopes | None) -> Slopes:
    """Return how the errors moved with the level before the fault: here, or as it was ``known``."""
    if since < _HISTORY:
        return NO_SLOPES if known is None else known
    return slopes_of(p.rows(slice(0, since - min(_MARGIN, since // 8))))


def _onset(cut: Partition, alarm: int | None) -> int:
    """Return where the incident began: its piece, and those before that are wrong alike."""
    at = cut.starts.size - 1
    if alarm is not None:
        at = min(at, int(np.searchsorted(cut.starts, alarm, side="right")) - 1)
        if cut.kinds[at] == RIGHT:
            return alarm
    while at > 0 and _alike(cut, at):
        at -= 1
    begin = int(cut.starts[at])
    return begin if alarm is None else min(begin, alarm)


def _alike(cut: Partition, at: int) -> bool:
    """Whether the piece before is wrong as well: another level, or another spread."""
    earlier, later = cut.kinds[at - 1], cut.kinds[at]
    begin = int(cut.starts[at])
    if earlier % WIDE and later % WIDE:
        return bool(abs(cut.fit[begin - 1]) >= _ALIKE * abs(cut.fit[begin]))
    return bool(earlier >= WIDE and later >= WIDE)


def _now(last: Last, p: Pairs) -> tuple[Estimate, Estimate]:
    """Return level now and slope over the clock, given that there are any, over all rivals."""
    plain = np.arange(last.weight.shape[0])[:, None] % WIDE
    found = []
    for kind, centre, se in (
        (LEVEL, last.level, last.se_level),
        (LINE, last.slope, last.se_slope),
    ):
        weight = np.where(plain >= kind, last.weight, 0.0)
        known = float(weight.sum()) > 1e-12
        rows = (centre, se, last.df, weight)
        found.append(mixed(*(each.ravel() for each in rows)).times(p.unit) if known else NOTHING)
    return found[0], found[1]


def _spread(p: Pairs, last: Last, before: Float, inflated: float) -> Spread:
    """Return how large the errors of the newest piece are about its line."""
    kind, place = last.top
    begin = int(last.starts[place])
    clock = p.clock[begin:]
    line = last.level[kind, place] + last.slope[kind, place] * (clock - clock[-1])
    off = p.z[begin:] - line * p.unit / p.s[begin:]
    shape = shape_of(before) if before.size >= _HISTORY else 0.0
    return spread_of(off, inflated, float(kind % WIDE != RIGHT), shape)


def _gain(p: Pairs, cut: Partition, before: Slopes) -> tuple[Rival, Gain]:
    rival = gain_of(p, cut, before)
    begin = rival.start + min(_MARGIN, (p.n - rival.start) // 10)
    gain = gain_by(slopes_of(p.rows(slice(begin, None))), before)
    shown = abs(gain.t) > _T_GAIN[before.model != UNDECIDED] and gain.size.excludes(1.0)
    return (rival if shown else NONE), gain


def _held(cut: Partition, found: Verdict) -> int:
    """Return for how many pairs an earlier state of the incident held, before it changed."""
    inside = (cut.starts >= found.since) & (cut.starts <= found.segment)
    return int(np.diff(cut.starts[inside]).max(initial=0))


def _due(found: Verdict, p: Pairs, tolerance: float) -> float:
    """Return when a drift leaves its tolerance, NaN if it has left it or never does."""
    rate = found.slope_per_day.value / 86_400.0
    most = tolerance if np.isfinite(tolerance) else p.unit
    if found.fault != "drift" or not np.isfinite(rate) or rate == 0.0:
        return NAN
    if abs(found.level.value) >= most:
        return NAN
    seconds = (np.copysign(most, rate) - found.level.value) / rate
    return float(p.time[-1] + seconds) if 0.0 < seconds < _DUE_MOST else NAN
