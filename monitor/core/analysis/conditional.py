"""Conditional calibration: ENCE against its null distribution, and ZMS bin by bin with verdicts.

Rules of this file: one series at a time, on request; the caller passes the seed. Pairs are assumed
independent: for autocorrelated ones pass a ``stretch``. A bin below ``intervals.MIN_PAIRS`` pairs
has no interval and no verdict.

Intervals of small bins are too narrow. Of honest series with normal errors in ten bins of 20, 50,
100 and 500 pairs, 23, 12, 4 and 3 % were called invalid in some bin (nominal 5 %, 600 series each);
with t4 errors 57, 39, 31 and 20 %: there a verdict says that the errors are heavy-tailed.

Sources: Pernot (arXiv 2402.10043v2), cited as B; Holm, Scandinavian Journal of Statistics 6 (1979).
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import scipy

from monitor.core.columns import Columns
from monitor.core.model import NAN, Float, Int
from monitor.core.scores.bins import (
    BINS,
    bin_starts,
    ence_in_bins,
    order_by_u,
    order_within,
)
from monitor.core.scores.intervals import (
    LEVEL,
    MIN_PAIRS,
    abc_ends,
    abc_p_value,
    verdict,
    zms_moments,
)

REPLICATES: Final = 1_000
# Pairs a bin from which on Holm's level is kept for normal errors.
PAIRS_A_BIN: Final = 100
# Simulated errors worked on at a time.
DRAWS: Final = 1 << 18
# Least numbers drawn for a bin, if it has as many pairs.
SUMS_A_BIN: Final = 100


class NullEnce(NamedTuple):
    """ENCE of a series beside that of honest normal errors of the same u, number and binning.

    ``lower`` and ``upper`` hold the share ``level`` of the simulated ENCE; ``p_value`` is the share
    that is at least the observed one, itself included.
    """

    observed: float
    mean: float
    lower: float
    upper: float
    p_value: float
    level: float
    bins: int
    replicates: int


class BinnedZms(NamedTuple):
    """ZMS in bins along a covariate, one number a bin, ascending.

    ``low`` and ``high``: the least and largest covariate in the bin. ``lower``, ``upper``: the ABC
    interval of that bin alone. ``adjusted``: p-values corrected for the number of bins (Holm), by
    which ``verdicts`` are given.
    """

    pairs: Int
    low: Float
    high: Float
    zms: Float
    lower: Float
    upper: Float
    adjusted: Float
    verdicts: tuple[str, ...]


def ence_null(
    c: Columns,
    random: np.random.Generator,
    *,
    bins: int = BINS,
    replicates: int = REPLICATES,
    level: float = LEVEL,
) -> NullEnce:
    """Return ENCE of one series and its reference under the null: errors drawn as N(0, u_eff).

    NaN below two pairs a bin. The null distribution assumes normal errors: heavy-tailed errors of
    the right variance have a larger ENCE (Pernot, arXiv 2403.00423), so a small p-value says "not
    normal errors of the stated u". The generator is used only where ENCE is defined.
    """
    observed = float(ence_in_bins(c, bins)[0])
    if np.isnan(observed):
        return NullEnce(NAN, NAN, NAN, NAN, NAN, level, bins, replicates)
    simulated = _simulated_ence(c, random, bins, replicates)
    lower, upper = np.quantile(simulated, [0.5 - 0.5 * level, 0.5 + 0.5 * level])
    above = (1.0 + np.sum(simulated >= observed)) / (1.0 + replicates)
    return NullEnce(
        observed=observed,
        mean=float(simulated.mean()),
        lower=float(lower),
        upper=float(upper),
        p_value=float(above),
        level=level,
        bins=bins,
        replicates=replicates,
    )


def _simulated_ence(c: Columns, random: np.random.Generator, bins: int, replicates: int) -> Float:
    """Return ENCE of ``replicates`` sets of normal errors.

    In large bins not every error is drawn: for some neighbours by u, whose variances hardly differ,
    the sum of squares is their mean variance times a chi-square of as many degrees of freedom.
    """
    variance, starts = c.variance[c.once(order_by_u)], bin_starts(c, bins)[0]
    sizes = np.diff(starts, append=variance.size)
    together = max(1, int(sizes.min()) // SUMS_A_BIN)
    cuts = np.concatenate(
        [np.arange(at, at + n, together) for at, n in zip(starts, sizes, strict=True)]
    )
    freedom = np.diff(cuts, append=variance.size)
    mean_variance = np.add.reduceat(variance, cuts) / freedom
    first_cuts = np.searchsorted(cuts, starts)
    expected = np.add.reduceat(variance, starts)
    simulated = np.empty(replicates)
    portion = max(1, DRAWS // cuts.size)
    for begin in range(0, replicates, portion):
        size = min(portion, replicates - begin)
        squares = mean_variance * (
            np.square(random.standard_normal((size, cuts.size)))
            if together == 1
            else random.chisquare(freedom, (size, cuts.size))
        )
        ratios = np.add.reduceat(squares, first_cuts, axis=1) / expected
        simulated[begin : begin + size] = np.mean(np.abs(1.0 - np.sqrt(ratios)), axis=1)
    return simulated


def zms_by(
    c: Columns, covariate: Float, *, bins: int | None = None, stretch: float = 1.0
) -> BinnedZms:
    """Return ZMS of one series in bins of nearly equal count along ``covariate`` (B-21, B-22).

    ``covariate``: one finite number a pair, such as ``c.u`` (consistency), ``c.value`` (by level),
    the hour, a temperature. Where u is not small beside the spread of the values, bins by value
    of an honest sensor fail at both ends, because errors push values there: bin by reference
    instead. ``bins``: at most one a pair; None is ten, or fewer so that each has ``PAIRS_A_BIN``. A
    constant covariate has one bin: more would be bins of time.
    ``stretch`` widens the intervals, sqrt(n/n_effective) for autocorrelated pairs.
    """
    n = c.value.size
    number = max(1, min(BINS, n // PAIRS_A_BIN)) if bins is None else min(bins, n)
    number = number if np.ptp(covariate) > 0.0 else 1
    order = order_within(c, covariate)
    parts = c.select(order, bin_starts(c, number)[0])
    zms, spread, a = zms_moments(parts)
    enough = np.where(parts.counts >= MIN_PAIRS, 1.0, np.nan)
    spread = spread * stretch * enough
    lower, upper = abc_ends(zms, spread, a)
    adjusted = holm(abc_p_value(zms, spread, a, 1.0))
    # Beyond 1 where the corrected p-value is below 1 - LEVEL, as zeta is.
    distance = scipy.special.ndtri(0.5 * adjusted) / scipy.special.ndtri(0.5 - 0.5 * LEVEL)
    verdicts = tuple(verdict(float(each)) for each in distance)
    ascending = covariate[order]
    return BinnedZms(
        pairs=parts.counts,
        low=ascending[parts.starts],
        high=ascending[parts.starts + parts.counts - 1],
        zms=zms,
        lower=lower,
        upper=upper,
        adjusted=adjusted,
        verdicts=verdicts,
    )


def holm(p_values: Float) -> Float:
    """Return p-values corrected for their number by Holm's step-down; NaN is not counted.

    Rejecting those at most 0.05 rejects a true hypothesis at most once in twenty families,
    whatever the dependence.
    """
    adjusted = np.full(p_values.shape, np.nan)
    order = np.argsort(p_values)[: int(np.sum(~np.isnan(p_values)))]
    left = np.arange(order.size, 0, -1)
    adjusted[order] = np.minimum(np.maximum.accumulate(left * p_values[order]), 1.0)
    return adjusted
