"""The job: blocks as keyed state of Spark Structured Streaming, results by batch.

Rules of this file: a block's state is one value and a mark for it; a worker that wrote the value
keeps the block in memory with the mark, and skips reading the state while the mark is the same. A
batch that runs twice gives the same results and overwrites them by its number.
"""

from __future__ import annotations

import gc
import itertools
import os
import sys
import time
import uuid
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from shutil import rmtree
from typing import TYPE_CHECKING, Any, Final

import pandas as pd
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.stateful_processor import (
    StatefulProcessor,
    StatefulProcessorHandle,
    TimerValues,
)

from monitor.config.settings import Settings
from monitor.daemon.runtime import freeze_after_start
from monitor.extensions.cluster import results
from monitor.extensions.cluster.block import Block, Recipe
from monitor.extensions.cluster.fleet_verdicts import FleetVerdict
from monitor.extensions.cluster.log_records import unpack_messages
from monitor.extensions.cluster.recipes import recipe_of, settings_in, worst_of_a_block
from monitor.extensions.cluster.results import STATISTICS
from monitor.extensions.cluster.settings import cluster_of
from monitor.extensions.cluster.spark_source import LogSource

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

_SUBMITTED: Final = "PYSPARK_GATEWAY_PORT"  # set by spark-submit, which knows the master
_STATE: Final = "mark binary, body binary"
_MARK: Final = "mark binary"
_REST_BLOCKS: Final = 200  # blocks between two collections of all memory
_SAID: Final = "block int, body binary, heard binary"
_TEXTS: Final = ("sensor", "quantity", "unit", "group", "state", "sentence", "advice")
_TABLE: Final = pa.schema(
    [
        ("block", pa.int32()),
        ("time", pa.float64()),
        *((name, pa.string()) for name in _TEXTS),
        ("alerts", pa.list_(pa.string())),
        ("evidence", pa.float64()),
        ("window_pairs", pa.int64()),
        ("last_reading", pa.float64()),
        ("last_pair", pa.float64()),
        ("withdrawn", pa.bool_()),
        ("page", pa.bool_()),
        *((name, pa.float64()) for name in STATISTICS),
    ]
)
_OF_A_LINE: Final = tuple(
    name
    for name in results.SeriesLine.__struct_fields__
    if name not in ("statistics", "alerts", "calm", "right")
)
# Tables besides that of the series, in their own folders.
BESIDE: Final = {
    "deadletters": pa.schema(
        [
            ("block", pa.int32()),
            ("received", pa.float64()),
            *((name, pa.string()) for name in ("topic", "reason", "detail", "place")),
            ("payload", pa.binary()),
        ]
    ),
    "references": pa.schema(
        [
            ("time", pa.float64()),
            *((name, pa.string()) for name in ("reference", "quantity", "unit", "sentence")),
            *((name, pa.float64()) for name in ("bias", "lower", "upper", "since")),
            ("sensors", pa.int64()),
            ("agree", pa.int64()),
        ]
    ),
}
# How long a task waits for a lost executor.
_LOCALITY_WAIT: Final = "500ms"
# Java does little besides starting: these options halve the start of driver and executors.
_JAVA: Final = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
_OPTIONS: Final = {
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    "spark.locality.wait": _LOCALITY_WAIT,
    "spark.driver.extraJavaOptions": _JAVA,
    "spark.executor.extraJavaOptions": _JAVA,
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
    "spark.python.daemon.module": "monitor.extensions.cluster.workers",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}

# Blocks made by this worker, the newest last: (run, block) -> (mark, block).
_KEPT: Final[OrderedDict[tuple[str, int], tuple[bytes, Block]]] = OrderedDict()
_WORKED: Final = itertools.count(1)
_RECIPES: Final[dict[str, Recipe]] = {}


class BlockProcessor(StatefulProcessor):
    """Applies the messages of a block to it; one row in, one row out, one value of state."""

    def __init__(self, text: str, run: str) -> None:
        self._text: Final = text
        self._run: Final = run
        self._kept_max: Final = cluster_of(settings_in(text)).job.blocks_in_memory
        self._worst: Final = worst_of_a_block(settings_in(text))
        self._state: Any = None
        self._mark: Any = None

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Declare the state, and its mark, which is cheap to read."""
        self._state = handle.getValueState("block", _STATE)
        self._mark = handle.getValueState("mark", _MARK)

    def handleInputRows(  # noqa: N802 - Spark's name
        self,
        key: tuple[int],
        rows: Iterator[pd.DataFrame],
        timerValues: TimerValues,  # noqa: N803
    ) -> Iterator[pd.DataFrame]:
        """Apply the messages of one block."""
        del timerValues
        (number,) = key
        block = self._block(number)
        messages = [
            message
            for part in rows
            for body in part["messages"]
            for message in unpack_messages(body)
        ]
        applied = block.apply(messages)
        mark, body = uuid.uuid4().bytes, block.dump()
        self._state.update((mark, body))
        self._mark.update((mark,))
        _KEPT[self._run, number] = mark, block
        while len(_KEPT) > self._kept_max:
            _KEPT.popitem(last=False)
        _rest()
        report = results.dump(results.block_report(applied, self._worst, len(body)))
        heard = results.dump(results.changed(applied))
        yield pd.DataFrame({"block": [number], "body": [report], "heard": [heard]})

    def close(self) -> None:
        """Do nothing: nothing is open."""

    def _block(self, number: int) -> Block:
        """Return the block, from memory if that is current, else from the state."""
        held, mark = _KEPT.pop((self._run, number), None), self._mark.get()
        if held is not None and mark is not None and held[0] == bytes(mark[0]):
            return held[1]
        state = self._state.get()
        return Block(_recipe(self._text), None if state is None else bytes(state[1]), number)


def _rest() -> None:
    """Exclude blocks from cycle collections, which Spark's workers run after each task."""
    if next(_WORKED) % _REST_BLOCKS:
        gc.freeze()
    else:
        freeze_after_start()  # traverses everything: blocks no longer kept may be in cycles


def session(settings: Settings, options: dict[str, str] | None) -> SparkSession:
    """Return the session; spark-submit's options take precedence over the settings."""
    job = cluster_of(settings).job
    builder = SparkSession.builder.appName("monitor")
    if _SUBMITTED not in os.environ:
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        builder = builder.master(job.master)
    for name, value in {**_OPTIONS, **(options or {})}.items():
        builder = builder.config(name, value)
    builder = builder.config("spark.sql.shuffle.partitions", str(job.tasks))
    return builder.getOrCreate()


def start(
    spark: SparkSession, settings: Settings, text: str, on_batch: Callable[[int, DataFrame], None]
) -> StreamingQuery:
    """Start the query; ``on_batch`` gets each batch's rows, possibly again after a crash."""
    spark.dataSource.register(LogSource)
    job = cluster_of(settings).job
    came = spark.readStream.format(LogSource.name()).option("settings", text).load()
    processor = BlockProcessor(text, uuid.uuid4().hex)
    out = came.groupBy("block").transformWithStateInPandas(processor, _SAID, "Update", "None")
    return (
        out.writeStream.queryName("monitor")
        .outputMode("update")
        .option("checkpointLocation", job.checkpoint)
        .trigger(processingTime=f"{job.trigger_seconds} seconds")
        .foreachBatch(lambda frame, number: on_batch(number, frame))
        .start()
    )


def write_table(frame: DataFrame, folder: str, batch: int, verdict: FleetVerdict) -> None:
    """Write the series that a batch changed, replacing what it wrote before.

    ``verdict`` corrects the series that blocks could not fully judge.
    """
    columns = ", ".join(f"`{field.name}` {_sql(field.type)}" for field in _TABLE)
    heard = frame.select("block", "heard")
    rows = heard.mapInArrow(lambda parts: _rows(parts, verdict), columns)
    rows.write.mode("overwrite").parquet(f"{folder}/batch={batch}")


def write_beside(
    spark: SparkSession, folder: str, table: str, batch: int, rows: Sequence[Mapping[str, Any]]
) -> None:
    """Write rows of one of :data:`BESIDE`, where readers of the folder's own table do not look."""
    if rows:
        frame = spark.createDataFrame(pa.Table.from_pylist([*rows], BESIDE[table]))
        frame.coalesce(1).write.mode("overwrite").parquet(f"{folder}/_{table}/batch={batch}")


def delete_tables(folder: str, seconds: float, now: float | None = None) -> None:
    """Delete tables of a local folder that are older than ``seconds``, as others may too."""
    before = (time.time() if now is None else now) - seconds
    for pattern in ("batch=*", *(f"_{table}/batch=*" for table in BESIDE)):
        for each in Path(folder).glob(pattern):
            with suppress(FileNotFoundError):
                if each.stat().st_mtime < before:
                    rmtree(each, ignore_errors=True)


def _rows(parts: Iterator[pa.RecordBatch], verdict: FleetVerdict) -> Iterator[pa.RecordBatch]:
    """Unpack the changed series of blocks into rows of the table."""
    for part in parts:
        for block, body in zip(*(part.column(at).to_pylist() for at in (0, 1)), strict=True):
            changed = results.load_changed(body)
            rows = [
                {
                    "block": block,
                    "time": changed.time,
                    **{name: getattr(line, name) for name in _OF_A_LINE},
                    **verdict.of(line)._asdict(),
                    **dict(zip(STATISTICS, line.statistics, strict=True)),
                }
                for line in changed.lines
            ]
            yield pa.RecordBatch.from_pylist(rows, _TABLE)


def _sql(kind: pa.DataType) -> str:
    if pa.types.is_list(kind):
        return "array<string>"
    names = {pa.int32(): "int", pa.int64(): "bigint", pa.float64(): "double"}
    return names.get(kind, "boolean" if kind == pa.bool_() else "string")


def _recipe(text: str) -> Recipe:
    if text not in _RECIPES:
        _RECIPES[text] = recipe_of(settings_in(text))
    return _RECIPES[text]
