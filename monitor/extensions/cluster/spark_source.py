"""The log as a Spark source: packed, one binary row per block and partition.

Rules of this file: offsets are Spark's, in its checkpoint; a range of offsets gives the same rows
whenever and wherever it is read. pyspark's overhead per row costs more than the row, so the
messages of a block travel as one value, or as few.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import TYPE_CHECKING, Final

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit, ReadMaxRows

from monitor.extensions.cluster.kafka_log import TopicReader, batch_ends, properties
from monitor.extensions.cluster.log_records import packed_by_block
from monitor.extensions.cluster.recipes import settings_in
from monitor.extensions.cluster.settings import cluster_of

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

NAME: Final = "monitor-log"
SCHEMA: Final = "block int, messages binary"
_ARROW: Final = pa.schema([("block", pa.int32()), ("messages", pa.binary())])


class Range(InputPartition):
    """Offsets of one partition of the log."""

    def __init__(self, partition: int, first: int, stop: int) -> None:
        super().__init__(partition)
        self.partition = partition
        self.first = first
        self.stop = stop


class LogSource(DataSource):
    """The log of the settings, whose text is the option ``settings``."""

    @classmethod
    def name(cls) -> str:
        """Return the name of the format."""
        return NAME

    def schema(self) -> str:
        """Return the columns."""
        return SCHEMA

    def streamReader(self, schema: StructType) -> LogReader:  # noqa: N802 - Spark's name
        """Return the reader."""
        del schema
        return LogReader(self.options["settings"])


class LogReader(DataSourceStreamReader):
    """Plans ranges of offsets on the driver, reads them on executors."""

    def __init__(self, text: str) -> None:
        self._text: Final = text

    def initialOffset(self) -> dict[str, int]:  # noqa: N802 - Spark's name
        """Return the first offset of each partition."""
        with _opened(self._text) as reader:
            return _named(reader.begins())

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 - Spark's name
        """Return how many records one batch may have."""
        return ReadMaxRows(cluster_of(settings_in(self._text)).job.records_a_batch)

    def latestOffset(  # noqa: N802 - Spark's name
        self, start: dict[str, int], limit: ReadLimit
    ) -> dict[str, int]:
        """Return the end of a batch that begins at ``start``."""
        with _opened(self._text) as reader:
            ends = _named(reader.ends())
        return batch_ends(start, ends, limit.max_rows if isinstance(limit, ReadMaxRows) else None)

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[Range]:
        """Return the ranges of one batch."""
        ranges = [Range(int(name), start.get(name, 0), stop) for name, stop in end.items()]
        return [each for each in ranges if each.first < each.stop]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield rows for the blocks with messages in the range, one a block if they are few."""
        if not isinstance(partition, Range):
            raise TypeError(f"{partition!r} is no range of this source")
        settings = settings_in(self._text)
        blocks, partitions = cluster_of(settings).blocks, cluster_of(settings).log.partitions
        own = range(partition.partition, blocks, partitions)
        with _opened(self._text) as reader:
            bodies = reader.read(partition.partition, partition.first, partition.stop)
            for part in packed_by_block(bodies, own):
                columns = [pa.array([*part], pa.int32()), pa.array([*part.values()], pa.binary())]
                yield pa.RecordBatch.from_arrays(columns, schema=_ARROW)


def _opened(text: str) -> closing[TopicReader]:
    """Return a reader of the log that lives as long as the context."""
    settings = settings_in(text)
    log = cluster_of(settings).log
    return closing(TopicReader(properties(settings), log.topic, log.partitions))


def _named(offsets: dict[int, int]) -> dict[str, int]:
    return {str(partition): offset for partition, offset in offsets.items()}
