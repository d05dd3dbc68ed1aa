"""An animal's forces on a platform it walks over, and method E: a wrong estimator.

Method E of Martin, Molteno, Parry (arXiv 1411.4354) states [mean - sd, mean + sd] of the forces as
its 90 % interval. The animal's steps on and off the platform are among those forces, so it reads
low, and one standard deviation to both sides holds the mass in two cases of three, not in nine of
ten. It is an example of what the monitor has to find. Rules of this file: no clock, no socket; the
generator passed in is the only source of randomness.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from monitor.core.model import Float

STANDARD_GRAVITY: Final = 9.80665  # m/s2
THRESHOLD_KG: Final = 50.0  # below it the platform counts as empty
P: Final = 0.9  # stated by method E for its interval
_SAMPLES: Final = 100
_EMPTY_SAMPLES: Final = 20  # before and after the crossing
_STEP_SHARE: Final = 0.05  # of the crossing, to get on, and to get off
_BORNE_MEAN: Final = 0.94  # of the weight: a foot may be off the platform, no stride is whole
_BORNE_SPREAD: Final = 0.1  # from crossing to crossing
_STEPS: Final = 2.0  # of the crossing
_SWING: Final = 0.05  # of the weight, up and down with each step
_NOISE_KG: Final = 5.0


class StatedMass(NamedTuple):
    """A mass in kg with the interval stated to hold it with probability ``p``."""

    value: float
    lower: float
    upper: float
    p: float


def force_trace(mass: float, generator: np.random.Generator) -> Float:
    """Return the forces in N, one per sample, of an animal of ``mass`` kg that walks over.

    The weight rises and falls linearly at the ends and swings with the steps; the share that the
    platform bears varies from crossing to crossing, and is below 1 on average.
    """
    at = np.linspace(0.0, 1.0, _SAMPLES)
    ramp = np.minimum(1.0, np.minimum(at, 1.0 - at) / _STEP_SHARE)
    borne = _BORNE_MEAN + _BORNE_SPREAD * generator.standard_normal()
    swing = _SWING * np.sin(2.0 * np.pi * (_STEPS * at + generator.random()))
    load = np.pad(mass * ramp * (borne + swing), _EMPTY_SAMPLES)
    noise = _NOISE_KG * generator.standard_normal(load.size)
    return STANDARD_GRAVITY * (load + noise)


def method_e(forces: Float) -> StatedMass | None:
    """Return the result of method E on forces in N, None if none is above the threshold."""
    loads = forces / STANDARD_GRAVITY
    loads = loads[loads > THRESHOLD_KG]
    if not loads.size:
        return None
    mean, spread = float(loads.mean()), float(loads.std())
    return StatedMass(mean, mean - spread, mean + spread, P)
