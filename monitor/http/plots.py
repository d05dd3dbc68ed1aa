"""The plots of a series: columns in, SVG text out.

Pure functions. The core computes what a plot shows; with too few pairs the plot is a sentence that
says how many are needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Final, NamedTuple

import numpy as np
import scipy

from monitor.core.analysis.correlation import correlation
from monitor.core.columns import Columns, in_blocks
from monitor.core.model import Event, Float
from monitor.core.scores.calibration import zms
from monitor.core.scores.intervals import saddlepoint_zms
from monitor.core.scores.proper_scores import SCORES
from monitor.http import svg
from monitor.http.svg import Chart

ROLLING: Final = 20
LEVELS: Final = np.array([0.05 * n for n in range(1, 20)] + [0.99])
BINS_MAX: Final = 10
NAMED_MAX: Final = 20
PAIRS_A_BIN: Final = 20
_BLOCKS: Final = 10
_Z_SHOWN: Final = 5.0
_TAILS: Final = (0.025, 0.975)
_FAR: Final = 4.0  # a point this many spreads away does not stretch the axis


class Marks(NamedTuple):
    """A sensor's past: its events, and when its fault began (s UTC; NaN: none).

    Pairs from before ``first`` are faded: the sentence does not speak of them.
    """

    events: Sequence[Event] = ()
    since: float = float("nan")
    fired: tuple[float, ...] = ()
    first: float = float("nan")


def empty(message: str) -> str:
    """Return the placeholder of a drawing."""
    return f'<p class="empty">{escape(message)}</p>'


def too_few(needed: int, there: int) -> str:
    """Return the text in place of a drawing while there are too few pairs."""
    return empty(f"Needs {needed} pairs; there {'is' if there == 1 else 'are'} {there}.")


def errors(c: Columns, unit: str, marks: Marks, *, timed: bool = True) -> str:
    """Return errors over time; bars are the intervals in which they were stated to lie."""
    low, high = c.value - c.upper, c.value - c.lower
    y = robust_axis(np.concatenate([c.error, low, high]), axis_label("error", unit))
    chart = Chart("error of each pair over time", time_axis(c, timed=timed), y, 260.0)
    chart.bars(c.time, low, high, "band")
    chart.level(0.0, "zero")
    chart.dots(c.time[c.inside], c.error[c.inside], "hit")
    chart.crosses(c.time[~c.inside], c.error[~c.inside], "miss")
    marked(chart, marks)
    return chart.render()


def marked(chart: Chart, marks: Marks) -> None:
    """Fade what is older than the sentence; add what happened to the sensor as vertical lines."""
    chart.fade(marks.first)
    for event in marks.events:
        chart.moment(event.time, "epoch", event.event)
    chart.moment(marks.since, "fault", "fault since")
    for time in marks.fired:
        chart.moment(time, "fired", "alert")


def levey_jennings(c: Columns) -> str:
    """Return z of the pairs in event order with lines at one, two and three."""
    number = np.arange(1.0, c.z.size + 1.0)
    x = svg.number_axis(1.0, max(float(c.z.size), 2.0), "pair, in order of event time", margin=0.0)
    chart = Chart("z of each pair in event order", x, svg.number_axis(-_Z_SHOWN, _Z_SHOWN, "z"))
    for sigma in (1.0, 2.0, 3.0):
        kind = {1.0: "one", 2.0: "two", 3.0: "three"}[sigma]
        chart.level(sigma, kind)
        chart.level(-sigma, kind)
    chart.level(0.0, "zero")
    near = np.abs(c.z) <= 3.0
    chart.line(number, c.z, "faint")
    chart.dots(number[near], c.z[near], "hit")
    chart.crosses(number[~near], c.z[~near], "miss")
    return chart.render()


def rolling_score(
    c: Columns, score: str, unit: str, first: float = float("nan"), *, timed: bool = True
) -> str:
    """Return the mean of a score over the last pairs, beside the mean that the claims predict."""
    entry = SCORES[score]
    if c.value.size < ROLLING or entry.expected is None:
        return too_few(ROLLING, c.value.size)
    observed, expected = (_rolling(function(c)) for function in (entry.rows, entry.expected))
    time = c.time[ROLLING - 1 :]
    y = robust_axis(np.concatenate([observed, expected, [0.0]]), axis_label("mean score", unit))
    chart = Chart(f"mean of the last {ROLLING} scores over time", time_axis(c, timed=timed), y)
    chart.line(time, expected, "expected")
    chart.line(time, observed, "seen")
    chart.fade(first)
    return chart.render()


def coverage_by_level(c: Columns) -> str:
    """Return the coverage of central intervals of every level, with the range due to chance.

    The intervals are those of the normal with u_eff; the dot is the interval that was stated,
    widened for an uncertain reference as they are.
    """
    reach = scipy.special.ndtri(0.5 + 0.5 * LEVELS)
    observed = np.mean(np.abs(c.z) <= reach[:, None], axis=1)
    axis = svg.number_axis(0.0, 1.0, margin=0.0)
    chart = Chart(
        "share of references inside the stated interval, by level",
        axis._replace(label="stated level"),
        axis._replace(label="share inside"),
        260.0,
    )
    low, high = (scipy.special.bdtrik(tail, c.z.size, LEVELS) / c.z.size for tail in _TAILS)
    chart.area(LEVELS, low, np.minimum(high, 1.0), "chance")
    chart.line(np.array([0.0, 1.0]), np.array([0.0, 1.0]), "expected")
    chart.line(LEVELS, observed, "seen")
    lower, upper = c.widened
    held = (lower <= c.reference) & (c.reference <= upper)
    chart.mark(float(c.p.mean()), float(held.mean()), "stated", "as stated")
    return chart.render()


def zms_plot(c: Columns, unit: str) -> str:
    """Return ZMS with its interval in bins of u with equal counts."""
    bins = min(BINS_MAX, c.value.size // PAIRS_A_BIN)
    if bins < 2:
        return too_few(2 * PAIRS_A_BIN, c.value.size)
    if np.ptp(c.told_u) == 0.0:
        return empty("It states the same u in every pair.")
    parts = _in_bins(c, c.u, bins)
    observed, interval = zms(parts), saddlepoint_zms(parts)
    low, high = (np.where(end > 0.0, end, np.nan) for end in (interval.lower, interval.upper))
    observed = np.where(observed > 0.0, observed, np.nan)
    shown = np.concatenate([observed, low, high])
    shown = np.clip(shown[np.isfinite(shown)], 1 / 64, 64)
    number = np.arange(1.0, bins + 1.0)
    means = parts.mean(parts.u)
    ticks = [(float(at), f"{mean:.3g}") for at, mean in zip(number, means, strict=True)]
    x = svg.Axis(0.5, bins + 0.5, ticks, axis_label("mean stated u of the bin", unit))
    least, most = min(0.5, *shown, 0.5), max(2.0, *shown, 2.0)
    chart = Chart("ZMS in bins of the stated u", x, svg.powers(least, most, "ZMS"))
    chart.level(0.0, "zero")
    chart.bars(number, np.log2(low), np.log2(high), "whisker")
    chart.dots(number, np.log2(observed), "seen")
    return chart.render()


def pit(c: Columns) -> str:
    """Return the histogram of where references fell in the stated distributions."""
    n = c.z.size
    if n < PAIRS_A_BIN:
        return too_few(PAIRS_A_BIN, n)
    bins = BINS_MAX if n >= 5 * BINS_MAX else BINS_MAX // 2
    edges = np.linspace(0.0, 1.0, bins + 1)
    shares = np.histogram(scipy.special.ndtr(-c.z), edges)[0] / n
    low, high = (float(scipy.special.bdtrik(tail, n, 1.0 / bins)) / n for tail in _TAILS)
    x = svg.number_axis(0.0, 1.0, "place of the reference in the stated distribution", margin=0.0)
    y = svg.number_axis(0.0, max(float(shares.max()), high), "share of pairs")
    chart = Chart("where references fell in the stated distribution", x, y._replace(low=0.0))
    chart.area(np.array([0.0, 1.0]), np.full(2, max(low, 0.0)), np.full(2, high), "chance")
    chart.columns(edges, shares, "seen")
    chart.level(1.0 / bins, "expected")
    return chart.render()


def occasion_plot(c: Columns, names: Sequence[str], unit: str) -> str:
    """Return the intervals that several sensors stated of one occasion, and its reference."""
    count = c.value.size
    place = np.arange(count, 0.0, -1.0)
    x = robust_axis(np.concatenate([c.lower, c.upper, c.reference]), axis_label("value", unit))
    y = svg.Axis(0.6, count + 0.8, [])
    chart = Chart("what each sensor stated, and the reference", x, y, 60.0 + 30.0 * count)
    for at in range(count):
        ends, row = np.array([c.lower[at], c.upper[at]]), np.full(2, place[at])
        chart.line(ends, row, "hit" if c.inside[at] else "missed")
    chart.dots(c.value, place, "seen")
    for at, name in enumerate(names):
        chart.label(x.low, float(place[at]) + 0.2, name)
    for reference in np.unique(c.reference):
        chart.moment(float(reference), "reference")
    return chart.render()


def scatter(x: Float, y: Float, labels: tuple[str, str], names: Sequence[str]) -> str:
    """Return one score against another, a dot per sensor, with the line through them."""
    across, up = robust_axis(x, labels[0]), robust_axis(y, labels[1])
    chart = Chart(f"{labels[1]} against {labels[0]}", across, up, 320.0)
    line = correlation(x, y)
    ends = np.array([float(x.min()), float(x.max())])
    chart.line(ends, line.intercept + line.slope * ends, "expected")
    chart.dots(x, y, "seen")
    if len(names) <= NAMED_MAX:
        for at_x, at_y, name in zip(x.tolist(), y.tolist(), names, strict=True):
            chart.label(at_x, at_y, name)
    return chart.render()


def zetas(zms_: Float, rce: Float, names: Sequence[str]) -> str:
    """Return |zeta| of RCE against |zeta| of ZMS, a dot per sensor (Pernot, Fig. 1).

    Within 1 on both axes, both statistics call the uncertainty right on average.
    """
    x, y = np.abs(zms_), np.abs(rce)
    known = np.isfinite(x) & np.isfinite(y)
    if not known.any():
        return empty("No sensor has enough pairs for the intervals of ZMS and RCE.")
    labels = ("|zeta| of ZMS", "|zeta| of RCE")
    both = np.concatenate([x[known], y[known], [0.0, 1.5]])
    axis = robust_axis(both, "")
    chart = Chart(
        f"{labels[1]} against {labels[0]}",
        axis._replace(low=0.0, label=labels[0]),
        axis._replace(low=0.0, label=labels[1]),
        320.0,
    )
    chart.moment(1.0, "two")
    chart.level(1.0, "two", "")
    right = (x <= 1.0) & (y <= 1.0)
    chart.dots(x[right], y[right], "seen")
    chart.crosses(x[known & ~right], y[known & ~right], "miss")
    if len(names) <= NAMED_MAX:
        for at_x, at_y, name in zip(x.tolist(), y.tolist(), names, strict=True):
            chart.label(at_x, at_y, name)
    return chart.render()


def by_blocks(c: Columns, score: str, unit: str, *, timed: bool = True) -> str:
    """Return the mean score of blocks in time, beside the mean that the claims predict."""
    entry = SCORES[score]
    if c.value.size < 2 * _BLOCKS or entry.expected is None:
        return too_few(2 * _BLOCKS, c.value.size)
    parts = in_blocks(c, _BLOCKS)
    observed, expected = (parts.mean(function(parts)) for function in (entry.rows, entry.expected))
    rows, ends = entry.rows(parts), parts.starts + parts.counts - 1
    spread = np.sqrt(np.maximum(parts.mean(rows * rows) - observed * observed, 0.0) / parts.counts)
    middle = 0.5 * (parts.time[parts.starts] + parts.time[ends])
    low, high = observed - 2.0 * spread, observed + 2.0 * spread
    y = robust_axis(np.concatenate([low, high, expected]), axis_label("mean score", unit))
    chart = Chart(f"mean score of {_BLOCKS} blocks in time", time_axis(c, timed=timed), y)
    chart.bars(middle, low, high, "whisker")
    chart.line(middle, expected, "expected")
    chart.dots(middle, observed, "seen")
    return chart.render()


def sparkline(z: Float) -> str:
    """Return the last z as a line a few millimetres high, between -3 and 3; the last one a dot."""
    sound = np.flatnonzero(np.isfinite(z))
    if not sound.size:
        return ""
    across = np.round(2.0 + 96.0 * sound / max(z.size - 1, 1)).astype(np.int64)
    up = np.round(12.0 - 3.3 * np.clip(z[sound], -3.0, 3.0)).astype(np.int64)
    points = " ".join(f"{a},{b}" for a, b in zip(across.tolist(), up.tolist(), strict=True))
    far = " far" if abs(float(z[sound[-1]])) > 3.0 else ""
    return (
        f'<svg class="spark" viewBox="0 0 100 24" aria-hidden="true"><polyline points="{points}"/>'
        f'<circle class="last{far}" cx="{across[-1]}" cy="{up[-1]}" r="2"/></svg>'
    )


# -- inside --------------------------------------------------------------------------------------


def axis_label(name: str, unit: str) -> str:
    """Return the label of an axis."""
    return f"{name} / {unit}" if unit else name


def time_axis(c: Columns, *, timed: bool) -> svg.Axis:
    """Return the axis of the pairs' times, or of the numbers that they have instead."""
    low, high = float(c.time.min()), float(c.time.max())
    if timed:
        return svg.times(low, high)
    return svg.number_axis(low, max(high, low + 1.0), "pair, in order of the file", margin=0.0)


def robust_axis(values: Float, label: str) -> svg.Axis:
    """Return an axis that a few far values do not stretch: they are pinned to its edge."""
    values = values[np.isfinite(values)]
    if not values.size:
        return svg.number_axis(0.0, 1.0, label)
    low, high = np.quantile(values, [0.05, 0.95]).tolist()
    room = _FAR * (high - low)
    return svg.number_axis(
        max(float(values.min()), low - room), min(float(values.max()), high + room), label
    )


def _rolling(rows: Float) -> Float:
    """Return the mean of each row and those before it, ``ROLLING`` in total."""
    return np.lib.stride_tricks.sliding_window_view(rows, ROLLING).mean(axis=1)


def _in_bins(c: Columns, covariate: Float, bins: int) -> Columns:
    """Return the pairs of one series as ``bins`` series of nearly equal count along a covariate."""
    order = np.argsort(covariate, kind="stable")
    sizes = [part.size for part in np.array_split(order, bins)]
    starts = np.cumsum([0, *sizes[:-1]])
    names = ("time", "value", "reference", "u", "lower", "upper", "p", "u_ref")
    return Columns(starts, *(getattr(c, name)[order] for name in names))
