"""The share of each sensor's messages that were refused.

Rules of this file: the share is an exponential average over a sensor's messages; only sensors with
a refused message cost anything.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from monitor.core.model import Float, Int
from monitor.core.registry import SeriesKey

MEMORY: Final = 200.0  # messages after which one has faded to 1/e
_FEW: Final = 20.0
_SENSORS_MAX: Final = 100_000
_SUMMED_UP_MAX: Final = 1000

RefusalSummary = dict[str, tuple[float, float]]  # refused and all messages, faded, by sensor


@dataclass
class _Faded:
    """Refused and all messages, both decayed, as of a count of accepted messages."""

    refused: float
    all: float
    taken: int


class Refusals:
    """State: accepted readings of up to ``capacity`` series, and refused messages by sensor."""

    def __init__(self, capacity: int) -> None:
        self._taken: Int = np.zeros(capacity, dtype=np.int64)
        self._refused: dict[str, int] = {}
        self._faded: dict[str, _Faded] = {}
        self.changed = 0

    def summary(self) -> RefusalSummary:
        """Return the decayed counts of the thousand sensors with the most refused messages."""
        known = {sensor: (of.refused, of.all) for sensor, of in self._faded.items()}
        for sensor, refused in self._refused.items():
            before = known.get(sensor, (0.0, 0.0))
            known[sensor] = (before[0] + refused, before[1] + refused)
        most = sorted(known, key=lambda sensor: (-known[sensor][0], sensor))[:_SUMMED_UP_MAX]
        return {sensor: known[sensor] for sensor in most}

    def recall(self, summary: RefusalSummary) -> None:
        """Load a summary, which includes all that came until now."""
        self._taken[:] = 0
        self._refused.clear()
        self._faded = {sensor: _Faded(*of, 0) for sensor, of in summary.items()}

    def dump(
        self, series: int
    ) -> tuple[list[int], dict[str, int], dict[str, tuple[float, float, int]]]:
        """Return the state of the first ``series`` rows, for :meth:`load`."""
        faded = {sensor: (of.refused, of.all, of.taken) for sensor, of in self._faded.items()}
        return self._taken[:series].tolist(), dict(self._refused), faded

    def load(
        self,
        taken: Sequence[int],
        refused: Mapping[str, int],
        faded: Mapping[str, tuple[float, float, int]],
    ) -> None:
        """Restore exactly what was dumped; other rows have no messages."""
        self._taken[:] = 0
        self._taken[: len(taken)] = taken
        self._refused = dict(refused)
        self._faded = {sensor: _Faded(*of) for sensor, of in faded.items()}

    def took(self, rows: Int) -> None:
        """Count accepted readings, given the row of each."""
        np.add.at(self._taken, rows, 1)

    def refuse(self, sensor: str) -> None:
        """Count a refused message of a sensor."""
        if sensor in self._refused or len(self._refused) < _SENSORS_MAX:
            self._refused[sensor] = self._refused.get(sensor, 0) + 1
            self.changed += 1

    def shares(self, keys: Sequence[SeriesKey]) -> Float:
        """Return the share of refused messages of each series' sensor, 0 with fewer than twenty."""
        shares = np.zeros(len(keys))
        if not self._refused and not self._faded:
            return shares
        concerned = self._refused.keys() | self._faded.keys()
        rows: dict[str, list[int]] = {}
        for row, key in enumerate(keys):
            if key.sensor in concerned:
                rows.setdefault(key.sensor, []).append(row)
        for sensor, those in rows.items():
            shares[those] = self._fade(sensor, int(self._taken[those].sum()))
        return shares

    def _fade(self, sensor: str, taken: int) -> float:
        """Add what came since the last call; return the share as of now."""
        refused = self._refused.pop(sensor, 0)
        known = self._faded.get(sensor)
        if known is None:
            known = self._faded[sensor] = _Faded(0.0, float(taken), taken)
        came = taken - known.taken + refused
        self.changed += came > 0
        left = float(np.exp(-came / MEMORY))
        known.refused = known.refused * left + refused * _mean_left(came)
        known.all = known.all * left + came * _mean_left(came)
        known.taken = taken
        if known.refused < 1e-3:
            del self._faded[sensor]
            return 0.0
        return known.refused / known.all if known.all >= _FEW else 0.0


def _mean_left(came: int) -> float:
    """Return the mean weight that the last ``came`` messages have after decay."""
    return (1.0 - float(np.exp(-came / MEMORY))) * MEMORY / came if came else 1.0
