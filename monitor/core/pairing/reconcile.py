"""The pairs of every reference, made again wherever an arrival or a revision may change them.

Rules of this file: changes are rows (``PAIR``), a removed pair with its ``removed`` flag set. The
removed pairs of an arrival come first, so that a pair that moves between references stays.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from monitor.core.model import NAN, Records, pair_records
from monitor.core.pairing.buffers import NearestReading, ReadingBuffer, ReferenceBuffer
from monitor.core.pairing.identities import (
    CRPS,
    REMOVED,
    Identity,
    Row,
    pack_row,
    pack_rows,
    revised,
    same_row,
)
from monitor.core.pairing.matches import Match
from monitor.core.pairing.pairing_rule import MARGIN_SECONDS, Probe, neighbours
from monitor.core.pairing.pairing_rules import PAIRING_RULES
from monitor.core.pairing.reference_revisions import HeldReference


class Reconciler:
    """State: the changes of pairs that nobody has drained yet.

    While it ``is_recalling`` nothing is paired: a journal has the pairs of what it restores.
    """

    def __init__(self) -> None:
        self.is_recalling = False
        self.limited = 0  # references that reached the maximum number of pairs with a series
        self._changes: list[Row] = []
        self._removed: Final[list[Row]] = []
        self._added: Final[list[Row]] = []

    def drain_changes(self) -> Records:
        """Return the changes since the last call; the last row of an id counts."""
        rows, self._changes = self._changes, []
        return pair_records(rows)

    def emit(self, rows: Iterable[Row]) -> None:
        """Add rows to the changes."""
        self._changes += rows

    def reading_added(self, readings: ReadingBuffer, at: int) -> None:
        """Pair the references again that a new reading may affect."""
        rule = PAIRING_RULES[readings.rules.mode]
        for join in readings.joins:
            if join.references.times:
                self._reconcile(
                    readings,
                    join.references,
                    rule.affected_by_reading(readings, join.references, at),
                )
                self._commit()

    def reference_added(self, references: ReferenceBuffer, at: int) -> None:
        """Pair a new reference, and those it competes with, with every joined reading buffer."""
        if self.is_recalling:
            return
        for readings in references.reading_buffers:
            rule = PAIRING_RULES[readings.rules.mode]
            self._reconcile(
                readings, references, rule.affected_by_reference(readings, references, at)
            )
        self._commit()

    def pair_newest(
        self, readings: ReadingBuffer, references: ReferenceBuffer, near: NearestReading | None
    ) -> None:
        """Pair the last reference of a buffer, which affects no other, with its one reading buffer.

        ``near`` is the reading nearest to it; None if it must be searched for.
        """
        at = len(references.times) - 1
        time, identity = references.times[at], references.identities[at]
        rule, join = PAIRING_RULES[readings.rules.mode], readings.nearest_join(references, time)
        rows = None
        if join is not None and rule.pair_newest is not None:
            rows = rule.pair_newest(readings, join, at, time, near)
            if rows:
                references.last_match_time = rows[0][2] - readings.lag_seconds
        if rows is None:
            rows = self._pairs(readings, references, at)
        if rows:
            made = pack_row(*rows[0]) if len(rows) == 1 else pack_rows(rows)
            readings.matches.put(time, identity, made)
            self._changes += rows

    def reconcile_all(self, readings: ReadingBuffer, references: ReferenceBuffer) -> None:
        """Pair every reference of a buffer with one reading buffer again."""
        self._reconcile(readings, references, range(len(references.times)))
        self._commit()

    def pair_anew(
        self, readings: ReadingBuffer, references: ReferenceBuffer, whole_from: float
    ) -> list[int]:
        """Pair the references of a buffer under other rules, frozen pairs too, where that is safe.

        It is where all that may concern a reference is at or after ``whole_from`` (event time), as
        nothing of that was evicted, and where its pairs have the readings that they had. Returns
        the digests of those.
        """
        reach = 2.0 * max(readings.rules.tolerance_seconds, references.span_seconds)
        first = whole_from + reach + MARGIN_SECONDS - min(readings.lag_seconds, 0.0)
        references.last_match_time, anew = NAN, []
        for at, identity in enumerate(references.identities):
            rows, match = self._pairs(readings, references, at), readings.match_of(references, at)
            former = [] if match is None else match.rows
            is_same = [row[2:4] for row in rows] == [row[2:4] for row in former]
            if is_same or references.times[at] >= first:
                self._replace(readings, references.times[at], identity, rows)
                anew.append(identity)
        self._commit()
        return anew

    def revise(self, held: HeldReference, identity: Identity) -> None:
        """Put the new value of a reference that keeps its place into every pair it made."""
        at = held.references.place_of(held.reference.time, identity)
        held.references.replace(at, held.reference, held.received)
        for readings in held.references.reading_buffers:
            match = readings.match_of(held.references, at)
            if match is not None:
                before = match.rows
                rows = [revised(row, held.reference) for row in before]
                if any(row[CRPS] == row[CRPS] for row in before):
                    rows = self._rescored(readings, held.references, at, rows)
                self._replace(readings, held.reference.time, identity, rows)
        self._commit()

    def withdraw(self, held: HeldReference, identity: Identity) -> None:
        """Remove a reference and its pairs, and pair its neighbours again."""
        references = held.references
        at = references.place_of(held.reference.time, identity)
        references.remove([at])
        for readings in references.reading_buffers:
            self._replace(readings, held.reference.time, identity, [])
        self._commit()
        for near in (at - 1, at):
            if 0 <= near < len(references.times):
                for readings in references.reading_buffers:
                    self._reconcile(readings, references, neighbours(references, near))
        self._commit()

    def reproduces(self, readings: ReadingBuffer, references: ReferenceBuffer, at: int) -> bool:
        """Return whether the readings held still make the pairs that a reference has with them."""
        rows = self._pairs(readings, references, at)
        match = readings.match_of(references, at)
        return match is not None and repr(Match(pack_rows(rows)).rows) == repr(match.rows)

    # -- inside -----------------------------------------------------------------------------

    def _reconcile(
        self, readings: ReadingBuffer, references: ReferenceBuffer, places: Iterable[int]
    ) -> None:
        """Pair some references with one reading buffer again; frozen pairs stay."""
        references.last_match_time = NAN
        if self.is_recalling:
            return
        for at in places:
            match = readings.match_of(references, at)
            if match is not None and match.frozen:
                continue
            rows = self._pairs(readings, references, at)
            if rows or match is not None:
                self._replace(readings, references.times[at], references.identities[at], rows)

    def _pairs(self, readings: ReadingBuffer, references: ReferenceBuffer, at: int) -> list[Row]:
        """Return the pairs of a reference with what a reading buffer holds."""
        time = references.times[at]
        join = readings.nearest_join(references, time)
        if join is None:
            return []
        return PAIRING_RULES[readings.rules.mode].pairs(Probe(readings, join, at, time))

    def _replace(
        self, readings: ReadingBuffer, time: float, identity: Identity, rows: list[Row]
    ) -> None:
        match = readings.matches.get(time, identity)
        most = readings.rules.max_pairs_per_reference
        self.limited += len(rows) >= most > (0 if match is None else len(match))
        if match is None:
            if rows:
                readings.matches.put(time, identity, pack_rows(rows))
                self._added.extend(rows)
            return
        before = {row[1]: row for row in match.rows}
        for row in rows:
            old = before.pop(row[1], None)
            if old is not None and old[2] != row[2]:
                self._removed.append((*old[:REMOVED], True))
            if not same_row(old, row):
                self._added.append(row)
        self._removed.extend((*row[:REMOVED], True) for row in before.values())
        if rows:
            readings.matches.put(time, identity, pack_rows(rows))
        else:
            readings.matches.drop([(time, identity)])

    def _commit(self) -> None:
        """Emit the changes of one arrival, removed pairs first."""
        self._changes += self._removed
        self._changes += self._added
        self._removed.clear()
        self._added.clear()

    def _rescored(
        self, readings: ReadingBuffer, references: ReferenceBuffer, at: int, rows: list[Row]
    ) -> list[Row]:
        """Return pairs with the CRPS of their readings' distributions, as far as those are held."""
        known = {repr(row[:CRPS]): row for row in self._pairs(readings, references, at)}
        return [known.get(repr(row[:CRPS]), row) for row in rows]
