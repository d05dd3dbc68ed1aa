"""The fault trial of the cluster: what is killed with -9, what comes out, how long it took.

mosquitto -> `monitor bridge` -> a log that speaks Kafka's protocol -> `monitor cluster` on a
local-cluster of two executors. While messages come (duplicates, late references, revisions, an
event) it kills the bridge, an executor, and the driver. In the end every series of the result
tables must equal, bit for bit, what one daemon's own parts say of the same messages.

Run: python benchmarks/cluster_trial.py [--short] [--sensors 40] [--events 120]
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "engine"))

import numpy as np
import pyarrow.parquet as pq
from fleet_messages import stream
from harness.broker import Mosquitto
from harness.kafka import TestLog
from harness.programs import free_port

from monitor.assembly import assemble
from monitor.config import load
from monitor.engine.records import Message
from monitor.engine.results import STATISTICS
from monitor.sources.publish import BrokerPublisher

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
WAIT_SECONDS = 420.0
MEMORY = ("spark.driver.memory=768m", "spark.executor.memory=768m")


def waited(what: str, true: Callable[[], object], seconds: float = WAIT_SECONDS) -> float:
    """Return how many seconds it took until ``true``; raises TimeoutError."""
    began = time.monotonic()
    while time.monotonic() - began < seconds:
        if true():
            return time.monotonic() - began
        time.sleep(0.25)
    raise TimeoutError(what)


class Trial:
    """All processes of one trial, and what they have said."""

    def __init__(self, folder: Path, master: str) -> None:
        self.folder, self.master = folder, master
        (folder / "broker").mkdir()
        (folder / "log").mkdir()
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

    def start(self, command: str, *more: str) -> None:
        """Start `monitor` with a command, in a group of its own."""
        with (self.folder / f"{command}.txt").open("ab") as out:
            self.running[command] = subprocess.Popen(
                [sys.executable, "-m", "monitor", command, "--config", str(self.settings), *more],
                stdout=out,
                stderr=out,
                start_new_session=True,
            )

    def start_cluster(self) -> None:
        """Start the driver; its executors are its children."""
        self.start("cluster", *(word for option in MEMORY for word in ("--spark", option)))

    def kill(self, command: str) -> None:
        """Kill a process, and all that it started, with -9."""
        process = self.running.pop(command)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def said(self, command: str) -> str:
        """Return what a command wrote."""
        path = self.folder / f"{command}.txt"
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

    def batches(self) -> int:
        """Return how many batches all drivers have done."""
        return self.said("cluster").count(" blocks in ")

    def executor(self) -> int | None:
        """Return the process of one executor, None if there is none."""
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    words = (entry / "cmdline").read_bytes().split(b"\0")
                    group = os.getpgid(int(entry.name))
                except OSError:
                    continue
                driver = self.running.get("cluster")
                if (
                    driver is not None
                    and group == driver.pid
                    and b"org.apache.spark.executor.CoarseGrainedExecutorBackend" in words
                ):
                    return int(entry.name)
        return None

    def close(self) -> None:
        """End everything that was started."""
        for command in list(self.running):
            self.kill(command)
        self.log.stop()
        self.broker.stop()


def publish(trial: Trial, messages: list[Message]) -> None:
    """Send messages through the broker, every tenth of them twice."""
    with BrokerPublisher("127.0.0.1", trial.broker.port, client_id=f"p{time.monotonic()}") as out:
        for at, message in enumerate(messages):
            for _ in range(2 if at % 10 == 0 else 1):
                out.publish(message.topic, message.payload)
        out.flush()


def tables(trial: Trial) -> dict[str, dict]:
    """Return the newest row of every series in the result tables."""
    newest: dict[str, tuple[tuple, dict]] = {}
    for folder in (trial.folder / "results").glob("batch=*"):
        if not (folder / "_SUCCESS").exists():
            continue
        for row in pq.read_table(folder).to_pylist():
            rank = (int(folder.name.split("=")[1]),)
            if row["sensor"] not in newest or newest[row["sensor"]][0] < rank:
                newest[row["sensor"]] = rank, row
    return {sensor: row for sensor, (_, row) in newest.items()}


def daemon_rows(trial: Trial, messages: list[Message]) -> dict[str, dict]:
    """Return what one daemon's own parts say of the same messages."""
    settings = load(trial.settings)
    journal = settings.journal.model_copy(update={"path": str(trial.folder / "daemon.sqlite")})
    parts = assemble(settings.model_copy(update={"journal": journal}), 0.0)
    now = time.time()
    for at in range(0, len(messages), 500):
        parts.intake.commit(parts.intake.prepare(messages[at : at + 500], now))
    snapshot = parts.network.evaluate(now)
    parts.journal.close()
    return {
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


def bits(row: dict) -> dict:
    """Return a row with its numbers as bytes: NaN equals NaN, and nothing is rounded."""
    return {
        name: np.float64(value).tobytes() if isinstance(value, float) else value
        for name, value in row.items()
    }


def equal(found: dict[str, dict], wanted: dict[str, dict]) -> list[str]:
    """Return the series that do not equal what is wanted."""
    return [
        sensor
        for sensor, row in wanted.items()
        if sensor not in found or bits({name: found[sensor][name] for name in row}) != bits(row)
    ]


def run(options: argparse.Namespace, folder: Path) -> dict:
    """Run the trial and return its figures."""
    messages = stream([f"cart-{at}" for at in range(options.sensors)], options.events)
    quarter = len(messages) // 4
    trial = Trial(folder, "local[2]" if options.short else CLUSTER)
    figures: dict[str, object] = {"messages": len(messages), "sensors": options.sensors}
    try:
        trial.start("bridge")  # the broker keeps nothing for a session that there never was
        waited("the bridge is connected", lambda: "connected to" in trial.said("bridge"))
        trial.start_cluster()
        publish(trial, messages[:quarter])
        figures["cold start to first batch, s"] = waited("first batch", lambda: trial.batches() > 0)
        trial.kill("bridge")
        publish(trial, messages[quarter : 2 * quarter])  # the broker keeps them
        trial.start("bridge")
        if not options.short:
            executor = trial.executor()
            assert executor is not None, "no executor"
            os.kill(executor, signal.SIGKILL)
            done = trial.batches()
            publish(trial, messages[2 * quarter : 3 * quarter])
            figures["executor killed to next batch, s"] = waited(
                "a batch after the executor", lambda: trial.batches() > done
            )
        else:
            publish(trial, messages[2 * quarter : 3 * quarter])
        trial.kill("cluster")
        done = trial.batches()
        publish(trial, messages[3 * quarter :])
        trial.start_cluster()
        figures["driver killed, restart to first batch, s"] = waited(
            "a batch after the driver", lambda: trial.batches() > done
        )
        wanted = daemon_rows(trial, messages)
        waited("all series are equal", lambda: not equal(tables(trial), wanted), options.wait)
        figures["series equal"] = f"{len(wanted)} of {len(wanted)}"
        figures["alerts told"] = len(re.findall(r"\[\w+: \w+ to \w+,", trial.said("cluster")))
    except TimeoutError as error:
        wanted = daemon_rows(trial, messages)
        wrong = equal(tables(trial), wanted)
        figures["waited in vain for"] = str(error)
        figures["series equal"] = f"{len(wanted) - len(wrong)} of {len(wanted)}"
        for name in wrong[:2]:
            found = tables(trial).get(name, {})
            figures[f"differs: {name}"] = {
                key: (found.get(key), value)
                for key, value in wanted[name].items()
                if bits({key: found.get(key)}) != bits({key: value})
            }
    finally:
        trial.close()
    return figures


def main() -> None:
    """Run the trial and print its figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--short", action="store_true", help="local[2]; the executor is not killed")
    parser.add_argument("--sensors", type=int, default=40)
    parser.add_argument("--events", type=int, default=120)
    parser.add_argument("--wait", type=float, default=120.0, help="seconds for the last of it")
    parser.add_argument("--keep", action="store_true", help="keep the folder")
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="cluster-trial-"))
    began = time.monotonic()
    figures = run(options, folder)
    size = sum(each.stat().st_size for each in folder.rglob("*") if each.is_file())
    figures |= {"all of it, s": time.monotonic() - began, "disk, MB": size / 1e6}
    for name, value in figures.items():
        print(
            f"{name}: {value:.1f}" if isinstance(value, float) else f"{name}: {json.dumps(value)}"
        )
    if options.keep:
        print(folder)
    else:
        shutil.rmtree(folder, ignore_errors=True)
    sensors = str(options.sensors)
    sys.exit(figures["series equal"] != f"{sensors} of {sensors}")


if __name__ == "__main__":
    main()
