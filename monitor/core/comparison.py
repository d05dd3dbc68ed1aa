"""Who saw one event and what each made of it; two sensors, or two firmware versions, side by side.

Rules of this file: only common events (see ``ranking``). Raw characteristics curves may be laid
over each other only where value and reference are shared; otherwise gains are compared (C-25).
Tests are by permutation: under the null hypothesis the two may swap places at each event, or at
each block of events where errors depend on each other. The seed is handed in.

Sources: Martin, Molteno, Parry (arXiv 1411.4354), cited as A; Navratil et al. (arXiv 2106.00858),
cited as C.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from monitor.core import curves
from monitor.core.characteristics import Bands, bands
from monitor.core.columns import Columns
from monitor.core.model import Bool, Float, Int
from monitor.core.ranking import Events, averaged, seen
from monitor.core.scores import SCORES

REPLICATES: Final = 9_999


class Sighting(NamedTuple):
    """One event: all that saw it, best first by the first score asked for.

    ``series`` numbers the series; ``pairs`` holds value, interval, u and reference of each (one
    series a pair, in that order); ``scores`` has one number a pair.
    """

    series: Int
    pairs: Columns
    scores: dict[str, Float]


class Contest(NamedTuple):
    """Two series' uncertainties on common events.

    ``measure`` is ``auucc`` (quantity's unit) where the curves may be compared, else
    ``auucc_gain`` (none). ``difference`` is the first less the second: a smaller area and a larger
    gain are better. ``crossovers`` are the miss rates at which the narrower curve changes, None
    where curves must not be compared. ``events`` of those given had a band in both.
    """

    measure: str
    first: float
    second: float
    difference: float
    p: float
    crossovers: Float | None
    events: int


def one_event(c: Columns, event: Events, number: int, names: Sequence[str]) -> Sighting | None:
    """Return each series' last pair of one event with the named scores (A-19); None if nobody's."""
    rows, events = seen(c, event)
    rows = rows[events == number]
    if rows.size == 0:
        return None
    pairs = c.select(rows, np.arange(rows.size))
    order = np.argsort(SCORES[names[0]].rows(pairs), kind="stable")
    best_first = pairs.take(order)
    return Sighting(
        series=c.series[rows][order],
        pairs=best_first,
        scores={name: SCORES[name].rows(best_first) for name in names},
    )


def curves_comparable(one: Columns, other: Columns) -> bool:
    """Whether two series may have their raw curves compared: same values, same references."""
    return np.array_equal(one.value, other.value) and np.array_equal(one.reference, other.reference)


def compare_uncertainties(
    one: Columns,
    other: Columns,
    *,
    seed: int,
    replicates: int = REPLICATES,
    block: int = 1,
) -> Contest | None:
    """Return which of two series has the more useful uncertainty, on the same events row by row.

    None where no event has a usable band in both. ``block``: events that swap together.
    """
    first, second = bands(one), bands(other)
    kept = np.flatnonzero(_usable(first) & _usable(second))
    if kept.size == 0:
        return None
    shared = curves_comparable(one, other)
    of_means = curves.area_of if shared else curves.gain_of
    rows = tuple(_rows(each, kept) for each in (first, second))
    difference, p = curves.permutation_test(
        rows[0], rows[1], replicates=replicates, seed=seed, of_means=of_means, block=block
    )
    values = [float(of_means(np.array([row.mean() for row in each]))) for each in rows]
    crossed = curves.crossovers(*(_curve(each, kept) for each in (one, other))) if shared else None
    measure = "auucc" if shared else "auucc_gain"
    return Contest(measure, values[0], values[1], difference, p, crossed, kept.size)


def _usable(b: Bands) -> Bool:
    return b.valid & np.isfinite(b.scale)


def _rows(b: Bands, kept: Int) -> tuple[Float, ...]:
    return b.half[kept], b.scale[kept], b.distance[kept]


def _curve(c: Columns, kept: Int) -> curves.Curve:
    return curves.curve((c.value - c.lower)[kept], (c.upper - c.value)[kept], c.error[kept])


def compare_scores(
    one: Columns,
    other: Columns,
    name: str,
    *,
    seed: int,
    replicates: int = REPLICATES,
    block: int = 1,
) -> tuple[float, float]:
    """Return the difference of a mean score (first less second) and its two-sided p-value.

    On the same events row by row; ``block``: events that swap together. KeyError for a score
    without a mean.
    """
    rows = averaged(name).rows
    return curves.permutation_test(
        (rows(one),),
        (rows(other),),
        replicates=replicates,
        seed=seed,
        of_means=curves.mean_of,
        block=block,
    )
