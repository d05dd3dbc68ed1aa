"""A soak under late references: what a fleet feels of them, and what becomes of each one.

Rules of this file: it measures and judges nothing; times are of the wall clock, and the machine's
load is told beside them. What is left is held against what the broker promised to deliver.
"""

from __future__ import annotations

import os
import statistics
import threading
import time
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from harness.broker import Mosquitto
from harness.daemon import Daemon
from harness.late_stream import LateHistory, LateStream, compared
from harness.programs import WAIT_SECONDS, until

from monitor.config import load
from monitor.core.model import in_event_order
from monitor.daemon.assembly import assemble
from monitor.mqtt.publish import BrokerPublisher

_MORE: Final = """
series: {max: 1000, max_new_per_minute: 100000}
pairing: {mode: nearest, tolerance_seconds: 5, max_wait_hours: 0.25}
"""
_TICKS: Final = 20  # portions of a second's messages
_LOOK_SECONDS: Final = 0.25
_CALM_SECONDS: Final = 1.0
_WARM_SHARE: Final = 0.5  # of the time: until then windows and buffers fill
_MIB: Final = 1024.0


class LatePublishing(threading.Thread):
    """Publishes a second of the stream each second; ``sent`` messages are acknowledged."""

    def __init__(self, port: int) -> None:
        super().__init__(daemon=True)
        self._port: Final = port
        self._done: Final = threading.Event()
        self.stream: Final = LateStream(time.time())
        self.sent = 0
        self.behind = 0.0

    def run(self) -> None:
        due = time.monotonic()
        with BrokerPublisher("127.0.0.1", self._port, client_id="late") as out:
            while not self._done.is_set():
                said = self.stream.second()
                for tick in range(_TICKS):
                    for topic, payload in said[tick::_TICKS]:
                        out.publish(topic, payload)
                    due += 1.0 / _TICKS
                    self.behind = max(self.behind, time.monotonic() - due)
                    out.sleep(max(due - time.monotonic(), 0.0))
                out.flush()
                self.sent += len(said)

    def finish(self) -> None:
        """End with the second under way, once the broker has promised all of it."""
        self._done.set()
        self.join(WAIT_SECONDS)
        assert not self.is_alive()


class Pages(NamedTuple):
    """What the pages said, look by look: work of a publication, and how old a page became."""

    works: list[float]
    ages: list[float]
    resident: list[float]

    @property
    def grown(self) -> float:
        """Resident memory of the last quarter as a share of the quarter before it."""
        quarter = max(len(self.resident) // 4, 1)
        last, before = self.resident[-quarter:], self.resident[-2 * quarter : -quarter]
        return statistics.mean(last) / statistics.mean(before or last)


class LateSoak(NamedTuple):
    """What a soak found; seconds unless said otherwise."""

    pages: Pages
    stop: float
    exit_code: int
    ready: float
    sent: int
    committed: int
    differing: int
    left: LateHistory
    behind: float
    load: float

    @property
    def p99(self) -> float:
        """Of the work of a publication."""
        return float(np.quantile(self.pages.works, 0.99))


def soaked(folder: Path, seconds: float) -> LateSoak:
    """Let a daemon work under the stream for so long, end it, start it again, and read its file."""
    (folder / "broker").mkdir()
    broker = Mosquitto(folder / "broker")
    daemon = Daemon(folder, broker.port, _MORE, "late-soak", interval=2.0)
    publishing = LatePublishing(broker.port)
    try:
        daemon.start()
        publishing.start()
        pages = _watched(daemon, seconds)
        load = os.getloadavg()[0]
        began = time.monotonic()
        exit_code = daemon.stop()
        stop = time.monotonic() - began
        assert exit_code == 0, daemon.log()
        began = time.monotonic()
        daemon.start()
        ready = time.monotonic() - began
        publishing.finish()
        until(f"all of it came: {daemon.log()}", lambda: _came(daemon, publishing.sent))
        committed = int(daemon.value("monitor_messages_committed_total"))
        differing = int(max(daemon.value('monitor_self_check_total{result="different"}'), 0.0))
        assert daemon.stop() == 0, daemon.log()
    finally:
        daemon.kill()
        broker.stop()
    return LateSoak(
        pages, stop, exit_code, ready, publishing.sent, committed, differing,
        compared(publishing.stream.wanted, _references(daemon.settings)), publishing.behind, load,
    )  # fmt: skip


def _watched(daemon: Daemon, seconds: float) -> Pages:
    """Look at the pages and the memory of a daemon for so long."""
    assert daemon.process is not None
    status = Path(f"/proc/{daemon.process.pid}/status")
    pages, ends = Pages([], [], []), time.monotonic() + seconds
    shown, since = -1.0, time.monotonic()
    while (now := time.monotonic()) < ends:
        samples = daemon.metrics()
        received = samples.get("monitor_messages_received_total", -1.0)
        if received != shown:  # a thousand messages a second: another page counts more
            pages.works.append(samples.get("monitor_publish_seconds", 0.0))
            shown, since = received, now
        pages.ages.append(time.monotonic() - since)
        lines = status.read_text(encoding="ascii").splitlines()
        found = next(line for line in lines if line.startswith("VmRSS"))
        pages.resident.append(float(found.split()[1]) / _MIB)
        time.sleep(_LOOK_SECONDS)
    warm = int(_WARM_SHARE * len(pages.resident))
    return pages._replace(resident=pages.resident[warm:])


def _came(daemon: Daemon, promised: int) -> bool:
    before = daemon.value("monitor_messages_committed_total")
    time.sleep(_CALM_SECONDS)
    return promised <= before == daemon.value("monitor_messages_committed_total")


def _references(settings: Path) -> list[tuple[str, float]]:
    """Return sensor and reference of all pairs that a daemon left; it must have ended."""
    parts = assemble(load(str(settings)), time.time())
    try:
        rows = in_event_order(parts.journal.pairs())
        names = [key.sensor for key in parts.network.registry.keys]
        series, values = rows["series"].tolist(), rows["reference"].tolist()
        return [(names[row], value) for row, value in zip(series, values, strict=True)]
    finally:
        parts.journal.close()
