"""Dependence at several scales: how much more the means of blocks vary than independent errors do.

Rules of this file: what is known before a pair comes from the pairs before it; one series and many
add and multiply in the same order, so both ways give the same bits.

Whitening takes out what AR(1) brings. What it leaves is measured: the whitened z of a series are
summed in blocks of 2, 8, 32 and 128 pairs, and half the squared difference of two neighbouring sums
over the block's length is 1 on average if they are independent and of variance 1. Differences do
not see an offset, nor a ramp, beyond the block where it begins, and no step counts for more than
``STEP_MOST`` times what was usual. Where their mean is above 1 for sure it is the *ceiling*: the
offset bets see z divided by its root (a long-run variance, as in Newey and West 1987), and the
understated bets are divided by its ratio to the variance of single pairs.

Errors that change slowly cannot be told from an offset in the first few hundred pairs. But they
leave less variance to neighbouring pairs than the sensor states: what is missing there (*spare*)
may be a slow part, and the ceiling is raised for it until blocks of 128 pairs have shown whether it
moves.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np

from monitor.core.model import Float, Int, Records

LENGTHS: Final = (2, 8, 32, 128)
SCALES: Final = len(LENGTHS)
STATE_FIELDS: Final = ("block", "before", "steps", "n_steps")
MEMORY: Final = 1024.0  # pairs
STEP_MOST: Final = 5.0
SURE: Final = 1.8  # standard errors above 1
KNOWN: Final = 1.5  # steps before a mean is one
KURTOSIS: Final = 3.0  # n times the squared relative error of a mean of such steps, normal errors
LONG: Final = 64  # pairs of one series from which its blocks are summed at once
FEW: Final = 50  # series up to which that is faster than rank by rank
SPARE_TOLERATED: Final = 0.1
SPARE_WEIGHT: Final = 1000.0
SLOW_MOST: Final = 15.0  # at this limit real sensors of 30 s are still found
SPARE_PAIRS: Final = 128.0  # until a slow part has shown itself

_LENGTHS: Final = np.array(LENGTHS, np.float64)[:, None]
_FADES: Final = tuple(math.exp(-length / MEMORY) for length in LENGTHS)
_FADE: Final = np.array(_FADES)[:, None]


class Ceilings(NamedTuple):
    """Inflation by dependence, at least 1: of the variance, and of it over that of single pairs."""

    offset: Float
    spread: Float


class Scales:
    """Blocks of some series; ``records`` are their states.

    ``systematic`` is the share of systematic effects in each one's uncertainty: they are constant,
    so that neighbouring pairs lack their variance, which is no sign of a slow part.
    """

    def __init__(self, records: Records, systematic: Float | None = None) -> None:
        self._fixed: Final = (
            np.zeros(records.size) if systematic is None else systematic * systematic
        )
        self._block, self._before, self._steps, self._n = (
            np.ascontiguousarray(records[name].T) for name in STATE_FIELDS
        )
        self._now = np.empty((2, records.size))
        self._known = np.empty((0, 2, records.size))

    def advance(self, x: Float, age: Int) -> Ceilings:
        """Take whitened z [ranks, k] and return the ceilings before each, raveled.

        ``age`` counts the pairs of each series before each.
        """
        known = np.empty((x.shape[0] + 1, 2, x.shape[1]))
        if x.shape[0] >= LONG and x.shape[1] <= FEW:
            for column in range(x.shape[1]):
                known[:, :, column] = self._advance_long(x[:, column], int(age[0, column]), column)
        elif x.shape[1] == 1:
            self._advance_one(x[:, 0].tolist(), int(age[0, 0]), known)
        else:
            known[0] = self._now = self._ceilings(self._steps, self._n, self._fixed)
            for rank in range(x.shape[0]):
                self._take(x[rank], age[rank] + 1)
                known[rank + 1] = self._now
        self._known = known
        return Ceilings(known[:-1, 0].ravel(), known[:-1, 1].ravel())

    def at(self, rank: int, columns: Int) -> Ceilings:
        """Return the ceilings of some series once the pairs of ``rank`` are counted."""
        return Ceilings(*self._known[rank + 1][:, columns])

    def store(self, records: Records) -> None:
        """Write the state into ``records``."""
        parts = (self._block, self._before, self._steps, self._n)
        for name, part in zip(STATE_FIELDS, parts, strict=True):
            records[name] = part.T

    def _take(self, x: Float, count: Int) -> None:
        """Take one pair of each series, the ``count``-th of its epoch."""
        self._block += x
        some = np.flatnonzero(count % LENGTHS[0] == 0)
        if not some.size:
            return
        chosen = slice(None) if some.size == count.size else some
        count = count[chosen]
        block, before = self._block[:, chosen], self._before[:, chosen]
        steps, n = self._steps[:, chosen], self._n[:, chosen]
        done = count % _LENGTHS == 0.0
        counted = done & (count >= 2.0 * _LENGTHS)
        step = np.square(block - before) / (2.0 * _LENGTHS)
        usual = np.maximum(steps / np.maximum(n, 1.0), 1.0)
        step = np.minimum(step, STEP_MOST * usual)
        self._steps[:, chosen] = steps = np.where(counted, steps * _FADE + step, steps)
        self._n[:, chosen] = n = np.where(counted, n * _FADE + 1.0, n)
        self._before[:, chosen] = np.where(done, block, before)
        self._block[:, chosen] = np.where(done, 0.0, block)
        self._now[:, chosen] = self._ceilings(steps, n, self._fixed[chosen])

    @staticmethod
    def _ceilings(steps: Float, n: Float, fixed: Float | float) -> Float:
        """Return both ceilings of series, [2, k]."""
        counted = np.maximum(n, 1.0)
        ratios = steps / counted
        error = np.sqrt(KURTOSIS / counted)
        least = 1.0 + SURE * error
        local = np.maximum(ratios[0], 1.0)
        known = n > KNOWN
        offset = np.where(known & (ratios > least), ratios, 1.0).max(axis=0)
        spread = np.where(known & (ratios > least * local), ratios / local, 1.0).max(axis=0)
        spare = np.maximum(1.0 - SPARE_TOLERATED - fixed - ratios[0] * (1.0 + error[0]), 0.0)
        span = 2.0 * n[0] / SPARE_PAIRS
        square = span * span
        slow = np.minimum(SPARE_WEIGHT * (spare * spare), SLOW_MOST)
        return np.maximum(np.array([offset, spread]), 1.0 + slow * (square / (1.0 + span * square)))

    def _advance_one(self, x: list[float], age: int, known: Float) -> None:
        """Take one series' pairs in plain numbers; fill the ceilings before them and after each."""
        block, before = self._block[:, 0].tolist(), self._before[:, 0].tolist()
        steps, n = self._steps[:, 0].tolist(), self._n[:, 0].tolist()
        sums: list[list[float]] = [[*steps, *n]]
        b2, b8, b32, b128 = block
        for count, value in enumerate(x, age + 1):
            b2, b8, b32, b128 = b2 + value, b8 + value, b32 + value, b128 + value
            if count & 1:
                continue
            block = [b2, b8, b32, b128]
            for i, length in enumerate(LENGTHS):
                if count % length:
                    break
                if count >= 2 * length:
                    difference = block[i] - before[i]
                    usual = max(steps[i] / max(n[i], 1.0), 1.0)
                    step = min(difference * difference / (2.0 * length), STEP_MOST * usual)
                    steps[i] = steps[i] * _FADES[i] + step
                    n[i] = n[i] * _FADES[i] + 1.0
                before[i], block[i] = block[i], 0.0
            b2, b8, b32, b128 = block
            sums.append([*steps, *n])
        self._block[:, 0], self._before[:, 0] = (b2, b8, b32, b128), before
        self._steps[:, 0], self._n[:, 0] = steps, n
        both = np.array(sums).T
        ceilings = self._ceilings(both[:SCALES], both[SCALES:], self._fixed)
        known[:, :, 0] = ceilings[:, np.arange(age, age + len(x) + 1) // 2 - age // 2].T

    def _advance_long(self, x: Float, age: int, column: int) -> Float:
        """Take many pairs of one series; return the ceilings before them and after each."""
        evens = 2 * np.arange(age // 2, (age + x.size) // 2 + 1)
        grown = np.empty((2 * SCALES, evens.size))
        parts = (self._before, self._steps, self._n)
        for i, length in enumerate(LENGTHS):
            held = float(self._block[i, column])
            sums, self._block[i, column] = _sums(x, held, length, age % length)
            before, step_sum, n = (float(part[i, column]) for part in parts)
            steps, counts = [step_sum], [n]
            fade, lasting = _FADES[i], 2.0 * length
            is_first = age < length
            for block in sums:
                if is_first:
                    is_first = False
                else:
                    difference = block - before
                    step = difference * difference / lasting
                    usual = step_sum / n if n > 1.0 else step_sum
                    most = STEP_MOST * (max(1.0, usual))
                    step_sum = step_sum * fade + (min(most, step))
                    n = n * fade + 1.0
                before = block
                steps.append(step_sum)
                counts.append(n)
            done = evens // length - age // length
            grown[i], grown[SCALES + i] = np.array(steps)[done], np.array(counts)[done]
            for part, last in zip(parts, (before, step_sum, n), strict=True):
                part[i, column] = last
        ceilings = self._ceilings(grown[:SCALES], grown[SCALES:], self._fixed[column])
        return ceilings[:, np.arange(age, age + x.size + 1) // 2 - age // 2].T


def _sums(x: Float, begun: float, length: int, held: int) -> tuple[list[float], float]:
    """Return the sums of the blocks that ``x`` ends, and of the one it begins.

    ``begun`` is the sum of the ``held`` pairs before it in its first block. Pairs are added one
    after the other.
    """
    first = min(length - held, x.size)
    opening = float(np.add.accumulate(np.concatenate([[begun], x[:first]]))[-1])
    if held + first < length:
        return [], opening
    whole = (x.size - first) // length
    rows = np.zeros((whole, length + 1))
    rows[:, 1:] = x[first : first + whole * length].reshape(whole, length)
    rest = np.concatenate([[0.0], x[first + whole * length :]])
    sums = [opening, *np.add.accumulate(rows, axis=1)[:, -1].tolist()]
    return sums, float(np.add.accumulate(rest)[-1])
