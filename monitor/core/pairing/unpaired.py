"""Why readings and references do not pair: counts, examples of both sides, the nearest misses.

Rules of this file: it reads what pairing holds and changes nothing. It reads a bounded part of it,
so that it may run while messages come. Causes are a closed list.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from itertools import islice
from math import copysign
from typing import Any, Final, NamedTuple

import numpy as np

from monitor.core.model import NAN, Float
from monitor.core.pairing.buffers import ReadingBuffer, ReferenceBuffer
from monitor.core.pairing.engine import Pairing
from monitor.core.pairing.pairing_rules import PAIRING_RULES
from monitor.core.pairing.series_rules import Rules

CAUSES: Final[Mapping[str, str]] = {
    "paired": "pairs are made",
    "no_readings": "no reading of this quantity is held",
    "no_references": "no reference of this quantity is held",
    "subject": "no reference is about a sensor that reads it",
    "key": "readings and references have no key in common",
    "collocation": "no reference is of a time when its subject stood beside the sensor",
    "tolerance": "readings and references are too far apart in time",
    "interval": "references state no interval, or too little of it is covered by readings",
    "side": "the readings are on the wrong side of the references in time",
    "several": "several readings fit each reference, and the candidates' policy is to reject",
}
_BUFFERS_MAX: Final = 2000
_NAMES_MAX: Final = 300
_EXAMPLES: Final = 3
_HALF_HOUR: Final = 1800.0
_TIMES_MAX: Final = 200
_VOIDS_MAX: Final = 20_000
# Of a time zone: hours and half hours, and the four zones on a quarter (Nepal, Eucla, Chatham).
_ZONES: Final = (*(half / 2.0 for half in range(2, 29)), 5.75, 8.75, 12.75, 13.75)
_ZONE_SECONDS: Final = 3600.0 * np.array([*_ZONES, *(-each for each in _ZONES)])
_SHIFTS: Final = np.arange(-50_400.0, 50_401.0, 300.0)  # all within 14 h that it is compared with
_ZONE_MARGIN: Final = 180.0  # references are that close to their readings
_ZONE_APART: Final = 900.0  # and shifts that far from the zone pair fewer


class Unpaired(NamedTuple):
    """One quantity: what is held of it, and why it makes no pairs (a key of ``CAUSES``).

    ``on_readings`` and ``on_references`` are examples of the names or keys of both sides;
    ``nearest`` a pair of them that nearly agree; ``gap_seconds`` the median time from a reference
    to its nearest reading, which is on the ``gap_side`` of it, NaN if none was compared.
    ``zone_hours``: so much later are the readings if a wrong time zone would explain the gap, else
    0. ``paired`` counts pairs, ``voided`` the references that were withdrawn, where none is left.
    ``partly``: so much is held that only a part was looked at, which these count.
    """

    quantity: str
    cause: str
    readings: int
    references: int
    paired: int
    on_readings: tuple[str, ...] = ()
    on_references: tuple[str, ...] = ()
    nearest: tuple[str, str] | None = None
    gap_seconds: float = NAN
    gap_side: str = ""
    zone_hours: float = 0.0
    tolerance_seconds: float = NAN
    mode: str = ""
    voided: int = 0
    partly: bool = False


class _QuantityBuffers(NamedTuple):
    """The buffers of one quantity: readings by (sensor, key), references by (subject, key)."""

    quantity: str
    reading_buffers: dict[tuple[str, str], ReadingBuffer]
    reference_buffers: dict[tuple[str, str], ReferenceBuffer]


def examine(pairing: Pairing) -> list[Unpaired]:
    """Return the state of each quantity held, those without pairs first."""
    names = {quantity for _, quantity, _ in pairing.reading_buffers}
    names |= {
        match[0] for match, references in pairing.reference_buffers.items() if references.times
    }
    examined = [_examine(pairing, quantity) for quantity in sorted(names)]
    return sorted(examined, key=lambda each: each.cause == "paired")


def _examine(pairing: Pairing, quantity: str) -> Unpaired:
    reading_buffers = (
        ((sensor, key), readings)
        for (sensor, of, key), readings in pairing.reading_buffers.items()
        if of == quantity
    )
    reference_buffers = (
        ((subject, key), references)
        for (of, subject, key), references in pairing.reference_buffers.items()
        if of == quantity and references.times
    )
    held = _QuantityBuffers(
        quantity,
        dict(islice(reading_buffers, _BUFFERS_MAX)),
        dict(islice(reference_buffers, _BUFFERS_MAX)),
    )
    known = Unpaired(
        quantity,
        "paired",
        readings=sum(len(readings.times) for readings in held.reading_buffers.values()),
        references=sum(len(references.times) for references in held.reference_buffers.values()),
        paired=sum(readings.matches.pairs for readings in held.reading_buffers.values()),
        partly=_BUFFERS_MAX in (len(held.reading_buffers), len(held.reference_buffers)),
    )
    if known.paired:
        return known
    if not known.readings or not known.references:
        cause = "no_references" if known.readings else "no_readings"
        others = {
            match[0] for match, references in pairing.reference_buffers.items() if references.times
        }
        if cause == "no_readings":
            others = {of for _, of, _ in pairing.reading_buffers}
        return known._replace(
            cause=cause,
            nearest=nearly_agreeing((quantity,), others - {quantity}),
            voided=0 if known.references else pairing.references.voids_of(quantity, _VOIDS_MAX),
        )
    # A buffer may outlive its readings until the next round.
    filled = {name: each for name, each in held.reading_buffers.items() if each.times}
    held = held._replace(reading_buffers=filled)
    return _names(held, known) or _times(held, known)


def _names(held: _QuantityBuffers, known: Unpaired) -> Unpaired | None:
    """Compare the subjects of the references, then the keys; None if some agree in both."""
    met = {
        id(join.references) for readings in held.reading_buffers.values() for join in readings.joins
    }
    if any(id(references) in met for references in held.reference_buffers.values()):
        return None
    sensors = {sensor for sensor, _ in held.reading_buffers}
    subjects = {subject for subject, _ in held.reference_buffers}
    scopes = {id(references.scope) for references in held.reference_buffers.values()}
    concerned = any(
        id(join.references.scope) in scopes
        for readings in held.reading_buffers.values()
        for join in readings.joins
    )
    if not concerned:
        return _compared(known._replace(cause="subject"), sensors, subjects)
    keys = {key for _, key in held.reading_buffers}
    return _compared(known._replace(cause="key"), keys, {key for _, key in held.reference_buffers})


def _compared(known: Unpaired, ours: set[str], theirs: set[str]) -> Unpaired:
    return known._replace(
        on_readings=tuple(sorted(ours)[:_EXAMPLES]),
        on_references=tuple(sorted(theirs)[:_EXAMPLES]),
        nearest=nearly_agreeing(sorted(ours), theirs),
    )


def nearly_agreeing(ours: Iterable[str], theirs: Iterable[str]) -> tuple[str, str] | None:
    """Return two names, one of each side, that nearly agree."""
    candidates = sorted(theirs)[:_NAMES_MAX]
    bare = {_bare(name): name for name in candidates if _bare(name)}
    mine = list(islice(ours, _NAMES_MAX))
    for name in mine:
        if _bare(name) in bare:
            return name, bare[_bare(name)]
    for name in mine[:20]:
        close = get_close_matches(name, candidates, n=1, cutoff=0.75)
        if close:
            return name, close[0]
    return None


def _bare(name: str) -> str:
    return "".join(character for character in name.casefold() if character.isalnum())


def _times(held: _QuantityBuffers, known: Unpaired) -> Unpaired:
    """Compare times where names agree, then ask the pairing rule what it lacks."""
    buffers = held.reading_buffers.values()
    times = times_of(buffers)
    rules = next((readings.rules for readings in buffers), Rules())
    known = known._replace(**cause_by_times(times, rules))
    if known.cause == "collocation":
        subjects = {references.name[0] for references in held.reference_buffers.values()}
        return _compared(known, {sensor for sensor, _ in held.reading_buffers}, subjects)
    if known.cause != "tolerance":
        return known
    return known._replace(zone_hours=zone_hours(times, rules.tolerance_seconds))


class Times(NamedTuple):
    """The times of readings, and of references that concern them, in order, s."""

    readings: Float
    references: Float


def times_of(buffers: Iterable[ReadingBuffer]) -> list[Times]:
    """Return times of readings, with those of references that concerned them then.

    Of the references it takes a few, from the first to the last.
    """
    joined = list(islice(_joined(buffers), _TIMES_MAX))
    most = max(2, _TIMES_MAX // max(len(joined), 1))
    chosen = [
        np.linspace(within.start, within.stop - 1, min(most, len(within))).astype(np.int64)
        for _, _, within in joined
    ]
    return [
        Times(np.frombuffer(readings.times), np.frombuffer(references.times)[places])
        for (readings, references, _), places in zip(joined, chosen, strict=True)
    ]


def _joined(
    buffers: Iterable[ReadingBuffer],
) -> Iterator[tuple[ReadingBuffer, ReferenceBuffer, range]]:
    """Yield buffers that are joined, with the places of the references within the join."""
    for readings in buffers:
        for join in readings.joins if readings.times else ():
            times = join.references.times
            within = range(bisect_left(times, join.start), bisect_right(times, join.end))
            if within:
                yield readings, join.references, within


def cause_by_times(times: Sequence[Times], rules: Rules) -> dict[str, Any]:
    """Return the fields that the times of readings and their references tell."""
    if not times:
        return {"cause": "collocation"}
    rule = PAIRING_RULES[rules.mode]
    gaps = np.concatenate([_gaps(each.readings, each.references) for each in times])
    is_far = rule.uses_tolerance and np.abs(gaps).min() > rules.tolerance_seconds
    sides = [name for name, side in (("before", gaps < 0.0), ("after", gaps >= 0.0)) if side.any()]
    return {
        "cause": "tolerance" if is_far else rule.unmet_cause,
        "gap_seconds": copysign(float(np.median(np.abs(gaps))), float(np.median(gaps))),
        "gap_side": " or ".join(sides),
        "tolerance_seconds": rules.tolerance_seconds,
        "mode": rules.mode,
    }


def _gaps(readings: Float, references: Float) -> Float:
    """Return the time, with its sign, from each reference to its nearest reading."""
    at = np.searchsorted(readings, references)
    before = readings[np.maximum(at - 1, 0)] - references
    after = readings[np.minimum(at, readings.size - 1)] - references
    return np.where(np.abs(before) <= np.abs(after), before, after)


def zone_hours(times: Sequence[Times], tolerance_seconds: float) -> float:
    """Return how many hours later readings are if that is clearly a time zone, else 0.

    It is where nearly every reference meets a reading once moved by the zone, and any other shift
    meets fewer, by two at least. Where readings are dense, the shift shows in the first and the
    last reference; with few references there, or where both come by the hour, several shifts do.
    """
    margin = min(tolerance_seconds, _ZONE_MARGIN)
    met = np.zeros(_SHIFTS.size, dtype=np.int64)
    for readings, references in times:
        gaps = _gaps(readings, references + _SHIFTS[:, None])
        met += np.count_nonzero(np.abs(gaps) <= margin, axis=1)
    zones = np.searchsorted(_SHIFTS, _ZONE_SECONDS)
    best = zones[met[zones].argmax()]
    others = met[np.abs(_SHIFTS - _SHIFTS[best]) >= _ZONE_APART].max()
    most = met.max()
    if met[best] < max(3.0, 0.9 * sum(each.references.size for each in times)):
        return 0.0
    return float(_SHIFTS[best]) / 3600.0 if met[best] == most and others <= most - 2 else 0.0


def half_hours(gap_seconds: float) -> float:
    """Return how many hours a gap is if it looks like a mistaken time zone, else 0."""
    hours = round(gap_seconds / _HALF_HOUR)
    off = abs(gap_seconds - hours * _HALF_HOUR)
    looks_so = 1 <= abs(hours) <= 28 and off <= 0.1 * _HALF_HOUR
    return hours / 2.0 if looks_so else 0.0
