"""The metrics page: names, help and rendering. One line of ``METRICS`` a metric.

Rules of this file: what has no number is absent, never NaN; a series that stopped keeps its
state and times and loses its numbers; labels are bounded; a page is rendered once and served often.
A family's text but for its numbers is kept as one template with a gap a line, made anew only when
other series have a number: a page costs one pass of writing numbers and one of filling gaps.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import orjson

from monitor.core.model import Bool
from monitor.core.snapshot import SeriesName, Snapshot


class Metric(NamedTuple):
    """A gauge with one number a series: the statistic that fills it, and what it tells."""

    statistic: str
    help: str


def _score(name: str, words: str) -> dict[str, Metric]:
    return {
        f"monitor_score_{name}_mean": Metric(
            f"score_{name}_mean", f"Mean {words} over the window; lower is better."
        ),
        f"monitor_score_{name}_median": Metric(
            f"score_{name}_median", f"Median {words} over the window; lower is better."
        ),
    }


def _ratio(name: str, words: str) -> dict[str, Metric]:
    return {
        f"monitor_score_{name}_expected_ratio": Metric(
            f"score_{name}_expected_ratio",
            f"Mean {words} over the one the sensor's own claim predicts; 1 keeps the claim.",
        )
    }


METRICS: Final[dict[str, Metric]] = {
    **_score("crps", "CRPS in the unit of the quantity"),
    **_ratio("crps", "CRPS"),
    "monitor_score_crps_stated_mean": Metric(
        "score_crps_stated_mean",
        "Mean CRPS of the quantiles or ensembles themselves, where a sensor states them.",
    ),
    **_score("quadratic", "quadratic score (Brier, Martin et al.) in 1/unit"),
    **_ratio("quadratic", "quadratic score"),
    **_score("interval", "interval score in the unit of the quantity"),
    **_ratio("interval", "interval score"),
    **_score("norm", "norm score, half of z squared plus log u"),
    "monitor_calibration_bias": Metric(
        "calibration_bias", "Mean error, value less reference, in the unit of the quantity."
    ),
    "monitor_calibration_zms": Metric(
        "calibration_zms", "Mean of z squared; 1 where the stated uncertainty is right."
    ),
    "monitor_calibration_zms_lower": Metric(
        "calibration_zms_lower", "Lower end of the 95 % interval of ZMS."
    ),
    "monitor_calibration_zms_upper": Metric(
        "calibration_zms_upper", "Upper end of the 95 % interval of ZMS."
    ),
    "monitor_calibration_zms_zeta": Metric(
        "calibration_zms_zeta", "Where 1 lies in the interval of ZMS; within -1 and 1 is inside."
    ),
    "monitor_calibration_rce": Metric(
        "calibration_rce", "Relative calibration error, 1 - RMSE/RMV; 0 is right."
    ),
    "monitor_calibration_nll": Metric("calibration_nll", "Mean negative log likelihood."),
    "monitor_calibration_ence": Metric(
        "calibration_ence", "Mean relative calibration error in ten bins of u; compare only."
    ),
    "monitor_calibration_coverage_ratio": Metric(
        "calibration_coverage_ratio", "Share of stated intervals that hold the reference."
    ),
    "monitor_calibration_z_lag1": Metric(
        "calibration_z_lag1", "Autocorrelation of z from one pair to the next."
    ),
    "monitor_calibration_u_ref_ratio": Metric(
        "calibration_u_ref_ratio",
        "Uncertainty of reference and pairing over the sensor's; above 1/3 it blurs the verdict.",
    ),
    "monitor_ucc_auucc": Metric(
        "ucc_auucc", "Area under the uncertainty characteristics curve, in the quantity's unit."
    ),
    "monitor_ucc_gain_ratio": Metric(
        "ucc_gain_ratio", "How much smaller that area is than for a constant uncertainty."
    ),
    "monitor_ucc_scale_optimal": Metric(
        "ucc_scale_optimal", "Factor on the stated uncertainty that would cost least."
    ),
    "monitor_window_pairs_effective": Metric(
        "window_pairs_effective", "Pairs in the window, less what autocorrelation takes."
    ),
    "monitor_availability_ratio": Metric(
        "availability_ratio",
        "Share of the references held that came with a usable reading, since its first one.",
    ),
}
OTHERS: Final[dict[str, str]] = {
    "monitor_window_pairs": "Pairs in the window.",
    "monitor_alert_evidence": (
        "Evidence that the sensor is not as right as it says; it fires at the patience."
    ),
    "monitor_series_last_reading_timestamp_seconds": "Event time of the last reading.",
    "monitor_series_last_pair_timestamp_seconds": "Event time of the last pair.",
    "monitor_series_state": "1 for the state a series is in.",
    "monitor_alert_active": "1 while an alert fires.",
    "monitor_alert_page": (
        "1 while the whole fleet's evidence says that an alert of the series is no false one."
    ),
    "monitor_reference_suspect": "1 for a reference that its sensors agree is off.",
    "monitor_reference_bias": (
        "By how much a suspect reference reads high, in the unit of the quantity."
    ),
    "monitor_series_info": "What a series is: its unit and group; always 1.",
}
STATES: Final = ("unknown", "ok", "pending", "firing", "stale")

_ESCAPES: Final = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})

_Numbers = np.ndarray[Any, np.dtype[Any]]


class _Column(NamedTuple):
    """One number a series, where ``shown``; ``label`` is what its lines have besides."""

    values: _Numbers
    shown: Bool
    label: bytes = b""


class _Template(NamedTuple):
    """The lines of the series ``rows`` (one byte each) with a gap for each number."""

    rows: bytes
    lines: bytes


def escape(text: str) -> str:
    """Return a label's value as the text format wants it; lone surrogates become U+FFFD."""
    return text.translate(_ESCAPES).encode("utf-8", "replace").decode()


class Exposition:
    """Renders snapshots; remembers the names of series, which only grow in number."""

    def __init__(self) -> None:
        self._names: list[SeriesName] = []
        self._labels: list[bytes] = []
        self._infos: list[bytes] = []
        self._templates: dict[tuple[str, bytes], _Template] = {}

    def render(self, snapshot: Snapshot) -> bytes:
        """Return the part of the page that is about series."""
        self._learn(snapshot.names)
        page: list[bytes] = []
        for name, metric in METRICS.items():
            values = snapshot.statistics.get(metric.statistic)
            if values is not None:
                page += self._family(name, metric.help, [_Column(values, ~snapshot.withdrawn)])
        for name, columns in _others(snapshot).items():
            page += self._family(name, OTHERS[name], columns)
        page += _references(snapshot)
        if self._infos:
            page += [_header("monitor_series_info", OTHERS["monitor_series_info"]), *self._infos]
        return b"".join(page)

    def _learn(self, names: Sequence[SeriesName]) -> None:
        """Make the labels of series that are new, or of all if they are others than before."""
        if list(names) == self._names:
            return
        known = len(self._names)
        if list(names[:known]) != self._names:
            self._names, self._labels, self._infos, known = [], [], [], 0
            self._templates.clear()
        for name in names[known:]:
            self._names.append(name)
            labels = f'sensor="{escape(name.sensor)}",quantity="{escape(name.quantity)}"'
            info = f'{labels},unit="{escape(name.unit)}",group="{escape(name.group)}"'
            self._labels.append(labels.encode())
            self._infos.append(f"monitor_series_info{{{info}}} 1\n".encode())

    def _family(self, name: str, words: str, columns: Iterable[_Column]) -> list[bytes]:
        blocks = [block for column in columns if (block := self._block(name, column))]
        return [_header(name, words), *blocks] if blocks else []

    def _block(self, name: str, column: _Column) -> bytes:
        """Return the lines of one column, without those that have no number."""
        rows = column.shown & np.isfinite(column.values)
        if not rows.any():
            return b""
        key, where = (name, column.label), rows.tobytes()
        template = self._templates.get(key)
        if template is None or template.rows != where:
            template = self._templates[key] = _Template(where, self._gaps(name, column.label, rows))
        numbers = orjson.dumps(column.values[rows], option=orjson.OPT_SERIALIZE_NUMPY)
        return template.lines % tuple(numbers[1:-1].split(b","))

    def _gaps(self, name: str, label: bytes, rows: Bool) -> bytes:
        start, end = f"{name}{{".encode(), label.replace(b"%", b"%%") + b"} %b\n"
        labels = (self._labels[row] for row in np.flatnonzero(rows).tolist())
        return b"".join([start + each.replace(b"%", b"%%") + end for each in labels])


def _others(snapshot: Snapshot) -> dict[str, list[_Column]]:
    """Return the columns of the metrics that are no statistics."""
    shown, every = ~snapshot.withdrawn, np.ones(len(snapshot.names), dtype=np.bool_)
    states = np.array(snapshot.states, dtype=np.str_)
    # A series that is not compared any more loses its numbers and keeps its alerts.
    told, paged = shown | snapshot.alerts.get("reference_stale", ~every), snapshot.paged
    return {
        "monitor_window_pairs": [_Column(snapshot.window_pairs, shown)],
        "monitor_alert_evidence": [_Column(snapshot.evidence, shown)],
        "monitor_series_last_reading_timestamp_seconds": [_Column(snapshot.last_reading, every)],
        "monitor_series_last_pair_timestamp_seconds": [_Column(snapshot.last_pair, every)],
        "monitor_series_state": [
            _Column((states == state).view(np.uint8), every, b',state="%b"' % state.encode())
            for state in STATES
        ],
        "monitor_alert_active": [
            _Column(active.astype(np.uint8), told, b',alert="%b"' % escape(alert).encode())
            for alert, active in snapshot.alerts.items()
        ],
        "monitor_alert_page": [] if paged is None else [_Column(paged.astype(np.uint8), told)],
    }


def _references(snapshot: Snapshot) -> list[bytes]:
    """Return the lines of references that look wrong."""
    page: list[bytes] = []
    for name in ("monitor_reference_suspect", "monitor_reference_bias"):
        lines = []
        for each in snapshot.suspects:
            labels = f'reference="{escape(each.reference)}",quantity="{escape(each.quantity)}"'
            number = 1.0 if name.endswith("suspect") else each.estimate.value
            lines.append(f"{name}{{{labels}}} {number!r}\n".encode())
        page += [_header(name, OTHERS[name]), *lines] if lines else []
    return page


def _header(name: str, words: str) -> bytes:
    return f"# HELP {name} {words}\n# TYPE {name} gauge\n".encode()
