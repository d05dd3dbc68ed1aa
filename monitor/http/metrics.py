"""The metrics of series: names, help and rendering.

An undefined number is absent, never NaN. A series that stopped keeps its state and times and loses
its numbers. Labels are bounded.

A family's lines are kept in pieces of a few series, each with a template that has a gap for every
number. The next snapshot costs a comparison of columns; only pieces in which a number changed are
written again, and a template only when the set of series with a number changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, Final, NamedTuple

import msgspec
import numpy as np

from monitor.core.model import Bool, Int
from monitor.core.registry import SeriesName
from monitor.core.scores.statistics import live_metrics
from monitor.core.snapshot.snapshot import STATE_MEANINGS, Snapshot
from monitor.core.verdict import FAULT, FAULTS, fault_estimate
from monitor.http.text_format import Family, escape, family_header, labelled, render


class Metric(NamedTuple):
    """A gauge with one number per series: the statistic behind it, and its help."""

    statistic: str
    help: str


METRICS: Final[dict[str, Metric]] = {
    f"monitor_{name}": Metric(name, words) for name, words in live_metrics().items()
}
OTHERS: Final[dict[str, str]] = {
    "monitor_window_pairs": "How many pairs figures and sentence are of.",
    "monitor_alert_evidence": (
        "Evidence that the sensor is not as right as it says; the alert fires when it reaches "
        "alerts.patience."
    ),
    "monitor_series_last_reading_timestamp_seconds": "Event time of the last reading.",
    "monitor_series_last_pair_timestamp_seconds": "Event time of the last pair.",
    "monitor_series_state": "1 for the state a series is in.",
    "monitor_alert_active": "1 while an alert fires.",
    "monitor_fault_estimate": (
        "How large the fault of a verdict is, in the unit of the fault: the number that the "
        "sentence and the alerts state."
    ),
    "monitor_fault_estimate_lower": "Lower end of that number's 95 % interval.",
    "monitor_fault_estimate_upper": "Upper end of that number's 95 % interval.",
    "monitor_alert_page": (
        "1 while the evidence of the whole fleet is strong enough to page a person; on average, "
        "at most a share fleet.q of these series is honest."
    ),
    "monitor_reference_suspect": (
        "1 for a reference that its sensors agree is wrong: off, noisy, stuck, "
        "with a gain or a wrong clock."
    ),
    "monitor_reference_bias": (
        "By how much a reference that looks off reads high, in the unit of the quantity."
    ),
    "monitor_series_info": "What a series is: its unit and group; site, and severity "
    "where it is critical, as settings give them; always 1.",
}
# Those of the above that alerting rules and a first look need: `http.metrics: essential`.
ESSENTIAL: Final = frozenset(
    (
        *("monitor_calibration_bias", "monitor_calibration_zms"),
        *("monitor_calibration_zms_lower", "monitor_calibration_zms_upper"),
        *("monitor_score_crps_mean", "monitor_score_crps_expected_ratio"),
        *("monitor_score_quadratic_expected_ratio", "monitor_window_pairs_effective"),
        *("monitor_error_now", "monitor_drift_per_day", "monitor_due_seconds"),
        *("monitor_fault_estimate", "monitor_fault_estimate_lower", "monitor_fault_estimate_upper"),
        *("monitor_fault_since_timestamp_seconds", "monitor_window_pairs"),
        "monitor_series_last_reading_timestamp_seconds",
        "monitor_series_last_pair_timestamp_seconds",
        *("monitor_series_state", "monitor_alert_active", "monitor_alert_page"),
        *("monitor_reference_suspect", "monitor_reference_bias", "monitor_series_info"),
    )
)
STATES: Final = tuple(STATE_MEANINGS)
_ESTIMATES: Final = tuple(name for name in OTHERS if name.startswith("monitor_fault_estimate"))

_Numbers = np.ndarray[Any, np.dtype[Any]]
_PIECE: Final = 64  # series whose lines are written together
_PIECES_AT_ONCE: Final = 32


class _Column(NamedTuple):
    """One number per series, where ``shown``; ``label`` is the extra label of its lines."""

    values: _Numbers
    shown: Bool
    label: bytes = b""


class _Block:
    """State: the lines of one column, in pieces, and the numbers they were written from."""

    def __init__(self, name: str, label: bytes) -> None:
        self._start: Final = f"{name}{{".encode()
        self._end: Final = label.replace(b"%", b"%%") + b"} %b\n"
        self._bits = np.zeros(0, np.uint8)
        self._rows = np.zeros(0, np.bool_)
        self._stale = np.zeros(0, np.bool_)
        self._bare = np.zeros(0, np.bool_)  # without a template of the present rows
        self._templates: list[bytes] = []
        self._lines: list[bytes] = []

    def write(self, values: _Numbers, rows: Bool, labels: Sequence[bytes]) -> Iterator[list[bytes]]:
        """Update the lines of ``rows`` in steps; the last step has all of them."""
        self._compare(values, rows)
        pieces = np.flatnonzero(self._stale)
        counts = np.add.reduceat(rows, np.arange(0, rows.size, _PIECE), dtype=np.int64)
        for at in range(0, pieces.size, _PIECES_AT_ONCE):
            some = pieces[at : at + _PIECES_AT_ONCE]
            self._write(some, counts[some].tolist(), values, labels)
            yield []
        yield self._lines.copy()

    def _compare(self, values: _Numbers, rows: Bool) -> None:
        """Find the pieces in which a number, or the set of series that have one, has changed."""
        bits = values.view(f"u{values.itemsize}")
        starts = np.arange(0, rows.size, _PIECE)
        more = rows.size - self._rows.size
        if more:
            self._rows = np.append(self._rows, np.zeros(more, np.bool_))
            self._bits = np.append(self._bits.astype(bits.dtype), np.zeros(more, bits.dtype))
            pieces = starts.size - self._stale.size
            self._stale = np.append(self._stale, np.zeros(pieces, np.bool_))
            self._bare = np.append(self._bare, np.zeros(pieces, np.bool_))
            self._templates += [b""] * pieces
            self._lines += [b""] * pieces
        others = rows != self._rows
        self._bare |= np.logical_or.reduceat(others, starts)
        self._stale |= np.logical_or.reduceat(others | (rows & (bits != self._bits)), starts)
        self._rows, self._bits = rows, bits

    def _write(
        self, pieces: Int, counts: Sequence[int], values: _Numbers, labels: Sequence[bytes]
    ) -> None:
        places = (pieces[:, None] * _PIECE + np.arange(_PIECE)).ravel()
        places = places[: np.searchsorted(places, self._rows.size)]
        shown = values[places[self._rows[places]]]
        numbers = msgspec.json.encode(shown.tolist())[1:-1].split(b",")
        at = 0
        for piece, count in zip(pieces.tolist(), counts, strict=True):
            if self._bare[piece]:
                self._templates[piece] = self._template(piece, labels)
                self._bare[piece] = False
            self._lines[piece] = self._templates[piece] % tuple(numbers[at : at + count])
            at += count
        self._stale[pieces] = False

    def _template(self, piece: int, labels: Sequence[bytes]) -> bytes:
        first = piece * _PIECE
        rows = np.flatnonzero(self._rows[first : first + _PIECE]) + first
        gaps = (labels[row].replace(b"%", b"%%") for row in rows.tolist())
        return b"".join([self._start + each + self._end for each in gaps])


class Exposition:
    """Renders snapshots; remembers the names of series, which only increase, and their lines."""

    def __init__(self, *, essential: bool = False) -> None:
        """With ``essential`` only those of :data:`ESSENTIAL`, and only the state that applies."""
        self._essential: Final = essential
        self._names: tuple[SeriesName, ...] = ()
        self._labels: list[bytes] = []
        self._infos: list[bytes] = []
        self._blocks: dict[tuple[str, bytes], _Block] = {}

    def render(self, snapshot: Snapshot) -> bytes:
        """Return the part of the page that is about series."""
        return b"".join(chain.from_iterable(self.parts(snapshot)))

    def parts(self, snapshot: Snapshot) -> Iterator[list[bytes]]:
        """Yield the same in parts, each after a bounded piece of work; some parts are empty."""
        self._learn(snapshot.names)
        for name, words, columns in series_families(snapshot, essential=self._essential):
            first = [family_header(name, words)]
            for column in columns:
                rows = column.shown & np.isfinite(column.values)
                if rows.any():
                    yield first
                    first = []
                    block = self._blocks.setdefault(
                        (name, column.label), _Block(name, column.label)
                    )
                    yield from block.write(column.values, rows, self._labels)
        yield [render(reference_families(snapshot))]
        if self._infos:
            infos = self._infos
            if snapshot.gone:
                infos = [info for row, info in enumerate(infos) if row not in snapshot.gone]
            yield [family_header("monitor_series_info", OTHERS["monitor_series_info"]), *infos]

    def _learn(self, names: tuple[SeriesName, ...]) -> None:
        """Make the labels of new series, or of all if they differ from before."""
        if names is self._names:
            return
        known = len(self._names)
        if names[:known] != self._names:
            self._labels, self._infos, known = [], [], 0
            self._blocks.clear()
        self._names = names
        for name in names[known:]:
            labels = labelled({"sensor": name.sensor, "quantity": name.quantity})
            shown = {"unit": name.unit, "group": name.group}
            shown |= {key: of for key in ("site", "severity") if (of := getattr(name, key))}
            info = f"{labels},{labelled(shown)}"
            self._labels.append(labels.encode())
            self._infos.append(f"monitor_series_info{{{info}}} 1\n".encode())


def metrics_of(snapshot: Snapshot) -> Mapping[str, Metric]:
    """Return the metrics that show statistics, with those that extensions add."""
    return METRICS | {
        f"monitor_{name}": Metric(name, words) for name, words in snapshot.helps.items()
    }


def series_families(
    snapshot: Snapshot, *, essential: bool
) -> Iterator[tuple[str, str, Iterable[_Column]]]:
    """Yield name, help and columns of each metric; columns are made on demand."""
    for name, words, columns in _families(snapshot, essential=essential):
        if not essential or name in ESSENTIAL:
            yield name, words, columns


def _families(
    snapshot: Snapshot, *, essential: bool
) -> Iterator[tuple[str, str, Iterable[_Column]]]:
    shown, every = ~snapshot.withdrawn, snapshot.present()
    for name, metric in metrics_of(snapshot).items():
        values = snapshot.statistics.get(metric.statistic)
        if values is not None:
            yield name, metric.help, [_Column(values, shown)]
    # A series that stopped, or is no longer compared, loses its numbers and keeps its alerts.
    reported, paged = shown.copy(), snapshot.paged
    for active in snapshot.alerts.values():
        reported |= every & active
    others: dict[str, Iterable[_Column]] = {
        "monitor_window_pairs": [_Column(snapshot.window_pairs, shown)],
        "monitor_alert_evidence": [_Column(snapshot.evidence, shown)],
        "monitor_series_last_reading_timestamp_seconds": [_Column(snapshot.last_reading, every)],
        "monitor_series_last_pair_timestamp_seconds": [_Column(snapshot.last_pair, every)],
        "monitor_series_state": _states(snapshot, every, essential=essential),
        "monitor_alert_active": (
            _Column(
                active.view(np.uint8),
                reported,
                b',alert="%b"' % escape(alert).encode(),
            )
            for alert, active in snapshot.alerts.items()
        ),
        **_estimates(snapshot, reported),
        "monitor_alert_page": [] if paged is None else [_Column(paged.view(np.uint8), reported)],
    }
    for name, columns in others.items():
        yield name, OTHERS[name], columns


def _estimates(snapshot: Snapshot, shown: Bool) -> dict[str, list[_Column]]:
    """Return how large faults are, a column a fault: only series that have it have a sample."""
    names, faults = (*FAULTS,), np.full(shown.size, -1)
    numbers = np.full((len(_ESTIMATES), shown.size), np.nan)
    for row, report in snapshot.reports.items():
        if report.verdict.state == FAULT:
            faults[row] = names.index(report.verdict.fault)
            numbers[:, row] = fault_estimate(report.verdict)
    present = [(at, b',fault="%b"' % names[at].encode()) for at in np.unique(faults[faults >= 0])]
    return {
        name: [_Column(values, shown & (faults == at), label) for at, label in present]
        for name, values in zip(_ESTIMATES, numbers, strict=True)
    }


def _states(snapshot: Snapshot, every: Bool, *, essential: bool) -> Iterator[_Column]:
    """Yield a column per state, 1 for the series in it; with ``essential`` only those."""
    states = np.array(snapshot.states, dtype=object)
    for state in STATES:
        known = np.asarray(states == state, dtype=np.bool_)
        shown = every & known if essential else every
        yield _Column(known.view(np.uint8), shown, b',state="%b"' % state.encode())


def reference_families(snapshot: Snapshot) -> Iterator[Family]:
    """Yield the metrics of references that look wrong, nothing if there are none."""
    suspects = snapshot.suspects
    if not suspects:
        return
    off = [each for each in suspects if each.nature.kind == "offset"]
    numbers: dict[str, dict[tuple[str, ...], float]] = {
        "monitor_reference_suspect": {
            (each.reference, each.quantity, each.unit): 1.0 for each in suspects
        },
        "monitor_reference_bias": {
            (each.reference, each.quantity, each.unit): each.estimate.value for each in off
        },
    }
    for name, samples in numbers.items():
        yield Family(name, "gauge", OTHERS[name], ("reference", "quantity", "unit"), samples)
