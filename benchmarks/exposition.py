"""What a metrics page costs: ours and prometheus_client's, rendered in turn in one run.

    python benchmarks/exposition.py [--million]

Both render the same samples with the same labels from the same columns: ours by ``Exposition``,
the other by ``generate_latest`` of a custom collector. CPU seconds of this process, best of several
turns, numbers new in each turn. The first page, which makes the templates, is told apart.
The goal (x15) stands beside the figure and is no pass mark by itself.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.registry import Collector

from monitor.core.registry import SeriesName
from monitor.core.snapshot.snapshot import Snapshot
from monitor.http.metrics import (
    METRICS,
    OTHERS,
    STATES,
    Exposition,
)

ALERTS = ("offset", "understated", "overstated", "outliers")
Samples = list[tuple[list[str], float]]


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


def cost(work: Callable[[], bytes]) -> float:
    """Return the CPU seconds of one call."""
    begin = time.process_time()
    work()
    return time.process_time() - begin


def samples(page: bytes) -> dict[tuple[str, ...], float]:
    return {
        (each.name, *map(str, sorted(each.labels.items()))): each.value
        for family in text_string_to_metric_families(page.decode())
        for each in family.samples
    }


def compare(series: int, turns: int) -> None:
    now = fleet(series)
    ours, other, registry = Exposition(), Reference(now), CollectorRegistry()
    registry.register(other)
    first = cost(lambda: ours.render(now))
    costs: list[tuple[float, float]] = []
    for _ in range(turns):
        now = other.now = moved(now)
        costs.append((cost(lambda: ours.render(now)), cost(lambda: generate_latest(registry))))  # noqa: B023 - called at once
    mine, theirs = map(min, zip(*costs, strict=True))
    page = ours.render(now)
    count = sum(not line.startswith(b"#") for line in page.splitlines())
    print(f"{count:9,} samples  {len(page) / 1e6:6.1f} MB")
    print(f"  monitor            {mine:8.4f} s  {mine / count * 1e6:6.3f} us a sample")
    print(f"  its first page     {first:8.4f} s  {first / count * 1e6:6.3f} us a sample")
    print(f"  prometheus_client  {theirs:8.4f} s  {theirs / count * 1e6:6.3f} us a sample")
    print(
        f"  ratio              x{theirs / mine:.1f}  (first page x{theirs / first:.1f}; goal x15)"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--million", action="store_true", help="also a page of 10^6 samples")
    arguments = parser.parse_args()
    small = fleet(50)
    registry = CollectorRegistry()
    registry.register(Reference(small))
    assert samples(Exposition().render(small)) == samples(generate_latest(registry))
    compare(2_600, 5)
    if arguments.million:
        compare(26_000, 3)


if __name__ == "__main__":
    main()
