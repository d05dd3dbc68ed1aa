"""A copy of a journal replayed: what a daemon would show at its end, and all alerts before it.

Rules of this file: the state at the end is that of a start (``assemble``). A start goes on from
kept evidence, so it does not find past alerts; these come from a second network, which takes all
pairs and events in event order.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from monitor.config.settings import Settings
from monitor.core.formatting import finite
from monitor.core.model import Records, in_event_order
from monitor.core.registry import SeriesKey
from monitor.core.state.network import Network
from monitor.daemon.assembly import SETTINGS, assemble
from monitor.http.documents import entry
from monitor.journal import Batch, Journal, JournalError
from monitor.journal.in_memory import InMemoryStore
from monitor.report.incidents import incident_document, incidents_of
from monitor.report.recorded import Recorded
from monitor.report.wrong_references import wrong_references

# Notes on alerts that began with other pairs.
_OF_ALERTS: Final = ("onsets", "voided")


class OtherReadings(NamedTuple):
    """Readings of the sensors that match ``sensor`` with ``times`` their u, less ``subtract``."""

    times: float = 1.0
    subtract: float = 0.0
    sensor: str = "*"

    @property
    def differ(self) -> bool:
        """Whether any reading is another."""
        return self.times != 1.0 or self.subtract != 0.0

    def pairs(self, pairs: Records) -> Records:
        """Return pairs as such readings make them; of an ensemble the score is not known then."""
        changed = pairs.copy()
        changed["value"] = pairs["value"] - self.subtract
        changed["u"] = pairs["u"] * self.times
        for end in ("lower", "upper"):
            changed[end] = changed["value"] + self.times * (pairs[end] - pairs["value"])
        changed["crps"] = np.nan
        return changed

    def sentences(self) -> Iterator[str]:
        """Yield in words how they differ."""
        if self.times != 1.0:
            yield f"u of {self.sensor}: {self.times:g} times what was stated"
        if self.subtract != 0.0:
            yield f"values of {self.sensor}: less {self.subtract:g}"


AS_SENT: Final = OtherReadings()


class Reach(NamedTuple):
    """How far back a journal goes, s since 1970 UTC, NaN for nowhere.

    ``settings`` is what its last daemon noted of its settings. ``held_since`` is when the oldest
    reading or reference that it still holds arrived.
    """

    settings: bytes
    pairs: int
    since: float
    until: float
    held_since: float

    def document(self) -> dict[str, Any]:
        """Return it as plain values."""
        numbers = {"since": self.since, "until": self.until, "held_since": self.held_since}
        return {"pairs": self.pairs, **{name: finite(each) for name, each in numbers.items()}}


def reach_of(copy: Path, path: Path) -> Reach:
    """Return how far back the copy of a journal goes; raises JournalError where it has no pair."""
    journal = Journal(copy)
    try:
        pairs = in_event_order(journal.pairs())
        if not pairs.size:
            raise JournalError(f"{path}: holds no pair yet that could be replayed")
        ends = float(pairs["time"].min()), float(pairs["time"].max())
        return Reach(journal.note(SETTINGS), pairs.size, *ends, journal.oldest()[0])
    finally:
        journal.close()


class Replay(NamedTuple):
    """What a replay shows, as plain values by series.

    It is as of ``time``, s since 1970 UTC. ``entries`` are the interface's documents at the end,
    ``raised`` all alerts in order. ``pairs`` is how many there are; ``limits`` says what was made
    again and what could not be.
    """

    time: float
    entries: dict[SeriesKey, dict[str, Any]]
    raised: dict[SeriesKey, list[dict[str, Any]]]
    pairs: int
    limits: tuple[str, ...]


def replay_journal(copy: Path, settings: Settings, readings: OtherReadings) -> Replay:
    """Replay a copy of a journal, which it changes; raises JournalError."""
    journal = Journal(copy)
    try:
        now = journal.newest()
        parts = assemble(settings, now, journal)
        limits = tuple(filter(None, (parts.remade, *parts.others.sentences())))
        if readings.differ:
            _change_pairs(journal, readings)
            parts = assemble(settings, now, journal)
        snapshot = parts.network.evaluate(now)
        recorded = _in_event_order(parts.network, journal, now)
        paired = {SeriesKey(name.sensor, name.quantity) for name in recorded.names}
        entries = {
            key: dict(entry(snapshot, row))
            for row, key in enumerate(parts.network.registry.keys)
            if key in paired
        }
    finally:
        journal.close()
    raised = _raised(recorded, settings.scoring.level)
    return Replay(now, entries, raised, recorded.pairs.size, limits)


def _change_pairs(journal: Journal, readings: OtherReadings) -> None:
    """Put pairs that other readings make in the place of a journal's."""
    rows = [each.row for each in journal.series() if fnmatchcase(each.sensor, readings.sensor)]
    pairs = in_event_order(journal.pairs())
    changed = readings.pairs(pairs[np.isin(pairs["series"], rows)])
    journal.append(Batch(pairs=changed, notes=dict.fromkeys(_OF_ALERTS, b"")))


def _in_event_order(like: Network, journal: Journal, now: float) -> Recorded:
    """Return all pairs of a journal, and how alerts changed as they came in event order."""
    store = InMemoryStore()
    network = Network(like.settings._replace(additions=()), store)
    for known in journal.series():
        network.registry.add(known.sensor, known.quantity)
    pairs = in_event_order(journal.pairs())
    events = journal.events()
    by_time = pairs[np.argsort(pairs["time"], kind="stable")]
    begins = np.searchsorted(by_time["time"], [each.time for each in events])
    for portion, event in zip(np.split(by_time, begins), [*events, None], strict=True):
        store.append(Batch(pairs=portion))
        network.apply(portion)
        if event is not None:
            network.observe([event], event.time)
    network.evaluate(now)
    changes = network.drain_transitions()
    paired, index = np.unique(pairs["series"], return_inverse=True)
    places = {int(row): at for at, row in enumerate(paired)}
    pairs["series"] = index
    names = network.names()
    return Recorded(
        tuple(names[row] for row in paired),
        pairs,
        [each._replace(series=places[each.series]) for each in changes if each.series in places],
        (),
        tuple(network.rules[row] for row in paired),
    )


def _raised(recorded: Recorded, level: float) -> dict[SeriesKey, list[dict[str, Any]]]:
    raised: dict[SeriesKey, list[dict[str, Any]]] = defaultdict(list)
    if recorded.pairs.size:
        windows = recorded.columns(level)
        for incident in incidents_of(recorded, windows, wrong_references(recorded, windows)):
            name = recorded.names[incident.span.began.series]
            document = incident_document(incident, recorded)
            raised[SeriesKey(name.sensor, name.quantity)].append(document)
    return dict(raised)
