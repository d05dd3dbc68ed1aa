"""Retention: what is evicted after waiting too long, and how a journal's pairs are restored.

Rules of this file: a pair outlives what it was made from. A reference whose readings are gone
cannot be paired again; its pairs are frozen and change only with its own revisions. Whether they
are frozen follows from the pairs and from what is held, so a journal need not store it. The pairs
of a journal are restored to the references that made them, never made anew.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from math import inf

import numpy as np

from monitor.core.model import Int, Records, some_rows
from monitor.core.pairing.buffers import ReadingBuffer, ReferenceBuffer
from monitor.core.pairing.join_index import JoinIndex
from monitor.core.pairing.matches import Match
from monitor.core.pairing.pairing_rule import MARGIN_SECONDS
from monitor.core.pairing.pairing_rules import PAIRING_RULES
from monitor.core.pairing.reconcile import Reconciler
from monitor.core.pairing.reference_revisions import ReferenceStore, is_revisable

IsSame = Callable[[ReadingBuffer, ReferenceBuffer, int], bool]
_Home = tuple[ReferenceBuffer, int]  # where a reference is held, and its place
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
    theirs, homes = _homes(index, pairs["reference_id"][standing])
    restore_pairs(index, reconciler, homes, some_rows(pairs, standing[theirs]))


def _homes(index: JoinIndex, made_by: Records) -> tuple[Int, Iterable[_Home]]:
    """Return which of the references of pairs are held, and the buffer and place of each."""
    buffers = [*index.reference_buffers.values()]
    sizes = [len(each.times) for each in buffers]
    held = np.frombuffer(b"".join(each.identities.tobytes() for each in buffers), np.uint64)
    owner = np.repeat(np.arange(len(buffers)), sizes)
    places = np.arange(held.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    theirs = np.flatnonzero(np.isin(made_by, held))
    order = np.argsort(held)
    home = order[np.searchsorted(held, made_by[theirs], sorter=order)]
    own = map(buffers.__getitem__, owner[home].tolist())
    return theirs, zip(own, places[home].tolist(), strict=True)


def restore_pairs(
    index: JoinIndex,
    reconciler: Reconciler,
    homes: Iterable[_Home],
    pairs: Records,
) -> None:
    """Restore pairs, each in the reading buffer it belongs to.

    ``homes`` has buffer and place of the reference of each.
    """
    body, size = pairs.tobytes(), pairs.itemsize
    columns = (pairs[name].tolist() for name in ("series", "reference_id", "time"))
    rows = zip(homes, *columns, strict=True)
    for number, ((references, at), series, identity, time) in enumerate(rows):
        name = (*index.names[series], references.name[2] if index.by_key else "")
        readings = index.reading_buffers.get(name) or index.open_buffer(name, series)
        if any(join.references is references for join in readings.joins):
            own, due = body[number * size : (number + 1) * size], references.times[at]
            others = readings.matches.get(due, identity)
            readings.matches.put(due, identity, own if others is None else others.packed + own)
            readings.apart_seconds = max(
                readings.apart_seconds, abs(time - readings.lag_seconds - due)
            )
            if is_frozen(readings, references, at, Match(own), reconciler.reproduces):
                readings.matches.freeze(identity)
