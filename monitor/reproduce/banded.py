"""A set of pairs that have a band, with its characteristics curves (arXiv 2106.00858)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from monitor.core.columns import Columns
from monitor.core.scores import curves
from monitor.core.scores.curves import Curve
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
    kept = np.flatnonzero((c.lower <= c.value) & (c.value <= c.upper))
    c = c.select(kept, np.array([0]))
    below, above = c.value - c.lower, c.upper - c.value
    half = np.full(c.value.size, float(np.mean(0.5 * (below + above))))
    sd = float(np.std(c.reference)) or float(np.std(c.error))
    found = ucc_plots.characteristics(c, 1.0)
    if found is None:
        raise ValueError(f"{name}: no pair has a band")
    return Banded(
        name,
        c,
        found.points,
        found.constant,
        curves.curve(below, above, c.error, nearer=False),
        found.stated,
        ucc_plots.operating_point(half, half, c.error, 1.0),
        sd,
    )
