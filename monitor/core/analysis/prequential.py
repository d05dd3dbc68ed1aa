"""Prequential test of adjustments: each is chosen on one window and judged on the next.

Rules of this file: one series; windows of equal count that end with the last pair, so that each
pair is judged once, by a choice made before it. The report's table and the advice to adjust a
sensor anew from time to time come from the same trials.

Sources: Dawid, JRSS A 147 (1984) (prequential); Navratil et al. (arXiv 2106.00858) (cost against
optimal cost on held-out pairs).
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np

from monitor.core.analysis.adjustments import METHODS, Method, applied, lag_one, share_independent
from monitor.core.columns import Columns
from monitor.core.model import Float
from monitor.core.scores.calibration import coverage, zms
from monitor.core.scores.characteristics import cost, cost_optimal
from monitor.core.scores.proper_scores import SCORES, Density, of_density
from monitor.core.verdict.verdict import Verdict
from monitor.core.verdict.words import three_digits, with_unit

# The methods of the table, and what each rests on.
TRIED: Final = {
    "offset": "by the mean error",
    "scale": "by the spread",
    "both": "by the mean error and the spread",
}
_WINDOW: Final = 50
_WINDOWS: Final = 100  # at most; with more pairs the windows are longer
_FEWEST: Final = 6  # windows of a fault that show whether a sensor must be adjusted anew
_WORTH: Final = 0.05  # share of the CRPS
_CLEAR: Final = 2.0  # standard errors


class ScoreChange(NamedTuple):
    """A mean score on the pairs judged, as they came and with the adjustment chosen before them."""

    before: float
    after: float


class Trial(NamedTuple):
    """One method tried along a series in steps of ``window``, and how many ``pairs`` were judged.

    ``zms`` and ``coverage`` are (before, after). ``cost_gap`` is how much the bands cost above the
    least with any scale chosen with hindsight, after the adjustment (C-26), in the series' unit.
    """

    method: str
    window: int
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
        window=window,
        pairs=before.value.size,
        crps=_change(of_density("crps", density), before, after),
        quadratic=_change(of_density("quadratic", density), before, after),
        zms=(float(zms(before)[0]), float(zms(after)[0])),
        coverage=(float(coverage(before)[0]), float(coverage(after)[0])),
        cost_gap=float(np.mean([cost(step[1])[0] - cost_optimal(step[1])[0] for step in steps])),
    )


def trials(c: Columns, density: Density = "normal") -> list[Trial]:
    """Return the trials of the report's table: of each fixed kind, none below 100 pairs."""
    window = max(_WINDOW, c.value.size // _WINDOWS)
    tried = (prequential(c, method, window, density) for method in TRIED)
    return [each for each in tried if each is not None]


def advice_anew(c: Columns, fault: Verdict, unit: str) -> str:
    """Return the advice to adjust a sensor of ``fault`` again and again.

    Empty unless that helps clearly: against the readings as sent, and against the same adjustment
    chosen from all pairs of the fault before, which is as good where the fault does not change.
    """
    tried = trials(c) if fault.may_move else []
    best = min(tried, key=lambda each: each.crps.after, default=None)
    if best is None or not _is_worth(*best.crps):
        return ""
    since = int(np.searchsorted(c.time, fault.began)) if math.isfinite(fault.began) else fault.since
    steps = _steps(c, METHODS[best.method], best.window, since)
    if len(steps) < _FEWEST:
        return ""
    sent, anew, once = np.array(steps).T
    if not (_is_clear(sent, anew) and _is_clear(once, anew)):
        return ""
    before, after = three_digits(best.crps.before), with_unit(three_digits(best.crps.after), unit)
    return (
        f"adjust it anew every {best.window} pairs, {TRIED[best.method]} of the {best.window} "
        f"before (mean CRPS from {before} to {after} on {best.pairs} pairs; a corrected stream "
        "does it by itself)"
    )


def _steps(c: Columns, choose: Method, window: int, since: int) -> list[list[float]]:
    """Return the mean CRPS of each window of a fault: as sent, adjusted anew, and by all before.

    The last is chosen afresh whenever there are twice as many pairs: by then it hardly changes.
    """
    steps, once, chosen_from = [], None, 0
    for at, (past, following) in enumerate(_windows(c, window), 1):
        end = c.value.size % window + at * window
        if end - since < window:
            continue
        if once is None or end - since >= 2 * chosen_from:
            once, chosen_from = choose(c.rows(slice(since, end))), end - since
        anew = choose(past)
        if anew.usable and once.usable:
            windows = (following, applied(following, anew), applied(following, once))
            steps.append([float(SCORES["crps"].rows(each).mean()) for each in windows])
    return steps


def _is_worth(before: float, after: float) -> bool:
    return before - after > _WORTH * before


def _is_clear(before: Float, after: Float) -> bool:
    """Whether means of windows are smaller by a share that matters, and by more than chance.

    Windows are like those before them where a sensor changes slowly, and so count for fewer.
    """
    saved = before - after
    worth = saved.size * share_independent(lag_one(saved))[0]
    error = float(saved.std()) / math.sqrt(max(worth - 1.0, 1.0))
    return _is_worth(float(before.mean()), float(after.mean())) and saved.mean() > _CLEAR * error


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
