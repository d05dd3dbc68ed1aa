"""How a reference finds its readings: one entry of ``MODES`` a mode of pairing.

Rules of this file: the pairs of a reference are a function of what lane and bucket hold, never of
how it arrived; a mode also says which references may change when one reading or one reference
is added, so that nothing else need be looked at again. A brute-force oracle in the tests holds
both to their word.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

from monitor.core.lanes import Bucket, Lane, Row, digest, nearest, reading_digest
from monitor.core.model import Reading

# Bisection looks this much further than the tolerance, in seconds: the exact comparison follows.
_MARGIN_SECONDS: Final = 1e-5


class Rules(NamedTuple):
    """What a mode needs to know: how far apart in time a reading and its reference may be."""

    mode: str = "nearest"
    tolerance_seconds: float = 60.0


class Mode(NamedTuple):
    """``pairs`` of one reference in one lane, and which references an arrival may touch."""

    pairs: Callable[[Lane, Bucket, int, Rules], list[Row]]
    touched_by_reading: Callable[[Lane, Bucket, int, Rules], Iterable[int]]
    touched_by_reference: Callable[[Bucket, int], Iterable[int]]


def row(lane: Lane, bucket: Bucket, place: int, reading: Reading, identity: int) -> Row:
    """Return one pair of a reading with the reference at ``place``."""
    reference = bucket.references[place]
    return (
        lane.series,
        identity,
        reading.time,
        reading.value,
        reading.u,
        reading.lower,
        reading.upper,
        reading.p,
        reference.value,
        reference.u,
        0.0,
        digest(*bucket.identities[place]),
        False,
    )


def _neighbours(bucket: Bucket, place: int) -> range:
    """References beside ``place`` with whom it competes: those of the times next to its own."""
    times = bucket.times
    first = bisect_left(times, times[place])
    last = bisect_right(times, times[place])
    first = bisect_left(times, times[first - 1]) if first else 0
    last = bisect_right(times, times[last]) if last < len(times) else last
    return range(first, last)


def _around(lane: Lane, bucket: Bucket, place: int, rules: Rules) -> range:
    """References between the readings before and after the one at ``place``, within tolerance."""
    times = lane.times
    time = times[place]
    low, high = time - rules.tolerance_seconds, time + rules.tolerance_seconds
    before = bisect_left(times, time) - 1
    after = bisect_right(times, time)
    if before >= 0:
        low = max(low, times[before])
    if after < len(times):
        high = min(high, times[after])
    first = bisect_left(bucket.times, low - _MARGIN_SECONDS)
    return range(first, bisect_right(bucket.times, high + _MARGIN_SECONDS, lo=first))


def _mutually_nearest(lane: Lane, bucket: Bucket, place: int, rules: Rules) -> list[Row]:
    """Return the one pair of a reference and a reading that are each nearest to the other."""
    if not lane.times:
        return []
    time = bucket.times[place]
    at = nearest(lane.times, time)
    if abs(lane.times[at] - time) > rules.tolerance_seconds:
        return []
    if nearest(bucket.times, lane.times[at]) != place:
        return []
    identity = digest(lane.readings[at].sensor, *bucket.identities[place])
    return [row(lane, bucket, place, lane.readings[at], identity)]


def _every_reading(lane: Lane, bucket: Bucket, place: int, rules: Rules) -> list[Row]:
    """Return a pair for every reading within tolerance whose nearest reference this is."""
    time = bucket.times[place]
    reach = rules.tolerance_seconds + _MARGIN_SECONDS
    first = bisect_left(lane.times, time - reach)
    last = bisect_right(lane.times, time + reach, lo=first)
    return [
        row(lane, bucket, place, reading, reading_digest(reading))
        for reading in lane.readings[first:last]
        if abs(reading.time - time) <= rules.tolerance_seconds
        and nearest(bucket.times, reading.time) == place
    ]


def _its_nearest(lane: Lane, bucket: Bucket, place: int, rules: Rules) -> tuple[int, ...]:
    del rules
    return (nearest(bucket.times, lane.times[place]),)


MODES: Final[dict[str, Mode]] = {
    "nearest": Mode(_mutually_nearest, _around, _neighbours),
    "key": Mode(_every_reading, _its_nearest, _neighbours),
}
