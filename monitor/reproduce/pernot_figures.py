"""The figures of Pernot (arXiv 2402.10043v2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from monitor.core.model import Float
from monitor.http import plots, svg
from monitor.http.svg import Chart
from monitor.reproduce.drawing import Panel, apart, sheet

_HEIGHT: Final = 280.0
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
        chart = Chart(f"{statistic} without the largest u", x, y, _HEIGHT)
        for level in (-1.0, 1.0):
            chart.level(level, "border")
        chart.level(0.0, "expected")
        ends = apart(np.array([line[-1] for line in lines.values()]), 0.06 * (y.high - y.low))
        for (name, line), end in zip(lines.items(), ends.tolist(), strict=True):
            chart.line(100.0 * shares, line, "seen" if np.abs(line).max() <= 1.0 else "missed")
            chart.ending(100.0 * float(shares[-1]), end, name)
        panels.append(Panel(chart.render(), _HEIGHT))
    return sheet(panels, across=2)


def pernot_figure_3(nu: Float, shares: dict[str, tuple[Float, Float, Float]]) -> str:
    """Return the share of calibrated sets that pass against nu, with its binomial interval."""
    lowest = min(float(low.min()) for _, low, _ in shares.values())
    x = svg.number_axis(0.0, float(nu.max()) + 2.0, "nu", margin=0.0)
    y = svg.number_axis(min(lowest, 0.9), 1.0, "share that passes", margin=0.02)
    chart = Chart("share of calibrated sets that pass", x, y, _HEIGHT)
    chart.level(_NOMINAL, "expected")
    for (name, (share, low, high)), kind in zip(shares.items(), ("hit", "missed"), strict=True):
        for at, bottom, top in zip(nu.tolist(), low.tolist(), high.tolist(), strict=True):
            chart.line(np.array([at, at]), np.array([bottom, top]), "rule")
        chart.line(nu, share, kind)
        chart.ending(float(nu[-1]), float(share[-1]) + (0.01 if kind == "hit" else -0.015), name)
    return sheet([Panel(chart.render(), _HEIGHT)], across=1)
