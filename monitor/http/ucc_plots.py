"""The plots of uncertainty characteristics curves: columns in, SVG text out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from monitor.core.columns import Columns
from monitor.core.model import Float
from monitor.core.scores.curves import Curve, curve
from monitor.http import svg
from monitor.http.plots import axis_label, empty
from monitor.http.svg import Chart


class Characteristics(NamedTuple):
    """Curves of one series over the pairs that have a band, and three points on the first.

    ``points`` scales the stated bands, ``constant`` one constant band for all; ``stated`` is at
    scale 1, ``optimal`` at ``scale`` (NaN where it is not defined).
    """

    points: Curve
    constant: Curve
    stated: Curve
    optimal: Curve
    scale: float


def characteristics(c: Columns, scale: float) -> Characteristics | None:
    """Return the curves of one series, None if no value lies within its own interval."""
    below, above = c.value - c.lower, c.upper - c.value
    banded = (below >= 0.0) & (above >= 0.0)
    if not banded.any():
        return None
    below, above, error = below[banded], above[banded], c.own_error[banded]
    half = np.full(error.size, float(np.mean(0.5 * (below + above))))
    # A band of almost zero width needs a scale beyond the range of floats.
    with np.errstate(over="ignore", invalid="ignore"):
        return Characteristics(
            curve(below, above, error),
            curve(half, half, error),
            operating_point(below, above, error, 1.0),
            operating_point(below, above, error, scale),
            scale,
        )


def ucc_plot(curves: Characteristics | None, unit: str, axes: str = "bandwidth-miss") -> str:
    """Return the uncertainty characteristics curve and that of a constant band."""
    if curves is None:
        return empty("No value lies within its own interval: there is no band to stretch.")
    across, up = axes.split("-")
    lines = [(getattr(each, across), getattr(each, up)) for each in curves[:2]]
    dots = [(getattr(each, across), getattr(each, up)) for each in curves[2:4]]
    label = axis_label({"bandwidth": "mean half-width", "excess": "mean excess"}[across], unit)
    y = (
        svg.number_axis(0.0, 1.0, "miss rate", margin=0.0)
        if up == "miss"
        else svg.number_axis(0.0, float(lines[0][1].max()), axis_label("mean deficit", unit))
    )
    x = svg.number_axis(0.0, _reach(lines, dots), label, margin=0.0)
    chart = Chart("uncertainty characteristics curve", x, y, 260.0)
    draw = chart.steps if up == "miss" else chart.line
    draw(*lines[1], "expected")
    draw(*lines[0], "seen")
    for (at_x, at_y), kind, label in zip(dots, ("stated", "best"), ("k = 1", "k*"), strict=True):
        word = f"{label} = {curves.scale:.2g}" if kind == "best" else label
        chart.mark(float(at_x[0]), float(at_y[0]), kind, word)
    return chart.render()


def two_curves(first: Curve, second: Curve) -> str:
    """Return two characteristics curves overlaid, in units of the references' spread."""
    lines = [(each.bandwidth, each.miss) for each in (first, second)]
    x = svg.number_axis(
        0.0, _reach(lines, []), "mean half-width, 1 = spread of the references", margin=0.0
    )
    y = svg.number_axis(0.0, 1.0, "miss rate", margin=0.0)
    chart = Chart("two characteristics curves", x, y, 260.0)
    chart.steps(*lines[1], "other")
    chart.steps(*lines[0], "seen")
    return chart.render()


def operating_point(below: Float, above: Float, error: Float, scale: float) -> Curve:
    """Return the point of the curve at one scale (C eq. 4, 5, 8, 9); NaN if it is not finite."""
    if not np.isfinite(scale):
        return Curve(*(np.array([np.nan]) for _ in Curve._fields))
    low, high = scale * below - error, scale * above + error
    inside = (low >= 0.0) & (high >= 0.0)
    nearer = np.minimum(low, high)
    return Curve(
        scale=np.array([scale]),
        bandwidth=np.array([scale * float(np.mean(0.5 * (below + above)))]),
        miss=np.array([float(np.mean(~inside))]),
        excess=np.array([float(np.mean(np.maximum(nearer, 0.0)))]),
        deficit=np.array([float(np.mean(np.maximum(-nearer, 0.0)))]),
    )


def _reach(lines: Sequence[tuple[Float, Float]], dots: Sequence[tuple[Float, Float]]) -> float:
    """Return the end of an axis: where few misses are left, and beyond the dots."""
    ends = [_left_over(x, y) for x, y in lines]
    ends += [1.5 * float(x[0]) for x, _ in dots if np.isfinite(x[0])]
    return max((end for end in ends if np.isfinite(end)), default=1.0)


def _left_over(x: Float, y: Float) -> float:
    few = np.flatnonzero(y <= 0.02 * float(y[0])) if y.size else np.zeros(0)
    return float(x[few[0]]) if few.size else float(x[-1]) if x.size else 0.0
