"""The type of a pairing rule, and the parts of rules: probes, and affected references.

Rules of this file: a probe is one reference looking into one reading buffer. It makes pairs with a
single reading or with the weighted mean of several; a rule decides which readings belong to it. A
function that names the references to pair again may name more than change, never fewer: those it
leaves out are not looked at. The brute-force oracle of the tests checks that. A rule is behaviour,
needs and words in one object; nothing here knows a rule by its name.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import scipy

from monitor.core.model import NAN, Distribution, Reading, Reference
from monitor.core.pairing.buffers import Join, NearestReading, ReadingBuffer, ReferenceBuffer
from monitor.core.pairing.identities import Row, combine
from monitor.core.pairing.series_rules import Rules
from monitor.core.scores.ensembles import crps_packed


def nearest(times: Sequence[float], time: float) -> int:
    """Return the place in sorted ``times`` (not empty) nearest to ``time``; the earlier on a tie.

    Among equal times the first place is returned.
    """
    after = bisect_left(times, time)
    if after == len(times):
        return bisect_left(times, times[-1])
    if after and time - times[after - 1] <= times[after] - time:
        return bisect_left(times, times[after - 1])
    return after


def is_nearest(times: Sequence[float], at: int, time: float) -> bool:
    """Return whether ``nearest(times, time)`` is ``at``, looking only at its neighbours."""
    own = times[at]
    if at and not (times[at - 1] < own and time - times[at - 1] > own - time):
        return False
    if time <= own or at == len(times) - 1:
        return True
    later = times[at + 1]
    return time - own <= later - time if later > own else nearest(times, time) == at


# -- probes ---------------------------------------------------------------------------------------

# Bisection looks this much further than the tolerance, in seconds: the exact comparison follows.
MARGIN_SECONDS: Final = 1e-5


class Probe(NamedTuple):
    """One reference, its place in its buffer and its time, seen from one reading buffer."""

    readings: ReadingBuffer
    join: Join
    at: int
    time: float


def row_of(probe: Probe, reading: Reading, time: float, seconds: float, identity: int) -> Row:
    """Return the pair of a probe's reference with a reading, real or combined from several."""
    references = probe.join.references
    value = references.values[probe.at]
    return (
        probe.readings.series,
        identity,
        time,
        reading.value,
        reading.u,
        reading.lower,
        reading.upper,
        reading.p,
        value,
        references.us[probe.at],
        probe.readings.rules.uncertainty.of(seconds, probe.join.distance_km),
        references.identities[probe.at],
        crps_packed(reading.places, reading.levels, value)
        if isinstance(reading, Distribution)
        else NAN,
        False,
    )


def pair_with(probe: Probe, at: int) -> list[Row]:
    """Return the pair of a reference with the reading at a place; its id is by the reference."""
    reading = probe.readings.reading(at)
    identity = combine(probe.readings.digest, probe.join.references.identities[probe.at])
    seconds = probe.readings.times[at] - probe.time
    return [row_of(probe, reading, reading.time, seconds, identity)]


def pair_with_mean(probe: Probe, weighted: list[tuple[float, Reading]]) -> list[Row]:
    """Return the pair of a reference with the weighted mean of several readings.

    u^2 = (1 - r) sum (w u)^2 + r (sum w u)^2 for errors with correlation r (GUM equation 16); the
    arms of coverage intervals are combined like u.
    """
    r = probe.readings.rules.correlation
    value = math.fsum(w * reading.value for w, reading in weighted)

    def combined(parts: list[float]) -> float:
        squares = math.fsum(part * part for part in parts)
        total = math.fsum(parts)
        return math.sqrt((1.0 - r) * squares + r * total * total)

    u = lower = upper = p = NAN
    if all(not math.isnan(reading.u) for _, reading in weighted):
        u = combined([w * reading.u for w, reading in weighted])
    levels = {None if math.isnan(reading.p) else reading.p for _, reading in weighted}
    if all(not math.isnan(reading.lower) for _, reading in weighted) and len(levels) == 1:
        p = weighted[0][1].p
        lower = value - combined([w * (reading.value - reading.lower) for w, reading in weighted])
        upper = value + combined([w * (reading.upper - reading.value) for w, reading in weighted])
    elif math.isnan(u):
        level = probe.readings.rules.level
        u = combined([w * _standard(reading, level) for w, reading in weighted])
    first = weighted[0][1]
    mean = Reading(first.sensor, first.quantity, probe.time, value, u, lower, upper, p)
    identity = combine(probe.readings.digest, probe.join.references.identities[probe.at])
    return [row_of(probe, mean, probe.time, 0.0, identity)]


def _standard(reading: Reading, level: float) -> float:
    """Return the standard uncertainty of a reading, else that of its interval (normal).

    ``level`` is that of an interval which states none.
    """
    if not math.isnan(reading.u):
        return reading.u
    p = level if math.isnan(reading.p) else reading.p
    return (reading.upper - reading.lower) / (2.0 * float(scipy.special.ndtri(0.5 + 0.5 * p)))


# -- affected references --------------------------------------------------------------------------

# -- by a new reading ---------------------------------------------------------------------------


def between(readings: ReadingBuffer, references: ReferenceBuffer, at: int) -> range:
    """Return the references between the readings before and after one, within tolerance of it."""
    times, time = readings.times, readings.times[at]
    reach = readings.rules.tolerance_seconds
    low, high = time - reach, time + reach
    before = bisect_left(times, time) - 1
    after = bisect_right(times, time)
    if before >= 0:
        low = max(low, times[before])
    if after < len(times):
        high = min(high, times[after])
    return _spanning(references, low, high)


def between_and_not_nearer(
    readings: ReadingBuffer, references: ReferenceBuffer, at: int
) -> list[int]:
    """Return the references of :func:`between` with no reading, or one that is not nearer."""
    affected = []
    for place in between(readings, references, at):
        match = readings.match_of(references, place)
        if match is not None:
            time, paired = references.times[place], match.time - readings.lag_seconds
            if abs(paired - time) < abs(readings.times[at] - time):
                continue
        affected.append(place)
    return affected


def within_tolerance(readings: ReadingBuffer, references: ReferenceBuffer, at: int) -> range:
    """Return the references within tolerance of a reading."""
    time = readings.times[at]
    reach = readings.rules.tolerance_seconds
    return _spanning(references, time - reach, time + reach)


def by_interval(readings: ReadingBuffer, references: ReferenceBuffer, at: int) -> range:
    """Return the references whose interval may hold a reading."""
    time = readings.times[at]
    return _spanning(references, time - references.span_seconds, time + references.span_seconds)


def its_nearest(readings: ReadingBuffer, references: ReferenceBuffer, at: int) -> tuple[int, ...]:
    """Return the reference nearest to a reading, none if it has its maximum of nearer ones."""
    time = readings.times[at]
    place = nearest(references.times, time)
    match = readings.match_of(references, place)
    if match is not None and len(match) >= readings.rules.max_pairs_per_reference:
        own = references.times[place]
        far = max(abs(row[2] - readings.lag_seconds - own) for row in match.rows)
        if abs(time - own) > far + MARGIN_SECONDS:
            return ()
    return (place,)


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
    """Return the references that one competes with: of the same time and the adjacent times."""
    times = references.times
    if at == len(times) - 1 and (at < 2 or times[at - 2] < times[at - 1] < times[at]):
        return range(max(at - 1, 0), at + 1)
    first = bisect_left(times, times[at])
    last = bisect_right(times, times[at])
    first = bisect_left(times, times[first - 1]) if first else 0
    last = bisect_right(times, times[last]) if last < len(times) else last
    return range(first, last)


def losing_neighbours(readings: ReadingBuffer, references: ReferenceBuffer, at: int) -> list[int]:
    """Return the new reference and the neighbours whose reading may be nearer to the new one."""
    times, lag = references.times, readings.lag_seconds
    affected = []
    for other in neighbours(references, at):
        match = readings.match_of(references, other)
        if other == at:
            affected.append(other)
        elif match is not None:
            time = match.time - lag
            if not abs(time - times[other]) < abs(time - times[at]):
                affected.append(other)
    return affected


# -- by a reference later than all --------------------------------------------------------------


def last_may_lose(readings: ReadingBuffer, references: ReferenceBuffer, time: float) -> bool:
    """Return whether the reading of the last reference may be nearer to one at a later ``time``."""
    times = references.times
    if len(times) > 1 and times[-1] == times[-2]:
        return True
    match = readings.match_of(references, -1)
    if match is None:
        return False
    paired = match.time - readings.lag_seconds
    return not abs(paired - times[-1]) < abs(paired - time)


def always(readings: ReadingBuffer, references: ReferenceBuffer, time: float) -> bool:
    """Return True: the rule has no cheap way to decide."""
    del readings, references, time
    return True


def never(readings: ReadingBuffer, references: ReferenceBuffer, time: float) -> bool:
    """Return False: references do not compete."""
    del readings, references, time
    return False


# -- the rule -------------------------------------------------------------------------------------

Duration = Callable[[float], str]  # seconds -> text such as "3.5 h"
# (reading, reference, rules, how to write a duration) -> why the two are not a pair; "" for the
# reason common to all rules: too far apart, or another one is nearer
WhyUnpaired = Callable[[Reading, Reference, Rules, Duration], str]


def _no_reason(reading: Reading, reference: Reference, rules: Rules, duration: Duration) -> str:
    del reading, reference, rules, duration
    return ""


@dataclass(frozen=True, slots=True)
class PairingRule:
    """One rule: how it pairs, what it needs, and its words.

    ``pairs`` returns the pairs of one reference in one reading buffer. ``affected_by_reading`` and
    ``affected_by_reference`` return the references that an arrival may change, and
    ``last_is_affected`` whether a reference later than all others may change the last of them.
    ``pair_newest`` is an optional accelerator: it returns what ``pairs`` would for a plain
    reference later than all others, or None to leave it to ``pairs``.
    ``is_local``: a reading affects no reference earlier than the reading before it.
    ``is_of_several``: a pair is made from several readings, so that retention cannot derive from
    the pair alone which ones it needs.

    ``is_candidate``: chosen by ``pairing.candidates``, else by ``pairing.mode``. ``help`` is its
    line in the settings' documentation, ``sentence`` how ``monitor explain`` puts it, with
    ``{tolerance}``, ``{reading}`` and ``{completeness}``. ``needs`` names settings of a series
    (of :class:`.Rules`) that must not be 0, each with the reason.
    ``why_unpaired`` says why two observations are not a pair. ``unmet_cause`` and ``unmet`` say why
    a whole quantity has no pairs although times are within tolerance, or at any times if the rule
    has no tolerance (``uses_tolerance``).
    """

    name: str
    help: str
    sentence: str
    pairs: Callable[[Probe], list[Row]]
    affected_by_reading: Callable[[ReadingBuffer, ReferenceBuffer, int], Iterable[int]]
    affected_by_reference: Callable[[ReadingBuffer, ReferenceBuffer, int], Iterable[int]]
    last_is_affected: Callable[[ReadingBuffer, ReferenceBuffer, float], bool] = always
    pair_newest: (
        Callable[[ReadingBuffer, Join, int, float, NearestReading | None], list[Row] | None] | None
    ) = None
    is_local: bool = False
    is_of_several: bool = False
    is_candidate: bool = False
    uses_tolerance: bool = True
    needs: tuple[tuple[str, str], ...] = ()
    why_unpaired: WhyUnpaired = _no_reason
    unmet_cause: str = "tolerance"
    unmet: str = ""
