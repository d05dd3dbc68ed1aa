"""What its neighbours say of a sensor between references: opinions from a table of days.

Rules of this file: everything is a function of the table, of who neighbours whom, and of who is
under suspicion. The weak reference of a sensor on a day is the median of its corrected neighbours,
never itself. A neighbour counts only with a baseline of its own: level and slope on that median,
learnt on days near references. What differs from the baseline since is averaged over 5, 10, 20 and
40 days, and held against the spread of all such means of the fleet up to now. Days follow one
another too closely for ranks of days, and a fleet is too small for ranks of sensors: so the rate of
false claims is measured (docs/evidence/beyond.md), not proven.

A day counts in units of the sensor's own spread, or of the fleet's usual one if that is larger, and
at most ten of them, so that one wild day claims nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Literal, NamedTuple

import numpy as np

from monitor.core.model import NAN, Bool, Float, Int

CLAIM: Final = 4.5  # spreads of the fleet's means
WINDOWS: Final = (5, 10, 20, 40)  # days
NEIGHBOURS_MIN: Final = 3  # of two, a faulty one moves the median by half of its fault
HOURS_MIN: Final = 6  # of a day
NEAR: Final = 15  # days from a reference on which a baseline is learnt
LEARNT: Final = 45  # days of a baseline
LEARNT_MIN: Final = 15
PAIRS_MANY: Final = 20  # in a baseline: references judge this sensor, its baseline goes along
COMMON: Final = 1.0 / 3.0  # of a fleet that is apart at once
FRESH: Final = 3  # days for which a claim stays
_SLOPE_SD: Final = 0.3  # of slopes about 1, before anything is known
_SLOPES: Final = (0.25, 4.0)
_FULL: Final = 0.7  # least share of a window's days that are known
_NULL_MIN: Final = 20.0  # windows without common days
_WILD: Final = 10.0
_NORMAL: Final = 1.4826  # standard deviation by the median of absolute values
_SURE: Final = 2.5  # spreads; 1.96 hold less than 95 %, since the day and the moment are chosen
_ROUNDS: Final = 3
_AT_ONCE: Final = 64  # series

State = Literal["apart", "agrees", "common", "compared", "learning", "no_pair", "few", "suspect"]


class Days(NamedTuple):
    """Daily values (days, series), NaN for none, and how many pairs each day had.

    ``since`` is each series' first day after its last event. ``nearby`` (series, most) are the
    places of each series' neighbours, -1 beyond them.
    """

    values: Float
    pairs: Int
    since: Int
    nearby: Int


class Opinion(NamedTuple):
    """What the neighbours of a series say on the last day of a table.

    ``shift`` with its 95 % interval is in the series' unit; ``since`` is the day of the table from
    which on it differs, -1 for none. ``speaking`` of ``neighbours`` count; ``apart`` of ``judged``
    series of the fleet are apart.
    """

    state: State
    shift: float = NAN
    lower: float = NAN
    upper: float = NAN
    since: int = -1
    neighbours: int = 0
    speaking: int = 0
    apart: int = 0
    judged: int = 0


def day_values(hours: Float, nearby: Int) -> Float:
    """Return each series' value of a day from the means of its hours (24, series).

    Hours that it missed take the course of its neighbours, so that silence at night is no
    difference. NaN with fewer than ``HOURS_MIN`` hours.
    """
    common = median_of(_of_neighbours(hours, nearby))
    off = hours - common
    enough = np.isfinite(off).sum(axis=0) >= HOURS_MIN
    values = np.full(hours.shape[1], NAN)
    values[enough] = np.nanmedian(off[:, enough], axis=0) + np.nanmean(common[:, enough], axis=0)
    return values


def median_of(values: Float) -> Float:
    """Return the median of what is known along the last axis, NaN of fewer than three."""
    count = np.isfinite(values).sum(axis=-1)
    if values.shape[-1] < NEIGHBOURS_MIN:
        return np.full(count.shape, NAN)
    ordered = np.sort(values, axis=-1)  # NaN come last
    middles = (np.stack([count - 1, count], axis=-1) // 2).clip(0)
    middle: Float = np.take_along_axis(ordered, middles, axis=-1).mean(axis=-1)
    return np.where(count >= NEIGHBOURS_MIN, middle, NAN)


def _of_neighbours(values: Float, nearby: Int) -> Float:
    """Return the values of each series' neighbours (days, series, most)."""
    nobody = np.full((values.shape[0], 1), NAN)
    taken: Float = np.concatenate([values, nobody], axis=1)[:, nearby]
    return taken


# -- baselines ------------------------------------------------------------------------------------


def baseline_days(known: Bool, pairs: Int, since: int) -> Bool:
    """Return the days on which the baseline of a series is learnt, none if they are too few.

    The newest ones up to its last pair if these have many pairs, else the first near any pair.
    """
    day = np.arange(known.size)
    chosen = np.zeros(known.size, np.bool_)
    paired = np.flatnonzero((pairs > 0) & (day >= since))
    if not paired.size:
        return chosen
    after = np.searchsorted(paired, day)
    to_next = np.abs(paired[np.minimum(after, paired.size - 1)] - day)
    to_last = np.abs(day - paired[np.maximum(after - 1, 0)])
    usable = np.flatnonzero(known & (np.minimum(to_next, to_last) <= NEAR) & (day >= since))
    newest = usable[usable <= paired[-1]][-LEARNT:]
    if newest.size >= LEARNT_MIN and pairs[newest].sum() >= PAIRS_MANY:
        chosen[newest] = True
    elif usable.size >= LEARNT_MIN:
        chosen[usable[:LEARNT]] = True
    return chosen


class _Baselines(NamedTuple):
    """Differences from baselines (days, series), where these are learnt, and who has one."""

    off: Float
    learnt: Bool
    is_known: Bool


def _baselines(days: Days, trusted: Bool) -> _Baselines:
    values = days.values
    known, series = np.isfinite(values), range(values.shape[1])
    chosen = [baseline_days(known[:, at], days.pairs[:, at], int(days.since[at])) for at in series]
    learnt = np.stack(chosen, axis=1)
    speaks = trusted & learnt.any(axis=0)
    corrected = np.where(speaks, values, NAN)
    common = corrected
    level, slope = np.full(values.shape[1], NAN), np.full(values.shape[1], NAN)
    for _ in range(_ROUNDS):
        common = np.concatenate(
            [
                median_of(_of_neighbours(corrected, days.nearby[first : first + _AT_ONCE]))
                for first in range(0, len(series), _AT_ONCE)
            ],
            axis=1,
        )
        for at in series:
            own = learnt[:, at] & np.isfinite(common[:, at])
            level[at], slope[at] = _fitted(common[own, at], values[own, at])
        corrected = np.where(speaks, (values - level) / slope, NAN)
    return _Baselines(values - level - slope * common, learnt, np.isfinite(level))


def _fitted(common: Float, values: Float) -> tuple[float, float]:
    """Return level and slope of values on a common level, near 1 unless they show another."""
    if values.size < LEARNT_MIN:
        return NAN, NAN
    x, y = common - common.mean(), values - values.mean()
    noise = _spread(y - x - np.median(y - x))
    prior = (noise / _SLOPE_SD) ** 2
    total = float(x @ x) + prior
    slope = float(np.clip((x @ y + prior) / total, *_SLOPES)) if total > 0.0 else 1.0
    level = values - slope * common
    middle, most = np.median(level), 3.0 * _spread(level - np.median(level))
    return float(np.clip(level, middle - most, middle + most).mean()), slope


def _spread(off: Float) -> float:
    return _NORMAL * float(np.median(np.abs(off)))


# -- what differs since ---------------------------------------------------------------------------


class Differences(NamedTuple):
    """Differences since the baseline (days, series) in units of ``scale``, NaN before.

    ``off`` is as they count, ``whole`` as they are. ``means`` (windows, days, series) are those of
    the last days; ``spreads`` that of such means of the whole fleet, NaN while there are too few.
    """

    off: Float
    whole: Float
    scale: Float
    means: Float
    spreads: Float
    learnt: Bool
    speaking: Int

    @property
    def ratios(self) -> Float:
        """Means in the fleet's spread of such means."""
        ratios: Float = self.means / self.spreads[:, None, None]
        return ratios


def off_baseline(days: Days, trusted: Bool) -> Differences:
    """Return how the series of one fleet differ; only ``trusted`` ones count as neighbours."""
    off, learnt, is_known = _baselines(days, trusted)
    count, series = off.shape
    own = np.full(series, NAN)
    for at in np.flatnonzero(is_known).tolist():
        before = off[learnt[:, at], at]
        before = before[np.isfinite(before)]
        own[at] = _spread(before - np.median(before)) if before.size else NAN
    usual = np.median(own[np.isfinite(own)]) if np.isfinite(own).any() else NAN
    scale = np.maximum(own, usual)
    scale[~(scale > 0.0)] = NAN
    last = np.where(learnt.any(axis=0), count - 1 - learnt[::-1].argmax(axis=0), count)
    later = np.arange(count)[:, None] > last
    whole = np.where(later, off, NAN) / scale
    off = np.clip(whole, -_WILD, _WILD)
    means = np.stack([_means(off, window) for window in WINDOWS])
    spreads = np.full(len(WINDOWS), NAN)
    total = np.isfinite(off[:, trusted]).sum()
    for at, window in enumerate(WINDOWS):
        fleet = means[at][:, trusted]
        fleet = fleet[np.isfinite(fleet)]
        if fleet.size and total >= _NULL_MIN * window:
            spreads[at] = _spread(fleet) or NAN
    heard = np.append(trusted & is_known, values=False)[days.nearby].sum(axis=1)
    return Differences(off, whole, scale, means, spreads, learnt, heard)


def _means(off: Float, window: int) -> Float:
    """Return the mean of the last days at each day, NaN where too few are known."""
    known = np.isfinite(off)
    total, number = np.cumsum(np.where(known, off, 0.0), axis=0), np.cumsum(known, axis=0)
    total[window:] -= total[:-window].copy()
    number[window:] -= number[:-window].copy()
    enough = number >= _FULL * window
    means: Float = np.where(enough, total / np.maximum(number, 1), NAN)
    return means


# -- opinions -------------------------------------------------------------------------------------


def opinions(days: Days, trusted: Bool) -> list[Opinion]:
    """Return what the neighbours of each series of one fleet say on the last day.

    Those who are apart say nothing of the others: their neighbours are judged again without them,
    unless too few are left for that.
    """
    now = off_baseline(days, trusted)
    apart: Bool = trusted & _is_apart(now)
    if apart.any():
        again = off_baseline(days, trusted & ~apart)
        if _is_judged(again)[apart].all():
            now = again
            apart = trusted & _is_apart(now)
    is_judged = trusted & _is_judged(now)
    number, judged = int(apart.sum()), int(is_judged.sum())
    is_common = number > COMMON * judged
    neighbours = (days.nearby >= 0).sum(axis=1)
    result = []
    for at, unjudged in enumerate(_unjudged(days, now, trusted)):
        counts = int(neighbours[at]), int(now.speaking[at]), number, judged
        if unjudged is not None or not is_judged[at]:
            result.append(Opinion(unjudged or "learning", NAN, NAN, NAN, -1, *counts))
        elif apart[at]:
            state: State = "common" if is_common else "apart"
            since = _since(now.off[:, at])
            result.append(Opinion(state, *_shift_since(now, at, since), since, *counts))
        else:
            result.append(Opinion("agrees", *_furthest(now, at), -1, *counts))
    return result


def _unjudged(days: Days, now: Differences, trusted: Bool) -> Iterator[State | None]:
    """Yield for each series why its neighbours say nothing; None if they may."""
    count, series = days.values.shape
    after = np.arange(count)[:, None] >= days.since
    is_paired = np.where(after, days.pairs, 0).sum(axis=0) > 0
    is_often = np.where(now.learnt, days.pairs, 0).sum(axis=0) >= PAIRS_MANY
    goes_along = now.learnt[-WINDOWS[0] :].sum(axis=0) > 0
    has_neighbours = (days.nearby >= 0).sum(axis=1) >= NEIGHBOURS_MIN
    for at in range(series):
        reasons: tuple[tuple[State, bool], ...] = (
            ("suspect", not trusted[at]),
            ("few", not has_neighbours[at]),
            ("no_pair", not is_paired[at]),
            ("learning", not now.learnt[:, at].any()),
            ("few", now.speaking[at] < NEIGHBOURS_MIN),
            ("compared", is_often[at] and goes_along[at]),
        )
        yield next((state for state, applies in reasons if applies), None)


def _fresh(now: Differences) -> Float:
    return np.abs(now.ratios[:, -FRESH:])


def _is_judged(now: Differences) -> Bool:
    is_judged: Bool = np.asarray(np.isfinite(_fresh(now)).any(axis=(0, 1)))
    return is_judged


def _is_apart(now: Differences) -> Bool:
    is_apart: Bool = np.asarray((_fresh(now) > CLAIM).any(axis=(0, 1)))
    return is_apart


def _furthest(now: Differences, at: int) -> tuple[float, float, float]:
    """Return the mean that is furthest out with its interval, in the series' unit."""
    ratios = np.nan_to_num(_fresh(now)[:, :, at], nan=-1.0)
    window, day = np.unravel_index(ratios.argmax(), ratios.shape)
    return _interval(now, at, float(now.means[window, -FRESH:, at][day]), int(window))


def _shift_since(now: Differences, at: int, since: int) -> tuple[float, float, float]:
    """Return the median since a day, with the interval of a mean of no more days than these."""
    own = now.whole[since:, at]
    own = own[np.isfinite(own)]
    known = np.flatnonzero(np.isfinite(now.spreads))
    fitting = [window for window in known.tolist() if WINDOWS[window] <= own.size]
    return _interval(now, at, float(np.median(own)), fitting[-1] if fitting else int(known[0]))


def _interval(now: Differences, at: int, off: float, window: int) -> tuple[float, float, float]:
    half, scale = _SURE * now.spreads[window], now.scale[at]
    return float(scale * off), float(scale * (off - half)), float(scale * (off + half))


def _since(off: Float) -> int:
    """Return the day of the most likely change from no difference to one, by least squares."""
    known = np.flatnonzero(np.isfinite(off))
    tails = np.cumsum(off[known][::-1])
    sizes = np.sqrt(np.arange(1, tails.size + 1))
    return int(known[::-1][np.argmax(np.abs(tails) / sizes)])
