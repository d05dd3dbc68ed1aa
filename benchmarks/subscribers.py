"""Processes that read from a broker, ours and the peers, started and stopped alike.

Processor time is that of all threads of a process, in nanoseconds where Linux tells them.
"""

from __future__ import annotations

import atexit
import os
import shutil
import subprocess
import sys
import time
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from harness.daemon import Daemon
from harness.programs import free_port

PEERS = Path(__file__).parents[1] / "build" / "peers"
PACKAGES = ("river==0.26.1", "mqtt-exporter==1.12.1")
PUBLISH_SECONDS = 2.0
_CALM_SECONDS = 1.0
_CALM_SHARE = 0.15  # of a processor: publishing and keeping alive, no messages
_MQTT2PROMETHEUS = """
mqtt:
  server: tcp://127.0.0.1:{port}
  topic_path: monitor/+/mass/reading
  device_id_regex: "monitor/(?P<deviceid>[^/]+)/mass/reading"
  qos: {qos}
metrics:
  - {{prom_name: value, mqtt_name: value, type: gauge, help: v}}
  - {{prom_name: u, mqtt_name: u, type: gauge, help: u}}
"""


def processor_seconds(pid: int) -> float:
    """Return the processor time of a process' threads so far."""
    total = 0
    for each in Path(f"/proc/{pid}/task").iterdir():
        total += int((each / "schedstat").read_text(encoding="ascii").split()[0])
    return 1e-9 * total


def resident_bytes(pid: int | str = "self") -> int:
    """Return how much memory a process holds."""
    pages = int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def peers_python() -> Path:
    """Return the Python that has the peers' packages; made at the first call."""
    python = PEERS / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(PEERS)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", *PACKAGES], check=True)
    return python


class Subscriber(Protocol):
    """Something that reads messages; ``start`` returns the process once it has subscribed."""

    name: str

    def start(self) -> int:
        """Start it and return its process id."""

    def stop(self) -> None:
        """End it."""


class Monitor:
    """``monitor run`` with the settings of a benchmark."""

    name = "monitor"

    def __init__(self, folder: Path, port: int, more: str = "", **options: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        more = more or sources(1)
        settings = "series: {max_new_per_minute: 1000000}\npairing: {max_pending: 1000000}\n"
        forget = "session_expiry_seconds: 0"  # what the others read is not kept for it
        options["mqtt"] = ", ".join([forget, *filter(None, [options.get("mqtt", "")])])
        self.daemon = Daemon(folder, port, settings + more, interval=PUBLISH_SECONDS, **options)

    def start(self) -> int:
        """Start it; what waits for it at the broker is taken first."""
        self.daemon.start()
        atexit.register(self.daemon.kill)  # whatever fails before it is stopped
        assert self.daemon.process is not None
        before, now = -1.0, self.received()
        while now != before:  # MQTT 3.1.1 keeps what came meanwhile
            time.sleep(1.5 * PUBLISH_SECONDS)
            before, now = now, self.received()
        return self.daemon.process.pid

    def stop(self) -> None:
        """End it."""
        self.daemon.stop()

    def received(self) -> float:
        """Return how many messages it has received over the life of its journal."""
        return self.daemon.value("monitor_messages_received_total")


class Program:
    """A peer that is a program with its arguments."""

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        environment: Mapping[str, str] | None = None,
        counter: str = "",
    ) -> None:
        """``counter`` is where it says how many messages it took: an address and a metric."""
        self.name = name
        self._counter = counter
        self._command = command
        self._environment = {**os.environ, **(environment or {})}
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> int:
        """Start it; it has subscribed soon after."""
        self._process = subprocess.Popen(
            self._command,
            env=self._environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        atexit.register(self.stop)
        time.sleep(2.0)
        if self._process.poll() is not None:
            sys.exit(f"{self.name} ended at once: {' '.join(self._command)}")
        return self._process.pid

    def taken(self) -> float | None:
        """Return how many messages it took since it started, None if it does not say."""
        if not self._counter:
            return None
        url, metric = self._counter.split(" ")
        with urllib.request.urlopen(url, timeout=20.0) as answer:
            lines = answer.read().decode().splitlines()
        return sum(float(each.rsplit(" ", 1)[1]) for each in lines if each.startswith(metric))

    def stop(self) -> None:
        """End it."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait(10.0)
            self._process = None


def sources(qos: int) -> str:
    """Return the daemon's sources with a quality of service."""
    kinds = ("reading", "reference")
    lines = [
        f'  - {{topic: "monitor/{{sensor}}/{{quantity}}/{kind}", kind: {kind}, qos: {qos}}}'
        for kind in kinds
    ]
    return "\n".join(["sources:", *lines])


def mosquitto_sub(port: int, qos: int = 1, ca_file: Path | None = None) -> Program:
    """Return mosquitto's own client, which prints what it reads."""
    command = ["mosquitto_sub", "-h", "127.0.0.1", "-p", str(port), "-q", str(qos)]
    if ca_file is not None:
        command += ["--cafile", str(ca_file)]
    return Program("mosquitto_sub", [*command, "-t", "monitor/#"])


def mqtt2prometheus(folder: Path, port: int, qos: int = 1) -> Program:
    """Return the exporter of Debian's package prometheus-mqtt-exporter."""
    if shutil.which("prometheus-mqtt-exporter") is None:
        sys.exit("prometheus-mqtt-exporter is missing: apt-get install prometheus-mqtt-exporter")
    settings = folder / "mqtt2prometheus.yaml"
    settings.write_text(_MQTT2PROMETHEUS.format(port=port, qos=qos), encoding="utf-8")
    command = ["prometheus-mqtt-exporter", "-config", str(settings), "-log-level", "error"]
    http = free_port()
    command += ["-listen-address", "127.0.0.1", "-listen-port", str(http)]
    counter = f"http://127.0.0.1:{http}/metrics received_messages"
    return Program("mqtt2prometheus", command, counter=counter)


def mqtt_exporter(port: int) -> Program:
    """Return the exporter of PyPI's mqtt-exporter; it subscribes with QoS 0 only."""
    peers_python()
    http = free_port()
    environment = {
        "MQTT_PORT": str(port),
        "MQTT_TOPIC": "monitor/+/mass/reading",
        "MAX_METRICS": "100000",
        "PROMETHEUS_ADDRESS": "127.0.0.1",
        "PROMETHEUS_PORT": str(http),
        "LOG_LEVEL": "ERROR",
    }
    counter = f"http://127.0.0.1:{http}/metrics mqtt_message_total"
    return Program("mqtt-exporter", [str(PEERS / "bin" / "mqtt-exporter")], environment, counter)


def plain(port: int, qos: int = 1) -> Program:
    """Return the plain pipeline: paho, json, deque."""
    script = str(Path(__file__).with_name("plain.py"))
    return Program("paho + json + deque", [sys.executable, script, str(port), str(qos)])


def calm(pid: int, seconds: float = 120.0) -> float:
    """Wait until a process hardly works any more; return its processor time then."""
    deadline = time.monotonic() + seconds
    before = processor_seconds(pid)
    while time.monotonic() < deadline:
        time.sleep(_CALM_SECONDS)
        now = processor_seconds(pid)
        if now - before < _CALM_SHARE * _CALM_SECONDS:
            return now
        before = now
    sys.exit("a subscriber did not come to rest")
