"""How much work a message is, counted and not timed: calls of functions, memory, system calls.

A stopwatch on a shared machine would say little; the number of calls is the same every time. Each
limit is a little above what is needed now, so that a slower way of the data is noticed at once.
"""

from __future__ import annotations

import gc
import json
import os
import statistics
import subprocess
import sys
import tracemalloc
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
import scipy
from harness.calls import calls
from harness.programs import need
from harness.wires import ScriptedWire, source_on_wire

from monitor.config import Settings
from monitor.core.pairing.observations import Observed, PlainReadings
from monitor.daemon.assembly import Parts, assemble
from monitor.mqtt.inbox import Inbox, inbox_of, owed
from monitor.mqtt.packets import Version
from monitor.mqtt.receiver import Receiver

ROOT = Path(__file__).parents[1]
SENSORS = 50
MESSAGES = 2000
NOW = 1_780_000_000.0


class Limit(NamedTuple):
    """What a message or a batch may need at most; a little above what it needs."""

    blocks: float  # of memory that stay, a message
    peak_bytes: float  # of memory while it is worked on, a message
    system_calls: int  # a batch


LIMITS = {"reading": Limit(0.5, 900.0, 110), "reference": Limit(12.0, 2700.0, 290)}
# The journal's writes, one fdatasync, a look at where the file is and how far its log has come;
# memory that comes and goes.
SYSTEM_CALLS = {
    "pread64",
    "pwrite64",
    "fdatasync",
    "newfstatat",
    "brk",
    "mmap",
    "munmap",
    "mremap",
    "madvise",
    "futex",
}
BEGIN, END = "/the/work/begins", "/the/work/ends"


class Fed:
    """The daemon's receiver on bytes that are at hand; its acknowledgements go nowhere."""

    def __init__(self) -> None:
        self._receiver = Receiver(Version.V5, 65_536)

    def take(self, data: bytes) -> Inbox:
        assert self._receiver.feed(data) == []
        return self._receiver.take()

    def acknowledge(self, messages: Inbox) -> None:
        inbox_of(messages, self._receiver.generation).acknowledgements()


def packets(second: int, kind: str = "reading", count: int = MESSAGES, **more: str) -> bytes:
    """Return readings of all sensors, one a second from a second on, as a broker sends them."""
    made = []
    for at in range(count):
        sensor, later = at % SENSORS, second + at // SENSORS
        stamp = f"2026-01-01T{later // 3600:02}:{later // 60 % 60:02}:{later % 60:02}Z"
        payload = json.dumps({"time": stamp, "value": 5.0 + sensor, "u": 1.0, **more}).encode()
        made.append(packet(f"monitor/s{sensor}/mass/{kind}".encode(), payload, at))
    return b"".join(made)


def packet(topic: bytes, payload: bytes, number: int) -> bytes:
    """Return a message of QoS 1 as a broker sends it with MQTT 5."""
    body = len(topic).to_bytes(2, "big") + topic + (number + 1).to_bytes(2, "big") + b"\0" + payload
    assert len(body) < 1 << 14
    return b"\x32" + bytes((len(body) % 128 | 0x80, len(body) // 128)) + body


def arrays(second: int) -> bytes:
    """Return a message of a hundred readings of each sensor, one a second from a second on."""
    times = [1_767_225_600 + second + at for at in range(100)]
    payload = json.dumps([{"time": time, "value": 5.25, "u": 1.0} for time in times]).encode()
    topics = [f"monitor/s{sensor}/mass/reading".encode() for sensor in range(SENSORS)]
    return b"".join(packet(topic, payload, at) for at, topic in enumerate(topics))


def assembled(folder: Path, **more: object) -> Parts:
    settings = Settings.model_validate(
        {
            "journal": {"path": str(folder / "journal.sqlite")},
            "series": {"max_new_per_minute": 1_000_000},
            **more,
        }
    )
    return assemble(settings, NOW)


@pytest.fixture
def parts(tmp_path):
    made = assembled(tmp_path)
    scipy.special.ndtri(0.5)  # is loaded with a process' first pair
    yield made
    made.journal.close()


def take(parts: Parts, client: Fed, data: bytes) -> None:
    """Do what the daemon does with what one read of the socket brings."""
    messages = client.take(data)
    parts.intake.commit(parts.intake.prepare(messages, NOW))
    client.acknowledge(messages)


def test_a_plain_reading_costs_no_call_of_its_own_in_python_and_one_in_c(parts):
    client = Fed()
    take(parts, client, packets(0))  # topics, series and lanes are new only once
    data = packets(1000)

    python, c = calls(lambda: take(parts, client, data))

    assert parts.intake.counts.committed == 2 * MESSAGES
    assert python / MESSAGES < 0.3
    assert c / MESSAGES < 1.35


@pytest.mark.parametrize("order", ["backwards", "twice"])
def test_readings_out_of_order_or_twice_in_a_batch_are_taken_by_the_column(parts, order):
    names = [(f"s{at}", "mass") for at in range(SENSORS)]
    at = np.arange(MESSAGES)
    at = at[::-1] if order == "backwards" else at // 2
    times = 1000.0 + at // SENSORS
    plain = PlainReadings(names, at % SENSORS, times, np.full(MESSAGES, 5.0), np.ones(MESSAGES))
    parts.network.observe(Observed(plain.part(np.arange(MESSAGES // 2)), []), NOW)
    later = PlainReadings(names, plain.which, times + 100.0, plain.values, plain.us)

    python, _ = calls(lambda: parts.network.observe(Observed(later, []), NOW))

    assert python < MESSAGES / 3


def test_the_first_readings_of_many_series_are_let_in_once_a_series(parts):
    names = [(f"s{at}", "mass") for at in range(SENSORS)]
    which = np.arange(MESSAGES) % SENSORS
    times = 1000.0 + np.arange(MESSAGES) // SENSORS
    plain = PlainReadings(names, which, times, np.full(MESSAGES, 5.0), np.ones(MESSAGES))
    admitted = []
    admit = parts.network.registry.admit
    parts.network.registry.admit = lambda *named: admitted.append(named) or admit(*named)

    python, _ = calls(lambda: parts.network.observe(Observed(plain, []), NOW))

    assert len(admitted) == SENSORS
    assert parts.network.pairing.readings == MESSAGES
    assert python / SENSORS < 100


@pytest.mark.parametrize(("before", "python_most", "c_most"), [(0, 145, 240), (2, 15, 32)])
def test_a_message_of_a_hundred_readings_costs_a_few_calls(tmp_path, before, python_most, c_most):
    mapping = {"each": "$", "time": "time", "series": [{"value": "value", "u": "u"}]}
    kinds = {kind: f"monitor/{{sensor}}/{{quantity}}/{kind}" for kind in ("reading", "reference")}
    sources: list[dict[str, object]] = [
        {"topic": topic, "kind": kind} for kind, topic in kinds.items()
    ]
    sources[0] |= {"decoder": "json", "map": mapping}
    other = assembled(tmp_path / "other", sources=sources)
    take(other, Fed(), arrays(0))  # what a process imports with its first message
    other.journal.close()
    parts = assembled(tmp_path, sources=sources)
    client = Fed()
    for number in range(before):
        take(parts, client, arrays(100 * number))
    data = arrays(1000)

    python, c = calls(lambda: take(parts, client, data))

    parts.journal.close()
    assert parts.network.pairing.readings == 100 * SENSORS * (before + 1)
    assert python / SENSORS < python_most
    assert c / SENSORS < c_most


def test_a_keyed_reading_costs_a_bounded_number_of_calls(parts):
    client = Fed()
    take(parts, client, packets(0, key="k1"))
    data = packets(1000, key="k1")

    python, _ = calls(lambda: take(parts, client, data))

    assert parts.intake.counts.committed == 2 * MESSAGES
    assert python / MESSAGES < 27


def test_a_reference_that_finds_its_reading_costs_a_bounded_number_of_calls(parts):
    client = Fed()
    for kind in ("reading", "reference"):  # the first pair imports what pairs need
        take(parts, client, packets(1000, kind=kind))
    take(parts, client, packets(2000))
    data = packets(2000, kind="reference")

    python, _ = calls(lambda: take(parts, client, data))

    assert parts.intake.counts.committed == 4 * MESSAGES
    assert python / MESSAGES < 25


@pytest.mark.parametrize(("flags", "count"), [(b"\x30", 0), (b"\x32", MESSAGES)])
def test_what_is_to_be_acknowledged_is_known_without_a_look_at_each(flags, count):
    found = Inbox(0, ["t"])
    found.numbers.extend([0] * MESSAGES)
    found.payloads.loose.extend([b""] * MESSAGES)
    found.flags, found.mids = bytearray(flags * MESSAGES), bytearray(2 * MESSAGES)
    told = []

    python, c = calls(lambda: told.extend((owed(found), *found.acknowledgements())))

    assert told == [count, count, b"\x40\x02\0\0" * count]
    assert python + c < 30


def test_a_reference_that_comes_with_its_reading_costs_fewer_calls(parts):
    client = Fed()
    for second in (1000, 2000):
        for kind in ("reading", "reference"):
            take(parts, client, packets(second, kind=kind))
    data = packets(3000) + packets(3000, kind="reference")

    python, c = calls(lambda: take(parts, client, data))

    assert parts.intake.counts.committed == 6 * MESSAGES
    assert python / MESSAGES < 18
    assert c / MESSAGES < 36  # eight of them put a number into a column


def test_a_read_of_the_socket_is_one_write_of_acknowledgements_and_one_transaction(
    parts, monkeypatch
):
    wire = ScriptedWire()
    source = source_on_wire(wire, monkeypatch)
    before = parts.intake.commits
    wire.chunks.append(packets(1000))

    messages = source.receive(0.0)
    parts.intake.commit(parts.intake.prepare(messages, NOW))

    assert source.acknowledge(messages) == MESSAGES
    assert wire.reads == 1
    assert len(wire.sent) == 1
    assert parts.intake.commits == before + 1


def test_a_read_of_few_messages_costs_a_bounded_number_of_calls(warm):
    """A transaction, and pairs that wait: windows and detector take them when somebody looks."""
    parts, client = warm
    parts.network.evaluate(NOW)
    taken = []
    apply = parts.network.windows.apply
    parts.network.windows.apply = lambda *some: taken.append(some[0].size) or apply(*some)
    seconds = range(1000, 6000, 1000)
    few = [packets(at, count=20) + packets(at, "reference", count=2) for at in seconds]

    needed = [calls(lambda data=data: take(parts, client, data)) for data in few]
    assert taken == []

    parts.network.evaluate(NOW)
    assert taken == [2 * len(few)]
    python, c = min(needed)  # one of them may be a note beside the journal
    assert python + c < 2_000, needed  # some 1200; an evaluation takes 9000


@pytest.mark.parametrize("waiting", [2_000, 20_000])
def test_the_calls_a_message_do_not_grow_with_what_waits(parts, waiting):
    client = Fed()
    for first in range(0, waiting, MESSAGES):
        take(parts, client, packets(first // SENSORS))
    data = packets(1000)

    python, _ = calls(lambda: take(parts, client, data))

    assert python / MESSAGES < 0.3


@pytest.fixture
def warm(parts):
    """Return the parts and a client that took readings and references of all sensors."""
    client = Fed()
    for second in (0, 100, 200):
        take(parts, client, packets(second))
        take(parts, client, packets(second, kind="reference"))
    gc.collect()
    gc.disable()
    yield parts, client
    gc.enable()


@pytest.mark.parametrize("kind", [*LIMITS])
def test_what_a_message_leaves_in_memory_is_a_few_blocks(warm, kind):
    parts, client = warm
    for second in (1000, 1100, 1200):
        take(parts, client, packets(second))
    left = []
    for second in (2000, 2100, 2200) if kind == "reading" else (1000, 1100, 1200):
        data = packets(second, kind=kind)
        before = sys.getallocatedblocks()
        take(parts, client, data)
        left.append(sys.getallocatedblocks() - before)

    # One of the three may be the batch with which a table is made anew.
    assert 0.0 < statistics.median(left) / MESSAGES < LIMITS[kind].blocks


@pytest.mark.parametrize("kind", [*LIMITS])
def test_the_memory_a_batch_needs_is_bounded(warm, kind):
    parts, client = warm
    take(parts, client, packets(1000))
    data = packets(2000 if kind == "reading" else 1000, kind=kind)

    tracemalloc.start()
    try:
        take(parts, client, data)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert 100.0 < peak / MESSAGES < LIMITS[kind].peak_bytes


def batch_by_batch(folder: Path, kind: str) -> None:
    """Take one batch of a kind between two marks; run under strace by the test below."""
    parts, client = assembled(folder), Fed()
    scipy.special.ndtri(0.5)
    for second in (0, 100, 1000):
        take(parts, client, packets(second))
        take(parts, client, packets(0, kind="reference"))
    data = packets(2000 if kind == "reading" else 1000, kind=kind)
    gc.disable()
    os.access(BEGIN, os.F_OK)
    take(parts, client, data)
    os.access(END, os.F_OK)
    parts.journal.close()


def traced(folder: Path, script: str) -> list[str]:
    """Return the names of the system calls that a script makes between its marks."""
    strace = need("strace")
    if subprocess.run([strace, "-o", os.devnull, sys.executable, "-c", ""], check=False).returncode:
        pytest.skip("strace may not trace here")
    found = folder / "calls"
    command = [strace, "-f", "-qq", "-o", str(found), sys.executable, "-c", script]
    subprocess.run(command, check=True, cwd=ROOT)
    lines = found.read_text(encoding="ascii").splitlines()
    first, last = (
        next(at for at, line in enumerate(lines) if mark in line) for mark in (BEGIN, END)
    )
    return [line.split()[1].split("(")[0] for line in lines[first + 1 : last]]


@pytest.mark.parametrize("kind", [*LIMITS])
def test_a_batch_is_one_fdatasync_and_the_writes_of_its_pages(tmp_path, kind):
    script = "import sys; sys.path[:0] = ['tests']; import pathlib, test_work as work; "
    script += f"work.batch_by_batch(pathlib.Path({str(tmp_path)!r}), {kind!r})"

    found = traced(tmp_path, script)

    assert set(found) <= SYSTEM_CALLS
    assert found.count("fdatasync") == 1
    assert len(found) < LIMITS[kind].system_calls


# What only some wish for, or is needed with the first pair, the first page or a request alone.
LATER = (
    *("scipy.special", "scipy.stats", "scipy.optimize", "numpy.f2py", "numpy.testing", "unittest"),
    *("asyncio", "fastapi", "starlette", "uvicorn", "jinja2", "urllib3", "google.protobuf"),
    *("markdown_it", "wsproto", "plotly", "matplotlib", "polars", "pandas", "pyarrow", "pyspark"),
    *("hypothesis", "paho"),
)
TO_RUN = ("pint", "monitor.core.state", "monitor.core.snapshot", "monitor.daemon.assembly")
WITHOUT_A_COMMAND = (*LATER, "numpy", "scipy", "pydantic", "msgspec", "yaml", "sqlite3")
STARTS = """
import monitor.cli, monitor.commands.run, monitor.daemon.loop
monitor.daemon.loop.read_settings("configs/default.yaml")
"""
CHECKS = """
import monitor.cli
monitor.cli.main(["check-config", "configs/air.yaml"])
"""
HELPS = """
import contextlib, monitor.cli
with contextlib.suppress(SystemExit):
    monitor.cli.main(["--help"])
"""


@pytest.mark.parametrize(
    ("script", "later"),
    [(STARTS, LATER), (CHECKS, (*LATER, *TO_RUN)), (HELPS, WITHOUT_A_COMMAND)],
)
def test_what_is_slow_to_import_and_not_needed_at_the_start_is_not_imported(script, later):
    script += f"import sys; print('found', [each for each in {later} if each in sys.modules])"
    command = [sys.executable, "-c", script]

    said = subprocess.run(command, capture_output=True, check=True, text=True, cwd=ROOT)

    assert said.stdout.splitlines()[-1] == "found []"


def test_this_file_counts_calls():
    def three() -> None:
        for _ in range(3):
            Path("x").as_posix()

    assert calls(three)[0] >= 6
