"""Readings republished with the verdict's remedy and an interval that holds its level.

Rules of this file: a reading is corrected by what the events of its batch and the pairs before it
say, and published after the batch is durable; the state that these change is written in the same
transaction. The remedy comes from the newest snapshot, as sentence and advice do. Advice is in the
journal before anybody sees it, so it can be accepted until the first snapshot after a start.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Final

import numpy as np
from markupsafe import Markup

from monitor.core.columns import coverage_factor
from monitor.core.model import Event, Float, Int, Reading
from monitor.core.pairing.observations import Durable, PackedReadings
from monitor.core.registry import SeriesKey, SeriesName
from monitor.core.snapshot.additions import Added, OwnFindings, Press, with_addition
from monitor.core.snapshot.snapshot import Snapshot
from monitor.core.state.network import ACCEPTED, Network
from monitor.core.verdict import Remedy
from monitor.core.verdict.faults import quality_of
from monitor.core.verdict.quality import UNCHECKED, Quality
from monitor.core.verdict.verdict import NO_REMEDY
from monitor.daemon.listeners import Addendum, Listener, ListenerContext, OpenBroker, Taken
from monitor.extensions.corrected.acceptances import (
    BUTTON,
    NO_OFFERS,
    Advice,
    CorrectedMembers,
    Offer,
    accepted,
    advice_in,
    event_topic,
    offers_in,
    remedy_told,
)
from monitor.extensions.corrected.corrected import AS_SENT
from monitor.extensions.corrected.corrected_readings import (
    CorrectedReading,
    CorrectedTopics,
    corrected_topic,
    families,
)
from monitor.extensions.corrected.live_corrections import OF_CORRECTIONS, LiveCorrections
from monitor.extensions.corrected.settings import correct_of
from monitor.http.text_format import Family
from monitor.journal.failures import JournalFullError
from monitor.journal.store import Batch, Store

_DROPPED: Final = "corrected.dropped"
_OFFERED_NOTE: Final = "corrections.offered"


class CorrectedFindings(OwnFindings):
    """Sentences on the correction of each series; empty before its first pair.

    ``offers`` are the advice that may be accepted, by rows.
    """

    def __init__(
        self, sentences: Sequence[str], topic: str = "", offers: Mapping[int, Offer] = NO_OFFERS
    ) -> None:
        self.sentences: Final = sentences
        self.offers: Final = offers
        self._topic: Final = topic
        self._presses: Final = {each.name: each.press for each in offers.values()}

    def document(self, now: Snapshot, row: int) -> CorrectedMembers:  # noqa: ARG002
        """Return the keys ``corrected`` and ``accept``."""
        offer = self.offers.get(row)
        accept = None if offer is None else offer.document()
        return CorrectedMembers(corrected=self.sentences[row], accept=accept)

    def fragments(self, now: Snapshot, row: int) -> tuple[str, str]:
        """Return the sentences for the page of a series."""
        if not self.sentences[row]:
            return "", ""
        words = _CORRECTED.format(self.sentences[row])
        if row in self.offers:
            advice = self.offers[row].advice.advice
            words += _OFFERED.format(now.names[row].sensor, advice)
        return words, ""

    def topics(self, name: SeriesName) -> Mapping[str, str]:
        """Return the topic of a series' corrected readings."""
        return {"corrected": corrected_topic(self._topic, name)} if self._topic else {}

    def presses(self, name: SeriesName) -> Mapping[str, Press]:
        """Return the button that accepts what is advised on a series, if anything is."""
        press = self._presses.get(name)
        return {} if press is None else {BUTTON: press}


_CORRECTED: Final = Markup('<p class="mend"><strong>Corrected readings:</strong> {}.</p>\n')
_OFFERED: Final = Markup(
    '<p class="note">The advice lasts beyond the alert if somebody accepts it: '
    "<code>monitor accept {} --advice {}</code></p>\n"
)


def corrected_listener(context: ListenerContext) -> Corrector | None:
    """Return the listener, None if the settings name no topic."""
    correct = correct_of(context.settings)
    if correct.publish is None:
        return None
    corrector = Corrector(context.network, context.store, correct.level)
    corrector.topic, corrector.counts = correct.publish, context.counts
    corrector.events = event_topic(context.settings.sources)
    context.network.review = corrector.review
    return corrector


class Corrector(Listener):
    """State: what applies to each series, and the corrected readings of a batch under way.

    ``counts`` has how many corrected readings were dropped before a reload.
    """

    topic = events = ""

    def __init__(self, network: Network, store: Store, level: float) -> None:
        self.counts: dict[str, int] = {}
        self.corrections: Final = LiveCorrections(level, lambda row: network.rules[row].level)
        self._store: Final = store
        self._network: Final = network
        self._snapshot: Snapshot | None = None
        self._offered = b""  # the names of all advice in force, as the journal has them
        self._accepted: dict[int, Advice] = {}
        self._ended: dict[int, float] = {}  # when an event ended a correction, by rows
        self._waiting: list[CorrectedReading] = []
        self._outward: CorrectedTopics | None = None

    def connect(self, outward: CorrectedTopics) -> None:
        """Publish corrected readings to ``outward`` from now on."""
        self._outward = outward

    def see(self, snapshot: Snapshot) -> Snapshot:
        """Take remedies from a snapshot from now on; return it with what is corrected."""
        self._snapshot = snapshot
        offers = offers_in(snapshot, self._accepted, self.events)
        self._note_offered(offers)
        count, corrections = len(snapshot.names), self.corrections
        coverage = corrections.coverage(count)
        factor = np.where(np.isnan(coverage), np.nan, corrections.now(np.arange(count)).factor)
        sentences = tuple(
            corrections.sentence(row, name.unit, snapshot.spread(row))
            for row, name in enumerate(snapshot.names)
        )
        added = Added(
            CorrectedFindings(sentences, self.topic, offers),
            {"corrected_coverage_ratio": coverage, "corrected_interval_factor": factor},
            {each.name: each.help for each in OF_CORRECTIONS},
        )
        return with_addition(snapshot, "corrected", added)

    def recovered(self) -> None:
        """Load what was known of each series when its last batch was written."""
        self.corrections.load(self._store.note, len(self._network.registry.keys))
        self._offered = self._store.note(_OFFERED_NOTE)
        self._recall(range(len(self._network.registry.keys)))

    def start(self, connect: OpenBroker) -> None:
        """Begin to publish corrected readings."""
        dropped = self.counts.get(_DROPPED, 0)
        outward = CorrectedTopics(self.topic, lambda: connect("corrected"), dropped)
        self.connect(outward)
        outward.start()

    def end(self) -> None:
        """Begin to publish what waits and to disconnect."""
        if self._outward is not None:
            self._outward.end()

    def stop(self, seconds: float) -> None:
        """Publish what waits and disconnect, within ``seconds``; what is left is dropped."""
        if self._outward is not None:
            self._outward.stop(seconds)
            self.counts[_DROPPED] = self._outward.figures().dropped

    def families(self) -> Iterator[Family]:
        """Yield the metrics of corrected readings."""
        return iter(()) if self._outward is None else families(self._outward.figures())

    def prepare(self, taken: Taken) -> Addendum:
        """Take the events of a batch, correct its readings, follow its pairs; return the notes."""
        notes = self._take(taken.events, taken.received) if taken.events else {}
        if self._outward is not None:
            self._waiting = self._corrected(taken.measured)
        return Addendum(notes={**notes, **self.corrections.follow(taken.pairs, self._told)})

    def committed(self) -> None:
        """Publish the corrected readings of the batch: it is durable."""
        if self._outward is not None and self._waiting:
            self._outward.offer(self._waiting)
        self._waiting = []

    # -- inside -------------------------------------------------------------------------------

    def review(self, event: Event) -> str:
        """Return whether an event that accepts advice counts, or why not; all others do."""
        own = advice_in(event)
        if own is None:
            return ACCEPTED
        key = SeriesKey(event.sensor, own.quantity)
        events = self._network.epochs.of(key)
        before = accepted(events)
        if event in events or (before is not None and before.advice == own.advice):
            return "duplicate"
        return ACCEPTED if own.advice.encode() in self._offered.split() else "no_advice"

    def _note_offered(self, offers: Mapping[int, Offer]) -> None:
        """Write which advice is in force; on a full disk the last that was written stays."""
        offered = " ".join(each.advice.advice for each in offers.values()).encode()
        if offered != self._offered:
            with suppress(JournalFullError):
                self._store.append(Batch(notes={_OFFERED_NOTE: offered}))
                self._offered = offered

    def _take(self, events: Sequence[Event], received: float) -> dict[str, bytes]:
        """Take new events; return the notes to write.

        The newest event of a series begins an epoch: what was corrected before ends, and a snapshot
        from before says nothing of it.
        """
        rows = {row for each in events for row in self._network.registry.rows_for(each)}
        self._recall(rows)
        notes: dict[str, bytes] = {}
        for row in rows:
            if self._network.epochs.of(self._network.registry.keys[row])[-1] in events:
                now = self._accepted.get(row)
                notes |= self.corrections.adopt(row, AS_SENT if now is None else now.amendment)
                self._ended[row] = received
        return notes

    def _recall(self, rows: Iterable[int]) -> None:
        """Find what is accepted for some series."""
        for row in rows:
            key = self._network.registry.keys[row]
            advice = accepted(self._network.epochs.of(key))
            if advice is None:
                self._accepted.pop(row, None)
            else:
                self._accepted[row] = advice

    def _told(self, row: int) -> Remedy | None:
        """Return what the alerts of a series want, as :meth:`LiveCorrections.follow` reads it.

        Without an alert, what was accepted stays.
        """
        snapshot = self._snapshot
        is_old = snapshot is not None and snapshot.time <= self._ended.get(row, -math.inf)
        remedy = remedy_told(None if is_old else snapshot, row)
        return NO_REMEDY if remedy is None and row in self._accepted else remedy

    def _corrected(self, measured: Sequence[Durable]) -> list[CorrectedReading]:
        readings: list[CorrectedReading] = []
        others: list[Reading] = []
        for each in measured:
            if isinstance(each, PackedReadings):
                readings += self._columns(*each.columns())
            elif isinstance(each, Reading):
                others.append(each)
        if others:
            readings += self._columns(*self._read(others))
        return readings

    def _read(self, readings: Sequence[Reading]) -> tuple[Int, Float, Float, Float]:
        """Return rows, times, values and standard uncertainties of readings."""
        get = self._network.registry.get
        rows = np.array([get(each.sensor, each.quantity) for each in readings], dtype=np.int64)
        numbers = [(each.time, each.value, each.u, each.lower, each.upper, each.p)
                   for each in readings]  # fmt: skip
        time, value, u, lower, upper, p = np.array(numbers, dtype=np.float64).T
        levels = np.array([self._network.rules[row].level for row in rows.tolist()])
        half = 0.5 * (upper - lower) / coverage_factor(np.where(np.isnan(p), levels, p))
        return rows, time, value, np.where(np.isnan(u), half, u)

    def _columns(self, rows: Int, times: Float, values: Float, us: Float) -> list[CorrectedReading]:
        now, names = self.corrections.now(rows), self._network.names()
        level = self.corrections.level
        value, u = now.intercept + now.slope * values, now.scale * us
        half = now.factor * u
        qualities = {row: self._quality(row) for row in set(rows.tolist())}
        listed = zip(
            rows.tolist(),
            *(each.tolist() for each in (times, value, u, value - half, value + half)),
            now.is_known.tolist(),
            strict=True,
        )
        return [
            CorrectedReading(
                *(names[row], time, corrected, u, lower, upper, level, is_known), qualities[row]
            )
            for row, time, corrected, u, lower, upper, is_known in listed
        ]

    def _quality(self, row: int) -> Quality:
        now = self._snapshot
        return UNCHECKED if now is None or row >= len(now.names) else quality_of(now.verdict(row))
