"""The metrics page: names, help and rendering. One line of ``METRICS`` a metric.

Rules of this file: what has no number is absent, never NaN; a series that stopped keeps its
state and times and loses its numbers; labels are bounded; a page is rendered once and served often.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

import numpy as np
import orjson

from monitor.core.model import Bool, Float
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
        "availability_ratio", "Share of references that came with a usable reading."
    ),
}
STATES: Final = ("unknown", "ok", "pending", "firing", "stale")

_ESCAPES: Final = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})


def escape(text: str) -> str:
    """Return a label's value as the text format wants it; lone surrogates become U+FFFD."""
    return text.translate(_ESCAPES).encode("utf-8", "replace").decode()


class Exposition:
    """Renders snapshots; remembers the names of series, which only grow in number."""

    def __init__(self) -> None:
        self._names: list[SeriesName] = []
        self._labels: list[bytes] = []
        self._heads: dict[str, list[bytes]] = {}

    def render(self, snapshot: Snapshot) -> bytes:
        """Return the part of the page that is about series."""
        self._learn(snapshot.names)
        shown = ~snapshot.withdrawn
        every = np.ones(len(snapshot.names), dtype=np.bool_)
        out: list[bytes] = []
        for name, metric in METRICS.items():
            values = snapshot.statistics.get(metric.statistic)
            if values is not None:
                out += self._family(name, metric.help, values, shown)
        pairs = snapshot.window_pairs.astype(np.float64)
        out += self._family("monitor_window_pairs", "Pairs in the window.", pairs, shown)
        out += self._family(
            "monitor_alert_evidence",
            "Evidence that the sensor is not as right as it says; it fires at the patience.",
            snapshot.evidence,
            shown,
        )
        for what, times in (("reading", snapshot.last_reading), ("pair", snapshot.last_pair)):
            name = f"monitor_series_last_{what}_timestamp_seconds"
            out += self._family(name, f"Event time of the last {what}.", times, every)
        out += self._states(snapshot)
        out += self._alerts(snapshot, shown)
        out += self._infos()
        return b"".join(out)

    def _learn(self, names: Sequence[SeriesName]) -> None:
        if list(names[: len(self._names)]) != self._names:
            self._names, self._labels, self._heads = [], [], {}
        for name in names[len(self._names) :]:
            self._names.append(name)
            labels = f'sensor="{escape(name.sensor)}",quantity="{escape(name.quantity)}"'
            self._labels.append(labels.encode())

    def _family(self, name: str, words: str, values: Float, shown: Bool) -> list[bytes]:
        rows = np.flatnonzero(shown & np.isfinite(values))
        if not rows.size:
            return []
        heads = self._heads.setdefault(name, [])
        start = f"{name}{{".encode()
        heads += [start + labels + b"} " for labels in self._labels[len(heads) :]]
        numbers = orjson.dumps(values[rows], option=orjson.OPT_SERIALIZE_NUMPY)[1:-1].split(b",")
        lines = [heads[row] + number for row, number in zip(rows.tolist(), numbers, strict=True)]
        return [_header(name, words), b"\n".join(lines), b"\n"]

    def _states(self, snapshot: Snapshot) -> list[bytes]:
        lines = [
            b'monitor_series_state{%b,state="%b"} %d\n' % (labels, known.encode(), known == state)
            for labels, state in zip(self._labels, snapshot.states, strict=True)
            for known in STATES
        ]
        return [_header("monitor_series_state", "1 for the state a series is in."), *lines]

    def _alerts(self, snapshot: Snapshot, shown: Bool) -> list[bytes]:
        lines = [
            b'monitor_alert_active{%b,alert="%b"} %d\n' % (labels, alert.encode(), active[row])
            for alert, active in snapshot.alerts.items()
            for row, labels in enumerate(self._labels)
            if shown[row]
        ]
        return [_header("monitor_alert_active", "1 while an alert fires."), *lines] if lines else []

    def _infos(self) -> Iterable[bytes]:
        words = "What a series is: its unit and group; always 1."
        yield _header("monitor_series_info", words)
        for labels, name in zip(self._labels, self._names, strict=True):
            unit, group = escape(name.unit).encode(), escape(name.group).encode()
            yield b'monitor_series_info{%b,unit="%b",group="%b"} 1\n' % (labels, unit, group)


def _header(name: str, words: str) -> bytes:
    return f"# HELP {name} {words}\n# TYPE {name} gauge\n".encode()
