"""A rectangle of new pairs (ranks x series) and how evidence climbs through it.

Rules of this file: all bets of a rectangle are computed at once; evidence is climbed rank by
rank, in plain numbers when there is one series. Both ways add and multiply in the same order, so
they give the same bits.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from monitor.core.detector import e_values, lifecycle
from monitor.core.detector.e_values import Whitening
from monitor.core.detector.lifecycle import (
    FIRING,
    OK,
    PENDING,
    STATES,
    Transition,
)
from monitor.core.model import (
    Bool,
    Float,
    Int,
    Records,
)

CAP: Final = 1e280
TINY: Final = 1e-12
REPLAYED_AT_ONCE: Final = 64
Change = tuple[int, int, int, int, int, float]  # rank, column, before, after, family, evidence


class Slab:
    """New pairs ``z`` [ranks, k] of k series, and the state they pass through.

    ``positions`` [ranks, k] says where each pair stands in the batch; ``origin`` is the rank from
    which a replay may use the series' z (negative: that many of its ring).
    """

    def __init__(
        self,
        records: Records,
        positions: Int,
        z: Float,
        earlier: Float,
        patience: Float,
        path: Int,
        kept: float,
    ) -> None:
        self.positions = positions
        self.z = z
        self.ranks, self.size = z.shape
        self.patience = patience
        self.path = path
        self.weights = e_values.weights_of(path)
        self.evidence = np.ascontiguousarray(records["evidence"].T)
        self.seen = records["seen"].copy()
        self.alarm = records["alarm"].copy()
        self.origin = -records["held"].astype(np.int64)
        self.reverse = records["reverse"].copy()
        self.moments = np.ascontiguousarray(records["moments"].T)
        self.refining = records["refining"].copy()
        self.state = records["state"].copy()
        self.family = records["family"].astype(np.int64)
        self.total = e_values.total_of(e_values.families_of(self.evidence))
        self.discounted = records["discounted"].copy()
        self.kept = kept
        self.changes: list[Change] = []
        self._learn(records, earlier)
        self.bets = self._bets()
        self._plain: list[list[float]] | None = None

    def _learn(self, records: Records, earlier: Float) -> None:
        """Fill the columns of past z, and the sums of squared differences before each pair."""
        self.past = np.concatenate([[records["z2"], records["z1"]], self.z])
        self.age = self.seen + np.arange(self.ranks)[:, None]
        q = e_values.clipped(self.past, -e_values.CLIP, e_values.CLIP)
        q_far = e_values.clipped(
            np.concatenate([earlier, self.z])[: self.ranks], -e_values.CLIP, e_values.CLIP
        )
        two, far = self.age >= 2, self.age >= e_values.FAR
        steps = (
            np.where(two, np.square(q[2:] - q[1:-1]), 0.0),
            np.where(two, np.square(q[2:] - q[:-2]), 0.0),
            two.astype(np.float64),
            np.where(far, np.square(q[2:] - q_far), 0.0),
            far.astype(np.float64),
        )
        self.sums = [
            np.cumsum(np.concatenate([records[name][None], step]), axis=0)
            for name, step in zip(e_values.LEARNT, steps, strict=True)
        ]

    def _bets(self) -> Float:
        learnt = e_values.whitening(*(part[:-1].ravel() for part in self.sums))
        follows = (self.age > 0).ravel()
        computed = e_values.bets_of(
            np.tile(self.path, self.ranks),
            self.z.ravel(),
            np.where(follows, self.past[1:-1].ravel(), 0.0),
            Whitening(*(part * follows for part in learnt)),
        )
        return computed.reshape(e_values.BETS, self.ranks, self.size)

    def rows(self) -> list[list[float]]:
        """Return the bets of a slab of one series as plain numbers, one row a pair."""
        if self._plain is None:
            self._plain = self.bets[:, :, 0].T.tolist()
        return self._plain

    def learnt(self, rank: int, columns: Int) -> Whitening:
        """Return the autocorrelation known once the pairs of ``rank`` are counted."""
        return e_values.whitening(*(part[rank + 1, columns] for part in self.sums))

    def note(self, rank: int, columns: Int, after: Int, family: Int) -> None:
        """Note the change of state of ``columns`` at ``rank``."""
        for i, column in enumerate(columns.tolist()):
            before, total = int(self.state[column]), float(self.total[column])
            self.changes.append((rank, column, before, int(after[i]), int(family[i]), total))
        self.state[columns] = after

    def transition(self, series: Int, *change: *Change) -> Transition:
        """Return a noted change in the batch's own numbering."""
        rank, column, before, after, family, evidence = change
        return Transition(
            int(series[column]),
            int(self.positions[rank, column]),
            STATES[before],
            STATES[after],
            e_values.FAMILIES[family],
            evidence,
        )

    def test_reverse(self, rank: int, columns: Int) -> None:
        """Let the firing ``columns`` bet on the fault being gone; resolve where it is."""
        path, z = self.path[columns], self.z[rank, columns]
        relieved = lifecycle.relief(path, self.family[columns], self.moments[:, columns], z)
        rho = self.learnt(rank, columns).rho
        grown = self.reverse[columns] + lifecycle.worth(rho, relieved)
        self.reverse[columns] = np.maximum(0.0, grown)
        refined = self.refining[columns] > 0
        self.moments[:, columns] += np.where(refined, lifecycle.moments_of(path, z), 0.0)
        self.refining[columns] -= refined
        gone = columns[self.reverse[columns] >= lifecycle.RESOLVED_AT]
        if gone.size:
            self.total[gone] = 0.0
            self.note(rank, gone, np.full(gone.size, OK), self.family[gone])
            self.evidence[:, gone] = 0.0
            self.discounted[gone] = 0.0
            self.moments[:, gone] = 0.0
            self.reverse[gone] = 0.0
            self.refining[gone] = 0
            self.alarm[gone] = 0
            self.origin[gone] = rank + 1

    def judge(self, rank: int, live: Bool) -> None:
        """Set pending or ok by the evidence of the ``live`` series that do not fire."""
        live = live & (self.state != FIRING)
        wanted = np.where(self.total >= lifecycle.PENDING_SHARE * self.patience, PENDING, OK)
        changed = np.flatnonzero(live & (wanted != self.state))
        if changed.size:
            leading = np.argmax(e_values.families_of(self.evidence[:, changed]), axis=0)
            self.note(rank, changed, wanted[changed], leading)

    def store(self, records: Records) -> None:
        """Write the state after the last rank into ``records``."""
        records["evidence"] = self.evidence.T
        for name, part in zip(e_values.LEARNT, self.sums, strict=True):
            records[name] = part[-1]
        records["z2"], records["z1"] = self.past[-2], self.past[-1]
        records["seen"] = self.seen + self.ranks
        records["held"] = np.minimum(self.ranks - self.origin, 512)
        records["moments"] = self.moments.T
        for name in ("alarm", "reverse", "refining", "state", "family", "discounted"):
            records[name] = getattr(self, name)


def climb(slab: Slab, rank: int) -> int:
    """Take the bets from ``rank`` on; return the rank after which the states must be looked at."""
    if slab.size == 1:
        return _wait_one(slab, rank) if slab.state[0] == FIRING else _climb_one(slab, rank)
    firing = slab.state == FIRING
    if firing.any():
        before = np.where(firing, slab.evidence, slab.evidence + slab.weights)
        grown = np.minimum(before * slab.bets[:, rank], CAP)
        slab.evidence = np.where(firing, slab.evidence, grown)
        standing = np.where(firing, slab.total, slab.total + 1.0)
        slab.total = np.where(firing, slab.total, _sum(grown))
        slab.discounted = _discounted(slab, slab.discounted, _sum(grown) / standing)
        return rank
    slab.evidence = np.minimum((slab.evidence + slab.weights) * slab.bets[:, rank], CAP)
    total = _sum(slab.evidence)
    slab.discounted = _discounted(slab, slab.discounted, total / (slab.total + 1.0))
    slab.total = total
    return rank


def _sum(evidence: Float) -> Float:
    return e_values.total_of(e_values.families_of(evidence))


def _discounted(slab: Slab, before: Float, mixed: Float) -> Float:
    """Return the discounted totals after one pair whose mixed bet is ``mixed``."""
    return np.minimum((slab.kept * before + 1.0) * mixed, CAP)


def _climb_one(slab: Slab, rank: int) -> int:
    """Climb one series in plain numbers until its state changes or the slab ends."""
    held: list[float] = slab.evidence[:, 0].tolist()
    weights: list[float] = slab.weights[:, 0].tolist()
    pending_at = lifecycle.PENDING_SHARE * float(slab.patience[0])
    pending = bool(slab.state[0] == PENDING)
    total, discounted = float(slab.total[0]), float(slab.discounted[0])
    for row in slab.rows()[rank:]:
        before = total + 1.0
        held = [(m + w) * e for m, w, e in zip(held, weights, row, strict=True)]
        total = _total(held)
        if total > CAP:
            held = [min(m, CAP) for m in held]
            total = _total(held)
        discounted = min((slab.kept * discounted + 1.0) * (total / before), CAP)
        if (total >= pending_at) != pending or total >= slab.patience[0]:
            break
        rank += 1
    slab.evidence[:, 0] = held
    slab.total[0], slab.discounted[0] = total, discounted
    return rank if rank < slab.ranks else slab.ranks - 1


def _wait_one(slab: Slab, rank: int) -> int:
    """Return the rank before which one firing series' fault is surely not gone."""
    mixed = _mixed_while_firing(slab, rank)
    discounted = _one_discounted(slab, float(slab.discounted[0]), mixed[0])
    if slab.refining[0] > 0:
        slab.discounted[0] = discounted
        return rank
    z = slab.z[rank:, 0]
    relieved = lifecycle.relief(slab.path, slab.family, slab.moments, z)
    rho = e_values.whitening(*(part[rank + 1 :, 0] for part in slab.sums)).rho
    reverse = float(slab.reverse[0])
    steps = lifecycle.worth(rho, relieved)[:-1].tolist()
    for step, following in zip(steps, mixed[1:], strict=True):
        after = max(0.0, reverse + step)
        if after >= lifecycle.RESOLVED_AT:
            break
        reverse = after
        discounted = _one_discounted(slab, discounted, following)
        rank += 1
    slab.reverse[0], slab.discounted[0] = reverse, discounted
    return rank


def _mixed_while_firing(slab: Slab, rank: int) -> list[float]:
    """Return the mixed bet of each pair from ``rank`` on, by the evidence that stands still."""
    last = rank + 1 if slab.refining[0] > 0 else slab.ranks
    grown = np.minimum(slab.evidence * slab.bets[:, rank:last, 0], CAP)
    mixed: list[float] = (_sum(grown) / slab.total[0]).tolist()
    return mixed


def _one_discounted(slab: Slab, before: float, mixed: float) -> float:
    return min((slab.kept * before + 1.0) * mixed, CAP)


def _total(m: list[float]) -> float:
    offset = m[0] + m[1] + m[2] + m[3] + m[4] + m[5] + m[6] + m[7]
    return (offset + (m[8] + m[9] + m[10] + m[11])) + ((m[12] + m[13] + m[14]) + (m[15] + m[16]))


def replay(slab: Slab, rank: int, columns: Int, histories: list[Float]) -> None:
    """Confirm candidates: climb each history from nothing with what is known of rho now.

    The replayed evidence is kept either way; where it still reaches the patience the alert fires.
    Of the discounted totals the lesser is kept: what was gathered before rho was known may go.
    """
    for first in range(0, columns.size, REPLAYED_AT_ONCE):
        some = columns[first : first + REPLAYED_AT_ONCE]
        _replay(slab, rank, some, histories[first : first + REPLAYED_AT_ONCE])


def _replay(slab: Slab, rank: int, columns: Int, histories: list[Float]) -> None:
    depth = max(history.size for history in histories)
    # 0.5 is a z and a code alike; what fills up shorter histories takes no part.
    z, held = np.full((depth, columns.size), 0.5), np.zeros((depth, columns.size), bool)
    for i, history in enumerate(histories):
        z[depth - history.size :, i] = history
        held[depth - history.size :, i] = True
    factors = _factors(slab, rank, columns, z, held)
    evidence = np.zeros((e_values.BETS, columns.size))
    total, discounted = np.zeros(columns.size), np.zeros(columns.size)
    for step in range(depth):
        before = total + 1.0
        evidence = np.minimum((evidence + slab.weights[:, columns]) * factors[:, step], CAP)
        total = _sum(evidence)
        discounted = _discounted(slab, discounted, total / before)
    families = e_values.families_of(evidence)
    slab.evidence[:, columns] = evidence
    slab.total[columns] = total
    slab.discounted[columns] = np.minimum(slab.discounted[columns], discounted)
    fires = np.flatnonzero(slab.total[columns] >= slab.patience[columns])
    _fire(slab, rank, columns[fires], np.argmax(families, axis=0)[fires])
    added = lifecycle.moments_of(slab.path[columns], z)
    since = _onset(factors, np.argmax(evidence, axis=0))
    within = held & (np.arange(depth)[:, None] >= since)
    moments = np.where(within, added, 0.0)
    # Summed one pair after the other: numpy's pairwise sum would depend on the depth of others.
    slab.moments[:, columns[fires]] = np.cumsum(moments, axis=1)[:, -1, fires]


def _factors(slab: Slab, rank: int, columns: Int, z: Float, held: Bool) -> Float:
    """Return the bets [17, depth, c] of histories; 0 before their first pair keeps M at 0."""
    previous = np.concatenate([np.zeros((1, columns.size)), z[:-1]])
    follows = np.concatenate([np.zeros((1, columns.size), bool), held[:-1]])
    learnt = slab.learnt(rank, columns)
    factors = e_values.bets_of(
        np.tile(slab.path[columns], z.shape[0]),
        z.ravel(),
        previous.ravel(),
        Whitening(*((part * follows).ravel() for part in learnt)),
    )
    return np.where(held, factors.reshape(e_values.BETS, *z.shape), 0.0)


def _onset(factors: Float, leading: Int) -> Int:
    """Return the step after which the leading bet of each series grew most: its change point."""
    chosen = factors[leading, :, np.arange(leading.size)]
    grown = np.cumsum(np.log(np.maximum(chosen, TINY)), axis=1)
    before = np.concatenate([np.zeros((leading.size, 1)), grown[:, :-1]], axis=1)
    onset: Int = np.argmin(before, axis=1)
    return onset


def _fire(slab: Slab, rank: int, columns: Int, family: Int) -> None:
    slab.family[columns] = family
    slab.reverse[columns] = 0.0
    slab.refining[columns] = lifecycle.REFINING
    slab.alarm[columns] = slab.seen[columns] + rank + 1
    slab.note(rank, columns, np.full(columns.size, FIRING), family)
