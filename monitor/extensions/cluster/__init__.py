"""The same core on Spark, for fleets that one machine cannot hold.

Sensors are hashed by name into blocks of about 64 (`placing`). Bridges (`bridge`) read MQTT, decide
only where a message goes, and append it to a replayable log (`kafka_log`, `log_records`). A Spark
job (`job`, `spark_source`) groups the log by block; each block (`block`) is the daemon's own intake
and network on a small store, loaded from bytes and dumped to bytes (`block_store`). It decides what
it processes together and what comes too late (`too_late`). A block reports its results (`results`)
to the driver, which makes the judgements that need the whole fleet (`fleet_verdicts`,
`fleet_snapshot`) and sends alerts and metrics as the daemon does (`sink`).

Invariants:

* A block gives the daemon's results bit for bit, whatever the order, repetition and batch
  boundaries, because it is the daemon's code; tests hold both against each other.
* A bridge acknowledges a message only once the log has it. Offsets are in Spark's checkpoint, so a
  batch may run twice and then overwrites its own results.
* The state contains its version; newer states are refused.
* An alert is in the driver's journal before a sink has it; a repeated batch notifies nobody again.
* Only `kafka_log` knows the log's client; only `job`, `spark_source` and `workers` know Spark.
  Nothing but the command `cluster` imports this room, so nobody else pays for it.

Considered and rejected: one Spark key per sensor (a key costs more than one sensor's work; hence
blocks); decoding in the bridge (the log would hold observations instead of the received bytes);
Spark's own aggregations (no event-time pairing with revisions, and no equality with the daemon); a
row per message (pyspark's overhead per row costs more than the row, so a block's messages travel as
one value).

What breaks first: references that concern sensors of many blocks are copied to each of them, and
the driver gathers their pairs; a fleet in which every sensor meets every reference overloads it.
The numbers of blocks and partitions are fixed for the life of log and checkpoint.
"""

from __future__ import annotations

from typing import Final

from monitor.extensions import Command, Extension

EXTENSION: Final = Extension(
    name="cluster",
    summary="the same core on Spark",
    page="scale.md",
    settings={"cluster": "monitor.extensions.cluster.settings:SECTION"},
    commands={
        "cluster": Command(
            "run a cluster's job on Spark, or a bridge from the broker to its log",
            "monitor.extensions.cluster.command",
            "more",
        ),
    },
    remarks="monitor.extensions.cluster.settings:remarks",
)
