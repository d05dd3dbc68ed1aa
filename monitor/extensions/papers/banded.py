"""A set of pairs that have a band, with its characteristics curves (arXiv 2106.00858).

The sample of the authors' program stands beside its notebook's output (IBM/UQ360, ucc_metric). The
areas follow the program: a trapezoid from the least critical scale on, and excess to the end on the
reference's side.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

import numpy as np

from monitor.core.columns import Columns
from monitor.core.model import Float
from monitor.core.scores import curves
from monitor.core.scores.curves import Curve
from monitor.extensions.papers.paper_page import PaperTable
from monitor.http import ucc_plots


class Banded(NamedTuple):
    """A set with its curves: as stated, of the constant band, with the authors' excess; sd."""

    name: str
    pairs: Columns
    points: Curve
    constant: Curve
    sided: Curve
    stated: Curve
    flat: Curve
    sd: float


def banded(name: str, c: Columns) -> Banded:
    """Return a set without the pairs that have no band, with its curves."""
    inside = np.flatnonzero((c.lower <= c.value) & (c.value <= c.upper))
    c = c.select(inside, np.array([0]))
    below, above = c.value - c.lower, c.upper - c.value
    half = np.full(c.value.size, float(np.mean(0.5 * (below + above))))
    sd = float(np.std(c.reference)) or float(np.std(c.error))
    drawn = ucc_plots.characteristics(c, 1.0)
    if drawn is None:
        raise ValueError(f"{name}: no pair has a band")
    return Banded(
        name,
        c,
        drawn.points,
        drawn.constant,
        curves.curve(below, above, c.error, nearer=False),
        drawn.stated,
        ucc_plots.operating_point(half, half, c.error, 1.0),
        sd,
    )


# Printed in the authors' notebook for the sample: segment, figure, number.
_NOTEBOOK: Final = (
    ("sample 0:500", "miss rate", 0.33),
    ("sample 0:500", "area excess, miss / sd", 0.16),
    ("sample 0:500", "area excess, deficit / sd²", 0.04),
    ("sample 510:830", "miss rate", 0.3531),
    ("sample 510:830", "area bandwidth, miss / sd", 0.4188),
    ("sample 510:830", "k* of bandwidth / sd + 10 miss", 2.443731977029287),
    ("sample 510:830", "its cost", 1.3932039087057027),
    ("sample 510:830", "its cost at k = 1", 3.79445796010028),
)


def notebook_table(sets: Mapping[str, Banded]) -> PaperTable | None:
    """Return the printed numbers beside ours, None without the sample."""
    lines = [line for line in _NOTEBOOK if line[0] in sets]
    if not lines:
        return None
    return PaperTable(
        "The sample, beside what the notebook of the authors' program prints",
        ("set", "figure", "printed", "ours"),
        [
            (name, what, f"{number:.6g}", f"{_NOTEBOOK_OURS[what](sets[name]):.6g}")
            for name, what, number in lines
        ],
    )


def _sided_area(each: Banded, x: str, y: str) -> float:
    points = curves.normalised(each.sided, each.sd)
    first = 0 if points.miss[0] < 1.0 else 1
    return curves.trapezoid_area(getattr(points, x)[first:], getattr(points, y)[first:])


def _priced(each: Banded) -> Float:
    """Return the notebook's cost at each point of the curve."""
    return each.points.bandwidth / each.sd + 10.0 * each.points.miss


_NOTEBOOK_OURS: Final[dict[str, Callable[[Banded], float]]] = {
    "miss rate": lambda each: float(each.stated.miss[0]),
    "area excess, miss / sd": lambda each: _sided_area(each, "excess", "miss"),
    "area excess, deficit / sd²": lambda each: _sided_area(each, "excess", "deficit"),
    "area bandwidth, miss / sd": lambda each: _sided_area(each, "bandwidth", "miss"),
    "k* of bandwidth / sd + 10 miss": lambda each: float(
        each.points.scale[int(np.argmin(_priced(each)))]
    ),
    "its cost": lambda each: float(_priced(each).min()),
    "its cost at k = 1": lambda each: float(
        each.stated.bandwidth[0] / each.sd + 10.0 * each.stated.miss[0]
    ),
}
