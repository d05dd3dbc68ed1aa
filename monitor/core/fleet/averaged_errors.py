"""Groups whose readings err less together than settings say: one thing, not one of each sensor.

Rules of this file: pure functions of columns, one entry a series. Pairs that are means of readings
have a u that assumes how far their errors go together (``pairing.correlation``). Where they average
out instead, every sensor of the group overstates its u, by the same setting. The correlation is not
estimated from the readings: the spread of readings within a pair is mostly what they measure, and
a u that follows from it would change when a late reading comes.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from monitor.core.fleet.suspect_references import SENSORS_MIN
from monitor.core.model import Bool, Int

_MOST: Final = 0.5  # share of the sensors with such pairs that must overstate u


class Averaged(NamedTuple):
    """A group of sensors whose u a setting makes too large: ``agree`` of the ``sensors`` show it.

    One of the ``rows`` that overstate u, the first, has the alert of all.
    """

    rows: tuple[int, ...]
    agree: int
    sensors: int

    def sentence(self, group: str) -> str:
        """Return "8 of the 9 sensors of group air overstate their uncertainty alike: ...?"."""
        of = f"of group {group}" if group else "without a group"
        who = f"{self.agree} of the {self.sensors} sensors {of}"
        return f"{who} overstate their uncertainty alike: should pairing.correlation be 0?"


def averaged_errors(groups: Int, smaller: Bool, overstated: Bool) -> list[Averaged]:
    """Return the groups most of whose sensors err less than their means of readings say.

    ``groups`` numbers the group of each series with such pairs, -1 for others; ``smaller`` are the
    series whose errors are clearly smaller than stated, ``overstated`` those reported for it.
    """
    averaged = []
    for group in np.unique(groups[overstated & (groups >= 0)]).tolist():
        rows = groups == group
        agree, sensors = int((rows & smaller).sum()), int(rows.sum())
        if agree >= max(SENSORS_MIN, _MOST * sensors):
            theirs = tuple(np.flatnonzero(rows & overstated).tolist())
            averaged.append(Averaged(theirs, agree, sensors))
    return averaged
