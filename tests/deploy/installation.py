"""What ``deploy/`` ships, running on this machine: only addresses and folders are other ones."""

from __future__ import annotations

import os
import signal
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import msgspec
import numpy as np
from harness.daemon import Daemon
from harness.programs import WAIT_SECONDS, answers, free_port, need, until, written
from harness.prometheus import Prometheus

from monitor.core.model import Reading
from monitor.mqtt.publish import BrokerPublisher
from monitor.simulate.carts import CARTS, CartFleet
from monitor.simulate.playback import native_message

PROJECT = Path(__file__).parents[2]
DEPLOY = PROJECT / "deploy"
HOST = "127.0.0.1"
MORE = """
publish: {interval_seconds: 0.5}
sources:
  - {topic: "monitor/{sensor}/{quantity}/reading", kind: reading, unit: kg}
  - {topic: "monitor/{subject}/{quantity}/reference", kind: reference, unit: kg}
"""
SENSORS = tuple(cart.sensor for cart in CARTS)


def changed(text: str, *changes: tuple[str, str]) -> str:
    """Return ``text`` with each change made; each must have something to change."""
    for old, new in changes:
        assert old in text, f"{old!r} is not in what is shipped"
        text = text.replace(old, new)
    return text


def shipped(name: str, *changes: tuple[str, str]) -> str:
    """Return a file of deploy/, with changes."""
    return changed((DEPLOY / name).read_text(encoding="utf-8"), *changes)


class Secrets:
    """What prepare.sh makes, the real openssl and mosquitto_passwd doing the work."""

    def __init__(self, folder: Path, *sensors: str) -> None:
        need("openssl")
        self.folder = folder
        path = f"{os.environ.get('PATH', '')}:{Path(need('mosquitto_passwd')).parent}"
        command = [str(DEPLOY / "prepare.sh"), str(folder), f"localhost,{HOST}", *sensors]
        subprocess.run(command, check=True, capture_output=True, env={**os.environ, "PATH": path})

    def password(self, account: str) -> str:
        return (self.folder / "accounts" / account).read_text(encoding="utf-8").strip()

    def tls(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=str(self.folder / "ca.pem"))

    def publisher(self, port: int, account: str) -> BrokerPublisher:
        """Return a publisher that is told when the broker refuses (MQTT 5)."""
        return BrokerPublisher(
            HOST,
            port,
            protocol="5",
            username=account,
            password=self.password(account),
            tls=self.tls(),
        )


class Broker:
    """mosquitto with the shipped configuration and access list."""

    def __init__(self, folder: Path, secrets: Secrets) -> None:
        self.port = free_port()
        self._log = folder / "mosquitto.log"
        settings = shipped(
            "mosquitto/mosquitto.conf",
            ("listener 8883", f"listener {self.port} {HOST}"),
            ("/etc/mosquitto/certs/", f"{secrets.folder}/"),
            ("/etc/mosquitto/passwords", str(secrets.folder / "passwords")),
            ("/etc/mosquitto/acl", str(DEPLOY / "mosquitto" / "acl")),
            ("/var/lib/mosquitto/", f"{folder}/"),
        )
        if os.geteuid() == 0:
            settings += "user root\n"  # else it gives up root, and with it these folders
        self._settings = written(folder, "mosquitto.conf", settings)
        self.start()

    def start(self) -> None:
        with self._log.open("ab") as log:
            command = [need("mosquitto"), "-c", str(self._settings)]
            self._process = subprocess.Popen(command, stdout=log, stderr=log)
        until(f"mosquitto listens: {self.log()}", lambda: answers(self.port))

    def stop(self) -> None:
        self._process.send_signal(signal.SIGTERM)
        self._process.wait(WAIT_SECONDS)

    def log(self) -> str:
        return self._log.read_text(encoding="utf-8")


class Alertmanager:
    """The shipped Alertmanager, which does not wait before it tells; ``told`` is what it told."""

    def __init__(self, folder: Path, port: int) -> None:
        self.port = port
        self.told: list[dict] = []
        self._receiver = ThreadingHTTPServer((HOST, 0), _receiving(self.told))
        self._thread = threading.Thread(target=self._receiver.serve_forever)
        self._thread.start()
        url = f"http://{HOST}:{self._receiver.server_address[1]}/"
        settings = shipped(
            "alertmanager/alertmanager.yml",
            ("http://127.0.0.1:8099/", url),
            ("group_wait: 30s", "group_wait: 1s"),
            ("group_wait: 10s", "group_wait: 1s"),
            ("group_wait: 15m", "group_wait: 1s"),
            ("group_interval: 5m", "group_interval: 1s"),
            ("group_interval: 24h", "group_interval: 1s"),
            ("/etc/alertmanager/", f"{DEPLOY}/alertmanager/"),
        )
        command = [need("prometheus-alertmanager")]
        command += [f"--config.file={written(folder, 'alertmanager.yml', settings)}"]
        command += [f"--storage.path={folder}/alertmanager", "--cluster.listen-address="]
        command += [f"--web.listen-address={HOST}:{self.port}"]
        self._process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        until("Alertmanager listens", lambda: answers(self.port))

    def amtool(self, *words: str) -> str:
        """Return what amtool says."""
        command = [need("amtool"), f"--alertmanager.url=http://{HOST}:{self.port}", *words]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        return done.stdout

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait(WAIT_SECONDS)
        self._receiver.shutdown()
        self._thread.join()
        self._receiver.server_close()


def _receiving(told: list[dict]) -> type[BaseHTTPRequestHandler]:
    class Receiver(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            told.append(msgspec.json.decode(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *words: object) -> None:
            pass

    return Receiver


def shipped_prometheus(folder: Path, target: str, alertmanager: str) -> Prometheus:
    """Return the shipped Prometheus with the shipped alerts, looking every second."""
    written(folder, "alerts.yml", shipped("prometheus/alerts.yml"))
    settings = shipped(
        "prometheus/prometheus.yml",
        ("scrape_interval: 15s", "scrape_interval: 1s"),
        ("evaluation_interval: 15s", "evaluation_interval: 1s"),
        ("scrape_timeout: 10s", "scrape_timeout: 1s"),
        ("monitor:9108", target),
        ("alertmanager:9093", alertmanager),
    )
    return Prometheus(folder, target, settings)


class Installation:
    """Broker, daemon, Prometheus and Alertmanager, and a herd that crossed the carts."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        for name in ("broker", "daemon", "prometheus", "alertmanager"):
            (folder / name).mkdir()
        self.secrets = Secrets(folder / "secrets", *SENSORS)
        self.broker = Broker(folder / "broker", self.secrets)
        stack.callback(self.broker.stop)
        port = free_port()
        alertmanager = f"{HOST}:{port}"
        self.daemon = ShippedDaemon(folder / "daemon", self.broker.port, self.secrets, alertmanager)
        stack.callback(self.daemon.kill)
        self.daemon.start()
        self.alertmanager = Alertmanager(folder / "alertmanager", port)
        stack.callback(self.alertmanager.stop)
        target = self.daemon.url.removeprefix("http://")
        self.prometheus = shipped_prometheus(folder / "prometheus", target, alertmanager)
        stack.callback(self.prometheus.stop)
        self.fleet = CartFleet(np.random.default_rng(1), time.time() - 300.0, 2.0)

    def publish(self, seconds_ago: float) -> None:
        """Publish what the fleet sent until so long ago, each sensor under its own account."""
        with ExitStack() as stack:
            accounts = {
                account: stack.enter_context(self.secrets.publisher(self.broker.port, account))
                for account in (*SENSORS, "references")
            }
            for observation in self.fleet.step(time.time() - seconds_ago):
                is_reading = isinstance(observation, Reading)
                account = observation.sensor if is_reading else "references"
                accounts[account].publish(*native_message(observation, unit="kg"))


class ShippedDaemon(Daemon):
    """The daemon with the settings of compose.yaml."""

    def __init__(self, folder: Path, port: int, secrets: Secrets, alertmanager: str) -> None:
        super().__init__(folder, port)
        settings = shipped(
            "compose/monitor.yaml",
            ("host: mosquitto", f"host: {HOST}"),
            ("port: 8883", f"port: {port}"),
            ("/run/secrets/mqtt-password", str(secrets.folder / "accounts" / "monitor")),
            ("/run/secrets/ca.pem", str(secrets.folder / "ca.pem")),
            ("/var/lib/monitor/", f"{folder}/"),
            ("host: 0.0.0.0", f"host: {HOST}"),
            ("port: 9108", "port: 0"),
            ("alertmanager:9093", alertmanager),
        )
        written(folder, "settings.yaml", settings + MORE)


@contextmanager
def installed(folder: Path) -> Iterator[Installation]:
    """Run everything in ``folder``."""
    with ExitStack() as stack:
        yield Installation(folder, stack)


def run(*command: str | Path, **options: object) -> subprocess.CompletedProcess[str]:
    """Run a program and return what it says."""
    words: Sequence[str] = [str(word) for word in command]
    return subprocess.run(words, check=False, capture_output=True, text=True, **options)  # type: ignore[call-overload]
