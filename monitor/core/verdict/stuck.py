"""Whether a sensor gives one value for longer than it ever does.

Rules of this file: a sensor's own usual runs are the measure. A value on a coarse scale stands
still for long, and a dry rain gauge is right to say 0 as long as its reference does.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from monitor.core.model import Float, Int
from monitor.core.verdict.neighbours import median
from monitor.core.verdict.pairs import Pairs

_FEWEST: Final = 4
_MOVES: Final = 3  # changes of the reference below which it may be as steady as the value
_MOVED: Final = 4.0  # uncertainties of the reference's way that no honest value stands still for
_OFTEN: Final = 0.5
_LONGER: Final = 2.0  # times the longest run before
_SURPRISE: Final = 1e-5


def stuck_for(p: Pairs) -> int:
    """Return for how many pairs the sensor has been stuck, 0 if it is not."""
    runs = run_lengths(p.value)
    run = int(runs[-1])
    if run < _FEWEST:
        return 0
    reference = p.reference[-run:]
    if np.count_nonzero(reference[1:] != reference[:-1]) < _MOVES:
        return 0
    before = p.n - run
    often = (before - (runs.size - 1) + 0.5) / (before + 1.5)
    typical = median(p.s[-run:])
    if float(np.ptp(reference)) > _MOVED * typical and often < _OFTEN:
        return run
    longest = int(runs[:-1].max(initial=1))
    if before == 0 and _is_coarse(float(p.value[-1]), typical):
        return 0
    return run if run > _LONGER * longest and often ** (run - 1) < _SURPRISE else 0


def run_lengths(value: Float) -> Int:
    """Return how many times each value in turn was repeated."""
    starts = np.flatnonzero(value[1:] != value[:-1]) + 1
    return np.diff(starts, prepend=0, append=value.size)


def _is_coarse(value: float, typical: float) -> bool:
    """Whether a value is a round number even beside its uncertainty, as on a coarse scale."""
    step = 10.0 ** math.ceil(math.log10(typical))
    return math.isfinite(value / step) and math.remainder(value, step) == 0.0
