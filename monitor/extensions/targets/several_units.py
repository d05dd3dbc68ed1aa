"""Sensors that stood beside one another: how far apart they are (the EPA's precision, u_bs).

Rules of this file: units belong together if they measure one pollutant and met the same references;
only hours or days in which all of them have an average count, without times only references that
all of them met. Like every figure these stand beside their target, the same at each unit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial, reduce
from typing import Final

import numpy as np

from monitor.core.analysis.common_events import Events, common_set
from monitor.core.columns import Columns
from monitor.core.model import Float
from monitor.core.verdict import Estimate
from monitor.extensions.targets.assessment import FEWEST, Assessment, TargetFigure, in_unit
from monitor.extensions.targets.jackknife import jackknifed
from monitor.extensions.targets.moment_figures import between_scales
from monitor.extensions.targets.period_averages import Averages
from monitor.extensions.targets.regulators import EPA, EU, TargetRange

_NAMES: Final = ("SD", "CV", "u_bs")


def with_precision(
    assessments: Mapping[int, Assessment], windows: Columns, events: Events, *, timed: bool = True
) -> dict[int, Assessment]:
    """Return the assessments of series, by their rows, with the figures of those side by side.

    ``events`` are the occasions of the pairs in ``windows``; without times (not ``timed``) each
    pair is an average.
    """
    alike: dict[tuple[str, str, str], list[int]] = {}
    for row, of in assessments.items():
        if of.figures:
            alike.setdefault((of.question.rules, of.pollutant, of.unit), []).append(row)
    added: dict[int, tuple[TargetFigure, ...]] = {}
    for rows in alike.values():
        together = _together(rows, windows, events)
        table = _common(
            [
                data if timed else _by_event(data, events[windows.series == row])
                for row in together
                if (data := assessments[row].data) is not None
            ]
        )
        if len(together) > 1 and table.shape[1] >= FEWEST:
            added |= dict.fromkeys(together, _figures(assessments[together[0]], table))
    return {
        row: each._replace(figures=(*each.figures, *added.get(row, ())))
        for row, each in assessments.items()
    }


def _together(rows: list[int], windows: Columns, events: Events) -> list[int]:
    """Return those of some series that met the same references, nothing for one alone."""
    if len(rows) < 2:
        return []
    some = np.array(rows)
    chosen = common_set(windows.take(some), events[np.isin(windows.series, some)])
    return [] if chosen is None else [rows[at] for at in chosen.kept.tolist()]


def _by_event(averages: Averages, events: Events) -> Averages:
    """Return averages in the order of their events, of which the last of each counts."""
    numbers, places = np.unique(events[::-1], return_index=True)
    return averages._replace(period=numbers.astype(np.int64), sensor=averages.sensor[::-1][places])


def _common(averages: Sequence[Averages]) -> Float:
    """Return the averages of units in the periods that all of them have (units x periods)."""
    if not averages:
        return np.zeros((0, 0))
    common = reduce(np.intersect1d, [each.period for each in averages])
    return np.stack([each.sensor[np.isin(each.period, common)] for each in averages])


def between_units(table: Float) -> dict[str, Estimate]:
    """Return SD, CV and u_bs of averages (units x periods)."""
    units, n = table.shape
    level = table.mean(axis=0)
    rows = np.stack([((table - level) ** 2).sum(axis=0), level], axis=1)
    ends = np.exp(jackknifed(rows, partial(between_scales, n=n, units=units)))
    return {name: Estimate(*ends[:, at].tolist()) for at, name in enumerate(_NAMES)}


def _figures(of: Assessment, table: Float) -> tuple[TargetFigure, ...]:
    known = between_units(table)
    return tuple(TargetFigure(each, known[each.figure]) for each in _targets(of))


def _targets(of: Assessment) -> list[TargetRange]:
    """Return the targets that concern several units, in the unit of the series."""
    if of.question.rules == "epa":
        targets = [each for each in EPA[of.pollutant].targets if each.aspect == "precision"]
    else:
        limit = EU[of.question.rules][of.pollutant]
        most = TargetRange("between units", "u_bs", at_most=limit.u_between, unit=limit.unit)
        targets = [most] if np.isfinite(limit.u_between) else []
    return [in_unit(each, of.factor) for each in targets]
