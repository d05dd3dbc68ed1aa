"""The figures of Martin, Molteno, Parry (arXiv 1411.4354), drawn by the functions that score."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from monitor.core.columns import Columns, coverage_factor
from monitor.core.model import Float
from monitor.core.scores import proper_scores
from monitor.http import plots, svg
from monitor.http.svg import Axis, Chart
from monitor.reproduce.crossings import Estimators
from monitor.reproduce.drawing import Panel, sheet
from monitor.reproduce.stated_columns import STATED_P, stated_columns

# The claim of Fig. 1: 80 kg for an object of 100 kg, 40 kg wide.
VALUE: Final = 80.0
REFERENCE: Final = 100.0
WIDTH_STATED: Final = 40.0
_HEIGHT: Final = 220.0
_TALL: Final = 320.0

SHOWN: Final[dict[str, Callable[[Columns], Float]]] = {
    "interval score / kg": proper_scores.interval,
    "CRPS / kg": proper_scores.crps_tophat,
    "quadratic score / (1/kg)": proper_scores.quadratic_tophat,
}


def claims(value: Float, width: Float) -> Columns:
    """Return claims of a value with a 90 % interval of some width about it, for one reference."""
    half, reference = 0.5 * width, np.full(value.size, REFERENCE)
    u = half / coverage_factor(np.full(value.size, STATED_P))
    return stated_columns(value, reference, u, value - half, value + half)


def of_variance(variance: Float, value: Float) -> Columns:
    """Return claims of values with variances (kg^2), for one reference."""
    return claims(
        value, 2.0 * np.sqrt(variance) * coverage_factor(np.full(variance.size, STATED_P))
    )


def variance_of_width(width: float) -> float:
    """Return the variance of the normal whose central 90 % has this width."""
    return float((0.5 * width / coverage_factor(np.full(1, STATED_P))[0]) ** 2)


def martin_figure_1() -> str:
    """Return the scores of a top hat against its width (left) and its centre (right)."""
    width = np.linspace(2.0, 200.0, 397)
    centre = np.linspace(40.0, 160.0, 481)
    by_width = claims(np.full(width.size, VALUE), width)
    by_centre = claims(centre, np.full(centre.size, WIDTH_STATED))
    half = 0.5 * WIDTH_STATED
    panels = []
    for name, score in SHOWN.items():
        reach = 2.0 * abs(REFERENCE - VALUE)
        panels += [
            _curve(width, score(by_width), ("width / kg", name), reaches_the_reference=reach),
            _curve(
                centre,
                score(by_centre),
                ("centre / kg", name),
                reaches_it=REFERENCE - half,
                leaves_it=REFERENCE + half,
            ),
        ]
    return sheet(panels, across=2)


def martin_figure_2() -> str:
    """Return the norm score against the stated variance (a) and against the value (b)."""
    variance = np.linspace(25.0, 2000.0, 396)
    centre = np.linspace(40.0, 160.0, 481)
    as_wide = variance_of_width(WIDTH_STATED)
    by_variance = proper_scores.norm(of_variance(variance, np.full(variance.size, VALUE)))
    by_value = proper_scores.norm(of_variance(np.full(centre.size, as_wide), centre))
    x = svg.number_axis(0.0, float(variance.max()), "stated variance / kg²", margin=0.0)
    y = svg.number_axis(float(by_variance.min()), float(by_variance.max()), "norm score")
    left = Chart("norm score against the stated variance", x, y, _TALL)
    left.line(variance, by_variance, "seen")
    for place, kind, label in (
        (as_wide, "stated", f"{as_wide:.0f} kg²: 40 kg wide at 90 %"),
        ((REFERENCE - VALUE) ** 2, "best", f"{(REFERENCE - VALUE) ** 2:.0f} kg²: the error²"),
    ):
        of_one = proper_scores.norm(of_variance(np.array([place]), np.array([VALUE])))
        left.mark(place, float(of_one[0]), kind, label)
    across = f"value / kg, at {as_wide:.0f} kg²"
    right = _curve(centre, by_value, (across, "norm score"), _TALL)
    return sheet([Panel(left.render(), _TALL), right], across=2)


def martin_figure_3(found: Estimators, event: int = 0) -> str:
    """Return one crossing as all estimators saw it."""
    one = seen_at(found, event)
    panel = Panel(plots.occasion_plot(one, found.names, "kg"), 60.0 + 30.0 * len(found.names))
    return sheet([panel], across=1)


def seen_at(found: Estimators, event: int) -> Columns:
    """Return each estimator's statement on one crossing, one series each."""
    rows = np.flatnonzero(found.event == event)
    return found.pairs.select(rows, np.arange(len(found.names)))


def martin_figure_4(crps: Float, others: dict[str, Float], names: tuple[str, ...]) -> str:
    """Return other mean scores of several estimators against their CRPS."""
    panels = [
        Panel(plots.scatter(crps, mean, ("CRPS / kg", label), names), 320.0)
        for label, mean in others.items()
    ]
    return sheet(panels, across=2)


def _curve(
    x: Float, y: Float, names: tuple[str, str], height: float = _HEIGHT, **lines: float
) -> Panel:
    """Return y over x, with vertical lines where something changes."""
    up = svg.number_axis(float(y.min()), float(y.max()), names[1])
    chart = Chart(f"{names[1]} against {names[0]}", _axis(x, names[0]), up, height)
    if up.low < 0.0:
        chart.level(0.0, "expected")
    for label, place in lines.items():
        chart.moment(place, "border", label.replace("_", " "))
    chart.line(x, y, "seen")
    return Panel(chart.render(), height)


def _axis(x: Float, label: str) -> Axis:
    return svg.number_axis(float(x.min()), float(x.max()), label, margin=0.0)
