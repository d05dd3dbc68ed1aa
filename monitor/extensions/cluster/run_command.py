"""``monitor cluster run``: from the log to results, on Spark."""

from __future__ import annotations

import argparse
import logging
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty, Queue
from threading import Event
from types import ModuleType
from typing import Any, Final

from monitor.commands.options import config_option
from monitor.config import (
    Settings,
    load,
    settings_hash,
)
from monitor.config.core_plan import plan_of
from monitor.daemon.connecting import outlets
from monitor.daemon.runtime import Signals, configure
from monitor.errors import UNAVAILABLE, MonitorError
from monitor.extensions.cluster import results
from monitor.extensions.cluster.fleet_verdicts import Fleet, FleetVerdict
from monitor.extensions.cluster.kafka_log import Appender, MissingLibraryError, properties
from monitor.extensions.cluster.recipes import for_workers
from monitor.extensions.cluster.settings import cluster_of
from monitor.extensions.cluster.sink import NOTE, ClusterSink
from monitor.http.process_metrics import serve_metrics
from monitor.journal import Journal

_log: Final = logging.getLogger("monitor.extensions.cluster")
_LOOK_SECONDS: Final = 0.5
_TIDY_SECONDS: Final = 600.0  # a folder of results may take long to list
_FAILURE_SHOWN: Final = 2000

Reports = Sequence[tuple[int, results.BlockReport]]


class JobError(MonitorError):
    """The job ended unexpectedly; the message says why."""

    exit_code = UNAVAILABLE


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    config_option(parser)
    parser.add_argument(
        "--spark", action="append", default=[], metavar="KEY=VALUE", help="a Spark option"
    )


def run(options: argparse.Namespace) -> int:
    """Run the job until SIGTERM or SIGINT; raises MonitorError if it cannot continue."""
    settings = load(options.config)
    configure(settings.log.level, settings.log.format)
    try:
        from monitor.extensions.cluster import job  # noqa: PLC0415 - of the extra
    except ImportError as error:
        raise MissingLibraryError from error
    # Now the topic exists and has the partitions that the settings say.
    Appender(settings, properties(settings)).close()
    opened = outlets(settings, options.config)
    signals = Signals("stopping")
    signals.install()
    given = dict(each.split("=", 1) for each in options.spark)
    spark = job.session(settings, given)
    journal = Journal(Path(settings.journal.path), transitions_kept=settings.sinks.history)
    plan = plan_of(settings)
    noted = journal.note(NOTE)
    fleet = Fleet(cluster_of(settings).job.worst, plan.fleet, plan.thresholds, noted)
    sink = ClusterSink(journal, fleet, opened, settings_hash(settings))
    port, host = cluster_of(settings).job.metrics_port, cluster_of(settings).metrics_host
    text = for_workers(Path(options.config))
    handover = Handover()
    kept_seconds, tidy = cluster_of(settings).job.results_hours * 3600.0, Seldom(_TIDY_SECONDS)
    try:
        with serve_metrics(port, sink.families, sink.page, host) as url:
            if url:
                _log.info("metrics on %s", url)
            query = job.start(spark, settings, text, _on_batch(settings, handover, sink, job))
            _log.info(
                "reading %s of %s", cluster_of(settings).log.topic, cluster_of(settings).log.servers
            )
            while query.isActive and not signals.stop:
                handover.process(sink.publish, _LOOK_SECONDS)
                sink.flush()
                tidy(lambda: job.delete_tables(cluster_of(settings).job.results, kept_seconds))
            handover.close()
            failure = query.exception()
            query.stop()
            if failure is not None:
                raise JobError(f"the job ended: {str(failure)[-_FAILURE_SHOWN:]}")
    finally:
        sink.close()
        journal.close()
        spark.stop()
    _log.info("stopped; everything read is in the checkpoint")
    return 0


def _on_batch(
    settings: Settings, handover: Handover, sink: ClusterSink, job: ModuleType
) -> Callable[[int, Any], None]:
    """Return the callback for each batch: alerts and figures first, then the tables."""
    folder, letters_most = cluster_of(settings).job.results, settings.journal.dead_letters

    def on_batch(batch: int, frame: Any) -> None:  # noqa: ANN401 - Spark's data frame
        began = time.time()
        frame = frame.persist()
        try:
            rows = frame.select("block", "body").collect()
            reports = [(row["block"], results.load_report(bytes(row["body"]))) for row in rows]
            verdict = handover.submit(reports)
            job.write_table(frame, folder, batch, verdict)
            letters = [
                {"block": block, **letter._asdict()}
                for block, each in reports
                for letter in each.dead_letters
            ]
            spark = frame.sparkSession
            job.write_beside(spark, folder, "deadletters", batch, letters[:letters_most])
            job.write_beside(spark, folder, "references", batch, sink.suspects())
        finally:
            frame.unpersist()
        _log.info("batch %d: %d blocks in %.1f s", batch, len(reports), time.time() - began)

    return on_batch


class Seldom:
    """Does something at the first call, and at a later one once ``seconds`` have passed."""

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._seconds: Final = seconds
        self._clock: Final = clock
        self._next = -math.inf

    def __call__(self, work: Callable[[], object]) -> None:
        """Do ``work`` if it is time."""
        if self._clock() >= self._next:
            work()
            self._next = self._clock() + self._seconds


class Handover:
    """Hands batches from Spark's thread to the one that owns the journal."""

    def __init__(self) -> None:
        self._waiting: Queue[_Batch] = Queue()
        self._closed = Event()

    def submit(self, reports: Reports) -> FleetVerdict:
        """Return the verdict on a batch once it is published; raises what that raised."""
        given = _Batch(reports)
        self._waiting.put(given)
        while not given.done.wait(_LOOK_SECONDS):
            if self._closed.is_set():
                raise JobError("the driver is stopping; the batch will be repeated")
        if given.error is not None:
            raise given.error
        return given.verdict

    def process(self, publish: Callable[[Reports], FleetVerdict], seconds: float) -> None:
        """Publish the batch submitted within ``seconds``, if there is one."""
        try:
            given = self._waiting.get(timeout=seconds)
        except Empty:
            return
        try:
            given.verdict = publish(given.reports)
        except MonitorError as error:
            given.error = error
        given.done.set()

    def close(self) -> None:
        """Accept no more batches."""
        self._closed.set()


@dataclass
class _Batch:
    reports: Reports
    done: Event = field(default_factory=Event)
    error: MonitorError | None = None
    verdict: FleetVerdict = field(default_factory=lambda: FleetVerdict({}, {}))
