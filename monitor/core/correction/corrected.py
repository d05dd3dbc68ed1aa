"""The pairs of a series as they would have been corrected, each by what those before it told."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from monitor.core.correction.adoption import Adoption, Told, adoptions, each_pairs
from monitor.core.correction.conformal import first_log_factors, track_factors
from monitor.core.model import Bool, Float, Int
from monitor.core.verdict import Pairs
from monitor.core.verdict.remedy import crps


class Corrected(NamedTuple):
    """Corrected pairs in event order [pairs], in the series' unit; ``level`` is the interval's.

    ``lower`` and ``upper`` are value -+ ``factor`` u, NaN where u is 0. ``which`` says by which of
    ``adopted`` a pair is corrected.
    """

    value: Float
    u: Float
    lower: Float
    upper: Float
    factor: Float
    which: Int
    adopted: tuple[Adoption, ...]
    level: float
    log_factor: float  # after the last pair

    def within(self, reference: Float) -> Bool:
        """Return whether each interval contains its reference."""
        return (self.lower <= reference) & (reference <= self.upper)

    def crps(self, pairs: Pairs) -> Float:
        """Return the CRPS of corrected value and u, in the series' unit."""
        return crps(self.value - pairs.reference, np.hypot(self.u, pairs.u_ref))


def corrected(pairs: Pairs, told: Sequence[Told], level: float) -> Corrected:
    """Return the pairs of a series with what was ``told`` of it applied to those after.

    Raises:
        ValueError: if ``level`` is not between 0 and 1.
    """
    adopted = adoptions(pairs, told)
    which = each_pairs(adopted, pairs.n)
    intercept, slope, scale = np.array([each.amendment for each in adopted]).T[:, which]
    value = intercept + slope * pairs.value
    u = scale * np.abs(slope) * pairs.u
    ratio = np.full(pairs.n, np.nan)
    some = u > 0.0
    ratio[some] = np.abs(value - pairs.reference)[some] / u[some]
    tracked = track_factors(first_log_factors(1, level), ratio[None, :], level)
    factor = np.exp(tracked.before[0])
    return Corrected(
        value=value,
        u=u,
        lower=value - factor * u,
        upper=value + factor * u,
        factor=factor,
        which=which,
        adopted=tuple(adopted),
        level=level,
        log_factor=float(tracked.after[0]),
    )
