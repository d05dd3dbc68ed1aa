"""Too much of everything: messages, invented names, rubbish, slow readers of the page.

Rules of this file: what is measured is the resident memory of the daemon and how long a scrape
takes; each function returns figures and judges nothing.
"""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from harness.pouring import pour
from harness.programs import until
from harness.publishing import Said, round_of
from harness.scraping import Scraper, SlowClients

from .scenes import Field

_MIB: Final = 1024.0
_STEADY_A_SECOND: Final = 2000
_FLOOD_ROUNDS: Final = 200


class Load(NamedTuple):
    """Messages sent; resident memory before, at the end and at its highest, in MiB."""

    messages: int
    before: float
    after: float
    highest: float
    counted: float

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
    return _load(field, said, lambda: time.monotonic() < ends, "received")


def invented(field: Field, names: int) -> Load:
    """Send readings of sensors that nobody has heard of, each once."""
    body = json.dumps({"time": "2026-01-01T00:00:00Z", "value": 1.0, "u": 1.0}).encode()
    said = (Said(f"monitor/invented-{at}/x/reading", body) for at in range(names))
    return _load(field, said, lambda: True, "rejected")


def rubbish(field: Field, messages: int) -> Load:
    """Send what cannot be read, up to 60 kB each."""
    said = (
        Said(f"monitor/r{at % 50}/x/reading", b"{" * (at * 131 % 60_000)) for at in range(messages)
    )
    return _load(field, said, lambda: True, "rejected")


def _load(field: Field, said: Iterator[Said], going, what: str) -> Load:
    process = field.daemon.process
    assert process is not None
    before = _resident(process.pid, "VmRSS")
    start = _counted(field, what)
    sent = pour(field.broker.port, said, going)
    _settle(field, what)
    return Load(
        sent, before, _resident(process.pid, "VmRSS"), _resident(process.pid, "VmHWM"),
        _counted(field, what) - start,
    )  # fmt: skip


def _settle(field: Field, what: str) -> None:
    """Wait until what was poured has been worked off and only the steady publisher is heard."""

    def calm() -> bool:
        before = _counted(field, what)
        time.sleep(1.0)
        return before <= _counted(field, what) <= before + _STEADY_A_SECOND

    until("the flood is worked off", calm, 600.0)


def _counted(field: Field, what: str) -> float:
    samples = field.daemon.metrics()
    name = f"monitor_messages_{what}_total"
    return sum(value for sample, value in samples.items() if sample.partition("{")[0] == name)


def _resident(pid: int, name: str) -> float:
    lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
    return next(float(line.split()[1]) for line in lines if line.startswith(name)) / _MIB


def scrapes_with_slow_clients(field: Field, count: int, seconds: float) -> list[float]:
    """Return how long scrapes took while so many clients began a request and never ended it."""
    scraper = Scraper(field.daemon, 0.1)
    with SlowClients(field.daemon.url, count):
        scraper.start()
        time.sleep(seconds)
    scraper.finish()
    return scraper.seconds
