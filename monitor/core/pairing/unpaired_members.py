"""Sensors and subjects that do not pair, or state strange times, while others of the quantity pair.

Rules of this file: it reads what pairing holds and changes nothing; it looks at a bounded part, and
in detail only at members without a pair. :mod:`unpaired` covers what holds for a whole quantity.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from statistics import median
from typing import Final, NamedTuple

from monitor.core.model import NAN
from monitor.core.pairing.buffers import ReadingBuffer, ReferenceBuffer
from monitor.core.pairing.engine import Pairing
from monitor.core.pairing.unpaired import cause_by_times, nearly_agreeing, times_of

MEMBER_CAUSES: Final[Mapping[str, str]] = {
    "clock": "the times it states are far from when its readings come, those of others are not",
    "no_sensor": "the references are about no sensor that sends readings",
    "subject": "no reference is about it",
    "key": "it has no key in common with the references about it",
    "collocation": "no reference is of a time when its subject stood beside it",
    "tolerance": "its readings and references are too far apart in time",
    "interval": "its references state no interval, or too little of it is covered by readings",
    "side": "its readings are on the wrong side of the references in time",
    "several": "several of its readings fit each reference",
}
_BUFFERS_MAX: Final = 20_000
_DETAILED_MAX: Final = 200
_LATEST: Final = 100
_FEWEST: Final = 3
_CLOCK_SECONDS: Final = 60.0
_STORED_SECONDS: Final = 86_400.0  # readings that come later were stored


class Member(NamedTuple):
    """A sensor (or, for the cause ``no_sensor``, a subject) that stands out; see MEMBER_CAUSES.

    ``readings``, ``references`` and ``paired`` count what is held of it. ``nearest`` is a pair of
    names or keys that nearly agree. ``gap_seconds`` and ``gap_side`` are as in Unpaired;
    ``late_seconds`` is the least time from a reading's stated time to its arrival,
    ``usual_seconds`` the median of that over the other sensors; NaN where none was compared.
    """

    quantity: str
    name: str
    cause: str
    readings: int = 0
    references: int = 0
    paired: int = 0
    nearest: tuple[str, str] | None = None
    gap_seconds: float = NAN
    gap_side: str = ""
    tolerance_seconds: float = NAN
    late_seconds: float = NAN
    usual_seconds: float = NAN
    mode: str = ""


class _Held(NamedTuple):
    """All that is held of one quantity, by sensor and by subject."""

    sensors: dict[str, list[ReadingBuffer]]
    subjects: dict[str, list[ReferenceBuffer]]


def examine_members(
    pairing: Pairing, lacks_series: Callable[[str], bool] = lambda _sensor: False
) -> list[Member]:
    """Return what stands out, by quantity, cause and name; no subject that ``lacks_series``."""
    members: list[Member] = []
    for quantity, held in _by_quantity(pairing).items():
        late = {sensor: _late(buffers) for sensor, buffers in held.sensors.items()}
        orphans = {
            subject: references
            for subject, references in held.subjects.items()
            if subject
            and not any(each.scope.series for each in references)
            and not lacks_series(subject)
        }
        off = _clocks(quantity, held, late)
        silent = [
            sensor
            for sensor, buffers in held.sensors.items()
            if not any(each.matches for each in buffers) and any(each.times for each in buffers)
        ]
        for sensor in silent[:_DETAILED_MAX]:
            member = _without_pair(pairing, quantity, sensor, held.sensors[sensor], orphans)
            if member.cause in ("subject", "key") or sensor not in off:
                off[sensor] = member
        taken = {each.nearest[1] for each in off.values() if each.nearest is not None}
        members += off.values()
        members += _orphans(quantity, orphans, held, taken)
    order = list(MEMBER_CAUSES)
    return sorted(members, key=lambda each: (each.quantity, order.index(each.cause), each.name))


def _by_quantity(pairing: Pairing) -> dict[str, _Held]:
    held: dict[str, _Held] = {}
    for (sensor, quantity, _), readings in islice(pairing.reading_buffers.items(), _BUFFERS_MAX):
        sensors = held.setdefault(quantity, _Held({}, {})).sensors
        sensors.setdefault(sensor, []).append(readings)
    for match, references in islice(pairing.reference_buffers.items(), _BUFFERS_MAX):
        if references.times and match[0] in held:
            held[match[0]].subjects.setdefault(match[1], []).append(references)
    return held


# -- clocks --------------------------------------------------------------------------------------


def _late(buffers: Sequence[ReadingBuffer]) -> float:
    """Return the least time from the stated time to the arrival of a sensor's latest readings, s.

    The least, because many sensors send readings in batches: the last one is then in time.
    """
    seconds = [
        received - time - readings.lag_seconds
        for readings in buffers[-_LATEST:]
        for time, received in zip(
            readings.times[-_LATEST:], readings.received[-_LATEST:], strict=True
        )
    ]
    return min(seconds) if len(seconds) >= _FEWEST else NAN


def _clocks(quantity: str, held: _Held, late: Mapping[str, float]) -> dict[str, Member]:
    """Return the sensors whose readings come much later, or earlier, than those of the others."""
    known = {sensor: seconds for sensor, seconds in late.items() if not math.isnan(seconds)}
    prompt = {sensor: each for sensor, each in known.items() if abs(each) <= _STORED_SECONDS}
    if 2 * len(prompt) < len(known):  # most sent what was stored: no clock is judged by that
        known = prompt
    if len(known) < 2:
        return {}
    usual = median(prompt.values()) if len(prompt) > 2 else min(prompt.values(), key=abs)
    return {
        sensor: Member(
            quantity,
            sensor,
            "clock",
            readings=_count(held.sensors[sensor]),
            paired=sum(each.matches.pairs for each in held.sensors[sensor]),
            late_seconds=seconds,
            usual_seconds=usual,
        )
        for sensor, seconds in known.items()
        if seconds and abs(seconds - usual) > _CLOCK_SECONDS  # 0: the time is that of arrival
    }


# -- without a pair ------------------------------------------------------------------------------


def _without_pair(
    pairing: Pairing,
    quantity: str,
    sensor: str,
    buffers: Sequence[ReadingBuffer],
    orphans: Mapping[str, object],
) -> Member:
    buffers = [readings for readings in buffers if readings.times]
    joins = [join.references for readings in buffers for join in readings.joins]
    scopes = {id(each.scope): each.scope for each in joins}
    about = sum(len(scope.times) for scope in scopes.values())
    known = Member(quantity, sensor, "subject", _count(buffers), about)
    if not about:
        return known._replace(nearest=nearly_agreeing((sensor,), orphans))
    if not any(each.times for each in joins):
        near = nearly_agreeing(_keys(pairing, buffers), _reference_keys(pairing, scopes))
        return known._replace(cause="key", nearest=near)
    return known._replace(**cause_by_times(times_of(buffers), buffers[0].rules))


def _keys(pairing: Pairing, buffers: Sequence[ReadingBuffer]) -> list[str]:
    mine = set(map(id, buffers))
    held = islice(pairing.reading_buffers.items(), _BUFFERS_MAX)
    return [key for (_, _, key), readings in held if id(readings) in mine]


def _reference_keys(pairing: Pairing, scopes: Mapping[int, object]) -> set[str]:
    held = islice(pairing.reference_buffers.items(), _BUFFERS_MAX)
    return {
        key
        for (_, _, key), references in held
        if references.times and id(references.scope) in scopes
    }


def _orphans(
    quantity: str,
    orphans: Mapping[str, Sequence[ReferenceBuffer]],
    held: _Held,
    taken: set[str],
) -> Iterable[Member]:
    """Yield the subjects that concern no sensor, except those that a sensor's line names."""
    for subject in islice(orphans, _DETAILED_MAX):
        if subject not in taken:
            count = sum(len(each.times) for each in orphans[subject])
            near = nearly_agreeing((subject,), held.sensors)
            yield Member(quantity, subject, "no_sensor", references=count, nearest=near)


def _count(buffers: Sequence[ReadingBuffer]) -> int:
    return sum(len(each.times) for each in buffers)
