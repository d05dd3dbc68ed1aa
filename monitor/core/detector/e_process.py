"""E-processes: evidence accumulated over a block of new pairs (ranks x series).

Rules of this file: a batch is cut into rectangles, so that numpy computes many series at once; how
it is cut changes its cost and never its result. All bets of a block are computed at once;
:mod:`.accumulation` accumulates them rank by rank. :func:`bets_from_first` makes those of one
series' whole life, for analyses of parts of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from monitor.core.detector import e_values, levels, lifecycle, usual_u, whitening
from monitor.core.detector.levels import Levels
from monitor.core.detector.lifecycle import FIRING, OK, PENDING, STATES, StateTransition
from monitor.core.detector.scales import Scales
from monitor.core.detector.series_state import STATE
from monitor.core.detector.usual_u import Inputs, StatedColumns
from monitor.core.detector.whitening import Whitening
from monitor.core.model import Bool, Float, Int, Records

# -- blocks ---------------------------------------------------------------------------------------

FEW: Final = 8  # with fewer series than this, many pairs are faster one series after the other
BLOCK_PAIRS: Final = 1 << 15
REPLAYED: Final = 512  # pairs since an all-clear, or an epoch's beginning, are counted up to that


def rectangles(counts: Int) -> Iterator[tuple[slice, int, int]]:
    """Yield (series, first rank, last rank) that tile series sorted by falling ``counts``."""
    first = 0
    deepest = int(counts[0]) if counts.size else 0
    while first < deepest:
        k = int(np.searchsorted(-counts, -first, side="left"))
        if k < FEW <= deepest - first:
            yield from (
                (slice(column, column + 1), start, min(start + BLOCK_PAIRS, int(counts[column])))
                for column in range(k)
                for start in range(first, int(counts[column]), BLOCK_PAIRS)
            )
            return
        last = min(int(counts[k - 1]), first + max(1, BLOCK_PAIRS // k))
        yield slice(0, k), first, last
        first = last


# -- evidence -------------------------------------------------------------------------------------

# Share of the sums about autocorrelation that is left after one more pair.
KEPT: Final = 1.0 - 1.0 / 400.0
_NEVER: Final = 1e300  # a patience that no evidence exhausts


def fading(start: Float, steps: Float) -> Float:
    """Return sums [ranks + 1, m, k] of ``steps`` [ranks, m, k], which decay by ``KEPT`` a pair."""
    sums = np.empty((steps.shape[0] + 1, *steps.shape[1:]))
    sums[0] = start
    if steps.shape[2] == 1:
        for row, value in enumerate(start[:, 0].tolist()):
            sums[1:, row, 0] = [value := value * KEPT + step for step in steps[:, row, 0].tolist()]
        return sums
    for rank in range(steps.shape[0]):
        np.multiply(sums[rank], KEPT, out=sums[rank + 1])
        sums[rank + 1] += steps[rank]
    return sums


StateChange = tuple[int, int, int, int, int, float]  # rank, column, before, after, family, evidence


class EvidenceBlock:
    """New pairs [ranks, k] of k series, and the state they pass through.

    ``positions`` [ranks, k] says where each pair stands in the batch; ``origin`` is the rank from
    which a replay may use the series' z (negative: that many of its ring). ``systematic`` is the
    share of systematic effects in each one's uncertainty; ``z`` has the usual u.
    """

    def __init__(
        self,
        records: Records,
        positions: Int,
        inputs: Inputs,
        earlier: Float,
        patience: Float,
        path: Int,
        systematic: Float,
        retained: float,
    ) -> None:
        self.systematic = systematic
        self.positions = positions
        self.ranks, self.size = inputs.z.shape
        self.patience = patience
        self.resolved_at = lifecycle.resolved_at(patience)
        self.path = path
        self.weights = e_values.weights_of(path)
        self.evidence = np.ascontiguousarray(records["evidence"].T)
        self.seen = records["seen"].copy()
        self.alarm = records["alarm"].copy()
        self.origin = -records["held"].astype(np.int64)
        self.reverse = records["reverse"].copy()
        self.moments = np.ascontiguousarray(records["moments"].T)
        self.calm = np.ascontiguousarray(records["calm"].T)
        self.stretch = records["stretch"].copy()
        self.refining = records["refining"].copy()
        self.state = records["state"].copy()
        self.family = records["family"].astype(np.int64)
        self.shape = records["shape"].astype(np.float64)
        self.total = e_values.total_of(e_values.families_of(self.evidence))
        self.discounted = records["discounted"].copy()
        self.kept = retained
        self.changes: list[StateChange] = []
        self.age = self.seen + np.arange(self.ranks)[:, None]
        self._follow(records, inputs)
        self.z = self._at_usual_u(inputs.z)
        self._learn(records, np.concatenate([earlier, inputs.z])[: self.ranks], inputs.stated)
        self.bets = self._bets(records)

    def _follow(self, records: Records, inputs: Inputs) -> None:
        """Fill how u goes with the error before each rank and after the last, None if not at all.

        The sums are those after the last rank.
        """
        z, stated = inputs
        last = (records[name] for name in usual_u.LAST)
        z, u, value = (np.vstack(rows) for rows in zip(last, (z, *stated), strict=True))
        self._last = z[-1], u[-1], value[-1]
        self._levels = self._levels_of(records, z, u, value)
        self._slopes, self._u_sums = None, np.array([records[name] for name in usual_u.SUMS])
        steps = usual_u.steps_of(Inputs(z, StatedColumns(u, value)), self.age > 0, self._u_sums)
        if steps is not None:
            sums = fading(self._u_sums, steps)
            self._slopes, self._u_sums = usual_u.slope_of(*sums.swapaxes(0, 1)), sums[-1]

    def _levels_of(self, records: Records, z: Float, u: Float, value: Float) -> Levels | None:
        """Return the levels of pairs [ranks + 1, k], the one before included; note the state."""
        start = np.array([records[name] for name in levels.STATE_FIELDS])
        self._level_state = start
        by_level = self.path == e_values.Z
        if not by_level.any():
            return None
        least = levels.LEAST * (u[1:] * u[1:])
        reference = value - z * u
        centre, square, after = levels.advance(start, reference[1:], least)
        self._level_state = np.where(by_level, after, start)
        both = np.array([reference, value])
        n = start[0] + np.arange(self.ranks)[:, None]
        spread = np.where(n < levels.KNOWN, np.inf, np.sqrt(np.maximum(square, least)))
        return Levels(both[:, 1:] - centre, both[:, :-1] - centre, spread)

    def _at_usual_u(self, z: Float) -> Float:
        """Return z of as many ranks as the block has, with the usual u."""
        return z if self._slopes is None else usual_u.at_usual_u(z, self._slopes[:-1])

    def at_usual_u(self, z: Float, rank: int, columns: Int) -> Float:
        """Return z [n, c] with the usual u as known once the pairs of ``rank`` are counted."""
        known = self._slopes
        return z if known is None else usual_u.at_usual_u(z, known[rank + 1, columns])

    def _learn(self, records: Records, far: Float, stated: StatedColumns) -> None:
        """Fill the columns of past z, and the sums of squared differences before each pair.

        ``far`` are the stated z at lag FAR.
        """
        self.past = np.concatenate([[records["z2"], records["z1"]], self.z])
        q = whitening.clipped(self.past, -whitening.CLIP, whitening.CLIP)
        q_far = whitening.clipped(self._at_usual_u(far), -whitening.CLIP, whitening.CLIP)
        two, is_far = self.age >= 2, self.age >= whitening.FAR
        steps = np.empty((self.ranks, len(whitening.LEARNT), self.size))
        steps[:, 0] = np.where(two, np.square(q[2:] - q[1:-1]), 0.0)
        steps[:, 1] = np.where(two, np.square(q[2:] - q[:-2]), 0.0)
        steps[:, 2] = two
        steps[:, 3] = np.where(is_far, np.square(q[2:] - q_far), 0.0)
        steps[:, 4] = is_far
        steps[:, 5] = np.where(two, whitening.middle_bet(q[2:]), 0.0)
        on_step = whitening.on_step(stated.value, stated.u)
        steps[:, 6] = np.minimum(on_step, whitening.is_like(self.z, self.past[1:-1]))
        sums = fading(np.array([records[name] for name in whitening.LEARNT]), steps)
        self.sums = [sums[:, row] for row in range(len(whitening.LEARNT))]

    def _bets(self, records: Records) -> Float:
        self._known = whitening.learnt_from(*self.sums)
        follows = (self.age > 0).ravel()
        learnt = Whitening(*(part[:-1].ravel() * follows for part in self._known))
        z, previous = self.z.ravel(), np.where(follows, self.past[1:-1].ravel(), 0.0)
        x = whitening.whitened(z, previous, learnt).reshape(self.z.shape)
        self.scales = Scales(records, self.systematic)
        ceilings = self.scales.advance(x, self.age)
        path = np.tile(self.path, self.ranks)
        shares, flat = self.shares(self.ranks), self._levels and self._levels.raveled()
        computed = e_values.bets_of(path, z, previous, learnt, ceilings, shares, flat)
        return computed.reshape(e_values.BETS, self.ranks, self.size)

    def shares(self, ranks: int, columns: Int | slice = slice(None)) -> Float:
        """Return the systematic share of each of so many pairs, one 0 where none is declared."""
        shares = self.systematic[columns]
        return np.tile(shares, ranks) if shares.any() else e_values.NOTHING_SYSTEMATIC

    @property
    def rho(self) -> Float:
        """Autocorrelation known before each rank, and after the last, [ranks + 1, k]."""
        return self._known.rho

    def learnt(self, rank: int, columns: Int) -> Whitening:
        """Return the autocorrelation known once the pairs of ``rank`` are counted."""
        return Whitening(*(part[rank + 1, columns] for part in self._known))

    def record(self, rank: int, columns: Int, after: Int, family: Int) -> None:
        """Record the change of state of ``columns`` at ``rank``."""
        for i, column in enumerate(columns.tolist()):
            before, total = int(self.state[column]), float(self.total[column])
            self.changes.append((rank, column, before, int(after[i]), int(family[i]), total))
        self.state[columns] = after

    def transition(self, series: Int, *change: *StateChange) -> StateTransition:
        """Return a recorded change in the batch's own numbering."""
        rank, column, before, after, family, evidence = change
        return StateTransition(
            int(series[column]),
            int(self.positions[rank, column]),
            STATES[before],
            STATES[after],
            e_values.FAMILIES[family],
            evidence,
        )

    def test_reverse(self, rank: int, columns: Int) -> None:
        """Advance the reverse test of the firing ``columns``; resolve those whose fault is gone."""
        path, z = self.path[columns], self.z[rank, columns]
        family, moments = self.family[columns], self.moments[:, columns]
        systematic = self.systematic[columns]
        relieved = lifecycle.relief(path, family, moments, z, systematic)
        if (by_gain := np.flatnonzero(family == lifecycle.GAIN)).size:
            some = columns[by_gain]
            relieved[by_gain] = self.relief_of_gain(slice(rank, rank + 1), some)[0]
        rho = self.rho[rank + 1, columns]
        share = lifecycle.worth(rho)
        grown = self.reverse[columns] + share * relieved
        self.reverse[columns] = np.maximum(0.0, grown)
        added = lifecycle.moments_of(path, z)
        more = share * lifecycle.reshaped(added, self.shape[columns])
        calm = np.where(grown > 0.0, self.calm[:, columns] + more, 0.0)
        # For an intermittent fault the longest calm is learnt: how long it stays away.
        failed = (grown <= 0.0) & (self.stretch[columns] > 0.0)
        longest = np.maximum(self.stretch[columns], self.calm[0, columns])
        self.stretch[columns] = np.where(failed, longest, self.stretch[columns])
        self.calm[:, columns] = calm
        refined = self.refining[columns] > 0
        self.moments[:, columns] += np.where(refined, added, 0.0)
        self.refining[columns] -= refined
        over = np.flatnonzero(grown >= self.resolved_at[columns])
        if over.size:
            after = lifecycle.aftermath(
                path[over], moments[:, over], calm[:, over], rho[over], systematic[over]
            )
            self._go_on(columns[over], after.family)
            is_long = calm[0, over] >= lifecycle.LONGER * self.stretch[columns[over]]
            self._resolve(rank, columns[over[after.is_calm & is_long]])

    def relief_of_gain(self, ranks: slice, columns: Int) -> Float:
        """Return the relief by pairs, [ranks, c], of series that fire for a gain."""
        z, systematic = self.z[ranks, columns], self.systematic[columns]
        if self._levels is None:
            return np.zeros_like(z)
        leading = np.argmax(self.evidence[e_values.OF_GAIN, columns], axis=0)
        places = self._levels.places(ranks, columns)
        return lifecycle.relief_gain(leading, places, z, systematic)

    def _go_on(self, columns: Int, family: Int) -> None:
        """Test next whether the fault of ``family`` (-1: none), the new one, has ended."""
        columns, family = columns[family >= 0], family[family >= 0]
        self.family[columns] = family
        self.moments[:, columns] = self.calm[:, columns]
        self.refining[columns] = lifecycle.REFINING[self.path[columns]]
        self.reverse[columns] = 0.0
        self.calm[:, columns] = 0.0

    def _resolve(self, rank: int, gone: Int) -> None:
        """End the alerts of series whose fault is ``gone``; their evidence starts from zero."""
        if gone.size:
            self.total[gone] = 0.0
            self.record(rank, gone, np.full(gone.size, OK), self.family[gone])
            self.stretch[gone] = self.calm[0, gone]
            for rows in (self.evidence, self.moments, self.calm):
                rows[:, gone] = 0.0
            for row in (self.discounted, self.reverse, self.refining, self.alarm):
                row[gone] = 0
            self.origin[gone] = rank + 1

    def relapse(self, rank: int, columns: Int) -> None:
        """Learn from alerts that begin soon after an all-clear that it was premature."""
        gap = np.minimum(rank + 1 - self.origin[columns], REPLAYED)
        since = lifecycle.worth(self.rho[rank + 1, columns]) * gap
        calm = self.stretch[columns]
        is_relapse = (gap < REPLAYED) & (since <= lifecycle.RELAPSE * calm)
        self.stretch[columns] = np.where(is_relapse, calm + since, 0.0)

    def judge(self, rank: int, live: Bool) -> None:
        """Set pending or ok by the evidence of the ``live`` series that do not fire."""
        wanted = self.total >= lifecycle.PENDING_SHARE * self.patience
        differs = live & (wanted != (self.state == PENDING))
        if differs.any():
            changed = np.flatnonzero(differs & (self.state != FIRING))
            leading = np.argmax(e_values.families_of(self.evidence[:, changed]), axis=0)
            self.record(rank, changed, np.where(wanted[changed], PENDING, OK), leading)

    def store(self, records: Records) -> None:
        """Write the state after the last rank into ``records``."""
        records["evidence"] = self.evidence.T
        for name, part in zip(whitening.LEARNT, self.sums, strict=True):
            records[name] = part[-1]
        self.scales.store(records)
        for name, part in zip(levels.STATE_FIELDS, self._level_state, strict=True):
            records[name] = part
        of_u = zip((*usual_u.SUMS, *usual_u.LAST), (*self._u_sums, *self._last), strict=True)
        for name, part in of_u:
            records[name] = part
        records["z2"], records["z1"] = self.past[-2], self.past[-1]
        records["seen"] = self.seen + self.ranks
        records["held"] = np.minimum(self.ranks - self.origin, REPLAYED)
        records["moments"], records["calm"] = self.moments.T, self.calm.T
        for name in ("alarm", "reverse", "stretch", "refining", "state", "family", "shape"):
            records[name] = getattr(self, name)
        records["discounted"] = self.discounted


def bets_from_first(z: Float, stated: StatedColumns, systematic: Float | None = None) -> Float:
    """Return the bets [17, n] on ``z`` [n] of one series from its first pair on.

    They are those of :func:`.z_bets` with the autocorrelation learnt before each pair, so given the
    past each has mean <= 1 if the sensor is honest. ``systematic``: one share for the series.
    """
    share = np.zeros(1) if systematic is None else systematic
    block = EvidenceBlock(
        np.zeros(1, dtype=STATE),
        np.arange(z.size)[:, None],
        Inputs(z[:, None], StatedColumns(*(rows[:, None] for rows in stated))),
        np.zeros((min(z.size, whitening.FAR), 1)),
        np.full(1, _NEVER),
        np.full(1, e_values.Z),
        share,
        KEPT,
    )
    return block.bets[:, :, 0]
