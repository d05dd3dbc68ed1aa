"""Readings that nobody has looked at since they came: columns over all lanes.

Rules of this file: what is here is newer than all else in its lane, in the order of its times, and
touches no reference; whoever looks into a lane has it brought there first. To bring many readings
to a lane at once costs a fraction of going there with each.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np

from monitor.core.model import (
    Bool,
    Float,
    Int,
    by_number,
)
from monitor.core.pairing.buffers import Fronts, Lane, Near
from monitor.core.pairing.interning import UNKNOWN, Lookup
from monitor.core.pairing.observations import Name, PlainReadings

HELD_MAX: Final = 65_536
LANES_MAX: Final = 8192  # to go to each takes some microseconds, in which nothing else is done
FEW: Final = 128  # so few readings cost less one by one


class _Block(NamedTuple):
    """Readings in the order of their times in each lane; ``lanes`` are numbers of fronts."""

    lanes: Int
    times: Float
    values: Float
    us: Float
    received: Float


_NOTHING: Final = _Block(np.zeros(0, dtype=np.int64), *np.zeros((4, 0)))


class Fresh:
    """State: the readings, and which names' readings may come here."""

    def __init__(self, fronts: Fronts) -> None:
        self._fronts: Final = fronts
        self._lanes: Final[dict[int, Lane]] = {}
        self._numbers: Final[dict[Name, int]] = {}
        self._blocks: list[_Block] = []
        self._latest = _NOTHING  # the last one, in the order of its lanes
        self._held = 0
        self._waiting = 0  # lanes that these are of
        self._lookup: Final[Lookup[Name]] = Lookup(lambda name: self._numbers.get(name, UNKNOWN))

    def open(self, lane: Lane) -> None:
        """Let the plain readings of a lane come here."""
        self._numbers[lane.name] = lane.front
        self._lanes[lane.front] = lane

    def close(self, lane: Lane) -> None:
        """Forget a lane in which nothing is left."""
        del self._numbers[lane.name], self._lanes[lane.front]
        self._lookup.forget()

    def take(self, plain: PlainReadings, received: float) -> Int:
        """Take the readings that are newer than all in their lanes and touch no reference.

        Returns the row of the series of each, -1 for those that are left to go to their lanes.
        """
        rows = np.full(len(plain), -1)
        if len(plain) <= FEW:
            self._take_few(plain, received, rows)
            return rows
        numbers = self._lookup.numbers(plain.names, plain.which)
        known = np.flatnonzero(numbers >= 0)
        order = known[by_number(numbers[known])]
        lanes, times = numbers[order], plain.times[order]
        is_good = self._are_newest(lanes, times)
        if not is_good.all():
            order, lanes, times = order[is_good], lanes[is_good], times[is_good]
        if lanes.size:
            self._keep(lanes, times, plain.values[order], plain.us[order], received)
            rows[order] = self._fronts.series[lanes]
        return rows

    def nearest(self, lanes: Int, times: Float) -> list[Near | None]:
        """Return the readings nearest to some times, each in a lane; the earlier ones on a tie.

        None where it may not be among those that came last.
        """
        block = self._latest
        if not block.lanes.size:
            return [None] * lanes.size
        first, stop = (np.searchsorted(block.lanes, lanes, side) for side in ("left", "right"))
        after, last = _bisected(block.times, times, first, stop), block.lanes.size - 1
        at, before = np.minimum(after, last), np.maximum(after - 1, 0)
        later = np.where(after < stop, block.times[at], np.inf)
        at = np.where((after > first) & (times - block.times[before] <= later - times), before, at)
        is_known = (after > first) | (later == times)
        columns = (column[at].tolist() for column in (block.times, block.values, block.us))
        found = zip(*columns, strict=True)
        return [
            near if known else None for near, known in zip(found, is_known.tolist(), strict=True)
        ]

    def bring(self, wanted: Int | None = None) -> None:
        """Bring the readings of the lanes ``wanted``, None for all, to where they can be seen."""
        if not self._held or (wanted is not None and not self._fronts.fresh[wanted].any()):
            return
        whole = _Block(*map(np.concatenate, zip(*self._blocks, strict=True)))
        if wanted is None:
            self._blocks, self._latest = [], _NOTHING
        else:
            is_wanted = np.zeros(self._fronts.size, dtype=np.bool_)
            is_wanted[wanted] = True
            is_in = is_wanted[whole.lanes]
            self._blocks, whole = [_part(whole, ~is_in)], _part(whole, is_in)
            self._latest = _part(self._latest, ~is_wanted[self._latest.lanes])
        self._held -= whole.lanes.size
        self._hand_over(whole)

    # -- inside -----------------------------------------------------------------------------

    def _take_few(self, plain: PlainReadings, received: float, rows: Int) -> None:
        """Take them to their lanes at once: columns would cost more."""
        self.bring()
        columns = (plain.which.tolist(), plain.times.tolist(), plain.values.tolist())
        for at, (which, time, value, u) in enumerate(zip(*columns, plain.us.tolist(), strict=True)):
            number = self._numbers.get(plain.names[which])
            if number is not None:
                lane = self._lanes[number]
                before = lane.times[-1] if lane.times else -math.inf
                if time > before and not before < lane.until:
                    lane.append(time, value, u, received)
                    rows[at] = lane.series

    def _are_newest(self, lanes: Int, times: Float) -> Bool:
        """Return which readings, by lane, may stay here: all of a lane or none."""
        fronts = self._fronts
        before = np.empty_like(times)
        before[1:] = times[:-1]
        is_first = _firsts(lanes)
        before[is_first] = fronts.newest[lanes[is_first]]
        is_good: Bool = (times > before) & ~(before < fronts.until[lanes])
        if not is_good.all():
            is_spoilt = np.zeros(fronts.size, dtype=np.bool_)
            is_spoilt[lanes[~is_good]] = True
            is_good = ~is_spoilt[lanes]
        return is_good

    def _keep(self, lanes: Int, times: Float, values: Float, us: Float, received: float) -> None:
        first = np.flatnonzero(_firsts(lanes))
        stop = np.append(first[1:], lanes.size)
        own = lanes[first]
        self._waiting += int(np.count_nonzero(self._fronts.fresh[own] == 0))
        self._fronts.newest[own] = times[stop - 1]
        self._fronts.fresh[own] += stop - first
        self._latest = _Block(lanes, times, values, us, np.full(lanes.size, received))
        self._blocks.append(self._latest)
        self._held += lanes.size
        if self._held > HELD_MAX or self._waiting > LANES_MAX:
            self.bring()

    def _hand_over(self, block: _Block) -> None:
        order = by_number(block.lanes)
        lanes = block.lanes[order]
        first = np.flatnonzero(_firsts(lanes))
        own = lanes[first]
        self._waiting -= own.size
        self._fronts.fresh[own] = 0
        times, values, us, received = (column[order].tobytes() for column in block[1:])
        ends = (8 * np.append(first, lanes.size)).tolist()
        for number, start, stop in zip(own.tolist(), ends, ends[1:], strict=False):
            part = slice(start, stop)
            self._lanes[number].extend(times[part], values[part], us[part], received[part])


def _part(block: _Block, which: Bool) -> _Block:
    lanes, times, values, us, received = block
    return _Block(lanes[which], times[which], values[which], us[which], received[which])


def _bisected(times: Float, wanted: Float, low: Int, high: Int) -> Int:
    """Return where each wanted time belongs between two places: before what equals it."""
    while (is_open := low < high).any():
        middle = (low + high) // 2
        is_later = is_open & (times[np.minimum(middle, times.size - 1)] < wanted)
        low, high = np.where(is_later, middle + 1, low), np.where(is_later, high, middle)
    return low


def _firsts(lanes: Int) -> Bool:
    """Return which of sorted ``lanes`` is the first of its kind."""
    is_first = np.ones(lanes.size, dtype=np.bool_)
    is_first[1:] = lanes[1:] != lanes[:-1]
    return is_first
