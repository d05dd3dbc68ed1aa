"""A fleet's page of metrics, and the same page by prometheus_client.

Both render the same samples with the same labels from the same columns: ours by ``Exposition``,
the other by ``generate_latest`` of a custom collector.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.registry import Collector

from monitor.core.registry import SeriesName
from monitor.core.snapshot.snapshot import Snapshot
from monitor.http.metrics import METRICS, OTHERS, STATES

ALERTS = ("offset", "understated", "overstated", "outliers")


def fleet(series: int) -> Snapshot:
    random = np.random.default_rng(1)
    return Snapshot(
        time=0.0,
        names=tuple(SeriesName(f"cart-{row:06}", "mass", "kg", "yard") for row in range(series)),
        statistics={metric.statistic: random.normal(size=series) for metric in METRICS.values()},
        states=tuple(random.choice(STATES[:-1], size=series).tolist()),
        alerts={alert: random.random(series) < 0.01 for alert in ALERTS},
        evidence=random.lognormal(size=series),
        sentences=("",) * series,
        advice=("",) * series,
        window_pairs=random.integers(1, 500, series),
        last_reading=random.random(series) * 1e9,
        last_pair=random.random(series) * 1e9,
        withdrawn=np.zeros(series, dtype=np.bool_),
    )


def moved(now: Snapshot) -> Snapshot:
    """Return the fleet a publish interval later: every statistic is another number."""
    random = np.random.default_rng()
    later = {
        name: values + random.normal(size=values.size) for name, values in now.statistics.items()
    }
    return replace(now, statistics=later, evidence=now.evidence + random.random(now.evidence.size))


class Reference(Collector):
    """The same page by prometheus_client."""

    def __init__(self, now: Snapshot) -> None:
        self.now = now
        self._keys = [[name.sensor, name.quantity] for name in now.names]

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Yield the families in our order."""
        now = self.now
        for name, metric in METRICS.items():
            yield self._plain(name, metric.help, now.statistics[metric.statistic])
        lasts = (now.last_reading, now.last_pair)
        plain = dict(zip(OTHERS, (now.window_pairs, now.evidence, *lasts), strict=False))
        for name, values in plain.items():
            yield self._plain(name, OTHERS[name], values)
        yield self._labelled(
            "state", "monitor_series_state", [(s, [t == s for t in now.states]) for s in STATES]
        )
        yield self._labelled(
            "alert", "monitor_alert_active", [(a, v.tolist()) for a, v in now.alerts.items()]
        )
        labels = ["sensor", "quantity", "unit", "group"]
        info = GaugeMetricFamily(
            "monitor_series_info", OTHERS["monitor_series_info"], labels=labels
        )
        for key, name in zip(self._keys, now.names, strict=True):
            info.add_metric([*key, name.unit, name.group], 1)
        yield info

    def _plain(self, name: str, words: str, values: np.ndarray) -> GaugeMetricFamily:
        family = GaugeMetricFamily(name, words, labels=["sensor", "quantity"])
        for key, value in zip(self._keys, values.tolist(), strict=True):
            family.add_metric(key, value)
        return family

    def _labelled(
        self, label: str, name: str, columns: list[tuple[str, list[bool]]]
    ) -> GaugeMetricFamily:
        family = GaugeMetricFamily(name, OTHERS[name], labels=["sensor", "quantity", label])
        for word, values in columns:
            for key, value in zip(self._keys, values, strict=True):
                family.add_metric([*key, word], float(value))
        return family


def samples(page: bytes) -> dict[tuple[str, ...], float]:
    """Return the numbers of a page by metric and labels."""
    return {
        (each.name, *map(str, sorted(each.labels.items()))): each.value
        for family in text_string_to_metric_families(page.decode())
        for each in family.samples
    }
