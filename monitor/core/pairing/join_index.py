"""Who may pair with whom: the buffers of readings and of references, and the joins between them.

Rules of this file: a reading buffer is joined to the references about its sensor and to those of
the subjects that concern it. Joins are a function of the settings, never of the order of arrival.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from math import inf
from typing import Final, NamedTuple

import numpy as np

from monitor.core.model import NAN, Reading, Reference
from monitor.core.pairing.buffers import (
    BufferKey,
    Join,
    ReadingBuffer,
    ReferenceBuffer,
    Scope,
    Tally,
)
from monitor.core.pairing.identities import digest
from monitor.core.pairing.observations import Watermarks
from monitor.core.pairing.pairing_rules import PAIRING_RULES
from monitor.core.pairing.series_rules import Rules
from monitor.core.pairing.staging import Staging

MatchKey = tuple[str, str, str]


class Concern(NamedTuple):
    """The references of ``subject`` concern a sensor, from ``start`` to ``end`` (s UTC)."""

    subject: str
    start: float = -float("inf")
    end: float = float("inf")
    distance_km: float = 0.0


class JoinIndex:
    """State: the buffers of both sides by their keys.

    ``rules_of(sensor, quantity)`` returns the rules of a series; ``match_on`` names what must agree
    besides the quantity: ``subject``, ``key``, both or neither. ``concerns_of(sensor)`` names the
    subjects besides the sensor itself whose references concern it.
    """

    def __init__(
        self,
        rules_of: Callable[[str, str], Rules],
        match_on: frozenset[str],
        concerns_of: Callable[[str], Iterable[Concern]],
    ) -> None:
        self._rules_of: Final = rules_of
        self._concerns_of: Final = concerns_of
        self._by_subject: Final = "subject" in match_on
        self.by_key: Final = "key" in match_on
        self.reading_buffers: Final[dict[BufferKey, ReadingBuffer]] = {}
        self.watermarks: Final = Watermarks()
        self.staging: Final = Staging(self.watermarks)
        self.reference_buffers: Final[dict[MatchKey, ReferenceBuffer]] = {}
        self.tally: Final = Tally()
        self.names: Final[dict[int, tuple[str, str]]] = {}
        self._scopes: dict[tuple[str, str], Scope] = {}
        self._changed: set[Scope] = set()
        self._buffers_of: Final[dict[int, dict[ReadingBuffer, None]]] = {}

    # -- readings ---------------------------------------------------------------------------

    def buffer_of(self, reading: Reading) -> ReadingBuffer | None:
        """Return the buffer of a reading, None if it is the first of its series and key."""
        return self.reading_buffers.get(self.key_of(reading))

    def key_of(self, reading: Reading) -> BufferKey:
        """Return what the readings of one buffer have in common."""
        return (reading.sensor, reading.quantity, reading.key if self.by_key else "")

    def buffers_of(self, series: int) -> Iterable[ReadingBuffer]:
        """Return the buffers of a series, one a key."""
        return self._buffers_of.get(series, ())

    def open_buffer(self, name: BufferKey, series: int) -> ReadingBuffer:
        """Return a new buffer, joined to all references that concern it."""
        sensor, quantity, key = name
        self.names[series] = (sensor, quantity)
        rules = self._rules_of(sensor, quantity)
        reach = 0.0 if PAIRING_RULES[rules.mode].is_local else inf
        readings = self.reading_buffers[name] = ReadingBuffer(
            series, name, rules, reach, self.watermarks
        )
        if readings.is_plain:
            self.staging.open(readings)
        self._buffers_of.setdefault(series, {})[readings] = None
        for concern in (Concern(sensor), *self._concerns_of(sensor)):
            self.join(readings, self.reference_buffer(concern.subject, quantity, key), concern)
        return readings

    def join(self, readings: ReadingBuffer, references: ReferenceBuffer, concern: Concern) -> None:
        """Join a buffer of references to a reading buffer."""
        join = Join(references, *concern[1:])
        if join not in readings.joins:
            readings.joins.append(join)
        if readings not in references.reading_buffers:
            references.reading_buffers.append(readings)
            references.last_match_time = NAN
            if references.times:
                readings.record_reference(references.times[-1])
            references.scope.series.add(readings.series)
            self.mark_changed(references)

    def flush_staged(self, buffers: Iterable[ReadingBuffer]) -> None:
        """Flush staged readings into some buffers, so that they hold all their readings."""
        staged = self.watermarks.staged
        behind = [readings.watermark for readings in buffers if staged[readings.watermark]]
        if behind:
            self.staging.flush(np.array(behind))

    def close_buffer(self, name: BufferKey, readings: ReadingBuffer) -> None:
        """Drop an empty buffer."""
        for join in readings.joins:
            if readings in join.references.reading_buffers:
                join.references.reading_buffers.remove(readings)
                join.references.last_match_time = NAN
        del self.reading_buffers[name]
        if readings.is_plain:
            self.staging.close(readings)
        self.watermarks.close(readings.watermark)
        del self._buffers_of[readings.series][readings]

    # -- references -------------------------------------------------------------------------

    def references_of(self, reference: Reference) -> ReferenceBuffer:
        """Return the buffer that a reference belongs in."""
        return self.reference_buffer(reference.subject, reference.quantity, reference.key)

    def reference_buffer(self, subject: str, quantity: str, key: str) -> ReferenceBuffer:
        """Return the buffer of references that match this, a new one if there is none."""
        match = (quantity, subject if self._by_subject else "", key if self.by_key else "")
        references = self.reference_buffers.get(match)
        if references is None:
            scope = self._scopes.setdefault(match[:2], Scope())
            references = self.reference_buffers[match] = ReferenceBuffer(
                (subject, quantity, key), digest(*match), scope, self.tally
            )
        return references

    def may_have_paired(self, reference: Reference) -> tuple[list[int], float]:
        """Return the series with which a reference may have made pairs, and their earliest time.

        Among them are series of which nothing is held any more.
        """
        subject = reference.subject
        rows = [
            row
            for row, (sensor, quantity) in self.names.items()
            if quantity == reference.quantity
            and (
                not self._by_subject
                or sensor == subject
                or any(each.subject == subject for each in self._concerns_of(sensor))
            )
        ]
        rules = [self._rules_of(*self.names[row]) for row in rows]
        reach = max((each.tolerance_seconds + abs(each.lag_seconds) for each in rules), default=0.0)
        return rows, min(reference.time, reference.start) - reach  # not of a start that is NaN

    def drop_empty_buffers(self) -> None:
        """Drop the buffers that are empty and joined to no reading buffer."""
        for key, references in list(self.reference_buffers.items()):
            if not references.times and not references.reading_buffers:
                del self.reference_buffers[key]
        used = {key[:2] for key in self.reference_buffers}
        self._scopes = {key: scope for key, scope in self._scopes.items() if key in used}

    # -- what changed -----------------------------------------------------------------------

    def mark_changed(self, references: ReferenceBuffer) -> None:
        """Mark the series that a buffer concerns, because its references or its joins changed."""
        self._changed.add(references.scope)

    def drain_changed_series(self) -> set[int]:
        """Return the series whose references changed since the last call."""
        changed, self._changed = self._changed, set()
        return set().union(*(scope.series for scope in changed))

    def availability(self, series: int, first: float) -> float:
        """Return the share of the references held that came with a usable reading of a series.

        It counts from ``first`` on, the time of the first reading; NaN if no reference concerns it.
        """
        reading_buffers = self._buffers_of.get(series)
        if not reading_buffers:
            return NAN
        paired = sum([len(readings.matches) for readings in reading_buffers])
        one = next(iter(reading_buffers))
        due = _count_covered(one.joins, first - one.lag_seconds)
        return paired / max(due, paired) if due or paired else NAN


def _count_covered(joins: Sequence[Join], first: float) -> int:
    """Count the references since ``first`` within any of the joins, each once, of any key."""
    if len(joins) == 1:
        return _count_in_scope(joins, first)
    spans: dict[int, list[Join]] = {}
    for join in joins:
        spans.setdefault(id(join.references.scope), []).append(join)
    return sum(
        _count_in_scope(sorted(each, key=lambda join: join.start), first) for each in spans.values()
    )


def _count_in_scope(joins: Sequence[Join], first: float) -> int:
    """Count the references of joins that share one scope and are sorted by their starts."""
    times, count, place = joins[0].references.scope.times, 0, 0
    for join in joins:
        begin = max(place, bisect_left(times, max(join.start, first)))
        place = max(begin, len(times) if join.end == inf else bisect_right(times, join.end))
        count += place - begin
    return count
