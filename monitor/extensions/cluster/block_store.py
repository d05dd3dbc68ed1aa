"""The durable content of a block, and the state of a block as bytes.

Rules of this file: the store holds a few sensors and has the interface of the daemon's journal, so
that intake and recovery are the daemon's own. Only the newest pairs of each series are kept; the
evidence before the first of them is the root of its replays, and the block keeps it. The bytes have
a version; states of released versions are upgraded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, Self

import msgspec
import numpy as np

from monitor.core.detector.thresholds import Bases, Crossings
from monitor.core.diagnosis.onsets import Onsets
from monitor.core.model import BESIDE, PAIR, Records, in_event_order
from monitor.errors import UNAVAILABLE, MonitorError
from monitor.journal.in_memory import Image, InMemoryStore, PackedPairs, unpacked
from monitor.journal.store import NO_PAIRS, Batch

# -- the store ------------------------------------------------------------------------------------

REVISIONS_MAX: Final = 100_000
_COMPACT_FIRST: Final = 256

# A standing pair in single precision; ``u_ref`` includes the uncertainty of the pairing.
_SINGLE: Final = np.dtype(
    [
        ("series", np.int32),
        *(("id", np.uint64), ("time", np.float64), ("reference_id", np.uint64)),
        *((name, np.float32) for name in ("value", "error", "u", "u_ref")),
        *((name, np.float32) for name in ("below", "above", "p", "crps")),
    ]
)


class BlockImage(Image, array_like=True):
    """The whole content of a block's store; ``single`` are older pairs in single precision."""

    compact_at: int = 0
    single: tuple[int, dict[str, bytes]] = (0, {})
    covariates: bytes = b""


class BlockStore(InMemoryStore):
    """State: what was appended; it is durable once the engine has the state of the block.

    It keeps no dead letters: those of a batch go to their table with its results.
    """

    def __init__(self, image: BlockImage | None = None) -> None:
        super().__init__(dead_letters_kept=0)
        self._compact_at = _COMPACT_FIRST
        self._packed = PackedPairs(PAIR)  # the first changes, as many as are packed
        self._places: dict[int, slice] = {}  # by series, while nothing was appended since compact
        if image is not None:
            self._load_block(image)

    def append(self, batch: Batch) -> None:
        """Keep a batch as long as this store exists."""
        super().append(batch)
        if batch.pairs.size:
            self._places = {}

    def pairs_of(self, series: int) -> Records:
        """Return all standing pairs of one series in event order."""
        place = self._places.get(series)
        return super().pairs_of(series) if place is None else self.pairs()[place]

    # -- how much is kept -------------------------------------------------------------------

    def expire(self, *, observations_before: float, pairs_before: float = -np.inf) -> bool:
        """Drop older data, as any store does; also revisions and names beyond a maximum."""
        is_less = super().expire(observations_before=observations_before, pairs_before=pairs_before)
        for number in list(self._revisions)[: max(0, len(self._revisions) - REVISIONS_MAX)]:
            del self._revisions[number]
        for name in list(self._named)[: max(0, len(self._named) - REVISIONS_MAX)]:
            del self._named[name]
        return is_less

    def is_grown(self) -> bool:
        """Return whether there are enough changes to make :meth:`compact` worthwhile."""
        return sum(each.size for each in self._changes) >= self._compact_at

    def compact(self) -> dict[int, int]:
        """Keep only the standing pairs; return how many pairs each series has."""
        standing = in_event_order(self.pairs())
        self._replace_pairs(standing)
        self._compact_at = max(_COMPACT_FIRST, standing.size + standing.size // 4)
        series, starts = np.unique(standing["series"], return_index=True)
        stops = np.append(starts[1:], standing.size)
        self._places = dict(
            zip(series.tolist(), map(slice, starts.tolist(), stops.tolist()), strict=True)
        )
        return {row: place.stop - place.start for row, place in self._places.items()}

    def drop(self, first: Mapping[int, int]) -> None:
        """Drop the first pairs of some series, as many as given; only after :meth:`compact`."""
        pairs = self.pairs()
        gone = np.zeros(pairs.size, dtype=np.bool_)
        starts = np.searchsorted(pairs["series"], list(first))
        for start, count in zip(starts.tolist(), first.values(), strict=True):
            gone[start : start + count] = True
        self._replace_pairs(pairs[~gone])

    def _replace_pairs(self, changes: Records) -> None:
        super()._replace_pairs(changes)
        self._packed, self._places = PackedPairs(PAIR), {}

    # -- copy -------------------------------------------------------------------------------

    def dump(self, held: Mapping[int, float] | None = None) -> BlockImage:
        """Return the whole content.

        ``held`` is the event time of the oldest held reading of each series; with it, pairs of
        older readings are kept in single precision, as windows in single precision have them.
        """
        packed, settled = self._packed, NO_PAIRS
        if held is None:
            self._pack_new()
        else:
            pairs, settled = self._apart(held)
            packed = PackedPairs(PAIR)
            packed.append(pairs)
        single = PackedPairs(_SINGLE)
        single.append(_as_single(settled))
        image = msgspec.structs.asdict(self._image(packed.dump()))
        covariates = self._covariates.tobytes()
        return BlockImage(
            **image, compact_at=self._compact_at, single=single.dump(), covariates=covariates
        )

    def copy(self) -> bytes:
        """Return the whole content as bytes for :meth:`open`, in double precision."""
        return msgspec.msgpack.encode(self.dump())

    @classmethod
    def open(cls, copy: bytes) -> Self:
        """Return a store with the content of a :meth:`copy`; raises msgspec's errors."""
        return cls(msgspec.msgpack.decode(copy, type=BlockImage))

    def _pack_new(self) -> None:
        """Pack the pairs added since the last time: the others are packed already."""
        first, stop = 0, self._packed.count
        for each in self._changes:
            self._packed.append(each[max(0, stop - first) :])
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

    def _load_block(self, image: BlockImage) -> None:
        self._load(image)
        self._covariates = np.frombuffer(image.covariates, BESIDE)
        self._changes = [_as_double(unpacked(image.single, _SINGLE)), *self._changes]
        self._compact_at = max(_COMPACT_FIRST, image.compact_at)


def _as_single(pairs: Records) -> Records:
    """Return standing pairs in the form of windows in single precision."""
    single = np.zeros(pairs.size, dtype=_SINGLE)
    for name in ("series", "id", "time", "value", "u", "reference_id", "p", "crps"):
        single[name] = pairs[name]
    single["error"] = pairs["value"] - pairs["reference"]
    single["below"] = pairs["value"] - pairs["lower"]
    single["above"] = pairs["upper"] - pairs["value"]
    single["u_ref"] = np.hypot(pairs["u_ref"], pairs["u_pair"])
    return single


def _as_double(single: Records) -> Records:
    """Return the pairs that :func:`_as_single` was given, as windows keep them."""
    pairs = np.zeros(single.size, dtype=PAIR)
    for name in ("series", "id", "time", "value", "u", "reference_id", "p", "crps", "u_ref"):
        pairs[name] = single[name]
    pairs["reference"] = pairs["value"] - single["error"]
    pairs["lower"] = pairs["value"] - single["below"]
    pairs["upper"] = pairs["value"] + single["above"]
    return pairs


# -- the state as bytes ---------------------------------------------------------------------------

VERSION: Final = 9


class StateError(MonitorError):
    """The state of a block cannot be used; the message says what to do."""

    exit_code = UNAVAILABLE


class SeriesState(msgspec.Struct, array_like=True):
    """The evidence of one series, and when its last reading came.

    ``systematic`` is the share of systematic effects in its uncertainty, and the declared values
    from which it was computed.
    """

    path: int
    state: bytes
    root: tuple[float, int, bytes] | None
    last_reading: float
    heard: float
    systematic: tuple[float, tuple[float | None, ...]] | None = None


class BlockState(msgspec.Struct, array_like=True):
    """A block; :data:`UPGRADES` says what earlier versions had.

    ``shown`` is the state of each series after the last batch, and its alerts.
    """

    version: int
    expired: float
    too_late: int
    stored: BlockImage
    rows: list[SeriesState]
    noted: list[int]
    refusals: tuple[list[int], dict[str, int], dict[str, tuple[float, float, int]]]
    crossings: Crossings
    bases: Bases
    losses: tuple[int, int]
    onsets: Onsets = []
    shown: list[list[str]] = []


encode_state: Final = msgspec.msgpack.Encoder().encode
_decode: Final = msgspec.msgpack.Decoder(BlockState).decode


# From the first release on, every version that was released has an entry here: a function from the
# fields of a state, the first of which is its version, to those of the next version.
UPGRADES: Final[dict[int, Callable[[list[Any]], list[Any]]]] = {}


def load_state(state: bytes) -> BlockState:
    """Return a state of this version; raises StateError."""
    try:
        plain = msgspec.msgpack.decode(state, type=list[Any])
        version = plain[0]
        if version == VERSION:
            return _decode(state)
        while plain[0] in UPGRADES:
            plain = UPGRADES[plain[0]](plain)
        if plain[0] == VERSION:
            return msgspec.convert(plain, BlockState)
    except (msgspec.DecodeError, msgspec.ValidationError, IndexError) as error:
        raise StateError(f"the state of a block is damaged: {error}") from error
    raise StateError(
        f"the state of a block is of version {version}, this program reads {VERSION}; "
        "run the program that wrote it"
    )
