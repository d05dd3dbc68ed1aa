"""Which fault it is: the cheapest explanation of the newest pairs.

Rules of this file: a cost is twice the negative log likelihood plus a penalty a parameter; a name
becomes a fault only where the interval of its size confirms it.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from monitor.core.model import Bool
from monitor.core.verdict.errors_along import explanation
from monitor.core.verdict.faults import shows
from monitor.core.verdict.pairs import Pairs, Side, inflation
from monitor.core.verdict.partial_faults import LEAST_HELD, Errors, Explained, limit_of
from monitor.core.verdict.partition import HINGE, LEVEL, LINE, RIGHT, WIDE
from monitor.core.verdict.relations import Gain, is_unrelated, plain_level, unweighted_level
from monitor.core.verdict.rivals import Rival
from monitor.core.verdict.spread import Far, Parts, Spread, on_stated
from monitor.core.verdict.verdict import (
    FAULT,
    NOTHING,
    RELATED,
    UNDECIDED,
    Estimate,
    Slopes,
    Verdict,
)

# Costs against those of a level:
_HINGE: Final = 1.25  # by which a drift that begins where the sensor was may cost more
_LINE: Final = 2.0  # by which a drift that begins with a step must be cheaper
_WHOLE: Final = 4.0  # the same for one that fills the window, which every pair tests anew
_OUTLIERS: Final = 2.0  # log likelihood by which outliers must explain more than a factor on u
_SURPRISE: Final = 3.0  # log likelihood by which far errors must exceed the usual
_BESIDE: Final = 6.0  # cost by which a level must be cheaper to be more than an effect of outliers
_OVER: Final = 3.0  # cost by which being right again must be cheaper than any fault
MOST_FAR: Final = 0.3  # share of pairs; more are no outliers
_FLAT: Final = (LEVEL, LEVEL + WIDE)
_OFF: Final = (*_FLAT, LINE, HINGE, LINE + WIDE, HINGE + WIDE)


class Evidence(NamedTuple):
    """Everything that the pairs show, before it gets a name.

    ``newest`` is where the last piece of the best cut begins, ``best`` the least cost of each kind
    of newest piece. ``lasting`` is the same with a margin: a line after a level, or a level after a
    line, that begins after the alarm must be cheaper by it. ``since`` is where the incident began,
    ``segment`` where the likeliest newest piece begins, ``parts`` the typical u^2 and u_ref^2 from
    ``segment`` on.
    """

    newest: int
    best: list[float]
    lasting: list[float]
    rivals: dict[str, Rival]
    gain: Gain
    level: Estimate
    slope_per_day: Estimate
    spread: Spread
    far: Far
    stuck: int
    healthy: Slopes
    since: int
    segment: int
    rho: float
    parts: Parts | None
    errors: Errors
    near: Bool


class Name(NamedTuple):
    """A fault's name with its size, where it began, and the first pair that its size is from."""

    fault: str
    size: Estimate
    since: int
    segment: int


def named_verdict(e: Evidence, side: Side, row: int, alarm: int) -> Verdict:
    """Return the verdict on one series, without error model, remedy and words."""
    p = side.pairs[row]
    whole = explained_whole(e, p)
    over = whole is None and is_over(e, alarm)
    name = Name("", NOTHING, alarm, e.segment) if over else _name(e, p)
    if whole is not None:
        name = Name(whole.fault, whole.size, whole.start, whole.start)
    pairs = p.n - name.segment
    verdict = Verdict(
        UNDECIDED,
        fault=name.fault,
        size=name.size,
        healthy=e.healthy,
        since=min(name.since, alarm),
        segment=name.segment,
        pairs=pairs,
        n_effective=float(pairs / inflation(e.rho)),
    )
    if over:
        return verdict
    verdict = verdict._replace(
        level=e.level,
        slope_per_day=e.slope_per_day if name.fault == "drift" else NOTHING,
        scale=on_stated(e.parts, e.spread.factor),
        gain=e.gain.size if name.fault == "gain" else NOTHING,
        pivot=float(p.reference[name.segment :].mean()),
        error_model=e.healthy.model,
        explained=p.explained,
    )
    if whole is not None:
        verdict = with_explained(verdict, whole)
    verdict = with_mean_error(verdict, side, row)
    return verdict._replace(state=FAULT if shows(verdict) else UNDECIDED)


def explained_whole(e: Evidence, p: Pairs, margin: float = 0.0) -> Explained | None:
    """Return what explains all pairs for less than any pieces do, by a ``margin`` at least.

    Without a margin the pairs are those of an incident, with one all pairs of a file.
    """
    limit = limit_of(e.errors)
    if limit is not None:
        moving = p.value[limit.start : p.n - e.stuck]
        if not e.stuck or np.count_nonzero(moving == limit.place) >= LEAST_HELD:
            return limit
    if e.stuck:
        return None
    late = round(e.rivals["lag"].detail)
    for start in {e.since} if margin == 0.0 else {0, e.since}:
        if is_unrelated(p.rows(slice(start, None)), late):
            return Explained("unrelated", 0.0, NOTHING, NOTHING, start)
    least = min(*e.best, *(each.cost for each in e.rivals.values())) - margin
    return explanation(e.errors, e.near, least)


def with_explained(verdict: Verdict, explained: Explained) -> Verdict:
    """Return the verdict with the level, place and shape of such a fault."""
    return verdict._replace(
        level=explained.level,
        pivot=explained.place,
        is_above=explained.is_above,
        slope_per_day=explained.slope_per_day,
        swing=explained.swing,
    )


def with_mean_error(verdict: Verdict, p: Side, row: int) -> Verdict:
    """Return the verdict with the level now as the mean error, where weights change that.

    One beside a lag only shows against what was measured then, and one beside a gain is always the
    mean error: a weighted mean is that at another level than the one about which the gain turns.
    """
    fault, begin = verdict.fault, verdict.segment
    if fault in ("gain", "lag"):
        late = round(verdict.size.value) if fault == "lag" else 0
        return verdict._replace(level=plain_level(p.pairs[row].rows(slice(begin, None)), late))
    if not fault or (fault in RELATED and fault != "daily"):
        return verdict
    level = unweighted_level(p, row, begin, verdict.level, drifts=fault == "drift")
    if level is verdict.level:
        return verdict
    size = level if fault in ("offset", "drift") else verdict.size
    verdict = verdict._replace(level=level, size=size)
    return verdict if shows(verdict) else verdict._replace(state=UNDECIDED)


def is_over(e: Evidence, alarm: int) -> bool:
    """Return whether the newest piece began after the alarm and shows nothing wrong."""
    start = e.newest
    if e.stuck or start <= alarm or e.segment != start or e.far.surprise > _SURPRISE:
        return False
    others = min(*e.best[1:], *(each.cost for each in e.rivals.values()))
    return e.best[RIGHT] < others - _OVER


def _name(e: Evidence, p: Pairs) -> Name:
    if e.stuck:
        held, since = float(p.value[-1]), p.n - e.stuck
        return Name("stuck", Estimate(held, held, held), since, since)
    rival = min(e.rivals, key=lambda each: e.rivals[each].cost)
    if e.rivals[rival].cost < min(e.best[1:]):
        return _related(rival, e)
    if _is_outliers(e):
        return Name("outliers", e.far.share, e.far.start, e.far.start)
    return _level_or_spread(e)


def _related(name: str, e: Evidence) -> Name:
    _, start, detail = e.rivals[name]
    if name == "gain":
        return Name(name, e.gain.size, start, start)
    return Name(name, Estimate(detail, np.nan, np.nan) if name == "lag" else NOTHING, start, start)


def _is_outliers(e: Evidence) -> bool:
    """Whether nothing is wrong except a few far errors."""
    explains = e.spread.outliers > _OUTLIERS
    plain, wide = e.best[RIGHT], e.best[RIGHT + WIDE]
    if not explains and (e.far.surprise <= _SURPRISE or wide < plain):
        return False
    is_level = min(e.best[kind] for kind in _OFF) <= min(plain, wide) - _BESIDE
    return e.far.share.value < MOST_FAR and not is_level


def _level_or_spread(e: Evidence) -> Name:
    """Return a level if it explains more than a spread alone or is most of the error."""
    wide, factor = e.best[RIGHT + WIDE], e.spread.factor
    explains = min(e.best[LEVEL:WIDE]) < wide
    explains |= min(e.best[kind] for kind in _OFF) < wide and not factor.excludes(1.0)
    most = max(factor.value, 1.0) * e.errors.unit
    if explains or (e.level.excludes(0.0) and abs(e.level.value) > most):
        return Name("drift" if _is_drift(e) else "offset", e.level, e.since, e.segment)
    fault = "understated" if factor.value > 1.0 else "overstated"
    return Name(fault, on_stated(e.parts, factor), e.since, e.segment)


def _is_drift(e: Evidence) -> bool:
    """Whether a slope explains the newest errors better than a level does.

    A slope that begins at the previous level is as likely a drift as a step is an offset. A slope
    that begins with a step must explain more. A window that drifts throughout shows no beginning.
    """
    flat = min(e.lasting[kind] for kind in _FLAT)
    hinge = min(e.lasting[HINGE], e.lasting[HINGE + WIDE]) - _HINGE
    line = min(e.lasting[LINE], e.lasting[LINE + WIDE])
    is_steep = not e.slope_per_day.is_known or e.slope_per_day.excludes(0.0)
    return is_steep and min(hinge, line + (_LINE if e.segment else _WHOLE)) < flat


def wants_model(verdict: Verdict) -> bool:
    """Whether to take the error model from the newest pairs: unknown, and no gain spoils it."""
    return verdict.error_model == UNDECIDED and verdict.fault not in ("", *RELATED)
