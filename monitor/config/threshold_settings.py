"""The list ``thresholds``: limits on published statistics, each an alert of its own."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Final, Literal

from pydantic import AfterValidator, Field

from monitor.config.kinds import (
    Contradiction,
    Globs,
    Section,
    refusal,
    setting,
)
from monitor.core.diagnosis.faults import alert_meanings
from monitor.core.scores.statistics import threshold_statistics

_STATISTICS: Final = threshold_statistics()
if TYPE_CHECKING:
    StatisticName = str
else:
    StatisticName = Literal[tuple(_STATISTICS)]
_NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,31}")


def _alert(name: str) -> str:
    if _NAME.fullmatch(name) is None:
        raise refusal("is not the name of an alert; use 1 to 32 of a-z 0-9 _, a letter first")
    if name in alert_meanings():
        raise refusal("is the name of an alert that there is already; take another")
    return name


Limit = Annotated[float, Field(ge=-1e15, le=1e15)]


class Threshold(Section):
    """One limit on one statistic; its name is the alert's."""

    name: Annotated[str, AfterValidator(_alert)] = Field(description="Name of the alert.")
    statistic: StatisticName = Field(
        description="Name of the metric without `monitor_` (docs/metrics.md), or of a convention "
        "(docs/detection.md)."
    )
    against: Literal["absolute", "expected", "baseline", "fleet_median"] = setting(
        "absolute",
        "What the statistic is compared with: nothing (absolute, the limits are in its unit), what "
        "the sensor's own claim predicts, its first pairs, or the median of its group; the last "
        "three give a ratio.",
    )
    above: Limit | None = setting(None, "The alert begins above this; null for no such limit.")
    below: Limit | None = setting(None, "The alert begins below this; null for no such limit.")
    for_hours: Annotated[float, Field(ge=0, le=87_840)] = setting(
        0.0, "How long the statistic must be beyond, in the time of the pairs."
    )
    hysteresis: Annotated[float, Field(ge=0, le=1)] = setting(
        0.1, "The alert ends when the statistic is back within by this share of the limit."
    )
    pairs_min: Annotated[int, Field(ge=1, le=100_000)] = setting(
        20, "A window with fewer pairs is not compared."
    )
    baseline_pairs: Annotated[int, Field(ge=10, le=100_000)] = setting(
        100, "How many of the first pairs since the last event are the baseline."
    )
    sensors: Globs = setting(("*",), "Patterns of the sensors.")
    quantities: Globs = setting(("*",), "Patterns of the quantities.")

    def contradictions(self) -> Iterator[Contradiction]:
        """A limit is given, and an expectation only asked for where there is one."""
        if self.above is None and self.below is None:
            yield Contradiction((), "has no limit; add above or below")
        if self.above is not None and self.below is not None and self.above <= self.below:
            yield Contradiction(("below",), "is not less than above")
        statistic = _STATISTICS[self.statistic]
        if self.against == "baseline" and statistic.live is None:
            yield Contradiction(("against",), "means nothing for a convention; take absolute")
        if self.against == "expected" and not (statistic.expected or statistic.expected_ratio):
            what = "has no expectation; take another statistic, or compare with the baseline"
            yield Contradiction(("statistic",), what)
