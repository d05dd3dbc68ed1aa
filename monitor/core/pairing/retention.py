"""How long observations are held: what is let go of, and what that leaves fixed.

Rules of this file: a pair outlives what it was made of. A reference whose readings are gone can no
longer be paired anew; its pairs are frozen and change with its own revisions only. Whether they are
is a function of the pairs and of what is held, so that a journal need not keep it.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Container, Mapping, Sequence
from typing import Final

from monitor.core.model import Reference
from monitor.core.pairing.buffers import (
    Bucket,
    Identity,
    Lane,
    Slot,
)
from monitor.core.pairing.pairing_rules import MARGIN_SECONDS, Rules

_MADE_OF_SEVERAL: Final = ("interpolate", "mean_over_reference_interval")


def expire_lane(
    lane: Lane,
    received_before: float,
    rules: Rules,
    leaving: Container[Identity],
    same: Callable[[Lane, Identity], bool],
) -> tuple[int, int]:
    """Drop readings that arrived before a time; return how many, and how many of them unpaired.

    ``leaving`` are the references that are let go of with them; ``same`` says whether the readings
    held still make the pairs of a reference.
    """
    gone = _arrived_before(lane, received_before)
    if not gone:
        return 0, 0
    if isinstance(gone, range):
        times = lane.times[: gone.stop].tolist()
    else:
        times = [lane.times[at] for at in gone]
    marks, touched = _used(lane, rules, times)
    lane.drop(gone)
    for identity, slot in touched:
        if identity not in leaving:
            slot.frozen = slot.frozen or is_frozen(lane, identity, slot, rules, same)
    return len(gone), marks.count(0)


def _arrived_before(lane: Lane, time: float) -> Sequence[int]:
    """Return the places of what arrived before a time: a range from 0 where all came in order."""
    if lane.in_order:
        return range(bisect_left(lane.received, time))
    return [at for at, arrival in enumerate(lane.received) if arrival < time]


def is_frozen(
    lane: Lane,
    identity: Identity,
    slot: Slot,
    rules: Rules,
    same: Callable[[Lane, Identity], bool],
) -> bool:
    """Return whether a reading that the pairs of a reference were made of is gone."""
    if rules.mode in _MADE_OF_SEVERAL:
        return not same(lane, identity)
    return not all(_holds(lane, row[2] - rules.lag_seconds, row[3]) for row in slot.rows)


def _holds(lane: Lane, time: float, value: float) -> bool:
    first = bisect_left(lane.times, time)
    last = bisect_right(lane.times, time, lo=first)
    return value in lane.values[first:last]


def _used(
    lane: Lane, rules: Rules, times: Sequence[float]
) -> tuple[bytearray, list[tuple[Identity, Slot]]]:
    """Return 1 for each of sorted ``times`` (the lane's) that a pair used, else 0; and by whom."""
    reach, lag = 0.0, rules.lag_seconds
    if rules.mode in _MADE_OF_SEVERAL:
        reach, lag = rules.tolerance_seconds, 0.0
        for link in lane.links:
            reach = max(reach, link.bucket.span_seconds)
    marks, users = bytearray(len(times)), []
    for identity, slot in _slots_near(lane, rules, times[0] - reach, times[-1] + reach):
        low = high = slot.rows[0][2]
        if len(slot.rows) > 1:
            taken = [row[2] for row in slot.rows]
            low, high = min(taken), max(taken)
        start = bisect_left(times, low - reach - lag)
        stop = bisect_right(times, high + reach - lag, lo=start)
        if start < stop:
            marks[start:stop] = b"\1" * (stop - start)
            users.append((identity, slot))
    return marks, users


def _slots_near(lane: Lane, rules: Rules, first: float, last: float) -> list[tuple[Identity, Slot]]:
    """Return the slots whose references lie near a range of times: those of its pairs, and more."""
    apart = max(rules.tolerance_seconds, lane.apart_seconds) + MARGIN_SECONDS
    slots, found = lane.slots, []
    for link in lane.links:
        times, identities = link.bucket.times, link.bucket.identities
        start = bisect_left(times, first - apart)
        for identity in identities[start : bisect_right(times, last + apart, lo=start)]:
            slot = slots.get(identity)
            if slot is not None:
                found.append((identity, slot))
    return found


def forget(reference: Reference, bucket: Bucket, identity: Identity) -> None:
    """Take a reference out of its bucket; the pairs it made stand and are no longer its own."""
    if reference.void:
        return
    bucket.remove(bucket.find(reference, identity))
    for lane in bucket.lanes:
        lane.slots.pop(identity, None)


def forget_all(bucket: Bucket, leaving: Mapping[Identity, Reference]) -> None:
    """Do as :func:`forget` with several references of a bucket; those that came first at once."""
    first = 0
    for identity in bucket.identities:
        if identity not in leaving:
            break
        first += 1
    gone = bucket.remove_first(first)
    for lane in bucket.lanes:
        for identity in gone:
            lane.slots.pop(identity, None)
    if len(gone) < len(leaving):
        for identity in leaving.keys() - gone:
            forget(leaving[identity], bucket, identity)


def oldest_arrival(arrivals: Mapping[float, int], share: float) -> float:
    """Return the time below which ``share`` of what arrived lies, 0 if there is nothing.

    ``arrivals`` says how much arrived at each time.
    """
    place = int(share * sum(arrivals.values()))
    time = 0.0
    for time in sorted(arrivals):
        place -= arrivals[time]
        if place < 0:
            break
    return time
