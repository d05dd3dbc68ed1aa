"""Observations of a batch: plain readings as columns, all else one by one; watermarks of buffers.

Rules of this file: a plain reading states a time, a value and u, and nothing else. Most readings
are plain, and as columns they cost a fraction of an object each; a caller that asks for one gets a
``Reading``. Watermarks are compared with new readings: one number a buffer in each column, so that
a few numpy calls compare a whole batch.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Final, overload

import msgspec
import numpy as np

from monitor.core.model import Float, Int, Observation, Reading, Sample

# -- observations ---------------------------------------------------------------------------------

Name = tuple[str, str]  # sensor, quantity


def is_plain(reading: Reading) -> bool:
    """Return whether a reading states only a value and u."""
    return (
        type(reading) is Reading
        and not (reading.key or reading.sequence or reading.assumed)
        and reading.u == reading.u
        and all(map(math.isnan, (reading.lower, reading.upper, reading.p)))
    )


def columns_of(readings: Sequence[Reading]) -> tuple[Float, Float, Float]:
    """Return the times, values and u of plain readings."""
    times = np.array([each.time for each in readings], dtype=np.float64)
    values = np.array([each.value for each in readings], dtype=np.float64)
    return times, values, np.array([each.u for each in readings], dtype=np.float64)


class PlainReadings:
    """Readings that state only a value and u: columns of equal length.

    ``which`` is the place of each reading's series in ``names``, which only grows. ``times`` are s
    since 1970 UTC, ``values`` and ``us`` in the unit of their series.
    """

    __slots__ = ("names", "times", "us", "values", "which")

    def __init__(
        self, names: Sequence[Name], rows: Int, times: Float, values: Float, us: Float
    ) -> None:
        self.names: Final = names
        self.which: Final = rows
        self.times: Final = times
        self.values: Final = values
        self.us: Final = us

    def __len__(self) -> int:
        return self.which.size

    def reading(self, at: int) -> Reading:
        """Return the reading at a place."""
        numbers = (float(column[at]) for column in (self.times, self.values, self.us))
        return Reading(*self.names[self.which[at]], *numbers)

    def part(self, places: Sequence[int] | Int) -> PlainReadings:
        """Return the readings at some places."""
        at = np.asarray(places, dtype=np.int64)
        return PlainReadings(
            self.names, self.which[at], self.times[at], self.values[at], self.us[at]
        )


NOTHING: Final = PlainReadings(
    (), np.zeros(0, dtype=np.int64), np.zeros(0), np.zeros(0), np.zeros(0)
)


def in_order(plain: PlainReadings, places: Int) -> tuple[Int, Int]:
    """Return some places by name and time without repeated readings, and the places of repeats.

    A repeat has the same bits as another reading; the first of equal readings stays.
    """
    places = places[np.lexsort((plain.times[places], plain.which[places]))]
    columns = (plain.which, plain.times, plain.values, plain.us)
    is_repeat = np.zeros(places.size, dtype=np.bool_)
    is_repeat[1:] = True
    for column in columns:
        bits = column[places].view(np.int64)
        is_repeat[1:] &= bits[1:] == bits[:-1]
    return places[~is_repeat], places[is_repeat]


class Observed(Sequence[Observation]):
    """The observations of a batch: ``plain`` first, then ``others``; a place counts over both."""

    __slots__ = ("others", "plain")

    def __init__(self, plain: PlainReadings, others: Sequence[Observation]) -> None:
        self.plain: Final = plain
        self.others: Final = others

    def __len__(self) -> int:
        return len(self.plain) + len(self.others)

    @overload
    def __getitem__(self, place: int) -> Observation: ...

    @overload
    def __getitem__(self, place: slice) -> list[Observation]: ...

    def __getitem__(self, place: int | slice) -> Observation | list[Observation]:
        if isinstance(place, slice):
            return [self[at] for at in range(*place.indices(len(self)))]
        at = range(len(self))[place]
        first = len(self.plain)
        return self.plain.reading(at) if at < first else self.others[at - first]

    def __iter__(self) -> Iterator[Observation]:
        yield from map(self.plain.reading, range(len(self.plain)))
        yield from self.others

    def part(self, places: Sequence[int]) -> Observed:
        """Return the observations at some places, given in ascending order."""
        first = len(self.plain)
        columns = [at for at in places if at < first]
        others = [self.others[at - first] for at in places[len(columns) :]]
        return Observed(self.plain.part(columns), others)


def observed(observations: Sequence[Observation]) -> Observed:
    """Return observations as a batch, unchanged if they are one already."""
    return observations if isinstance(observations, Observed) else Observed(NOTHING, observations)


class PackedReadings(msgspec.Struct, frozen=True, array_like=True, gc=False, tag=5):
    """Plain readings as they are stored: the rows of their series, times, values and u, as bytes.

    If series and u often repeat those of the reading before, ``rows`` and ``us`` have one number a
    run of such readings, and ``runs`` has the lengths.
    """

    rows: bytes
    times: bytes
    values: bytes
    us: bytes
    runs: bytes = b""

    def __len__(self) -> int:
        return len(self.times) // 8

    def columns(self) -> tuple[Int, Float, Float, Float]:
        """Return rows, times, values and u, a number a reading."""
        rows = np.frombuffer(self.rows, np.int64)
        times, values, us = map(np.frombuffer, (self.times, self.values, self.us))
        if self.runs:
            lengths = np.frombuffer(self.runs, np.int64)
            rows, us = np.repeat(rows, lengths), np.repeat(us, lengths)
        return rows, times, values, us


Durable = Observation | PackedReadings | Sample


def pack(rows: Int, plain: PlainReadings) -> PackedReadings | None:
    """Return plain readings of the series ``rows``, except those whose row is below 0."""
    if rows.size and rows.min() < 0:
        known = np.flatnonzero(rows >= 0)
        rows, plain = rows[known], plain.part(known)
    if not rows.size:
        return None
    us, lengths = plain.us, np.zeros(0, dtype=np.int64)
    firsts = np.flatnonzero((rows[1:] != rows[:-1]) | (us[1:] != us[:-1])) + 1
    if firsts.size < rows.size // 2:
        firsts = np.concatenate(([0], firsts))
        lengths = np.diff(firsts, append=rows.size)
        rows, us = rows[firsts], us[firsts]
    columns = (rows, plain.times, plain.values, us, lengths)
    return PackedReadings(*(each.tobytes() for each in columns))


def unpack(packed: Sequence[Durable], names: Sequence[Name]) -> Observed:
    """Return the stored observations of a batch except its samples; ``names`` names each row."""
    plain, others = NOTHING, []
    for each in packed:
        if isinstance(each, PackedReadings):
            plain = PlainReadings(names, *each.columns())
        elif not isinstance(each, Sample):
            others.append(each)
    return Observed(plain, others)


# -- watermarks -----------------------------------------------------------------------------------


class Watermarks:
    """State: ``series``, ``newest``, ``until`` and ``staged`` of each reading buffer.

    ``newest`` is the time of the buffer's newest reading. A reading newer than that changes no pair
    if the reading before it is not before ``until``: then every reference is older.
    ``staged`` counts the buffer's readings that still wait in staging.
    """

    def __init__(self) -> None:
        self.size = 0
        self._free: list[int] = []
        self.series: Int = np.zeros(0, dtype=np.int64)
        self.newest: Float = np.zeros(0)
        self.until: Float = np.zeros(0)
        self.staged: Int = np.zeros(0, dtype=np.int64)

    def open(self, series: int) -> int:
        """Return the number of a new buffer of a series."""
        if not self._free:
            more = max(64, self.size // 2)
            self._free = list(range(self.size + more - 1, self.size - 1, -1))
            self.size += more
            for name in ("series", "newest", "until", "staged"):
                column = getattr(self, name)
                setattr(self, name, np.concatenate((column, np.zeros(more, column.dtype))))
        number = self._free.pop()
        self.series[number], self.staged[number] = series, 0
        self.newest[number] = self.until[number] = -math.inf
        return number

    def close(self, number: int) -> None:
        """Release the number of a buffer."""
        self._free.append(number)
