"""STATISTICS: every number that summarises a window of pairs, one entry a statistic.

Whatever lists statistics takes the list from here: ``monitor score --json`` computes all of them;
a snapshot, ``/metrics`` and ``/api/v1`` have those with a :class:`Live` entry; ``thresholds`` may
be put on those that say so; docs/metrics.md and the property tests go through all. To add one,
write the function where it belongs and an entry here.

A statistic is a function ``f(Columns) -> one number a series``, NaN where it is not defined. It
must give a series the same bits alone as among others, and must not depend on the origin; its
``unit`` says how it changes in another unit. tests/core/scores/test_statistics.py checks this of
every entry.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

import numpy as np

from monitor.core.columns import CELLS, Columns, parts
from monitor.core.model import Float
from monitor.core.scores import (
    bins,
    calibration,
    characteristics,
    conventions,
    crps_parts,
    entries,
    intervals,
)
from monitor.core.scores.entries import Live, Statistic, of_score
from monitor.core.scores.proper_scores import Density

_C = calibration
_P = crps_parts
_U = characteristics

STATISTICS: Final[dict[str, Statistic]] = {
    **of_score("crps"),
    **of_score("crps_tophat"),
    "crps_stated": Statistic(
        entries.crps_stated, "quantity",
        "Mean CRPS of the quantiles or ensembles themselves, where they are stated.", "A-07", "low",
        Live(
            "score_crps_stated_mean",
            "Mean CRPS of the quantiles or ensembles themselves, where a sensor states them.",
        ),
    ),
    "crps_reliability": Statistic(
        _P.reliability_normal, "quantity",
        "Part of CRPS that wrong probabilities cost.", "A-07, Hersbach 2000",
        "low",
    ),
    "crps_resolution": Statistic(
        _P.resolution_normal, "quantity",
        "What it tells beyond the references' own distribution.",
        "A-07, Hersbach 2000", "high",
    ),
    "crps_uncertainty": Statistic(
        _P.uncertainty, "quantity", "CRPS of the references' own distribution.",
        "A-07, Hersbach 2000",
    ),
    "crps_tophat_reliability": Statistic(
        _P.reliability_tophat, "quantity",
        "Part of `crps_tophat` that wrong intervals cost.",
        "A-07, Hersbach 2000", "low",
    ),
    "crps_tophat_resolution": Statistic(
        _P.resolution_tophat, "quantity", "Resolution of `crps_tophat`.",
        "A-07, Hersbach 2000", "high",
    ),
    **of_score("quadratic"),
    **of_score("quadratic_tophat"),
    **of_score("interval"),
    **of_score("norm"),
    "bias": Statistic(
        _C.bias, "quantity", "Mean error: how much it reads too high.", "A-11", "0",
        Live(
            "calibration_bias",
            "Mean error, value less reference, in the unit of the quantity.",
        ),
        threshold=True,
    ),
    "mae": Statistic(_C.mae, "quantity", "Mean absolute error.", "A-11", "low"),
    "rmse": Statistic(_C.rmse, "quantity", "Root mean square error.", "A-11", "low"),
    "ce": Statistic(
        _C.ce, "quantity^2", "Mean squared error less mean squared uncertainty.", "B-04", "0",
    ),
    "z_mean": Statistic(
        _C.z_mean, "none", "Mean error in units of its uncertainty.", "B-08", "0",
        Live("calibration_z_mean"),
    ),
    "z_var": Statistic(
        _C.z_var, "none", "Variance of z.", "B-08", "1"
    ),
    "zms": Statistic(
        _C.zms, "none", "Mean squared error in units of the uncertainty; 1 when right.", "B-09",
        "1",
        Live("calibration_zms", "Mean of z squared; 1 where the stated uncertainty is right."),
        threshold=True, expected_ratio="calibration_zms",
    ),
    "zms_lower": Statistic(
        intervals.zms_lower, "none",
        "Lower end of the 95 % interval of ZMS, allowing for autocorrelation.", "B-13",
        live=Live(
            "calibration_zms_lower",
            "Lower end of the 95 % interval of ZMS, allowing for autocorrelation.",
        ),
    ),
    "zms_upper": Statistic(
        intervals.zms_upper, "none",
        "Upper end of the 95 % interval of ZMS, allowing for autocorrelation.", "B-13",
        live=Live(
            "calibration_zms_upper",
            "Upper end of the 95 % interval of ZMS, allowing for autocorrelation.",
        ),
    ),
    "zms_zeta": Statistic(
        intervals.zms_zeta, "none", "Above 1: uncertainty understated; below -1: overstated.",
        "B-15", "within 1",
        Live(
            "calibration_zms_zeta",
            "Where 1 lies in the interval of ZMS; within -1 and 1 is inside.",
        ),
        threshold=True,
    ),
    "rce": Statistic(
        _C.rce, "none", "Relative gap between stated and seen spread; 0 when right.", "B-05", "0",
        Live("calibration_rce", "Relative calibration error, 1 - RMSE/RMV; 0 is right."),
        threshold=True,
    ),
    "rce_zeta": Statistic(
        intervals.rce_zeta, "none", "Zeta of RCE; not reliable if beta_gm >= 0.4.", "B-15",
        "within 1",
    ),
    "nll": Statistic(
        _C.nll, "log", "Mean negative log likelihood.", "B-10", "low",
        Live("calibration_nll", "Mean negative log likelihood."),
    ),
    "nll_calibration": Statistic(_C.nll_calibration, "none", "Part of NLL made by errors.", "B-10"),
    "nll_sharpness": Statistic(
        _C.nll_sharpness, "log", "Part of NLL made by the stated u.", "B-10"
    ),
    "ence": Statistic(
        bins.ence, "none", "Mean gap between stated and seen spread in ten bins of u.", "B-07",
        "low",
        Live(
            "calibration_ence",
            "Mean relative calibration error in ten bins of u; for comparison only.",
        ),
        threshold=True,
    ),
    "uce": Statistic(
        bins.uce, "quantity^2",
        "Mean gap of mean squared error and mean squared u in ten bins of u, weighted by pairs.",
        "B-06", "low",
    ),
    "beta_gm": Statistic(
        _C.beta_gm, "none", "Skewness of the stated u; RCE fails from 0.4.", "B-16"
    ),
    "log_finite_mean": Statistic(
        entries.log_finite_mean, "log", "Mean log width of the hits.", "A-06", "low"
    ),
    "log_infinite_count": Statistic(
        entries.log_infinite_count, "none",
        "Number of misses, where the top-hat log score is infinite.",
        "A-06", "low",
    ),
    "coverage": Statistic(
        _C.coverage, "none", "Share of intervals that hold the reference.", "A-12", "as stated",
        Live("calibration_coverage_ratio", "Share of stated intervals that hold the reference."),
        threshold=True, expected="calibration_coverage_stated",
    ),
    "coverage_stated": Statistic(
        _C.coverage_stated, "none", "Share of intervals that should hold the reference.", "A-12",
        live=Live("calibration_coverage_stated"),
    ),
    "coverage_lower": Statistic(
        _C.coverage_lower, "none", "Exact 95 % interval, lower end.", "A-12"
    ),
    "coverage_upper": Statistic(
        _C.coverage_upper, "none", "Exact 95 % interval, upper end.", "A-12"
    ),
    "miss_rate": Statistic(
        _C.miss_rate, "none", "Share of intervals that miss for its own part of the error.", "C-01",
        "as stated",
    ),
    "z_lag1": Statistic(
        _C.z_lag1, "none", "How much an error resembles the one before it.", "B-08", "0",
        Live("calibration_z_lag1", "Autocorrelation of z from one pair to the next."),
        threshold=True,
    ),
    "u_ref_ratio": Statistic(
        _C.u_ref_ratio, "none",
        "Uncertainty of the reference over the sensor's; above 1/3 it blurs the verdict.",
        "GUM 5.1.2", "low",
        Live(
            "calibration_u_ref_ratio",
            "Uncertainty of reference and pairing over the sensor's; above 1/3 it blurs the "
            "verdict.",
        ),
    ),
    "bandwidth": Statistic(
        _U.bandwidth, "quantity", "Mean half-width of its intervals.", "C-02", "low"
    ),
    "excess": Statistic(
        _U.excess, "quantity", "Mean width to spare at the nearer end.", "C-04", "low"
    ),
    "deficit": Statistic(
        _U.deficit, "quantity", "Mean distance outside the interval.", "C-05", "low"
    ),
    "auucc": Statistic(
        _U.auucc, "quantity", "Area under the bandwidth-miss curve; small is good.", "C-14", "low",
        Live(
            "ucc_auucc",
            "Area under the uncertainty characteristics curve, in the quantity's unit.",
        ),
    ),
    "auucc_constant": Statistic(
        _U.auucc_constant, "quantity", "That area with a constant uncertainty.", "C-06"
    ),
    "auucc_gain": Statistic(
        _U.auucc_gain, "none",
        "Share of the whole area saved against a constant uncertainty: 0 for every honest sensor, "
        "below 0 where u misleads.",
        "C-16",
    ),
    "auucc_partial_gain": Statistic(
        _U.auucc_partial_gain, "none",
        "Information: how well its u follows the size of errors, 0 not at all, 1 fully; 0 for any "
        "constant one, below 0 it misleads.",
        "C-15, C-16", "high",
        Live(
            "ucc_partial_gain_ratio",
            "How much information the uncertainty holds: area saved against a constant one at miss "
            "rates to 0.5; 0 for any constant one, 1 for one that knows the error, below 0 it "
            "misleads.",
        ),
    ),
    "scale_optimal": Statistic(
        _U.scale_optimal, "none", "Factor on its uncertainty with the least interval score.",
        "C-13", "1",
        Live("ucc_scale_optimal", "Factor on the stated uncertainty that would cost least."),
    ),
    "cost": Statistic(
        _U.cost, "quantity", "Weighted width and shortfall as stated.", "C-12", "low"
    ),
    "cost_optimal": Statistic(
        _U.cost_optimal, "quantity", "The same at the best factor.", "C-13", "low"
    ),
    "scale_for_level": Statistic(
        _U.scale_for_level, "none", "Factor on its uncertainty that keeps its stated level.",
        "C-26; Lei et al. 2018", "1",
    ),
    "n_effective": Statistic(
        _C.n_effective, "none", "Pairs that count as independent.", "Bayley 1946", "high",
        Live(
            "window_pairs_effective",
            "Effective number of pairs, allowing for autocorrelation.",
        ),
    ),
    "convention_en_last": Statistic(
        conventions.en_last, "none", "Size of En of the last pair; beyond 1 it fails.",
        "ISO/IEC 17043", "low", threshold=True,
    ),
    "convention_en_ratio": Statistic(
        conventions.en_ratio, "none", "Share of pairs with En beyond 1; 0.0455 if honest.",
        "ISO/IEC 17043", "low", threshold=True,
    ),
    "convention_zeta_last": Statistic(
        conventions.zeta_last, "none",
        "Absolute zeta score (ISO 13528) of the last pair; above 3 calls for action.", "ISO 13528",
        "low", threshold=True,
    ),
    "convention_zeta_action_ratio": Statistic(
        conventions.zeta_action_ratio, "none",
        "Share of pairs whose absolute zeta score (ISO 13528) is above 3; 0.0027 if honest.",
        "ISO 13528", "low", threshold=True,
    ),
    **{
        f"convention_westgard_{rule.lower()}": Statistic(
            conventions.violated_last(rule), "none",
            f"1 if the last pair violates Westgard's rule {rule}, else 0.", "Westgard et al. 1981",
            "0", threshold=True,
        )
        for rule in conventions.WESTGARD
    },
}  # fmt: skip

# Published like the statistics of a series, but not a function of its window's pairs.
AVAILABILITY: Final = Live(
    "availability_ratio",
    "Share of the references held that came with a usable reading, since its first one.",
)


ASSUMED: Final = Live(
    "uncertainty_assumed",
    "1 if the sensor states no uncertainty and the settings assume that of its last reading.",
)
# Numbers of its verdict that are published of a series while something is wrong with it.
OF_VERDICTS: Final = (
    Live(
        "error_now",
        "Error now while an alert is pending or fires, in the unit of the quantity, as in its "
        "sentence if that states one; above 0 if it reads high. Absent for a sensor that is "
        "stuck, late or of the wrong sign: its error changes with what it measures.",
    ),
    Live("error_now_lower", "Lower end of the error's 95 % interval."),
    Live("error_now_upper", "Upper end of the error's 95 % interval."),
    Live("drift_per_day", "Change of the error per day while the fault is a drift."),
    Live("fault_since_timestamp_seconds", "When the fault behind an alert began."),
    Live(
        "due_seconds",
        "Seconds until a drift leaves its tolerance, if it will; with `alerts.due`, until the "
        "error of any series does. Below 0 once it has, from its last pair on if it had by then.",
    ),
)


def compute(columns: Columns, names: Iterable[str], cells: int = CELLS) -> dict[str, Float]:
    """Return the named statistics, one number a series; whatever is not finite is NaN.

    It works in portions of about ``cells`` rows; shared steps are done once for each portion.
    Numbers beyond the supported range (|x| <= 1e15, 1e-12 <= u <= 1e15) may overflow: they become
    NaN too, without a warning.
    """
    chosen = {name: STATISTICS[name].function for name in names}
    computed = {name: np.empty(columns.starts.size) for name in chosen}
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        for places, part in parts(columns, cells):
            for name, function in chosen.items():
                computed[name][places] = part.once(function)
    for numbers in computed.values():
        numbers[~np.isfinite(numbers)] = np.nan
    return computed


def live_statistics(density: Density) -> dict[str, str]:
    """Return, for each published name, the statistic that series of this density publish there."""
    return {
        name: key
        for key, each in STATISTICS.items()
        if each.live is not None and each.live.density in (None, density)
        for name in each.names(key)
    }


def live_metrics() -> dict[str, str]:
    """Return the published names that are metrics, with their help, in the order of the page."""
    live = [each.live for each in STATISTICS.values() if each.live is not None]
    texts = {}
    for each in (*live, AVAILABILITY, ASSUMED, *OF_VERDICTS):
        if each.help:
            texts[each.name] = each.help
        if each.alias:
            texts[each.alias] = f"The same as monitor_{each.name}, by its other name."
    return texts


def threshold_statistics() -> dict[str, Statistic]:
    """Return the statistics that a threshold may be put on, by published name."""
    return {
        name: each for key, each in STATISTICS.items() if each.threshold for name in each.names(key)
    }


def over_expected(name: str, published: Mapping[str, Float]) -> Float:
    """Return a statistic over what the sensor's own claim predicts, from published numbers."""
    statistic = threshold_statistics()[name]
    if statistic.expected_ratio:
        return published[statistic.expected_ratio]
    return published[name] / published[statistic.expected]


def over_usual(name: str, values: Float, usual: Float) -> Float:
    """Return a statistic over its usual value: above 1 is worse if lower is better."""
    if threshold_statistics()[name].good == "low":
        return 1.0 + (values - usual) / np.abs(usual)
    return values / usual
