"""Too much of everything: messages, invented names, rubbish, slow readers of the page.

Rules of this file: what is measured is the resident memory of the daemon and how long a scrape
takes; each function returns figures and judges nothing.
"""

from __future__ import annotations

import itertools
import json
import multiprocessing
import os
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from harness.pouring import pour
from harness.programs import until
from harness.publishing import Said, round_of
from harness.scraping import Scraper, SlowClients

from monitor.config import parse
from monitor.config.sections import Series
from monitor.core.formatting import instant
from monitor.daemon.assembly import assemble, notices_of

from .scenes import Field

_MIB: Final = 1024.0
_STEADY_A_SECOND: Final = 2000
# Windows fill at first: what an hour would add is told of a longer time only.
_WHOLE_SECONDS: Final = 600.0
_FLOOD_ROUNDS: Final = 200
_WARM_SHARE: Final = 0.25


class Load(NamedTuple):
    """Messages sent; resident memory before, at the end and at its highest, in MiB."""

    messages: int
    before: float
    after: float
    highest: float

    def __str__(self) -> str:
        return (
            f"{self.messages} messages; resident {self.before:.0f} MiB before, "
            f"{self.after:.0f} after, {self.highest:.0f} at most"
        )


def flood(field: Field, seconds: float) -> Load:
    """Repeat the same rounds as fast as the broker takes them."""
    field.publishing.besides = _FLOOD_ROUNDS
    said = itertools.cycle([each for number in range(_FLOOD_ROUNDS) for each in round_of(number)])
    ends = time.monotonic() + seconds
    return _load(field, said, lambda: time.monotonic() < ends)


def invented(field: Field, names: int) -> Load:
    """Send readings of sensors that nobody has heard of, each once.

    As many of them as there may be begin before memory is looked at.
    """
    body = json.dumps({"time": "2026-01-01T00:00:00Z", "value": 1.0, "u": 1.0}).encode()
    most = Series().max
    said = (Said(f"monitor/invented-{at}/x/reading", body) for at in range(most + names))
    _load(field, itertools.islice(said, most), lambda: True)
    return _load(field, said, lambda: True)


def rubbish(field: Field, messages: int) -> Load:
    """Send what cannot be read, up to 60 kB each."""
    said = (
        Said(f"monitor/r{at % 50}/x/reading", b"{" * (at * 131 % 60_000)) for at in range(messages)
    )
    return _load(field, said, lambda: True)


def _load(field: Field, said: Iterator[Said], going) -> Load:
    process = field.daemon.process
    assert process is not None
    before = _resident(process.pid, "VmRSS")
    received = _received(field)
    sent = pour(field.broker.port, said, going)
    _settle(field, received + sent)
    after, highest = (_resident(process.pid, each) for each in ("VmRSS", "VmHWM"))
    return Load(sent, before, after, highest)


def _settle(field: Field, received: float) -> None:
    """Wait until so many messages were received, and only the steady publisher is heard."""

    def calm() -> bool:
        before = _received(field)
        time.sleep(1.0)
        return received <= before <= _received(field) <= before + _STEADY_A_SECOND

    until("the flood is worked off", calm)


def _received(field: Field) -> float:
    samples = field.daemon.metrics()
    name = "monitor_messages_received_total"
    return sum(value for sample, value in samples.items() if sample.partition("{")[0] == name)


def resident(field: Field, *, at_most: bool = False) -> float:
    """Return the resident memory of the daemon in MiB, now or at its highest."""
    process = field.daemon.process
    assert process is not None
    return _resident(process.pid, "VmHWM" if at_most else "VmRSS")


def _resident(pid: int, name: str) -> float:
    lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
    return next(float(line.split()[1]) for line in lines if line.startswith(name)) / _MIB


class Peak(NamedTuple):
    """The highest resident memory of a daemon and of its broker, in MiB."""

    daemon: float
    broker: float

    @property
    def total(self) -> float:
        """Their sum, though they need not have been highest at the same time."""
        return self.daemon + self.broker

    def __str__(self) -> str:
        return f"{self.daemon:.0f} + {self.broker:.0f} MiB"


def peak_with_broker(field: Field) -> Peak:
    """Return what the daemon that runs and the broker had in memory at most."""
    return Peak(resident(field, at_most=True), _resident(field.broker.pid, "VmHWM"))


class Distinct(NamedTuple):
    """Resident memory in MiB: before, once no series could begin any more, at most; counters."""

    before: float
    full: float
    highest: float
    committed: int
    refused: dict[str, int]
    is_told: bool


def distinct_topics(folder: Path, many: int) -> Distinct:
    """Take readings of so many topics, one each, in a process of its own."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as own:
        return own.submit(_distinct_topics, folder, many).result()


_DISTINCT: Final = """
journal: {{path: "{folder}/topics.sqlite"}}
series: {{max: {most}, max_new_per_minute: {rate}}}
"""
_HOUR: Final = 3600.0
_AT_ONCE: Final = 1000


def _distinct_topics(folder: Path, many: int) -> Distinct:
    """A tenth of the topics become series, in the first quarter of the hour."""
    most = many // 10
    text = _DISTINCT.format(folder=folder, most=most, rate=max(most // 15, 1))
    begins, before = 1_767_225_600.0, _resident(os.getpid(), "VmRSS")
    parts, full = assemble(parse(text.encode(), "settings.yaml"), begins), 0.0
    for first in range(0, many, _AT_ONCE):
        now = begins + _HOUR * first / many
        body = json.dumps({"time": instant(now), "value": 1.0, "u": 1.0}).encode()
        names = range(first, min(first + _AT_ONCE, many))
        said = [Said(f"monitor/sensor-{name}/x/reading", body) for name in names]
        parts.intake.commit(parts.intake.prepare(said, now))
        if not full and first >= many // 2:
            parts.network.evaluate(now)
            full = _resident(os.getpid(), "VmHWM")
    parts.network.evaluate(begins + _HOUR)
    is_told = any("series.max is reached" in each for each in notices_of(parts, begins + _HOUR))
    counts = parts.intake.counts
    parts.journal.close()
    highest = _resident(os.getpid(), "VmHWM")
    refused = {reason: count for reason, count in counts.rejected.items() if count}
    return Distinct(before, full, highest, counts.committed, refused, is_told)


def backlog(field: Field, messages: int) -> list[float]:
    """Start the daemon when so many messages wait; return how old each page had become.

    Pages count until all of it is committed.
    """
    assert field.daemon.stop() == 0, field.daemon.log()
    wanted = field.publishing.messages + messages
    until("enough messages wait", lambda: field.publishing.messages >= wanted)
    field.publishing.finish()
    field.daemon.start(ready=False)
    ages: dict[float, float] = {}

    def is_committed() -> bool:
        samples = field.daemon.metrics()
        done = samples.get("monitor_messages_committed_total", -1.0)
        ages[done] = samples.get("monitor_page_age_seconds", 0.0)
        return done >= field.publishing.messages

    until("the backlog is committed", is_committed)
    return list(ages.values())


class Steady(NamedTuple):
    """What a process held, sample by sample: seconds, resident MiB, descriptors and threads."""

    seconds: list[float]
    resident: list[float]
    descriptors: list[int]
    threads: list[int]

    @property
    def slope(self) -> float:
        """Growth of the resident memory over the second half, by least squares, in MiB an hour."""
        half = len(self.seconds) // 2
        return 3600.0 * float(np.polyfit(self.seconds[half:], self.resident[half:], 1)[0])

    def __str__(self) -> str:
        slope = f" ({self.slope:+.1f} MiB/h)" if self.seconds[-1] >= _WHOLE_SECONDS else ""
        return (
            f"{self.seconds[-1]:.0f} s; resident {self.resident[0]:.0f} to "
            f"{self.resident[-1]:.0f} MiB{slope}; "
            f"{max(self.descriptors)} descriptors, {max(self.threads)} threads"
        )


def steady(field: Field, seconds: float) -> Steady:
    """Sample the daemon under the publisher's steady traffic and a scraper, once it is warm."""
    process = field.daemon.process
    assert process is not None
    held = Steady([], [], [], [])
    began = time.monotonic() + _WARM_SHARE * seconds
    time.sleep(_WARM_SHARE * seconds)
    while (now := time.monotonic() - began) < seconds * (1.0 - _WARM_SHARE):
        own = Path(f"/proc/{process.pid}")
        held.seconds.append(now)
        held.resident.append(_resident(process.pid, "VmRSS"))
        held.descriptors.append(_without_readers(own))
        held.threads.append(len(list((own / "task").iterdir())))
        time.sleep(min(5.0, seconds / 20.0))
    return held


def _without_readers(own: Path) -> int:
    """Return the open descriptors that are no connection: readers of the page come and go."""
    found = 0
    for each in (own / "fd").iterdir():
        with suppress(OSError):
            found += not str(each.readlink()).startswith("socket:")
    return found


def scrapes_with_slow_clients(field: Field, count: int, seconds: float) -> list[float]:
    """Return how long scrapes took while so many clients began a request and never ended it."""
    scraper = Scraper(field.daemon, 0.1)
    with SlowClients(field.daemon.url, count):
        scraper.start()
        time.sleep(seconds)
    scraper.finish()
    return scraper.seconds
