"""What people are told of a thousand sensors, by real Prometheus and Alertmanager.

A thousand sensors at thirty sites, 150 with a fault, ten of each kind, of which 30 are repaired
meanwhile, go through mosquitto to the daemon. Their alerts reach Alertmanager both ways: by the
rules for Prometheus and by the sink. Each text is held against the sentence of the API. The routes
are those that are shipped, a day lasting 48 s; a notification is an e-mail with the shipped text.

    python benchmarks/alert_texts.py [sink|rules]        # writes its table to standard output
"""

from __future__ import annotations

import re
import socketserver
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from email import message_from_bytes
from email.policy import default
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import yaml

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from harness.alertmanager import Alertmanager
from harness.broker import Mosquitto
from harness.daemon import Daemon
from harness.every_fault import as_stated, fleet_with_every_fault
from harness.programs import until
from harness.prometheus import Prometheus

from monitor.core.model import Observation, Reading, Reference
from monitor.core.verdict import FAULTS
from monitor.mqtt.publish import BrokerPublisher
from monitor.simulate.playback import native_message

DEPLOY: Final = Path(__file__).parents[1] / "deploy"
SENSORS: Final = 1000
SITES: Final = 30
EACH: Final = 10  # sensors with each fault, of which REPAIRED are repaired
REPAIRED: Final = 2
CALM_PAIRS: Final = 60
HONEST_PAIRS: Final = 300  # after a repair
DAY_SECONDS: Final = 48  # an hour is two seconds, in which an e-mail is sent
DAYS: Final = 2
SETTLE_SECONDS: Final = 10.0  # two looks of Prometheus
SETTINGS: Final = """
places_file: {folder}/places.csv
groups: [{{name: air, sensors: ["*"]}}]
series: {{stale_after_seconds: 864000}}
pairing: {{mode: key}}
sources:
  - {{topic: "monitor/{{sensor}}/{{quantity}}/reading", kind: reading, unit: kg}}
  - {{topic: "monitor/{{subject}}/{{quantity}}/reference", kind: reference, unit: kg}}
"""
SINK: Final = """
sinks: {{alertmanager: {{url: "{url}", repeat_seconds: 2, instance: "{instance}"}}}}
"""
_NUMBER: Final = re.compile(r"[+-]?\d+(?:\.\d+)?")


class Mail(socketserver.ThreadingTCPServer):
    """A mail server that keeps the text of what it gets."""

    daemon_threads = allow_reuse_address = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Session)
        self.texts: list[str] = []
        threading.Thread(target=self.serve_forever, daemon=True).start()


class _Session(socketserver.StreamRequestHandler):
    server: Mail

    def handle(self) -> None:
        self.wfile.write(b"220 here\r\n")
        while line := self.rfile.readline().strip().upper():
            if line == b"DATA":
                self.wfile.write(b"354 go on\r\n")
                letter = b"".join(iter(self.rfile.readline, b".\r\n"))
                part = message_from_bytes(letter, policy=default).get_body(("plain",))
                assert part is not None
                self.server.texts.append(part.get_content().strip())
            self.wfile.write(b"221 bye\r\n" if line == b"QUIT" else b"250 ok\r\n")


class Relay(ThreadingHTTPServer):
    """Passes posts on to Alertmanager, and knows how large they were."""

    daemon_threads = True

    def __init__(self, target: str) -> None:
        super().__init__(("127.0.0.1", 0), _Passing)
        self.target, self.sizes = target, list[int]()
        threading.Thread(target=self.serve_forever, daemon=True).start()


class _Passing(BaseHTTPRequestHandler):
    server: Relay

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        self.server.sizes.append(len(body))
        head = {"content-type": "application/json"}
        request = urllib.request.Request(f"http://{self.server.target}{self.path}", body, head)
        with urllib.request.urlopen(request) as answer:
            self.send_response(answer.status)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_words: object) -> None:
        return


class Row(NamedTuple):
    """What one way to Alertmanager came to."""

    way: str
    alerts: int
    differ: int
    missing: int
    a_day: int
    longest: int
    largest_post: int


def sensors() -> list[str]:
    """Return all names: the faulty ones say their fault."""
    faulty = [f"{fault}-{at}" for at in range(EACH) for fault in FAULTS]
    return faulty + [f"calm-{at:03}" for at in range(SENSORS - len(faulty))]


def until_repair(end: float) -> Iterator[Observation]:
    """Yield what all sensors send, those with faults since their beginning."""
    for at in range(EACH):
        yield from fleet_with_every_fault(end, 100 + at, f"{{fault}}-{at}")
    for at, sensor in enumerate(sensors()[EACH * len(FAULTS) :]):
        yield from honest(sensor, np.linspace(end - 36_000.0, end, CALM_PAIRS), seed=1000 + at)


def honest(sensor: str, times: np.ndarray, seed: int) -> Iterator[Observation]:
    """Yield readings whose errors are as large as they say, with their references."""
    random = np.random.default_rng(seed)
    truth, error = random.normal(500.0, 7.0, times.size), random.normal(0.0, 1.0, times.size)
    for moment, true, off in zip(times.tolist(), truth.tolist(), error.tolist(), strict=True):
        key = f"{moment:.3f}"
        yield Reading(sensor, "mass", moment, true + off, u=1.0, key=key)
        yield Reference(sensor, "mass", moment, true, u=0.1, key=key)


def routes(mail: Mail) -> str:
    """Return the shipped configuration with e-mails, in which a day is shorter."""
    text = (DEPLOY / "alertmanager" / "alertmanager.yml").read_text(encoding="utf-8")
    configuration = yaml.safe_load(text)
    for receiver in configuration["receivers"]:
        del receiver["webhook_configs"]
        address = f"127.0.0.1:{mail.server_address[1]}"
        receiver["email_configs"] = [
            {
                "smarthost": address,
                "from": "monitor@site.example",
                "to": "people@site.example",
                "require_tls": False,
                "html": "",
                "text": '{{ template "monitor.text" . }}',
            }
        ]
    configuration["templates"] = [f"{DEPLOY}/alertmanager/*.tmpl"]
    text = yaml.safe_dump(configuration)
    text = re.sub(r"\b24h\b", f"{DAY_SECONDS}s", text).replace("23h", f"{DAY_SECONDS * 23 // 24}s")
    return re.sub(r"\b(?:30s|10s|15m|5m|2h)\b", "1s", text)


def publish(port: int, observations: Iterator[Observation]) -> None:
    """Send observations to the broker."""
    with BrokerPublisher("127.0.0.1", port) as out:
        for observation in observations:
            out.publish(*native_message(observation, unit="kg"))
        out.flush()


def of_faults(alerts: Sequence[dict]) -> dict[str, dict]:
    """Return the alerts of faults by sensor; each sensor has one."""
    faulty = [each for each in alerts if each["labels"].get("fault") in FAULTS]
    by_sensor = {each["labels"]["sensor"]: each for each in faulty}
    return by_sensor if len(by_sensor) == len(faulty) else {}


def differs(alert: dict, document: dict, way: str) -> bool:
    """Return whether an alert says another thing than the API says of its sensor."""
    notes, verdict = alert["annotations"], document["verdict"]
    if way == "sink":
        texts = (notes["sentence"], notes.get("advice", ""))
        return texts != (document["sentence"], document["advice"])
    text = notes["summary"].partition(" (mass) ")[2].partition(", not right since")[0]
    text = text.replace("+-", "")
    shown = [float(each) for each in _NUMBER.findall(text)]
    is_unclear = text.startswith("is not as right as it says")
    if alert["labels"]["fault"] != verdict["fault"]:
        return not is_unclear
    if verdict["fault_estimate"] is None or is_unclear:
        return is_unclear != (verdict["fault_estimate"] is None)
    stated = as_stated(verdict) if verdict["fault"] != "lag" else []
    return not all(np.isclose(shown, each, rtol=0.006).any() for each in stated)


class Trial:
    """One way to Alertmanager: its daemon, and what it and Alertmanager said."""

    def __init__(self, folder: Path, stack: ExitStack, way: str) -> None:
        folder.mkdir()
        self.way, self.mail = way, Mail()
        self.alertmanager = Alertmanager(folder / "alertmanager", routes(self.mail))
        stack.callback(self.alertmanager.stop)
        self.relay = Relay(self.alertmanager.target)
        (folder / "places.csv").write_text(
            "sensor,latitude,longitude,site\n"
            + "".join(f"{each},0,0,site-{at % SITES:02}\n" for at, each in enumerate(sensors()))
        )
        self.broker = Mosquitto(folder)
        stack.callback(self.broker.stop)
        url = f"http://127.0.0.1:{self.relay.server_address[1]}"
        more = SETTINGS.format(folder=folder)
        more += SINK.format(url=url, instance="here") if way == "sink" else ""
        self.daemon = Daemon(folder, self.broker.port, more, interval=1.0)
        stack.callback(self.daemon.kill)
        self.daemon.start()
        if way == "rules":
            self._scrape(folder / "prometheus", stack)

    def _scrape(self, folder: Path, stack: ExitStack) -> None:
        folder.mkdir()
        (folder / "alerts.yml").write_text((DEPLOY / "prometheus" / "alerts.yml").read_text())
        settings = (DEPLOY / "prometheus" / "prometheus.yml").read_text(encoding="utf-8")
        settings = re.sub(r"(scrape|evaluation)_interval: \w+", r"\1_interval: 5s", settings)
        settings = re.sub(r"scrape_timeout: \w+", "scrape_timeout: 5s", settings)
        settings = settings.replace(
            "alertmanager:9093", f"127.0.0.1:{self.relay.server_address[1]}"
        )
        settings = settings.replace("monitor:9108", self.daemon.url.removeprefix("http://"))
        prometheus = Prometheus(folder, "", settings, "--rules.alert.resend-delay=5s")
        stack.callback(prometheus.stop)

    def documents(self) -> dict[str, dict]:
        """Return what the API says, by sensor."""
        return {each["sensor"]: each for each in self.daemon.json("/api/v1/series")["series"]}

    def firing(self) -> set[str]:
        """Return the sensors with a fault that fires, as the API has it."""
        alerts = self.daemon.json("/api/v1/alerts")["alerts"]
        return {each["sensor"] for each in alerts if each["alert"] in FAULTS}

    def agrees(self) -> bool:
        """Return whether Alertmanager has what fires, and no more."""
        alerts = of_faults(self.alertmanager.alerts())
        return bool(alerts) and alerts.keys() == self.firing()

    def run(self) -> Row:
        """Send everything, repair some, and count what was said."""
        end = float(int(time.time()) - 3600)
        publish(self.broker.port, until_repair(end))
        self._wait(sensors(), end)
        until("faults are known", self.agrees)
        before = len(self.firing())
        repaired = [f"{fault}-{at}" for at in range(REPAIRED) for fault in FAULTS]
        times = np.arange(1.0, HONEST_PAIRS + 1.0) + end
        for at, sensor in enumerate(repaired):
            publish(self.broker.port, honest(sensor, times, seed=5000 + at))
        self._wait(repaired, float(times[-1]))
        until("repairs are known", self.agrees)
        time.sleep(SETTLE_SECONDS)
        alerts, documents = of_faults(self.alertmanager.alerts()), self.documents()
        print(f"{self.way}: {before} fired, {len(alerts)} fire", file=sys.stderr, flush=True)
        differ = {of: each for of, each in alerts.items() if differs(each, documents[of], self.way)}
        for sensor, alert in differ.items():
            texts = (alert["annotations"]["summary"], documents[sensor]["sentence"])
            print(*texts, sep=" / ", file=sys.stderr, flush=True)
        count = len(self.mail.texts)
        time.sleep(DAYS * DAY_SECONDS)
        return Row(
            way=self.way,
            alerts=len(alerts),
            differ=len(differ),
            missing=len(self.firing() ^ alerts.keys()),
            a_day=round((len(self.mail.texts) - count) / DAYS),
            longest=max(map(len, self.mail.texts)),
            largest_post=max(self.relay.sizes),
        )

    def _wait(self, names: Sequence[str], end: float) -> None:
        def have_come() -> bool:
            documents = self.documents()
            return all(documents.get(of, {}).get("last_pair") == end for of in names)

        until("all pairs are there", have_come)


def main() -> None:
    """Run the ways that are asked for and print the table."""
    print("| way | alerts | texts that differ | missing or too many ", end="")
    print("| notifications a day | letters of the longest | bytes of the largest post |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for way in sys.argv[1:] or ("sink", "rules"):
        with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
            trial = Trial(Path(folder) / way, stack, way)
            row = trial.run()
            print(trial.mail.texts[-1], file=sys.stderr)
        print(f"| {' | '.join(str(each) for each in row)} |", flush=True)


if __name__ == "__main__":
    main()
