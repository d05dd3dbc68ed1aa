"""Presence: when each series was heard, when it leaves memory, what share of messages is refused.

Rules of this file: columns with one number a series, changed in place; no clock, the caller passes
the time. A row stays with its series, so that an evicted series comes back as itself. The time a
series was last heard is kept to the day; where none is known, silence counts from the start.

The share of refused messages is an exponential average over a sensor's messages; only sensors with
a refused message cost anything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from monitor.core.model import Bool, Float, Int
from monitor.core.registry import SeriesKey

# -- liveness -------------------------------------------------------------------------------------


_SILENT: Final = np.dtype([("row", "<i8"), ("last", "<f8"), ("heard", "<f8"), ("assumed", "?")])


class HeardTimes(NamedTuple):
    """Times of the first and last reading of each series and of the last arrival, s UTC.

    ``assumed`` marks series whose last reading had its uncertainty from the settings. One entry a
    series; the columns keep changing while a snapshot is made.
    """

    first_reading: Float
    last_reading: Float
    heard: Float
    assumed: Bool


class Liveness:
    """State: first and last reading and last arrival of up to ``capacity`` series, s UTC.

    New series, and series for which an earlier first reading arrives, must be written to the
    journal.
    """

    def __init__(self, capacity: int) -> None:
        self.first_reading: Final[Float] = np.full(capacity, np.inf)
        self.last_reading: Final[Float] = np.full(capacity, np.nan)
        self.heard: Final[Float] = np.full(capacity, -np.inf)
        self.assumed: Final[Bool] = np.zeros(capacity, dtype=np.bool_)
        self._any_assumed = False
        self._new: set[int] = set()

    @property
    def arrivals(self) -> HeardTimes:
        """The columns themselves, which keep changing."""
        return HeardTimes(self.first_reading, self.last_reading, self.heard, self.assumed)

    def record(self, rows: Int, times: Float, received: float, assumed: Bool | None = None) -> None:
        """Record readings: their event times, and the time at which all of them arrived.

        ``assumed`` marks those whose uncertainty is from the settings; None if there are none.
        """
        self.heard[rows] = received
        if self._any_assumed or (assumed is not None and assumed.any()):
            self._mark_assumed(
                rows, times, np.zeros(rows.size, np.bool_) if assumed is None else assumed
            )
        np.fmax.at(self.last_reading, rows, times)
        earlier = times < self.first_reading[rows]
        if earlier.any():
            np.minimum.at(self.first_reading, rows[earlier], times[earlier])
            self._new.update(rows[earlier].tolist())

    def _mark_assumed(self, rows: Int, times: Float, assumed: Bool) -> None:
        """Record for each series whether its newest reading by event time had an assumed u."""
        self._any_assumed = True
        order = np.lexsort((times, rows))
        newest = order[np.append(rows[order][1:] != rows[order][:-1], values=True)]
        newest = newest[~(times[newest] < self.last_reading[rows[newest]])]
        self.assumed[rows[newest]] = assumed[newest]

    def silent(self, since: float) -> bytes:
        """Return the records of the series not heard since a time of arrival, as bytes.

        They must outlive the readings: a journal keeps none that arrived before such a time.
        """
        rows = np.flatnonzero((self.heard < since) & ~np.isnan(self.last_reading))
        records = np.zeros(rows.size, _SILENT)
        records["row"], records["assumed"] = rows, self.assumed[rows]
        records["last"], records["heard"] = self.last_reading[rows], self.heard[rows]
        return records.tobytes()

    def recall_silent(self, silent: bytes) -> None:
        """Load what :meth:`silent` returned, before any reading is recorded."""
        records = np.frombuffer(silent, _SILENT)
        records = records[records["row"] < self.heard.size]
        rows = records["row"]
        self.last_reading[rows], self.heard[rows] = records["last"], records["heard"]
        self.assumed[rows] = records["assumed"]
        self._any_assumed |= bool(records["assumed"].any())

    def mark_new(self, row: int) -> None:
        """Mark a series for writing."""
        self._new.add(row)

    def drain_new(self) -> list[int]:
        """Return the marked series in ascending order, and unmark them."""
        new, self._new = sorted(self._new), set()
        return new


# -- eviction -------------------------------------------------------------------------------------

_DAY_SECONDS: Final = 86_400.0
_DAYS: Final = np.dtype("<i4")


class EvictionSummary(NamedTuple):
    """The evicted rows, and the day on which each row was last heard, packed, from row 0 on."""

    gone: list[int]
    days: bytes


class Eviction:
    """State: the evicted rows, and the day since 1970 on which each row was last heard."""

    def __init__(self, capacity: int) -> None:
        self.evicted: Final[set[int]] = set()
        self._days: Int = np.full(capacity, -1, dtype=np.int64)
        self._noted = 0  # rows in a summary
        self._today = -1
        self.changed = 0
        self.evictions = 0

    def due(self, heard: Float, now: float, after_days: float) -> list[int]:
        """Return the series to evict at ``now``; ``heard`` is when each was last heard, s UTC."""
        count, days = heard.size, now / _DAY_SECONDS
        if int(days) != self._today:
            self._today = int(days)
            self.changed += 1
        known = np.isfinite(heard)
        self._days[:count][known] = (heard[known] / _DAY_SECONDS).astype(np.int64)
        unknown = self._days[:count] < 0
        self._days[:count][unknown] = self._today
        self._noted = max(self._noted, count)
        late = np.flatnonzero(days - self._days[:count] > after_days + 1.0)
        return [row for row in late.tolist() if row not in self.evicted]

    def evict(self, rows: Iterable[int]) -> None:
        """Mark ``rows`` as evicted."""
        before = len(self.evicted)
        self.evicted.update(rows)
        self.evictions += len(self.evicted) - before
        self.changed += len(self.evicted) != before

    def readmit(self, row: int) -> None:
        """Mark a series as being in memory again."""
        self.evicted.discard(row)
        self.changed += 1

    def summary(self) -> EvictionSummary:
        """Return what must outlive a restart."""
        return EvictionSummary(
            sorted(self.evicted), self._days[: self._noted].astype(_DAYS).tobytes()
        )

    def recall(self, summary: EvictionSummary) -> None:
        """Load a summary, as far as this has rows for it."""
        days = np.frombuffer(summary.days, _DAYS)[: self._days.size]
        self._days[: days.size] = days
        self._noted = days.size
        self.evicted.update(row for row in summary.gone if row < self._days.size)


# -- refusals -------------------------------------------------------------------------------------

MEMORY: Final = 200.0  # messages after which one has faded to 1/e
_FEW: Final = 20.0
_SENSORS_MAX: Final = 100_000
_SUMMED_UP_MAX: Final = 1000

RefusalSummary = dict[str, tuple[float, float]]  # refused and all messages, faded, by sensor


@dataclass
class _Faded:
    """Refused and all messages, both decayed, at a count of accepted messages."""

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

    def summary(self, rows_of: Callable[[str], list[int]]) -> RefusalSummary:
        """Return the decayed counts of the thousand sensors with the most refused messages."""
        known = {sensor: of.refused for sensor, of in self._faded.items()}
        for sensor, refused in self._refused.items():
            known[sensor] = known.get(sensor, 0.0) + refused
        most = sorted(known, key=lambda sensor: (-known[sensor], sensor))[:_SUMMED_UP_MAX]
        now = {sensor: self._faded_now(sensor, rows_of(sensor)) for sensor in most}
        return {sensor: (of.refused, of.all) for sensor, of in now.items()}

    def recall(self, summary: RefusalSummary) -> None:
        """Load a summary, which includes all messages until now."""
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
        """Restore exactly what :meth:`dump` returned; other rows have no messages."""
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
        for sensor, own in rows.items():
            shares[own] = self._fade(sensor, own)
        return shares

    def _fade(self, sensor: str, rows: list[int]) -> float:
        """Add the messages since the last call; return the present share."""
        known = self._faded_now(sensor, rows)
        self.changed += known != self._faded.get(sensor)
        self._refused.pop(sensor, None)
        if known.refused < 1e-3:
            self._faded.pop(sensor, None)
            return 0.0
        self._faded[sensor] = known
        return known.refused / known.all if known.all >= _FEW else 0.0

    def _faded_now(self, sensor: str, rows: list[int]) -> _Faded:
        """Return the counts of a sensor with these rows, with the messages since the last fading.

        Before the first refused message all were accepted; of those as many count as do not fade.
        """
        taken = int(self._taken[rows].sum())
        known = self._faded.get(sensor) or _Faded(0.0, min(taken, MEMORY), taken)
        refused = self._refused.get(sensor, 0)
        came = taken - known.taken + refused
        left, mean = float(np.exp(-came / MEMORY)), _mean_left(came)
        return _Faded(known.refused * left + refused * mean, known.all * left + came * mean, taken)


def _mean_left(came: int) -> float:
    """Return the mean weight that the last ``came`` messages have after decay."""
    return (1.0 - float(np.exp(-came / MEMORY))) * MEMORY / came if came else 1.0
