"""Why readings and references do not pair: counts, examples of both sides, the nearest misses.

Rules of this file: it reads what pairing holds and changes nothing. It reads a bounded part of it,
so that it may run while messages come. Causes are a closed list.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from itertools import islice
from statistics import median
from typing import Any, Final, NamedTuple

from monitor.core.model import NAN
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
    "tolerance": "readings and references are too far apart in time",
    "interval": "references state no interval, or too little of it is covered by readings",
    "side": "the readings are on the wrong side of the references in time",
    "several": "several readings fit each reference, and the candidates' policy is to reject",
}
_BUFFERS_MAX: Final = 2000
_NAMES_MAX: Final = 300
_EXAMPLES: Final = 3
_HALF_HOUR: Final = 1800.0


class Unpaired(NamedTuple):
    """One quantity: what is held of it, and why it makes no pairs (a key of ``CAUSES``).

    ``on_readings`` and ``on_references`` are examples of the names or keys of both sides;
    ``nearest`` a pair of them that nearly agree; ``gap_seconds`` the median time from a reference
    to its nearest reading, NaN if none was compared. ``partly``: so much is held that only a part
    was looked at, which ``readings``, ``references`` and ``paired`` count.
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
    tolerance_seconds: float = NAN
    mode: str = ""
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
        paired=sum(len(readings.matches) for readings in held.reading_buffers.values()),
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
            cause=cause, nearest=nearly_agreeing((quantity,), others - {quantity})
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
    gaps: list[float] = []
    rules = Rules()
    for readings in held.reading_buffers.values():
        rules = readings.rules
        for join in readings.joins:
            if join.references.times and len(gaps) < _BUFFERS_MAX:
                gaps.append(gap_seconds(readings.times, join.references.times))
    return known._replace(**cause_by_times(gaps, rules))


def cause_by_times(gaps: Sequence[float], rules: Rules) -> dict[str, Any]:
    """Return the fields that times of references to their nearest readings tell, in s."""
    rule = PAIRING_RULES[rules.mode]
    is_far = rule.uses_tolerance and min(map(abs, gaps)) > rules.tolerance_seconds
    return {
        "cause": "tolerance" if is_far else rule.unmet_cause,
        "gap_seconds": median(gaps),
        "tolerance_seconds": rules.tolerance_seconds,
        "mode": rules.mode,
    }


def gap_seconds(readings: Sequence[float], references: Sequence[float]) -> float:
    """Return the smallest time, with its sign, from one of the last references to a reading."""
    best = math.inf
    for time in references[-_NAMES_MAX:]:
        at = bisect_left(readings, time)
        for near in readings[max(at - 1, 0) : at + 1]:
            if abs(near - time) < abs(best):
                best = near - time
    return best


def half_hours(gap_seconds: float) -> float:
    """Return how many hours a gap is if it looks like a mistaken time zone, else 0."""
    hours = round(gap_seconds / _HALF_HOUR)
    off = abs(gap_seconds - hours * _HALF_HOUR)
    looks_so = 1 <= abs(hours) <= 28 and off <= 0.1 * _HALF_HOUR
    return hours / 2.0 if looks_so else 0.0
