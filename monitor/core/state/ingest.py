"""What a batch of observations comes to: taken by the column where it may be, else one by one.

Rules of this file: by the column or one by one, the outcome is the same; references are taken after
all readings of their batch, so that what they pair with is made once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

import numpy as np

from monitor.core.model import (
    Float,
    Int,
    Observation,
    Reading,
)
from monitor.core.pairing import staging
from monitor.core.pairing.buffers import Lane
from monitor.core.pairing.engine import Pairing
from monitor.core.pairing.observations import Observed, PlainReadings, in_order


class Taken(NamedTuple):
    """The series of each plain reading, -1 if it was not accepted; places of what was not."""

    rows: Int
    duplicates: list[int]
    refused: list[tuple[int, str]]


class _Heard(NamedTuple):
    """The series and times of readings that came one by one."""

    rows: list[int]
    times: list[float]


class House(NamedTuple):
    """What the taking of readings needs of the house.

    ``admit(sensor, quantity, received)`` returns the row of a series or why it may not come in,
    ``hear(rows, times)`` is told of readings that were taken, and ``add(other)`` takes what is no
    reading and returns what becomes of it: accepted, duplicate, or why refused.
    """

    admit: Callable[[str, str, float], int | str]
    hear: Callable[[Int, Float], None]
    add: Callable[[Observation], str]


class Taking:
    """Takes one batch that arrived at ``received``, s since 1970 UTC."""

    def __init__(self, pairing: Pairing, house: House, received: float) -> None:
        self._pairing: Final = pairing
        self._house: Final = house
        self._received: Final = received
        self._heard: Final = _Heard([], [])

    def take(self, batch: Observed) -> Taken:
        """Take plain readings by the column, and then what else there is one by one."""
        plain, heard = batch.plain, self._heard
        taken = Taken(self._pairing.take_plain(plain, self._received), [], [])
        left = np.flatnonzero(taken.rows < 0)
        if left.size > staging.FEW:
            left = self._take_left(plain, left, taken)
        self._hear(taken.rows, plain.times)
        for at, observation in self._one_by_one(batch, left):
            verdict = self._take_one(observation)
            if verdict == "duplicate":
                taken.duplicates.append(at)
            elif verdict != "accepted":
                taken.refused.append((at, verdict))
            elif at < len(plain):
                taken.rows[at] = heard.rows[-1]
        self._hear(np.array(heard.rows, dtype=np.int64), np.array(heard.times))
        return taken

    def _hear(self, rows: Int, times: Float) -> None:
        """Tell of readings of the series ``rows``, -1 for those that were not taken."""
        if rows.size and rows.min() < 0:
            rows, times = rows[rows >= 0], times[rows >= 0]
        if rows.size:
            self._house.hear(rows, times)

    def _one_by_one(self, batch: Observed, left: Int) -> Iterator[tuple[int, Observation]]:
        """Yield the plain readings at places ``left`` and all others, but the newest references.

        Those are taken at once, after all readings.
        """
        plain, others = batch.plain, batch.others
        yield from ((at, plain.reading(at)) for at in left.tolist())
        for at, each in enumerate(others, len(plain)):
            if isinstance(each, Reading):
                yield at, each
        for at in self._pairing.take_newest(others, self._received):
            if not isinstance(others[at], Reading):
                yield len(plain) + at, others[at]

    def _take_left(self, plain: PlainReadings, left: Int, taken: Taken) -> Int:
        """Take the readings at places ``left`` by the column: of new series, or not in order.

        Returns the places of those that are to be taken one by one.
        """
        let_in = self._let_in(plain, left)
        refused = {name: why for name, why in let_in.items() if isinstance(why, str)}
        if refused:
            is_out = np.isin(plain.which[left], list(refused))
            reasons = [refused[name] for name in plain.which[left[is_out]].tolist()]
            taken.refused.extend(zip(left[is_out].tolist(), reasons, strict=True))
            left = left[~is_out]
        left, repeats = in_order(plain, left)
        taken.duplicates.extend(repeats.tolist())
        rows = {name: lane.series for name, lane in let_in.items() if isinstance(lane, Lane)}
        self._heard.rows.extend(map(rows.__getitem__, plain.which[repeats].tolist()))
        self._heard.times.extend(plain.times[repeats].tolist())
        taken.rows[left] = self._pairing.take_plain(plain.part(left), self._received)
        return left[taken.rows[left] < 0]

    def _let_in(self, plain: PlainReadings, places: Int) -> dict[int, Lane | str]:
        """Return by name the lanes of the readings at some places, or why they may not come in.

        Who comes first in the batch is let in first.
        """
        _, firsts = np.unique(plain.which[places], return_index=True)
        found = {}
        for at in places[np.sort(firsts)].tolist():
            found[int(plain.which[at])] = self._lane_of(plain.reading(at))
        return found

    def _take_one(self, observation: Observation) -> str:
        """Take any observation; return what becomes of it: accepted, duplicate, or why refused."""
        if not isinstance(observation, Reading):
            return self._house.add(observation)
        lane = self._lane_of(observation)
        if isinstance(lane, str):
            return lane
        self._heard.rows.append(lane.series)
        self._heard.times.append(observation.time)
        return self._pairing.take_reading(lane, observation, self._received)

    def _lane_of(self, reading: Reading) -> Lane | str:
        """Return the lane of a reading, a new one if need be, or why its series may not come in."""
        lane = self._pairing.lane_of(reading)
        if lane is not None:
            return lane
        row = self._house.admit(reading.sensor, reading.quantity, self._received)
        return row if isinstance(row, str) else self._pairing.open_lane(reading, row)
