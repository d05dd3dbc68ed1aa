"""What a run of pairs costs as one piece: right, off by a level, on a line, or too wide.

Rules of this file: least squares from cumulated sums, any number of pieces at once; errors z over
their stated uncertainty s, with h = typical s / s, so that a level in the series' unit is level h
in z. A cost is twice a negative log likelihood (of spread 1) and a penalty a parameter, in which
the evidence of autocorrelated pairs is divided by ``inflation``.

Source: Schwarz, Ann. Stat. 6 (1978).
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from monitor.core.model import Float, Int

# What a piece may be. A hinge is a line that begins where the piece before ended.
RIGHT, LEVEL, LINE, HINGE = range(4)
WIDE: Final = 4  # added where the piece has a spread of its own
KINDS: Final = 2 * WIDE
_PARAMETERS: Final = (1.0, 2.0, 3.0, 2.0)  # where it begins is one
_SHORTEST: Final = (0, 3, 8, 8)  # pairs
_SHORTEST_MORE: Final = 5  # pairs more for a spread
_LEAST_VARIANCE: Final = 0.01
_TINY: Final = 1e-100


class Sums(NamedTuple):
    """Sums over pairs: 1, h^2, h^2 t, h^2 t^2, h z, h t z, z^2."""

    n: Float
    hh: Float
    hht: Float
    htt: Float
    hz: Float
    htz: Float
    zz: Float

    def between(self, begin: Int | int, end: Int | int) -> Sums:
        """Return the sums from boundary to boundary, of sums cumulated up to each."""
        return Sums(*(each[end] - each[begin] for each in self))


class Line(NamedTuple):
    """A level at some time and a slope, with their variances where errors have spread 1."""

    level: Float
    slope: Float
    of_level: Float
    of_slope: Float


def cumulated(z: Float, h: Float, t: Float, bounds: Int) -> Sums:
    """Return the sums over all pairs before each of ``bounds``; h is 0 where a pair is left out."""
    hh, hz = h * h, h * z
    rows = np.empty((7, z.size + 1))
    rows[:, 0] = 0.0
    for at, row in enumerate((h > 0.0, hh, hh * t, hh * t * t, hz, hz * t, z * z)):
        np.cumsum(row, out=rows[at, 1:])
    return Sums(*rows[:, bounds])


def level_of(s: Sums) -> Line:
    """Return the weighted mean."""
    hh = np.maximum(s.hh, _TINY)
    nothing = np.zeros_like(hh)
    return Line(s.hz / hh, nothing, 1.0 / hh, nothing)


def line_of(s: Sums, at: Float | float) -> Line:
    """Return the weighted regression on time, its level at time ``at``."""
    hh = np.maximum(s.hh, _TINY)
    centre = s.hht / hh
    tt = np.maximum(s.htt - s.hht * centre, 1e-12 * hh + _TINY)
    slope = (s.htz - centre * s.hz) / tt
    away = at - centre
    return Line(s.hz / hh + slope * away, slope, 1.0 / hh + away * away / tt, 1.0 / tt)


def hinge_of(s: Sums, start: Float, height: Float, at: float) -> tuple[Line, Float]:
    """Return the line that begins at (start, height), and the sum of squares it leaves."""
    hz, htz = s.hz - height * s.hh, s.htz - height * s.hht
    zz = s.zz - 2.0 * height * s.hz + height * height * s.hh
    weight = s.htt - 2.0 * start * s.hht + start * start * s.hh
    weight = np.maximum(weight, 1e-12 * s.hh + _TINY)
    across = htz - start * hz
    slope = across / weight
    line = Line(height + slope * (at - start), slope, (at - start) ** 2 / weight, 1.0 / weight)
    return line, np.maximum(zz - across * slope, 0.0)


def squares_left(s: Sums) -> list[Float]:
    """Return the sums of squares that RIGHT, LEVEL and LINE leave."""
    hh = np.maximum(s.hh, _TINY)
    level = s.zz - s.hz * s.hz / hh
    tt = np.maximum(s.htt - s.hht * s.hht / hh, 1e-12 * hh + _TINY)
    line = level - (s.htz - s.hht * s.hz / hh) ** 2 / tt
    return [s.zz, np.maximum(level, 0.0), np.maximum(line, 0.0)]


def costs(n: Float, left: list[Float], penalty: float, inflation: float) -> Float:
    """Return costs of pieces of ``n`` pairs by what is left: with spread 1, then with their own.

    ``left[kind]`` are sums of squares; the kinds come out twice, first those of spread 1.
    """
    many = np.maximum(n, 1.0)
    every = np.empty((2 * len(left), *left[0].shape))
    for kind, square in enumerate(left):
        variance = np.maximum(square / many, _LEAST_VARIANCE)
        # Not square - n (variance - 1 - ln variance), which cancels where errors are huge.
        wide = n * (1.0 + np.log(variance))
        wide += np.where(variance > _LEAST_VARIANCE, 0.0, square - n * variance)
        fixed = penalty * _PARAMETERS[kind]
        least = _SHORTEST[kind]
        plain = square / inflation + fixed
        every[kind] = np.where(n >= least, plain, np.inf) if least else plain
        own = wide / inflation + fixed + penalty
        every[len(left) + kind] = np.where(n >= least + _SHORTEST_MORE, own, np.inf)
    return every
