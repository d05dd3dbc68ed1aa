"""The fault trial of the cluster: what is killed with -9, what comes out, how long it took.

mosquitto -> `monitor cluster bridge` -> a log that speaks Kafka's protocol -> `monitor cluster run`
on a local-cluster of two executors. While messages come (every tenth twice, late references,
revisions, an event) it kills the bridge, an executor, the driver and an executor again, each amid
its work. In the end every series of the result tables must equal, bit for bit, what one daemon's
own parts say of the same messages, and blocks must have counted each message once.

Run: python benchmarks/cluster_trial.py [--short] [--sensors 40] [--events 120]
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import numpy as np
import pyarrow.parquet as pq
from harness.broker import Mosquitto
from harness.fleet_messages import stream
from harness.kafka import TestLog
from harness.programs import free_port

from monitor.config import load
from monitor.daemon.assembly import assemble
from monitor.extensions.cluster.kafka_log import LogError, TopicReader, properties
from monitor.extensions.cluster.log_records import LogMessage, load_record
from monitor.extensions.cluster.results import STATISTICS
from monitor.mqtt.publish import BrokerPublisher

SETTINGS = """
mqtt: {{port: {mqtt}, client_id: trial, receive_maximum: 500}}
series: {{max_new_per_minute: 100000}}
windows: {{pairs: 40}}
pairing: {{tolerance_seconds: 5, max_wait_hours: 1000}}
journal: {{path: "{folder}/driver.sqlite"}}
sinks: {{log: {{}}}}
cluster:
  blocks: 8
  history_pairs: 64
  log: {{servers: "{servers}", partitions: 2}}
  job:
    master: "{master}"
    trigger_seconds: 5
    tasks: 2
    checkpoint: "{folder}/checkpoint"
    results: "{folder}/results"
    metrics_port: {metrics}
"""
CLUSTER = "local-cluster[2,1,1024]"
EXECUTOR = b"org.apache.spark.executor.CoarseGrainedExecutorBackend"
MEMORY = ("spark.driver.memory=768m", "spark.executor.memory=768m")
WAIT_SECONDS = 240.0
AT_ONCE, PAUSE_SECONDS = 50, 0.05  # about a thousand messages a second
# What must hold on two cores with nothing else to do.
EXECUTOR_SECONDS, DRIVER_SECONDS, ALL_SECONDS, ALL_MEGABYTES = 20.0, 90.0, 600.0, 5000.0
ALERT = re.compile(r"\[\w+: \w+ to \w+, (\w+)\]")
Figures = dict[str, object]


def waited(what: str, true: Callable[[], object], seconds: float = WAIT_SECONDS) -> float:
    """Return how many seconds it took until ``true``; raises TimeoutError."""
    began = time.monotonic()
    while time.monotonic() - began < seconds:
        if true():
            return time.monotonic() - began
        time.sleep(0.05)
    raise TimeoutError(what)


class Memory(threading.Thread):
    """Looks every second at the memory of this process and all that it started, and at the load."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.peak = self.load = 0.0
        self._done = threading.Event()

    def run(self) -> None:
        """Keep the greatest sum, in MB; shared pages count once."""
        while not self._done.wait(1.0):
            self.peak = max(self.peak, sum(map(proportional, descendants(os.getpid()))) / 1000.0)
            self.load = max(self.load, os.getloadavg()[0])

    def stop(self) -> None:
        """Look no more."""
        self._done.set()
        self.join()


def descendants(root: int) -> set[int]:
    """Return a process and all below it."""
    above: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()
            except OSError:
                continue
            above[int(entry.name)] = int(words[1])
    found = {root}
    while more := {pid for pid, parent in above.items() if parent in found} - found:
        found |= more
    return found


def proportional(pid: int) -> int:
    """Return the memory of a process in kB, its share of what it shares; 0 if it is gone."""
    try:
        said = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii")
    except OSError:
        return 0
    found = re.search(r"^Pss: +(\d+)", said, re.MULTILINE)
    return int(found[1]) if found else 0


class Trial:
    """All processes of one trial, and what they have said."""

    def __init__(self, folder: Path, master: str) -> None:
        self.folder = folder
        for name in ("broker", "log", "tmp"):
            (folder / name).mkdir()
        self.broker = Mosquitto(folder / "broker")
        self.log = TestLog(folder / "log")
        self.metrics = free_port()
        self.settings = folder / "settings.yaml"
        text = SETTINGS.format(
            mqtt=self.broker.port,
            folder=folder,
            servers=self.log.servers,
            master=master,
            metrics=self.metrics,
        )
        self.settings.write_text(text, encoding="utf-8")
        self.running: dict[str, subprocess.Popen[bytes]] = {}
        self.sent = 0
        self._worked = set(workers_folders())

    # -- processes ------------------------------------------------------------------------------

    def start(self, action: str, *more: str) -> None:
        """Start `monitor cluster` with an action, in a group of its own."""
        with (self.folder / f"{action}.txt").open("ab") as out:
            self.running[action] = subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    "monitor",
                    "cluster",
                    action,
                    "--config",
                    str(self.settings),
                    *more,
                ],
                stdout=out,
                stderr=out,
                start_new_session=True,
                env=os.environ | {"TMPDIR": str(self.folder / "tmp")},
            )

    def start_cluster(self) -> None:
        """Start the driver; its executors are its children."""
        options = (*MEMORY, f"spark.local.dir={self.folder / 'tmp'}")
        self.start("run", *(word for option in options for word in ("--spark", option)))

    def kill(self, action: str) -> None:
        """Kill a process, and all that it started, with -9."""
        process = self.running.pop(action)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def kill_executor(self) -> None:
        """Kill one executor with -9."""
        for pid in descendants(self.running["run"].pid):
            try:
                words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if EXECUTOR in words:
                os.kill(pid, signal.SIGKILL)
                return
        raise TimeoutError("there is no executor")

    def close(self) -> None:
        """End everything that was started, and take away what Spark leaves in its own folder."""
        for action in list(self.running):
            self.kill(action)
        self.log.stop()
        self.broker.stop()
        for each in set(workers_folders()) - self._worked:
            shutil.rmtree(each, ignore_errors=True)

    # -- messages -------------------------------------------------------------------------------

    def publish(self, messages: list[LogMessage]) -> None:
        """Send messages through the broker, every tenth of them twice."""
        name = f"p{time.monotonic()}"
        with BrokerPublisher("127.0.0.1", self.broker.port, client_id=name) as out:
            for at, message in enumerate(messages):
                for _ in range(2 if at % 10 == 0 else 1):
                    out.publish(message.topic, message.payload)
                    self.sent += 1
                if at % AT_ONCE == 0:
                    time.sleep(PAUSE_SECONDS)
            out.flush()

    def on_log(self) -> int:
        """Return how many records the log has."""
        with self._reading() as reader:
            try:
                return sum(reader.ends().values())
            except LogError:
                return 0

    def from_log(self) -> list[LogMessage]:
        """Return all that the log has."""
        with self._reading() as reader:
            return [
                load_record(body).message
                for partition, end in reader.ends().items()
                for body in reader.read(partition, 0, end)
            ]

    @contextmanager
    def _reading(self) -> Iterator[TopicReader]:
        settings = load(self.settings)
        log = settings.cluster.log
        reader = TopicReader(properties(settings), log.topic, log.partitions)
        try:
            yield reader
        finally:
            reader.close()

    # -- what they say --------------------------------------------------------------------------

    def said(self, action: str) -> str:
        """Return what an action wrote."""
        path = self.folder / f"{action}.txt"
        return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""

    def figure(self, name: str) -> float:
        """Return one metric of the driver, 0 while it does not answer."""
        try:
            url = f"http://127.0.0.1:{self.metrics}/metrics"
            with urllib.request.urlopen(url, timeout=5) as answer:
                lines = answer.read().decode().splitlines()
        except OSError:
            return 0.0
        return sum(float(line.rsplit(" ", 1)[1]) for line in lines if line.startswith(f"{name} "))

    def batches(self, kind: str) -> int:
        """Return how many batches the checkpoint has planned (offsets) or done (commits)."""
        folder = self.folder / "checkpoint" / kind
        return sum(each.name.isdigit() for each in folder.iterdir()) if folder.exists() else 0

    def amid_batch(self) -> bool:
        """Whether a batch is under way."""
        return self.batches("offsets") > self.batches("commits")

    def recovered(self, what: str) -> float:
        """Return the seconds until the batch that is under way, or else the next, is done."""
        done = self.batches("commits")

        def over() -> bool:
            if self.running["run"].poll() is not None:
                raise TimeoutError(f"{what}: the driver has ended")
            return self.batches("commits") > done

        return waited(what, over)


def workers_folders() -> Iterator[Path]:
    """Yield where local-clusters keep what their executors wrote."""
    found = importlib.util.find_spec("pyspark")
    assert found is not None
    assert found.origin is not None
    return (Path(found.origin).parent / "work").glob("app-*")


# -- what must come out -------------------------------------------------------------------------


def tables(trial: Trial) -> dict[str, dict]:
    """Return the newest row of every series in the result tables."""
    newest: dict[str, tuple[int, dict]] = {}
    for folder in (trial.folder / "results").glob("batch=*"):
        if not (folder / "_SUCCESS").exists():
            continue
        rank = int(folder.name.split("=")[1])
        for row in pq.read_table(folder).to_pylist():
            if row["sensor"] not in newest or newest[row["sensor"]][0] < rank:
                newest[row["sensor"]] = rank, row
    return {sensor: row for sensor, (_, row) in newest.items()}


def daemon_says(trial: Trial, messages: list[LogMessage]) -> tuple[dict[str, dict], int]:
    """Return what one daemon's parts say of each series, and how many messages they counted."""
    settings = load(trial.settings)
    journal = settings.journal.model_copy(update={"path": str(trial.folder / "daemon.sqlite")})
    parts = assemble(settings.model_copy(update={"journal": journal}), 0.0)
    now = time.time()
    for at in range(0, len(messages), 500):
        parts.intake.commit(parts.intake.prepare(messages[at : at + 500], now))
    snapshot = parts.network.evaluate(now)
    counted = parts.journal.totals()["committed"]
    parts.journal.close()
    rows = {
        name.sensor: {
            "state": snapshot.states[row],
            "window_pairs": int(snapshot.window_pairs[row]),
            "last_pair": float(snapshot.last_pair[row]),
            "evidence": float(snapshot.evidence[row]),
            "sentence": snapshot.sentences[row],
            **{
                each: float(snapshot.statistics[each][row])
                for each in STATISTICS
                if each in snapshot.statistics
            },
        }
        for row, name in enumerate(snapshot.names)
    }
    return rows, counted


def bits(row: dict) -> dict:
    """Return a row with its numbers as bytes: NaN equals NaN, and nothing is rounded."""
    return {
        name: np.float64(value).tobytes() if isinstance(value, float) else value
        for name, value in row.items()
    }


def unequal(found: dict[str, dict], wanted: dict[str, dict]) -> list[str]:
    """Return the series that do not equal what is wanted."""
    return [
        sensor
        for sensor, row in wanted.items()
        if sensor not in found or bits({name: found[sensor][name] for name in row}) != bits(row)
    ]


def held(trial: Trial, messages: list[LogMessage], seconds: float) -> Figures:
    """Wait until all series are as they must be; return what came out.

    The daemon gets what is on the log: a message that cannot be used counts as often as it came.
    """
    with suppress(TimeoutError):  # what is missing is counted below
        waited("the bridge passes on the last", lambda: trial.on_log() >= trial.sent, seconds)
    arrived = trial.from_log()
    wanted, counted = daemon_says(trial, arrived)
    sent, came = ({(each.topic, each.payload) for each in some} for some in (messages, arrived))
    figures: Figures = {
        "messages": len(messages),
        "lost before the log": len(sent ^ came),
        "repeated by the bridge": len(arrived) - trial.sent,
    }

    def looked() -> bool:
        wrong = unequal(tables(trial), wanted)
        figures["series equal"] = f"{len(wanted) - len(wrong)} of {len(wanted)}"
        more = int(trial.figure("monitor_cluster_messages_committed")) - counted
        figures["messages lost"], figures["messages counted twice"] = max(0, -more), max(0, more)
        figures["differ"] = {
            name: {
                key: (row.get(key), value)
                for key, value in wanted[name].items()
                if bits({key: row.get(key)}) != bits({key: value})
            }
            for name in wrong[:2]
            for row in [tables(trial).get(name, {})]
        }
        return not wrong and not more

    seen = -1

    def done() -> bool:
        nonlocal seen
        before, seen = seen, trial.batches("commits")
        return seen != before and looked()

    try:
        waited("all series are equal", done, seconds)
    except TimeoutError:
        looked()
    if not figures["differ"]:
        del figures["differ"]
    told = ALERT.findall(trial.said("run"))
    figures |= {"alerts told": len(set(told)), "alerts told again": len(told) - len(set(told))}
    return figures


# -- what is done to them -----------------------------------------------------------------------


def cold_start(trial: Trial, messages: list[LogMessage]) -> dict[str, float]:
    """Begin."""
    trial.start("bridge")  # the broker keeps nothing for a session that there never was
    waited("the bridge is connected", lambda: "connected to" in trial.said("bridge"))
    trial.start_cluster()
    trial.publish(messages)
    return {"cold start to first batch, s": trial.recovered("the first batch")}


def bridge_killed(trial: Trial, messages: list[LogMessage]) -> dict[str, float]:
    """Kill the bridge while messages come; start it again when all have come to the broker."""
    before = trial.on_log()
    coming = threading.Thread(target=trial.publish, args=(messages,))
    coming.start()
    waited("the bridge passes on", lambda: trial.on_log() > before)
    trial.kill("bridge")
    coming.join()
    trial.start("bridge")
    all_of_them = before + len(messages)
    passed = waited("the bridge passes on the rest", lambda: trial.on_log() >= all_of_them)
    return {"bridge killed, restart to all on the log, s": passed}


def executor_killed(trial: Trial, messages: list[LogMessage], seconds: float) -> dict[str, float]:
    """Kill an executor so many seconds after a batch began."""
    waited("the batch before is done", lambda: not trial.amid_batch())
    half = len(messages) // 2
    trial.publish(messages[:half])
    waited("a batch began", trial.amid_batch)
    time.sleep(seconds)
    trial.kill_executor()
    began = time.monotonic()
    coming = threading.Thread(target=trial.publish, args=(messages[half:],))
    coming.start()
    trial.recovered("a batch after the executor was killed")
    took = time.monotonic() - began
    coming.join()
    return {"executor killed to batch done, s": took}


def driver_killed(trial: Trial, messages: list[LogMessage]) -> dict[str, float]:
    """Kill the driver, and with it its executors, amid a batch, and start it again."""
    waited("the batch before is done", lambda: not trial.amid_batch())
    half = len(messages) // 2
    trial.publish(messages[:half])
    waited("a batch began", trial.amid_batch)
    time.sleep(0.5)
    trial.kill("run")
    trial.publish(messages[half:])
    trial.start_cluster()
    took = trial.recovered("a batch after the driver was killed")
    return {"driver killed, restart to first batch, s": took}


def elsewhere(message: LogMessage) -> LogMessage:
    """Return a message; what cannot be read comes from a sensor that has no series.

    The share of what could not be used hangs on the order of arrival, as a daemon's does.
    """
    if message.payload != b"{":
        return message
    return LogMessage(message.received, "monitor/broken/mass/reading", message.payload)


def run(options: argparse.Namespace, folder: Path) -> Figures:
    """Run the trial and return its figures."""
    names = [f"cart-{at}" for at in range(options.sensors)]
    messages = [elsewhere(each) for each in stream(names, options.events)]
    acts: list[Callable[[Trial, list[LogMessage]], dict[str, float]]] = [cold_start, bridge_killed]
    if not options.short:
        acts.append(lambda trial, some: executor_killed(trial, some, 0.1))
    acts.append(driver_killed)
    if not options.short:
        acts.append(lambda trial, some: executor_killed(trial, some, 0.8))
    figures: Figures = {}
    trial = Trial(folder, "local[2]" if options.short else CLUSTER)
    memory = Memory()
    memory.start()
    try:
        for at, act in enumerate(acts):
            first, stop = (len(messages) * each // len(acts) for each in (at, at + 1))
            for name, value in act(trial, messages[first:stop]).items():
                figures[name] = max(float(str(figures.get(name, 0.0))), value)
    except TimeoutError as error:
        figures["waited in vain for"] = str(error)
    finally:
        try:
            figures |= held(trial, messages, options.wait)
        finally:
            trial.close()
            memory.stop()
    return figures | {"peak memory, MB": memory.peak, "load average, at most": memory.load}


def missed(figures: Figures, sensors: int) -> list[str]:
    """Return what does not hold."""
    most = {
        "executor killed to batch done, s": EXECUTOR_SECONDS,
        "driver killed, restart to first batch, s": DRIVER_SECONDS,
        "all of it, s": ALL_SECONDS,
        "peak memory, MB": ALL_MEGABYTES,
        "lost before the log": 0,
        "messages lost": 0,
        "messages counted twice": 0,
    }
    found = [
        f"{name} is more than {limit}"
        for name, limit in most.items()
        if float(str(figures.get(name, 0))) > limit
    ]
    if figures["series equal"] != f"{sensors} of {sensors}":
        found.append("not every series is equal")
    if "waited in vain for" in figures:
        found.append(f"waited in vain for {figures['waited in vain for']}")
    return found


def main() -> None:
    """Run the trial and print its figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--short", action="store_true", help="local[2]; no executor is killed")
    parser.add_argument("--sensors", type=int, default=40)
    parser.add_argument("--events", type=int, default=120)
    parser.add_argument("--wait", type=float, default=120.0, help="seconds for the last of it")
    parser.add_argument("--keep", action="store_true", help="keep the folder")
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="cluster-trial-"))
    began = time.monotonic()
    figures = run(options, folder)
    figures["all of it, s"] = time.monotonic() - began
    for name, value in figures.items():
        print(
            f"{name}: {value:.1f}" if isinstance(value, float) else f"{name}: {json.dumps(value)}"
        )
    if options.keep:
        print(folder)
    else:
        shutil.rmtree(folder, ignore_errors=True)
    wrong = missed(figures, options.sensors)
    for each in wrong:
        print(f"missed: {each}")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
