"""Evidence accumulated over the bets of a block, rank by rank, and the confirmation of a candidate.

An alert fires only if its evidence survives the current estimate of rho: the last pairs of a
candidate are replayed from zero evidence, and the fault's moments are summed from its change point
on.

Rules of this file: many series are numpy columns, one is plain Python numbers, which is quicker.
Both ways add and multiply in the same order, so they give the same bits. A result depends on the
series alone, never on the others accumulated or confirmed with it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from monitor.core.detector import e_values, lifecycle, whitening
from monitor.core.detector.e_process import EvidenceBlock
from monitor.core.detector.lifecycle import FIRING, PENDING
from monitor.core.detector.scales import Ceilings
from monitor.core.detector.whitening import Whitening
from monitor.core.model import Bool, Float, Int

_CAP: Final = 1e280
_AT_ONCE: Final = 128  # pairs of one series


def accumulate(block: EvidenceBlock, rank: int) -> int:
    """Accumulate the bets from ``rank`` on; return the rank at which states may change."""
    if block.size == 1:
        return (
            _skip_while_firing(block, rank)
            if block.state[0] == FIRING
            else _accumulate_one(block, rank)
        )
    firing = block.state == FIRING
    if firing.any():
        before = np.where(firing, block.evidence, block.evidence + block.weights)
        grown = np.minimum(before * block.bets[:, rank], _CAP)
        total = _sum_of(grown)
        standing = np.where(firing, block.total, block.total + 1.0)
        block.evidence = np.where(firing, block.evidence, grown)
        block.total = np.where(firing, block.total, total)
        block.discounted = _discounted_after(block, block.discounted, total / standing)
        return rank
    block.evidence = np.minimum((block.evidence + block.weights) * block.bets[:, rank], _CAP)
    total = _sum_of(block.evidence)
    block.discounted = _discounted_after(block, block.discounted, total / (block.total + 1.0))
    block.total = total
    return rank


def _sum_of(evidence: Float) -> Float:
    """Return the evidence S of each series."""
    return e_values.total_of(e_values.families_of(evidence))


def _discounted_after(block: EvidenceBlock, before: Float, mixed: Float) -> Float:
    """Return the discounted totals after one pair whose mixed bet is ``mixed``."""
    return np.minimum((block.kept * before + 1.0) * mixed, _CAP)


def _accumulate_one(block: EvidenceBlock, rank: int) -> int:
    """Accumulate one series in plain numbers until its state changes or the block ends."""
    pending_at = lifecycle.PENDING_SHARE * float(block.patience[0])
    pending = bool(block.state[0] == PENDING)
    total, discounted = float(block.total[0]), float(block.discounted[0])
    for held in _evidence_by_pair(block, rank):
        before = total + 1.0
        total = _total(held)
        discounted = _one_discounted(block, discounted, total / before)
        if (total >= pending_at) != pending or total >= block.patience[0]:
            break
        rank += 1
    block.evidence[:, 0] = held
    block.total[0], block.discounted[0] = total, discounted
    return rank if rank < block.ranks else block.ranks - 1


def _evidence_by_pair(block: EvidenceBlock, rank: int) -> Iterator[tuple[float, ...]]:
    """Yield the evidence of one series after each pair from ``rank`` on, one number a bet."""
    held: list[float] = block.evidence[:, 0].tolist()
    weights: list[float] = block.weights[:, 0].tolist()
    for first in range(rank, block.ranks, _AT_ONCE):
        bets: list[list[float]] = block.bets[:, first : first + _AT_ONCE, 0].tolist()
        grown = [_grown(*each) for each in zip(held, weights, bets, strict=True)]
        yield from zip(*grown, strict=True)
        held = [each[-1] for each in grown]


def _grown(evidence: float, weight: float, bets: list[float]) -> list[float]:
    return [evidence := (evidence + weight) * bet for bet in bets]


def _skip_while_firing(block: EvidenceBlock, rank: int) -> int:
    """Return the rank before which a firing series' fault cannot be gone yet."""
    mixed = _mixed_while_firing(block, rank)
    discounted = _one_discounted(block, float(block.discounted[0]), mixed[0])
    if _needs_each_pair(block):
        block.discounted[0] = discounted
        return rank
    z = block.z[rank:, 0]
    relieved = lifecycle.relief(block.path, block.family, block.moments, z, block.systematic)
    if block.family[0] == lifecycle.GAIN:
        relieved = block.relief_of_gain(slice(rank, None), np.zeros(1, np.int64))[:, 0]
    share = lifecycle.worth(block.rho[rank + 1 :, 0])
    moments = lifecycle.moments_of(np.repeat(block.path, z.size), z)
    added = (share * lifecycle.reshaped(moments, block.shape))[:, :-1].T.tolist()
    reverse, calm = float(block.reverse[0]), block.calm[:, 0].tolist()
    resolved_at = float(block.resolved_at[0])
    steps = (share * relieved)[:-1].tolist()
    for step, more, following in zip(steps, added, mixed[1:], strict=True):
        after = reverse + step
        if after >= resolved_at:
            break
        reverse = max(0.0, after)
        calm = [c + m for c, m in zip(calm, more, strict=True)] if after > 0.0 else [0.0] * 3
        discounted = _one_discounted(block, discounted, following)
        rank += 1
    block.reverse[0], block.discounted[0], block.calm[:, 0] = reverse, discounted, calm
    return rank


def _needs_each_pair(block: EvidenceBlock) -> bool:
    """Return whether a firing series' fault is still being refined, or its end being tested."""
    is_tested = block.reverse[0] >= block.resolved_at[0] or block.stretch[0] > 0.0
    return bool(block.refining[0] > 0 or is_tested)


def _mixed_while_firing(block: EvidenceBlock, rank: int) -> list[float]:
    """Return the mixed bet of each pair from ``rank`` on, weighted by the frozen evidence."""
    last = rank + 1 if _needs_each_pair(block) else block.ranks
    grown = np.minimum(block.evidence * block.bets[:, rank:last, 0], _CAP)
    mixed: list[float] = (_sum_of(grown) / block.total[0]).tolist()
    return mixed


def _one_discounted(block: EvidenceBlock, before: float, mixed: float) -> float:
    return min((block.kept * before + 1.0) * mixed, _CAP)


def _total(m: tuple[float, ...]) -> float:
    offset = m[0] + m[1] + m[2] + m[3] + m[4] + m[5] + m[6] + m[7]
    both = (offset + (m[8] + m[9] + m[10] + m[11])) + ((m[12] + m[13] + m[14]) + (m[15] + m[16]))
    return both + (m[17] + m[18] + m[19] + m[20])


_TINY: Final = 1e-12
_CONFIRMED_AT_ONCE: Final = 64
_RECENT: Final = 48  # pairs from which autocorrelation is estimated anew


def confirm(block: EvidenceBlock, rank: int, columns: Int, histories: list[Float]) -> None:
    """Accumulate the evidence of candidates again from zero, with the current estimate of rho.

    The new evidence is kept either way; where it still reaches the patience the alert fires. Of the
    discounted totals the smaller one is kept: evidence gathered before rho was known may go.
    """
    for first in range(0, columns.size, _CONFIRMED_AT_ONCE):
        some = columns[first : first + _CONFIRMED_AT_ONCE]
        _confirm(block, rank, some, histories[first : first + _CONFIRMED_AT_ONCE])


def _confirm(block: EvidenceBlock, rank: int, columns: Int, histories: list[Float]) -> None:
    depth = max(history.size for history in histories)
    # 0.5 is valid as z and as code; the filling of shorter histories is masked by ``held``.
    z, held = np.full((depth, columns.size), 0.5), np.zeros((depth, columns.size), bool)
    for i, history in enumerate(histories):
        z[depth - history.size :, i] = history
        held[depth - history.size :, i] = True
    z = block.at_usual_u(z, rank, columns)
    factors = _factors(block, rank, columns, z, held)
    evidence = np.zeros((e_values.BETS, columns.size))
    total, discounted = np.zeros(columns.size), np.zeros(columns.size)
    weights = block.weights[:, columns].copy()
    weights[e_values.OF_GAIN] = 0.0
    more = _sum_of(weights)
    for step in range(depth):
        before = total + more
        evidence = np.minimum((evidence + weights) * factors[:, step], _CAP)
        total = _sum_of(evidence)
        discounted = _discounted_after(block, discounted, total / before)
    replayed = np.argmax(evidence, axis=0)
    evidence[e_values.OF_GAIN] = block.evidence[e_values.OF_GAIN, columns]
    family = _leading(block, columns, e_values.families_of(evidence))
    block.evidence[:, columns] = evidence
    block.total[columns] = _sum_of(evidence)
    least = np.minimum(block.discounted[columns], discounted)
    is_gain = family == lifecycle.GAIN
    block.discounted[columns] = np.where(is_gain, block.discounted[columns], least)
    fires = np.flatnonzero(block.total[columns] >= block.patience[columns])
    _fire(block, rank, columns[fires], family[fires])
    added = lifecycle.moments_of(block.path[columns], z)
    since = _onset(factors, replayed)
    within = held & (np.arange(depth)[:, None] >= since)
    block.moments[:, columns[fires]] = _summed(added, within)[:, fires]
    shape = lifecycle.shape_of(_summed(np.abs(added), held & ~within), block.systematic[columns])
    block.shape[columns[fires]] = shape[fires]


def _summed(added: Float, within: Bool) -> Float:
    """Return sums over pairs one after the other: numpy's depend on the depth of other series."""
    summed: Float = np.cumsum(np.where(within, added, 0.0), axis=1)[:, -1]
    return summed


def _leading(block: EvidenceBlock, columns: Int, families: Float) -> Int:
    """Return the family that leads: for an offset the gain that by itself would be pending.

    Of a level that moves slowly the error by a gain is an offset for a while.
    """
    leading = np.argmax(families, axis=0)
    enough = lifecycle.PENDING_SHARE * block.patience[columns]
    is_gain = (leading == 0) & (families[lifecycle.GAIN] >= enough)
    return np.where(is_gain, lifecycle.GAIN, leading)


def _factors(block: EvidenceBlock, rank: int, columns: Int, z: Float, held: Bool) -> Float:
    """Return the bets [BETS, depth, c] of histories; 0 before their first pair keeps M at 0."""
    previous = np.concatenate([np.zeros((1, columns.size)), z[:-1]])
    follows = np.concatenate([np.zeros((1, columns.size), bool), held[:-1]])
    learnt = _learnt(block, rank, columns, z, held)
    ceilings = block.scales.at(rank, columns)
    factors = e_values.bets_of(
        np.tile(block.path[columns], z.shape[0]),
        z.ravel(),
        previous.ravel(),
        Whitening(*((part * follows).ravel() for part in learnt)),
        Ceilings(*(np.tile(part, z.shape[0]) for part in ceilings)),
        block.shares(z.shape[0], columns),
    )
    return np.where(held, factors.reshape(e_values.BETS, *z.shape), 0.0)


def _learnt(block: EvidenceBlock, rank: int, columns: Int, z: Float, held: Bool) -> Whitening:
    """Return the present autocorrelation, or that of the last _RECENT pairs if it is larger.

    The latter is taken one standard error below its estimate. It is needed because an estimate over
    hundreds of pairs lags behind when errors begin to depend on each other.
    """
    known = block.learnt(rank, columns)
    recent, both = whitening.clipped(z[-_RECENT:], -whitening.CLIP, whitening.CLIP), held[-_RECENT:]
    if recent.shape[0] < 3:
        return known
    counted = both[:-2]
    one = np.where(counted, np.square(recent[2:] - recent[1:-1]), 0.0)
    two = np.where(counted, np.square(recent[2:] - recent[:-2]), 0.0)
    d1, d2 = np.cumsum(one, axis=0)[-1], np.cumsum(two, axis=0)[-1]
    rho, spread = whitening.from_differences(d1, d2, counted.sum(axis=0))
    upper = whitening.clipped(rho - spread, 0.0, whitening.RHO_MAX)
    lower = whitening.clipped(rho - 2.0 * spread, 0.0, whitening.RHO_MAX)
    more = upper > known.upper
    return Whitening(
        np.maximum(known.rho, upper),
        np.maximum(known.upper, upper),
        np.where(more, np.maximum(known.lower, lower), known.lower),
        np.where(more | ~_leads_overstated(block, columns), 0.0, known.flat),
        known.coarse,
    )


def _leads_overstated(block: EvidenceBlock, columns: Int) -> Bool:
    """Return whether the evidence of the pairs as they arrived points to a too large u."""
    leading = np.argmax(e_values.families_of(block.evidence[:, columns]), axis=0)
    is_overstated: Bool = leading == e_values.FAMILIES.index("overstated")
    return is_overstated


def _onset(factors: Float, leading: Int) -> Int:
    """Return the step after which the leading bet of each series grew most: its change point."""
    chosen = factors[leading, :, np.arange(leading.size)]
    grown = np.cumsum(np.log(np.maximum(chosen, _TINY)), axis=1)
    before = np.concatenate([np.zeros((leading.size, 1)), grown[:, :-1]], axis=1)
    onset: Int = np.argmin(before, axis=1)
    return onset


def _fire(block: EvidenceBlock, rank: int, columns: Int, family: Int) -> None:
    block.family[columns] = family
    block.reverse[columns] = 0.0
    block.calm[:, columns] = 0.0
    block.relapse(rank, columns)
    block.refining[columns] = lifecycle.REFINING[block.path[columns]]
    block.alarm[columns] = block.seen[columns] + rank + 1
    block.record(rank, columns, np.full(columns.size, FIRING), family)
