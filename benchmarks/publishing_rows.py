"""Rows of the table about what is published: rendering, a real Prometheus, the stall of the data.

A fleet of 18 000 series is a page of 10^6 samples.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
from engine_rows import START, Source, rounds_of_all
from exposition import Reference, fleet, moved, samples
from harness.programs import until
from harness.prometheus import Prometheus
from prometheus_client import CollectorRegistry, generate_latest, start_http_server
from rows import Goal, Line, in_turn, line

from monitor.config import Settings
from monitor.core.registry import KnownSeries
from monitor.core.snapshot.snapshot import Snapshot
from monitor.core.state.network import Network
from monitor.daemon.assembly import assemble
from monitor.daemon.publisher import Publisher, SourceStatus
from monitor.daemon.runtime import freeze_after_start
from monitor.http.metrics import Exposition
from monitor.http.published import Page
from monitor.http.service import Service

SERIES = 18_000
MANY = 100_000
STEPS, STEP_SECONDS, PAIRS_A_STEP, STEPS_A_PUBLISH = 240, 0.05, 100, 40
_TIME_OUT = 10.0  # Prometheus' default
_SETTINGS = """
global: {{scrape_interval: 15s, scrape_timeout: 10s}}
scrape_configs:
  - job_name: monitor
    static_configs: [{{targets: ["{target}"]}}]
"""


def exposition() -> list[Line]:
    """A page of 10^6 samples, every statistic another number; and with one series in a hundred."""
    assert _is_the_same(fleet(50))
    now = fleet(SERIES)
    ours, peer, registry = Exposition(), Reference(now), CollectorRegistry()
    registry.register(peer)
    ours.render(now)
    every: list[list[float]] = []
    few: list[float] = []
    for _ in range(3):
        now = peer.now = moved(now)
        every.append([each[0] for each in in_turn(
            lambda: ours.render(now), lambda: generate_latest(registry), rounds=1  # noqa: B023
        )])  # fmt: skip
        now = _few_moved(now)
        few += in_turn(lambda: ours.render(now), rounds=1)[0]  # noqa: B023
    mine, theirs = (list(each) for each in zip(*every, strict=True))
    name = "prometheus_client, custom collector"
    return [
        line(Goal("10^6 samples rendered, all new", name, 40, None, "digits of the numbers"),
             mine, theirs, "s"),
        line(Goal("the same, one series in a hundred changed", name, 40, None,
                  "finding what changed, joining lines"), few, theirs, "s"),
    ]  # fmt: skip


def _is_the_same(now: Snapshot) -> bool:
    """Return whether both pages have the same numbers."""
    registry = CollectorRegistry()
    registry.register(Reference(now))
    return samples(Exposition().render(now)) == samples(generate_latest(registry))


def _few_moved(now: Snapshot) -> Snapshot:
    chance = np.random.default_rng(2)
    some = chance.random(SERIES) < 0.01
    later = {name: values + some * 0.1 for name, values in now.statistics.items()}
    return replace(now, statistics=later, evidence=now.evidence + some * 0.1)


def scrape() -> list[Line]:
    """A real Prometheus with its default time-out on a page of 10^6 samples, packed by gzip."""
    now = fleet(SERIES)
    service = Service("127.0.0.1", 0, monotonic=lambda: 0.0)  # no main loop has to move
    service.publish(Page(now))
    service.start()
    mine = _scraped(service.url.removeprefix("http://"))
    service.stop()
    registry = CollectorRegistry()
    registry.register(Reference(now))
    server, thread = start_http_server(0, "127.0.0.1", registry)
    theirs = _scraped(f"127.0.0.1:{server.server_port}")
    server.shutdown()
    server.server_close()
    thread.join()
    goal = Goal(
        "Prometheus scrapes 10^6 samples (default time-out 10 s), seconds by its own clock",
        "prometheus_client", 2, 5, "Prometheus' own parsing and storing",
    )  # fmt: skip
    ratio = theirs[0] / mine[0] if mine[1] else 0.0
    return [Line(goal, _said(mine), _said(theirs), ratio)]


def _scraped(target: str) -> tuple[float, bool]:
    """Return the seconds of the second scrape, and whether it brought all samples."""
    with tempfile.TemporaryDirectory() as name:
        prometheus = Prometheus(Path(name), target, _SETTINGS.format(target=target))
        try:

            def first() -> object:
                return prometheus.query("scrape_duration_seconds")

            until("a first scrape", first, 60.0)
            time.sleep(20.0)
            seconds = float(prometheus.query("scrape_duration_seconds")[0]["value"][1])
            is_up = prometheus.query("up")[0]["value"][1] == "1"
            count = float(prometheus.query("scrape_samples_scraped")[0]["value"][1])
        finally:
            _end(prometheus)
    print(f"  {target}: {seconds:.2f} s, up {is_up}, {count:,.0f} samples", file=sys.stderr)
    return seconds, is_up and count >= 900_000


def _end(prometheus: Prometheus) -> None:
    """End it; with a million samples in memory it takes its time."""
    for _ in range(6):
        try:
            prometheus.stop()
        except subprocess.TimeoutExpired:
            continue
        return


def _said(found: tuple[float, bool]) -> str:
    return f"{found[0]:.1f} s" + ("" if found[1] else f", fails: {_TIME_OUT:.0f} s are over")


def stall() -> list[Line]:
    """How long the data waits while 100 000 series are published and scraped."""
    with tempfile.TemporaryDirectory() as name:
        settings = Settings.model_validate(
            {
                "journal": {"path": str(Path(name) / "journal.sqlite")},
                "series": {"max": MANY, "stale_after_seconds": 1e7},
                "windows": {"pairs": 100},
            }
        )
        parts = assemble(settings, START)
        parts.network.restore_series(
            KnownSeries(row, f"sensor-{row:06}", "mass", "kg", START) for row in range(MANY)
        )
        source = Source(MANY)
        for pairs in rounds_of_all(source, 3):
            parts.network.apply(pairs)
        liveness = parts.network.liveness
        liveness.last_reading[:] = liveness.heard[:] = START
        service = Service("127.0.0.1", 0)
        service.start()
        publisher, connection = Publisher(parts, service), SimpleNamespace(
            connected=True, status="", sessions_lost=0, reconnects=0, full_reads=0,
            stale_acknowledgements=0, last_message={}, tls_not_after=None,
        )  # fmt: skip
        publisher.publish(START, connection)
        freeze_after_start()
        fetch = f"curl -s --compressed {service.url}/metrics -o /dev/null"
        scraper = subprocess.Popen(["bash", "-c", f"while {fetch}; do sleep 5; done"])
        waits, work = _taken_and_published(parts.network, source, publisher, connection)
        scraper.kill()
        scraper.wait()
        publisher.close()
        service.stop()
        parts.journal.close()
    p99 = float(np.quantile(waits, 0.99))
    why = f"steps of some milliseconds between two batches; {work:.2f} s of CPU a publication"
    goal = Goal(
        "longest wait of the data in 100 (p99), 100 000 series, 2000 pairs a second, scraped",
        "the goal", 1, None, why,
    )  # fmt: skip
    return [Line(goal, f"{1e3 * p99:.0f} ms", "50 ms", 0.05 / p99)]


def _taken_and_published(
    network: Network, source: Source, publisher: Publisher, connection: SourceStatus
) -> tuple[list[float], float]:
    """Work as the daemon does; return how long each batch waited, and CPU a publication.

    A batch is due every so often, whatever keeps the thread busy then; it waits until it is in the
    windows and the detector.
    """
    waits: list[float] = []
    cpu = 0.0
    began = time.perf_counter()
    while len(waits) < STEPS:
        now, used = time.perf_counter(), time.thread_time()
        due = began + len(waits) * STEP_SECONDS
        if now >= due:
            network.apply(source.batch(PAIRS_A_STEP))
            waits.append(time.perf_counter() - due)
            if len(waits) % STEPS_A_PUBLISH == 0 and not publisher.is_busy:
                publisher.begin(START, connection)
        elif publisher.is_busy:
            publisher.work(0.01)
            cpu += time.thread_time() - used
        else:
            time.sleep(due - now)
    print(f"  waits {1e3 * np.quantile(waits, [0.5, 0.9, 0.99, 1.0])} ms", file=sys.stderr)
    return waits, cpu / (STEPS / STEPS_A_PUBLISH)
