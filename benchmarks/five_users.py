"""New users, from a fresh clone in a fresh virtual environment to what the pages promise.

    python benchmarks/five_users.py [--users weighing,air,process,home,data,abroad,...] [--keep]

Rules of this file: the commands are those of README.md and of the pages of docs/, read from them,
so that the pages are what is tried; the programs (mosquitto, prometheus) are the real ones. What a
user must see stands here beside where the page promises it. The clone is of the last commit; pip
installs it with its dependencies once, as README.md says, and each user has a folder and a
broker of their own. Ends with 1 at the first promise that is not kept, and names it.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from itertools import product
from pathlib import Path
from random import Random
from typing import Any
from zoneinfo import ZoneInfo

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from harness.broker import Mosquitto
from harness.device_messages import references, zigbee2mqtt
from harness.pages import PROJECT, Block, blocks
from harness.programs import free_port, need
from harness.prometheus import Prometheus

from monitor.decode.formats.sparkplug_payload import Payload
from monitor.mqtt.publish import BrokerPublisher

PATIENCE_SECONDS = 600.0


class NotSeenError(Exception):
    """A page promises what was not seen."""


class User:
    """Somebody with a folder, a broker and the commands of the pages."""

    def __init__(self, name: str, clone: Path, programs: Path, stack: ExitStack) -> None:
        self.name, self.clone = name, clone
        self.folder = clone.parent / name
        (self.folder / "broker").mkdir(parents=True)
        self.broker = Mosquitto(self.folder / "broker")
        self.stack = stack
        self.page = free_port()
        self._environment = {
            "PATH": f"{programs}:{os.environ['PATH']}",
            "HOME": str(self.folder),
            "LANG": "C.UTF-8",
        }
        stack.callback(self.broker.stop)

    # -- what a user does ---------------------------------------------------------------------

    def follow(self, page: str, *, until: str = "", languages: tuple[str, ...] = ("sh",)) -> str:
        """Do what a page of the clone says, up to a block that has ``until``; return what it says.

        Blocks that say of themselves that they are not run are left to the caller.
        """
        print(f"\n{self.name}: {page}")
        said = []
        for block in blocks(self.clone / page):
            if until and until in block.text:
                break
            if block.file:
                (self.folder / block.file).write_text(self.here(block.text), encoding="utf-8")
            elif block.language in languages and not block.how.startswith("not run, "):
                said.append(self._block(block))
        return "\n".join(said)

    def run(self, command: str, *, wanted: int = 0, patient: bool = False) -> str:
        """Run a command until it ends as ``wanted``; return what it says, on both streams."""
        began = time.monotonic()
        while True:
            done = subprocess.run(
                ["bash", "-eo", "pipefail", "-c", self.here(command)],
                cwd=self.folder,
                env=self._environment,
                check=False,
                capture_output=True,
                text=True,
                timeout=PATIENCE_SECONDS,
            )
            passed = time.monotonic() - began
            if done.returncode == wanted or not patient or passed > PATIENCE_SECONDS:
                break
            time.sleep(0.5)
        self._shown(command, passed)
        said = done.stdout + done.stderr
        if done.returncode != wanted:
            raise NotSeenError(f"`{command}` ended with {done.returncode}:\n{said}")
        for strange in ("Traceback", "Warning"):
            if strange in said:
                raise NotSeenError(f"`{command}` says {strange}:\n{said}")
        return said

    def begin(self, command: str) -> None:
        """Start a daemon, and wait until its page is ready."""
        for file in self.folder.glob("*.yaml"):
            file.write_text(self.here(file.read_text(encoding="utf-8")), encoding="utf-8")
        began, log = time.monotonic(), self.folder / "log"
        with log.open("wb") as out:
            process = subprocess.Popen(
                ["bash", "-c", f"exec {self.here(command)}"],
                cwd=self.folder,
                env=self._environment,
                stdout=out,
                stderr=out,
            )
        self.stack.callback(process.wait, PATIENCE_SECONDS)
        self.stack.callback(process.terminate)
        self.wait("the page is ready", lambda: self.get("/readyz") is not None or None)
        self._shown(f"{command} &", time.monotonic() - began)

    def here(self, text: str) -> str:
        """Return ``text`` with the addresses of this machine."""
        text = text.replace("broker.example", "127.0.0.1")
        text = re.sub(r"\b1883\b", str(self.broker.port), text)
        return re.sub(r"\b9108\b", str(self.page), text)

    def get(self, path: str) -> str | None:
        """Return what the daemon answers, None while it does not."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.page}{path}", timeout=60) as told:
                return str(told.read().decode())
        except (urllib.error.URLError, OSError):
            return None

    # -- what a user sees ---------------------------------------------------------------------

    def sees(self, what: str, pattern: str, text: str) -> None:
        """Print what a page promised and is there; raises NotSeenError."""
        found = re.search(pattern, text)
        if found is None:
            raise NotSeenError(f"{what}: no /{pattern}/ in\n{text[-3000:]}")
        print(f"    seen: {what}: {' '.join(found[0].split())}", flush=True)

    def sees_soon(self, what: str, pattern: str, source: Callable[[], str | None]) -> None:
        """Wait for what a page promises."""
        began, told = time.monotonic(), ""
        while time.monotonic() - began < PATIENCE_SECONDS:
            told = source() or ""
            if re.search(pattern, told):
                break
            time.sleep(0.2)
        self.sees(f"{what}, after {time.monotonic() - began:.1f} s", pattern, told)

    def wait(self, what: str, source: Callable[[], object]) -> None:
        """Wait until ``source`` gives anything but None."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while source() is None:
            if time.monotonic() > deadline:
                log = (self.folder / "log").read_text(encoding="utf-8")
                raise NotSeenError(f"in vain: {what}\n{log}")
            time.sleep(0.1)

    # -- inside -------------------------------------------------------------------------------

    def _block(self, block: Block) -> str:
        if block.language == "python":
            (self.folder / "page.py").write_text(block.text, encoding="utf-8")
            return self.run("python page.py")
        if block.how == "background":
            self.begin(block.text.strip())
            return ""
        wanted = int(found[1]) if (found := re.fullmatch(r"ends with (\d+)", block.how)) else 0
        patient = block.how.startswith("repeated")
        lines = _commands(block.text)
        return "".join(self.run(each, wanted=wanted, patient=patient) for each in lines)

    def _shown(self, command: str, seconds: float) -> None:
        shortened = " ".join(command.split())
        print(f"  {seconds:6.1f} s  {shortened[:110]}", flush=True)


def _commands(script: str) -> list[str]:
    """Return the commands of a script; a line that ends with a backslash goes on."""
    whole = re.sub(r"\\\n\s*", " ", script)
    return [line for line in whole.splitlines() if line.strip()]


# -- the users ------------------------------------------------------------------------------------


def weighing(user: User) -> None:
    """A contractor who weighs cattle: scales.md."""
    said = user.follow("docs/scales.md")
    user.sees("a pair would be made", r"error \+8\.5", said)
    user.sees("a reference by hand", r"crush weight 512\.5.*published on \S+", said)
    user.sees("a re-zero", r"a new epoch begins", said)
    page = user.get("/series/otago.north.p03.vendor/weight") or ""
    user.sees("the page of a platform", r"<title>[^<]*</title>", page)
    user.sees("its sentence until the re-zero", r"reads \d+ kg heavy", user.get("/alerts") or "")


def air(user: User) -> None:
    """An air network with Prometheus: air.md, deploy/prometheus."""
    said = user.follow("docs/air.md", until="monitor event")  # after which n0403 begins anew
    user.sees("one message gives two readings (page)", r"2 readings", said)
    user.sees("the sentence of the page", r"reads \d[\d.]* ug/m3 low", user.get("/") or "")
    text = (user.clone / "deploy/prometheus/prometheus.yml").read_text(encoding="utf-8")
    text = text.replace("monitor:9108", f"127.0.0.1:{user.page}").replace("15s", "1s")
    text = text.replace("scrape_timeout: 10s", "scrape_timeout: 1s").replace(
        "alertmanager:", "127.0.0.1:"
    )
    rules = user.clone / "deploy/prometheus/alerts.yml"
    text = text.replace("- alerts.yml", f"- {rules}")
    began = time.monotonic()
    prometheus = Prometheus(user.folder, "", text)
    user.stack.callback(prometheus.stop)
    print(f"  {time.monotonic() - began:6.1f} s  prometheus --config.file=prometheus.yml &")
    active = 'monitor_alert_active{sensor="n0403"} == 1'
    user.sees_soon("a metric line", r"'alert': 'offset'", lambda: str(prometheus.query(active)))
    user.sees_soon(
        "an alert of the shipped rules",
        r"'alertname': 'SensorOffset'[^}]*'n0403'",
        lambda: str(prometheus.query('ALERTS{alertname="SensorOffset"}')),
    )


def process(user: User) -> None:
    """A chemical plant with Sparkplug, and SenML: process.md, formats.md."""
    said = user.follow("docs/process.md")
    user.sees("g/cm3 has become kg/m3 (page)", r"841\.2 kg/m3", said)
    analyser = "/api/v1/series/AT-4012/density"
    user.sees("no fault yet (page)", r"no fault found yet|right within", user.get(analyser) or "")
    section = (user.clone / "docs/formats.md").read_text(encoding="utf-8").split("\n## senml\n")[1]
    settings, script = re.findall(r"(?ms)^```(?:yaml|sh)\n(.*?)^```$", section)[:2]
    (user.folder / "senml.yaml").write_text(settings, encoding="utf-8")
    user.run("monitor check-config senml.yaml")
    said = "".join(user.run(each) for each in _commands(script))
    user.sees("SenML in pounds has become kg", r"512\.\d+ kg", said)
    user.sees("SenML is used", r"would be used: 1 reading", said)


def home(user: User) -> None:
    """A tinkerer with Home Assistant: discover.md, outlets.md."""
    page = (user.clone / "docs/discover.md").read_text(encoding="utf-8")
    script = re.findall(r"(?ms)^```sh\n(.*?)^```$", page)[0]
    find, check, start = _commands(script)
    print(f"\n{user.name}: docs/discover.md")
    with _Devices(user.broker.port):
        said = user.run(user.here(f"{find} --seconds 8").replace("127.0.0.1 ", _address(user)))
        user.sees("what was found (page)", r"temperature: \d+ of \d+ sensors? paired", said)
        user.run(check)
        user.begin(start)
        user.sees_soon(
            "a sensor with a space and an umlaut", r"Küche Süd", lambda: user.get("/api/v1/series")
        )
        user.sees_soon(
            "its pairs",
            r'"pairs":[1-9]',
            lambda: (user.get("/api/v1/series") or "").replace(" ", ""),
        )
    second = User("home-mqtt", user.clone, _programs(user), user.stack)
    second.follow("docs/outlets.md")
    port = second.broker.port
    said = second.run(f"mosquitto_sub -h 127.0.0.1 -p {port} -t monitor/status -C 1")
    second.sees("the daemon's status", "online", said)
    said = second.run(f"mosquitto_sub -h 127.0.0.1 -p {port} -t monitor/verdict/cart-03/mass -C 1")
    second.sees("a verdict", r'"sentence": ?"[^"]*"', said)
    said = second.run(
        f"mosquitto_sub -h 127.0.0.1 -p {port} -t 'homeassistant/device/+/config' -C 1"
    )
    second.sees("a device of Home Assistant", r'"unique_id": ?"[^"]*"', said)


def data(user: User) -> None:
    """A data scientist: python.md, data.md."""
    user.run("pip install --quiet pandas")
    print(f"\n{user.name}: docs/python.md")
    script = "".join(
        block.text for block in blocks(user.clone / "docs/python.md") if block.language == "python"
    )
    (user.folder / "page.py").write_text(script, encoding="utf-8")
    said = user.run("python page.py")
    user.sees("the verdict on a frame", r"cart-2\s.*reads \d[\d.]* kg (heavy|high)", said)
    said = user.follow("docs/data.md")
    user.sees("a row without a number is counted", r"1 of 3 rows lacks a number", said)
    user.sees("the report", r"<title>[^<]*", (user.folder / "report.html").read_text("utf-8"))


_ABROAD = """\
mqtt: {host: broker.example, port: 1883}
journal: {path: state/journal.sqlite}
http: {port: 9108}
sources:
  - {topic: "air/{sensor}/{quantity}", kind: reading, unit: ug/m3}
areas:
  - {subject: SUED, sensors: ["n*"]}
pairing: {mode: mean_over_reference_interval, reading_seconds: 900, correlation: 0}
"""


def abroad(user: User) -> None:
    """A network of 300 nodes and a station abroad, with its CSV; the commands stand here."""
    print(f"\n{user.name}: a station's table (references.md)")
    (user.folder / "abroad.yaml").write_text(user.here(_ABROAD), encoding="utf-8")
    user.run("monitor check-config abroad.yaml")
    user.begin("monitor run --config abroad.yaml")
    first = datetime(2026, 3, 1, tzinfo=ZoneInfo("Europe/Berlin"))
    random = Random(17)
    truth = [round(12.0 + 6.0 * math.sin(hour / 4.0), 1) for hour in range(48)]
    began = time.monotonic()
    with BrokerPublisher("127.0.0.1", user.broker.port) as out:
        for hour, node, quarter in product(range(48), range(300), range(4)):
            at = first + timedelta(hours=hour, minutes=15 * quarter + 7)
            value = truth[hour] + random.gauss(9.0 if node == 17 else 0.0, 2.0)
            reading = {"time": at.isoformat(), "value": value, "u": 2.0}
            out.publish(f"air/n{node:03}/pm25", json.dumps(reading).encode())
    print(f"  {time.monotonic() - began:6.1f} s  57 600 readings of 300 nodes")
    rows = [
        f"{first + timedelta(hours=at):%d.%m.%Y;%H:%M};{value:.1f};{'U' if at == 9 else 'V'}"
        for at, value in enumerate(truth)
    ]
    table = "\r\n".join(["Meßstelle Süd", "Datum;Uhrzeit;PM2,5 [µg/m³];Güte", *rows, ""])
    (user.folder / "süd.csv").write_bytes(
        table.replace(".", ",").replace(",03,", ".03.").encode("cp1252")
    )
    said = user.run(
        "monitor reference --config abroad.yaml süd.csv --save-recipe süd.yaml --subject SUED "
        "--quantity pm25 --encoding cp1252 --skip-lines 1 --time-zone Europe/Berlin "
        "--time-format '%d.%m.%Y %H:%M' --duration 1h --stamp start --where 'Güte=V' --u 0.3 "
        "--columns 'time=Datum+Uhrzeit,value=\"PM2,5 [µg/m³]\"'"
    )
    user.sees("the rows of good quality", r"47 references published, all ack\w+", said)
    user.sees_soon(
        "the node that reads 9 too high",
        r"reads (8\.[5-9]|9(\.[0-5])?)\d* ug/m3 high",
        lambda: user.get("/api/v1/series/n017/pm25"),
    )
    user.sees_soon(
        "no other fault",
        r'"matching":300,.*"firing":1,',
        lambda: user.get("/api/v1/series?rows=1"),
    )


def indicator(user: User) -> None:
    """A bench scale that sends the lines of its display, checked with weights."""
    print(f"\n{user.name}: monitor init scales")
    user.run("monitor init scales")
    user.begin("monitor run --config monitor.yaml")
    random, rows = Random(5), ["time,mass,u"]
    topic = "scales/hall-2"
    with BrokerPublisher("127.0.0.1", user.broker.port) as out:
        out.publish(topic, b"US,NT,+  3.000kg")
        for _ in range(40):
            weight = random.choice((5.0, 10.0, 15.0, 20.0))
            shown = weight + 0.03 + random.gauss(0.0, 0.002 + 0.0002 * weight)
            out.publish(topic, f"ST,NT,+{shown:8.3f}kg".encode())
            out.flush()
            rows.append(f"{datetime.now(UTC).isoformat()},{weight:.5f},0.00003")
            time.sleep(1.0)
    (user.folder / "weights.csv").write_text("\n".join(rows), encoding="utf-8")
    said = user.run(
        "monitor reference --config monitor.yaml weights.csv --subject hall-2 --quantity mass "
        "--columns value=mass --unit kg"
    )
    user.sees("the weights", r"40 references published, all ack\w+", said)
    user.sees_soon(
        "the scale that reads 0.03 heavy",
        r"reads 0\.0(29|30|31)\d* kg heavy",
        lambda: user.get("/api/v1/series/hall-2/mass"),
    )
    user.sees("the line in motion", r'reason="quality"\} 1', user.get("/metrics") or "")


def colocation(user: User) -> None:
    """Sensors beside a certified monitor, a column each, from a spreadsheet of their logger."""
    print(f"\n{user.name}: a wide table")
    random, rows = Random(6), ["Site 7, colocation", "Date,Time,BAM [ug/m3],pm25_a,pm25_b,pm25_c"]
    for hour in range(300):
        at, truth = divmod(hour, 24), random.uniform(5.0, 40.0)
        read = [truth * gain + random.gauss(0.0, 1.5) for gain in (1.0, 1.35, 1.0)]
        read[2] += 6.0
        cells = ",".join(f"{each:.1f}" for each in (truth, *read))
        day = datetime(2026, 3, 1, at[1], tzinfo=UTC) + timedelta(days=at[0])
        rows.append(f"{day:%Y-%m-%d,%H:%M},{cells}")
    (user.folder / "colocation.csv").write_text("\n".join(rows), encoding="utf-8")
    said = user.run("monitor score colocation.csv", wanted=65)
    user.sees("how to read it", r"--skip-lines 1", said)
    said = user.run(
        "monitor score colocation.csv --skip-lines 1 --wide 'pm25_*' --columns 'reference=BAM' "
        "--assume-u 1.5 --time-zone UTC"
    )
    user.sees("an honest one", r"pm25_a value: right within", said)
    user.sees("a gain of 1.35", r"pm25_b value: .*gain 1\.3\d*", said)
    user.sees("6 too high", r"pm25_c value: reads (5\.[89]|6(\.[0-2])?)\d* ug/m3 high", said)


def plant(user: User) -> None:
    """A plant on Sparkplug, whose laboratory exports a table of samples."""
    print(f"\n{user.name}: configs/process.yaml, a LIMS export")
    user.run("monitor init process")
    user.begin("monitor run --config monitor.yaml")
    random, berlin = Random(7), ZoneInfo("Europe/Berlin")
    first = datetime(2026, 3, 1, 6, tzinfo=berlin)
    rows = ["Probe;Entnahme;Dichte [g/cm3];U;k;Status"]
    topic = "spBv1.0/PlantA/{}/edge7/AT-4012"
    names = ("density/value", "density/U95")
    with BrokerPublisher("127.0.0.1", user.broker.port) as out:
        birth = [{"name": name, "alias": at, "datatype": 10} for at, name in enumerate(names, 7)]
        out.publish(topic.format("DBIRTH"), _sparkplug(first, 0, birth))
        for at in range(80):
            sampled = first + timedelta(hours=8 * at)
            truth = random.gauss(841.0, 2.0)
            stated = truth + 1.2 + random.gauss(0.0, 0.3)
            numbers = [{"alias": 7, "double_value": stated}, {"alias": 8, "double_value": 0.6}]
            message = _sparkplug(sampled + timedelta(seconds=80), at % 255 + 1, numbers)
            out.publish(topic.format("DDATA"), message)
            told = f"{truth / 1000.0:.5f}".replace(".", ",")
            status = "storniert" if at == 3 else "freigegeben"
            rows.append(f"S-{at:05};{sampled:%d.%m.%Y %H:%M};{told};0,0001;2;{status}")
    (user.folder / "lims.csv").write_text("\n".join(rows), encoding="utf-8")
    said = user.run(
        "monitor reference --config monitor.yaml lims.csv --subject AT-4012 --quantity density "
        "--columns 'id=Probe,time=Entnahme,value=Dichte,u=U/k,status=Status' --decimal-comma "
        "--time-format '%d.%m.%Y %H:%M' --time-zone Europe/Berlin "
        "--status-words freigegeben=final,storniert=void"
    )
    user.sees("the samples", r"80 references published, all ack\w+", said)
    user.sees_soon(
        "the analyser that reads 1.2 high",
        r"reads 1\.[12]\d* kg/m3 high[^}]*\"pairs\":7\d",
        lambda: user.get("/api/v1/series/AT-4012/density"),
    )


_FORECAST = """\
import numpy as np, pandas as pd
import monitor
random = np.random.default_rng(3)
true = np.exp(random.normal(2.7, 0.6, 5000))
std = 0.8 + 0.12 * true * np.exp(random.normal(0.0, 0.25, 5000))
factor = np.where(true > np.quantile(true, 0.7), 1.6, 1.0)
frame = pd.DataFrame({"model": "nn", "pred": true + factor * std * random.normal(size=5000)})
times = pd.date_range("2026-01-01", periods=5000, freq="h", tz="UTC")
frame = frame.assign(std=std, obs=true, at=times)
names = {"value": "pred", "u": "std", "reference": "obs", "time": "at"}
print(monitor.score(frame, **names, unit="ug/m3", covariates=["level"]))
other = frame.assign(model="gp", pred=true + 1.3 * std * random.normal(size=5000), std=1.3 * std)
both = pd.concat([frame, other])
print(*monitor.compare(both, "nn", "gp", by="model", **names)["sentences"])
quantiles = frame[["at", "obs"]].assign(q05=frame.pred - 1.645 * std, q50=frame.pred)
quantiles["q95"] = frame.pred + 1.645 * std
print(monitor.score(quantiles, reference="obs", time="at", quantiles="q*").sentences)
centre = true + std * random.normal(size=5000)
members = centre[:, None] + std[:, None] * random.normal(size=(5000, 20))
members = pd.DataFrame(members).add_prefix("m")
print(monitor.score(members.assign(obs=true), reference="obs", members="m*").sentences)
"""


def forecast(user: User) -> None:
    """A student with forecasts of PM2.5 in a frame, too sure of themselves when it is high."""
    print(f"\n{user.name}: import monitor")
    user.run("pip install --quiet pandas")
    (user.folder / "forecast.py").write_text(_FORECAST, encoding="utf-8")
    said = user.run("python forecast.py")
    user.sees("where it is too sure", r"factor of 1\.[56]\d* \([^)]*\) above 2\d ug/m3", said)
    user.sees("the better of two", r"gp reads better .*lower is better; p = 0\.0001", said)
    user.sees("quantiles", r"\['data: understates its uncertainty by a factor of 1\.2", said)
    user.sees("members", r"\['data: (right within|no fault)", said)


_CITY = """
pairing: {mode: mean_over_reference_interval, reading_seconds: 600, correlation: 0}
areas: [{subject: S1, sensors: ["*"]}]
"""


def _particles(at: float) -> float:
    return 22.0 + 9.0 * math.sin(at / 13751.0) + 6.0 * math.sin(at / 44000.0)


def _node(random: Random, node: int, at: float) -> tuple[str, str]:
    """Return what a node sends: the third reads 25 % high, the eighteenth is stuck."""
    value = _particles(at) * (1.25 if node == 3 else 1.0) + random.gauss(0.0, 4.0)
    value, then = 17.0 if node == 18 else max(value, 0.0), datetime.fromtimestamp(at, UTC)
    if node < 14:
        return f"zigbee2mqtt/n{node}", json.dumps({"pm25": round(value), "linkquality": 90})
    if node < 27:
        local = f"{then.astimezone(ZoneInfo('Europe/Berlin')):%Y-%m-%dT%H:%M:%S}"
        payload: dict[str, Any] = {"Time": local, "PMS5003": {"PM2.5": round(value)}}
        return f"tele/n{node}/SENSOR", json.dumps(payload)
    uplink = {"decoded_payload": {"pm2_5": round(value, 1)}}
    payload = {"end_device_ids": {"device_id": f"n{node}"}, "uplink_message": uplink}
    payload["received_at"] = then.isoformat().replace("+00:00", "Z")
    return f"v3/city@ttn/devices/n{node}/up", json.dumps(payload)


def city(user: User) -> None:
    """A municipality with forty nodes of three makes that state no u, and a station's files."""
    print(f"\n{user.name}: discover, a past, tables of a station")
    random = Random(8)
    last = time.time() // 3600.0 * 3600.0

    ended = threading.Event()

    def publish() -> None:
        with BrokerPublisher("127.0.0.1", user.broker.port) as out:
            while not ended.wait(1.0):
                for node in range(40):
                    topic, payload = _node(random, node, time.time())
                    out.publish(topic, payload.encode())

    thread = threading.Thread(target=publish)
    thread.start()
    said = user.run(f"monitor discover {_address(user)} --seconds 8 --out monitor.yaml")
    ended.set()
    thread.join()
    user.sees("what was found", r"3 sources read 40 of them: 40 sensors", said)
    settings = user.folder / "monitor.yaml"
    text = settings.read_text(encoding="utf-8").replace("9108", str(user.page))
    settings.write_text(text.replace("3 + 0.1 *", "2 + 0.1 *") + _CITY, encoding="utf-8")
    said = user.run("monitor check-config monitor.yaml")
    if "is part of no name" in said:
        raise NotSeenError(said)
    lines = []
    for at, node in product(range(int(last) - 2 * 86400, int(last), 600), range(40)):
        topic, payload = _node(random, node, float(at))
        lines.append(json.dumps({"time": float(at), "topic": topic, "payload": payload}))
    (user.folder / "past.jsonl").write_text("\n".join(lines), encoding="utf-8")
    user.run("monitor replay past.jsonl --config monitor.yaml --direct")
    rows = ["Datum;Uhrzeit;PM2,5 (µg/m³);Status"]
    for hour in range(48):
        begin = last - 2 * 86400.0 + 3600.0 * hour
        mean = sum(_particles(begin + 600.0 * part) for part in range(6)) / 6.0 + random.gauss(
            0.0, 0.3
        )
        end = datetime.fromtimestamp(begin, UTC) + timedelta(hours=1)
        rows.append(f"{end:%d.%m.%Y;%H:%M};{_german(mean, 1)};V")
    (user.folder / "station.csv").write_text("\n".join(rows), encoding="cp1252")
    user.begin("monitor run --config monitor.yaml")
    said = user.run(
        "monitor reference --config monitor.yaml station.csv --subject S1 --quantity pm25 --u 0.3 "
        "--encoding cp1252 --where Status=V --time-zone UTC --time-format auto --duration 1h "
        "--stamp end --columns 'time=Datum+Uhrzeit,value=\"PM2,5 (µg/m³)\"'"
    )
    user.sees("the hours", r"48 references published, all ack\w+", said)
    for node, pattern in (
        ("n3", r"gain 1\.2|reads [3-7][\d.]* ug/m3 high"),
        ("n18", r"stuck at 17"),
    ):
        path = f"/api/v1/series/{node}/pm25"
        user.sees_soon(f"what is wrong with {node}", pattern, lambda path=path: user.get(path))


def _german(number: float, digits: int) -> str:
    return f"{number:,.{digits}f}".translate(str.maketrans(",.", ".,"))


def weights(user: User) -> None:
    """A metrologist with a year of weighings, U (k = 2) and decimal commas."""
    print(f"\n{user.name}: monitor score, monitor report")
    random, rows = Random(11), ["Datum;Waage;Anzeige [mg];U (k=2) [mg];Soll [mg];u Soll [mg]"]
    for at in range(60):
        day, nominal = datetime(2025, 11, 3, 9, 30, tzinfo=UTC) + timedelta(days=6 * at), 20000.0
        shown = _german(nominal + 0.6 * at / 60.0 + random.gauss(0.0, 0.15), 2)
        rows.append(f"{day:%d.%m.%Y %H:%M};XP205;{shown};0,30;{_german(nominal, 3)};0,025")
    (user.folder / "weights.csv").write_text("\n".join(rows), encoding="utf-8-sig")
    how = (
        "weights.csv --columns 'time=Datum,sensor=Waage,value=Anzeige [mg],u=U (k=2) [mg]/2,"
        "reference=Soll [mg],u_reference=u Soll [mg]' --time-zone Europe/Berlin "
        "--time-format auto --decimal-comma"
    )
    said = user.run(f"monitor score {how}")
    user.sees("the drift", r"XP205 value: (drifts \+0\.00|reads 0\.[3-6]\d* mg heavy)", said)
    user.run(f"monitor report {how} --out report.html")
    page = (user.folder / "report.html").read_text(encoding="utf-8")
    user.sees("the report", r"gain to divide by|offset to subtract", page)


def _sparkplug(time: datetime, seq: int, metrics: list[dict[str, Any]]) -> bytes:
    milliseconds = round(time.timestamp() * 1000.0)
    payload = Payload(timestamp=milliseconds, seq=seq)
    for each in metrics:
        payload.metrics.add(timestamp=milliseconds, **each)
    return bytes(payload.SerializeToString())


USERS: dict[str, Callable[[User], None]] = {
    each.__name__: each
    for each in (
        *(weighing, air, process, home, data, abroad, indicator, colocation, plant),
        *(forecast, city, weights),
    )
}


def _address(user: User) -> str:
    return f"127.0.0.1:{user.broker.port} "


def _programs(user: User) -> Path:
    return user.clone.parent / "monitor" / "bin"


class _Devices:
    """Publishes what a house of Zigbee2MQTT sends, twice a second, with two references."""

    def __init__(self, port: int) -> None:
        self._port, self._ended = port, threading.Event()
        self._thread = threading.Thread(target=self._publish, daemon=True)

    def _publish(self) -> None:
        while not self._ended.wait(0.5):
            for each in (*zigbee2mqtt(time.time()), *references(time.time())):
                subprocess.run(
                    ["mosquitto_pub", "-p", str(self._port), "-t", each.topic]
                    + ["-r"] * each.retain
                    + ["-s"],
                    input=each.payload,
                    check=False,
                )

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()


# -- a fresh machine ------------------------------------------------------------------------------


def installed(folder: Path) -> Path:
    """Clone the last commit and install it as README.md says; return the clone."""
    clone = folder / "clone"
    began = time.monotonic()
    subprocess.run(["git", "clone", "--quiet", str(PROJECT), str(clone)], check=True)
    print(f"  {time.monotonic() - began:6.1f} s  git clone")
    command = next(
        block.text.strip() for block in blocks(clone / "README.md") if "pip install" in block.text
    )
    began = time.monotonic()
    environment = {**os.environ, "HOME": str(folder)}
    environment.pop("VIRTUAL_ENV", None)
    done = subprocess.run(
        ["bash", "-ec", f"{command} && monitor --version"],
        cwd=clone,
        env=environment,
        check=False,
        capture_output=True,
        text=True,
    )
    print(f"  {time.monotonic() - began:6.1f} s  {command}")
    if done.returncode:
        raise NotSeenError(done.stdout + done.stderr)
    print(f"    seen: {done.stdout.strip().splitlines()[-1]}")
    return clone


def main() -> int:
    """Play the users and print what each saw."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--users", default=",".join(USERS))
    parser.add_argument("--keep", action="store_true", help="leave the folder there")
    options = parser.parse_args()
    for program in ("mosquitto", "mosquitto_pub", "prometheus", "curl"):
        need(program)
    folder = Path(tempfile.mkdtemp(prefix="five-users-"))
    try:
        clone = installed(folder)
        for name in options.users.split(","):
            began = time.monotonic()
            with ExitStack() as stack:
                USERS[name](User(name, clone, folder / "monitor" / "bin", stack))
            print(f"{name}: everything seen within {time.monotonic() - began:.0f} s", flush=True)
    except NotSeenError as error:
        print(f"NOT SEEN: {error}")
        return 1
    finally:
        if options.keep:
            print(folder)
        else:
            subprocess.run(["rm", "-rf", str(folder)], check=False)
    return 0


if __name__ == "__main__":
    sys.exit(main())
