"""A block's report on a batch: rows of the table, what the driver needs, counters.

Rules of this file: plain values in msgpack; an undefined number is NaN, never None. The summary
covers the whole block, so that the newest summaries of all blocks describe the fleet.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final, NamedTuple

import msgspec
import numpy as np

from monitor.alerts.transition import PENDING
from monitor.core.diagnosis.fault_reports import FaultReport
from monitor.core.fleet.reference_stations import MeetingPairs, SeriesFacts, Station
from monitor.core.model import Bool, Float, Int
from monitor.core.snapshot.snapshot import Snapshot
from monitor.core.verdict import REFERENCE_STALE, REJECTED_SHARE
from monitor.http.metrics import METRICS
from monitor.journal.store import DeadLetter

STATISTICS: Final = tuple(dict.fromkeys(metric.statistic for metric in METRICS.values()))


# Totals besides those of the intake.
EXPIRED: Final = "expired_unpaired"
CORRECTIONS: Final = "corrections"
TOO_LATE: Final = "too_late"


class Results(NamedTuple):
    """The results of a batch; ``rows`` are the series with messages or changes, of state too.

    ``noted`` are the rows that are not calm, or were not after the previous batch, and all of
    ``rows`` if the :class:`Recipe` has ``medians``. For all rows ``discounted`` is the evidence by
    which a list over the fleet is made and ``rejected`` the share of a sensor's messages.
    ``changed_at`` has the event time of the last change of an alert by row. ``references`` are
    those that may have sensors in other blocks, with their gathered evidence if one of ``rows``
    meets them. ``totals`` count for the life of the block, ``totals_before`` up to this batch.
    """

    snapshot: Snapshot
    rows: Int
    noted: list[int]
    medians: tuple[str, ...]
    firing: Bool
    discounted: Float
    rejected: Float
    changed_at: dict[int, float]
    taken_back: frozenset[int]
    references: list[tuple[Station, MeetingPairs | None]]
    dead_letters: list[DeadLetter]
    totals: dict[str, int]
    totals_before: dict[str, int]
    pairs: int


class SeriesLine(msgspec.Struct, array_like=True):
    """One series; ``statistics`` in the order of :data:`STATISTICS`.

    ``calm`` is as in :class:`.state_sentences.Circumstances`.
    """

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
    calm: str = ""
    right: bool = False


class SeriesReport(msgspec.Struct, array_like=True):
    """A series with an alert, now or one batch ago, as the driver needs it to judge the fleet.

    ``rejected`` and ``uncompared_seconds`` are as in :class:`.state_sentences.Circumstances`;
    ``changed_at`` is NaN if no alert changed; ``medians`` are in the order of the recipe's.
    """

    line: SeriesLine
    fault_report: FaultReport | None
    firing: bool
    discounted: float
    rejected: float
    uncompared_seconds: float
    changed_at: float
    taken_back: bool
    medians: list[float]


class StationEvidence(msgspec.Struct, array_like=True):
    """One block's evidence on a reference; ``pairs`` are of dtype MEETING.

    Their ``series`` is the place in ``series``, the (sensor, quantity) of all that have it;
    ``first`` is about the first of those with pairs.
    """

    quantity: str
    reference: str
    by_id: bool
    series: list[tuple[str, str]]
    first: SeriesFacts
    pairs: bytes


class Summary(msgspec.Struct, array_like=True):
    """The whole block: series by state and by alert, counters for its life, the worst.

    ``totals_before`` are the counters before the batch, ``counted`` the series from which a list
    over the fleet is made; ``references`` are those with sensors here and maybe in other blocks, by
    (quantity, name, whether it has its own name, unit).
    """

    time: float
    states: dict[str, int]
    alerts: dict[str, int]
    totals: dict[str, int]
    totals_before: dict[str, int]
    state_bytes: int
    counted: int
    references: list[tuple[str, str, bool, str]]
    worst: list[SeriesLine]


class ChangedSeries(msgspec.Struct, array_like=True):
    """The series of a block with messages or changes in a batch: rows of the table."""

    time: float
    lines: list[SeriesLine]


class BlockReport(msgspec.Struct, array_like=True):
    """A block's report to the driver on one batch; ``parts`` are of the references met in it."""

    series: list[SeriesReport]
    parts: list[StationEvidence]
    dead_letters: list[DeadLetter]
    summary: Summary


dump: Final = msgspec.msgpack.Encoder(enc_hook=float).encode  # for numpy's numbers
load_report: Final = msgspec.msgpack.Decoder(BlockReport).decode
load_changed: Final = msgspec.msgpack.Decoder(ChangedSeries).decode


def changed(results: Results) -> ChangedSeries:
    """Return the series with messages or changes in a batch."""
    snapshot = results.snapshot
    return ChangedSeries(snapshot.time, series_lines(snapshot, results.rows.tolist()))


def block_report(results: Results, worst: int, state_bytes: int) -> BlockReport:
    """Return the report to the driver; its summary holds the ``worst`` of the calm series."""
    snapshot = results.snapshot
    states = np.array(snapshot.states, dtype=object)
    silent = snapshot.withdrawn & (states == "stale")
    calm = np.ones(states.size, dtype=np.bool_)
    calm[results.noted] = False
    order = np.argsort(-snapshot.evidence, kind="stable")
    summary = Summary(
        time=snapshot.time,
        states=dict(Counter(snapshot.states)),
        alerts={name: int(active.sum()) for name, active in snapshot.alerts.items()},
        totals=results.totals,
        totals_before=results.totals_before,
        state_bytes=state_bytes,
        counted=int((~silent & (snapshot.window_pairs > 0)).sum()),
        references=[(at.quantity, at.reference, at.by_id, at.unit) for at, _ in results.references],
        worst=series_lines(snapshot, order[calm[order]][:worst].tolist()),
    )
    return BlockReport(
        _reports(results),
        [_part(snapshot, at, known) for at, known in results.references if known is not None],
        results.dead_letters,
        summary,
    )


def series_lines(snapshot: Snapshot, rows: Sequence[int]) -> list[SeriesLine]:
    """Return some series of a snapshot."""
    none = np.full(len(snapshot.names), np.nan)
    table = np.array([snapshot.statistics.get(name, none) for name in STATISTICS])
    columns = table.T[rows].tolist() if rows else []
    return [
        SeriesLine(
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
            calm="" if snapshot.calm is None else str(snapshot.calm[row]),
            right=snapshot.right is not None and bool(snapshot.right[row]),
        )
        for row, statistics in zip(rows, columns, strict=True)
    ]


def _reports(results: Results) -> list[SeriesReport]:
    snapshot = results.snapshot
    none = np.full(len(snapshot.names), np.nan)
    medians = [snapshot.statistics.get(name, none) for name in results.medians]
    return [
        SeriesReport(
            line=line,
            fault_report=snapshot.reports.get(row),
            firing=bool(results.firing[row]),
            discounted=float(results.discounted[row]),
            rejected=float(results.rejected[row]) if REJECTED_SHARE in line.alerts else 0.0,
            uncompared_seconds=(
                line.last_reading - line.last_pair if REFERENCE_STALE in line.alerts else 0.0
            ),
            changed_at=results.changed_at.get(row, float("nan")),
            taken_back=row in results.taken_back,
            medians=[float(values[row]) for values in medians],
        )
        for row, line in zip(results.noted, series_lines(snapshot, results.noted), strict=True)
    ]


def _part(snapshot: Snapshot, station: Station, known: MeetingPairs) -> StationEvidence:
    pairs = known.pairs.copy()
    pairs["series"] = np.searchsorted(station.rows, pairs["series"])
    names = (snapshot.names[row] for row in station.rows.tolist())
    return StationEvidence(
        station.quantity,
        station.reference,
        station.by_id,
        [(name.sensor, name.quantity) for name in names],
        known.first,
        pairs.tobytes(),
    )


def states_and_alerts(snapshot: Snapshot) -> list[list[str]]:
    """Return the state of each series and the names of its alerts."""
    words = [[state] for state in snapshot.states]
    for name, active in snapshot.alerts.items():
        for row in np.flatnonzero(active).tolist():
            words[row].append(name)
    return words


def not_calm(snapshot: Snapshot) -> list[int]:
    """Return the rows with a firing or pending alert."""
    mask = np.array([state == PENDING for state in snapshot.states], dtype=np.bool_)
    for active in snapshot.alerts.values():
        mask |= active
    return np.flatnonzero(mask).tolist()
