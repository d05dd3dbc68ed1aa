"""Pairing rules: which readings a reference is paired with, one object a rule.

Rules of this file: the pairs of a reference are a function of what its buffers hold, never of the
order of arrival. A rule is the only place that knows about itself: settings, ``monitor explain``,
``monitor doctor``, the documentation and retention ask its object. To add a rule, add an entry to
``PAIRING_RULES``.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from typing import Final

from monitor.core.model import NAN, Reading, Reference
from monitor.core.pairing import pairing_rule
from monitor.core.pairing.buffers import Join, NearestReading, ReadingBuffer
from monitor.core.pairing.identities import Row, combine, reading_digest
from monitor.core.pairing.pairing_rule import (
    MARGIN_SECONDS,
    Duration,
    PairingRule,
    Probe,
    is_nearest,
    nearest,
    pair_with,
    pair_with_mean,
    row_of,
)
from monitor.core.pairing.series_rules import Rules

# -- one reading a reference --------------------------------------------------------------------


def _within(probe: Probe) -> range:
    """Return the readings within tolerance of the reference that have no nearer reference."""
    times, rules = probe.readings.times, probe.readings.rules
    reach = rules.tolerance_seconds + MARGIN_SECONDS
    first = bisect_left(times, probe.time - reach)
    last = bisect_right(times, probe.time + reach, lo=first)
    while first < last and not _claims(probe, first):
        first += 1
    while first < last and not _claims(probe, last - 1):
        last -= 1
    return range(first, last)


def _claims(probe: Probe, at: int) -> bool:
    time = probe.readings.times[at]
    close = abs(time - probe.time) <= probe.readings.rules.tolerance_seconds
    return close and is_nearest(probe.join.references.times, probe.at, time)


def _mutually_nearest(probe: Probe) -> list[Row]:
    """Pair a reference and a reading that are each nearest to the other."""
    times = probe.readings.times
    if not times:
        return []
    at = nearest(times, probe.time)
    time = times[at]
    if abs(time - probe.time) > probe.readings.rules.tolerance_seconds:
        return []
    is_mutual = is_nearest(probe.join.references.times, probe.at, time)
    return pair_with(probe, at) if is_mutual else []


def _mutually_nearest_newest(
    readings: ReadingBuffer,
    join: Join,
    at: int,
    time: float,
    near: NearestReading | None,
) -> list[Row] | None:
    """Pair with a reference later than all others: most of the cost of a pair is here."""
    times, references, rules = readings.times, join.references, readings.rules
    if near is None:
        if not times or readings.full_readings:
            return None
        own = nearest(times, time)
        near = times[own], readings.values[own], readings.us[own]
    taken, value, u = near
    if abs(taken - time) > rules.tolerance_seconds:
        return []
    if at and not taken - references.times[at - 1] > time - taken:
        return []
    name, uncertainty = references.identities[at], rules.uncertainty
    return [
        (
            readings.series,
            combine(readings.digest, name),
            taken,
            value,
            u,
            NAN,
            NAN,
            NAN,
            references.values[at],
            references.us[at],
            uncertainty.of(taken - time, join.distance_km) if any(uncertainty) else 0.0,
            name,
            NAN,
            False,
        )
    ]


def _every(probe: Probe) -> list[Row]:
    """Pair every reading within tolerance with its nearest reference, up to a maximum for each."""
    readings, references = probe.readings, probe.join.references
    rows = []
    for at in _nearest_of(_within(probe), probe):
        reading = readings.reading(at)
        identity = combine(reading_digest(reading), references.digest)
        rows.append(row_of(probe, reading, reading.time, readings.times[at] - probe.time, identity))
    return rows


def _nearest_of(places: range, probe: Probe) -> range:
    """Return the readings nearest to the reference, as many as may pair with it.

    Of two equally near ones the earlier counts, so that the result depends on the readings alone.
    """
    times, most = probe.readings.times, probe.readings.rules.max_pairs_per_reference
    low, high = places.start, max(places.stop - most, places.start)
    while low < high:
        middle = (low + high) // 2
        if probe.time - times[middle] > times[middle + most] - probe.time:
            low = middle + 1
        else:
            high = middle
    return range(low, min(low + most, places.stop))


def _first(probe: Probe) -> list[Row]:
    """Pair a reference with the earliest reading within tolerance that is nearest to it."""
    within = _within(probe)
    return pair_with(probe, within[0]) if within else []


def _only(probe: Probe) -> list[Row]:
    """Pair a reference with its reading if there is exactly one; several are ambiguous."""
    within = _within(probe)
    return pair_with(probe, within[0]) if len(within) == 1 else []


def _as_of(probe: Probe) -> list[Row]:
    """Pair a reference with the last reading at or before it, within tolerance."""
    times = probe.readings.times
    at = bisect_right(times, probe.time) - 1
    if at < 0 or probe.time - times[at] > probe.readings.rules.tolerance_seconds:
        return []
    return pair_with(probe, bisect_left(times, times[at]))


# -- several readings a reference ---------------------------------------------------------------


def _interpolated(probe: Probe) -> list[Row]:
    """Pair a reference with the line between the readings before and after it."""
    times, time = probe.readings.times, probe.time
    after = bisect_left(times, time)
    if after < len(times) and times[after] == time:
        return pair_with(probe, after)
    before = after - 1
    if before < 0 or after == len(times):
        return []
    tolerance = probe.readings.rules.tolerance_seconds
    if time - times[before] > tolerance or times[after] - time > tolerance:
        return []
    before = bisect_left(times, times[before])
    share = (time - times[before]) / (times[after] - times[before])
    reading = probe.readings.reading
    return pair_with_mean(probe, [(1.0 - share, reading(before)), (share, reading(after))])


def _mean(probe: Probe) -> list[Row]:
    """Pair a reference over an interval with the mean of enough readings inside."""
    reference = probe.join.references.reference(probe.at)
    if not reference.start < reference.end:
        return []
    times, rules = probe.readings.times, probe.readings.rules
    first = bisect_left(times, reference.start)
    last = bisect_left(times, reference.end, lo=first)
    inside = [probe.readings.reading(at) for at in range(first, last)]
    covered = len(inside) * rules.reading_seconds / (reference.end - reference.start)
    if not inside or covered < rules.completeness - 1e-9:
        return []
    return pair_with_mean(probe, [(1.0 / len(inside), reading) for reading in inside])


# -- why there is no pair -----------------------------------------------------------------------


def _after(reading: Reading, reference: Reference, rules: Rules, duration: Duration) -> str:
    seconds = reading.time - rules.lag_seconds - reference.time
    if seconds <= 0:
        return ""
    return f"the reading is {duration(seconds)} after the reference; asof takes those before it"


def _one_sided(reading: Reading, reference: Reference, rules: Rules, duration: Duration) -> str:
    del duration
    seconds = reading.time - rules.lag_seconds - reference.time
    if abs(seconds) > rules.tolerance_seconds:
        return ""
    side = "after" if seconds < 0 else "before"
    return f"no reading {side} the reference yet, to draw the line to"


def _doubtful(reading: Reading, reference: Reference, rules: Rules, duration: Duration) -> str:
    del duration
    if abs(reading.time - rules.lag_seconds - reference.time) > rules.tolerance_seconds:
        return ""
    return "several readings are within tolerance, and candidates: reject takes none of them"


def _uncovered(reading: Reading, reference: Reference, rules: Rules, duration: Duration) -> str:
    if not reference.start < reference.end:
        return "the reference states no interval (start and end) to take the mean over"
    length = reference.end - reference.start
    time = reading.time - rules.lag_seconds
    if not reference.start <= time < reference.end:
        outside = max(reference.start - time, time - reference.end)
        return f"the reading is {duration(outside)} outside the reference's interval"
    needed = math.ceil(rules.completeness * length / rules.reading_seconds - 1e-9)
    return (
        f"too few readings yet: {needed} of {duration(rules.reading_seconds)} each are needed to "
        f"cover {100 * rules.completeness:.7g} % of the reference's {duration(length)}"
    )


# -- the rules ----------------------------------------------------------------------------------

_RULES: Final = (
    PairingRule(
        "nearest",
        "the one nearest in time",
        "each reference with the reading nearest in time, at most {tolerance} away",
        _mutually_nearest,
        pairing_rule.between_and_not_nearer,
        pairing_rule.losing_neighbours,
        pairing_rule.last_may_lose,
        pair_newest=_mutually_nearest_newest,
        is_local=True,
        is_candidate=True,
    ),
    PairingRule(
        "all",
        "each of them",
        "each reading with the reference nearest in time, at most {tolerance} away, at most "
        "{most} readings a reference",
        _every,
        pairing_rule.its_nearest,
        pairing_rule.its_neighbours,
        is_candidate=True,
    ),
    PairingRule(
        "first",
        "the earliest",
        "each reference with the first reading at most {tolerance} away",
        _first,
        pairing_rule.within_tolerance,
        pairing_rule.its_neighbours,
        is_candidate=True,
    ),
    PairingRule(
        "reject",
        "none unless there is just one",
        "each reference with its reading if there is just one at most {tolerance} away",
        _only,
        pairing_rule.within_tolerance,
        pairing_rule.its_neighbours,
        is_candidate=True,
        why_unpaired=_doubtful,
        unmet_cause="several",
        unmet="more than one reading is within {tolerance} of each reference, and "
        "pairing.candidates is reject",
    ),
    PairingRule(
        "asof",
        "the last reading before the reference",
        "each reference with the last reading at or before it, at most {tolerance} before",
        _as_of,
        pairing_rule.between,
        pairing_rule.itself,
        pairing_rule.never,
        is_local=True,
        why_unpaired=_after,
        unmet_cause="side",
        unmet="mode asof needs a reading before the reference, within {tolerance}",
    ),
    PairingRule(
        "interpolate",
        "the line between the readings around it",
        "each reference with the line between the readings before and after it, each at most "
        "{tolerance} away",
        _interpolated,
        pairing_rule.between,
        pairing_rule.itself,
        pairing_rule.never,
        is_local=True,
        is_of_several=True,
        why_unpaired=_one_sided,
        unmet_cause="side",
        unmet="mode interpolate needs a reading before and one after the reference, within "
        "{tolerance}",
    ),
    PairingRule(
        "mean_over_reference_interval",
        "the mean of the readings inside its interval",
        "each reference with the mean of the readings inside its interval; each stands for "
        "{reading}, and they must cover {completeness:.0%} of it",
        _mean,
        pairing_rule.by_interval,
        pairing_rule.itself,
        pairing_rule.never,
        is_of_several=True,
        uses_tolerance=False,
        needs=(
            (
                "reading_seconds",
                "is needed for mean_over_reference_interval: the duration of one reading",
            ),
        ),
        why_unpaired=_uncovered,
        unmet_cause="interval",
        unmet="the mode takes the mean over the reference's interval, so references need start and "
        "end, and pairing.reading_seconds times the readings inside must cover "
        "pairing.completeness",
    ),
)
PAIRING_RULES: Final[dict[str, PairingRule]] = {rule.name: rule for rule in _RULES}
