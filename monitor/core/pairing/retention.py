"""Retention: what is evicted after waiting too long, and how a journal's pairs are restored.

Rules of this file: a pair outlives what it was made from. A reference whose readings are gone
cannot be paired again; its pairs are frozen and change only with its own revisions. Whether they
are frozen follows from the pairs and from what is held, so a journal need not store it. The pairs
of a journal are restored to the references that made them, never made anew.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from math import inf
from typing import NamedTuple

import numpy as np

from monitor.core.model import Bool, Float, Int, Records, in_portions, some_rows
from monitor.core.pairing.buffers import ReadingBuffer, ReferenceBuffer
from monitor.core.pairing.join_index import JoinIndex
from monitor.core.pairing.matches import Match
from monitor.core.pairing.pairing_rule import MARGIN_SECONDS
from monitor.core.pairing.pairing_rules import PAIRING_RULES
from monitor.core.pairing.reconcile import Reconciler
from monitor.core.pairing.reference_revisions import ReferenceStore, is_revisable
from monitor.core.pairing.staging import bisected

IsSame = Callable[[ReadingBuffer, ReferenceBuffer, int], bool]
_Placed = tuple[ReferenceBuffer, int, Match]  # what the reference at a place made

# -- eviction -------------------------------------------------------------------------------------


def expire_readings(
    readings: ReadingBuffer,
    received_before: float,
    same: IsSame,
) -> tuple[int, int]:
    """Evict readings that arrived before a time; return how many, and how many were unpaired.

    References that arrived before it leave with them; ``same`` returns whether the readings held
    still make the pairs of a reference.
    """
    gone = _arrived_before(readings, received_before)
    if not gone:
        return 0, 0
    if isinstance(gone, range):
        times = readings.times[: gone.stop].tolist()
    else:
        times = [readings.times[at] for at in gone]
    marks, touched = _used(readings, times)
    readings.drop(gone)
    for references, at, match in touched:
        stays = references.received[at] >= received_before and not match.frozen
        if stays and is_frozen(readings, references, at, match, same):
            readings.matches.freeze(references.identities[at])
    return len(gone), marks.count(0)


def _arrived_before(readings: ReadingBuffer, time: float) -> Sequence[int]:
    """Return the places of readings that arrived before a time: a range if all came in order."""
    if readings.in_order:
        return range(bisect_left(readings.received, time))
    return [at for at, arrival in enumerate(readings.received) if arrival < time]


def is_frozen(
    readings: ReadingBuffer,
    references: ReferenceBuffer,
    at: int,
    match: Match,
    same: IsSame,
) -> bool:
    """Return whether a reading that the pairs of a reference were made from is gone."""
    if PAIRING_RULES[readings.rules.mode].is_of_several:
        return not same(readings, references, at)
    return not all(_holds(readings, row[2] - readings.lag_seconds, row[3]) for row in match.rows)


def _holds(readings: ReadingBuffer, time: float, value: float) -> bool:
    first = bisect_left(readings.times, time)
    last = bisect_right(readings.times, time, lo=first)
    return value in readings.values[first:last]


def _used(readings: ReadingBuffer, times: Sequence[float]) -> tuple[bytearray, list[_Placed]]:
    """Return 1 for each of sorted ``times`` that a pair used, else 0, and the matches near them."""
    reach, lag = 0.0, readings.lag_seconds
    if PAIRING_RULES[readings.rules.mode].is_of_several:
        reach, lag = readings.rules.tolerance_seconds, 0.0
        for join in readings.joins:
            reach = max(reach, join.references.span_seconds)
    marks, users = bytearray(len(times)), []
    for near in _matches_near(readings, times[0] - reach, times[-1] + reach):
        match = near[2]
        low = high = match.time
        if len(match) > 1:
            taken = [row[2] for row in match.rows]
            low, high = min(taken), max(taken)
        start = bisect_left(times, low - reach - lag)
        stop = bisect_right(times, high + reach - lag, lo=start)
        if start < stop:
            marks[start:stop] = b"\1" * (stop - start)
            users.append(near)
    return marks, users


def _matches_near(readings: ReadingBuffer, first: float, last: float) -> list[_Placed]:
    """Return the matches of references near a range of times: all that may use it, or more."""
    apart = max(readings.rules.tolerance_seconds, readings.apart_seconds) + MARGIN_SECONDS
    near = []
    for join in readings.joins:
        references, times = join.references, join.references.times
        start = bisect_left(times, first - apart)
        for at in range(start, bisect_right(times, last + apart, lo=start)):
            match = readings.match_of(references, at)
            if match is not None:
                near.append((references, at, match))
    return near


def expire_references(references: ReferenceBuffer, received_before: float) -> bool:
    """Remove the references that arrived before a time; return whether there were any."""
    places = np.flatnonzero(np.frombuffer(references.received) < received_before).tolist()
    drop_references(references, places)
    return bool(places)


def drop_references(references: ReferenceBuffer, places: Sequence[int]) -> None:
    """Remove references; their pairs stand and do not change any more."""
    names = [(references.times[at], references.identities[at]) for at in places]
    for readings in references.reading_buffers:
        readings.matches.drop(names)
    references.remove(places)


class ReadingCount:
    """State: how many readings are held, in total and by time of arrival."""

    def __init__(self) -> None:
        self.total = 0
        self._arrivals: Counter[float] = Counter()
        self._last_received = -inf

    def add(self, count: int, received: float) -> bool:
        """Count readings that arrived together; return whether the clock was set back."""
        self.total += count
        self._arrivals[received] += count
        is_set_back = received < self._last_received
        self._last_received = received
        return is_set_back

    def remove(self, received: float) -> None:
        """Uncount a reading that arrived at that time."""
        self.total -= 1
        self._arrivals[received] -= 1

    def expire(self, received_before: float) -> None:
        """Drop the counts of what arrived before a time."""
        for time in [time for time in self._arrivals if time < received_before]:
            del self._arrivals[time]

    def oldest(self, share: float, others: Iterable[float]) -> float:
        """Return the time before which ``share`` of these and ``others`` arrived, 0 for none."""
        arrivals = self._arrivals + Counter(others)
        place = int(share * sum(arrivals.values()))
        time = 0.0
        for time in sorted(arrivals):
            place -= arrivals[time]
            if place < 0:
                break
        return time


# -- restoring ------------------------------------------------------------------------------------


def restore_all(
    index: JoinIndex,
    reconciler: Reconciler,
    references: ReferenceStore,
    pairs: Records,
    standing: Int,
    names: Sequence[tuple[str, str]],
) -> None:
    """Restore to the references held their pairs, those at the places ``standing``.

    References that a later revision superseded are dropped: the journal has its pairs instead.
    """
    index.names.update(enumerate(names))
    revisable = [(one, each) for one, each in references if is_revisable(each.reference)]
    references.look_up((one for one, _ in revisable), ())
    for identity, each in revisable:
        if references.is_outdated(identity, each):
            references.evict(identity)
            at = each.references.place_of(each.reference.time, identity)
            drop_references(each.references, [at] if at >= 0 else [])
    for readings in index.reading_buffers.values():
        readings.matches.clear()
    buffers = [*index.reference_buffers.values()]
    starts = np.append(0, np.cumsum([len(each.times) for each in buffers]))
    held = np.frombuffer(b"".join(each.identities for each in buffers), np.uint64)
    if not held.size:
        return
    order, times = np.argsort(held), _joined(each.times for each in buffers)
    sought = held[order[:-1]]  # without the last, so that what is beyond it finds the last
    for portion in in_portions(pairs, standing):
        place = order[np.searchsorted(sought, portion["reference_id"])]
        theirs = np.flatnonzero(held[place] == portion["reference_id"])
        place = place[theirs]
        own = np.searchsorted(starts, place, side="right") - 1
        home = Home(buffers, own, place - starts[own], times[place])
        restore_pairs(index, reconciler, home, some_rows(portion, theirs))


def _joined(columns: Iterable[array[float]]) -> Float:
    """Return columns end to end, and 0."""
    return np.frombuffer(b"".join([*columns, bytes(8)]))


class Home(NamedTuple):
    """Where the references of some pairs are held: of each pair ``own`` buffer, place and time."""

    buffers: Sequence[ReferenceBuffer]
    own: Int
    places: Int
    times: Float


def restore_pairs(index: JoinIndex, reconciler: Reconciler, home: Home, pairs: Records) -> None:
    """Restore pairs in event order to their reading buffers, which have none of their references.

    ``home`` is that of their references.
    """
    sides = pairs["series"] * len(home.buffers) + home.own
    _, firsts, side = np.unique(sides, return_index=True, return_inverse=True)
    numbers: dict[ReadingBuffer, int] = {}
    of_side = np.full(firsts.size, -1)  # -1 where reading buffer and reference are not joined
    for at in np.argsort(firsts).tolist():
        references, row = home.buffers[home.own[firsts[at]]], int(pairs["series"][firsts[at]])
        name = (*index.names[row], references.name[2] if index.by_key else "")
        readings = index.reading_buffers.get(name) or index.open_buffer(name, row)
        if any(join.references is references for join in readings.joins):
            of_side[at] = numbers.setdefault(readings, len(numbers))
    order = np.lexsort((pairs["reference_id"], home.times, of_side[side]))
    order = order[np.count_nonzero(of_side[side] < 0) :]
    if order.size:
        pairs, times, own = some_rows(pairs, order), home.times[order], of_side[side[order]]
        ends = np.flatnonzero(np.diff(pairs["reference_id"]) | np.diff(own).astype(np.uint64))
        starts = np.append(0, ends + 1)
        buffers = [*numbers]
        is_held = np.logical_and.reduceat(_are_held(buffers, own, pairs, times), starts)
        columns = own, times, pairs["reference_id"], home.own[order], home.places[order]
        rows = zip(*(each[starts].tolist() for each in columns), is_held.tolist(), strict=True)
        body, edges = pairs.tobytes(), (pairs.itemsize * np.append(starts, order.size)).tolist()
        for number, (reader, time, identity, holder, place, holds) in enumerate(rows):
            readings = buffers[reader]
            readings.matches.put(time, identity, body[edges[number] : edges[number + 1]])
            rule, reference = PAIRING_RULES[readings.rules.mode], (home.buffers[holder], place)
            if not (reconciler.reproduces(readings, *reference) if rule.is_of_several else holds):
                readings.matches.freeze(identity)


def _are_held(buffers: Sequence[ReadingBuffer], own: Int, pairs: Records, due: Float) -> Bool:
    """Return whether the reading of each pair is held; note how far it is from the reference.

    ``own`` are the places of reading buffers among ``buffers``, and ascend.
    """
    at = pairs["time"] - np.array([each.lag_seconds for each in buffers])[own]
    firsts = np.searchsorted(own, np.arange(len(buffers)))
    apart = np.maximum.reduceat(np.abs(at - due), firsts).tolist()
    for readings, seconds in zip(buffers, apart, strict=True):
        readings.apart_seconds = max(readings.apart_seconds, seconds)
    times = _joined(each.times for each in buffers)
    values = _joined(each.values for each in buffers)
    stops = np.cumsum([len(each.times) for each in buffers])
    stop, value = stops[own], pairs["value"]
    place = bisected(times, at, np.append(0, stops)[own], stop)
    while True:
        is_there = (place < stop) & (times[place] == at)
        is_other = is_there & (values[place] != value)
        if not is_other.any():
            return is_there
        place += is_other  # of several readings of one time
