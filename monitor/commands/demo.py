"""``monitor demo``: broker, fleet with known faults, daemon and page, all on this machine."""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from monitor.alerts.log_sink import LogSettings
from monitor.alerts.outlet import Outlet
from monitor.alerts.transition import Transition
from monitor.config import Credentials, Settings, parse
from monitor.daemon.assembly import Parts, assemble, connect_of
from monitor.daemon.connecting import mqtt_settings
from monitor.daemon.loop import Daemon
from monitor.daemon.publisher import Publisher
from monitor.daemon.runtime import configure
from monitor.http.published import Page
from monitor.http.service import Service, ServiceError
from monitor.mqtt.source import MqttSource
from monitor.simulate.carts import HILL, HILL_DAYS, RACE, SCALE, CartFault
from monitor.simulate.demo_broker import EmbeddedBroker

INTERVAL_SECONDS = 0.2
USUAL_PORT = 9108

# Five animals a second cross each cart: a false alarm should take hours, not minutes.
PATIENCE = 100_000
_CROSSED_BY_ALL = ", ".join(cart.sensor for cart in RACE if not cart.is_apart)

SETTINGS = f"""
mqtt: {{{{host: {{host}}, port: {{port}}, protocol: "3.1.1", client_id: monitor-demo}}}}
sources:
  - {{{{topic: "monitor/{{{{sensor}}}}/{{{{quantity}}}}/reading", kind: reading, unit: kg}}}}
  - {{{{topic: "monitor/{{{{subject}}}}/{{{{quantity}}}}/reference", kind: reference, unit: kg}}}}
areas:
  - {{{{subject: {SCALE}, sensors: [{_CROSSED_BY_ALL}]}}}}
groups:
  - name: hill
    sensors: ["hill-*"]
    alerts: {{{{reference_stale_hours: 4800, due: true, tolerance: 10}}}}
    series: {{{{stale_after_seconds: 90000}}}}
neighbours: {{{{watch: true}}}}
pairing: {{{{mode: key, match_on: [subject, key]}}}}
alerts: {{{{patience: {PATIENCE}}}}}
series: {{{{stale_after_seconds: 10}}}}
publish: {{{{interval_seconds: 1}}}}
journal: {{{{path: "{{state}}/journal.sqlite"}}}}
verdicts: {{{{prefix: monitor, home_assistant: {{{{}}}}}}}}
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("--seconds", type=float, metavar="S", help="stop after S seconds")
    parser.add_argument(
        "--port", type=int, default=USUAL_PORT, help=f"port of the page (default: {USUAL_PORT})"
    )


def run(options: argparse.Namespace) -> int:
    """Run the demonstration until Ctrl-C or for the given time; print a summary."""
    configure("warning", "text")
    with ExitStack() as stack:
        host, port = stack.enter_context(EmbeddedBroker())
        state = stack.enter_context(tempfile.TemporaryDirectory(prefix="monitor-demo-"))
        settings = parse(SETTINGS.format(host=host, port=port, state=state).encode(), "demo")
        parts = assemble(settings, time.time())
        nobody = Credentials(None, None)
        source = MqttSource(mqtt_settings(settings, nobody))
        faults = {cart.sensor: cart.fault(0, 1) for cart in (*RACE, *HILL)}
        stage = Stage(_service(options.port, settings), faults)
        outlets = [Outlet("demo", stage, LogSettings())]
        connect = connect_of(settings, nobody, source.client_id)
        daemon = Daemon(parts, source, Publisher(parts, stage, outlets, connect))
        daemon.signals.install()
        daemon.signals.install_reload()  # a terminal that closes would leave the broker
        if options.seconds is not None:
            timer = threading.Timer(options.seconds, daemon.stop)
            timer.daemon = True
            timer.start()
        stack.callback(stage.service.stop)
        stage.open(settings)
        stack.enter_context(_fleet(host, port, "--interval", str(INTERVAL_SECONDS), "--race"))
        stack.enter_context(_fleet(host, port, "--hill"))
        daemon.run()
        stage.sum_up(parts)
    return 0


class Stage:
    """The output for the person at the terminal."""

    def __init__(self, service: Service, faults: dict[str, CartFault]) -> None:
        self.service = service
        self.requests = service.requests
        self._faults = faults
        self._started = time.monotonic()
        self._found: dict[str, str] = {}
        self._paired = False

    def publish(self, page: Page) -> None:
        """Show a page; report when its first pair is there, and who left its neighbours."""
        self.service.publish(page)
        now = page.snapshot
        pairs = int(now.window_pairs.sum())
        if pairs and not self._paired:
            self._paired = True
            self._say(f"first pairs are in ({pairs})")
        for findings in now.additions.values():
            for row, name in enumerate(now.names):
                words = findings.asks_reference(now, row)
                if words:
                    if name.sensor not in self._found:
                        self._say(f"{name.sensor} {words}")
                    self._found[name.sensor] = words

    def tick(self, seconds: float) -> None:
        """Note that the data's thread is alive."""
        self.service.tick(seconds)

    def deliver(self, transition: Transition) -> None:
        """Print that an alert began or ended."""
        if transition.fires:
            self._found.setdefault(transition.sensor, transition.sentence)
        if transition.is_news:
            self._say(str(transition))

    def open(self, settings: Settings) -> None:
        """Print the addresses of everything."""
        mqtt = settings.mqtt
        print(f"page      {self.service.url}/")
        print(f"metrics   {self.service.url}/metrics")
        print(f"broker    mqtt://{mqtt.host}:{mqtt.port} (MQTT {mqtt.protocol}, this machine only)")
        print("verdicts  monitor/verdict/# on that broker, retained")
        print(f"fleet     {len(RACE)} simulated carts weigh cattle; some of them are faulty")
        print(f"hill      {len(HILL)} more, whose scale was taken away: {HILL_DAYS} days in 25 s")
        print("Press Ctrl-C to stop.\n", flush=True)

    def close(self) -> None:
        """Do nothing: there is nothing to release."""

    def sum_up(self, parts: Parts) -> None:
        """Print the findings beside the truth."""
        now = parts.network.evaluate(time.time())
        sensors = (name.sensor for name in now.names)
        known = dict(zip(sensors, zip(now.states, now.sentences, strict=True), strict=True))
        messages, pairs = parts.intake.counts.committed, int(now.window_pairs.sum())
        counts = f"{messages} messages, {pairs} pairs in the windows"
        print(f"\n{counts}. What is true, and what was found:")
        for sensor, fault in self._faults.items():
            verdict = self._verdict(sensor, fault, *known.get(sensor, ("", "")))
            print(f"  {fault.sentence:<78} {verdict}")
        sys.stdout.flush()

    def _verdict(self, sensor: str, fault: CartFault, state: str, now: str) -> str:
        if sensor in self._found:
            sentence = now if state == "firing" else self._found[sensor]
            return f"found: {sentence}" if fault.alert else "FALSE ALARM"
        if fault.kind == "stops":
            return f"found: {now}" if state == "stale" else "not silent yet"
        return "not found yet" if fault.alert else "nothing to find"

    def _say(self, text: str) -> None:
        print(f"{time.monotonic() - self._started:6.1f} s  {text}", flush=True)


def _service(port: int, settings: Settings) -> Service:
    """Return a running service on ``port``, or on a free one if the usual is taken."""
    service = Service("127.0.0.1", port, host_names=(), extensions=settings.with_pages)
    try:
        service.start()
    except ServiceError:
        if port != USUAL_PORT:
            raise
        return _service(0, settings)
    return service


@contextmanager
def _fleet(host: str, port: int, *options: str) -> Iterator[None]:
    """Run a fleet in its own process: it shares only the broker with the daemon."""
    command = [sys.executable, "-m", "monitor", "simulate", "--broker", f"{host}:{port}", *options]
    fleet = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)  # noqa: S603
    try:
        yield
    finally:
        fleet.terminate()
        fleet.wait(5.0)
