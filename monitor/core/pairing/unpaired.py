"""Why readings and references do not pair: counts, examples of both sides, the nearest misses.

Rules of this file: it looks at what pairing holds and changes nothing; it looks at a bounded part
of it, so that it may be asked while messages come; causes are a closed list.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from itertools import islice
from statistics import median
from typing import Final, NamedTuple

from monitor.core.model import NAN
from monitor.core.pairing.buffers import Bucket, Lane
from monitor.core.pairing.engine import Pairing
from monitor.core.pairing.pairing_rules import Rules

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
_LANES_MAX: Final = 2000
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


class _Held(NamedTuple):
    """What pairing holds of one quantity; lanes by (sensor, key), buckets by (subject, key)."""

    quantity: str
    lanes: dict[tuple[str, str], Lane]
    buckets: dict[tuple[str, str], Bucket]


def examine(pairing: Pairing) -> list[Unpaired]:
    """Return for each quantity that is held what became of it, those without pairs first."""
    names = {quantity for _, quantity, _ in pairing.lanes}
    names |= {match[0] for match, bucket in pairing.buckets.items() if bucket.times}
    found = [_examine(pairing, quantity) for quantity in sorted(names)]
    return sorted(found, key=lambda each: each.cause == "paired")


def _examine(pairing: Pairing, quantity: str) -> Unpaired:
    lanes = (
        ((sensor, key), lane) for (sensor, of, key), lane in pairing.lanes.items() if of == quantity
    )
    buckets = (
        ((subject, key), bucket)
        for (of, subject, key), bucket in pairing.buckets.items()
        if of == quantity and bucket.times
    )
    held = _Held(quantity, dict(islice(lanes, _LANES_MAX)), dict(islice(buckets, _LANES_MAX)))
    known = Unpaired(
        quantity,
        "paired",
        readings=sum(len(lane.times) for lane in held.lanes.values()),
        references=sum(len(bucket.times) for bucket in held.buckets.values()),
        paired=sum(len(lane.slots) for lane in held.lanes.values()),
        partly=_LANES_MAX in (len(held.lanes), len(held.buckets)),
    )
    if known.paired:
        return known
    if not known.readings or not known.references:
        cause = "no_references" if known.readings else "no_readings"
        others = {match[0] for match, bucket in pairing.buckets.items() if bucket.times}
        if cause == "no_readings":
            others = {of for _, of, _ in pairing.lanes}
        return known._replace(cause=cause, nearest=_nearest((quantity,), others - {quantity}))
    return _names(held, known) or _times(pairing, held, known)


def _names(held: _Held, known: Unpaired) -> Unpaired | None:
    """Compare whom the references are about, then the keys; None if some agree in both."""
    met = {id(link.bucket) for lane in held.lanes.values() for link in lane.links}
    if any(id(bucket) in met for bucket in held.buckets.values()):
        return None
    sensors = {sensor for sensor, _ in held.lanes}
    subjects = {subject for subject, _ in held.buckets}
    scopes = {id(bucket.scope) for bucket in held.buckets.values()}
    concerned = any(
        id(link.bucket.scope) in scopes for lane in held.lanes.values() for link in lane.links
    )
    if not concerned:
        return _compared(known._replace(cause="subject"), sensors, subjects)
    keys = {key for _, key in held.lanes}
    return _compared(known._replace(cause="key"), keys, {key for _, key in held.buckets})


def _compared(known: Unpaired, ours: set[str], theirs: set[str]) -> Unpaired:
    return known._replace(
        on_readings=tuple(sorted(ours)[:_EXAMPLES]),
        on_references=tuple(sorted(theirs)[:_EXAMPLES]),
        nearest=_nearest(sorted(ours), theirs),
    )


def _nearest(ours: Iterable[str], theirs: Iterable[str]) -> tuple[str, str] | None:
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


def _times(pairing: Pairing, held: _Held, known: Unpaired) -> Unpaired:
    """Compare times where names agree, then say what the mode missed."""
    gaps: list[float] = []
    rules = Rules()
    for lane in held.lanes.values():
        rules = pairing.rules_of_series(lane.series)
        for link in lane.links:
            if link.bucket.times and lane.times and len(gaps) < _LANES_MAX:
                gaps.append(_gap(lane.times, link.bucket.times))
    gap = median(gaps)
    known = known._replace(
        gap_seconds=gap, tolerance_seconds=rules.tolerance_seconds, mode=rules.mode
    )
    if rules.mode == "mean_over_reference_interval":
        return known._replace(cause="interval")
    if min(map(abs, gaps)) > rules.tolerance_seconds:
        return known._replace(cause="tolerance")
    if rules.mode in ("asof", "interpolate"):
        return known._replace(cause="side")
    return known._replace(cause="several" if rules.mode == "reject" else "tolerance")


def _gap(readings: Sequence[float], references: Sequence[float]) -> float:
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
