"""What a block has made durable: the journal of the daemon, in memory, for a block of sensors.

Rules of this file: it answers as the journal does, so that intake and recovery are the daemon's
own; all of it is written as one value and read again bit for bit. Of each series the newest pairs
are kept; the evidence before the first of them is the root of its replays.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec
import numpy as np

from monitor.core.model import (
    PAIR,
    Collocation,
    Distribution,
    Event,
    Reading,
    Records,
    Reference,
    in_event_order,
)
from monitor.core.pairing.history import Memory
from monitor.core.pairing.observations import Durable, PackedReadings
from monitor.core.state.network import KnownSeries
from monitor.journal.batch import Batch, DeadLetter

REVISIONS_MAX: Final = 100_000
_COMPACT_FIRST: Final = 256
_NO_PAIRS: Final[Records] = np.zeros(0, dtype=PAIR)

# A standing pair in single precision; ``u_ref`` has the uncertainty of the pairing in it.
_SINGLE: Final = np.dtype(
    [
        ("series", np.int32),
        *(("id", np.uint64), ("time", np.float64), ("reference_id", np.uint64)),
        *((name, np.float32) for name in ("value", "error", "u", "u_ref")),
        *((name, np.float32) for name in ("below", "above", "p", "crps")),
    ]
)

_encode: Final = msgspec.msgpack.Encoder().encode
_observations: Final = msgspec.msgpack.Decoder(
    list[Reading | Distribution | Reference | PackedReadings]
).decode


class Kept(msgspec.Struct, array_like=True):
    """What is kept, as bytes know it."""

    series: list[tuple[int, str, str, str, float]]
    pairs: tuple[int, dict[str, bytes]]
    observations: list[tuple[float, bytes]]
    events: list[Event]
    collocations: list[Collocation]
    revisions: dict[int, int]
    named: dict[str, list[tuple[str, str]]]
    totals: dict[str, int]
    notes: dict[str, bytes]
    compact_at: int = 0
    single: tuple[int, dict[str, bytes]] = (0, {})


class Keeping(Memory):
    """State: what was committed. Stands in for :class:`monitor.journal.Journal` at the intake."""

    def __init__(self, kept: Kept | None = None) -> None:
        super().__init__()
        self._series: dict[int, KnownSeries] = {}
        self._observations: list[tuple[float, bytes]] = []
        self._events: list[Event] = []
        self._collocations: list[Collocation] = []
        self._totals: dict[str, int] = {}
        self._notes: dict[str, bytes] = {}
        self._compact_at = _COMPACT_FIRST
        self._packed = Packed(PAIR)  # the first so many of the pairs
        self._places: dict[int, slice] = {}  # of series, while nothing came since compact
        self.dead_letters: list[DeadLetter] = []
        if kept is not None:
            self._load(kept)

    # -- as a journal -----------------------------------------------------------------------

    def commit(self, batch: Batch) -> None:
        """Keep a batch; it is durable once the engine has the block's state."""
        if batch.pairs.size:
            self._places = {}
        self.keep(batch.pairs, (each for each in batch.observations if type(each) is Reference))
        if batch.observations:
            self._observations.append((batch.received, _encode(batch.observations)))
        self._series.update((each.row, each) for each in batch.series)
        self._events += batch.events
        self._collocations += batch.collocations
        self._totals = dict(batch.totals)
        self._notes.update(batch.notes)
        self.dead_letters += batch.dead_letters

    def totals(self) -> dict[str, int]:
        """Return the counters of messages."""
        return dict(self._totals)

    def note(self, name: str) -> bytes:
        """Return what was noted under a name, nothing if nothing was."""
        return self._notes.get(name, b"")

    def series(self) -> list[KnownSeries]:
        """Return the series in the order of their rows."""
        return [self._series[row] for row in sorted(self._series)]

    def events(self) -> list[Event]:
        """Return the events that began epochs."""
        return self._events

    def collocations(self) -> list[Collocation]:
        """Return which sensors stood beside which references."""
        return self._collocations

    def observations(self) -> Iterator[tuple[float, list[Durable]]]:
        """Yield (time of arrival, observations) of each batch kept, in order of arrival."""
        for received, body in self._observations:
            yield received, list(_observations(body))

    # -- how much is kept -------------------------------------------------------------------

    def forget(self, received_before: float) -> None:
        """Drop observations that arrived before a time, and the oldest notes on revisions."""
        self._observations = [each for each in self._observations if each[0] >= received_before]
        for notes in (self._revisions, self._named):
            for name in list(notes)[: max(0, len(notes) - REVISIONS_MAX)]:
                del notes[name]  # type: ignore[arg-type]

    def is_grown(self) -> bool:
        """Return whether enough changes came to make :meth:`compact` worth its while."""
        return sum(each.size for each in self._made) >= self._compact_at

    def compact(self) -> dict[int, int]:
        """Keep what stands only; return how many pairs each series has."""
        standing = in_event_order(self.pairs())
        self._made, self._packed = [standing], Packed(PAIR)
        self._compact_at = max(_COMPACT_FIRST, standing.size + standing.size // 4)
        series, starts = np.unique(standing["series"], return_index=True)
        stops = np.append(starts[1:], standing.size)
        self._places = dict(
            zip(series.tolist(), map(slice, starts.tolist(), stops.tolist()), strict=True)
        )
        return {row: place.stop - place.start for row, place in self._places.items()}

    def history(self, series: int) -> Records:
        """Return all standing pairs of one series in event order."""
        place = self._places.get(series)
        return super().history(series) if place is None else self.pairs()[place]

    def drop(self, first: Mapping[int, int]) -> None:
        """Forget the first so many pairs of some series; only after :meth:`compact`."""
        pairs = self.pairs()
        gone = np.zeros(pairs.size, dtype=np.bool_)
        starts = np.searchsorted(pairs["series"], list(first))
        for start, count in zip(starts.tolist(), first.values(), strict=True):
            gone[start : start + count] = True
        self._made, self._packed, self._places = [pairs[~gone]], Packed(PAIR), {}

    # -- as bytes ---------------------------------------------------------------------------

    def dump(self, held: Mapping[int, float] | None = None) -> Kept:
        """Return all there is.

        With ``held``, the event time of the oldest reading that is held of each series, pairs of
        older readings are kept in single precision, as windows in single precision have them.
        """
        packed, settled = self._packed, _NO_PAIRS
        if held is None:
            self._pack_new()
        else:
            pairs, settled = self._apart(held)
            packed = Packed(PAIR)
            packed.add(pairs)
        return Kept(
            series=[
                (each.row, each.sensor, each.quantity, each.unit, each.since)
                for each in self._series.values()
            ],
            pairs=packed.dump(),
            observations=self._observations,
            events=self._events,
            collocations=self._collocations,
            revisions=self._revisions,
            named={name: sorted(known) for name, known in self._named.items()},
            totals=self._totals,
            notes=self._notes,
            compact_at=self._compact_at,
            single=_packed_single(settled),
        )

    def _pack_new(self) -> None:
        """Pack the pairs that came since the last time: the others are packed already."""
        first, stop = 0, self._packed.count
        for each in self._made:
            self._packed.add(each[max(0, stop - first) :])
            first += each.size

    def _apart(self, held: Mapping[int, float]) -> tuple[Records, Records]:
        """Return the pairs of readings from ``held`` on, and those of older ones."""
        pairs = in_event_order(self.pairs())
        if not pairs.size:
            return pairs, pairs
        series, number = np.unique(pairs["series"], return_inverse=True)
        oldest = np.array([held.get(row, np.inf) for row in series.tolist()])
        is_settled = pairs["time"] < oldest[number]
        return pairs[~is_settled], pairs[is_settled]

    def _load(self, kept: Kept) -> None:
        self._series = {each[0]: KnownSeries(*each) for each in kept.series}
        self._made = [_as_double(_unpack(*kept.single, _SINGLE)), _unpack(*kept.pairs, PAIR)]
        self._compact_at = max(_COMPACT_FIRST, kept.compact_at)
        self._observations, self._events = kept.observations, kept.events
        self._collocations = kept.collocations
        self._revisions = kept.revisions
        self._named = {name: set(known) for name, known in kept.named.items()}
        self._totals, self._notes = kept.totals, kept.notes


def _as_single(pairs: Records) -> Records:
    """Return standing pairs as windows in single precision keep them."""
    found = np.zeros(pairs.size, dtype=_SINGLE)
    for name in ("series", "id", "time", "value", "u", "reference_id", "p", "crps"):
        found[name] = pairs[name]
    found["error"] = pairs["value"] - pairs["reference"]
    found["below"] = pairs["value"] - pairs["lower"]
    found["above"] = pairs["upper"] - pairs["value"]
    found["u_ref"] = np.hypot(pairs["u_ref"], pairs["u_pair"])
    return found


def _as_double(single: Records) -> Records:
    """Return pairs that windows in single precision keep as what :func:`_as_single` was given."""
    pairs = np.zeros(single.size, dtype=PAIR)
    for name in ("series", "id", "time", "value", "u", "reference_id", "p", "crps", "u_ref"):
        pairs[name] = single[name]
    pairs["reference"] = pairs["value"] - single["error"]
    pairs["lower"] = pairs["value"] - single["below"]
    pairs["upper"] = pairs["value"] + single["above"]
    return pairs


def _packed_single(settled: Records) -> tuple[int, dict[str, bytes]]:
    """Return standing pairs packed as windows in single precision keep them."""
    packed = Packed(_SINGLE)
    packed.add(_as_single(settled))
    return packed.dump()


class Packed:
    """Pairs by the column, as bytes know them: one number where all are the same bits.

    Pairs are added behind; those that are here need not be looked at again.
    """

    def __init__(self, kind: np.dtype[Any]) -> None:
        self._kind: Final = kind
        self._columns: Final = {name: bytearray() for name in kind.names or ()}
        self.count = 0

    def add(self, pairs: Records) -> None:
        """Put pairs behind those that are here."""
        if not pairs.size:
            return
        for name, known in self._columns.items():
            column: np.ndarray[Any, Any] = np.ascontiguousarray(pairs[name])
            width = column.itemsize
            if len(known) <= width:
                bits = column.view(f"u{width}")
                same = bits[0] if not self.count else np.frombuffer(bytes(known), bits.dtype)[0]
                if bits[-1] == same and (bits == same).all():
                    known[:] = same.tobytes()
                    continue
                known[:] = known * self.count
            known.extend(column.tobytes())
        self.count += pairs.size

    def dump(self) -> tuple[int, dict[str, bytes]]:
        """Return how many pairs, and their columns; none of it where there are no pairs."""
        columns = {name: bytes(column) for name, column in self._columns.items()}
        return self.count, columns if self.count else {}


def _unpack(count: int, columns: Mapping[str, bytes], kind: np.dtype[Any]) -> Records:
    """Return the pairs; a column that was unknown when they were written is NaN, or 0."""
    pairs = np.zeros(count, dtype=kind)
    for name in kind.names or ():
        if name in columns:
            pairs[name] = np.frombuffer(columns[name], kind[name])
        elif kind[name].kind == "f":
            pairs[name] = np.nan
    return pairs
