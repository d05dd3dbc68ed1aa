"""Confirmation: a candidate alert fires only if its evidence survives the current estimate of rho.

Rules of this file: the last pairs of a candidate are replayed from zero evidence; the fault's
moments are summed from its change point on. A result depends on the series alone, never on the
others confirmed with it.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from monitor.core.detector import e_values, lifecycle, whitening
from monitor.core.detector.accumulation import CAP, discounted_after, sum_of
from monitor.core.detector.e_process import EvidenceBlock
from monitor.core.detector.lifecycle import FIRING
from monitor.core.detector.scales import Ceilings
from monitor.core.detector.whitening import Whitening
from monitor.core.model import Bool, Float, Int

TINY: Final = 1e-12
CONFIRMED_AT_ONCE: Final = 64
RECENT: Final = 48  # pairs from which autocorrelation is estimated anew


def confirm(block: EvidenceBlock, rank: int, columns: Int, histories: list[Float]) -> None:
    """Accumulate the evidence of candidates again from zero, with the current estimate of rho.

    The new evidence is kept either way; where it still reaches the patience the alert fires. Of the
    discounted totals the smaller one is kept: evidence gathered before rho was known may go.
    """
    for first in range(0, columns.size, CONFIRMED_AT_ONCE):
        some = columns[first : first + CONFIRMED_AT_ONCE]
        _confirm(block, rank, some, histories[first : first + CONFIRMED_AT_ONCE])


def _confirm(block: EvidenceBlock, rank: int, columns: Int, histories: list[Float]) -> None:
    depth = max(history.size for history in histories)
    # 0.5 is valid as z and as code; the filling of shorter histories is masked by ``held``.
    z, held = np.full((depth, columns.size), 0.5), np.zeros((depth, columns.size), bool)
    for i, history in enumerate(histories):
        z[depth - history.size :, i] = history
        held[depth - history.size :, i] = True
    factors = _factors(block, rank, columns, z, held)
    evidence = np.zeros((e_values.BETS, columns.size))
    total, discounted = np.zeros(columns.size), np.zeros(columns.size)
    for step in range(depth):
        before = total + 1.0
        evidence = np.minimum((evidence + block.weights[:, columns]) * factors[:, step], CAP)
        total = sum_of(evidence)
        discounted = discounted_after(block, discounted, total / before)
    families = e_values.families_of(evidence)
    block.evidence[:, columns] = evidence
    block.total[columns] = total
    block.discounted[columns] = np.minimum(block.discounted[columns], discounted)
    fires = np.flatnonzero(block.total[columns] >= block.patience[columns])
    _fire(block, rank, columns[fires], np.argmax(families, axis=0)[fires])
    added = lifecycle.moments_of(block.path[columns], z)
    since = _onset(factors, np.argmax(evidence, axis=0))
    within = held & (np.arange(depth)[:, None] >= since)
    moments = np.where(within, added, 0.0)
    # Summed one pair after the other: numpy's pairwise sum would depend on the depth of others.
    block.moments[:, columns[fires]] = np.cumsum(moments, axis=1)[:, -1, fires]


def _factors(block: EvidenceBlock, rank: int, columns: Int, z: Float, held: Bool) -> Float:
    """Return the bets [17, depth, c] of histories; 0 before their first pair keeps M at 0."""
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
    """Return the present autocorrelation, or that of the last RECENT pairs if it is larger.

    The latter is taken one standard error below its estimate. It is needed because an estimate over
    hundreds of pairs lags behind when errors begin to depend on each other.
    """
    known = block.learnt(rank, columns)
    recent, both = whitening.clipped(z[-RECENT:], -whitening.CLIP, whitening.CLIP), held[-RECENT:]
    if recent.shape[0] < 3:
        return known
    counted = both[:-2]
    one = np.where(counted, np.square(recent[2:] - recent[1:-1]), 0.0)
    two = np.where(counted, np.square(recent[2:] - recent[:-2]), 0.0)
    d1, d2 = np.cumsum(one, axis=0)[-1], np.cumsum(two, axis=0)[-1]
    seen, spread = whitening.from_differences(d1, d2, counted.sum(axis=0))
    upper = whitening.clipped(seen - spread, 0.0, whitening.RHO_MAX)
    lower = whitening.clipped(seen - 2.0 * spread, 0.0, whitening.RHO_MAX)
    more = upper > known.upper
    return Whitening(
        np.maximum(known.rho, upper),
        np.maximum(known.upper, upper),
        np.where(more, np.maximum(known.lower, lower), known.lower),
        np.where(more | ~_leads_overstated(block, columns), 0.0, known.flat),
    )


def _leads_overstated(block: EvidenceBlock, columns: Int) -> Bool:
    """Return whether the evidence of the pairs as they arrived points to a too large u."""
    leading = np.argmax(e_values.families_of(block.evidence[:, columns]), axis=0)
    is_overstated: Bool = leading == e_values.FAMILIES.index("overstated")
    return is_overstated


def _onset(factors: Float, leading: Int) -> Int:
    """Return the step after which the leading bet of each series grew most: its change point."""
    chosen = factors[leading, :, np.arange(leading.size)]
    grown = np.cumsum(np.log(np.maximum(chosen, TINY)), axis=1)
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
