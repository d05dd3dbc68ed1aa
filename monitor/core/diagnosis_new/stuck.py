"""Whether a sensor gives one value for longer than it ever does."""

from __future__ import annotations

from typing import Final

import numpy as np

from monitor.core.diagnosis_new.pairs import Pairs
from monitor.core.model import Float

_FEWEST: Final = 4
_SURPRISE: Final = 1e-5


def run_length(value: Float) -> int:
    """Return how many of the last values are identical."""
    other = np.flatnonzero(value != value[-1])
    return int(value.size - 1 - other[-1]) if other.size else int(value.size)


def stuck_for(p: Pairs) -> int:
    """Return for how many pairs the sensor has been stuck, 0 if it is not.

    A run counts that would be a surprise by how often the sensor's values repeated before, while
    the reference went on changing. A value on a coarse scale repeats often and may do so for long.
    """
    run = run_length(p.value)
    if run < _FEWEST:
        return 0
    before = p.value[: p.n - run + 1]
    repeats = float(np.count_nonzero(before[1:] == before[:-1]))
    often = (repeats + 0.5) / (before.size + 0.5)
    reference = p.reference[-run:]
    moves = int(np.count_nonzero(reference[1:] != reference[:-1]))
    if moves < 3:
        return 0
    moved = float(np.ptp(reference)) > 4.0 * float(np.median(p.s[-run:]))
    if moved and often < 0.5:
        return run
    return run if p.n * often ** (run - 1) < _SURPRISE * p.n else 0
