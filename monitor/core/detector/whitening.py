"""What is learnt of a series' z before each pair: its autocorrelation and how narrow its middle is.

An honest sensor of unknown shape may have a narrower middle than a normal one, so a bet on narrow
errors is divided by its largest mean over the shapes that are allowed. The mean of one of these
bets over the series' own last pairs shows how much of that division is needed.

Rules of this file: pure functions of sums over the past that fade (:mod:`.e_process`).
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np

from monitor.core.model import Bool, Float, Int

SPREAD_LEAST: Final = 0.9
# Spread ratio bet on, and the largest mean of that bet over normal, logistic, Laplace, t6 and t4.
_K: Final = np.array([0.78, 0.57, 0.37])[:, None]
_G: Final = np.array([1.0515, 1.1399, 1.2817])[:, None]
NARROW_RATE: Final = (1.0 / (_K * _K) - 1.0) / 2.0
NARROW_SCALE: Final = np.log(_K)
NARROW_SHAPE: Final = np.log(_G)
_MIDDLE: Final = 1  # index of the bet whose mean is learnt
MIDDLE_MOST: Final = float(1.0 / _K[_MIDDLE, 0])  # its largest value
# Two standard errors of its mean times sqrt(n): from chance, and from an error of rho.
_BY_CHANCE: Final = 1.1
_BY_RHO: Final = 1.5


def middle_bet(q: Float) -> Float:
    """Return the bet whose mean is learnt, on clipped z."""
    inner = q / SPREAD_LEAST
    bet: Float = np.exp(-NARROW_RATE[_MIDDLE] * (inner * inner) - NARROW_SCALE[_MIDDLE])
    return bet


def flatness(mean: Float, n: Float, rho: Float) -> Float:
    """Return how certain it is that errors with this mean of :func:`middle_bet` are not too narrow.

    0: they may be as narrow as those of t4; 1: they are not narrower than normal. The mean is over
    ``n`` pairs.
    """
    square = rho * rho
    rest = 1.0 - square
    error = _BY_CHANCE * np.sqrt((1.0 + square) / rest) + _BY_RHO * rho / rest
    most = np.maximum(mean + error / np.sqrt(n), 1.0)
    return np.maximum(1.0 - np.log(most) / NARROW_SHAPE[_MIDDLE], 0.0)


# A display in whole steps: its values are multiples of 1, 2 or 5 times 10^k, or of sqrt(12) u, and
# its u is of rounding to them, of little else.
_STEP_OF_U: Final = (1.9, 3.6)
_BY_ROUNDING: Final = math.sqrt(12.0)
_DECADE: Final = np.array([1.0, 2.0, 5.0])
_ON_STEP: Final = 1e-4  # of a step
_MOST_STEPS: Final = 1e5
_SINGLE: Final = 2.0**-23
_OFF_STEP: Final = -20.0  # what a value between two steps counts, where one on a step counts 1
_COARSE: Final = 5.0
_SLOW: Final = 0.5  # share of pairs like their neighbour from which what is shown hardly moves
_SAME_PLACE: Final = 0.5  # difference of z of neighbours at one place of a step
_ANOTHER_STEP: Final = 2.5  # that of neighbours on two sides of one


def is_like(z: Float, previous: Float) -> Bool:
    """Return which errors would be those of their neighbours if all errors were of rounding."""
    apart = np.abs(z - previous)
    return np.asarray((apart < _SAME_PLACE) | (apart > _ANOTHER_STEP))


def on_step(value: Float, u: Float) -> Float:
    """Return 1 for values on a step that u is of, -20 for others, 0 for those that do not tell."""
    off = np.minimum(*(_off(value, step) for step in rounding_steps(u)))
    return np.where(value == 0.0, 0.0, np.where(off <= _ON_STEP, 1.0, _OFF_STEP))


def rounding_steps(u: Float) -> tuple[Float, Float]:
    """Return the steps that u may be of: sqrt(12) u, and a round one, if any."""
    usual, most = _BY_ROUNDING * u, _STEP_OF_U[1] * u
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        decade = 10.0 ** np.floor(np.log10(most))
        largest = _DECADE[np.searchsorted(_DECADE, most / decade, side="right") - 1] * decade
        return usual, np.where(largest >= _STEP_OF_U[0] * u, largest, usual)


def are_on_step(value: Float, step: float) -> bool:
    """Whether all values are multiples of a step."""
    return bool((_off(value, step) <= _ON_STEP).all())


def _off(value: Float, step: Float | float) -> Float:
    """Return how far values are from a step, beyond what 24 bits leave open, in steps."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        places = np.abs(value / step)
        off = np.abs(places - np.rint(places)) - _SINGLE * places
    return np.where(places <= _MOST_STEPS, off, 1.0)


CLIP: Final = 4.0
RHO_MAX: Final = 0.95
TINY: Final = 1e-300
UPPER_PAIRS: Final = 30.0  # until the pessimistic end of rho gives way to its estimate
FAR: Final = 12  # pairs: the lag at which differences show the whole spread
FAR_KNOWN: Final = 20.0  # differences at lag FAR before they are believed
FAR_SPREAD: Final = 1.5  # times 1/sqrt(n): allowance for their error, found by simulation

# Arguments of learnt_from, fields of the state.
LEARNT: Final = ("d1", "d2", "n", "far", "n_far", "middle", "on_step")


def clipped(rows: Float, lower: float, upper: float) -> Float:
    """Return np.clip of rows without its call overhead: a batch may be a single pair."""
    within: Float = np.minimum(np.maximum(rows, lower), upper)
    return within


class Whitening(NamedTuple):
    """Lag-1 autocorrelation of z, with the pessimistic end of its error by role, and its shape."""

    rho: Float  # plain estimate
    upper: Float  # how much of the last z is subtracted
    lower: Float  # how much variance that is trusted to remove
    flat: Float  # how certain it is that the middle is no narrower than a normal's, 0 to 1
    coarse: Float  # 1 for a display in whole steps of what hardly moves, 1/2 for others, else 0


def from_differences(d1: Float, d2: Float, n: Float | Int) -> tuple[Float, Float]:
    """Return (rho, standard error) from ``n`` squared differences at lag 1 and 2, drawn to 0."""
    counted = n + 20.0
    return n * (d2 / np.maximum(d1, TINY) - 1.0) / counted, 1.0 / np.sqrt(counted)


def learnt_from(
    d1: Float, d2: Float, n: Float, far: Float, n_far: Float, middle: Float, on_step: Float
) -> Whitening:
    """Return the autocorrelation learnt from sums of squared differences at lag 1, 2 and FAR.

    ``d2 / d1 - 1`` is rho for AR(1) whatever the mean and scale: neither a jump nor a ramp
    fools it. ``n`` and ``n_far`` count the differences; below 1 nothing is whitened.
    ``upper`` is above the estimate while that is new; later the ceilings see what is left.
    ``middle`` is the sum of :func:`middle_bet` over the ``n`` pairs, ``on_step`` that of
    :func:`on_step`, without pairs that are not like their neighbours.
    docs/evidence/detection.md, and beyond it:
    Errors that forget sooner than AR(1) (a daily cycle with gaps) make that estimate too high:
    honest errors would look too wide, and an offset would be whitened away. The variance trusted to
    go is held below what the lag-1 difference leaves of the difference at lag FAR (a variogram's
    nugget against its sill); where the estimate is clearly above that, the errors are not AR(1),
    and it is taken for all.
    """
    shrunk, spread = from_differences(d1, d2, n)
    above = spread * np.minimum(UPPER_PAIRS / (n + 20.0), 1.0)
    known = n >= 1.0
    counted = np.maximum(n_far, 1.0)
    estimate = 1.0 - (d1 / np.maximum(n, 1.0)) / np.maximum(far / counted, TINY)
    most = np.where(n_far >= FAR_KNOWN, estimate + FAR_SPREAD / np.sqrt(counted), 1.0)
    contradicted = shrunk - 2.0 * spread > most
    rho, upper, lower = (
        np.where(known, clipped(rows, 0.0, RHO_MAX), 0.0)
        for rows in (
            np.where(contradicted, most, shrunk),
            np.where(contradicted, most, shrunk + above),
            np.minimum(shrunk - spread, most),
        )
    )
    one = np.maximum(n, 1.0)
    flat = np.where(known, flatness(middle / one, one, rho), 0.0)
    coarse = np.where(on_step > _SLOW * n, 1.0, 0.5)
    return Whitening(rho, upper, lower, flat, np.where(on_step > _COARSE, coarse, 0.0))


def whitened(z: Float, previous: Float, learnt: Whitening) -> Float:
    """Return z without AR(1) dependence, of variance 1, clipped; :mod:`.scales` measures it."""
    rho = learnt.rho
    return clipped((z - rho * previous) / np.sqrt(1.0 - rho * rho), -CLIP, CLIP)
