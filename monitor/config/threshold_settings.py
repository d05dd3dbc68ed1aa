"""The list ``thresholds``: limits on published statistics, each an alert of its own."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated, Final, Literal

from pydantic import AfterValidator, Field

from monitor.config.kinds import (
    Contradiction,
    Globs,
    Section,
    refusal,
    setting,
)

Statistic = Literal[
    "score_crps_mean",
    "score_crps_median",
    "score_quadratic_mean",
    "score_quadratic_median",
    "score_interval_mean",
    "score_interval_median",
    "score_norm_mean",
    "score_norm_median",
    "calibration_bias",
    "calibration_zms",
    "calibration_zms_zeta",
    "calibration_rce",
    "calibration_ence",
    "calibration_coverage_ratio",
    "calibration_z_lag1",
    "convention_en_last",
    "convention_en_ratio",
    "convention_zeta_last",
    "convention_zeta_action_ratio",
    "convention_westgard_1_2s",
    "convention_westgard_1_3s",
    "convention_westgard_2_2s",
    "convention_westgard_r_4s",
    "convention_westgard_4_1s",
    "convention_westgard_10_x",
]
# Those that have an expectation by the sensor's own claim.
_EXPECTED: Final = frozenset(
    (
        "score_crps_mean",
        "score_quadratic_mean",
        "score_interval_mean",
        "calibration_zms",
        "calibration_coverage_ratio",
    )
)
_NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,31}")
_TAKEN: Final = frozenset(
    (
        *("offset", "understated", "overstated", "outliers", "stuck", "gain"),
        *("reference_stale", "reference_suspect", "rejected_share"),
    )
)


def _alert(name: str) -> str:
    if _NAME.fullmatch(name) is None:
        raise refusal("is not the name of an alert; use 1 to 32 of a-z 0-9 _, a letter first")
    if name in _TAKEN:
        raise refusal("is the name of an alert that there is already; take another")
    return name


Limit = Annotated[float, Field(ge=-1e15, le=1e15)]


class Threshold(Section):
    """One limit on one statistic; its name is the alert's."""

    name: Annotated[str, AfterValidator(_alert)] = Field(description="Name of the alert.")
    statistic: Statistic = Field(
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
        if self.against == "baseline" and self.statistic.startswith("convention_"):
            yield Contradiction(("against",), "means nothing for a convention; take absolute")
        if self.against == "expected" and self.statistic not in _EXPECTED:
            what = "has no expectation; take another statistic, or compare with the baseline"
            yield Contradiction(("statistic",), what)
