"""What a block says of a batch, as one value: rows of the table, alerts, a summary.

Rules of this file: plain values in msgpack; no number is None, one that is undefined is NaN. The
summary is of the whole block, so that the newest of each block together are the fleet.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec
import numpy as np

from monitor.core.model import Bool
from monitor.core.snapshot import SeriesName, Snapshot
from monitor.engine.block import Results
from monitor.exposition import METRICS
from monitor.transition import Transition

STATISTICS: Final = tuple(dict.fromkeys(metric.statistic for metric in METRICS.values()))
ALERTING_MAX: Final = 1000  # series of one block that a summary names


class Line(msgspec.Struct, array_like=True):
    """What is known of one series; ``statistics`` in the order of :data:`STATISTICS`."""

    sensor: str
    quantity: str
    unit: str
    group: str
    state: str
    alerts: list[str]
    evidence: float
    sentence: str
    advice: str
    window_pairs: int
    last_reading: float
    last_pair: float
    withdrawn: bool
    statistics: list[float]


class Summary(msgspec.Struct, array_like=True):
    """The whole block: series by state and by alert, counters since it began, who stands out."""

    time: float
    states: dict[str, int]
    alerts: dict[str, int]
    totals: dict[str, int]
    too_late: int
    state_bytes: int
    shown: list[Line]


class Said(msgspec.Struct, array_like=True):
    """What a block says of one batch."""

    time: float
    lines: list[Line]
    transitions: list[Transition]
    summary: Summary


dump: Final = msgspec.msgpack.Encoder().encode
_load: Final = msgspec.msgpack.Decoder(Said).decode


def load(body: bytes) -> Said:
    """Return what was dumped."""
    return _load(body)


def said(results: Results, worst: int, state_bytes: int) -> Said:
    """Return what is to be said of a batch; the summary shows the ``worst`` and what alerts."""
    snapshot = results.snapshot
    count = len(snapshot.names)
    alerting = np.zeros(count, dtype=np.bool_)
    for active in snapshot.alerts.values():
        alerting |= active
    order = np.lexsort((-snapshot.evidence[:count], ~alerting))
    shown = order[: min(int(alerting.sum()), ALERTING_MAX) + worst]
    summary = Summary(
        time=snapshot.time,
        states=dict(Counter(snapshot.states)),
        alerts={name: int(active.sum()) for name, active in snapshot.alerts.items()},
        totals=results.totals,
        too_late=results.too_late,
        state_bytes=state_bytes,
        shown=lines(snapshot, shown.tolist()),
    )
    changed = lines(snapshot, results.rows.tolist())
    return Said(snapshot.time, changed, results.transitions, summary)


def lines(snapshot: Snapshot, rows: Sequence[int]) -> list[Line]:
    """Return some series of a snapshot."""
    none = np.full(len(snapshot.names), np.nan)
    table = np.array([snapshot.statistics.get(name, none) for name in STATISTICS])
    columns = table.T[rows].tolist() if rows else []
    return [
        Line(
            sensor=snapshot.names[row].sensor,
            quantity=snapshot.names[row].quantity,
            unit=snapshot.names[row].unit,
            group=snapshot.names[row].group,
            state=snapshot.states[row],
            alerts=[name for name, active in snapshot.alerts.items() if active[row]],
            evidence=float(snapshot.evidence[row]),
            sentence=snapshot.sentences[row],
            advice=snapshot.advice[row],
            window_pairs=int(snapshot.window_pairs[row]),
            last_reading=float(snapshot.last_reading[row]),
            last_pair=float(snapshot.last_pair[row]),
            withdrawn=bool(snapshot.withdrawn[row]),
            statistics=statistics,
        )
        for row, statistics in zip(rows, columns, strict=True)
    ]


class Fleet:
    """State: the newest summary of each block that has said something since the driver began."""

    def __init__(self, worst: int) -> None:
        self._worst: Final = worst
        self._blocks: dict[int, Summary] = {}

    def take(self, block: int, summary: Summary) -> None:
        """Take the summary of a block in place of the one before."""
        self._blocks[block] = summary

    def __len__(self) -> int:
        return len(self._blocks)

    def counted(self, name: str) -> Counter[str]:
        """Return the sum over blocks of ``states``, ``alerts`` or ``totals``."""
        found: Counter[str] = Counter()
        for summary in self._blocks.values():
            found.update(getattr(summary, name))
        return found

    def total(self, name: str) -> int:
        """Return the sum over blocks of ``too_late`` or ``state_bytes``."""
        return sum(getattr(summary, name) for summary in self._blocks.values())

    def snapshot(self) -> Snapshot | None:
        """Return the series that alert and the worst of the others, None if there is no series."""
        every = [line for summary in self._blocks.values() for line in summary.shown]
        if not every:
            return None
        every.sort(key=lambda line: (not line.alerts, -line.evidence, line.sensor, line.quantity))
        alerting = sum(1 for line in every if line.alerts)
        time = max(summary.time for summary in self._blocks.values())
        names = {name for summary in self._blocks.values() for name in summary.alerts}
        return snapshot_of(time, every[: alerting + self._worst], sorted(names))


def snapshot_of(time: float, shown: Sequence[Line], alerts: Iterable[str]) -> Snapshot:
    """Return lines as a snapshot, for :class:`monitor.exposition.Exposition`."""
    table = np.array([line.statistics for line in shown], dtype=np.float64).T
    active: Mapping[str, Bool] = {
        name: np.array([name in line.alerts for line in shown], dtype=np.bool_) for name in alerts
    }
    return Snapshot(
        time=time,
        names=tuple(
            SeriesName(each.sensor, each.quantity, each.unit, each.group) for each in shown
        ),
        statistics=dict(zip(STATISTICS, table, strict=True)),
        states=tuple(line.state for line in shown),
        alerts=active,
        evidence=np.array([line.evidence for line in shown]),
        sentences=tuple(line.sentence for line in shown),
        advice=tuple(line.advice for line in shown),
        window_pairs=np.array([line.window_pairs for line in shown], dtype=np.int64),
        last_reading=np.array([line.last_reading for line in shown]),
        last_pair=np.array([line.last_pair for line in shown]),
        withdrawn=np.array([line.withdrawn for line in shown], dtype=np.bool_),
    )
