"""``monitor cluster``: from the log to results, on Spark."""

from __future__ import annotations

import argparse
import logging
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty, Queue
from threading import Event
from types import FrameType, ModuleType
from typing import Any, Final, Protocol, Self

from monitor.cluster import results
from monitor.cluster.cluster_metrics import Served
from monitor.cluster.fleet_verdicts import Fleet, Right
from monitor.cluster.kafka_log import Appender, MissingLibraryError, properties
from monitor.cluster.sink import NOTE, Sink
from monitor.config import (
    Settings,
    load,
    resolve_secret,
    resolve_sink_secrets,
    settings_hash,
)
from monitor.config.core_plan import plan_of
from monitor.daemon.logs import configure
from monitor.daemon.outlets import Keys, outlets
from monitor.decode import DECODERS
from monitor.errors import UNAVAILABLE, MonitorError
from monitor.journal import Journal

_log: Final = logging.getLogger("monitor.cluster")
_LOOK_SECONDS: Final = 0.5
_FAILURE_SHOWN: Final = 2000

Said = Sequence[tuple[int, results.Said]]


class Frame(Protocol):
    """What is asked of a batch, a frame of the engine's."""

    sparkSession: Any  # noqa: N815 - Spark's name

    def persist(self) -> Self:
        """Keep it, so that it is made once."""

    def unpersist(self) -> Self:
        """Keep it no longer."""

    def select(self, *columns: str) -> Self:
        """Return some columns."""

    def collect(self) -> list[Any]:
        """Return its rows."""


class JobError(MonitorError):
    """The job ended by itself; the message says why."""

    exit_code = UNAVAILABLE


def arguments(parser: argparse.ArgumentParser) -> None:
    """Take the settings file and Spark's own options."""
    parser.add_argument("--config", required=True, metavar="FILE", help="settings, in YAML")
    parser.add_argument(
        "--spark", action="append", default=[], metavar="KEY=VALUE", help="an option of Spark's"
    )


def run(options: argparse.Namespace) -> int:
    """Run the job until SIGTERM or SIGINT; raises MonitorError where it cannot go on."""
    settings = load(options.config, decoders=DECODERS)
    configure(settings.log.level, settings.log.format)
    try:
        from monitor.cluster import job  # noqa: PLC0415 - of the extra
    except ImportError as error:
        raise MissingLibraryError from error
    with Appender(settings, properties(settings)):
        pass  # the topic is there, with the partitions that the settings say
    credentials = resolve_secret(settings, options.config)
    keys = Keys(credentials, resolve_sink_secrets(settings, options.config))
    stopping = _stopping()
    given = dict(each.split("=", 1) for each in options.spark)
    spark = job.session(settings, given)
    journal = Journal(Path(settings.journal.path), transitions_kept=settings.sinks.history)
    plan = plan_of(settings)
    noted = journal.note(NOTE)
    fleet = Fleet(settings.cluster.job.worst, plan.fleet, plan.thresholds, noted)
    sink = Sink(journal, fleet, outlets(settings, keys), settings_hash(settings))
    port = settings.cluster.job.metrics_port
    host = settings.cluster.metrics_host
    served = None if port is None else Served(port, sink.families, sink.page, host)
    if served is not None:
        _log.info("metrics on %s", served.url)
    text = Path(options.config).read_text(encoding="utf-8")
    hand = Hand()
    query = job.start(spark, settings, text, _taking(settings, hand, sink, job))
    _log.info("reading %s of %s", settings.cluster.log.topic, settings.cluster.log.servers)
    kept_seconds = settings.cluster.job.results_hours * 3600.0
    try:
        while query.isActive and not stopping():
            hand.work(sink.take, _LOOK_SECONDS)
            sink.settle()
            job.forget_tables(settings.cluster.job.results, kept_seconds)
        hand.close()
        failure = query.exception()
        query.stop()
        if failure is not None:
            raise JobError(f"the job ended: {str(failure)[-_FAILURE_SHOWN:]}")
    finally:
        if served is not None:
            served.close()
        sink.close()
        journal.close()
        spark.stop()
    _log.info("stopped: what was read is in the checkpoint")
    return 0


def _stopping() -> Callable[[], bool]:
    """Return what says whether SIGTERM or SIGINT came."""
    came: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        del frame
        came.append(number)

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, note)
    return lambda: bool(came)


def _taking(
    settings: Settings, hand: Hand, sink: Sink, job: ModuleType
) -> Callable[[int, Any], None]:
    """Return what is done with each batch: alerts and figures, then the tables."""
    folder, letters_most = settings.cluster.job.results, settings.journal.dead_letters

    def take(batch: int, frame: Frame) -> None:
        began = time.time()
        frame = frame.persist()
        try:
            told = frame.select("block", "body").collect()
            said = [(row["block"], results.load(bytes(row["body"]))) for row in told]
            right = hand.over(batch, said)
            job.write_table(frame, folder, batch, right)
            letters = [
                {"block": block, **letter._asdict()}
                for block, each in said
                for letter in each.dead_letters
            ]
            spark = frame.sparkSession
            job.write_beside(spark, folder, "deadletters", batch, letters[:letters_most])
            job.write_beside(spark, folder, "references", batch, sink.suspects())
        finally:
            frame.unpersist()
        _log.info("batch %d: %d blocks in %.1f s", batch, len(said), time.time() - began)

    return take


class Hand:
    """Hands batches from the thread of the engine to the one that owns the journal."""

    def __init__(self) -> None:
        self._waiting: Queue[_Batch] = Queue()
        self._closed = Event()

    def over(self, batch: int, said: Said) -> Right:
        """Return what taking a batch returned; raises what it raised."""
        given = _Batch(batch, said)
        self._waiting.put(given)
        while not given.done.wait(_LOOK_SECONDS):
            if self._closed.is_set():
                raise JobError("the driver stops; the batch comes again")
        if given.error is not None:
            raise given.error
        return given.right

    def work(self, take: Callable[[int, Said], Right], seconds: float) -> None:
        """Take the batch that is handed over within so many seconds, if there is one."""
        try:
            given = self._waiting.get(timeout=seconds)
        except Empty:
            return
        try:
            given.right = take(given.batch, given.said)
        except MonitorError as error:
            given.error = error
        given.done.set()

    def close(self) -> None:
        """Take no more."""
        self._closed.set()


@dataclass
class _Batch:
    batch: int
    said: Said
    done: Event = field(default_factory=Event)
    error: MonitorError | None = None
    right: Right = field(default_factory=lambda: Right({}, {}))
