"""Prequential test of adjustments: each is chosen on one window and judged on the next.

Rules of this file: one series; windows of equal count that end with the last pair, so that each
pair is judged once, by a choice made before it.

Sources: Dawid, JRSS A 147 (1984) (prequential); Navratil et al. (arXiv 2106.00858) (cost against
optimal cost on held-out pairs).
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from monitor.core.analysis.adjustments import METHODS, applied
from monitor.core.columns import Columns
from monitor.core.scores.calibration import coverage, zms
from monitor.core.scores.characteristics import cost, cost_optimal
from monitor.core.scores.proper_scores import SCORES, Density, of_density


class ScoreChange(NamedTuple):
    """A mean score on the pairs judged, as they came and with the adjustment chosen before them."""

    before: float
    after: float


class Trial(NamedTuple):
    """One method tried along a series, and how many ``pairs`` were judged.

    ``zms`` and ``coverage`` are (before, after). ``cost_gap`` is how much the bands cost above the
    least with any scale chosen with hindsight, after the adjustment (C-26), in the series' unit.
    """

    method: str
    pairs: int
    crps: ScoreChange
    quadratic: ScoreChange
    zms: tuple[float, float]
    coverage: tuple[float, float]
    cost_gap: float


def prequential(c: Columns, method: str, window: int, density: Density = "normal") -> Trial | None:
    """Return how a method of ``METHODS`` would have performed along one series.

    ``window``: the pairs that a choice is made from, and judged on. None below two windows, or
    where no window has a usable choice. Windows without one are not judged.
    """
    steps = []
    for past, following in _windows(c, window):
        chosen = METHODS[method](past)
        if chosen.usable:
            steps.append((following, applied(following, chosen)))
    if not steps:
        return None
    before, after = (_joined(list(parts)) for parts in zip(*steps, strict=True))
    return Trial(
        method=method,
        pairs=before.value.size,
        crps=_change(of_density("crps", density), before, after),
        quadratic=_change(of_density("quadratic", density), before, after),
        zms=(float(zms(before)[0]), float(zms(after)[0])),
        coverage=(float(coverage(before)[0]), float(coverage(after)[0])),
        cost_gap=float(np.mean([cost(step[1])[0] - cost_optimal(step[1])[0] for step in steps])),
    )


def _windows(c: Columns, window: int) -> list[tuple[Columns, Columns]]:
    """Return each full window with the one after it; the first pairs left over are not used."""
    first = c.value.size % window
    parts = [c.rows(slice(begin, begin + window)) for begin in range(first, c.value.size, window)]
    return list(pairwise(parts))


def _joined(parts: list[Columns]) -> Columns:
    """Return pairs of one series end to end."""
    names = ("time", "value", "reference", "u", "lower", "upper", "p", "u_ref")
    columns = {name: np.concatenate([getattr(part, name) for part in parts]) for name in names}
    return Columns(starts=np.zeros(1, dtype=np.int64), **columns)


def _change(name: str, before: Columns, after: Columns) -> ScoreChange:
    rows, left = (SCORES[name].rows(each) for each in (before, after))
    return ScoreChange(float(rows.mean()), float(left.mean()))
