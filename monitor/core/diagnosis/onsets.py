"""Onsets, kept by incidents from their alarm: when it began, how its sensor behaved before.

An incident begins with a fault's first pair, never after its alarm, and never before the previous
incident had ended.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import Final, NamedTuple

import numpy as np

from monitor.core.columns import Columns
from monitor.core.detector.detector import RING, Detector
from monitor.core.model import Int
from monitor.core.pairing.series_rules import SeriesRules
from monitor.core.verdict import Pairs, Slopes, Verdict, judge_all

PAIRS_MAX: Final = 512  # the last pairs of a series that a verdict is made from


class Onset(NamedTuple):
    """The facts that an incident keeps from its alarm: times in s UTC.

    ``healthy`` is how the errors moved with the level before the fault.
    """

    alarm: float
    began: float
    healthy: Slopes


# (row, alarm, began; slope on the reference and its standard error, the same on the value; pairs).
# JSON has no infinity, so an unknown standard error is null.
Onsets = list[tuple[int, float, float, float, float | None, float, float | None, int]]


def at_alarms(
    pairs: Sequence[Columns],
    fresh: Sequence[int] | None = None,
    rules: Sequence[SeriesRules] | None = None,
) -> list[Onset]:
    """Return the onset of each series from its pairs up to the one that raised its alarm.

    The last ``fresh`` of each series came after the previous incident had ended; the new incident
    began with one of them.
    """
    rules = [SeriesRules()] * len(pairs) if rules is None else rules
    last = [
        Pairs.of(each.rows(slice(-PAIRS_MAX, None)), of._replace(timed=True))
        for each, of in zip(pairs, rules, strict=True)
    ]
    verdicts = judge_all(last, alarm=[each.n - 1 for each in last])
    fresh = [each.n for each in last] if fresh is None else fresh
    rows = zip(verdicts, last, fresh, strict=True)
    return [Onset(float(p.time[-1]), _began(one, p, new), one.healthy) for one, p, new in rows]


def _began(verdict: Verdict, p: Pairs, fresh: int) -> float:
    """Return when an incident began, from the pairs up to its alarm, the last ``fresh`` its own."""
    since = verdict.since if isfinite(verdict.began) else p.n - 1
    return float(p.time[min(max(since, p.n - fresh), p.n - 1)])


def own_pairs(detector: Detector, series: Int, since_alarm: Int) -> list[int]:
    """Return how many pairs up to each alarm came after the previous incident had ended.

    Where the detector no longer knows, the number is so large that all did.
    """
    held = detector.since_clear(series)
    fresh = held - np.maximum(since_alarm, 0)
    own: list[int] = np.where(held < RING, np.maximum(fresh, 1), PAIRS_MAX).tolist()
    return own
