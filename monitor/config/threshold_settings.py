"""The list ``thresholds``: limits on published statistics, each an alert of its own."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from monitor.core.detector.thresholds import Threshold
from monitor.core.scores.statistics import threshold_statistics
from monitor.core.setting import Contradiction
from monitor.core.verdict import alert_meanings

_NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,31}")


def threshold_contradictions(limit: Threshold) -> Iterator[Contradiction]:
    """An alert has a name of its own and a limit, and an expectation only where there is one."""
    if _NAME.fullmatch(limit.name) is None:
        what = "is not the name of an alert; use 1 to 32 of a-z 0-9 _, a letter first"
        yield Contradiction(("name",), what)
    if limit.name in alert_meanings():
        yield Contradiction(("name",), "there is already an alert of this name; choose another")
    if limit.above is None and limit.below is None:
        yield Contradiction((), "has no limit; add above or below")
    if limit.above is not None and limit.below is not None and limit.above <= limit.below:
        yield Contradiction(("below",), "is not less than above")
    statistic = threshold_statistics()[limit.statistic]
    if limit.against == "baseline" and statistic.live is None:
        yield Contradiction(("against",), "means nothing for a convention; write absolute")
    if limit.against == "expected" and not (statistic.expected or statistic.expected_ratio):
        what = "has no expectation; choose another statistic, or compare with the baseline"
        yield Contradiction(("statistic",), what)
