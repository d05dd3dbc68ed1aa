"""The papers' figures, drawn by the package's functions, each one self-contained SVG.

Martin, Molteno, Parry (arXiv 1411.4354), Navratil et al. (arXiv 2106.00858) and Pernot (arXiv
2402.10043v2). A sheet puts drawings of the package side by side, with its own styles.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np

from monitor.core.analysis.remarks import SKEWED
from monitor.core.columns import Columns, coverage_factor
from monitor.core.model import Float
from monitor.core.scores import characteristics, proper_scores
from monitor.extensions.papers.generated_claims import STATED_P, Estimators, stated_columns
from monitor.http import plots, svg, ucc_plots
from monitor.http.plots import axis_label
from monitor.http.svg import Axis, Chart

_GAP: Final = 12.0
_STYLE: Final = """
.plot text { fill: #5c666e; font: 12px sans-serif; }
.plot .axis { fill: none; stroke: #5c666e; } .plot .grid { stroke: #d9dde0; stroke-width: .7; }
.plot .line, .plot .rule { fill: none; stroke: #1d2327; stroke-width: 1.4; }
.plot .line.seen { stroke: #1f5fa8; stroke-width: 2; }
.plot .expected { stroke: #5c666e; stroke-dasharray: 5 4; }
.plot .line.hit { stroke: #1f5fa8; stroke-width: 3; }
.plot .line.missed { stroke: #b3261e; stroke-width: 3; }
.plot .dots { fill: none; stroke: #1f5fa8; stroke-linecap: round; stroke-width: 7; }
.plot .crosses { fill: none; stroke: #b3261e; stroke-width: 2; }
.plot .rule.reference { stroke: #1e6b3c; stroke-width: 2; }
.plot .rule.border { stroke: #8f5a00; stroke-dasharray: 6 4; }
.plot .word, .plot .note { fill: #1d2327; }
.plot .mark { fill: #fcfcfb; stroke: #1d2327; stroke-width: 2; }
.plot .mark.best { stroke: #1e6b3c; }
"""


class Panel(NamedTuple):
    """A drawing of the package and its height; all are equally wide."""

    drawing: str
    height: float


def sheet(panels: Sequence[Panel], across: int) -> str:
    """Return panels side by side, row by row, as one self-contained drawing."""
    rows = [panels[at : at + across] for at in range(0, len(panels), across)]
    parts, top = [], 0.0
    for row in rows:
        for at, panel in enumerate(row):
            size = f'width="{svg.WIDTH:.0f}" height="{panel.height:.0f}"'
            place = f'x="{at * (svg.WIDTH + _GAP):.0f}" y="{top:.0f}"'
            parts.append(panel.drawing.replace("<svg ", f"<svg {place} {size} ", 1))
        top += max(panel.height for panel in row) + _GAP
    width, height = across * (svg.WIDTH + _GAP) - _GAP, top - _GAP
    drawn = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}">'
        f"<style>{_STYLE}</style>"
        f'<rect width="{width:.0f}" height="{height:.0f}" fill="#fcfcfb"/>'
        f"{drawn}</svg>\n"
    )


def _apart(places: Float, gap: float) -> Float:
    """Return places for labels, in the same order, at least ``gap`` from each other."""
    order = np.argsort(places, kind="stable")
    steps = gap * np.arange(places.size)
    raised = np.maximum.accumulate(places[order] - steps) + steps
    moved = np.empty_like(places)
    moved[order] = raised
    return moved


_NAVRATIL_HEIGHT: Final = 260.0
_SCALE_MAX: Final = 2.0


def characteristics_curves(sets: Sequence[Columns], unit: str) -> str:
    """Return the characteristics curves of each set in both coordinate systems, one row per set."""
    panels = []
    for pairs in sets:
        scale = float(characteristics.scale_optimal(pairs)[0])
        curves = ucc_plots.characteristics(pairs, scale)
        panels += [
            Panel(ucc_plots.ucc_plot(curves, unit, axes), _NAVRATIL_HEIGHT)
            for axes in ("bandwidth-miss", "excess-deficit")
        ]
    return sheet(panels, across=2)


def mae_by_width(sets: Mapping[str, Columns], unit: str) -> str:
    """Return excess plus deficit of symmetric bands against the scale, up to twice as stated."""
    scale = np.linspace(0.0, _SCALE_MAX, 81)
    lines = {name: np.array([_mae(c, float(k)) for k in scale]) for name, c in sets.items()}
    x = svg.number_axis(0.0, 1.12 * _SCALE_MAX, "scale k", margin=0.0)
    top = float(np.max([line.max() for line in lines.values()]))
    y = svg.number_axis(0.0, top, axis_label("MAE(k)", unit))
    ends = _apart(np.array([line[-1] for line in lines.values()]), 0.06 * (y.high - y.low))
    chart = Chart("MAE(k) against k", x, y, _NAVRATIL_HEIGHT)
    kinds = {"honest": "seen", "constant": "expected"}
    for (name, line), end in zip(lines.items(), ends.tolist(), strict=True):
        chart.line(scale, line, kinds.get(name, ""))
        chart.ending(_SCALE_MAX, end, name)
    chart.moment(1.0, "border", "k = 1")
    return sheet([Panel(chart.render(), _NAVRATIL_HEIGHT)], across=1)


def _mae(c: Columns, scale: float) -> float:
    at = ucc_plots.operating_point(c.value - c.lower, c.upper - c.value, c.error, scale)
    return float(at.excess[0] + at.deficit[0])


_PERNOT_HEIGHT: Final = 280.0
_NOMINAL: Final = 0.95


def pernot_figure_1(zms: Float, rce: Float, names: Sequence[str]) -> str:
    """Return |zeta| of RCE against |zeta| of ZMS."""
    return sheet([Panel(plots.zetas(zms, rce, names), 320.0)], across=1)


def pernot_figure_2(shares: Float, moved: dict[str, dict[str, Float]]) -> str:
    """Return how far ZMS and RCE move without the largest u, one line per set.

    ``moved``: by statistic and set, in units of the arm of the interval of all pairs, so that the
    estimate leaves it at 1.
    """
    panels = []
    x = svg.number_axis(
        0.0, 115.0 * float(shares.max()), "pairs of largest u left out / %", margin=0
    )
    for statistic, lines in moved.items():
        every = np.concatenate([*lines.values(), np.array([-1.2, 1.2])])
        label = f"{statistic} moved, 1 = end of interval"
        y = svg.number_axis(float(np.nanmin(every)), float(np.nanmax(every)), label)
        chart = Chart(f"{statistic} without the largest u", x, y, _PERNOT_HEIGHT)
        for level in (-1.0, 1.0):
            chart.level(level, "border")
        chart.level(0.0, "expected")
        ends = _apart(np.array([line[-1] for line in lines.values()]), 0.06 * (y.high - y.low))
        for (name, line), end in zip(lines.items(), ends.tolist(), strict=True):
            chart.line(100.0 * shares, line, "seen" if np.abs(line).max() <= 1.0 else "missed")
            chart.ending(100.0 * float(shares[-1]), end, name)
        panels.append(Panel(chart.render(), _PERNOT_HEIGHT))
    return sheet(panels, across=2)


def pernot_figure_3(
    nu: Float, skewness: Float, shares: dict[str, tuple[Float, Float, Float]]
) -> str:
    """Return the share of calibrated sets that pass against nu and against beta_GM of u.

    Each share has its binomial interval.
    """
    lowest = min(float(low.min()) for _, low, _ in shares.values())
    y = svg.number_axis(min(lowest, 0.9), 1.0, "share that passes", margin=0.02)
    panels = []
    for at, last, label in (
        (nu, float(nu.max()) + 2.0, "nu"),
        (skewness, 1.12 * float(skewness.max()), "beta_GM of u"),
    ):
        x = svg.number_axis(0.0, last, label, margin=0.0)
        chart = Chart(f"share of calibrated sets that pass, against {label}", x, y, _PERNOT_HEIGHT)
        chart.level(_NOMINAL, "expected")
        end = int(np.argmax(at))
        for (name, (share, low, high)), kind in zip(shares.items(), ("hit", "missed"), strict=True):
            for each, bottom, top in zip(at.tolist(), low.tolist(), high.tolist(), strict=True):
                chart.line(np.array([each, each]), np.array([bottom, top]), "rule")
            chart.line(at, share, kind)
            raised = 0.01 if kind == "hit" else -0.015
            chart.ending(float(at[end]), float(share[end]) + raised, name)
        panels.append(chart)
    panels[1].moment(SKEWED, "border", f"{SKEWED:g}")
    return sheet([Panel(each.render(), _PERNOT_HEIGHT) for each in panels], across=2)


# The claim of Fig. 1: 80 kg for an object of 100 kg, 40 kg wide.
VALUE: Final = 80.0
REFERENCE: Final = 100.0
WIDTH_STATED: Final = 40.0
_MARTIN_HEIGHT: Final = 220.0
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


def martin_figure_3(estimators: Estimators) -> str:
    """Return the first crossing as all estimators saw it, and their scores for it."""
    one = seen_at(estimators, 0)
    height = 60.0 + 30.0 * len(estimators.names)
    panels = [Panel(plots.occasion_plot(one, estimators.names, "kg"), height)]
    for name, score in SHOWN.items():
        rows = score(one)
        x = svg.number_axis(min(0.0, float(rows.min())), float(rows.max()), name)
        chart = Chart(f"{name} of each estimator", x, Axis(0.6, rows.size + 0.8, []), height)
        for at, estimator in enumerate(estimators.names):
            place = float(rows.size - at)
            ends, row = np.array([0.0, rows[at]]), np.full(2, place)
            chart.line(ends, row, "hit" if one.inside[at] else "missed")
            chart.label(x.low, place + 0.2, estimator)
        chart.moment(0.0, "expected")
        panels.append(Panel(chart.render(), height))
    return sheet(panels, across=2)


def seen_at(estimators: Estimators, event: int) -> Columns:
    """Return each estimator's statement on one crossing, one series each."""
    rows = np.flatnonzero(estimators.event == event)
    return estimators.pairs.select(rows, np.arange(len(estimators.names)))


def martin_figure_4(crps: Float, others: dict[str, Float], names: tuple[str, ...]) -> str:
    """Return other mean scores of several estimators against their CRPS."""
    panels = [
        Panel(plots.scatter(crps, mean, ("CRPS / kg", label), names), 320.0)
        for label, mean in others.items()
    ]
    return sheet(panels, across=2)


def _curve(
    x: Float, y: Float, names: tuple[str, str], height: float = _MARTIN_HEIGHT, **lines: float
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
