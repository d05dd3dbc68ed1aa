"""The driver's end of a batch: alerts sent once, metrics for Prometheus.

Rules of this file: the fleet's state is compared with the transitions in the driver's journal, so a
repeated batch notifies nobody again, and an alert is in the journal before a sink has it. The
fleet's figures are those of the blocks that have reported since the driver began, and its counters
count from then on. Metrics that the
daemon has too keep the daemon's names.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from monitor.alerts.dispatch import Dispatch
from monitor.alerts.outlet import Outlet
from monitor.extensions.cluster.fleet_verdicts import Fleet, FleetVerdict
from monitor.extensions.cluster.results import CORRECTIONS, EXPIRED, TOO_LATE, BlockReport
from monitor.http.metrics import Exposition
from monitor.http.telemetry import Figures, families
from monitor.http.text_format import Family, by, counter, gauge, gauges
from monitor.journal.failures import JournalFullError
from monitor.journal.journal import Journal
from monitor.journal.store import Batch

_log: Final = logging.getLogger("monitor.extensions.cluster")

NOTE: Final = "cluster_fleet"
# Families of the daemon with the same meaning here.
_DAEMONS: Final = frozenset(
    f"monitor_{name}"
    for name in (
        *("messages_received", "messages_committed", "messages_duplicate", "messages_rejected"),
        *("records_rejected", "readings_unpaired_expired", "corrections", "series"),
        *("alert_transitions", "sink_delivered", "sink_failed", "sink_dropped"),
        *("sink_queue_length", "build_info"),
    )
)


@dataclass
class Done:
    """The driver's work since it started; times in s."""

    batches: int = 0
    finished: float = 0.0
    notified: int = 0


class ClusterSink:
    """Publishes batches; ``fleet`` was restored from the note :data:`NOTE`."""

    def __init__(
        self,
        journal: Journal,
        fleet: Fleet,
        outlets: Sequence[Outlet] = (),
        settings_hash: str = "",
    ) -> None:
        self._journal: Final = journal
        self._dispatch: Final = Dispatch(journal.alerts, outlets)
        self._exposition: Final = Exposition()
        self._noted = journal.note(NOTE)
        self._settings_hash: Final = settings_hash
        self.fleet: Final = fleet
        self.done: Final = Done()
        self._shown: tuple[list[Family], bytes] = ([], b"")
        self._show()

    def publish(self, reports: Sequence[tuple[int, BlockReport]]) -> FleetVerdict:
        """Publish a batch; return the verdicts on its series.

        Raises JournalError; then the batch is repeated.
        """
        before = sum(self._dispatch.transitions.values())
        ordered = sorted(reports, key=lambda each: each[0])
        view = self.fleet.update(ordered)
        self._keep_note()  # what is told below must not be unknown after a crash
        self._dispatch.notify(view)
        self.done.notified += sum(self._dispatch.transitions.values()) - before
        self.done.batches += 1
        self.done.finished = time.time()
        self._show()
        return self.fleet.verdict()

    def suspects(self) -> list[dict[str, Any]]:
        """Return the suspect references as rows of their table."""
        return [
            {
                "time": self.done.finished,
                "reference": each.reference,
                "quantity": each.quantity,
                "unit": each.unit,
                "sentence": each.sentence,
                "bias": each.estimate.value,
                "lower": each.estimate.lower,
                "upper": each.estimate.upper,
                "since": each.since,
                "sensors": each.sensors,
                "agree": each.agree,
            }
            for each in self.fleet.suspects()
        ]

    def flush(self) -> None:
        """Record how far the sinks are, so that less is repeated after a crash."""
        self._dispatch.flush()

    def close(self) -> None:
        """Give the sinks a moment to deliver their queues."""
        self._dispatch.close()

    def page(self) -> bytes:
        """Return the series that alert and the worst of the others, under the daemon's names."""
        return self._shown[1]

    def families(self) -> list[Family]:
        """Return the metrics of the fleet and of the job."""
        return self._shown[0]

    # -- inside -----------------------------------------------------------------------------

    def _show(self) -> None:
        """Render the page to show from now on; another thread reads it."""
        snapshot = self.fleet.shown()
        page = b"" if snapshot is None else self._exposition.render(snapshot)
        self._shown = [*self._measured()], page

    def _measured(self) -> Iterator[Family]:
        fleet, done = self.fleet, self.done
        yield from (
            each
            for each in families(self._figures())
            if each.name.removesuffix("_total") in _DAEMONS
        )
        states, alerts = fleet.counted("states"), fleet.counted("alerts")
        yield gauges("cluster_series", "Series by state.", ("state",), by(_sorted(states)))
        yield gauges(
            "cluster_alerts", "Series by alert that fires.", ("alert",), by(_sorted(alerts))
        )
        late = "Changes of pairs older than all that a block keeps."
        yield counter("cluster_too_late", late, fleet.totals()[TOO_LATE])
        left_out = "Reports of blocks on references beyond the number that the driver keeps."
        yield counter("cluster_references_left_out", left_out, fleet.references.left_out)
        yield gauge("cluster_state_bytes", "State of all blocks.", fleet.total("state_bytes"))
        ever = "Messages committed in the lives of the blocks heard from."
        yield gauge("cluster_messages_committed", ever, fleet.committed())
        yield gauge("cluster_blocks", "Blocks heard from since the driver began.", len(fleet))
        yield counter("cluster_batches", "Batches done.", done.batches)
        yield gauge(
            "cluster_last_batch_timestamp_seconds", "When the last batch was done.", done.finished
        )
        yield counter("cluster_alerts_told", "Alert transitions delivered.", done.notified)

    def _keep_note(self) -> None:
        """Make the fleet's own state durable if it changed."""
        note = self.fleet.note()
        if note == self._noted:
            return
        try:
            self._journal.append(Batch(notes={NOTE: note}))
        except JournalFullError as error:
            _log.error("%s", error)
        else:
            self._noted = note

    def _figures(self) -> Figures:
        """Return the figures that a daemon would have, started when the driver was."""
        totals = self.fleet.totals()

        def of(kind: str) -> dict[str, int]:
            return {
                name.removeprefix(kind): count
                for name, count in sorted(totals.items())
                if name.startswith(kind)
            }

        return Figures(
            received=totals["received"],
            committed=totals["committed"],
            duplicate=totals["duplicate"],
            rejected=of("rejected."),
            records_rejected=of("records_rejected."),
            expired_unpaired=totals[EXPIRED],
            corrections=totals[CORRECTIONS],
            series=sum(self.fleet.counted("states").values()),
            transitions=self._dispatch.transitions,
            sinks=self._dispatch.figures(),
            settings_hash=self._settings_hash,
        )


def _sorted(counts: dict[str, int]) -> dict[str, int]:
    return dict(sorted(counts.items()))
