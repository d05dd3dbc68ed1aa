"""Prequential test of adjustments: each is chosen on one window and judged on the next.

Rules of this file: one series; windows of equal count that end with the last pair, so that each
pair is judged once, by a choice made before it. The saving has an interval in which autocorrelated
pairs count for less. It is measured against the saving of an offset and a scale chosen with
hindsight on the same pairs, which is what can be recovered.

Sources: Dawid, JRSS A 147 (1984) (prequential); Navratil et al. (arXiv 2106.00858) (cost against
optimal cost on held-out pairs).
"""

from __future__ import annotations

from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np

from monitor.core.analysis.adjustments import METHODS, Adjustment, applied, lag_one, mean_offset
from monitor.core.columns import Columns
from monitor.core.model import NAN, Float
from monitor.core.scores.calibration import coverage, zms
from monitor.core.scores.characteristics import cost, cost_optimal
from monitor.core.scores.proper_scores import SCORES, Density
from monitor.core.verdict.verdict import Estimate

# The method chosen with hindsight, which measures what could be recovered.
HINDSIGHT: Final = "both"


class Recovery(NamedTuple):
    """A mean score on the pairs judged, as they came and with the adjustment chosen before them.

    ``saved`` is before less after, with its 95 % interval; ``share`` that over what hindsight
    would have saved, 1 for all of it; NaN where hindsight saves nothing.
    """

    before: float
    after: float
    saved: Estimate
    share: float


class Trial(NamedTuple):
    """One method tried along a series.

    ``now`` is its choice from the last window; ``pairs`` were judged in ``windows`` windows.
    ``zms`` and ``coverage`` are (before, after). ``cost_gap`` is how much the bands cost above the
    least with any scale chosen with hindsight, after the adjustment (C-26), in the series' unit.
    """

    method: str
    now: Adjustment
    windows: int
    pairs: int
    crps: Recovery
    quadratic: Recovery
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
        chosen, best = METHODS[method](past), METHODS[HINDSIGHT](following)
        if chosen.usable:
            least = applied(following, best) if best.usable else following
            steps.append((following, applied(following, chosen), least))
    if not steps:
        return None
    hat = "_tophat" if density == "tophat" else ""
    before, after, least = (_joined(list(parts)) for parts in zip(*steps, strict=True))
    return Trial(
        method=method,
        now=METHODS[method](c.rows(slice(c.value.size - window, None))),
        windows=len(steps),
        pairs=before.value.size,
        crps=_recovery(f"crps{hat}", before, after, least),
        quadratic=_recovery(f"quadratic{hat}", before, after, least),
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


def _recovery(name: str, before: Columns, after: Columns, best: Columns) -> Recovery:
    rows, left, least = (SCORES[name].rows(each) for each in (before, after, best))
    saved = rows - left
    estimate = mean_offset(saved, np.ones(saved.size), lag_one(saved))
    possible = float(np.mean(rows - least))
    return Recovery(
        before=float(rows.mean()),
        after=float(left.mean()),
        saved=estimate,
        share=estimate.value / possible if possible > _rounding(rows) else NAN,
    )


def _rounding(rows: Float) -> float:
    return 1e-12 * float(np.abs(rows).mean())
