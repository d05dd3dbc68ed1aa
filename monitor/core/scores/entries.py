"""The fields of an entry of ``STATISTICS``, and the entries that all proper scores share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

from monitor.core.scores.proper_scores import SCORES, Density, Rows
from monitor.core.scores.summaries import (
    expected_ratio_of,
    mean_of,
    middle_of,
    sorted_of,
    trimmed_of,
)

# How a statistic changes when the series is converted to another unit.
Unit = Literal["quantity", "1/quantity", "quantity^2", "log", "none"]
# The value for a sensor that is right, or good; empty where only a comparison can show it.
Good = Literal["low", "high", "0", "1", "within 1", "as stated", ""]


class Live(NamedTuple):
    """How a statistic is published in every round.

    ``name`` is its name in snapshots, in the API and in the settings; with ``monitor_`` before it,
    that of the metric. A statistic without ``help`` is in the API only. The statistics of the two
    densities share a name, and a series has that of the ``density`` its sensor states. ``alias`` is
    a second name under which the same number is published.
    """

    name: str
    help: str = ""
    density: Density | None = None
    alias: str = ""


@dataclass(frozen=True)
class Statistic:
    """One number a window. ``source``: row of the papers (docs/papers.md).

    With ``threshold`` the settings may put a limit on it. ``expected`` is the published name of
    the value that the sensor's own claim predicts, ``expected_ratio`` that of the ratio to it.
    """

    function: Rows
    unit: Unit
    help: str
    source: str
    good: Good = ""
    live: Live | None = None
    threshold: bool = False
    expected: str = ""
    expected_ratio: str = ""

    @property
    def has_ratio(self) -> bool:
        """Whether a ratio of two of its values means something.

        It does not where the zero depends on the unit, nor where 0 is the value of a good sensor.
        """
        return self.unit != "log" and self.good not in ("0", "within 1")

    def name(self, key: str) -> str:
        """Return its published name, given its key in ``STATISTICS``; the key if not published."""
        return key if self.live is None else self.live.name

    def names(self, key: str) -> tuple[str, ...]:
        """Return its published name and its alias, if it has one."""
        alias = "" if self.live is None else self.live.alias
        return (self.name(key), alias) if alias else (self.name(key),)


# The published scores, and their names on /metrics: with the unit, and without.
_LIVE_SCORES: Final = {
    "crps": ("CRPS in the unit of the quantity", "CRPS"),
    "quadratic": ("quadratic score (Brier, Martin et al.) in 1/unit", "quadratic score"),
    "interval": ("interval score in the unit of the quantity", "interval score"),
    "norm": ("norm score, half of z squared plus log u", ""),
}


def of_score(key: str) -> dict[str, Statistic]:
    """Return mean, median, trimmed mean and expected ratio of a score with a finite mean."""
    score = SCORES[key]
    base = key.removesuffix("_tophat")
    density = score.density if f"{base}_tophat" in SCORES else None
    words, short = _LIVE_SCORES[base]
    ascending, name = sorted_of(score.rows), f"score_{base}"
    has_ratio = score.expected is not None and score.unit != "log"
    ratio = f"{name}_expected_ratio" if has_ratio else ""

    def live(what: str, help: str) -> Live:  # noqa: A002 - the field's name
        alias = "score_brier_mean" if (base, what) == ("quadratic", "mean") else ""
        return Live(f"{name}_{what}", help, density, alias)

    found = {
        key: Statistic(
            mean_of(score.rows), score.unit, f"Mean. {score.help}", score.source, "low",
            live("mean", f"Mean {words} over the window; lower is better."),
            threshold=True, expected_ratio=ratio,
        ),
        f"{key}_median": Statistic(
            middle_of(ascending), score.unit, f"Median. {score.help}", score.source, "low",
            live("median", f"Median {words} over the window; lower is better."), threshold=True,
        ),
        f"{key}_trimmed": Statistic(
            trimmed_of(ascending), score.unit, f"Mean of the middle 80 %. {score.help}",
            score.source, "low",
        ),
    }  # fmt: skip
    if score.expected is not None and has_ratio:
        found[f"{key}_expected_ratio"] = Statistic(
            expected_ratio_of(score.rows, score.expected), "none",
            f"Mean against what its own claim predicts; above 1 is worse. {score.help}",
            score.source, "1",
            live(
                "expected_ratio",
                f"Mean {short} S against E, the one the sensor's own claim predicts: "
                "1 + (S - E)/|E|; 1 keeps the claim, above 1 is worse.",
            ),
        )  # fmt: skip
    return found
