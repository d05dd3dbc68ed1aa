"""Evidence that outlives the process: one saved state per long series, for the next start.

Rules of this file: a state is saved with a digest of everything that determines it besides pairs
and events; a state made by another program version, machine or setting is ignored. The store drops
a state when pairs or events before it change. A saved state affects the cost of a start, never its
result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from hashlib import blake2b
from typing import Final, NamedTuple

import msgspec
import numpy as np

from monitor.core.detector.detector import Detector
from monitor.core.detector.series_state import STATE
from monitor.core.model import Float, Int, Records
from monitor.core.pairing.series_rules import SeriesRules
from monitor.core.windows.rings import Names

PAIRS: Final = 512  # new pairs of a series before its state is saved again
_DIGEST_BYTES: Final = 16
_PROBED_SERIES: Final = 4
_PROBED_PAIRS: Final = 64


class KeptEvidence(NamedTuple):
    """The state of a series after all its pairs and events up to an event time, s UTC."""

    series: int
    time: float
    body: bytes


class KeptState(msgspec.Struct, array_like=True, frozen=True):
    """The body of kept evidence: its grounds, the last pair before it, the bets, and the record."""

    grounds: bytes
    id: int
    path: int
    systematic: float
    record: bytes


# (series, time, id) -> how many of its pairs there are up to that one.
UpTo = Callable[[int, float, int], int]

_encode: Final = msgspec.msgpack.Encoder().encode
_decode: Final = msgspec.msgpack.Decoder(KeptState).decode


class Resumed(NamedTuple):
    """A state that a start continues from: the rank of the first pair it needs, and of the next."""

    time: float
    state: KeptState
    first: int
    next: int


class EvidenceKeeper:
    """State: up to which time evidence of each series is kept, and the number of pairs since."""

    def __init__(self, detector: Detector, rules: Sequence[SeriesRules], program: str) -> None:
        self._detector: Final = detector
        self._apart: Final = detector.alone()
        self._rules: Final = rules
        self._program: Final = program
        self._grounds: Final[dict[SeriesRules, bytes]] = {}
        self._came: Final = np.zeros(detector.path.size, dtype=np.int64)
        self._times: Final = np.full(detector.path.size, -np.inf)

    def count(self, series: Int, pairs: Int | int = 1) -> None:
        """Count changes of pairs of series, one each or so many."""
        np.add.at(self._came, series, pairs)

    def disturb(self, row: int, since: float) -> None:
        """Note that the past of a series changed from an event time on."""
        if -np.inf < self._times[row] >= since:
            self._times[row] = -np.inf
            self._came[row] += PAIRS

    def drop(self) -> None:
        """Note that no evidence is kept any more."""
        self._came[self._times > -np.inf] += PAIRS
        self._times[:] = -np.inf

    def due(self) -> Int:
        """Return the series that have enough new pairs."""
        return np.flatnonzero(self._came >= PAIRS)

    def made(self, series: Int, times: Float, ids: Names, records: Records) -> list[KeptEvidence]:
        """Return the evidence to keep: the states of ``series`` after the pairs (time, id)."""
        self._came[series], self._times[series] = 0, times
        paths, shares = self._detector.path[series], self._detector.systematic[series]
        columns = (series, times, ids, paths, shares)
        every = zip(*(column.tolist() for column in columns), records, strict=True)
        return [
            KeptEvidence(
                row,
                time,
                _encode(KeptState(self._grounds_of(row), number, path, share, record.tobytes())),
            )
            for row, time, number, path, share, record in every
        ]

    def resumable(self, note: KeptEvidence, up_to: UpTo) -> Resumed | None:
        """Return the state to continue from; None if its grounds differ or there are too few pairs.

        All existing pairs must have been counted.
        """
        state = _decode(note.body)
        if state.grounds != self._grounds_of(note.series) or len(state.record) != STATE.itemsize:
            return None
        record = np.frombuffer(state.record, STATE)[0]
        rank = up_to(note.series, note.time, state.id)
        first = rank - max(self._apart.remembered(record), 1)
        if first < 0:
            return None
        self._times[note.series] = note.time
        self._came[note.series] -= rank
        return Resumed(note.time, state, first, rank)

    def _grounds_of(self, row: int) -> bytes:
        rules = self._rules[row]
        if rules not in self._grounds:
            made = blake2b(_machine(), digest_size=_DIGEST_BYTES)
            made.update(repr((self._program, self._detector.decides_by, rules)).encode())
            self._grounds[rules] = made.digest()
        return self._grounds[rules]


@cache
def _machine() -> bytes:
    """Return a fingerprint of this program on this machine: its result for a few fixed pairs."""
    steps = np.arange(_PROBED_SERIES * _PROBED_PAIRS)
    z = (steps * 7919 % 4001 - 2000) / 800.0 + np.repeat(np.arange(_PROBED_SERIES), _PROBED_PAIRS)
    covers = np.arange(_PROBED_SERIES) == 1
    z[np.repeat(covers, _PROBED_PAIRS)] = np.where(steps[:_PROBED_PAIRS] % 3 == 1, 1.1, 0.1)
    detector = Detector(np.full(_PROBED_SERIES, 20.0), covers)
    series = np.arange(_PROBED_SERIES)
    detector.advance(series, _PROBED_PAIRS * series, z)
    versions = repr((np.__version__, STATE.descr)).encode()
    return b"".join([versions, *map(detector.bits, series.tolist())])
