"""Which fault it is: the cheapest explanation of the newest pairs.

Rules of this file: costs are twice negative log likelihoods with a penalty a parameter; a name is
said as a fault only where the interval of its size says so too.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from monitor.core.diagnosis_new import partition as cut
from monitor.core.diagnosis_new.estimate import NOTHING, Estimate
from monitor.core.diagnosis_new.pairs import Pairs
from monitor.core.diagnosis_new.partition import Partition
from monitor.core.diagnosis_new.relations import Gain, slopes_of
from monitor.core.diagnosis_new.rivals import Rival
from monitor.core.diagnosis_new.spread import Far, Spread
from monitor.core.diagnosis_new.dependence import inflation
from monitor.core.diagnosis_new.verdict import FAULT, RIGHT, UNDECIDED, Verdict
from monitor.core.model import Float

_DRIFT: Final = 0.3  # cost by which a drift must be cheaper than a level
_OUTLIERS: Final = 1.0  # log likelihood by which outliers must explain more than a factor on u
_BESIDE: Final = 6.0  # cost by which a level must be the cheaper to be more than the outliers'
_MOST_FAR: Final = 0.3
_OVER: Final = 4.0
_CALM: Final = 20.0  # independent pairs from which a sensor that shows nothing is right


class Evidence(NamedTuple):
    """All that the pairs show, before anything of it is given a name."""

    parts: Partition
    rivals: dict[str, Rival]
    gain: Gain
    level: Estimate
    slope_per_day: Estimate
    spread: Spread
    far: Far
    stuck: int
    model: str
    since: int
    segment: int
    rho: float


class Name(NamedTuple):
    """A fault's name with its size, where it began, and from where on the size is."""

    fault: str
    size: Estimate
    since: int
    segment: int


def named(e: Evidence, p: Pairs, alarm: int | None) -> Verdict:
    """Return the verdict without remedy and words."""
    if alarm is not None and _is_over(e, alarm):
        pairs = p.n - e.segment
        worth = pairs / inflation(e.rho)
        since = min(e.since, alarm)
        return Verdict(UNDECIDED, since=since, segment=e.segment, pairs=pairs, n_effective=worth)
    name = _name(e, p)
    since = name.since if alarm is None else min(name.since, alarm)
    scale = on_stated(p, e.segment, e.spread.factor)
    gain = e.gain.size if name.fault == "gain" else NOTHING
    return Verdict(
        state=_state(name, e, p, alarm),
        fault=name.fault,
        size=name.size,
        level=e.level,
        slope_per_day=e.slope_per_day if name.fault == "drift" else NOTHING,
        scale=scale,
        gain=gain,
        pivot=float(np.mean(p.reference[name.segment :])),
        error_model=_model(name, e, p),
        since=since,
        segment=name.segment,
        pairs=p.n - name.segment,
        n_effective=(p.n - name.segment) / inflation(e.rho),
    )


def _is_over(e: Evidence, alarm: int) -> bool:
    """Whether nothing is wrong with the newest piece, which began after the alarm."""
    best = _best(e.parts)
    calm = best[cut.RIGHT] < best[1:].min() - _OVER and not e.stuck
    rivals = min(each.cost for each in e.rivals.values())
    start = e.parts.starts[-1]
    return bool(calm and best[cut.RIGHT] < rivals and start > alarm and e.segment == start)


def _model(name: Name, e: Evidence, p: Pairs) -> str:
    """Return the error model: of the pairs before the fault, else of those that no gain spoils."""
    if e.model != UNDECIDED or name.fault in ("gain", "sign", "lag", "stuck"):
        return e.model
    return slopes_of(p.rows(slice(name.segment, None))).model


def _name(e: Evidence, p: Pairs) -> Name:
    if e.stuck:
        value = float(p.value[-1])
        return Name("stuck", Estimate(value, value, value), p.n - e.stuck, p.n - e.stuck)
    best = _best(e.parts)
    rival = min(e.rivals, key=lambda each: e.rivals[each].cost)
    if e.rivals[rival].cost < best[1:].min():
        return _related(rival, e)
    if _is_outliers(e, best):
        return Name("outliers", e.far.share, e.far.start, e.far.start)
    return _level_or_spread(e, p, best)


def _best(parts: Partition) -> Float:
    """Return the least cost of each kind of newest piece."""
    return np.array([parts.last.cost[parts.last.kind == kind].min() for kind in range(cut.KINDS)])


def _related(name: str, e: Evidence) -> Name:
    start, detail = e.rivals[name].start, e.rivals[name].detail
    if name == "gain":
        return Name(name, e.gain.size, start, start)
    size = Estimate(detail, np.nan, np.nan) if name == "lag" else NOTHING
    return Name(name, size, start, start)


def _is_outliers(e: Evidence, best: Float) -> bool:
    """Whether a few far errors are all that is wrong."""
    if e.spread.outliers <= _OUTLIERS and e.far.surprise <= 3.0:
        return False
    mean, plain = best[_MEAN].min(), min(best[cut.RIGHT], best[cut.RIGHT + 4])
    wide = e.spread.outliers <= _OUTLIERS and best[cut.RIGHT + 4] < best[cut.RIGHT]
    return bool(e.far.share.value < _MOST_FAR and mean > plain - _BESIDE and not wide)


_MEAN: Final = [1, 2, 3, 5, 6, 7]
_FLAT: Final = [cut.LEVEL, cut.LEVEL + 4]
_SLOPED: Final = [cut.SLOPE, cut.HINGE, cut.SLOPE + 4, cut.HINGE + 4]


def _level_or_spread(e: Evidence, p: Pairs, best: Float) -> Name:
    factor = e.spread.factor
    alone, wide = best[cut.LEVEL : cut.HINGE + 1].min(), best[cut.RIGHT + 4]
    if alone < wide or (best[_MEAN].min() < wide and not factor.excludes(1.0)):
        drifts = best[_SLOPED].min() + _DRIFT < best[_FLAT].min()
        return Name("drift" if drifts else "offset", e.level, e.since, e.segment)
    size = on_stated(p, e.segment, factor)
    fault = "understated" if factor.value > 1.0 else "overstated"
    return Name(fault, size, e.since, e.segment)


def on_stated(p: Pairs, start: int, factor: Estimate) -> Estimate:
    """Return the factor on u that makes up for a factor on the error's whole uncertainty."""
    u, of_reference = (float(np.median(each[start:] ** 2)) for each in (p.u, p.u_ref))
    if not (u > 0.0 and p.is_resolved):
        return NOTHING
    whole = u + of_reference
    return Estimate(*(float(np.sqrt(max(k * k * whole - of_reference, 0.0) / u)) for k in factor))


def _state(name: Name, e: Evidence, p: Pairs, alarm: int | None) -> str:
    """Return right, fault or undecided."""
    best = _best(e.parts)
    calm = bool(np.argmin(best) == cut.RIGHT)
    if alarm is None:
        worth = (p.n - e.segment) / inflation(e.rho)
        return RIGHT if calm and worth >= _CALM else UNDECIDED
    return FAULT if shows(name.fault, name.size) else UNDECIDED


def shows(fault: str, size: Estimate) -> bool:
    """Return whether the interval of a size says what the name says."""
    if fault in ("offset", "drift"):
        return size.excludes(0.0)
    if fault in ("gain", "understated", "overstated"):
        return size.excludes(1.0)
    return fault != "outliers" or size.lower > 0.001
