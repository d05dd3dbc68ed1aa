"""The statistics by name: one line each; commands, metrics, tables and property tests follow.

Rules of this file: a statistic is a function ``f(Columns) -> number a series``, NaN where it is not
defined. To add one, write the function where it belongs and one line here.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from monitor.core.columns import (
    CELLS,
    Columns,
    parts,
    ratio,
)
from monitor.core.model import Float
from monitor.core.scores import (
    bins,
    calibration,
    characteristics,
    intervals,
    proper_scores,
)
from monitor.core.scores.proper_scores import Density, Rows
from monitor.core.scores.summaries import (
    expected_ratio_of,
    mean_of,
    middle_of,
    sorted_of,
    trimmed_of,
)

# How a statistic changes when the series is given in another unit.
Unit = Literal["quantity", "1/quantity", "quantity^2", "log", "none"]


@dataclass(frozen=True)
class Statistic:
    """One number a window. ``live``: computed at every publish; ``source``: row of the papers."""

    function: Rows
    unit: Unit
    help: str
    source: str
    live: bool = False


def log_finite_mean(c: Columns) -> Float:
    """Mean log score of the top hat over the hits; NaN where there is none."""
    rows = c.once(proper_scores.log_tophat)
    finite = np.isfinite(rows)
    return ratio(c.sum(np.where(finite, rows, 0.0)), c.sum(finite.astype(np.float64)))


def log_infinite_count(c: Columns) -> Float:
    """Count of infinite log scores of the top hat: the misses."""
    return c.sum(np.isinf(c.once(proper_scores.log_tophat)).astype(np.float64))


def crps_stated(c: Columns) -> Float:
    """Mean CRPS of the distributions that were stated; NaN where there is none."""
    if c.stated_crps is None:
        return np.full(c.starts.size, np.nan)
    stated = np.isfinite(c.stated_crps)
    total = c.sum(np.where(stated, c.stated_crps, 0.0))
    return ratio(total, c.sum(stated.astype(np.float64)))


def zms_lower(c: Columns) -> Float:
    """Lower end of the 95 % interval of ZMS."""
    return c.once(intervals.zms_interval).lower


def zms_upper(c: Columns) -> Float:
    """Upper end of the 95 % interval of ZMS."""
    return c.once(intervals.zms_interval).upper


def zms_zeta(c: Columns) -> Float:
    """Zeta of ZMS."""
    return c.once(intervals.zms_interval).zeta


def rce_zeta(c: Columns) -> Float:
    """Zeta of RCE."""
    return c.once(intervals.abc_rce).zeta


def _score_statistics() -> dict[str, Statistic]:
    """Return mean, median, trimmed mean and expected ratio of every score with a finite mean."""
    found = {}
    for name, s in proper_scores.SCORES.items():
        if name.startswith("log"):
            continue
        ascending = sorted_of(s.rows)
        entries = {
            name: (mean_of(s.rows), f"Mean. {s.help}", True),
            f"{name}_median": (middle_of(ascending), f"Median. {s.help}", True),
            f"{name}_trimmed": (trimmed_of(ascending), f"Mean of the middle 80 %. {s.help}", False),
        }
        for key, (function, text, live) in entries.items():
            found[key] = Statistic(function, s.unit, text, s.source, live)
        if s.expected is not None and s.unit != "log":
            text = f"Mean over what the sensor's own claim predicts, 1 if kept. {s.help}"
            function = expected_ratio_of(s.rows, s.expected)
            found[f"{name}_expected_ratio"] = Statistic(function, "none", text, s.source, live=True)
    return found


_C = calibration
_U = characteristics

STATISTICS: Final[dict[str, Statistic]] = {
    **_score_statistics(),
    "crps_stated": Statistic(
        crps_stated,
        "quantity",
        "Mean CRPS of the quantiles or ensembles themselves, where they are stated.",
        "A-07",
        live=True,
    ),
    "bias": Statistic(
        _C.bias, "quantity", "Mean error: how much it reads too high.", "A-11", live=True
    ),
    "mae": Statistic(_C.mae, "quantity", "Mean absolute error.", "A-11"),
    "rmse": Statistic(_C.rmse, "quantity", "Root mean square error.", "A-11"),
    "ce": Statistic(
        _C.ce, "quantity^2", "Mean squared error less mean squared uncertainty.", "B-04"
    ),
    "z_mean": Statistic(_C.z_mean, "none", "Mean error in units of its uncertainty.", "B-08"),
    "z_var": Statistic(_C.z_var, "none", "Scatter of errors over that stated, squared.", "B-08"),
    "z_lag1": Statistic(
        _C.z_lag1, "none", "How much an error resembles the one before it.", "B-08", live=True
    ),
    "zms": Statistic(
        _C.zms,
        "none",
        "Mean squared error in units of the uncertainty; 1 when right.",
        "B-09",
        live=True,
    ),
    "zms_lower": Statistic(
        zms_lower, "none", "Lower end of the 95 % interval of ZMS.", "B-13", live=True
    ),
    "zms_upper": Statistic(
        zms_upper, "none", "Upper end of the 95 % interval of ZMS.", "B-13", live=True
    ),
    "zms_zeta": Statistic(
        zms_zeta,
        "none",
        "Above 1: uncertainty understated; below -1: overstated.",
        "B-15",
        live=True,
    ),
    "rce": Statistic(
        _C.rce,
        "none",
        "Relative gap between stated and seen spread; 0 when right.",
        "B-05",
        live=True,
    ),
    "rce_zeta": Statistic(rce_zeta, "none", "Zeta of RCE; not reliable if beta_gm >= 0.4.", "B-15"),
    "nll": Statistic(_C.nll, "log", "Mean negative log likelihood.", "B-10", live=True),
    "nll_calibration": Statistic(_C.nll_calibration, "none", "Part of NLL made by errors.", "B-10"),
    "nll_sharpness": Statistic(
        _C.nll_sharpness, "log", "Part of NLL made by the stated u.", "B-10"
    ),
    "ence": Statistic(
        bins.ence,
        "none",
        "Mean gap between stated and seen spread in ten bins of u.",
        "B-07",
        live=True,
    ),
    "uce": Statistic(bins.uce, "quantity^2", "Mean gap of squares in ten bins of u.", "B-06"),
    "beta_gm": Statistic(
        _C.beta_gm, "none", "Skewness of the stated u; RCE fails from 0.4.", "B-16"
    ),
    "log_finite_mean": Statistic(log_finite_mean, "log", "Mean log width of the hits.", "A-06"),
    "log_infinite_count": Statistic(
        log_infinite_count, "none", "References it had called impossible.", "A-06"
    ),
    "coverage": Statistic(
        _C.coverage, "none", "Share of intervals that hold the reference.", "A-12", live=True
    ),
    "coverage_lower": Statistic(
        _C.coverage_lower, "none", "Exact 95 % interval, lower end.", "A-12"
    ),
    "coverage_upper": Statistic(
        _C.coverage_upper, "none", "Exact 95 % interval, upper end.", "A-12"
    ),
    "miss_rate": Statistic(_C.miss_rate, "none", "Share of intervals that miss.", "C-01"),
    "bandwidth": Statistic(_U.bandwidth, "quantity", "Mean half-width of its intervals.", "C-02"),
    "excess": Statistic(_U.excess, "quantity", "Mean width to spare at the nearer end.", "C-04"),
    "deficit": Statistic(_U.deficit, "quantity", "Mean distance outside the interval.", "C-05"),
    "auucc": Statistic(
        _U.auucc,
        "quantity",
        "Area under the bandwidth-miss curve; small is good.",
        "C-14",
        live=True,
    ),
    "auucc_constant": Statistic(
        _U.auucc_constant, "quantity", "That area with a constant uncertainty.", "C-06"
    ),
    "auucc_gain": Statistic(
        _U.auucc_gain,
        "none",
        "Area saved against a constant uncertainty; below 0 it misleads.",
        "C-16",
        live=True,
    ),
    "auucc_partial_gain": Statistic(
        _U.auucc_partial_gain,
        "none",
        "What its uncertainty tells apart: 0 nothing, 1 everything.",
        "C-15, C-16",
    ),
    "scale_optimal": Statistic(
        _U.scale_optimal,
        "none",
        "Factor on its uncertainty with the least interval score.",
        "C-13",
        live=True,
    ),
    "cost": Statistic(_U.cost, "quantity", "Weighted width and shortfall as stated.", "C-12"),
    "cost_optimal": Statistic(_U.cost_optimal, "quantity", "The same at the best factor.", "C-13"),
    "scale_for_level": Statistic(
        _U.scale_for_level,
        "none",
        "Factor on its uncertainty that keeps its stated level.",
        "C-26; Lei et al. 2018",
    ),
    "u_ref_ratio": Statistic(
        _C.u_ref_ratio,
        "none",
        "Uncertainty of the reference over the sensor's; above 1/3 it blurs the verdict.",
        "GUM 5.1.2",
        live=True,
    ),
    "n_effective": Statistic(
        _C.n_effective, "none", "Pairs that count as independent.", "Bayley 1946", live=True
    ),
}


def compute(columns: Columns, names: Iterable[str], cells: int = CELLS) -> dict[str, Float]:
    """Return the named statistics, one number a series; whatever is not finite is NaN.

    Worked out in portions of about ``cells`` rows; shared steps are done once for each portion.
    Numbers beyond the supported range (|x| <= 1e15, 1e-12 <= u <= 1e15) may overflow: they become
    NaN too, without a warning.
    """
    chosen = {name: STATISTICS[name].function for name in names}
    found = {name: np.empty(columns.starts.size) for name in chosen}
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        for which, part in parts(columns, cells):
            for name, function in chosen.items():
                found[name][which] = part.once(function)
    for numbers in found.values():
        numbers[~np.isfinite(numbers)] = np.nan
    return found


def live_statistics(density: Density) -> dict[str, str]:
    """Return, for each live metric (without ``monitor_``), the statistic that fills it."""
    hat = "_tophat" if density == "tophat" else ""
    bases = {
        "crps": f"crps{hat}",
        "quadratic": f"quadratic{hat}",
        "interval": "interval",
        "norm": "norm",
    }
    chosen = {}
    for metric, name in bases.items():
        chosen[f"score_{metric}_mean"] = name
        chosen[f"score_{metric}_median"] = f"{name}_median"
        if metric != "norm":
            chosen[f"score_{metric}_expected_ratio"] = f"{name}_expected_ratio"
    return chosen | LIVE_CALIBRATION


LIVE_CALIBRATION: Final = {
    "score_crps_stated_mean": "crps_stated",
    "calibration_bias": "bias",
    "calibration_zms": "zms",
    "calibration_zms_lower": "zms_lower",
    "calibration_zms_upper": "zms_upper",
    "calibration_zms_zeta": "zms_zeta",
    "calibration_rce": "rce",
    "calibration_nll": "nll",
    "calibration_ence": "ence",
    "calibration_coverage_ratio": "coverage",
    "calibration_z_lag1": "z_lag1",
    "calibration_u_ref_ratio": "u_ref_ratio",
    "ucc_auucc": "auucc",
    "ucc_gain_ratio": "auucc_gain",
    "ucc_scale_optimal": "scale_optimal",
    "window_pairs_effective": "n_effective",
}
