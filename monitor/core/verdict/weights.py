"""The uncertainty that weighs an error, which must not depend on the error itself.

A sensor whose u is a share of its reading states a smaller u when it reads low by chance, so with
weights 1/u^2 its low errors weigh more and its mean error comes out too low (Peelle's puzzle).
Where u goes with the error, an error is weighed by the usual u at what the error is independent of:
the reference of a classical sensor, the value of a predictive one, a place between them while
neither is clear (errors are uncorrelated with it by construction, so weighted and plain mean agree
but for chance). Everywhere else it is weighed by the u that is stated with it.

Rules of this file: steps between neighbouring pairs, which levels and drifts do not change, decide
whether u goes with the error and what the error is independent of; a few wild pairs decide nothing.
Magnitudes stand for values, because a share of a reading is never below 0.

Sources: Peelle (1987), in Fröhner, Nucl. Sci. Eng. 126 (1997); Hausman, Econometrica 46 (1978);
White, Econometrica 48 (1980).
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from monitor.core.model import Bool, Float, Int
from monitor.core.verdict.rows import TO_SD, dots, medians, padded, quotients

_GOES: Final = 3.5  # standard errors from which u goes with the error
_MODEL: Final = 2.6  # the same for the error and what it is independent of
_WILD: Final = 5.0  # robust scales from which a step of the error decides nothing
_NEIGHBOURS: Final = 1.5  # by which neighbouring steps, which share a pair, widen a sum of products
# A line may fall below 0: nothing weighs by less than half of what one pair in twenty states less.
_LEAST: Final = (0.05, 0.5)
_CERTAIN: Final = 1.0 - 1e-12  # largest correlation
_WORTH_WORDS: Final = 0.05  # spread of the stated u about the usual one, as a share of it


class Weights(NamedTuple):
    """The uncertainties that weigh [series, pairs], and whether u follows the error [series].

    It does where u is clearly smaller when a sensor whose errors are not independent of what it
    reads does so low by chance.
    """

    s: Float
    follows: Bool


def weights_for(s: Float, value: Float, reference: Float, live: Bool, n: Int) -> Weights:
    """Return what weighs errors whose stated standard uncertainty is ``s``."""
    weighs, follows = s, np.zeros(n.size, dtype=np.bool_)
    first = s[:, :1]
    some = np.flatnonzero((live & (s != first)).any(axis=1))
    if not some.size:
        return Weights(weighs, follows)
    stated, live, n = s[some], live[some], n[some]
    level = np.abs(reference[some])
    off = np.abs(value[some]) - level
    share, decided, goes, sign = _independent(stated, level, off, live)
    rows = np.flatnonzero(goes)
    if rows.size:
        carrier = level[rows] + share[rows, None] * off[rows]
        usual = _usual(stated[rows], carrier, live[rows], n[rows])
        weighs = s.copy()
        weighs[some[rows]] = usual
        apart = TO_SD * medians(np.abs(stated[rows] / usual - 1.0), live[rows])
        follows[some[rows]] = (sign[rows] > 0.0) & ~decided[rows] & (apart > _WORTH_WORDS)
    return Weights(weighs, follows)


def usual_u(u: Float, value: Float, reference: Float) -> Float:
    """Return what weighs the errors of one series, from the standard uncertainty of each."""
    return usual_us(u, value, reference, np.zeros(1, dtype=np.int64))


def usual_us(u: Float, value: Float, reference: Float, starts: Int) -> Float:
    """Return the same for the errors of several series end to end, which begin at ``starts``."""
    n = np.diff(starts, append=u.size)
    rows = (padded(np.split(each, starts[1:])) for each in (u, value, reference))
    s, value, reference = rows
    live = np.arange(s.shape[1]) < n[:, None]
    return weights_for(s, value, reference, live, n).s[live]


def _independent(s: Float, level: Float, off: Float, live: Bool) -> tuple[Float, Bool, Bool, Float]:
    """Return what errors are independent of, and whether and how u goes with them all the same.

    The first is the share of the error that has to be added to the reference.
    """
    steps = [(row[:, 1:] - row[:, :-1]) * live[:, 1:] for row in (s, level, off)]
    size = np.abs(steps[2])
    most = _WILD * TO_SD * medians(size, live[:, 1:])
    near = live[:, 1:] & (size <= np.where(most > 0.0, most, np.inf)[:, None])
    of_s, of_level, of_error = (_widened(row * near) for row in steps)
    n = np.count_nonzero(near, axis=1)
    by_level, by_value = (_t(of_error, each, n) for each in (of_level, of_level + of_error))
    classical = (by_value > _MODEL) & (np.abs(by_level) < _MODEL)
    predictive = (by_level < -_MODEL) & (np.abs(by_value) < _MODEL)
    between = -quotients(dots(of_level, of_error), dots(of_error, of_error))
    share = np.where(classical, 0.0, np.where(predictive, 1.0, np.clip(between, 0.0, 1.0)))
    at = of_level + predictive[:, None] * of_error
    t = _t(_beyond(of_s, at), _beyond(of_error, at), n)
    return share, predictive, np.abs(t) > _GOES, t


def _widened(rows: Float) -> Float:
    """Return rows with a 0 behind, so that their width is that of the pairs."""
    widened = np.zeros((rows.shape[0], rows.shape[1] + 1))
    widened[:, :-1] = rows
    return widened


def _beyond(rows: Float, at: Float) -> Float:
    """Return what a regression on ``at`` leaves of rows."""
    return rows - quotients(dots(rows, at), dots(at, at))[:, None] * at


def _t(one: Float, other: Float, n: Int) -> Float:
    """Return how many standard errors a correlation is from 0, however unlike in size pairs are."""
    squares = dots(one, one) * dots(other, other)
    r = np.clip(quotients(dots(one, other), np.sqrt(squares)), -_CERTAIN, _CERTAIN)
    product = one * other
    unlike = np.maximum(n * quotients(dots(product, product), squares), 1.0)
    return np.arctanh(r) * np.sqrt(np.maximum(n - 4.0, 0.0) / (_NEIGHBOURS * unlike))


def _usual(s: Float, carrier: Float, live: Bool, n: Int) -> Float:
    """Return the line through the medians of ``s`` along the carrier, which wild pairs leave."""
    order = np.argsort(np.where(live, carrier, np.inf), axis=1, kind="stable")
    x, y = (np.take_along_axis(row, order, axis=1) for row in (carrier, s))
    half = n // 2
    at = np.arange(s.shape[1])
    partner = np.minimum(at + (n - half)[:, None], (n - 1)[:, None])
    run = np.take_along_axis(x, partner, axis=1) - x
    moves = (at < half[:, None]) & (run > 0.0)
    rise = np.take_along_axis(y, partner, axis=1) - y
    slope = np.where(moves.any(axis=1), medians(quotients(rise, run), moves), 0.0)[:, None]
    middle = medians(s - slope * carrier, live)[:, None]
    least = np.sort(np.where(live, s, np.inf), axis=1)
    least = np.take_along_axis(least, (_LEAST[0] * n).astype(np.int64)[:, None], axis=1)
    return np.where(live, np.maximum(middle + slope * carrier, _LEAST[1] * least), 1.0)
