"""The width of the middle of the errors: how it is learnt, and used in bets on a too large u.

Rules of this file: an honest sensor of unknown shape may have a narrower middle than a normal one,
so a bet on narrow errors is divided by its largest mean over the shapes that are allowed. The mean
of one of these bets over the series' own last pairs shows how much of that division is needed.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from monitor.core.model import Float

SPREAD_LEAST: Final = 0.9
# Spread ratio bet on, and the largest mean of that bet over normal, logistic, Laplace, t6 and t4.
_K: Final = np.array([0.78, 0.57, 0.37])[:, None]
_G: Final = np.array([1.0515, 1.1399, 1.2817])[:, None]
RATE: Final = (1.0 / (_K * _K) - 1.0) / 2.0
SCALE: Final = np.log(_K)
SHAPE: Final = np.log(_G)
_MIDDLE: Final = 1  # index of the bet whose mean is learnt
MOST: Final = float(1.0 / _K[_MIDDLE, 0])  # its largest value
# Two standard errors of its mean times sqrt(n): from chance, and from an error of rho.
_BY_CHANCE: Final = 1.1
_BY_RHO: Final = 1.5


def middle(q: Float) -> Float:
    """Return the bet whose mean is learnt, on clipped z."""
    inner = q / SPREAD_LEAST
    bet: Float = np.exp(-RATE[_MIDDLE] * (inner * inner) - SCALE[_MIDDLE])
    return bet


def flatness(mean: Float, n: Float, rho: Float) -> Float:
    """Return how certain it is that errors with this mean of :func:`middle` are not too narrow.

    0: they may be as narrow as those of t4; 1: they are not narrower than normal. The mean is over
    ``n`` pairs.
    """
    square = rho * rho
    rest = 1.0 - square
    error = _BY_CHANCE * np.sqrt((1.0 + square) / rest) + _BY_RHO * rho / rest
    most = np.maximum(mean + error / np.sqrt(n), 1.0)
    return np.maximum(1.0 - np.log(most) / SHAPE[_MIDDLE], 0.0)
