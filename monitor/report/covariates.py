"""Covariates that a user requests by name: columns of a file of pairs, the hour, the level."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from monitor.core.analysis.where import BUILT_IN, Covariate, calibrated_where
from monitor.core.analysis.where_words import where_document
from monitor.core.columns import Columns
from monitor.report.recorded import Recorded

COVARIATES_HELP: Final = (
    "where each sensor is wrong: along the hour of day (hour), the level of the value (level) and "
    "columns of numbers of a file of pairs"
)


def where_of(
    recorded: Recorded, windows: Columns, row: int, names: Sequence[str]
) -> list[dict[str, Any]]:
    """Return where along each of ``names`` the series ``row`` is wrong.

    ``windows`` are all pairs of each series. A name is one of the file's covariates, or one of
    ``BUILT_IN``, which are made from the pairs; hours need times.
    """
    if not names:
        return []
    one, unit, first = windows.take(np.array([row])), recorded.names[row].unit, windows.starts[row]
    kept = {
        name: Covariate(name, numbers[first : first + one.value.size])
        for name, numbers in recorded.covariates.items()
    }
    timed = one if recorded.timed else replace(one, time=np.full(one.time.size, np.nan))
    asked = (kept[name] if name in kept else BUILT_IN[name](timed, unit) for name in names)
    share = recorded.rules[row].systematic.share_of(one.u, one.u_ref).max(keepdims=True)
    return [
        where_document(calibrated_where(one, each, asked=len(names), systematic=share), unit)
        for each in asked
    ]


def covariates_of(told: str) -> tuple[str, ...]:
    """Return the names of covariates in an option's text, each once, in lower case."""
    return tuple(dict.fromkeys(each.strip().lower() for each in told.split(",") if each.strip()))


def in_file(names: Sequence[str]) -> list[str]:
    """Return the names that a file must have a column for."""
    return [name for name in names if name not in BUILT_IN]
