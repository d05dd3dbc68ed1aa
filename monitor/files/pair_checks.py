"""The checks on rows of a table of pairs, whether it is a file or a frame.

Rules of this file: columns are arrays of one number per row, by field, NaN if not stated.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from monitor.core.model import NAN, Bool, Float
from monitor.decode.checks import U_MIN


def rows_lacking(columns: Mapping[str, Float]) -> Bool:
    """Return which rows lack the value, the reference or both claims."""
    return np.logical_or.reduce([*_lacking(columns).values()])


def left_out(lost: int, total: int) -> str:
    """Return the sentence on rows that lack a number."""
    lack = "lacks a number and is" if lost == 1 else "lack a number and are"
    return f"{lost} of {total} rows {lack} left out"


def most_lacking(columns: Mapping[str, Float]) -> str:
    """Return what most rows lack for a pair: value, reference or a claim."""
    lacking = {name: np.count_nonzero(rows) for name, rows in _lacking(columns).items()}
    return max(lacking, key=lambda name: lacking[name])


def _lacking(columns: Mapping[str, Float]) -> dict[str, Bool]:
    interval = np.isnan(columns["lower"]) | np.isnan(columns["upper"])
    claim = "u" if interval.all() else "u, or lower and upper,"
    return {
        "value": np.isnan(columns["value"]),
        "reference": np.isnan(columns["reference"]),
        claim: np.isnan(columns["u"]) & interval,
    }


def value_or_middle(columns: Mapping[str, Float]) -> Float:
    """Return the value of each row, the middle of its interval where it states none."""
    value, lower, upper = columns["value"], columns["lower"], columns["upper"]
    bare = np.isnan(value)
    return np.where(bare, lower + (upper - lower) / 2.0, value) if bare.any() else value


def row_faults(columns: Mapping[str, Float]) -> list[tuple[Bool, str, str]]:
    """Return (rows, field, sentence) for invalid values in rows; NaN breaks no rule."""
    lower, upper, u, p = columns["lower"], columns["upper"], columns["u"], columns["p"]
    u_ref, alpha = columns["u_reference"], columns.get("alpha", NAN)
    level = "alpha" if np.any(~np.isnan(alpha)) else "p"
    example = 0.1 if level == "alpha" else 0.9
    return [
        (np.isnan(lower) != np.isnan(upper), "lower", "lower and upper must be stated together"),
        (u < U_MIN, "u", f"must be at least {U_MIN:g}; leave it empty if not stated"),
        (lower > upper, "lower", "is above upper; write them the other way round"),
        ((upper >= lower) & (upper - lower < U_MIN), "lower", "the interval has no width"),
        ((p <= 0.0) | (p >= 1.0), level, f"must lie between 0 and 1, such as {example}"),
        ((u_ref < U_MIN) & (u_ref != 0.0), "u_reference", f"must be 0 or at least {U_MIN:g}"),
    ]
