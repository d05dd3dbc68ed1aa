"""What becomes of a batch's results on the driver: alerts told once, figures for Prometheus.

Rules of this file: an alert is in the driver's journal, with the number of its batch, before a sink
has it; a batch that comes again tells nothing again. The fleet's figures are those of the blocks
that have said something since the driver began.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import msgspec
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from monitor.engine.results import Fleet, Said
from monitor.engine.telemetry import counter, gauge
from monitor.exposition import Exposition
from monitor.journal import Journal
from monitor.sinks.dispatch import Dispatch
from monitor.sinks.outlet import Outlet
from monitor.transition import Transition

BATCH: Final = "batch"  # its place among the deliveries of the journal


class Teller(Dispatch):
    """Tells ``outlets`` what blocks found; its memory is in ``journal``."""

    def __init__(self, journal: Journal, outlets: Sequence[Outlet] = ()) -> None:
        super().__init__(journal, outlets)

    def pass_on(self, batch: int, found: Iterable[Transition]) -> int:
        """Make durable what a batch found, let the sinks have it; return how many were new.

        Raises JournalError; then the batch comes again.
        """
        new = list(found) if batch > self._done.get(BATCH, -1) else []
        last = self._ledger.last
        numbered = [
            msgspec.structs.replace(each, seq=last + at) for at, each in enumerate(new, start=1)
        ]
        done = max(batch, self._done.get(BATCH, -1))
        self._log.write(self._told(numbered), {BATCH: done})
        self._done[BATCH] = done
        self._ledger.take(numbered)
        for each in numbered:
            self.transitions[each.alert, each.after] += 1
        for outlet in self._outlets:
            self._fill(outlet)
        self._write([])
        return len(numbered)


@dataclass
class Done:
    """What the driver has done since it began; times in s."""

    batches: int = 0
    last_batch: int = -1
    finished: float = 0.0
    told: int = 0


class Sink:
    """Takes what blocks said of a batch."""

    def __init__(self, teller: Teller, worst: int) -> None:
        self._teller: Final = teller
        self._exposition: Final = Exposition()
        self.fleet: Final = Fleet(worst)
        self.done: Final = Done()

    def take(self, batch: int, said: Sequence[tuple[int, Said]]) -> None:
        """Tell what a batch found and learn how its blocks are."""
        ordered = sorted(said, key=lambda each: each[0])
        found = [transition for _, each in ordered for transition in each.transitions]
        self.done.told += self._teller.pass_on(batch, found)
        for block, each in ordered:
            self.fleet.take(block, each.summary)
        self.done.batches += 1
        self.done.last_batch = batch
        self.done.finished = time.time()

    def page(self) -> bytes:
        """Return the series that alert and the worst of the others, with the daemon's names."""
        snapshot = self.fleet.snapshot()
        return b"" if snapshot is None else self._exposition.render(snapshot)

    def families(self) -> Iterator[Metric]:
        """Yield the fleet's figures and the job's own."""
        fleet, done = self.fleet, self.done
        yield _by("cluster_series", "Series by state.", "state", fleet.counted("states"))
        yield _by("cluster_alerts", "Series by alert that fires.", "alert", fleet.counted("alerts"))
        totals = fleet.counted("totals")
        for name in ("received", "committed", "duplicate"):
            words = f"Messages {name} by blocks; one that concerns several counts in each."
            yield counter(f"messages_{name}", words, totals[name])
        rejected = CounterMetricFamily(
            "monitor_messages_rejected", "Messages that could not be used.", labels=["reason"]
        )
        for name, count in sorted(totals.items()):
            if name.startswith("rejected."):
                rejected.add_metric([name.removeprefix("rejected.")], count)
        yield rejected
        late = "Changes of pairs older than all that a block keeps."
        yield counter("cluster_too_late", late, fleet.total("too_late"))
        yield gauge("cluster_state_bytes", "State of all blocks.", fleet.total("state_bytes"))
        yield gauge("cluster_blocks", "Blocks heard since the driver began.", len(fleet))
        yield counter("cluster_batches", "Batches done.", done.batches)
        yield gauge("cluster_last_batch_timestamp_seconds", "When one was done.", done.finished)
        yield counter("cluster_alerts_told", "Transitions of alerts told.", done.told)


def _by(name: str, words: str, label: str, counts: dict[str, int]) -> Metric:
    family = GaugeMetricFamily(f"monitor_{name}", words, labels=[label])
    for value, count in sorted(counts.items()):
        family.add_metric([value], count)
    return family
