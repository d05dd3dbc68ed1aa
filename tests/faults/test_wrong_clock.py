"""A whole daemon under a clock that is wrong: years ahead, a day behind, 1970."""

from __future__ import annotations

import json
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest
from harness import hurried
from harness.broker import Mosquitto
from harness.daemon import Daemon
from harness.programs import until

from monitor.mqtt.publish import BrokerPublisher

DAY = 86_400
YEARS = 2 * 365 * DAY
PAIRS = 100
WINDOW = 'monitor_window_pairs{sensor="a",quantity="x"}'
MORE = """
series: {stale_after_seconds: 31000000}
pairing: {tolerance_seconds: 0.1}
"""


class Clock:
    """The wall clock of a daemon, wrong by as many seconds as its file says."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "clock"
        self.set(0)
        self.environment = {"WRONG_CLOCK": str(self._file)}

    def set(self, wrong: int) -> None:
        """Let the clock be wrong by so many seconds from now on."""
        new = self._file.with_suffix(".new")
        new.write_text(f"{wrong}\n", encoding="ascii")
        new.rename(self._file)


@pytest.fixture
def clock(tmp_path: Path) -> Clock:
    return Clock(tmp_path)


@pytest.fixture
def daemon(tmp_path: Path, clock: Clock, mosquitto: Mosquitto):
    made = Daemon(tmp_path, mosquitto.port, MORE, environment=clock.environment)
    made.under = (sys.executable, hurried.__file__)
    yield made
    made.kill()


def send(port: int, first: int, count: int = PAIRS) -> None:
    """Publish readings and their references, a second apart and a few minutes old at most."""
    start = time.time() - 2 * PAIRS
    with BrokerPublisher("127.0.0.1", port) as out:
        for at in range(first, first + count):
            when = datetime.fromtimestamp(start + at, UTC).isoformat()
            for kind, value in (("reading", {"value": 1.0 + at % 7, "u": 0.5}),
                                ("reference", {"value": 2.0})):  # fmt: skip
                body = json.dumps({"time": when, **value}).encode()
                out.publish(f"monitor/a/x/{kind}", body)
        out.flush()


def keep_house(daemon: Daemon, rounds: int = 3) -> None:
    """Wait until the house was kept some more times."""
    before = daemon.log().count(hurried.KEPT)
    until("the house is kept", lambda: daemon.log().count(hurried.KEPT) >= before + rounds)


def pairs(daemon: Daemon, wanted: int) -> None:
    """Wait until there are so many pairs."""
    until(f"there are {wanted} pairs", lambda: daemon.value(WINDOW) == wanted)


def test_a_clock_years_ahead_for_a_while_erases_nothing(clock, daemon, mosquitto):
    daemon.start()
    send(mosquitto.port, 0)
    pairs(daemon, PAIRS)
    keep_house(daemon)
    clock.set(YEARS)
    until("the clock is in doubt", lambda: daemon.value("monitor_clock_trusted") == 0.0)
    keep_house(daemon)
    status, why = daemon.get("/readyz")
    assert status == 503
    assert b"jumped ahead by 730 d" in why
    send(mosquitto.port, PAIRS, 10)
    pairs(daemon, PAIRS + 10)
    assert daemon.value("monitor_clock_trusted") == 0.0
    clock.set(0)
    until("it is trusted again", lambda: daemon.get("/readyz")[0] == 200)
    keep_house(daemon)
    assert daemon.value("monitor_clock_doubts_total") == 1.0
    assert daemon.stop() == 0

    daemon.start()
    pairs(daemon, PAIRS + 10)


def test_a_start_with_a_clock_years_ahead_erases_nothing(clock, daemon, mosquitto):
    daemon.start()
    send(mosquitto.port, 0)
    pairs(daemon, PAIRS)
    assert daemon.stop() == 0
    clock.set(YEARS)
    daemon.start()
    keep_house(daemon)
    send(mosquitto.port, PAIRS, 10)
    pairs(daemon, PAIRS + 10)
    keep_house(daemon)
    assert daemon.stop() == 0
    clock.set(0)

    daemon.start(ready=False)
    pairs(daemon, PAIRS + 10)
    send(mosquitto.port, PAIRS + 10, 10)
    until("messages agree with the clock", lambda: daemon.get("/readyz")[0] == 200)
    keep_house(daemon)
    pairs(daemon, PAIRS + 20)


@pytest.mark.parametrize(
    ("behind", "is_known"),
    [
        pytest.param(DAY, True, id="a day, known"),
        pytest.param(DAY, False, id="a day", marks=pytest.mark.long),
        pytest.param(int(time.time()), True, id="1970, known", marks=pytest.mark.long),
        pytest.param(int(time.time()), False, id="1970"),
    ],
)
def test_a_clock_that_is_behind_refuses_nothing(behind, is_known, clock, daemon, mosquitto):
    before = 10 if is_known else 0
    if is_known:
        daemon.start()
        send(mosquitto.port, 0, before)
        pairs(daemon, before)
        assert daemon.stop() == 0
    clock.set(-behind)
    daemon.start(ready=False)
    until("it listens", lambda: daemon.value("monitor_mqtt_connected") == 1.0)
    send(mosquitto.port, before)
    pairs(daemon, before + PAIRS)
    keep_house(daemon)
    metrics = daemon.metrics()
    assert metrics["monitor_messages_committed_total"] == 2 * (before + PAIRS)
    assert metrics['monitor_messages_rejected_total{reason="future"}'] == 0
    assert metrics["monitor_clock_trusted"] == 0.0
    assert daemon.get("/readyz")[0] == 503
    clock.set(0)
    until("it is trusted", lambda: daemon.get("/readyz")[0] == 200)
    keep_house(daemon)
    assert daemon.stop() == 0

    daemon.start()
    pairs(daemon, before + PAIRS)
