"""The figures of expected.json by name, each from the package's own functions."""

from __future__ import annotations

import numpy as np

from monitor.core.columns import Columns, coverage_factor
from monitor.core.scores import (
    bins,
    calibration,
    characteristics,
    curves,
)
from monitor.core.scores.statistics import STATISTICS, compute

# Name in expected.json -> statistic and factor (its error is reference - value).
STATISTIC_OF = {
    "mean_error": ("bias", -1.0),
    "mean_z": ("z_mean", -1.0),
    "gain_bw_miss_exact_pct": ("auucc_gain", 100.0),
    "crps_gauss": ("crps", 1.0),
    "norm_score": ("norm", 1.0),
    "quadratic_gauss": ("quadratic", 1.0),
    "crps_tophat90": ("crps_tophat", 1.0),
    "brier_tophat90": ("quadratic_tophat", 1.0),
    "interval90": ("interval", 1.0),
    "coverage90": ("coverage", 1.0),
    "ucc90_missrate": ("miss_rate", 1.0),
    "ucc90_bandwidth": ("bandwidth", 1.0),
    "ucc90_excess": ("excess", 1.0),
    "ucc90_deficit": ("deficit", 1.0),
    "auucc_bw_miss_exact": ("auucc", 1.0),
    "auucc_const_exact": ("auucc_constant", 1.0),
    "beta_gm_u_harrell_davis": ("beta_gm", 1.0),
    "ence_10": ("ence", 1.0),
    **{name: (name, 1.0) for name in ("mae", "zms", "rce", "nll")},
}


def figures(c: Columns) -> dict[str, float]:
    """Return every exact figure of one series."""
    got = compute(c, STATISTICS)
    found = {name: factor * got[key][0] for name, (key, factor) in STATISTIC_OF.items()}
    found |= simple_figures(c) | bin_figures(c) | curve_figures(c)
    return found


def simple_figures(c: Columns) -> dict[str, float]:
    """Return moments, coverages and widths."""
    found = {
        "n": c.value.size,
        "mse": calibration.mean_square_error(c)[0],
        "mean_sigma": c.mean(c.u)[0],
        "rms_sigma": np.sqrt(calibration.mean_variance(c)[0]),
        "mean_abs_z": c.mean(np.abs(c.z))[0],
        "width90": c.mean(c.width)[0],
    }
    for name, level in (("coverage68", 0.6826894921370859), ("coverage95", 0.95)):
        found[name] = float(np.mean(np.abs(c.z) <= coverage_factor(np.array([level]))[0]))
    median = np.median(c.u)
    found["beta_gm_u_plain_median"] = (c.u.mean() - median) / max(
        np.abs(c.u - median).mean(), 1e-300
    )
    return found


def bin_figures(c: Columns) -> dict[str, float]:
    """Return ENCE and ZMS in ten and twenty bins of u."""
    found = {}
    for number in (10, 20):
        zms = bins.binned_zms(c, c.u, number)[0]
        found |= {
            f"ence_{number}": bins.ence_in_bins(c, number)[0],
            f"binned_zms_min_{number}": zms.min(),
            f"binned_zms_max_{number}": zms.max(),
            f"binned_zms_meanabslog_{number}": np.abs(np.log(zms)).mean(),
        }
    return found


def curve_figures(c: Columns) -> dict[str, float]:
    """Return areas, gains and costs of the curve, its constant band beside it.

    The trapezoids merge tied scales, but for that of the constant band over the miss rate.
    """
    ones = np.ones(c.value.size)
    bands = [(c.value - c.lower, c.upper - c.value, c.error), (ones, ones, c.error)]
    stated, constant = (ranked(*band) for band in bands)
    merged = [curves.curve(*band) for band in bands]
    found = {
        "auucc_bw_miss_rect": float(np.sum(np.diff(stated.bandwidth, prepend=0.0) * stated.miss))
    }
    for name, x, y in AXES:
        areas = [merged_trapezoid(p, x, y) for p in merged]
        if name == "bw_miss":
            areas[1] = curves.trapezoid_area(constant.bandwidth, constant.miss)
        found[f"auucc_{name}_trapz"] = areas[0]
        found["auucc_const_trapz" if name == "bw_miss" else f"auucc_{name}_const_trapz"] = areas[1]
        gain = 100.0 * (1.0 - areas[0] / areas[1])
        found["gain_bw_miss_trapz_pct" if name == "bw_miss" else f"gain_{name}_pct"] = gain
    here = stated_point(c)
    for name, x, y in AXES[:2]:
        for label, weight in (("c01", 0.1), ("c05", 0.5)):
            found[f"cost_{name}_{label}"] = curves.optimum(
                getattr(stated, x), getattr(stated, y), weight
            )[1]
            found[f"cost_{name}_{label}_at_k1"] = weight * here[x] + (1.0 - weight) * here[y]
    return found


def merged_trapezoid(points: curves.Curve, x: str, y: str) -> float:
    """Return the area from the first critical scale on (scale 0 is one only without an error)."""
    first = 0 if points.miss[0] < 1.0 else 1
    return curves.trapezoid_area(getattr(points, x)[first:], getattr(points, y)[first:])


def ranked(below: np.ndarray, above: np.ndarray, error: np.ndarray) -> curves.Curve:
    """Return the curve with one point a pair, ties one below the other, without the start."""
    points = curves.curve(below, above, error)
    scale = np.sort(curves.critical_scales(below, above, error))
    n, place = error.size, np.searchsorted(points.scale, scale)
    return curves.Curve(
        scale, points.bandwidth[place], np.arange(n - 1, -1, -1) / n,
        points.excess[place], points.deficit[place],
    )  # fmt: skip


AXES = (
    ("bw_miss", "bandwidth", "miss"),
    ("ex_def", "excess", "deficit"),
    ("ex_miss", "excess", "miss"),
)


def optima_differ(c: Columns, want: dict[str, object]) -> list[str]:
    """Return the optimal scales that cost more than the least; on a flat stretch any will do."""
    points = ranked(c.value - c.lower, c.upper - c.value, c.error)
    wrong = []
    for name, x, y in AXES[:2]:
        for label, weight in (("c01", 0.1), ("c05", 0.5)):
            costs = weight * getattr(points, x) + (1.0 - weight) * getattr(points, y)
            scale = want[f"kstar_{name}_{label}"]["value"]
            near = np.argmin(np.abs(points.scale - scale))
            if abs(points.scale[near] - scale) > 1e-9 * scale + 1e-11 or costs[
                near
            ] > costs.min() * (1.0 + 1e-9):
                wrong.append(f"kstar_{name}_{label}: {scale}")
    return wrong


def stated_point(c: Columns) -> dict[str, float]:
    """Return the operating point of the bands as reported."""
    return {
        "bandwidth": characteristics.bandwidth(c)[0],
        "miss": calibration.miss_rate(c)[0],
        "excess": characteristics.excess(c)[0],
        "deficit": characteristics.deficit(c)[0],
    }


def differences(c: Columns, want: dict[str, object]) -> list[str]:
    """Return the names of figures that are not within their tolerance; every one is compared."""
    got = figures(c)
    wrong = optima_differ(c, want)
    for name, figure in want.items():
        if name.startswith("kstar"):
            continue
        value, rtol, atol = (
            (figure["value"], figure["rtol"], figure.get("atol", 0.0))
            if isinstance(figure, dict)
            else (figure, 0.0, 0.0)
        )
        if not abs(got[name] - value) <= rtol * abs(value) + atol:
            wrong.append(f"{name}: {got[name]!r}, not {value!r}")
    return wrong
