"""The same core on Spark: `monitor cluster run` and `monitor cluster bridge`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Final, NamedTuple

from pydantic import Field

from monitor.config.kinds import Globs, Host, Section, Word, setting
from monitor.config.settings import Settings
from monitor.core.setting import Contradiction, File


class Meaning(NamedTuple):
    """The meaning of a setting or section to `monitor run`, and to `monitor cluster`."""

    key: str
    run: str
    cluster: str


SAME: Final = "the same"
NOTHING: Final = "nothing"
# Every setting has one: the entry whose key is the longest prefix of its path.
MEANINGS: Final = (
    Meaning("mqtt", "how to reach the broker", SAME),
    Meaning(
        "mqtt.client_id",
        "the daemon's session; null: generated once, in the journal",
        "a bridge's session, with -bridge- and its name appended; null: monitor",
    ),
    Meaning(
        "sources",
        "what is read, and how",
        "bridges subscribe and place, blocks decode; certificates are on every node, and only a "
        "daemon tells when they end",
    ),
    Meaning("by_hand", "reads what people publish by hand", SAME),
    Meaning("maintenance", "when readings do not count", SAME),
    Meaning(
        "areas", "which references apply to which sensors", "the same, and which blocks get a copy"
    ),
    Meaning("places", "where sensors are", SAME),
    Meaning("places_file", "where sensors are", "the same; the file is on every node"),
    Meaning("pairing", "who pairs with whom", SAME),
    Meaning(
        "pairing.max_wait_hours",
        "how long observations wait",
        "the same; determines most of the state",
    ),
    Meaning(
        "pairing.max_pending",
        "limit of the daemon",
        "limit of the cluster; a block may hold four times its share",
    ),
    Meaning("windows", "the last pairs of each series", SAME),
    Meaning(
        "windows.precision", "of windows in memory", "the same, and of settled pairs in the state"
    ),
    Meaning("scoring", "how scores are made", SAME),
    Meaning("alerts", "when an alert begins", SAME),
    Meaning(
        "fleet", "over all series", "the same, on the driver, over the blocks that have reported"
    ),
    Meaning(
        "thresholds",
        "limits on statistics",
        "the same; fleet_median on the driver, over the blocks that have reported",
    ),
    Meaning("sinks", "where alerts go", "the same, from the driver"),
    Meaning("verdicts", "the verdict on every series at the broker", NOTHING),
    Meaning("correct", "readings published again, corrected", NOTHING),
    Meaning("covariates", "quantities along which sensors may be wrong", NOTHING),
    Meaning("neighbours", "whether and which sensors are held against their neighbours", NOTHING),
    Meaning("series", "which series there are", SAME),
    Meaning(
        "series.max",
        "limit of the daemon",
        "limit of the cluster; a block may hold four times its share",
    ),
    Meaning("series.forget_after_days", "evicts silent series", NOTHING),
    Meaning(
        "series.max_new_per_minute",
        "limit of the daemon",
        "nothing: a block's series.max bounds it",
    ),
    Meaning(
        "series.stale_after_seconds",
        "noticed at the next round",
        "noticed at the block's next message",
    ),
    Meaning(
        "publish.interval_seconds", "between two rounds", "nothing; cluster.job.trigger_seconds"
    ),
    Meaning("journal.path", "everything accepted", "the alerts sent, on the driver"),
    Meaning("journal.retention_days", "how long pairs are kept", "nothing; cluster.history_pairs"),
    Meaning(
        "journal.dead_letters",
        "how many are kept",
        "how many a batch may add to their table, at most 100 per block",
    ),
    Meaning("budget", "a page of the daemon", NOTHING),
    Meaning("http", "page, API and metrics", "nothing; the ports of the metrics are in cluster"),
    Meaning("otlp", "where metrics are pushed to", NOTHING),
    Meaning("log", "the program's own log", SAME),
    Meaning("groups", "settings of some series", SAME),
    Meaning("overrides", "settings of one series", SAME),
    Meaning("cluster", NOTHING, "the log, the bridges and the job"),
)


Servers = Annotated[str, Field(min_length=1, max_length=2000, pattern=r"^\S+$")]


class ClusterLog(Section):
    """The log (Kafka's protocol) between the bridges and the job."""

    servers: Servers = setting("127.0.0.1:9092", "Its servers: host:port, separated by commas.")
    topic: Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]{1,200}$")] = setting(
        "monitor", "Name of its topic."
    )
    partitions: int = setting(
        8,
        "Number of partitions of the topic; fixed for its life, as cluster.blocks is.",
        ge=1,
        le=100_000,
    )
    properties_file: File | None = setting(
        None, "File of further librdkafka properties, key=value a line; null for none."
    )
    acknowledge_seconds: float = setting(
        30.0,
        "How long a bridge waits for an acknowledgement before it tries again.",
        gt=0,
        le=3600,
    )


class ClusterBridge(Section):
    """The bridges, which copy messages from the broker to the log."""

    share: Word | None = setting(
        None, "Name of the shared subscription of several bridges; null for a single one."
    )
    metrics_port: int | None = setting(
        None,
        "Port of its metrics; null for none, 0 for a free one.",
        ge=0,
        le=65535,
    )


class ClusterJob(Section):
    """The Spark job, which turns the log into results."""

    master: Annotated[str, Field(min_length=1, max_length=500)] = setting(
        "local[2]", "Spark master; spark-submit and SparkApplication set their own."
    )
    trigger_seconds: float = setting(5.0, "Minimum time between two batches.", gt=0, le=3600)
    tasks: int = setting(
        8,
        "Number of tasks that share the blocks; fixed for the checkpoint's life.",
        ge=1,
        le=100_000,
    )
    records_a_batch: int = setting(
        1_000_000, "Maximum number of records in one batch.", ge=1, le=1_000_000_000
    )
    checkpoint: File = setting(
        "state/cluster/checkpoint",
        "Folder or URL of the checkpoint; every node must reach it.",
        validate_default=True,
    )
    results: File = setting(
        "state/cluster/results", "Folder of the Parquet tables of results.", validate_default=True
    )
    results_hours: float = setting(48.0, "How long results are kept.", gt=0, le=87_600)
    metrics_port: int | None = setting(
        9109,
        "Port of its metrics; null for none, 0 for a free one.",
        ge=0,
        le=65535,
    )
    blocks_in_memory: int = setting(
        128,
        "How many blocks a worker keeps in memory between batches.",
        ge=0,
        le=100_000,
    )
    worst: int = setting(
        100, "How many series the metrics show besides those that alert.", ge=0, le=10_000
    )


class Cluster(Section):
    """The same core on Spark: `monitor cluster run` and `monitor cluster bridge`."""

    blocks: int = setting(
        1024,
        "Number of blocks of about 64 sensors; fixed for the checkpoint's life.",
        ge=1,
        le=1_000_000,
    )
    history_pairs: int = setting(
        1000,
        "How many of its last pairs a series keeps; anything older comes too late.",
        ge=64,
        le=1_000_000,
    )
    collocated_subjects: Globs = setting(
        ("*",),
        "Patterns of the subjects that collocations may name; their references go to all blocks.",
    )
    metrics_host: Host = setting(
        "127.0.0.1",
        "Address on which bridges and job serve their metrics, without encryption and password.",
    )
    log: ClusterLog = setting(ClusterLog(), "The log between the bridges and the job.")
    bridge: ClusterBridge = setting(
        ClusterBridge(), "The bridges, which copy messages from the broker to the log."
    )
    job: ClusterJob = setting(ClusterJob(), "The Spark job, which turns the log into results.")

    def contradictions(self) -> Iterator[Contradiction]:
        """Check that there are at least as many blocks as partitions of the log."""
        if self.blocks < self.log.partitions:
            yield Contradiction(("log", "partitions"), "exceeds cluster.blocks", ("blocks", "log"))


SECTION: Final = (
    Cluster,
    setting(Cluster(), "The same core on Spark: `monitor cluster` (docs/scale.md)."),
)


def cluster_of(settings: Settings) -> Cluster:
    """Return the section of settings, with its defaults where they do not have it."""
    section: Cluster = settings.section("cluster") or Cluster()
    return section


def remarks(settings: Settings) -> Iterator[str]:
    """Yield which settings a cluster uses differently from a daemon."""
    if settings.section("cluster") is None:
        return
    for key, daemon, cluster in MEANINGS:
        if cluster != SAME:
            yield f"{key}: run: {daemon}; bridge and cluster: {cluster}"
    same = ", ".join(each.key for each in MEANINGS if each.cluster == SAME)
    yield f"the same in both, except as listed above: {same}"
