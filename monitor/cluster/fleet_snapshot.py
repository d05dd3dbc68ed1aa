"""A snapshot of the fleet from lines of blocks and the driver's verdicts on them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from monitor.cluster.fleet_references import Found, Name
from monitor.cluster.results import STATISTICS, Line, SeriesReport
from monitor.core.fleet.suspect_references import Suspect
from monitor.core.registry import SeriesName
from monitor.core.snapshot.snapshot import Snapshot


class SeriesVerdict(NamedTuple):
    """The alerts and the sentence of a series as the driver knows them; ``page``: call a person."""

    alerts: list[str]
    sentence: str
    page: bool


def snapshot_of(
    time: float,
    lines: Sequence[Line],
    verdicts: Sequence[SeriesVerdict],
    alerts: Sequence[str],
    suspects: Sequence[Found],
) -> Snapshot:
    """Return the snapshot of some series, with the names of all ``alerts``."""
    table = np.array([line.statistics for line in lines], dtype=np.float64)
    table = table.reshape(len(lines), len(STATISTICS)).T
    rows = {(line.sensor, line.quantity): row for row, line in enumerate(lines)}
    return Snapshot(
        time=time,
        names=tuple(series_name(line) for line in lines),
        statistics=dict(zip(STATISTICS, table, strict=True)),
        states=tuple(line.state for line in lines),
        alerts={
            name: np.array([name in each.alerts for each in verdicts], dtype=np.bool_)
            for name in alerts
        },
        evidence=np.array([line.evidence for line in lines]),
        sentences=tuple(each.sentence for each in verdicts),
        advice=tuple(line.advice for line in lines),
        window_pairs=np.array([line.window_pairs for line in lines], dtype=np.int64),
        last_reading=np.array([line.last_reading for line in lines]),
        last_pair=np.array([line.last_pair for line in lines]),
        withdrawn=np.array([line.withdrawn for line in lines], dtype=np.bool_),
        paged=np.array([each.page for each in verdicts], dtype=np.bool_),
        suspects=tuple(suspect_of(each, rows) for each in suspects),
    )


def series_name(line: Line) -> SeriesName:
    """Return the name of the series of a line."""
    return SeriesName(line.sensor, line.quantity, line.unit, line.group)


def calm_report(line: Line) -> SeriesReport:
    """Return the report of a series that its block did not report."""
    return SeriesReport(
        line,
        fault_report=None,
        firing=False,
        discounted=0.0,
        rejected=0.0,
        uncompared_seconds=0.0,
        changed_at=float("nan"),
        taken_back=False,
        medians=[],
    )


def suspicions(suspects: Sequence[Found]) -> dict[Name, str]:
    """Return the sentence on its reference for each series that meets a suspect one."""
    return {name: suspect_of(each, {}).sentence for each in suspects for name in each.series}


def suspect_of(found: Found, rows: Mapping[Name, Any]) -> Suspect:
    """Return a suspect reference; ``rows`` are those of the series in a snapshot."""
    quantity, reference, _ = found.key
    return Suspect(
        reference,
        quantity,
        found.unit,
        found.estimate,
        found.since,
        found.sensors,
        found.agree,
        tuple(rows[name] for name in found.series if name in rows),
    )
