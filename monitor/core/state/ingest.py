"""Ingest of one batch: readings by the column where possible, everything else one by one.

Rules of this file: by the column or one by one, the outcome is the same. References are ingested
after all readings of their batch, so that their pairs are made once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Final, NamedTuple

import numpy as np

from monitor.core.model import Bool, Float, Int, Observation, Reading
from monitor.core.pairing import staging
from monitor.core.pairing.buffers import ReadingBuffer
from monitor.core.pairing.engine import Pairing
from monitor.core.pairing.observations import Observed, PlainReadings, in_order
from monitor.core.registry import WAITS


class IngestResult(NamedTuple):
    """The series of each plain reading, -1 for none, and the places of what was not accepted.

    ``refused`` has those that wait, too.
    """

    rows: Int
    duplicates: list[int]
    refused: list[tuple[int, str]]


class _Recorded(NamedTuple):
    """The series and times of readings ingested one by one, and whether their u is assumed."""

    rows: list[int]
    times: list[float]
    assumed: list[bool]


class Callbacks(NamedTuple):
    """What ingest asks of the network.

    ``admit(sensor, quantity, received)`` returns the row of a series or why its readings have none,
    ``record(rows, times, assumed)`` is called with the accepted readings, and ``add(other)``
    ingests what is no reading and returns ``accepted``, ``duplicate`` or the reason of a refusal.
    """

    admit: Callable[[str, str, float], int | str]
    record: Callable[[Int, Float, Bool | None], None]
    add: Callable[[Observation], str]


class Ingest:
    """Ingests one batch that arrived at ``received``, s since 1970 UTC."""

    def __init__(self, pairing: Pairing, callbacks: Callbacks, received: float) -> None:
        self._pairing: Final = pairing
        self._callbacks: Final = callbacks
        self._received: Final = received
        self._recorded: Final = _Recorded([], [], [])

    def ingest(self, batch: Observed) -> IngestResult:
        """Ingest plain readings by the column, then everything else one by one."""
        plain, recorded = batch.plain, self._recorded
        result = IngestResult(self._pairing.ingest_plain(plain, self._received), [], [])
        left = np.flatnonzero(result.rows < 0)
        if left.size > staging.SCALAR_MAX:
            left = self._ingest_left(plain, left, result)
        self._record(result.rows, plain.times)
        readings: Iterable[tuple[int, Observation]] = ()
        if self._pairing.is_recalling:
            self._hold_again(batch, left, result)
        else:
            readings = _readings(batch, left)
        for at, observation in chain(readings, self._references(batch)):
            verdict = self._ingest_one(observation)
            if verdict == "duplicate":
                result.duplicates.append(at)
            elif verdict != "accepted":
                result.refused.append((at, verdict))
            elif at < len(plain):
                result.rows[at] = recorded.rows[-1]
        self._record(
            np.array(recorded.rows, dtype=np.int64),
            np.array(recorded.times),
            np.array(recorded.assumed, dtype=np.bool_),
        )
        return result

    def _record(self, rows: Int, times: Float, assumed: Bool | None = None) -> None:
        """Report the accepted readings; ``rows`` holds -1 for the others."""
        if rows.size and rows.min() < 0:
            rows, times = rows[rows >= 0], times[rows >= 0]
        if rows.size:
            self._callbacks.record(rows, times, assumed)

    def _references(self, batch: Observed) -> Iterator[tuple[int, Observation]]:
        """Yield what is no reading; references on the in-order path are ingested instead."""
        others = batch.others
        for at in self._pairing.ingest_in_order(others, self._received):
            if not isinstance(others[at], Reading):
                yield len(batch.plain) + at, others[at]

    def _hold_again(self, batch: Observed, left: Int, result: IngestResult) -> None:
        """Hold readings again that a journal gives back, and that are not taken by the column."""
        readings = [batch.plain.reading(at) for at in left.tolist()]
        readings += [each for each in batch.others if isinstance(each, Reading)]
        rows = self._pairing.hold_again(readings, self._buffer_of, self._received)
        if rows.size and rows.min() < 0:
            places = [at for at, _ in _readings(batch, left)]
            result.refused.extend((places[at], WAITS) for at in np.flatnonzero(rows < 0).tolist())
        assumed = np.array([each.assumed for each in readings], dtype=np.bool_)[rows >= 0]
        self._record(rows, np.array([each.time for each in readings]), assumed)

    def _ingest_left(self, plain: PlainReadings, left: Int, result: IngestResult) -> Int:
        """Ingest the readings at places ``left`` by the column: of new series, or out of order.

        Returns the places of those that must be ingested one by one.
        """
        admitted = self._admit(plain, left)
        refused = {name: why for name, why in admitted.items() if isinstance(why, str)}
        if refused:
            is_out = np.isin(plain.which[left], list(refused))
            reasons = [refused[name] for name in plain.which[left[is_out]].tolist()]
            result.refused.extend(zip(left[is_out].tolist(), reasons, strict=True))
            left = left[~is_out]
        left, repeats = in_order(plain, left)
        result.duplicates.extend(repeats.tolist())
        rows = {
            name: readings.series
            for name, readings in admitted.items()
            if isinstance(readings, ReadingBuffer)
        }
        self._recorded.rows.extend(map(rows.__getitem__, plain.which[repeats].tolist()))
        self._recorded.times.extend(plain.times[repeats].tolist())
        self._recorded.assumed.extend([False] * repeats.size)
        result.rows[left] = self._pairing.ingest_plain(plain.part(left), self._received)
        return left[result.rows[left] < 0]

    def _admit(self, plain: PlainReadings, places: Int) -> dict[int, ReadingBuffer | str]:
        """Return by name the buffers of the readings at some places, or why they are refused.

        Series are admitted in the order in which they appear in the batch.
        """
        _, firsts = np.unique(plain.which[places], return_index=True)
        buffers = {}
        for at in places[np.sort(firsts)].tolist():
            buffers[int(plain.which[at])] = self._buffer_of(plain.reading(at))
        return buffers

    def _ingest_one(self, observation: Observation) -> str:
        """Ingest any observation; return ``accepted``, ``duplicate`` or why it is refused."""
        if not isinstance(observation, Reading):
            return self._callbacks.add(observation)
        readings = self._buffer_of(observation)
        if isinstance(readings, str):
            return readings
        self._recorded.rows.append(readings.series)
        self._recorded.times.append(observation.time)
        self._recorded.assumed.append(observation.assumed)
        return self._pairing.ingest_reading(readings, observation, self._received)

    def _buffer_of(self, reading: Reading) -> ReadingBuffer | str:
        """Return the buffer of a reading, a new one if need be, or why its series is refused."""
        readings = self._pairing.buffer_of(reading)
        if readings is not None:
            return readings
        row = self._callbacks.admit(reading.sensor, reading.quantity, self._received)
        return row if isinstance(row, str) else self._pairing.open_buffer(reading, row)


def _readings(batch: Observed, left: Int) -> Iterator[tuple[int, Reading]]:
    """Yield the plain readings at places ``left``, then the other readings."""
    plain = batch.plain
    yield from ((at, plain.reading(at)) for at in left.tolist())
    for at, each in enumerate(batch.others, len(plain)):
        if isinstance(each, Reading):
            yield at, each
