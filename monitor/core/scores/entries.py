"""The fields of an entry of ``STATISTICS``, and the entries of scores: mean, median, trimmed mean.

Rules of this file: each summary takes rows (``f(Columns) -> one number a pair``) and returns a
statistic (``f(Columns) -> one number a series``); what two statistics share is computed once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

import numpy as np

from monitor.core.columns import Columns, ratio
from monitor.core.model import Float
from monitor.core.scores import proper_scores
from monitor.core.scores.proper_scores import SCORES, Density, Rows

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
    """One number a window. ``source``: row of the papers (docs/evidence/papers.md).

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


QUADRATIC_EXPECTED: Final = (
    proper_scores.quadratic_normal_expected,
    proper_scores.quadratic_tophat_expected,
)


def mean_of(rows: Rows) -> Rows:
    """Return the statistic that is the mean of ``rows``."""

    def mean(c: Columns) -> Float:
        return c.mean(c.once(rows))

    return mean


def sorted_of(rows: Rows) -> Rows:
    """Return the rows, ascending within each series, as a grid."""

    def ascending(c: Columns) -> Float:
        return np.sort(c.grid(c.once(rows)), axis=1)

    return ascending


def middle_of(ascending: Rows) -> Rows:
    """Return the statistic that is the median, given the sorted grid."""

    def median(c: Columns) -> Float:
        grid, line = c.once(ascending), np.arange(c.starts.size)
        lower, upper = grid[line, (c.counts - 1) // 2], grid[line, c.counts // 2]
        return np.asarray(0.5 * (lower + upper))

    return median


def trimmed_of(ascending: Rows) -> Rows:
    """Return the statistic that is the mean without a tenth of the pairs at each end."""

    def trimmed(c: Columns) -> Float:
        grid = c.once(ascending)
        cut = np.floor(0.1 * c.counts).astype(np.int64)
        place = np.arange(grid.shape[1])
        inner = (place >= cut[:, None]) & (place < (c.counts - cut)[:, None])
        flat: Float = np.where(inner, grid, 0.0).reshape(-1)
        rows = flat if c.equal_counts else flat[c.cells]
        return np.asarray(c.sum(rows) / (c.counts - 2 * cut))

    return trimmed


def expected_ratio_of(rows: Rows, expected: Rows) -> Rows:
    """Return the statistic 1 + (S - E)/|E|, S the mean score and E its mean under the claim.

    1 where the sensor keeps its claim, above 1 where it is worse, whichever the sign of the score:
    S/E for a score above zero, 2 - S/E for the quadratic score, whose expectation is below zero.
    NaN where E does not have that sign: with a reference so uncertain that the expected quadratic
    score is not below zero, chance would be divided by nearly nothing.
    """
    sign = -1.0 if expected in QUADRATIC_EXPECTED else 1.0

    def expected_ratio(c: Columns) -> Float:
        return (1.0 - sign) + ratio(c.mean(c.once(rows)), sign * c.mean(c.once(expected)))

    return expected_ratio


def log_finite_mean(c: Columns) -> Float:
    """Mean log score of the top hat over the hits; NaN if there are none."""
    rows = c.once(proper_scores.log_tophat)
    finite = np.isfinite(rows)
    return ratio(c.sum(np.where(finite, rows, 0.0)), c.sum(finite.astype(np.float64)))


def log_infinite_count(c: Columns) -> Float:
    """Count of infinite log scores of the top hat: the misses."""
    return c.sum(np.isinf(c.once(proper_scores.log_tophat)).astype(np.float64))


def crps_stated(c: Columns) -> Float:
    """Mean CRPS of the stated distributions; NaN if there are none."""
    if c.stated_crps is None:
        return np.full(c.starts.size, np.nan)
    stated = np.isfinite(c.stated_crps)
    total = c.sum(np.where(stated, c.stated_crps, 0.0))
    return ratio(total, c.sum(stated.astype(np.float64)))


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
    ratio_name = f"{name}_expected_ratio" if has_ratio else ""

    def live(suffix: str, help: str) -> Live:  # noqa: A002 - the field's name
        alias = "score_brier_mean" if (base, suffix) == ("quadratic", "mean") else ""
        return Live(f"{name}_{suffix}", help, density, alias)

    statistics = {
        key: Statistic(
            mean_of(score.rows), score.unit, f"Mean. {score.help}", score.source, "low",
            live("mean", f"Mean {words}; lower is better."),
            threshold=True, expected_ratio=ratio_name,
        ),
        f"{key}_median": Statistic(
            middle_of(ascending), score.unit, f"Median of {key}.", score.source, "low",
            live("median", f"Median {words}; lower is better."), threshold=True,
        ),
        f"{key}_trimmed": Statistic(
            trimmed_of(ascending), score.unit, f"Mean of the middle 80 % of {key}.",
            score.source, "low",
        ),
    }  # fmt: skip
    if score.expected is not None and has_ratio:
        statistics[f"{key}_expected_ratio"] = Statistic(
            expected_ratio_of(score.rows, score.expected), "none",
            f"Mean {key} against what its own claim predicts; above 1 is worse.",
            score.source, "1",
            live(
                "expected_ratio",
                f"Mean {short} S against E, the one the sensor's own claim predicts: "
                "1 + (S - E)/|E|; 1 keeps the claim, above 1 is worse.",
            ),
        )  # fmt: skip
    return statistics
