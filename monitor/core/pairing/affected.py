"""Which references must be paired again after one reading or one reference was added.

Rules of this file: a function may name more references than change, never fewer; those it leaves
out are not looked at again. The brute-force oracle of the tests holds it to that.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right

from monitor.core.pairing.buffers import ReadingBuffer, ReferenceBuffer
from monitor.core.pairing.nearest_times import nearest
from monitor.core.pairing.probes import MARGIN_SECONDS
from monitor.core.pairing.series_rules import Rules

# -- by a new reading ---------------------------------------------------------------------------


def between(readings: ReadingBuffer, references: ReferenceBuffer, at: int, rules: Rules) -> range:
    """Return the references between the readings before and after one, within tolerance of it."""
    times, time = readings.times, readings.times[at]
    low, high = time - rules.tolerance_seconds, time + rules.tolerance_seconds
    before = bisect_left(times, time) - 1
    after = bisect_right(times, time)
    if before >= 0:
        low = max(low, times[before])
    if after < len(times):
        high = min(high, times[after])
    return _spanning(references, low, high)


def between_and_not_nearer(
    readings: ReadingBuffer, references: ReferenceBuffer, at: int, rules: Rules
) -> list[int]:
    """Return those of :func:`between` with no reading, or with one that is not nearer."""
    affected = []
    for place in between(readings, references, at, rules):
        match = readings.matches.get(references.identities[place])
        if match is not None:
            time, paired = references.times[place], match.rows[0][2] - readings.lag_seconds
            if abs(paired - time) < abs(readings.times[at] - time):
                continue
        affected.append(place)
    return affected


def within_tolerance(
    readings: ReadingBuffer, references: ReferenceBuffer, at: int, rules: Rules
) -> range:
    """Return the references within tolerance of a reading."""
    time = readings.times[at]
    return _spanning(references, time - rules.tolerance_seconds, time + rules.tolerance_seconds)


def by_interval(
    readings: ReadingBuffer, references: ReferenceBuffer, at: int, rules: Rules
) -> range:
    """Return the references whose interval may hold a reading."""
    del rules
    time = readings.times[at]
    return _spanning(references, time - references.span_seconds, time + references.span_seconds)


def its_nearest(
    readings: ReadingBuffer, references: ReferenceBuffer, at: int, rules: Rules
) -> tuple[int, ...]:
    """Return the reference nearest to a reading."""
    del rules
    return (nearest(references.times, readings.times[at]),)


def _spanning(references: ReferenceBuffer, low: float, high: float) -> range:
    first = bisect_left(references.times, low - MARGIN_SECONDS)
    return range(first, bisect_right(references.times, high + MARGIN_SECONDS, lo=first))


# -- by a new reference -------------------------------------------------------------------------


def itself(readings: ReadingBuffer, references: ReferenceBuffer, at: int) -> tuple[int, ...]:
    """Return the new reference alone: references do not compete."""
    del readings, references
    return (at,)


def its_neighbours(readings: ReadingBuffer, references: ReferenceBuffer, at: int) -> range:
    """Return the new reference and those it competes with."""
    del readings
    return neighbours(references, at)


def neighbours(references: ReferenceBuffer, at: int) -> range:
    """Return the references that one competes with: those of its own time and the times beside."""
    times = references.times
    if at == len(times) - 1 and (at < 2 or times[at - 2] < times[at - 1] < times[at]):
        return range(max(at - 1, 0), at + 1)
    first = bisect_left(times, times[at])
    last = bisect_right(times, times[at])
    first = bisect_left(times, times[first - 1]) if first else 0
    last = bisect_right(times, times[last]) if last < len(times) else last
    return range(first, last)


def losing_neighbours(readings: ReadingBuffer, references: ReferenceBuffer, at: int) -> list[int]:
    """Return the new reference, and those beside it whose reading may be nearer to it."""
    times, lag = references.times, readings.lag_seconds
    affected = []
    for other in neighbours(references, at):
        match = readings.matches.get(references.identities[other])
        if other == at:
            affected.append(other)
        elif match is not None:
            time = match.rows[0][2] - lag
            if not abs(time - times[other]) < abs(time - times[at]):
                affected.append(other)
    return affected


# -- by a reference later than all --------------------------------------------------------------


def last_may_lose(readings: ReadingBuffer, references: ReferenceBuffer, time: float) -> bool:
    """Return whether the reading of the last reference may be nearer to one at a later time."""
    times = references.times
    if len(times) > 1 and times[-1] == times[-2]:
        return True
    match = readings.matches.get(references.identities[-1])
    if match is None:
        return False
    paired = match.rows[0][2] - readings.lag_seconds
    return not abs(paired - times[-1]) < abs(paired - time)


def always(readings: ReadingBuffer, references: ReferenceBuffer, time: float) -> bool:
    """Return True: the rule has no cheap way to tell."""
    del readings, references, time
    return True


def never(readings: ReadingBuffer, references: ReferenceBuffer, time: float) -> bool:
    """Return False: references do not compete."""
    del readings, references, time
    return False
