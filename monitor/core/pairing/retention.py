"""Retention: what is evicted after waiting too long, and how a journal's pairs are restored.

Rules of this file: a pair outlives what it was made from. A reference whose readings are gone
cannot be paired again; its pairs are frozen and change only with its own revisions. Whether they
are frozen follows from the pairs and from what is held, so a journal need not store it. The pairs
of a journal are restored to the references that made them, never made anew.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from math import inf

import numpy as np

from monitor.core.model import Int, Records, Reference, some_rows
from monitor.core.pairing.buffers import ReadingBuffer, ReferenceBuffer
from monitor.core.pairing.identities import Identity, Match
from monitor.core.pairing.join_index import JoinIndex
from monitor.core.pairing.pairing_rule import MARGIN_SECONDS
from monitor.core.pairing.pairing_rules import PAIRING_RULES
from monitor.core.pairing.reconcile import Reconciler
from monitor.core.pairing.reference_revisions import (
    HeldReference,
    ReferenceStore,
    is_revisable,
)

# -- eviction -------------------------------------------------------------------------------------


def expire_readings(
    readings: ReadingBuffer,
    received_before: float,
    leaving: Container[Identity],
    same: Callable[[ReadingBuffer, Identity], bool],
) -> tuple[int, int]:
    """Evict readings that arrived before a time; return how many, and how many were unpaired.

    ``leaving`` are the references evicted with them; ``same`` returns whether the readings held
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
    for identity, match in touched:
        if identity not in leaving:
            match.frozen = match.frozen or is_frozen(readings, identity, match, same)
    return len(gone), marks.count(0)


def _arrived_before(readings: ReadingBuffer, time: float) -> Sequence[int]:
    """Return the places of readings that arrived before a time: a range if all came in order."""
    if readings.in_order:
        return range(bisect_left(readings.received, time))
    return [at for at, arrival in enumerate(readings.received) if arrival < time]


def is_frozen(
    readings: ReadingBuffer,
    identity: Identity,
    match: Match,
    same: Callable[[ReadingBuffer, Identity], bool],
) -> bool:
    """Return whether a reading that the pairs of a reference were made from is gone."""
    if PAIRING_RULES[readings.rules.mode].is_of_several:
        return not same(readings, identity)
    return not all(_holds(readings, row[2] - readings.lag_seconds, row[3]) for row in match.rows)


def _holds(readings: ReadingBuffer, time: float, value: float) -> bool:
    first = bisect_left(readings.times, time)
    last = bisect_right(readings.times, time, lo=first)
    return value in readings.values[first:last]


def _used(
    readings: ReadingBuffer, times: Sequence[float]
) -> tuple[bytearray, list[tuple[Identity, Match]]]:
    """Return 1 for each of sorted ``times`` that a pair used, else 0, and the matches near them."""
    reach, lag = 0.0, readings.lag_seconds
    if PAIRING_RULES[readings.rules.mode].is_of_several:
        reach, lag = readings.rules.tolerance_seconds, 0.0
        for join in readings.joins:
            reach = max(reach, join.references.span_seconds)
    marks, users = bytearray(len(times)), []
    for identity, match in _matches_near(readings, times[0] - reach, times[-1] + reach):
        low = high = match.time
        if len(match) > 1:
            taken = [row[2] for row in match.rows]
            low, high = min(taken), max(taken)
        start = bisect_left(times, low - reach - lag)
        stop = bisect_right(times, high + reach - lag, lo=start)
        if start < stop:
            marks[start:stop] = b"\1" * (stop - start)
            users.append((identity, match))
    return marks, users


def _matches_near(
    readings: ReadingBuffer, first: float, last: float
) -> list[tuple[Identity, Match]]:
    """Return the matches of references near a range of times: all that may use it, or more."""
    apart = max(readings.rules.tolerance_seconds, readings.apart_seconds) + MARGIN_SECONDS
    matches, near = readings.matches, []
    for join in readings.joins:
        times, identities = join.references.times, join.references.identities
        start = bisect_left(times, first - apart)
        for identity in identities[start : bisect_right(times, last + apart, lo=start)]:
            match = matches.get(identity)
            if match is not None:
                near.append((identity, match))
    return near


def drop_reference(reference: Reference, references: ReferenceBuffer, identity: Identity) -> None:
    """Remove a reference from its buffer; its pairs stand and do not change any more."""
    if reference.void:
        return
    references.remove(references.find(reference, identity))
    for readings in references.reading_buffers:
        readings.matches.pop(identity, None)


def drop_references(references: ReferenceBuffer, leaving: Mapping[Identity, Reference]) -> None:
    """Remove several references of a buffer, a leading run of them in one step."""
    first = 0
    for identity in references.identities:
        if identity not in leaving:
            break
        first += 1
    gone = references.remove_first(first)
    for readings in references.reading_buffers:
        for identity in gone:
            readings.matches.pop(identity, None)
    if len(gone) < len(leaving):
        for identity in leaving.keys() - gone:
            drop_reference(leaving[identity], references, identity)


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
    held = dict(references)
    references.look_up((one for one, each in held.items() if is_revisable(each.reference)), ())
    for identity, each in [*held.items()]:
        if references.is_outdated(identity, each):
            references.evict(identity)
            drop_reference(each.reference, each.references, identity)
            del held[identity]
    for readings in index.reading_buffers.values():
        readings.matches.clear()
    made_by = pairs["reference_id"][standing]
    theirs = standing[np.isin(made_by, np.fromiter(held, np.uint64, len(held)))]
    restore_pairs(index, reconciler, held, some_rows(pairs, theirs))


def restore_pairs(
    index: JoinIndex,
    reconciler: Reconciler,
    held: Mapping[Identity, HeldReference],
    pairs: Records,
) -> None:
    """Restore the pairs of references, each in the reading buffer it belongs to."""
    restored: list[tuple[ReadingBuffer, Identity, Match]] = []
    body, size = pairs.tobytes(), pairs.itemsize
    columns = (pairs[name].tolist() for name in ("series", "reference_id", "time"))
    for at, (series, identity, time) in enumerate(zip(*columns, strict=True)):
        own = held[identity]
        name = (*index.names[series], own.reference.key if index.by_key else "")
        readings = index.reading_buffers.get(name) or index.open_buffer(name, series)
        if any(join.references is own.references for join in readings.joins):
            match = readings.matches.get(identity)
            if match is None:
                match = readings.matches[identity] = Match(b"")
                restored.append((readings, identity, match))
            match.packed += body[at * size : (at + 1) * size]
            apart = abs(time - readings.lag_seconds - own.reference.time)
            readings.apart_seconds = max(readings.apart_seconds, apart)
    for readings, identity, match in restored:
        match.frozen = is_frozen(readings, identity, match, reconciler.reproduces)
