"""The detector's bets on every pair of one series' whole life, for analyses of parts of it."""

from __future__ import annotations

from typing import Final

import numpy as np

from monitor.core.detector import e_values, whitening
from monitor.core.detector.e_process import KEPT, EvidenceBlock
from monitor.core.detector.series_state import STATE
from monitor.core.model import Float

_NEVER: Final = 1e300  # a patience that no evidence exhausts


def bets_from_first(z: Float, systematic: Float | None = None) -> Float:
    """Return the bets [17, n] on ``z`` [n] of one series from its first pair on.

    They are those of :func:`.z_bets` with the autocorrelation learnt before each pair, so given the
    past each has mean <= 1 if the sensor is honest. ``systematic``: one share for the series.
    """
    share = np.zeros(1) if systematic is None else systematic
    block = EvidenceBlock(
        np.zeros(1, dtype=STATE),
        np.arange(z.size)[:, None],
        z[:, None],
        np.zeros((min(z.size, whitening.FAR), 1)),
        np.full(1, _NEVER),
        np.full(1, e_values.Z),
        share,
        KEPT,
    )
    return block.bets[:, :, 0]
