"""A folder of a station's tables is watched: with a real broker, and with kills."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from harness.programs import WAIT_SECONDS, until

from monitor.mqtt.publish import BrokerPublisher

HEAD = "time,subject,quantity,value\n"


def rows(*values: float, day: int = 1) -> str:
    return "".join(
        f"2026-03-{day:02}T{at // 60:02}:{at % 60:02}Z,s,x,{value}\n"
        for at, value in enumerate(values)
    )


class Watched:
    """A watched folder, the process that watches it, and what the broker was given."""

    def __init__(self, folder: Path, port: int, stack: ExitStack) -> None:
        self.folder = folder / "tables"
        self.folder.mkdir()
        self._recipe = folder / "station.yaml"
        self._log = folder / "watch.log"
        (folder / "monitor.yaml").write_text(f"mqtt: {{port: {port}}}\n")
        self._recipe.write_text("config: monitor.yaml\n")
        self.heard: list[tuple[str, float, int]] = []
        self._stack = stack
        self.process: subprocess.Popen[bytes] | None = None

    def listen(self, port: int) -> None:
        """Hear what comes to the broker from now on."""
        self._observer = self._stack.enter_context(BrokerPublisher("127.0.0.1", port))
        self._observer.subscribe(["monitor/s/x/reference"], self._hear)
        self._observer.publish("monitor/other", b"")
        self._observer.flush()

    def _hear(self, _topic: str, payload: bytes) -> None:
        message = json.loads(payload)
        self.heard.append((message["time"], message["value"], message.get("rev", 0)))

    def start(self) -> None:
        """Start the process."""
        words = ["reference", "--recipe", str(self._recipe), "--watch", str(self.folder)]
        with self._log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "monitor", *words], stdout=log, stderr=log
            )
        self._stack.callback(self.process.kill)

    def stop(self, number: int) -> int:
        """End the process by a signal; return its exit code."""
        assert self.process is not None
        self.process.send_signal(number)
        return self.process.wait(WAIT_SECONDS)

    def write(self, name: str, text: str) -> None:
        (self.folder / name).write_text(text)

    def log(self) -> str:
        return self._log.read_text()

    def until_heard(self, count: int) -> None:
        """Wait until the broker was given this many messages."""
        self.until(f"{count} messages", lambda: len(self.heard) >= count)

    def until(self, goal: str, is_reached: Callable[[], bool]) -> None:
        """Listen until something holds."""

        def looked() -> bool:
            self._observer.sleep(0.05)
            return is_reached()

        until(f"{goal}; {self.log()}", looked)

    def has_heard(self, begin: str) -> Callable[[], bool]:
        """Return whether a message's time begins so."""
        return lambda: any(each[0].startswith(begin) for each in self.heard)

    def until_said(self, text: str) -> None:
        until(f"{text!r} is said", lambda: text in self.log())


@pytest.fixture
def watched(tmp_path, mosquitto) -> Iterator[Watched]:
    with ExitStack() as stack:
        one = Watched(tmp_path, mosquitto.port, stack)
        one.listen(mosquitto.port)
        yield one


def test_new_grown_and_revised_tables_are_sent_once_and_a_bad_one_stops_nothing(watched):
    watched.write("a.csv", HEAD + rows(1, 2, 3))
    watched.start()
    watched.until_heard(3)
    watched.write("a.csv", HEAD + rows(1, 2, 3, 4, 5))
    watched.until_heard(5)
    watched.until_said("a.csv: 2 references published, all acknowledged by the broker")
    watched.until_said("3 not sent again")
    watched.write("bad.csv", HEAD + "yesterday,s,x,1\n" + rows(9, day=3))
    watched.until_said("bad.csv:2:time: 'yesterday' is not a time")
    watched.write("b.csv", HEAD + rows(6, day=2))
    watched.until_heard(6)
    watched.write("bad.csv", HEAD + rows(9, day=3))
    watched.until_heard(7)
    watched.write("a.csv", HEAD + rows(1, 2.5, 3, 4, 5))
    watched.until_heard(8)
    watched.until_said("a.csv: 1 reference published")
    assert watched.stop(signal.SIGTERM) == 0

    watched.write("c.csv", HEAD + rows(7, 8, day=4))
    watched.start()
    watched.until_heard(10)
    watched.until_said("c.csv: 2 references published")
    assert watched.stop(signal.SIGINT) == 0
    sent = {(time, value): revision for time, value, revision in watched.heard}
    assert len(sent) == len(watched.heard) == 10
    assert [each for each, revision in sent.items() if revision] == [("2026-03-01T00:01:00Z", 2.5)]
    assert sent["2026-03-01T00:01:00Z", 2.5] == 1
    assert watched.log().count("yesterday") == 1


def test_kills_in_between_lose_nothing_and_repeat_only_what_was_sent(watched):
    table = HEAD
    for day in range(1, 5):
        table += rows(*(day + at / 10_000 for at in range(1400)), day=day)
        watched.write("station.csv", table)
        watched.start()
        begin = f"2026-03-0{day}"
        watched.until(begin, watched.has_heard(begin))
        watched.stop(signal.SIGKILL)
    watched.start()
    wanted = {
        (time.replace("Z", ":00Z"), float(value), 0)
        for time, *_, value in (line.split(",") for line in table.splitlines()[1:])
    }
    assert len(wanted) == 5600
    watched.until("all are there", lambda: {*watched.heard} >= wanted)
    until("it listens to signals", lambda: watched.log().count("watching") == 5)
    assert watched.stop(signal.SIGTERM) == 0
    assert {*watched.heard} == wanted


def test_without_a_broker_it_waits_and_says_so_once(tmp_path, mosquitto):
    with ExitStack() as stack:
        watched = Watched(tmp_path, mosquitto.port, stack)
        mosquitto.stop(signal.SIGKILL)
        watched.write("a.csv", HEAD + rows(1, 2))
        watched.start()
        watched.until_said("is the broker running, and are address and port right?")
        mosquitto.start()
        watched.until_said("a.csv: 2 references published, all acknowledged")
        assert watched.stop(signal.SIGTERM) == 0
        assert watched.log().count("tried again until it works") == 1
