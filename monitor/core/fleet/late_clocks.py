"""A lag that the sensors of one reference share: the clock of the reference.

Rules of this file: pure functions of the pairs with one reference. The sensors of a round show
together what was there to measure. Where that is what the reference measured a few rounds before or
after, and most sensors show it, one clock is off rather than those of many sensors. A lag must
leave about the uncertainty that is stated, and half of what is left without it at most, beside an
offset: a reference that is off or noisy shows no lag.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import scipy

from monitor.core.fleet.common_errors import (
    Meetings,
    Nature,
    Rounds,
    among_peers,
    as_shown,
    rounds_of,
)
from monitor.core.fleet.suspect_references import SENSORS_MIN, Suspicion
from monitor.core.model import Float
from monitor.core.verdict.rivals import LAGS
from monitor.core.verdict.verdict import LEVEL, Estimate

_ROUNDS: Final = 8  # that must show a lag
_MOST: Final = 25.0  # what the square of one z counts at most
_ODDS: Final = 1000.0  # by which a lag must be likelier than none, for each one tried
_LEFT: Final = 4.0  # most square that a lag may leave of each round, beside a level
_STEADY: Final = 0.2  # of what a lag saves: each third of the rounds does, or it was one step
_PART_LEFT: Final = 0.5  # the same as a share of the squares without a lag


def late_clock(pairs: Meetings) -> Suspicion | None:
    """Return the suspicion that the clock of a reference is late or ahead, None without."""
    stated = pairs.u
    pairs = pairs._replace(u=as_shown(pairs))
    rounds = rounds_of(pairs)
    late, start = _common_lag(rounds)
    if not late:
        return None
    shift = _shift(rounds.value, late)
    at = np.where(rounds.of_pair >= start, rounds.of_pair, -1)
    rows = np.flatnonzero((at >= 0) & np.isfinite(shift[at]))
    names, number = np.unique(pairs.series[rows], return_inverse=True)
    u = np.maximum(np.hypot(pairs.u[rows], pairs.u_shared[rows]), 1e-300)
    plain, lagged = (_squares(pairs.error[rows] + by, u) for by in (0.0, shift[at[rows]]))
    agree = int((np.bincount(number, plain - lagged, names.size) > 0.0).sum())
    if agree < max(SENSORS_MIN, names.size // 2 + 1):
        return None
    left = (rounds.error + shift)[start:]
    left = left[np.isfinite(left)]
    middle, half = (
        float(left.mean()),
        float(scipy.special.stdtrit(left.size - 1.0, 0.5 + 0.5 * LEVEL)),
    )
    half *= float(left.std(ddof=1)) / np.sqrt(left.size)
    size = abs(late)
    seconds = float(np.median(rounds.time[start:][size:] - rounds.time[start:][:-size]))
    nature = Nature("lag", float(np.copysign(seconds, late)), pairs=late)
    estimate = Estimate(middle, middle - half, middle + half)
    cleared = among_peers(pairs, rounds, stated).cleared
    return Suspicion(estimate, float(rounds.time[start]), names.size, agree, nature, cleared)


def _common_lag(rounds: Rounds) -> tuple[int, int]:
    """Return by how many rounds the sensors are late (ahead if negative), and from which round on.

    0 where no lag is clear.
    """
    count = rounds.error.size
    most = min(LAGS, count // 3)
    u = np.sqrt(np.maximum(rounds.u_shared**2 + rounds.variance, 1e-300))
    least = 2.0 * float(np.log(_ODDS * max(2 * most * count, 1)))
    best, start = 0, 0
    for late in (sign * size for size in range(1, most + 1) for sign in (1, -1)):
        lagged = rounds.error + _shift(rounds.value, late)
        known = np.isfinite(lagged)
        saved = np.where(known, _squares(rounds.error, u) - _squares(lagged, u), 0.0)
        total = np.cumsum(saved[::-1])[::-1]
        first = int(np.argmax(total))
        some = first + np.flatnonzero(known[first:])
        if not (total[first] > least and some.size >= max(_ROUNDS, 3 * abs(late))):
            continue
        if (
            min(saved[part].mean() for part in np.array_split(some, 3))
            < _STEADY * saved[some].mean()
        ):
            continue
        plain, left = (
            float(_squares(each[some] - each[some].mean(), u[some]).mean())
            for each in (rounds.error, lagged)
        )
        if left <= min(_LEFT, _PART_LEFT * plain):
            best, start, least = late, first, float(total[first])
    return best, start


def _shift(value: Float, late: int) -> Float:
    """Return what a lag adds to the error of each round, NaN where its reference is not there."""
    shift = np.full(value.size, np.nan)
    if late > 0:
        shift[late:] = value[late:] - value[:-late]
    else:
        shift[:late] = value[:late] - value[-late:]
    return shift


def _squares(error: Float, u: Float) -> Float:
    return np.asarray(np.minimum((error / u) ** 2, _MOST))
