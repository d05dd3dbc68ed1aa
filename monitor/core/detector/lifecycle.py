"""Life cycle of an alert: ok, pending, firing, and the reverse test that ends it.

Rules of this file: pure functions of columns, one entry a series. While an alert fires its
evidence stands still; the fault's mean and spread are refined for ``REFINING`` pairs, and every
pair is a bet between the honest sensor and a milder version of that fault. docs/detection.md.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np

from monitor.core.detector import e_values
from monitor.core.model import Float, Int

OK: Final = 0
PENDING: Final = 1
FIRING: Final = 2
STATES: Final = ("ok", "pending", "firing")

PENDING_SHARE: Final = 0.1  # of the patience A
REFINING: Final = 20  # pairs after the alarm that still sharpen the fault's mean and spread
RESOLVED_AT: Final = math.log(1000.0)
_MILDER: Final = 0.8
_OFFSET_FLOOR: Final = 0.25
_SPREAD_FLOOR: Final = 0.05
# One outlier of a heavy-tailed sensor must not end an alert: it takes three pairs at least.
_RELIEF_MAX: Final = RESOLVED_AT / 3.0
_SHARE_FLOOR: Final = 1e-3
_OUTLIERS: Final = e_values.FAMILIES.index("outliers")
_OUTLIERS_MEAN: Final = 1.0  # of clipped z: beyond it outliers are an offset
_FAR_HONEST: Final = 0.01  # share of |z| > 4 that an honest sensor may have, as in the bets
_FAR_FAULTY: Final = 0.05  # and that of one with outliers: twenty pairs do not tell its own


class StateTransition(NamedTuple):
    """One change of one alert's state, at one pair.

    ``position`` counts in the batch's pairs (-1: an epoch began); ``evidence`` is S then, and a
    return from firing to ok is a resolution.
    """

    series: int
    position: int
    before: str
    after: str
    family: str
    evidence: float


def moments_of(path: Int, z: Float) -> Float:
    """Return what each pair adds to a fault's moments, [3, ...]: 1 and clipped z and its square.

    On the coverage path: 1 and whether the interval lies too high, too low.
    """
    high, low, _ = e_values.coverage_parts(z)
    q = e_values.clipped(z, -e_values.CLIP, e_values.CLIP)
    covers = path == e_values.COVERAGE
    return np.array([np.ones_like(q), np.where(covers, high, q), np.where(covers, low, q * q)])


def relief(path: Int, family: Int, moments: Float, z: Float) -> Float:
    """Return log P(z | honest) - log P(z | milder fault), one number a series.

    ``moments`` [3, k] are sums over the fault's pairs as :func:`moments_of` gives them.
    """
    if not (path == e_values.COVERAGE).any():
        return _relief_z(family, moments, z)
    return np.where(
        path == e_values.COVERAGE, _relief_coverage(moments, z), _relief_z(family, moments, z)
    )


def _relief_z(family: Int, moments: Float, z: Float) -> Float:
    n, total, squares = np.maximum(moments[0], 1.0), moments[1], moments[2]
    mean = total / n
    spread = np.sqrt(np.maximum(squares / n - mean * mean, _SPREAD_FLOOR**2))
    # An offset of many u begins as outliers; those of a sensor that is right but for them leave its
    # mean where it is.
    family = np.where((family == _OUTLIERS) & (np.abs(mean) >= _OUTLIERS_MEAN), 0, family)
    m = _MILDER * mean
    s = np.exp(_MILDER * np.log(spread))
    m = np.where(family == 0, np.copysign(np.maximum(np.abs(m), _OFFSET_FLOOR), m), m)
    s = np.where(family == 0, np.maximum(s, 1.0), s)
    s = np.where(family == 1, np.maximum(s, 1.2), s)
    s = np.where(family == 2, np.minimum(s, 0.8), s)
    q = e_values.clipped(z, -e_values.CLIP, e_values.CLIP)
    faulty = (q - m) / s
    relieved: Float = np.minimum(0.5 * (faulty * faulty - q * q) + np.log(s), _RELIEF_MAX)
    return np.where(family == _OUTLIERS, _relief_outliers(z), relieved)


def _relief_outliers(z: Float) -> Float:
    """Return the relief of the outlier family: most pairs of a faulty sensor look honest."""
    far = np.abs(z) > e_values.CLIP
    honest = np.where(far, _FAR_HONEST, 1.0 - _FAR_HONEST)
    faulty = np.where(far, _FAR_FAULTY, 1.0 - _FAR_FAULTY)
    relieved: Float = np.log(honest / faulty)
    return relieved


def _relief_coverage(moments: Float, code: Float) -> Float:
    high, low, alpha = e_values.coverage_parts(code)
    n = np.maximum(moments[0], 1.0)
    side = np.maximum(0.5 * alpha, _SHARE_FLOOR)
    above = np.maximum(side + _MILDER * (moments[1] / n - side), _SHARE_FLOOR)
    below = np.maximum(side + _MILDER * (moments[2] / n - side), _SHARE_FLOOR)
    inside = np.maximum(1.0 - above - below, _SHARE_FLOOR)
    honest = np.where(high | low, side, 1.0 - 2.0 * side)
    faulty = np.where(high, above, np.where(low, below, inside))
    relieved: Float = np.log(honest) - np.log(faulty)
    return relieved


def worth(rho: Float, relieved: Float) -> Float:
    """Return what pairs add to the reverse test's R, which never falls below 0.

    Autocorrelated pairs count as (1 - rho) / (1 + rho) of a pair.
    """
    added: Float = (1.0 - rho) / (1.0 + rho) * relieved
    return added
