"""Staging: plain readings that wait, as columns over all buffers, to be appended to their buffers.

Rules of this file: a staged reading is newer than all others of its buffer and affects no pair, and
those of one buffer are in event order. Code that reads a buffer flushes it first. Appending many
readings to a buffer at once costs a fraction of appending them one by one.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np

from monitor.core.model import Bool, Float, Int, by_number
from monitor.core.pairing.buffers import NearestReading, ReadingBuffer
from monitor.core.pairing.identities import UNKNOWN, Interner
from monitor.core.pairing.observations import Name, PlainReadings, Watermarks

STAGED_MAX: Final = 65_536
BUFFERS_MAX: Final = 8192  # a flush takes some microseconds a buffer and blocks everything else
SCALAR_MAX: Final = 128  # up to this many readings a loop costs less than columns


class _StagedBlock(NamedTuple):
    """Readings in event order within each buffer; ``buffers`` are numbers of watermarks."""

    buffers: Int
    times: Float
    values: Float
    us: Float
    received: Float


_NOTHING: Final = _StagedBlock(np.zeros(0, dtype=np.int64), *np.zeros((4, 0)))


class Staging:
    """State: the readings that wait, and the buffers that may have some."""

    def __init__(self, watermarks: Watermarks) -> None:
        self._watermarks: Final = watermarks
        self._buffers: Final[dict[int, ReadingBuffer]] = {}
        self._numbers: Final[dict[Name, int]] = {}
        self._blocks: list[_StagedBlock] = []
        self._latest = _NOTHING  # the last block, ordered by buffer
        self._staged_readings = 0
        self._staged_buffers = 0
        self._interner: Final[Interner[Name]] = Interner(
            lambda name: self._numbers.get(name, UNKNOWN)
        )

    def open(self, readings: ReadingBuffer) -> None:
        """Accept plain readings of a buffer from now on."""
        self._numbers[readings.name] = readings.watermark
        self._buffers[readings.watermark] = readings

    def close(self, readings: ReadingBuffer) -> None:
        """Accept no more readings of a buffer; it must have no staged ones."""
        del self._numbers[readings.name], self._buffers[readings.watermark]
        self._interner.clear()

    def ingest(self, plain: PlainReadings, received: float, *, may_pair: bool = True) -> Int:
        """Stage the readings that are newer than all others of their buffers and affect no pair.

        Without ``may_pair`` no reading affects a pair. Returns the series' row of each reading, -1
        for readings that must go to their buffers.
        """
        rows = np.full(len(plain), -1)
        if not len(plain):
            return rows
        if len(plain) <= SCALAR_MAX:
            self._ingest_few(plain, received, rows, may_pair=may_pair)
            return rows
        numbers = self._interner.numbers(plain.names, plain.which)
        known = np.flatnonzero(numbers >= 0)
        order = known[by_number(numbers[known])]
        buffers, times = numbers[order], plain.times[order]
        is_good = self._are_newest(buffers, times, may_pair=may_pair)
        if not is_good.all():
            order, buffers, times = order[is_good], buffers[is_good], times[is_good]
        if buffers.size:
            self._stage(buffers, times, plain.values[order], plain.us[order], received)
            rows[order] = self._watermarks.series[buffers]
        return rows

    def nearest(self, buffers: Int, times: Float) -> list[NearestReading | None]:
        """Return the reading nearest to each of some times in a buffer; the earlier on a tie.

        None where it may not be among the latest readings.
        """
        block = self._latest
        if not block.buffers.size:
            return [None] * buffers.size
        first, stop = (np.searchsorted(block.buffers, buffers, side) for side in ("left", "right"))
        after, last = bisected(block.times, times, first, stop), block.buffers.size - 1
        at, before = np.minimum(after, last), np.maximum(after - 1, 0)
        later = np.where(after < stop, block.times[at], np.inf)
        at = np.where((after > first) & (times - block.times[before] <= later - times), before, at)
        is_known = (after > first) | (later == times)
        columns = (column[at].tolist() for column in (block.times, block.values, block.us))
        rows = zip(*columns, strict=True)
        return [
            near if known else None for near, known in zip(rows, is_known.tolist(), strict=True)
        ]

    def flush(self, wanted: Int | None = None) -> None:
        """Append the waiting readings to their buffers: those ``wanted``, or all if None."""
        if not self._staged_readings or (
            wanted is not None and not self._watermarks.staged[wanted].any()
        ):
            return
        whole = _StagedBlock(*map(np.concatenate, zip(*self._blocks, strict=True)))
        if wanted is None:
            self._blocks, self._latest = [], _NOTHING
        else:
            is_wanted = np.zeros(self._watermarks.size, dtype=np.bool_)
            is_wanted[wanted] = True
            is_in = is_wanted[whole.buffers]
            self._blocks, whole = [_part(whole, ~is_in)], _part(whole, is_in)
            self._latest = _part(self._latest, ~is_wanted[self._latest.buffers])
        self._staged_readings -= whole.buffers.size
        self._append_block(whole)

    # -- inside -----------------------------------------------------------------------------

    def _ingest_few(
        self, plain: PlainReadings, received: float, rows: Int, *, may_pair: bool
    ) -> None:
        """Append a few readings straight to their buffers: columns would cost more."""
        self.flush()
        columns = (plain.which.tolist(), plain.times.tolist(), plain.values.tolist())
        for at, (index, time, value, u) in enumerate(zip(*columns, plain.us.tolist(), strict=True)):
            number = self._numbers.get(plain.names[index])
            if number is not None:
                readings = self._buffers[number]
                before = readings.times[-1] if readings.times else -math.inf
                if time > before and not (may_pair and before < readings.until):
                    readings.append(time, value, u, received)
                    rows[at] = readings.series

    def _are_newest(self, buffers: Int, times: Float, *, may_pair: bool) -> Bool:
        """Return which readings, ordered by buffer, may be staged: all of a buffer or none."""
        watermarks = self._watermarks
        before = np.empty_like(times)
        before[1:] = times[:-1]
        is_first = _firsts(buffers)
        before[is_first] = watermarks.newest[buffers[is_first]]
        is_good: Bool = times > before
        if may_pair:
            is_good &= ~(before < watermarks.until[buffers])
        if not is_good.all():
            is_spoilt = np.zeros(watermarks.size, dtype=np.bool_)
            is_spoilt[buffers[~is_good]] = True
            is_good = ~is_spoilt[buffers]
        return is_good

    def _stage(self, buffers: Int, times: Float, values: Float, us: Float, received: float) -> None:
        first = np.flatnonzero(_firsts(buffers))
        stop = np.append(first[1:], buffers.size)
        own = buffers[first]
        self._staged_buffers += int(np.count_nonzero(self._watermarks.staged[own] == 0))
        self._watermarks.newest[own] = times[stop - 1]
        self._watermarks.staged[own] += stop - first
        self._latest = _StagedBlock(buffers, times, values, us, np.full(buffers.size, received))
        self._blocks.append(self._latest)
        self._staged_readings += buffers.size
        if self._staged_readings > STAGED_MAX or self._staged_buffers > BUFFERS_MAX:
            self.flush()

    def _append_block(self, block: _StagedBlock) -> None:
        order = by_number(block.buffers)
        buffers = block.buffers[order]
        first = np.flatnonzero(_firsts(buffers))
        own = buffers[first]
        self._staged_buffers -= own.size
        self._watermarks.staged[own] = 0
        times, values, us, received = (column[order].tobytes() for column in block[1:])
        ends = (8 * np.append(first, buffers.size)).tolist()
        for number, start, stop in zip(own.tolist(), ends, ends[1:], strict=False):
            part = slice(start, stop)
            self._buffers[number].extend(times[part], values[part], us[part], received[part])


def _part(block: _StagedBlock, mask: Bool) -> _StagedBlock:
    buffers, times, values, us, received = block
    return _StagedBlock(buffers[mask], times[mask], values[mask], us[mask], received[mask])


def bisected(times: Float, wanted: Float, low: Int, high: Int) -> Int:
    """Return where each wanted time belongs between two places: before times equal to it."""
    while (is_open := low < high).any():
        middle = (low + high) // 2
        is_later = is_open & (times[np.minimum(middle, times.size - 1)] < wanted)
        low, high = np.where(is_later, middle + 1, low), np.where(is_later, high, middle)
    return low


def _firsts(buffers: Int) -> Bool:
    """Return which entries of sorted ``buffers`` are the first of their number."""
    is_first = np.ones(buffers.size, dtype=np.bool_)
    is_first[1:] = buffers[1:] != buffers[:-1]
    return is_first
