"""Evidence accumulated over the bets of a block, rank by rank.

Rules of this file: many series are numpy columns, one is plain Python numbers, which is quicker.
Both ways add and multiply in the same order, so they give the same bits.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from monitor.core.detector import e_values, lifecycle
from monitor.core.detector.e_process import EvidenceBlock
from monitor.core.detector.lifecycle import FIRING, PENDING
from monitor.core.model import Float

CAP: Final = 1e280


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
        grown = np.minimum(before * block.bets[:, rank], CAP)
        block.evidence = np.where(firing, block.evidence, grown)
        standing = np.where(firing, block.total, block.total + 1.0)
        block.total = np.where(firing, block.total, sum_of(grown))
        block.discounted = discounted_after(block, block.discounted, sum_of(grown) / standing)
        return rank
    block.evidence = np.minimum((block.evidence + block.weights) * block.bets[:, rank], CAP)
    total = sum_of(block.evidence)
    block.discounted = discounted_after(block, block.discounted, total / (block.total + 1.0))
    block.total = total
    return rank


def sum_of(evidence: Float) -> Float:
    """Return the evidence S of each series."""
    return e_values.total_of(e_values.families_of(evidence))


def discounted_after(block: EvidenceBlock, before: Float, mixed: Float) -> Float:
    """Return the discounted totals after one pair whose mixed bet is ``mixed``."""
    return np.minimum((block.kept * before + 1.0) * mixed, CAP)


def _accumulate_one(block: EvidenceBlock, rank: int) -> int:
    """Accumulate one series in plain numbers until its state changes or the block ends."""
    held: list[float] = block.evidence[:, 0].tolist()
    weights: list[float] = block.weights[:, 0].tolist()
    pending_at = lifecycle.PENDING_SHARE * float(block.patience[0])
    pending = bool(block.state[0] == PENDING)
    total, discounted = float(block.total[0]), float(block.discounted[0])
    for row in block.rows()[rank:]:
        before = total + 1.0
        held = [(m + w) * e for m, w, e in zip(held, weights, row, strict=True)]
        total = _total(held)
        if total > CAP:
            held = [min(m, CAP) for m in held]
            total = _total(held)
        discounted = min((block.kept * discounted + 1.0) * (total / before), CAP)
        if (total >= pending_at) != pending or total >= block.patience[0]:
            break
        rank += 1
    block.evidence[:, 0] = held
    block.total[0], block.discounted[0] = total, discounted
    return rank if rank < block.ranks else block.ranks - 1


def _skip_while_firing(block: EvidenceBlock, rank: int) -> int:
    """Return the rank before which a firing series' fault cannot be gone yet."""
    mixed = _mixed_while_firing(block, rank)
    discounted = _one_discounted(block, float(block.discounted[0]), mixed[0])
    if _needs_each_pair(block):
        block.discounted[0] = discounted
        return rank
    z = block.z[rank:, 0]
    relieved = lifecycle.relief(block.path, block.family, block.moments, z, block.systematic)
    share = lifecycle.worth(block.rho[rank + 1 :, 0])
    added = (share * lifecycle.moments_of(np.repeat(block.path, z.size), z))[:, :-1].T.tolist()
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
    grown = np.minimum(block.evidence * block.bets[:, rank:last, 0], CAP)
    mixed: list[float] = (sum_of(grown) / block.total[0]).tolist()
    return mixed


def _one_discounted(block: EvidenceBlock, before: float, mixed: float) -> float:
    return min((block.kept * before + 1.0) * mixed, CAP)


def _total(m: list[float]) -> float:
    offset = m[0] + m[1] + m[2] + m[3] + m[4] + m[5] + m[6] + m[7]
    return (offset + (m[8] + m[9] + m[10] + m[11])) + ((m[12] + m[13] + m[14]) + (m[15] + m[16]))
