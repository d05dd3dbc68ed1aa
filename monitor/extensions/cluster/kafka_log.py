"""The replayable log between bridges and job: append, ends, read. The only user of its client.

Rules of this file: when :meth:`Appender.append` returns, its records are on the log; offsets of a
partition only grow; reading what the log no longer has is an error, never a gap. Kafka's protocol,
by librdkafka.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from monitor.config.mistakes import Mistake, SettingsError
from monitor.config.settings import Settings
from monitor.errors import BAD_SETTINGS, UNAVAILABLE, MonitorError, install_hint
from monitor.extensions.cluster.settings import cluster_of

_NEEDED: Final = (
    f"the cluster's libraries are not installed: {install_hint('cluster')} (and a Java 17 for "
    "`monitor cluster run`)"
)
_POLL_SECONDS: Final = 0.5
_READ_SECONDS: Final = 30.0
_CONSUME: Final = 10_000
_BATCH_BYTES: Final = 1_000_000  # of the records that are sent together, if they are several
_TOPIC_BYTES: Final = 65_536  # of a message; with MQTT 5.0 its packet may not have it
_BLOCK_BYTES: Final = 5  # of the name of a block in a record
_FRAME_BYTES: Final = 1024  # of record and batch besides

_log: Final = logging.getLogger("monitor.bridge")


class LogError(MonitorError):
    """The log does not answer, or no longer has the requested records."""

    exit_code = UNAVAILABLE


class MissingLibraryError(MonitorError):
    """The extra ``cluster`` is not installed."""

    exit_code = BAD_SETTINGS

    def __init__(self) -> None:
        super().__init__(_NEEDED)


def record_bytes_max(settings: Settings) -> int:
    """Return the size of the largest record of a message that a bridge accepts."""
    cluster = cluster_of(settings)
    named = _BLOCK_BYTES * (cluster.blocks // cluster.log.partitions + 1)
    return max(_BATCH_BYTES, settings.mqtt.max_packet_bytes + _TOPIC_BYTES + named + _FRAME_BYTES)


def properties(settings: Settings) -> dict[str, str]:
    """Return the client's properties; raises SettingsError where their file is wrong."""
    log = cluster_of(settings).log
    values = {"bootstrap.servers": log.servers, "log_level": "4"}
    if log.properties_file is None:
        return values
    path = Path(log.properties_file)
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = f"cannot be read: {getattr(error, 'strerror', None) or error}"
        raise SettingsError(
            [Mistake(str(path), 1, 1, "cluster.log.properties_file", reason)]
        ) from error
    for number, line in enumerate(lines, start=1):
        text = line.strip()
        if text and not text.startswith("#"):
            key, equals, value = text.partition("=")
            if not equals:
                reason = "is not of the form key=value"
                where = "cluster.log.properties_file"
                raise SettingsError([Mistake(str(path), number, 1, where, reason)])
            values[key.strip()] = value.strip()
    return values


class Appender:
    """Writes to a topic, which is created if it is missing; close it in the end."""

    def __init__(self, settings: Settings, client: Mapping[str, str]) -> None:
        library = _library()
        log = cluster_of(settings).log
        self._topic: Final = log.topic
        self._seconds: Final = log.acknowledge_seconds
        self._failed: list[str] = []
        most = record_bytes_max(settings)
        _ensure_topic(client, log.topic, log.partitions, most)
        self._oversize: list[str] = []
        self._producer: Final = library.Producer(
            {
                "acks": "all",
                "linger.ms": "5",
                "compression.type": "lz4",
                "message.timeout.ms": str(int(1000 * log.acknowledge_seconds)),
                "queue.buffering.max.messages": "1000000",
                "batch.size": str(_BATCH_BYTES),
                "message.max.bytes": str(most),
                **client,
            },
        )
        self._failure: Final = library.KafkaException
        self._too_large: Final = library.KafkaError.MSG_SIZE_TOO_LARGE

    def append(self, records: Iterable[tuple[int, bytes]]) -> int:
        """Put (partition, body) on the log; return once it is safe there, else LogError.

        Returns how many are not there, because the log takes none of their size.
        """
        self._failed.clear()
        self._oversize.clear()
        count = 0
        for partition, body in records:
            self._produce(partition, body)
            count += 1
        left = self._producer.flush(self._seconds)
        if left or self._failed:
            why = self._failed[0] if self._failed else "no answer in time"
            missing = left + len(self._failed)
            raise LogError(f"the cluster log did not accept {missing} of {count} records: {why}")
        if self._oversize:
            _log.error("some records are too large for the cluster log: %s", self._oversize[0])
        return len(self._oversize)

    def _produce(self, partition: int, body: bytes) -> None:
        try:
            self._producer.produce(
                self._topic, value=body, partition=partition, on_delivery=self._note
            )
        except BufferError as error:
            raise LogError(f"the cluster log does not keep up: {error}") from error
        except self._failure as error:
            self._note(error.args[0], None)

    def close(self) -> None:
        """Close the connections; records without an acknowledgement are not on the log."""
        self._producer.purge()
        self._producer.flush(1.0)

    def _note(self, error: Any, message: Any) -> None:  # noqa: ANN401 - the library's
        """Note a failure; ``message`` is None if the client itself does not take it."""
        if error is None:
            return
        # A larger record is alone in its batch; of others the log may refuse the batch they are in.
        is_alone = message is None or len(message.value()) > _BATCH_BYTES
        is_oversize = is_alone and error.code() == self._too_large
        (self._oversize if is_oversize else self._failed).append(str(error))


class TopicReader:
    """Reads a topic from any offset; no group, no commits: offsets are the engine's."""

    def __init__(self, client: Mapping[str, str], topic: str, partitions: int) -> None:
        self._library: Final = _library()
        self._topic: Final = topic
        self._partitions: Final = partitions
        self._consumer: Final = self._library.Consumer(
            {
                "group.id": "monitor",
                "enable.auto.commit": "false",
                "enable.auto.offset.store": "false",
                "auto.offset.reset": "error",
                "enable.partition.eof": "false",
                "fetch.wait.max.ms": "10",
                "queued.min.messages": "100000",
                **client,
            }
        )

    def begins(self) -> dict[int, int]:
        """Return the first offset that each partition still has."""
        return {partition: self._marks(partition)[0] for partition in range(self._partitions)}

    def ends(self) -> dict[int, int]:
        """Return the offset that comes next in each partition."""
        return {partition: self._marks(partition)[1] for partition in range(self._partitions)}

    def read(self, partition: int, first: int, stop: int) -> Iterator[bytes | None]:
        """Yield the bodies from offset ``first`` up to ``stop``; LogError if some are gone."""
        if first >= stop:
            return
        begin = self._marks(partition)[0]
        if begin > first:
            raise LogError(
                f"partition {partition} of {self._topic} begins at {begin}: {begin - first} "
                "records that were not read yet are gone; let the log keep records longer"
            )
        place = self._library.TopicPartition(self._topic, partition, first)
        self._consumer.assign([place])
        expected, silent = first, 0.0
        while expected < stop:
            messages = self._consumer.consume(min(_CONSUME, stop - expected), _POLL_SECONDS)
            silent = 0.0 if messages else silent + _POLL_SECONDS
            if silent >= _READ_SECONDS:
                raise LogError(f"partition {partition} of {self._topic} does not answer")
            for message in messages:
                error = message.error()
                if error is not None:
                    raise LogError(f"partition {partition} of {self._topic}: {error}")
                offset = message.offset()
                if expected <= offset < stop:
                    yield message.value()
                expected = max(expected, offset + 1)

    def close(self) -> None:
        """Close the connections."""
        self._consumer.close()

    def _marks(self, partition: int) -> tuple[int, int]:
        place = self._library.TopicPartition(self._topic, partition)
        try:
            marks = self._consumer.get_watermark_offsets(place, timeout=_READ_SECONDS)
        except self._library.KafkaException as error:
            raise LogError(f"partition {partition} of {self._topic}: {error}") from error
        if marks is None:
            raise LogError(f"partition {partition} of {self._topic} does not answer")
        return int(marks[0]), int(marks[1])


def batch_ends(
    start: Mapping[str, int], ends: Mapping[str, int], most: int | None
) -> dict[str, int]:
    """Return the end, by partition, of a batch of at most so many records that begins at ``start``.

    Raises LogError if a partition ends before that.
    """
    share = None if most is None else max(1, most // max(1, len(ends)))
    for partition, end in ends.items():
        if end < start.get(partition, 0):
            raise LogError(
                f"partition {partition} of the log ends at {end}, but the checkpoint has read it "
                f"to {start[partition]}: the topic was made anew; begin a new checkpoint"
            )
    if share is None:
        return dict(ends)
    return {name: min(end, start.get(name, 0) + share) for name, end in ends.items()}


def _ensure_topic(client: Mapping[str, str], topic: str, partitions: int, most: int) -> None:
    """Create the topic for records of ``most`` bytes if it is missing.

    Raises LogError if its number of partitions differs.
    """
    library = _library()
    administration = import_module("confluent_kafka.admin")
    admin = administration.AdminClient(dict(client))
    try:
        known = admin.list_topics(timeout=_READ_SECONDS).topics
        if topic not in known:
            # A broker's own limit holds for the smaller ones.
            sizes = {"max.message.bytes": str(most + _FRAME_BYTES)} if most > _BATCH_BYTES else {}
            new = administration.NewTopic(topic, num_partitions=partitions, config=sizes)
            admin.create_topics([new])[topic].result(_READ_SECONDS)
            return
    except library.KafkaException as error:
        raise LogError(f"the log at {client['bootstrap.servers']}: {error}") from error
    count = len(known[topic].partitions)
    if count != partitions:
        raise LogError(
            f"topic {topic} has {count} partitions, cluster.log.partitions says {partitions}; the "
            "number is fixed for the topic's life"
        )


def _library() -> Any:  # noqa: ANN401 - a module that may not be there
    try:
        import confluent_kafka  # noqa: PLC0415 - of the extra
    except ImportError as error:
        raise MissingLibraryError from error
    return confluent_kafka
