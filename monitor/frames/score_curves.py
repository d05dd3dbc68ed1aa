"""Curves of scored series as columns, and as one figure.

Rules of this file: a curve is computed by the core or with the levels of the daemon's page; the
figure draws nothing that :data:`CURVES` does not give. matplotlib is imported where one is asked
for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, Final

import numpy as np
import scipy

from monitor.core.columns import Columns
from monitor.core.model import Float
from monitor.core.scores.proper_scores import crps_normal, interval
from monitor.errors import install_hint
from monitor.frames.pair_frames import FrameError
from monitor.http.plots import LEVELS
from monitor.http.ucc_plots import characteristics

Curve = Mapping[str, Float]
_EXPECTED: Final = {"color": "0.6", "linestyle": "--"}


def reliability(c: Columns) -> Curve:
    """Return the share of references within the stated distribution's central intervals."""
    reach = scipy.special.ndtri(0.5 + 0.5 * LEVELS)
    return {"level": LEVELS, "share": np.mean(np.abs(c.z) <= reach[:, None], axis=1)}


def normal_scores(c: Columns) -> Curve:
    """Return z, ascending, beside the z of an honest sensor at the same ranks."""
    ranks = (np.arange(c.z.size) + 0.5) / c.z.size
    return {"expected": scipy.special.ndtri(ranks), "z": np.sort(c.z)}


def characteristics_curve(c: Columns) -> Curve:
    """Return miss rate and mean half-width where the stated bands are scaled."""
    curves = characteristics(c, np.nan)
    if curves is None:
        return {name: np.empty(0) for name in ("scale", "bandwidth", "miss")}
    points = curves.points
    return {"scale": points.scale, "bandwidth": points.bandwidth, "miss": points.miss}


# A curve has one entry: the columns of one series, and which of them are drawn.
CURVES: Final[Mapping[str, tuple[Callable[[Columns], Curve], str, str]]] = {
    "reliability": (reliability, "level", "share"),
    "z": (normal_scores, "expected", "z"),
    "ucc": (characteristics_curve, "bandwidth", "miss"),
}


def curve_named(name: str, c: Columns) -> Curve:
    """Return a curve of one series by its name; raises FrameError."""
    if name not in CURVES:
        raise FrameError(f"no curve {name!r}: there are {', '.join(CURVES)}")
    return CURVES[name][0](c)


def row_scores(c: Columns) -> Curve:
    """Return the scores of each pair."""
    return {
        "time": c.time,
        "value": c.value,
        "reference": c.reference,
        "u": c.u,
        "error": c.error,
        "z": c.z,
        "crps": crps_normal(c),
        "interval_score": interval(c),
        "inside": c.inside.astype(np.float64),
    }


def figure_of(series: Mapping[str, Columns]) -> Any:  # noqa: ANN401 - of matplotlib, which has few types
    """Return a figure with all curves of some series; raises FrameError without matplotlib."""
    try:
        pyplot = import_module("matplotlib.figure")
    except ImportError as error:
        raise FrameError(f"plot() needs matplotlib: {install_hint('plot')}") from error
    drawn = pyplot.Figure(figsize=(12.0, 4.0), layout="constrained")
    for axes, (name, (of, x, y)) in zip(
        drawn.subplots(1, len(CURVES)), CURVES.items(), strict=True
    ):
        for label, c in series.items():
            points = of(c)
            axes.plot(points[x], points[y], label=label)
        if name != "ucc":
            axes.axline((0.0, 0.0), slope=1.0, **_EXPECTED)
        axes.set(title=name, xlabel=x, ylabel=y)
    drawn.axes[0].legend()
    return drawn
