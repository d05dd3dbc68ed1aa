"""Comparison of two sensors, or of two firmware versions of one, on the events both saw.

Rules of this file: only common events (see ``ranking``). Raw characteristics curves may be overlaid
only where value and reference are shared; otherwise the savings are compared (C-25). Tests are by
permutation: under the null hypothesis the two may swap places at each event, or at each block of
events where errors depend on each other. Two parts of one series have no event in common; there any
events may belong to the first part. The caller passes the seed.

Source: Navratil et al. (arXiv 2106.00858), cited as C.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, Literal, NamedTuple

import numpy as np

from monitor.core.analysis.common_events import Events, on_common_events
from monitor.core.analysis.ranking import averaged, events_together
from monitor.core.columns import Columns
from monitor.core.model import Bool, Float, Int
from monitor.core.scores import curves
from monitor.core.scores.characteristics import (
    Bands,
    bands,
    cost,
    cost_optimal,
    cost_weight,
)

REPLICATES: Final = 9_999


Measure = Literal["auucc", "auucc_gain"]


class UncertaintyTest(NamedTuple):
    """Two series' uncertainties on common events.

    ``measure`` is ``auucc`` (quantity's unit) where the curves may be compared, else
    ``auucc_gain`` (no unit). ``difference`` is the first less the second: a smaller area and a
    larger share saved are better. ``crossovers`` are the miss rates at which the narrower curve
    changes, None where curves must not be compared. ``events`` counts those with a band in both;
    for two parts of one series, those of both parts together.
    """

    measure: Measure
    first: float
    second: float
    difference: float
    p: float
    crossovers: Float | None
    events: int


class Difference(NamedTuple):
    """Two mean scores, the first less the second, and its two-sided p-value."""

    first: float
    second: float
    difference: float
    p: float


class PairedComparison(NamedTuple):
    """Two series side by side on their common events, or two parts of one series.

    ``counts`` are the events of each, ``block`` how many were permuted together. ``saved_at`` is
    the width that each uncertainty saves over a constant one at the same miss rate (C-07),
    ``width_saved`` that of the first over the second, NaN where raw curves must not be compared.
    ``savings`` are 1 - first/second of cost, least cost and mean absolute error (C-29): above 0 the
    first is better; costs are NaN where the stated levels, and so the prices, differ. ``curves``
    are in units of the references' standard deviation ``sd`` (C-22), None without a usable band.
    """

    paired: bool
    counts: tuple[int, int]
    block: int
    scores: dict[str, Difference]
    uncertainty: UncertaintyTest | None
    saved_at: tuple[float, float]
    width_saved: float
    savings: dict[str, float]
    curves: tuple[curves.Curve | None, curves.Curve | None]
    sd: float


def curves_comparable(one: Columns, other: Columns) -> bool:
    """Whether the raw curves of two series may be compared: same values, same references."""
    return np.array_equal(one.value, other.value) and np.array_equal(one.reference, other.reference)


def compare_uncertainties(
    one: Columns,
    other: Columns,
    *,
    seed: int,
    replicates: int = REPLICATES,
    block: int = 1,
    paired: bool = True,
) -> UncertaintyTest | None:
    """Return which of two series has the more useful uncertainty, on the same events row by row.

    None where no event has a usable band in both. ``block``: events that swap together. Not
    ``paired``: two parts of one series, compared by their areas saved.
    """
    both = tuple(bands(each) for each in (one, other))
    common = _kept(*both, paired=paired)
    if min(each.size for each in common) == 0:
        return None
    shared = paired and curves_comparable(one, other)
    of_means = curves.area_of if shared else curves.area_saved
    rows = tuple(_rows(each, some) for each, some in zip(both, common, strict=True))
    test = curves.permutation_test if paired else curves.shuffle_test
    difference, p = test(
        rows[0], rows[1], replicates=replicates, seed=seed, of_means=of_means, block=block
    )
    values = [float(of_means(np.array([row.mean() for row in each]))) for each in rows]
    crossed = None
    if shared:
        crossed = curves.crossovers(_curve(one, common[0]), _curve(other, common[1]))
    events = common[0].size if paired else common[0].size + common[1].size
    measure: Measure = "auucc" if shared else "auucc_gain"
    return UncertaintyTest(measure, values[0], values[1], difference, p, crossed, events)


def _kept(first: Bands, second: Bands, *, paired: bool) -> tuple[Int, Int]:
    """Return the rows with a usable band: if ``paired``, those usable in both."""
    one, other = _usable(first), _usable(second)
    if paired:
        one = other = one & other
    return np.flatnonzero(one), np.flatnonzero(other)


def _usable(b: Bands) -> Bool:
    return b.valid & np.isfinite(b.scale)


def _rows(b: Bands, rows: Int) -> tuple[Float, ...]:
    return b.half[rows], b.scale[rows], b.distance[rows]


def _curve(c: Columns, rows: Int) -> curves.Curve:
    return curves.curve((c.value - c.lower)[rows], (c.upper - c.value)[rows], c.own_error[rows])


def compare_scores(
    one: Columns,
    other: Columns,
    name: str,
    *,
    seed: int,
    replicates: int = REPLICATES,
    block: int = 1,
    paired: bool = True,
) -> tuple[float, float]:
    """Return the difference of a mean score (first less second) and its two-sided p-value.

    On the same events row by row, or not ``paired``: two parts of one series. ``block``: events
    that swap together. KeyError for a score without a mean.
    """
    rows = averaged(name).rows
    test = curves.permutation_test if paired else curves.shuffle_test
    return test(
        (rows(one),),
        (rows(other),),
        replicates=replicates,
        seed=seed,
        of_means=curves.mean_of_scores,
        block=block,
    )


def of_two(
    c: Columns, event: Events, names: Sequence[str], *, seed: int, miss: float
) -> PairedComparison | None:
    """Return the two series of ``c`` side by side on their common events; None without any.

    ``names`` are the scores to compare, ``miss`` the miss rate at which widths are compared.
    """
    common = on_common_events(c, event)
    if common is None:
        return None
    one, other = (common[0].take(np.array([row])) for row in (0, 1))
    return _duel(one, other, names, seed=seed, miss=miss, paired=True)


def of_parts(
    one: Columns, time: float | None, names: Sequence[str], *, seed: int, miss: float
) -> PairedComparison | None:
    """Return the only series of ``one`` before ``time`` and from it on; None where a part is empty.

    Without a time: the first half of its pairs and the second.
    """
    at = one.time.size // 2 if time is None else int(np.searchsorted(one.time, time))
    if not 0 < at < one.time.size:
        return None
    before, after = one.rows(slice(0, at)), one.rows(slice(at, None))
    return _duel(before, after, names, seed=seed, miss=miss, paired=False)


def _duel(
    one: Columns, other: Columns, names: Sequence[str], *, seed: int, miss: float, paired: bool
) -> PairedComparison:
    block = max(events_together(each) for each in (one, other))
    scores = {}
    for name in names:
        means = [float(averaged(name).rows(each).mean()) for each in (one, other)]
        apart, p = compare_scores(one, other, name, seed=seed, block=block, paired=paired)
        scores[name] = Difference(means[0], means[1], apart, p)
    common = _kept(bands(one), bands(other), paired=paired)
    sound = [(each, some) for each, some in zip((one, other), common, strict=True) if some.size]
    drawn = [_curve(each, some) for each, some in sound] if len(sound) == 2 else []
    flat = [_constant(each, some) for each, some in sound]
    uncertainty = compare_uncertainties(one, other, seed=seed, block=block, paired=paired)
    same_price = np.allclose(cost_weight(one), cost_weight(other))
    sd = float(np.std(np.concatenate([one.reference, other.reference])))
    scaled = [curves.thinned(curves.normalised(each, sd)) for each in drawn if sd > 0.0]
    shared = uncertainty is not None and uncertainty.measure == "auucc"
    return PairedComparison(
        paired=paired,
        counts=(one.value.size, other.value.size),
        block=block,
        scores=scores,
        uncertainty=uncertainty,
        saved_at=(
            (
                curves.width_saved(drawn[0], flat[0], miss),
                curves.width_saved(drawn[1], flat[1], miss),
            )
            if drawn
            else (np.nan, np.nan)
        ),
        width_saved=curves.width_saved(drawn[0], drawn[1], miss) if drawn and shared else np.nan,
        savings={
            "cost": _saved(cost, one, other) if same_price else np.nan,
            "cost_optimal": _saved(cost_optimal, one, other) if same_price else np.nan,
            "mae": _saved(lambda each: each.mean(np.abs(each.error)), one, other),
        },
        curves=(scaled[0], scaled[1]) if scaled else (None, None),
        sd=sd,
    )


def _constant(c: Columns, rows: Int) -> curves.Curve:
    ones = np.ones(rows.size)
    return curves.curve(ones, ones, c.own_error[rows])


def _saved(figure: Callable[[Columns], Float], one: Columns, other: Columns) -> float:
    """Return 1 - first/second of a figure; NaN where the second is 0."""
    first, second = (float(figure(each)[0]) for each in (one, other))
    return 1.0 - first / second if second > 0.0 else np.nan
