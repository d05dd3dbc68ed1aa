"""The daemon's part: readings into blocks, and the last opinions into snapshots.

Rules of this file: readings are added when they are accepted, and blocks are noted once a minute in
the transaction of a batch, at once where a series has its first pair of a day. A closed day, or a
series that comes under suspicion, starts a look in a thread of its own; after each look the daemon
waits until the time that it took is a hundredth of the time that passed.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Final

import numpy as np
from markupsafe import Markup

from monitor.config.concerns import places_by_sensor
from monitor.core.model import Bool, Float, Int, Reading
from monitor.core.pairing.observations import Durable, PackedReadings
from monitor.core.registry import SeriesName
from monitor.core.snapshot.additions import Added, OwnFindings, Remark, with_addition
from monitor.core.snapshot.snapshot import Snapshot
from monitor.core.state.network import Network
from monitor.core.verdict.faults import FAULTS
from monitor.daemon.listeners import NOTHING, Addendum, Listener, ListenerContext, Taken
from monitor.extensions.neighbours.day_blocks import DayBlocks, DayTable
from monitor.extensions.neighbours.fleet_opinions import (
    NO_OPINIONS,
    FleetOpinions,
    NeighbourMembers,
    opinion_document,
    opinions_in,
)
from monitor.extensions.neighbours.neighbourhoods import (
    Neighbourhood,
    fleets_by_distance,
    fleets_by_group,
)
from monitor.extensions.neighbours.settings import neighbours_of
from monitor.extensions.neighbours.words import ADVICE, apart_clause, neighbours_sentence
from monitor.http.text_format import Family, counter

NAME: Final = "neighbours"
NOTE_SECONDS: Final = 60.0
_LATE: Final = "neighbours.late"
_SHARE: Final = 0.01  # of one core
_HELPS: Final = {
    "neighbours_apart": "1 if a series left its neighbours since its last references, else 0; "
    "absent where they say nothing.",
    "neighbours_shift": "Its error since its last references, by its neighbours, in its unit.",
}
METRICS: Final = {f"monitor_{name}": words for name, words in _HELPS.items()}

_log: Final = logging.getLogger("monitor")


def neighbours_listener(context: ListenerContext) -> LiveNeighbours | None:
    """Return the listener, None if the settings do not ask for it."""
    section = neighbours_of(context.settings)
    if not section.watch:
        return None
    network, settings, distance = context.network, context.settings, section.distance_km
    places = {} if distance is None else places_by_sensor(settings)

    def belongs(name: SeriesName) -> bool:
        return distance is not None or bool(name.group)

    def fleets() -> list[Neighbourhood]:
        names = network.names()
        if distance is None:
            return fleets_by_group(names, section.channels)
        return fleets_by_distance(names, places, distance, section.channels)

    blocks = DayBlocks(context.counts.get(_LATE, 0))
    blocks.load(context.store.note)
    return LiveNeighbours(network, blocks, fleets, belongs, context.counts)


def families(late: int) -> Iterator[Family]:
    """Yield the metrics of blocks."""
    yield counter(
        "neighbours_readings_late",
        "Readings two or more days late, by which no neighbour is judged.",
        late,
    )


EVERY_FAMILY: Final = tuple(families(0))


class NeighbourOpinions(OwnFindings):
    """What the neighbours of each series say."""

    def __init__(self, opinions: FleetOpinions) -> None:
        self.opinions: Final = opinions

    def document(self, now: Snapshot, row: int) -> NeighbourMembers:
        """Return the key ``neighbours``."""
        if row not in self.opinions.of or now.withdrawn[row]:
            return NeighbourMembers(neighbours=None)
        opinion = opinion_document(self.opinions, row, *_of(now, row))
        return NeighbourMembers(neighbours=opinion)

    def fragments(self, now: Snapshot, row: int) -> tuple[str, str]:
        """Return the sentence for the page of a series."""
        if row not in self.opinions.of or now.withdrawn[row]:
            return "", ""
        opinion, (unit, quiet) = self.opinions.of[row], _of(now, row)
        words = neighbours_sentence(opinion, unit, quiet, self.opinions.since(row))
        return "", _PART.format(now.names[row].sensor, words)

    def remarks(self, now: Snapshot) -> dict[int, Remark]:
        """Return what verdicts say of the series that are apart."""
        known = len(now.names)
        return {
            row: Remark(apart_clause(each, *_of(now, row), self.opinions.since(row)), ADVICE)
            for row, each in self.opinions.of.items()
            if each.state == "apart" and row < known
        }

    def asks_reference(self, now: Snapshot, row: int) -> str:
        """Return why a series that is apart needs a reference now."""
        opinion = self.opinions.of.get(row)
        if opinion is None or opinion.state != "apart" or now.withdrawn[row]:
            return ""
        return apart_clause(opinion, *_of(now, row), self.opinions.since(row))

    def statistics(self, now: Snapshot) -> dict[str, np.ndarray]:
        """Return the published numbers."""
        apart, shift = (np.full(len(now.names), np.nan) for _ in _HELPS)
        for row, each in self.opinions.of.items():
            if row < apart.size and math.isfinite(each.shift):
                apart[row], shift[row] = each.state == "apart", each.shift
        return dict(zip(_HELPS, (apart, shift), strict=True))


_PART: Final = Markup('<h2 id="neighbours">What its neighbours say</h2>\n<p>{}: {}.</p>\n')


def _of(now: Snapshot, row: int) -> tuple[str, float]:
    """Return the unit of a series, and for how many s it has sent without a reference."""
    return now.names[row].unit, float(now.last_reading[row] - now.last_pair[row])


class LiveNeighbours(Listener):
    """State: the blocks, the last opinions, and the look under way."""

    wait_more_seconds = 2.0 * NOTE_SECONDS

    def __init__(
        self,
        network: Network,
        blocks: DayBlocks,
        fleets: Callable[[], Sequence[Neighbourhood]],
        belongs: Callable[[SeriesName], bool],
        counts: dict[str, int],
    ) -> None:
        self.opinions = NO_OPINIONS
        self._network: Final = network
        self.blocks: Final = blocks
        self._fleets: Final = fleets
        self._belongs: Final = belongs
        self._are_in_fleets = np.zeros(0, np.bool_)
        self._counts: Final = counts
        self._suspects: frozenset[int] | None = None
        self._is_outdated = True
        self._look: _Look | None = None
        self._due = -math.inf

    @property
    def is_looking(self) -> bool:
        """Whether a look is under way or due."""
        return self._look is not None or self._is_outdated

    def restore(self, received: float, observations: Sequence[Durable]) -> None:
        """Add the readings again that came after the last note."""
        if received > self.blocks.received:
            self._add(observations)

    def prepare(self, taken: Taken) -> Addendum:
        """Take a batch into the blocks; return the notes to write with it if they are due."""
        blocks = self.blocks
        self._add(taken.measured)
        blocks.count_pairs(taken.pairs)
        for event in taken.events:
            blocks.begin_anew(self._network.registry.rows_for(event), event.time)
        is_closed = blocks.close(self._fleets)
        self._is_outdated = self._is_outdated or is_closed or blocks.is_urgent
        self._counts[_LATE] = blocks.late
        # A clock that was set back makes a new note, for none of it may be added again.
        since = taken.received - blocks.received
        is_due = blocks.is_urgent or is_closed or not 0.0 < since < NOTE_SECONDS
        return Addendum(notes=blocks.notes(taken.received)) if is_due else NOTHING

    def see(self, snapshot: Snapshot) -> Snapshot:
        """Return the snapshot with what neighbours say, in verdicts too."""
        wrong = np.zeros(len(snapshot.names), np.bool_)
        for fault in FAULTS:
            wrong |= snapshot.alerts[fault]
        suspects = frozenset(np.flatnonzero(wrong | ~snapshot.present()).tolist())
        self._is_outdated = self._is_outdated or suspects != self._suspects
        self._suspects = suspects
        own = NeighbourOpinions(self.opinions)
        added = Added(own, own.statistics(snapshot), _HELPS, own.remarks(snapshot))
        return with_addition(snapshot, NAME, added)

    def work(self, now: float) -> None:
        """Begin or end a look if it is due at ``now``, s of a monotonic clock."""
        look = self._look
        if look is not None:
            if not look.is_alive():
                self._look, self._due = None, now + look.seconds / _SHARE
                self.opinions = look.opinions
            return
        if not self._is_outdated or self._suspects is None or now < self._due:
            return
        self._is_outdated = False
        table = self.blocks.table()
        if table is None:
            return
        trusted = np.ones(table.since.size, np.bool_)
        trusted[[row for row in self._suspects if row < trusted.size]] = False
        fleets = [each for each in self._fleets() if (each.rows < trusted.size).all()]
        self._look = _Look(table, fleets, trusted)
        self._look.start()

    def notices(self, now: float) -> Iterator[str]:  # noqa: ARG002 - whenever it is
        """Yield a sentence for each fleet in which too many left their neighbours at once."""
        return iter(self.opinions.common)

    def families(self) -> Iterator[Family]:
        """Yield the metrics of blocks."""
        return families(self.blocks.late)

    # -- inside -------------------------------------------------------------------------------

    def _add(self, observations: Sequence[Durable]) -> None:
        get = self._network.registry.get
        rows: list[int] = []
        numbers: list[tuple[float, float]] = []
        for each in observations:
            if isinstance(each, PackedReadings):
                own, times, values, _ = each.columns()
                self._add_columns(own, times, values)
            elif isinstance(each, Reading):
                row = get(each.sensor, each.quantity)
                if row is not None:
                    rows.append(row)
                    numbers.append((each.time, each.value))
        if rows:
            self._add_columns(np.array(rows), *np.array(numbers, dtype=np.float64).T)

    def _add_columns(self, rows: Int, times: Float, values: Float) -> None:
        """Add readings of series in a fleet; the clock of others closes no day."""
        names = self._network.names()
        if new := names[self._are_in_fleets.size :]:
            self._are_in_fleets = np.append(self._are_in_fleets, [*map(self._belongs, new)])
        own = self._are_in_fleets[rows]
        self.blocks.add(rows[own], times[own], values[own])


class _Look(threading.Thread):
    """Judges all series; the daemon does not wait for it when it stops."""

    def __init__(self, table: DayTable, fleets: Sequence[Neighbourhood], trusted: Bool) -> None:
        super().__init__(name=NAME, daemon=True)
        self.opinions = NO_OPINIONS
        self.seconds = 0.0
        self._asked: Final = (table, fleets, trusted)

    def run(self) -> None:
        """Run the analysis."""
        began = time.thread_time()
        try:
            self.opinions = opinions_in(*self._asked)
        except Exception:  # noqa: BLE001 - a fault here must never cost the daemon
            _log.exception("neighbours: an internal error; nobody is judged by them until tomorrow")
        self.seconds = time.thread_time() - began
