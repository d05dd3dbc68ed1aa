"""What share of a sensor's messages could not be used.

Rules of this file: counted over a sensor's last messages, older ones fading; only sensors that
ever had one refused cost anything.
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

Summary = dict[str, tuple[float, float]]  # refused and all messages, faded, by sensor


@dataclass
class _Faded:
    """Refused and all messages, faded, up to a count of messages taken."""

    refused: float
    all: float
    taken: int


class Refusals:
    """State: how many readings each of up to ``capacity`` series had, and what was refused."""

    def __init__(self, capacity: int) -> None:
        self._taken: Int = np.zeros(capacity, dtype=np.int64)
        self._refused: dict[str, int] = {}
        self._faded: dict[str, _Faded] = {}
        self.changed = 0

    def summary(self) -> Summary:
        """Return what is known of the thousand sensors of which most was refused."""
        known = {sensor: (of.refused, of.all) for sensor, of in self._faded.items()}
        for sensor, refused in self._refused.items():
            before = known.get(sensor, (0.0, 0.0))
            known[sensor] = (before[0] + refused, before[1] + refused)
        most = sorted(known, key=lambda sensor: (-known[sensor][0], sensor))[:_SUMMED_UP_MAX]
        return {sensor: known[sensor] for sensor in most}

    def recall(self, summary: Summary) -> None:
        """Go on from a summary; what came until now is in it."""
        self._taken[:] = 0
        self._refused.clear()
        self._faded = {sensor: _Faded(*of, 0) for sensor, of in summary.items()}

    def dump(
        self, series: int
    ) -> tuple[list[int], dict[str, int], dict[str, tuple[float, float, int]]]:
        """Return all there is of the first ``series`` rows, for :meth:`load`."""
        faded = {sensor: (of.refused, of.all, of.taken) for sensor, of in self._faded.items()}
        return self._taken[:series].tolist(), dict(self._refused), faded

    def load(
        self,
        taken: Sequence[int],
        refused: Mapping[str, int],
        faded: Mapping[str, tuple[float, float, int]],
    ) -> None:
        """Know what was dumped, and nothing else; of rows that were not dumped nothing came."""
        self._taken[:] = 0
        self._taken[: len(taken)] = taken
        self._refused = dict(refused)
        self._faded = {sensor: _Faded(*of) for sensor, of in faded.items()}

    def took(self, rows: Int) -> None:
        """Note the series of readings that could be used, one entry each."""
        np.add.at(self._taken, rows, 1)

    def refuse(self, sensor: str) -> None:
        """Note that a message of a sensor could not be used."""
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
        """Let what came since the last time join; return the share now."""
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
    """Return how much of itself each of the last ``came`` messages has left, on average."""
    return (1.0 - float(np.exp(-came / MEMORY))) * MEMORY / came if came else 1.0
