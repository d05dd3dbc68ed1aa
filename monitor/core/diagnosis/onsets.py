"""What was said at the alarm of an incident, which it keeps: when it began, how its sensor was.

An incident begins with a fault's first pair, never after its alarm, and never before the incident
before had ended.
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
    """What was said at the alarm, which an incident keeps: times in s UTC.

    ``healthy`` is how the errors moved with the level before the fault.
    """

    alarm: float
    began: float
    healthy: Slopes


# (row, alarm, began; slope on the reference and its standard error, on the value; pairs): a JSON
# file has no infinity, so an error that is not known is null.
Onsets = list[tuple[int, float, float, float, float | None, float, float | None, int]]


def at_alarms(
    pairs: Sequence[Columns],
    fresh: Sequence[int] | None = None,
    rules: Sequence[SeriesRules] | None = None,
) -> list[Onset]:
    """Return what the pairs of each series up to the one that raised its alarm say.

    Of each series the last ``fresh`` came after the incident before had ended: the new one began
    with one of them.
    """
    rules = [SeriesRules()] * len(pairs) if rules is None else rules
    last = [
        Pairs.of(each.rows(slice(-PAIRS_MAX, None)), systematic=of.systematic)
        for each, of in zip(pairs, rules, strict=True)
    ]
    found = judge_all(last, alarm=[each.n - 1 for each in last])
    fresh = [each.n for each in last] if fresh is None else fresh
    rows = zip(found, last, fresh, strict=True)
    return [Onset(float(p.time[-1]), _began(one, p, new), one.healthy) for one, p, new in rows]


def _began(found: Verdict, p: Pairs, fresh: int) -> float:
    """Return when an incident began by the pairs up to its alarm, the last ``fresh`` its own."""
    since = found.since if isfinite(found.began) else p.n - 1
    return float(p.time[min(max(since, p.n - fresh), p.n - 1)])


def own_pairs(detector: Detector, series: Int, since_alarm: Int) -> list[int]:
    """Return how many pairs up to each alarm came after the incident before had ended.

    So many that all did, where the detector no longer knows.
    """
    held = detector.since_clear(series)
    fresh = held - np.maximum(since_alarm, 0)
    found: list[int] = np.where(held < RING, np.maximum(fresh, 1), PAIRS_MAX).tolist()
    return found
