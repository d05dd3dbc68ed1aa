"""Pairs of one reference: with a single reading, or with the weighted mean of several.

Rules of this file: pure functions of a probe, which is one reference looking into one reading
buffer. They make the pair; which readings belong to it is decided by a pairing rule.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import scipy

from monitor.core.model import NAN, Distribution, Reading
from monitor.core.pairing.buffers import Join, ReadingBuffer
from monitor.core.pairing.identities import combine
from monitor.core.pairing.pair_rows import Row
from monitor.core.pairing.series_rules import Rules
from monitor.core.scores.ensembles import crps_packed

# Bisection looks this much further than the tolerance, in seconds: the exact comparison follows.
MARGIN_SECONDS: Final = 1e-5


class Probe(NamedTuple):
    """One reference, its place in its buffer and its time, seen from one reading buffer."""

    readings: ReadingBuffer
    join: Join
    at: int
    time: float
    rules: Rules


def row_of(probe: Probe, reading: Reading, time: float, seconds: float, identity: int) -> Row:
    """Return the pair of a probe's reference with a reading, real or combined from several."""
    references = probe.join.references
    reference = references.entries[probe.at]
    return (
        probe.readings.series,
        identity,
        time,
        reading.value,
        reading.u,
        reading.lower,
        reading.upper,
        reading.p,
        reference.value,
        reference.u,
        probe.rules.uncertainty.of(seconds, probe.join.distance_km),
        references.digests[probe.at],
        crps_packed(reading.places, reading.levels, reference.value)
        if isinstance(reading, Distribution)
        else NAN,
        False,
    )


def pair_with(probe: Probe, at: int) -> list[Row]:
    """Return the pair of a reference with the reading at a place, named by the reference."""
    reading = probe.readings.reading(at)
    identity = combine(probe.readings.digest, probe.join.references.digests[probe.at])
    seconds = probe.readings.times[at] - probe.time
    return [row_of(probe, reading, reading.time, seconds, identity)]


def pair_with_mean(probe: Probe, weighted: list[tuple[float, Reading]]) -> list[Row]:
    """Return the pair of a reference with the weighted mean of several readings.

    u^2 = (1 - r) sum (w u)^2 + r (sum w u)^2 for errors with correlation r (GUM equation 16); the
    arms of coverage intervals are combined like u.
    """
    r = probe.rules.correlation
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
    mean = Reading(first.sensor, first.quantity, probe.time, value, u, lower, upper, p)
    identity = combine(probe.readings.digest, probe.join.references.digests[probe.at])
    return [row_of(probe, mean, probe.time, 0.0, identity)]


def _standard(reading: Reading) -> float:
    """Return the standard uncertainty of a reading, else that of its interval (normal)."""
    if not math.isnan(reading.u):
        return reading.u
    p = 0.9 if math.isnan(reading.p) else reading.p
    return (reading.upper - reading.lower) / (2.0 * float(scipy.special.ndtri(0.5 + 0.5 * p)))
