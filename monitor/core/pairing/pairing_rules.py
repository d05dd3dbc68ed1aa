"""How a reference finds its readings: one entry of ``MODES`` a mode of pairing.

Rules of this file: the pairs of a reference are a function of what lane and bucket hold, never of
how it arrived; a mode also says which references may change when one reading or one reference
is added, so that nothing else need be looked at again. A brute-force oracle in the tests holds
both to their word.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable
from typing import Annotated, Final, NamedTuple

import scipy
from annotated_types import Ge, Le, doc

from monitor.core.model import NAN, Distribution, Reading
from monitor.core.pairing.buffers import (
    Bucket,
    Lane,
    Link,
    Near,
    Row,
    combine,
    is_nearest,
    nearest,
    reading_digest,
)
from monitor.core.scores.ensembles import crps_packed

# Bisection looks this much further than the tolerance, in seconds: the exact comparison follows.
MARGIN_SECONDS: Final = 1e-5


PerDistance = Annotated[float, Ge(0), Le(1e15)]


class PairUncertainty(NamedTuple):
    """Standard uncertainty of a pairing, in the unit of the series; its parts add in squares."""

    per_sqrt_hour: Annotated[
        PerDistance, doc("For each square root of an hour between reading and reference.")
    ] = 0.0
    per_hour: Annotated[PerDistance, doc("For each hour between reading and reference.")] = 0.0
    per_km: Annotated[PerDistance, doc("For each kilometre between sensor and reference.")] = 0.0

    def of(self, seconds: float, distance_km: float) -> float:
        """Return u_pair for a distance in time and in space: random walk, trend, gradient.

        u_pair^2 = per_sqrt_hour^2 h + (per_hour h)^2 + (per_km d)^2.
        """
        if not (self.per_sqrt_hour or self.per_hour or self.per_km):
            return 0.0
        hours = abs(seconds) / 3600.0
        walk = self.per_sqrt_hour * self.per_sqrt_hour * hours
        trend = self.per_hour * hours
        gradient = self.per_km * distance_km
        return math.sqrt(walk + trend * trend + gradient * gradient)


class Rules(NamedTuple):
    """What a mode needs to know of a series. Times in seconds.

    ``lag_seconds``: how much later than the reference is taken its readings see the same thing.
    ``reading_seconds``: how long a reading stands for, and ``completeness``: the share of a
    reference's interval that readings must cover (mean_over_reference_interval).
    ``correlation``: between the errors of the readings that one pair is made of.
    """

    mode: str = "nearest"
    tolerance_seconds: float = 60.0
    lag_seconds: float = 0.0
    reading_seconds: float = 0.0
    completeness: float = 0.75
    correlation: float = 1.0
    uncertainty: PairUncertainty = PairUncertainty()


class Place(NamedTuple):
    """One reference in its bucket, with its time, seen from one lane."""

    lane: Lane
    link: Link
    at: int
    time: float
    rules: Rules


class Mode(NamedTuple):
    """``pairs`` of one reference in one lane, and which references an arrival may touch.

    ``takes_from_last``: whether a reference later than all may touch the last one of them, and
    ``newest`` what ``pairs`` would return for its place, given the reading nearest to it if that is
    known, or None for a longer way; None where there is no shorter one.
    ``is_local``: a reading touches none that lie before the reading before it.
    """

    pairs: Callable[[Place], list[Row]]
    touched_by_reading: Callable[[Lane, Bucket, int, Rules], Iterable[int]]
    touched_by_reference: Callable[[Lane, Bucket, int], Iterable[int]]
    takes_from_last: Callable[[Lane, Bucket, float], bool]
    is_local: bool = False
    newest: Callable[[Lane, Link, int, float, Rules, Near | None], list[Row] | None] | None = None


def _row(place: Place, reading: Reading, time: float, seconds: float, identity: int) -> Row:
    """Return the pair of a reading (real or made of several) with the reference at a place."""
    bucket = place.link.bucket
    reference = bucket.references[place.at]
    return (
        place.lane.series,
        identity,
        time,
        reading.value,
        reading.u,
        reading.lower,
        reading.upper,
        reading.p,
        reference.value,
        reference.u,
        place.rules.uncertainty.of(seconds, place.link.distance_km),
        bucket.digests[place.at],
        crps_packed(reading.places, reading.levels, reference.value)
        if isinstance(reading, Distribution)
        else NAN,
        False,
    )


def _one(place: Place, at: int) -> list[Row]:
    """Return the pair of a reference with one reading, named by the reference."""
    reading = place.lane.reading(at)
    identity = combine(place.lane.digest, place.link.bucket.digests[place.at])
    return [_row(place, reading, reading.time, place.lane.times[at] - place.time, identity)]


# -- one reading a reference --------------------------------------------------------------------


def _within(place: Place) -> range:
    """Readings within tolerance of the reference, whose nearest reference it is."""
    times, rules = place.lane.times, place.rules
    reach = rules.tolerance_seconds + MARGIN_SECONDS
    first = bisect_left(times, place.time - reach)
    last = bisect_right(times, place.time + reach, lo=first)
    while first < last and not _claims(place, first):
        first += 1
    while first < last and not _claims(place, last - 1):
        last -= 1
    return range(first, last)


def _claims(place: Place, at: int) -> bool:
    time = place.lane.times[at]
    close = abs(time - place.time) <= place.rules.tolerance_seconds
    return close and is_nearest(place.link.bucket.times, place.at, time)


def _mutually_nearest(place: Place) -> list[Row]:
    """Pair a reference and a reading that are each nearest to the other."""
    if not place.lane.times:
        return []
    times, references = place.lane.times, place.link.bucket.times
    at = nearest(times, place.time)
    time = times[at]
    if abs(time - place.time) > place.rules.tolerance_seconds:
        return []
    return _one(place, at) if is_nearest(references, place.at, time) else []


def _mutually_nearest_of_newest(
    lane: Lane, link: Link, at: int, time: float, rules: Rules, near: Near | None
) -> list[Row] | None:
    """Do the same for a reference later than all others: most of what a pair costs is here."""
    times, bucket = lane.times, link.bucket
    if near is None:
        if not times or lane.whole:
            return None
        own = nearest(times, time)
        near = times[own], lane.values[own], lane.us[own]
    taken, value, u = near
    if abs(taken - time) > rules.tolerance_seconds:
        return []
    if at and not taken - bucket.times[at - 1] > time - taken:
        return []
    reference, name, uncertainty = bucket.references[at], bucket.digests[at], rules.uncertainty
    return [
        (
            lane.series,
            combine(lane.digest, name),
            taken,
            value,
            u,
            NAN,
            NAN,
            NAN,
            reference.value,
            reference.u,
            uncertainty.of(taken - time, link.distance_km) if any(uncertainty) else 0.0,
            name,
            NAN,
            False,
        )
    ]


def _first(place: Place) -> list[Row]:
    """Pair a reference with the earliest reading within tolerance that is nearest to it."""
    within = _within(place)
    return _one(place, within[0]) if within else []


def _only(place: Place) -> list[Row]:
    """Pair a reference with its reading if there is just one; several are too doubtful."""
    within = _within(place)
    return _one(place, within[0]) if len(within) == 1 else []


def _every(place: Place) -> list[Row]:
    """Pair every reading within tolerance with its nearest reference."""
    lane, bucket = place.lane, place.link.bucket
    rows = []
    for at in _within(place):
        reading = lane.reading(at)
        identity = combine(reading_digest(reading), bucket.digest)
        rows.append(_row(place, reading, reading.time, lane.times[at] - place.time, identity))
    return rows


def _as_of(place: Place) -> list[Row]:
    """Pair a reference with the last reading at or before it, within tolerance."""
    at = bisect_right(place.lane.times, place.time) - 1
    if at < 0 or place.time - place.lane.times[at] > place.rules.tolerance_seconds:
        return []
    return _one(place, bisect_left(place.lane.times, place.lane.times[at]))


# -- several readings a reference ---------------------------------------------------------------


def _made_of(place: Place, weighted: list[tuple[float, Reading]]) -> Row:
    """Return the pair of a reference with the weighted mean of several readings.

    u^2 = (1 - r) sum (w u)^2 + r (sum w u)^2 for errors with correlation r (GUM equation 16); the
    arms of coverage intervals are combined like u.
    """
    r = place.rules.correlation
    value = math.fsum(w * reading.value for w, reading in weighted)

    def combined(parts: list[float]) -> float:
        squares = math.fsum(part * part for part in parts)
        total = math.fsum(parts)
        return math.sqrt((1.0 - r) * squares + r * total * total)

    u = lower = upper = p = NAN
    if all(not math.isnan(reading.u) for _, reading in weighted):
        u = combined([w * reading.u for w, reading in weighted])
    levels = {reading.p for _, reading in weighted}
    if all(not math.isnan(reading.lower) for _, reading in weighted) and len(levels) == 1:
        p = levels.pop()
        lower = value - combined([w * (reading.value - reading.lower) for w, reading in weighted])
        upper = value + combined([w * (reading.upper - reading.value) for w, reading in weighted])
    elif math.isnan(u):
        u = combined([w * _standard(reading) for w, reading in weighted])
    first = weighted[0][1]
    mean = Reading(first.sensor, first.quantity, place.time, value, u, lower, upper, p)
    identity = combine(place.lane.digest, place.link.bucket.digests[place.at])
    return _row(place, mean, place.time, 0.0, identity)


def _standard(reading: Reading) -> float:
    """Return the standard uncertainty of a reading, else that of its interval (normal)."""
    if not math.isnan(reading.u):
        return reading.u
    p = 0.9 if math.isnan(reading.p) else reading.p
    return (reading.upper - reading.lower) / (2.0 * float(scipy.special.ndtri(0.5 + 0.5 * p)))


def _interpolated(place: Place) -> list[Row]:
    """Pair a reference with the line between the readings before and after it."""
    times, time = place.lane.times, place.time
    after = bisect_left(times, time)
    if after < len(times) and times[after] == time:
        return _one(place, after)
    before = after - 1
    if before < 0 or after == len(times):
        return []
    tolerance = place.rules.tolerance_seconds
    if time - times[before] > tolerance or times[after] - time > tolerance:
        return []
    before = bisect_left(times, times[before])
    share = (time - times[before]) / (times[after] - times[before])
    reading = place.lane.reading
    return [_made_of(place, [(1.0 - share, reading(before)), (share, reading(after))])]


def _mean(place: Place) -> list[Row]:
    """Pair a reference over an interval with the mean of enough readings inside."""
    reference = place.link.bucket.references[place.at]
    if not reference.start < reference.end:
        return []
    times, rules = place.lane.times, place.rules
    first = bisect_left(times, reference.start)
    last = bisect_left(times, reference.end, lo=first)
    readings = [place.lane.reading(at) for at in range(first, last)]
    covered = len(readings) * rules.reading_seconds / (reference.end - reference.start)
    if not readings or covered < rules.completeness - 1e-9:
        return []
    return [_made_of(place, [(1.0 / len(readings), reading) for reading in readings])]


# -- what an arrival may touch ------------------------------------------------------------------


def _itself(lane: Lane, bucket: Bucket, at: int) -> tuple[int, ...]:
    del lane, bucket
    return (at,)


def _losers(lane: Lane, bucket: Bucket, at: int) -> list[int]:
    """A reference, and those beside it whose reading may be nearer to it."""
    times, lag = bucket.times, lane.lag_seconds
    touched = []
    for other in neighbours(bucket, at):
        slot = lane.slots.get(bucket.identities[other])
        if other == at:
            touched.append(other)
        elif slot is not None:
            time = slot.rows[0][2] - lag
            if not abs(time - times[other]) < abs(time - times[at]):
                touched.append(other)
    return touched


def _takes_reading(lane: Lane, bucket: Bucket, time: float) -> bool:
    """Whether the reading of the last reference may be nearer to one at a later time."""
    times = bucket.times
    if len(times) > 1 and times[-1] == times[-2]:
        return True
    slot = lane.slots.get(bucket.identities[-1])
    if slot is None:
        return False
    taken = slot.rows[0][2] - lane.lag_seconds
    return not abs(taken - times[-1]) < abs(taken - time)


def _always(lane: Lane, bucket: Bucket, time: float) -> bool:
    del lane, bucket, time
    return True


def _never(lane: Lane, bucket: Bucket, time: float) -> bool:
    del lane, bucket, time
    return False


def _beside(lane: Lane, bucket: Bucket, at: int) -> range:
    del lane
    return neighbours(bucket, at)


def neighbours(bucket: Bucket, at: int) -> range:
    """Return the references with whom one competes: those of its own time and the times beside."""
    times = bucket.times
    if at == len(times) - 1 and (at < 2 or times[at - 2] < times[at - 1] < times[at]):
        return range(max(at - 1, 0), at + 1)
    first = bisect_left(times, times[at])
    last = bisect_right(times, times[at])
    first = bisect_left(times, times[first - 1]) if first else 0
    last = bisect_right(times, times[last]) if last < len(times) else last
    return range(first, last)


def _between(lane: Lane, bucket: Bucket, at: int, rules: Rules) -> range:
    """References between the readings before and after one, within tolerance of it."""
    times, time = lane.times, lane.times[at]
    low, high = time - rules.tolerance_seconds, time + rules.tolerance_seconds
    before = bisect_left(times, time) - 1
    after = bisect_right(times, time)
    if before >= 0:
        low = max(low, times[before])
    if after < len(times):
        high = min(high, times[after])
    return _spanning(bucket, low, high)


def _between_nearer(lane: Lane, bucket: Bucket, at: int, rules: Rules) -> list[int]:
    """Of those, the references that have no reading, or one that is not nearer than this one."""
    touched = []
    for place in _between(lane, bucket, at, rules):
        slot = lane.slots.get(bucket.identities[place])
        if slot is not None:
            reference, taken = bucket.times[place], slot.rows[0][2] - lane.lag_seconds
            if abs(taken - reference) < abs(lane.times[at] - reference):
                continue
        touched.append(place)
    return touched


def _near(lane: Lane, bucket: Bucket, at: int, rules: Rules) -> range:
    """References within tolerance of a reading."""
    time = lane.times[at]
    return _spanning(bucket, time - rules.tolerance_seconds, time + rules.tolerance_seconds)


def _around(lane: Lane, bucket: Bucket, at: int, rules: Rules) -> range:
    """References whose interval may hold a reading."""
    del rules
    time = lane.times[at]
    return _spanning(bucket, time - bucket.span_seconds, time + bucket.span_seconds)


def _its_nearest(lane: Lane, bucket: Bucket, at: int, rules: Rules) -> tuple[int, ...]:
    del rules
    return (nearest(bucket.times, lane.times[at]),)


def _spanning(bucket: Bucket, low: float, high: float) -> range:
    first = bisect_left(bucket.times, low - MARGIN_SECONDS)
    return range(first, bisect_right(bucket.times, high + MARGIN_SECONDS, lo=first))


MODES: Final[dict[str, Mode]] = {
    "nearest": Mode(
        _mutually_nearest,
        _between_nearer,
        _losers,
        _takes_reading,
        is_local=True,
        newest=_mutually_nearest_of_newest,
    ),
    "first": Mode(_first, _near, _beside, _always),
    "reject": Mode(_only, _near, _beside, _always),
    "all": Mode(_every, _its_nearest, _beside, _always),
    "asof": Mode(_as_of, _between, _itself, _never, is_local=True),
    "interpolate": Mode(_interpolated, _between, _itself, _never, is_local=True),
    "mean_over_reference_interval": Mode(_mean, _around, _itself, _never),
}
