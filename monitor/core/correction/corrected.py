"""The pairs of a series as they would have been corrected, each from the pairs before it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from monitor.core.correction.adoption import Adopted, Told, adoptions, each_pairs
from monitor.core.correction.conformal import first_log_factors, track_factors
from monitor.core.model import Bool, Float, Int
from monitor.core.verdict import Pairs
from monitor.core.verdict.remedy import crps


class Corrected(NamedTuple):
    """Corrected pairs in event order [pairs], in the series' unit; ``level`` is the interval's.

    ``lower`` and ``upper`` are value -+ ``factor`` u, NaN where u is 0. ``which`` is the place in
    ``adopted.steps`` of the amendment of each pair; ``log_factor`` and ``adopted`` are the state
    after the last pair.
    """

    value: Float
    u: Float
    lower: Float
    upper: Float
    factor: Float
    which: Int
    adopted: Adopted
    level: float
    log_factor: float

    def within(self, reference: Float) -> Bool:
        """Return whether each interval contains its reference."""
        return (self.lower <= reference) & (reference <= self.upper)

    def crps(self, pairs: Pairs) -> Float:
        """Return the CRPS of corrected value and u, in the series' unit."""
        return crps(self.value - pairs.reference, np.hypot(self.u, pairs.u_ref))


def corrected(
    pairs: Pairs,
    told: Sequence[Told],
    level: float,
    before: tuple[Adopted, float] | None = None,
) -> Corrected:
    """Return the pairs of a series corrected by what was ``told`` before each of them.

    ``before``: what applied until the first pair, and the logarithm of the factor; None for a
    series without an earlier pair. Pairs may come in any pieces: the numbers are the same bits.

    Raises:
        ValueError: if ``level`` is not between 0 and 1.
    """
    first, log_factor = before or (Adopted(), float(first_log_factors(1, level)[0]))
    adopted = adoptions(pairs, told, first)
    which = each_pairs(adopted.steps, pairs.n)
    intercept, slope, scale = np.array([each.amendment for each in adopted.steps]).T[:, which]
    value = intercept + slope * pairs.value
    u = scale * np.abs(slope) * pairs.u
    ratio = np.full(pairs.n, np.nan)
    some = u > 0.0
    ratio[some] = np.abs(value - pairs.reference)[some] / u[some]
    tracked = track_factors(np.array([log_factor]), ratio[None, :], level)
    factor = np.exp(tracked.before[0])
    return Corrected(
        value=value,
        u=u,
        lower=value - factor * u,
        upper=value + factor * u,
        factor=factor,
        which=which,
        adopted=adopted,
        level=level,
        log_factor=float(tracked.after[0]),
    )
