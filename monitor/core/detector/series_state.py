"""The state of a series: one record."""

from __future__ import annotations

from typing import Final

import numpy as np

from monitor.core.detector.e_values import BETS
from monitor.core.detector.scales import SCALES

STATE: Final = np.dtype(
    [
        ("evidence", np.float64, BETS),  # weight * M of each bet
        ("discounted", np.float64),  # D: compared across the fleet
        ("d1", np.float64),  # fading sums of squared differences of clipped z, lag 1 and 2
        ("d2", np.float64),
        ("n", np.float64),  # how many differences
        ("far", np.float64),  # the same at lag FAR
        ("n_far", np.float64),
        ("middle", np.float64),  # fading sum of the bet that knows how narrow errors are
        ("on_step", np.float64),  # fading sum over values: on the steps of a display, or not
        ("block", np.float64, SCALES),  # sum of the whitened z of the block that is filling
        ("before", np.float64, SCALES),  # that of the block before it
        ("steps", np.float64, SCALES),  # sum of squared differences of blocks
        ("n_steps", np.float64, SCALES),
        ("z1", np.float64),  # last z with the usual u, and the one before
        ("z2", np.float64),
        ("stated1", np.float64),  # last z as stated, u and reading
        ("u1", np.float64),
        ("value1", np.float64),
        ("u_u", np.float64),  # fading sums over steps of u, reading and z: how u goes with them
        ("u_value", np.float64),
        ("value_value", np.float64),
        ("u_z", np.float64),
        ("z_z", np.float64),
        ("n_u", np.float64),  # how many steps
        ("levels", np.float64),  # how many levels, at most a memory, their centre and variance
        ("centre", np.float64),
        ("square", np.float64),
        ("seen", np.int64),  # pairs since the epoch began
        ("alarm", np.int64),  # which of them raised the alert that fires, from 1; 0: none
        ("reverse", np.float64),  # evidence that the fault is gone
        ("moments", np.float64, 3),  # of the fault
        ("calm", np.float64, 3),  # those of the pairs since the fault may be gone
        # While ok, how many calm pairs ended the last alert; while firing, the most that did not.
        ("stretch", np.float64),
        ("held", np.int16),  # last z a replay may use
        ("refining", np.int8),  # pairs that still sharpen the fault's moments
        ("state", np.int8),
        ("family", np.int8),  # that led when the alert fired
        ("shape", np.int8),  # of the errors before the fault, 0 (normal) to 8 (t4)
    ],
    align=True,
)
