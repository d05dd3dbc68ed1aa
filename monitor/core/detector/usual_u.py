"""The uncertainty that judges an error, which must not depend on the error itself.

A sensor whose u is a share of its reading states a smaller u when it reads low by chance, so that
the z of an honest one has a negative mean and a long tail (Peelle's puzzle). Where u = a + b
reading, u - b error is the *usual* u: the one at what the error is independent of, the reference.
So error / usual u = z / (1 - b z), a function of z alone.

The slope b is learnt from the past, from steps between neighbouring pairs, which offsets and drifts
do not change. It is how far u goes with z, at most as far as with the reading. The former is the
slope for a classical sensor and 0 for a predictive one, whose errors are independent of what it
reads (below 0, if its u is a share of the truth: that must be clear); the latter is known after a
few pairs, and 0 for a u that has nothing to do with the reading.
:mod:`monitor.core.verdict.weights` does the same for a whole window.

Rules of this file: pure functions of sums over the past that fade (:mod:`.e_process`). As long as u
does not change they are 0, and z stays as it is, bit for bit.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from monitor.core.detector.whitening import CLIP, TINY, clipped
from monitor.core.model import Bool, Float

# Arguments of slope_of, fields of the state: sums over steps of u, the reading and clipped z.
SUMS: Final = ("u_u", "u_value", "value_value", "u_z", "z_z", "n_u")
LAST: Final = ("stated1", "u1", "value1")  # of the last pair: z as stated, u and the reading
_GOES: Final = 3.5  # standard errors from which u goes with the reading
_NEIGHBOURS: Final = 2.0  # by which neighbouring steps, which share a pair, widen a sum's variance
_FITTED: Final = 4.0  # steps that are no evidence
_WILD: Final = 8.0  # |z| from which a pair teaches nothing
_LEAST: Final = 0.05  # of u is always left: the line may fall below 0


class StatedColumns(NamedTuple):
    """The standard uncertainty of each error, u_ref included, and the reading, in its unit."""

    u: Float
    value: Float


class Inputs(NamedTuple):
    """What the detector takes of pairs: z, or for interval-only sensors a code, and what is stated.

    The code says where the reference fell; what is stated is constant then.
    """

    z: Float
    stated: StatedColumns


def steps_of(pairs: Inputs, follows: Bool, sums: Float) -> Float | None:
    """Return what each pair adds to ``sums`` [6, k], [ranks, 6, k]; None where nothing can change.

    ``pairs`` [ranks + 1, k] begin with the one before; ``follows`` [ranks, k]: it is of the same
    epoch. Sums begin once u changes.
    """
    z, (u, value) = pairs
    begun, rises = sums.any(axis=0), u[1:] - u[:-1]
    moves = (rises != 0.0) & follows
    if not (begun.any() or moves.any()):
        return None
    tame = np.abs(z) < _WILD
    follows = follows & tame[1:] & tame[:-1]
    if not begun.all():
        follows &= begun | np.logical_or.accumulate(moves & follows, axis=0)
    both = u[1:] + u[:-1]  # so that a pair with a large u counts no more than others
    of_u = np.where(follows, rises / both, 0.0)
    of_value = np.where(follows, (value[1:] - value[:-1]) / both, 0.0)
    q = clipped(z, -CLIP, CLIP)
    of_z = np.where(follows, q[1:] - q[:-1], 0.0)
    rows = (
        of_u * of_u,
        of_u * of_value,
        of_value * of_value,
        of_u * of_z,
        0.5 * of_z * of_z * (1.0 - of_u * of_u),  # of_u is half the tangent of a step of log u
        follows,
    )
    steps = np.empty((follows.shape[0], len(SUMS), follows.shape[1]))
    for at, row in enumerate(rows):
        steps[:, at] = row
    return steps


def slope_of(
    u_u: Float, u_value: Float, value_value: Float, u_z: Float, z_z: Float, n: Float
) -> Float:
    """Return by how much u rises with the error, per unit of it, from the sums of steps."""
    line = np.where(_goes(u_u, u_value, value_value, n), u_value, 0.0)
    line /= np.maximum(value_value, TINY)
    shown = u_z / np.maximum(z_z, TINY)
    # Only u that clearly goes with the error may go against the reading.
    against = np.where(_goes(u_u, u_z, z_z, n), -line, 0.0)
    slope: Float = np.clip(shown, np.minimum(line, against), np.maximum(line, against))
    return slope


def _goes(one_one: Float, one_other: Float, other_other: Float, n: Float) -> Bool:
    """Return whether two columns clearly go together, from the sums of their steps."""
    square = one_other * one_other
    unsure = _GOES * _GOES * _NEIGHBOURS * (one_one * other_other - square)
    return np.asarray(square * (n - _FITTED) > unsure)


def at_usual_u(z: Float, slope: Float) -> Float:
    """Return z with the usual u in place of the stated one."""
    usual: Float = z / np.maximum(1.0 - slope * z, _LEAST)
    return usual
