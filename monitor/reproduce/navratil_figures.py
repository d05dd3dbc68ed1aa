"""The figures of Navratil et al. (arXiv 2106.00858)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from monitor.core.columns import Columns
from monitor.core.scores import characteristics
from monitor.http import svg, ucc_plots
from monitor.http.plots import axis_label
from monitor.http.svg import Chart
from monitor.reproduce.drawing import Panel, apart, sheet

_HEIGHT: Final = 260.0
_SCALE_MAX: Final = 2.0


def curves(sets: Sequence[Columns], unit: str) -> str:
    """Return the characteristics curves of each set in both coordinate systems, one row per set."""
    panels = []
    for pairs in sets:
        scale = float(characteristics.scale_optimal(pairs)[0])
        found = ucc_plots.characteristics(pairs, scale)
        panels += [
            Panel(ucc_plots.ucc_plot(found, unit, axes), _HEIGHT)
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
    ends = apart(np.array([line[-1] for line in lines.values()]), 0.06 * (y.high - y.low))
    chart = Chart("MAE(k) against k", x, y, _HEIGHT)
    kinds = {"honest": "seen", "constant": "expected"}
    for (name, line), end in zip(lines.items(), ends.tolist(), strict=True):
        chart.line(scale, line, kinds.get(name, ""))
        chart.ending(_SCALE_MAX, end, name)
    chart.moment(1.0, "border", "k = 1")
    return sheet([Panel(chart.render(), _HEIGHT)], across=1)


def _mae(c: Columns, scale: float) -> float:
    at = ucc_plots.operating_point(c.value - c.lower, c.upper - c.value, c.error, scale)
    return float(at.excess[0] + at.deficit[0])
