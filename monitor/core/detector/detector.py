"""The detector: evidence of many series that their sensors are not as right as they state.

Rules of this file: the state of a series is one record and its last z. A replay uses up to 512
earlier z: from a ring kept here, or from the owner (the windows) with only the last few kept here.
Every number of a series depends on its own z in event order alone, not on batch boundaries or other
series; for this reason sums are added in a fixed order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

import numpy as np

from monitor.core.detector import e_values, levels, usual_u, whitening
from monitor.core.detector.accumulation import accumulate, confirm
from monitor.core.detector.e_process import EvidenceBlock, rectangles
from monitor.core.detector.lifecycle import FIRING, OK, STATES, StateTransition
from monitor.core.detector.series_state import STATE
from monitor.core.detector.usual_u import Inputs, StatedColumns
from monitor.core.model import Bool, Float, Int, Records
from monitor.core.windows.rings import zeros_on_demand

RING: Final = 512
HORIZON: Final = 1000.0

# (series, how many) -> the last z of a series before the batch that is being applied.
Earlier = Callable[[int, int], Float]


class Replays(NamedTuple):
    """How far replays look back: ``pairs``, FAR at least and 512 at most.

    ``earlier`` returns the z before a batch; without it the detector keeps them itself.
    ``is_single``: all z are rounded to 24 bits.
    """

    pairs: int = RING
    is_single: bool = False
    earlier: Earlier | None = None


_REPLAYS: Final = Replays()


class Detector:
    """Alert state of ``patience.size`` series.

    ``patience`` is A of each series: pairs an honest sensor goes, on average, between two false
    alarms. ``coverage`` marks series that state intervals only: their z are codes made by
    :func:`.e_values.coverage_code`. ``systematic`` is the share of each one's standard uncertainty
    that is declared to be of systematic effects, below 1. All may be changed in place between
    batches.
    ``horizon`` is H, in pairs: what is older hardly counts in the discounted evidence.
    """

    def __init__(
        self,
        patience: Float,
        coverage: Bool | None = None,
        horizon: float = HORIZON,
        replays: Replays = _REPLAYS,
    ) -> None:
        self.patience = patience
        self._horizon: Final = horizon
        self._kept: Final = 1.0 - 1.0 / horizon
        self._replays: Final = replays
        self._length: Final = replays.pairs if replays.earlier is None else whitening.FAR
        self.path = np.zeros(patience.size, np.int8)
        self.systematic = np.zeros(patience.size)
        if coverage is not None:
            self.path[coverage] = e_values.COVERAGE
        self._state = zeros_on_demand(patience.size, STATE)
        # The same memory without field names: rows copied whole are twelve times quicker.
        self._rows = self._state.view(np.dtype((np.void, STATE.itemsize)))
        number = np.dtype(np.float32 if replays.is_single else np.float64)
        ring = zeros_on_demand(patience.size * self._length, number)
        self._ring = ring.reshape(patience.size, self._length)

    @property
    def decides_by(self) -> tuple[float, int, bool]:
        """The settings that decisions depend on, besides those of each series."""
        return self._horizon, self._replays.pairs, self._replays.is_single

    def alone(self, series: int = 1) -> Detector:
        """Return a detector of so many series with the same settings, which keeps all z itself."""
        replays = self._replays._replace(earlier=None)
        return Detector(np.ones(series), horizon=self._horizon, replays=replays)

    def advance(
        self, series: Int, starts: Int, z: Float, stated: StatedColumns | None = None
    ) -> list[StateTransition]:
        """Apply the next pairs of ``series`` (unique) and return the transitions, by position.

        ``z[starts[i]:starts[i + 1]]`` are the new pairs of ``series[i]`` in event order, all
        finite. Series without a pair in the batch must not be named. ``stated`` has a row for each
        z; without it u is taken to be constant, and there are no bets on a gain.
        """
        if self._replays.is_single:
            z = z.astype(np.float32).astype(np.float64)
        counts = np.diff(starts, append=z.size)
        order = np.argsort(-counts, kind="stable")
        series, starts, counts = series[order], starts[order], counts[order]
        transitions: list[StateTransition] = []
        for few, first, last in rectangles(counts):
            ranks = np.arange(first, last)[:, None]
            transitions += self._advance(series[few], starts[few] + ranks, z, stated, first)
        return sorted(transitions, key=lambda transition: transition.position)

    def _advance(
        self, series: Int, positions: Int, z: Float, stated: StatedColumns | None, first: int
    ) -> list[StateTransition]:
        """Apply a rectangle of pairs; before it the batch had ``first`` of each series."""
        records = self._state.take(series)
        path = self.path[series].astype(int)
        if stated is None:
            path = np.where(path == e_values.Z, e_values.BARE, path)
            columns = StatedColumns(np.ones(positions.shape), np.zeros(positions.shape))
        else:
            columns = StatedColumns(*(rows[positions] for rows in stated))
        far = np.arange(min(positions.shape[0], whitening.FAR))[:, None] - whitening.FAR
        block = EvidenceBlock(
            records,
            positions,
            Inputs(z[positions], columns),
            self._ring[series, (records["seen"] + far) % self._length].astype(np.float64),
            self.patience[series],
            path,
            self.systematic[series],
            self._kept,
        )
        rank = 0
        while rank < block.ranks:
            rank = accumulate(block, rank)
            self._change_states(block, series, rank, z, first)
            rank += 1
        block.store(records)
        self._rows[series] = records.view(self._rows.dtype)
        last = z[positions[-self._length :]]
        slots = (records["seen"] - np.arange(last.shape[0], 0, -1)[:, None]) % self._length
        self._ring[series, slots] = last
        return [block.transition(series, *change) for change in block.changes]

    def _change_states(
        self, block: EvidenceBlock, series: Int, rank: int, z: Float, first: int
    ) -> None:
        """Change states at ``rank``, after its bets: firing alerts are tested, others judged."""
        firing = block.state == FIRING
        if firing.any():
            block.test_reverse(rank, np.flatnonzero(firing))
        enough = block.total >= block.patience
        if enough.any() and (candidates := np.flatnonzero(~firing & enough)).size:
            histories = []
            for column in candidates.tolist():
                wanted = min(int(rank + 1 - block.origin[column]), self._replays.pairs)
                stop = int(block.positions[rank, column]) + 1
                # A ring holds the z before the rectangle, an owner those before the batch.
                known = rank + 1 + (0 if self._replays.earlier is None else first)
                fresh = z[stop - min(wanted, known) : stop]
                lacking = wanted - fresh.size
                earlier = self._earlier(int(series[column]), lacking)
                histories.append(np.concatenate([earlier, fresh]))
            confirm(block, rank, candidates, histories)
        block.judge(rank, ~firing)

    def _earlier(self, row: int, count: int) -> Float:
        """Return the last z of one series before the batch, or as far as the ring has them."""
        if not count:
            return np.zeros(0)
        if self._replays.earlier is None:
            return self._last(row, int(self._state["seen"][row]), count)
        earlier = self._replays.earlier(row, count)
        return earlier.astype(np.float32).astype(np.float64) if self._replays.is_single else earlier

    def _last(self, row: int, pairs: int, count: int) -> Float:
        slots = (pairs - np.arange(count, 0, -1)) % self._length
        return self._ring[row, slots].astype(np.float64)

    def reset(self, series: Int) -> list[StateTransition]:
        """Begin a new epoch: no evidence, no history; what was learnt of z, u and level stays."""
        ended = [
            StateTransition(int(row), -1, STATES[state], STATES[OK], e_values.FAMILIES[family], 0.0)
            for row, state, family in zip(
                series, self._state["state"][series], self.leading(series), strict=True
            )
            if state != OK
        ]
        former = self._state[series]
        fresh = np.zeros(series.size, STATE)
        for name in (*whitening.LEARNT, *usual_u.SUMS, *levels.STATE_FIELDS):
            fresh[name] = former[name]
        fresh["middle"] = fresh["n"] * whitening.MIDDLE_MOST  # their shape may have changed
        self._state[series] = fresh
        return ended

    def records(self, series: Int) -> Records:
        """Return a copy of the states (dtype STATE) without the rings, for the journal."""
        return self._state.take(series)

    def restore(self, series: Int, records: Records, starts: Int, z: Float) -> None:
        """Set states saved by :meth:`records`; ``z`` are the last pairs before each, ragged.

        Each series needs :meth:`remembered` z; further ones are ignored.
        """
        counts = np.diff(starts, append=z.size)
        needed = self._remembered(records)
        if (counts < needed).any():
            at = int((counts < needed).argmax())
            message = (
                f"series {series[at]}: {needed[at]} pairs are needed to restore, {counts[at]} given"
            )
            raise ValueError(message)
        self._state[series] = records
        back = np.repeat(np.cumsum(needed), needed) - np.arange(needed.sum())  # from each end
        slots = (np.repeat(records["seen"].astype(np.int64), needed) - back) % self._length
        self._ring[np.repeat(series, needed), slots] = z[np.repeat(starts + counts, needed) - back]

    def remembered(self, record: np.void) -> int:
        """Return how many of a series' last z are kept here: a replay's, and those at lag FAR."""
        return int(self._remembered(record.reshape(1))[0])

    def _remembered(self, records: Records) -> Int:
        counts = np.minimum(records["seen"].astype(np.int64), whitening.FAR)
        if self._replays.earlier is None:
            held = np.minimum(records["held"].astype(np.int64), self._replays.pairs)
            counts = np.maximum(counts, held)
        return counts

    def copies(self, series: Int) -> tuple[Records, Float]:
        """Return the states of series as they lie in memory, for :meth:`put_back` only."""
        return self._rows[series], self._ring[series]

    def put_back(self, series: Int, rows: Records, rings: Float) -> None:
        """Set the states of series to former ones."""
        self._rows[series], self._ring[series] = rows, rings

    def dump(self, series: int) -> bytes:
        """Return one series' whole state: its record, then the z that are kept here."""
        return self.dumps(np.array([series]))[0]

    def dumps(self, series: Int) -> list[bytes]:
        """Return what :meth:`dump` does of each series."""
        records = self._state.take(series)  # whole: an index would leave the padding undefined
        pairs = records["seen"].astype(np.int64)
        counts = self._remembered(records)
        most = int(counts.max(initial=0))
        slots = (pairs[:, None] - np.arange(most, 0, -1)) % self._length
        z = self._ring[series[:, None], slots].astype(np.float64)
        return [
            bytes(record.tobytes() + row[most - count :].tobytes())
            for record, row, count in zip(records, z, counts.tolist(), strict=True)
        ]

    def bits(self, series: int) -> bytes:
        """Return one series' state without padding: its record, and the last z at lag FAR."""
        record = self._state[[series]]
        pairs = int(record["seen"][0])
        fields = [record[name].tobytes() for name in STATE.names or ()]
        return b"".join([*fields, self._last(series, pairs, min(pairs, whitening.FAR)).tobytes()])

    def load(self, series: int, state: bytes) -> None:
        """Set one series' state to what :meth:`dump` returned, bit for bit."""
        self.loads(np.array([series]), [state])

    def loads(self, series: Int, states: Sequence[bytes]) -> None:
        """Do what :meth:`load` does for each series."""
        size = STATE.itemsize
        records = np.frombuffer(b"".join(each[:size] for each in states), STATE)
        z = np.frombuffer(b"".join(each[size:] for each in states), np.float64)
        stops = np.cumsum([(len(each) - size) // z.itemsize for each in states], dtype=np.int64)
        self.restore(series, records, np.append(0, stops)[: series.size], z)

    def forget(self, series: Int) -> None:
        """Clear series, as if they had had no pairs."""
        self._state[series] = np.zeros(1, STATE)
        self.path[series] = e_values.Z
        self.systematic[series] = 0.0

    def evidence(self, series: Int) -> Float:
        """Return S of each series: it fires at its patience."""
        return e_values.total_of(self._families(series))

    def discounted(self, series: Int) -> Float:
        """Return D of each series: its mean is at most the horizon while the sensor is honest."""
        discounted: Float = self._state["discounted"][series]
        return discounted

    def families(self, series: Int) -> Float:
        """Return the evidence of each series by family, [k, 5], in the order of FAMILIES."""
        return self._families(series).T

    def leading(self, series: Int) -> Int:
        """Return the index in FAMILIES of the largest family of each series."""
        leading: Int = np.argmax(self._families(series), axis=0)
        return leading

    def rho(self, series: Int) -> Float:
        """Return the lag-1 autocorrelation of z learnt so far, 0 <= rho <= 0.95."""
        records = self._state[series]
        return whitening.learnt_from(*(records[name] for name in whitening.LEARNT)).rho

    def since_alarm(self, series: Int) -> Int:
        """Return how many pairs came after the one that raised the alert, -1 if none fires."""
        records = self._state[series]
        since: Int = np.where(records["alarm"] > 0, records["seen"] - records["alarm"], -1)
        return since

    def since_clear(self, series: Int) -> Int:
        """Return how many of its last pairs each series has had since its last all-clear.

        Since its epoch began where there was none; at most RING.
        """
        held: Int = self._state["held"][series].astype(np.int64)
        return held

    def alarms(self, series: Int) -> Int:
        """Return which pair of its epoch raised each series' alert, from 1; 0: none fires."""
        alarms: Int = self._state["alarm"][series]
        return alarms

    def states(self, series: Int) -> Int:
        """Return the alert state of each series, an index in STATES."""
        states: Int = self._state["state"][series].astype(np.int64)
        return states

    def _families(self, series: Int) -> Float:
        return e_values.families_of(self._state["evidence"][series].T)
