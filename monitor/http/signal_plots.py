"""The signal of a sensor over time, against its references, and where a drift leads.

Columns in, SVG text out. The signal consists of the pairs: readings without a reference are not
kept. The line of a drift is :meth:`monitor.core.verdict.Verdict.level_at`; the sentence says when
it is due.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from monitor.core.analysis.adjustments import lag_one
from monitor.core.analysis.correlation import Correlation, correlation
from monitor.core.columns import Columns
from monitor.core.verdict import FAULT, Verdict
from monitor.http import svg
from monitor.http.plots import Marks, axis_label, marked, robust_axis, time_axis
from monitor.http.svg import Chart

# Values that follow each other this closely are one signal, and are joined by a line.
_JOINED: Final = 0.5


def signal(c: Columns, unit: str, marks: Marks, *, timed: bool = True) -> str:
    """Return values over time with their stated intervals, and the references over them."""
    y = robust_axis(
        np.concatenate([c.value, c.reference, c.lower, c.upper]), axis_label("value", unit)
    )
    across = time_axis(c, timed=timed)
    chart = Chart("values with their intervals and references over time", across, y, 260.0)
    chart.bars(c.time, c.lower, c.upper, "band")
    if lag_one(c.value) > _JOINED:
        chart.line(c.time, c.value, "seen thin")
    else:
        chart.dots(c.time, c.value, "hit")
    chart.pluses(c.time, c.reference, "reference")
    marked(chart, marks)
    return chart.render()


def against_reference(c: Columns, unit: str) -> str:
    """Return values against references with the fitted line and the line of equality."""
    across = np.concatenate([c.value, c.reference])
    axis = robust_axis(across, "")
    chart = Chart(
        "value against reference",
        axis._replace(label=axis_label("reference", unit)),
        axis._replace(label=axis_label("value", unit)),
        320.0,
    )
    line = fitted(c)
    chart.straight(1.0, 0.0, "expected")
    chart.dots(c.reference[c.inside], c.value[c.inside], "hit")
    chart.crosses(c.reference[~c.inside], c.value[~c.inside], "miss")
    if math.isfinite(line.slope):
        chart.straight(line.slope, line.intercept, "fit")
    return chart.render()


def fitted(c: Columns) -> Correlation:
    """Return the least-squares line of value on reference; NaN for fewer than three pairs."""
    return correlation(c.reference, c.value)


def fitted_in_words(c: Columns, unit: str) -> str:
    """Return slope, intercept and R2 of value on reference as a sentence."""
    line = fitted(c)
    if not math.isfinite(line.slope):
        return "No line: it takes three pairs whose values and references differ."
    sign = "−" if line.intercept < 0.0 else "+"  # noqa: RUF001 - a minus sign
    size = f"{abs(line.intercept):.3g}{f' {unit}' if unit else ''}"
    slope = f"{line.slope:.4g}".replace("-", "−")  # noqa: RUF001 - a minus sign
    return (
        f"Fitted: value = {slope} × reference {sign} {size}; "  # noqa: RUF001 - a product
        f"R² = {line.r2:.4f} over {c.value.size} pairs."
    )


def drift_plot(c: Columns, unit: str, drift: Verdict) -> str:
    """Return errors over time, the fitted drift, and when it leaves its tolerance.

    Empty if the verdict is not a drift with a rate.
    """
    rate = drift.slope_per_day.value
    if drift.state != FAULT or drift.fault != "drift" or not math.isfinite(rate * drift.last):
        return ""
    began = drift.began if math.isfinite(drift.began) else float(c.time[0])
    ends = np.array([began, drift.due if math.isfinite(drift.due) else drift.last])
    level = np.array([drift.level_at(float(end)) for end in ends])
    bounds = np.array([drift.tolerance, -drift.tolerance])
    shown = np.concatenate([c.error, level, bounds[np.isfinite(bounds)]])
    across = svg.times(float(min(c.time.min(), began)), float(max(c.time.max(), ends[1])))
    chart = Chart(
        "errors over time and the drift through them",
        across,
        robust_axis(shown, axis_label("error", unit)),
        260.0,
    )
    for bound in bounds[np.isfinite(bounds)].tolist():
        chart.level(bound, "two", "tolerance" if bound > 0.0 else "")
    chart.level(0.0, "zero")
    chart.dots(c.time, c.error, "hit")
    chart.line(ends, level, "fit")
    now, low, high = (np.array([each]) for each in (drift.last, drift.level[1], drift.level[2]))
    chart.bars(now, low, high, "whisker")
    chart.moment(drift.due, "fault", "due")
    chart.moment(drift.last, "epoch", "now")
    return chart.render()
