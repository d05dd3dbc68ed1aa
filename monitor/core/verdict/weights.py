"""The uncertainty that weighs an error, which must not depend on the error itself.

A sensor whose u is a share of its reading states a smaller u when it reads low by chance, so with
weights 1/u^2 its low errors weigh more and its mean error comes out too low (Peelle's puzzle).
Where u goes with the error, an error is weighed by the usual u at what the error is independent of:
the reference of a classical sensor, the value of a predictive one, a place between them while
neither is clear (errors are uncorrelated with it by construction, so weighted and plain mean agree
but for chance). Everywhere else it is weighed by the u that is stated with it.

Rules of this file: steps between neighbouring pairs, which levels and drifts do not change, decide
whether u goes with the error and what the error is independent of; a few wild pairs decide nothing.
A share of a reading is never below 0, so values, references and errors change sign together where
what the error is independent of is below 0: magnitudes would grow with any large error about 0.

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
_WILD: Final = 5.0  # robust scales from which a step of the error, in u, decides nothing
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
    level, off = reference[some], value[some] - reference[some]
    near = _tame(stated, off, live)
    share, decided = _independent(level, off, near)
    middle = medians(off, live)[:, None]
    side = np.where(level + middle + share[:, None] * (off - middle) < 0.0, -1.0, 1.0)
    level, off = side * level, side * off
    carrier = level + share[:, None] * off
    sign = _goes(stated, carrier, off, near)
    goes = np.minimum(np.abs(sign), np.abs(_goes(stated, level, off, near)))
    rows = np.flatnonzero(goes > _GOES)
    if rows.size:
        usual = _usual(stated[rows], carrier[rows], live[rows], n[rows])
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


def _tame(s: Float, off: Float, live: Bool) -> Bool:
    """Return which steps decide: those that are not wild for the u that is stated with them."""
    size = quotients(np.abs(off[:, 1:] - off[:, :-1]), s[:, 1:] + s[:, :-1])
    most = _WILD * TO_SD * medians(size, live[:, 1:])
    return live[:, 1:] & (size <= np.where(most > 0.0, most, np.inf)[:, None])


def _independent(level: Float, off: Float, near: Bool) -> tuple[Float, Bool]:
    """Return the share of the error to add to the reference, for what errors are independent of.

    And whether that is clearly the value.
    """
    of_level, of_error = _steps(level, near), _steps(off, near)
    n = np.count_nonzero(near, axis=1)
    by_level, by_value = (_t(of_error, each, n) for each in (of_level, of_level + of_error))
    classical = (by_value > _MODEL) & (np.abs(by_level) < _MODEL)
    predictive = (by_level < -_MODEL) & (np.abs(by_value) < _MODEL)
    between = -quotients(dots(of_level, of_error), dots(of_error, of_error))
    share = np.where(classical, 0.0, np.where(predictive, 1.0, np.clip(between, 0.0, 1.0)))
    return share, predictive


def _goes(s: Float, at: Float, off: Float, near: Bool) -> Float:
    """Return by how many standard errors u goes with the error, beyond how it goes with ``at``."""
    of_s, of_at, of_error = (_steps(each, near) for each in (s, at, off))
    n = np.count_nonzero(near, axis=1)
    return _t(_beyond(of_s, of_at), _beyond(of_error, of_at), n)


def _steps(rows: Float, near: Bool) -> Float:
    """Return steps between neighbours and a 0 behind, so that their width is that of the pairs."""
    steps = np.zeros(rows.shape)
    steps[:, :-1] = (rows[:, 1:] - rows[:, :-1]) * near
    return steps


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
