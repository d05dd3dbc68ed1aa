"""The bridge: what the broker was told is safe is on the log, through kills of any party."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from harness.fleet_messages import APART, START, reading
from harness.mqtt_packets import publish

from monitor.config import load, parse
from monitor.extensions.cluster.block import Block
from monitor.extensions.cluster.bridge import Bridge
from monitor.extensions.cluster.kafka_log import LogError, TopicReader, properties
from monitor.extensions.cluster.log_records import (
    IN_DOUBT,
    TRUSTED,
    UNPROVEN,
    LogMessage,
    LogRecord,
    RecordError,
    load_record,
)
from monitor.extensions.cluster.placing import Placing
from monitor.extensions.cluster.recipes import recipe_of
from monitor.mqtt.inbox import InboxMessage as Arrived
from monitor.mqtt.packets import Version
from monitor.mqtt.receiver import Receiver


class Listing:
    """A log in memory that fails as often as it is told to."""

    def __init__(self, failures: int = 0) -> None:
        self.records: list[tuple[int, bytes]] = []
        self._failures = failures

    def append(self, records):
        if self._failures:
            self._failures -= 1
            raise LogError("away")
        self.records += records
        return 0


class Lined:
    """A source that hands out what it was given, and notes what was acknowledged."""

    def __init__(self, messages: list[Arrived]) -> None:
        self._messages = messages
        self.acknowledged: list[Arrived] = []
        self.closed = False
        self.confirmed = 0
        self.numbers: list[int] = []

    def bring(self, messages):
        self._messages = messages

    def confirm(self, number):
        self.numbers.append(number)

    def receive(self, timeout: float):
        del timeout
        found, self._messages = self._messages, []
        return found

    def acknowledge(self, messages):
        self.acknowledged += messages
        return len(messages)

    def close(self):
        self.closed = True


def arrived(count: int) -> list[Arrived]:
    made = [reading(f"s{at % 5}", at, 1.0, START) for at in range(count)]
    return [Arrived(each.topic, each.payload, 2, b"\0\1", 1) for each in made]


def bridge_of(source, log, pause=lambda _: None) -> Bridge:
    text = "cluster: {blocks: 16, log: {partitions: 4}}"
    return Bridge(
        source, log, Placing(parse(text.encode(), "t")), clock=lambda: START + 0.25, pause=pause
    )


def test_nothing_is_acknowledged_before_the_log_has_it():
    source, log = Lined(arrived(9)), Listing(failures=3)
    seen = []
    bridge = bridge_of(source, log, pause=lambda _: seen.append(len(source.acknowledged)))
    bridge.work(0.0)

    assert seen == [0, 0, 0]
    assert len(source.acknowledged) == len(log.records) == 9
    assert bridge.passed.retries == 3


def test_a_bridge_that_is_stopped_while_the_log_is_away_acknowledges_nothing():
    source = Lined(arrived(9))
    bridge = bridge_of(source, Listing(failures=99), pause=lambda _: bridge.stop())
    bridge.run()

    assert not source.acknowledged
    assert source.closed


TIMELESS = """
cluster: {blocks: 16, log: {partitions: 4}}
sources:
  - {topic: "monitor/{subject}/{quantity}/reference", kind: reference}
  - topic: "now/{sensor}/{quantity}"
    kind: reading
    decoder: json
    map: {time: arrival, series: [{value: v, u: u}]}
"""


@pytest.mark.parametrize("version", [Version.V3_1_1, Version.V5])
def test_a_packet_without_a_time_that_comes_again_is_on_the_log_once(version):
    """As long as the broker may not have its acknowledgement; later it is another message."""
    receiver, source, log = Receiver(version, 65_536), Lined([]), Listing()
    clock = iter(range(int(START), int(START) + 99))
    bridge = Bridge(
        source, log, Placing(parse(TIMELESS.encode(), "t")), clock=lambda: float(next(clock))
    )

    def come(payload: bytes, flags: int = 0) -> int:
        properties = b"" if version == Version.V5 else None
        receiver.begin_connection()
        receiver.feed(publish(b"now/a/x", payload, 1, 7, properties=properties, flags=flags))
        source.bring(receiver.take())
        bridge.work(0.0)
        return len(log.records)

    one, two, again = b'{"v": 1.0, "u": 0.5}', b'{"v": 2.0, "u": 0.5}', 0x08
    assert come(one) == 1
    assert come(one, again) == 1
    assert come(one) == 2  # without DUP the identifier was free
    assert come(two, again) == 3
    assert come(two, again) == 3
    assert bridge.passed.redelivered == 2
    assert len(source.acknowledged) == bridge.passed.messages == 5
    source.confirmed = source.numbers[-1]
    bridge.work(0.0)
    assert come(two, again) == 4


@pytest.mark.parametrize("version", [Version.V3_1_1, Version.V5])
def test_a_block_knows_what_the_broker_had_retained(version):
    """Else a dead sensor's last value would be a reading of now."""
    settings = parse(TIMELESS.encode(), "t")
    receiver, source, log = Receiver(version, 65_536), Lined([]), Listing()
    bridge = Bridge(source, log, Placing(settings), clock=lambda: START)
    properties = b"" if version == Version.V5 else None
    for flags in (1, 0):
        payload = b'{"v": 1.0, "u": 0.5}'
        receiver.feed(publish(b"now/a/x", payload, 0, 0, properties=properties, flags=flags))
    source.bring(receiver.take())
    bridge.work(0.0)
    messages = [load_record(body).message for _, body in log.records]
    totals = Block(recipe_of(settings)).apply(messages).totals

    assert [each.retain for each in messages] == [True, False]
    assert (totals["received"], totals["committed"], totals["rejected.retained"]) == (2, 1, 1)


def test_a_record_says_its_blocks_and_what_came():
    log, source = Listing(), Lined(arrived(1))
    bridge_of(source, log).work(0.0)
    ((partition, body),) = log.records
    record = load_record(body)

    assert record.blocks[0] % 4 == partition
    assert record.message.topic == "monitor/s0/mass/reading"
    assert record.message.received == pytest.approx(START + 0.25, abs=1e-3)
    with pytest.raises(RecordError):
        load_record(b"\x93\x01\x90\xc0")


def test_records_of_the_first_version_which_had_whole_seconds_are_read():
    body = msgspec.msgpack.encode([1, [3], [START, "monitor/a/mass/reading", b"{}", TRUSTED]])

    assert load_record(body).message == LogMessage(START, "monitor/a/mass/reading", b"{}")


YEAR = 365.0 * 86_400.0


class Clocks:
    """A wall clock that may be wrong, and a monotonic one."""

    def __init__(self, wrong: float = 0.0) -> None:
        self.passed, self.wrong = 2.0, wrong

    def wall(self) -> float:
        return START + self.passed + self.wrong

    def monotonic(self) -> float:
        return 1000.0 + self.passed


def guarded(clocks: Clocks) -> tuple[Bridge, Lined, Listing]:
    source, log = Lined([]), Listing()
    text = "cluster: {blocks: 16, log: {partitions: 4}}"
    bridge = Bridge(
        source, log, Placing(parse(text.encode(), "t")),
        clock=clocks.wall, monotonic=clocks.monotonic,
    )  # fmt: skip
    return bridge, source, log


def passed_on(bridge: Bridge, source: Lined, log: Listing, clocks: Clocks) -> list[LogMessage]:
    """Let nine sensors say what they measure now; return what the log gets of it."""
    clocks.passed += 30.0
    before = len(log.records)
    made = [reading(f"s{at}", int(clocks.passed / APART), 1.0, START) for at in range(9)]
    source.bring([Arrived(each.topic, each.payload, 2, b"\0\1", 1) for each in made])
    bridge.work(0.0)
    return [load_record(body).message for _, body in log.records[before:]]


def test_a_clock_that_messages_agree_with_is_trusted():
    clocks = Clocks()
    bridge, source, log = guarded(clocks)

    for _ in range(3):
        found = passed_on(bridge, source, log, clocks)
        assert {each.clock for each in found} == {TRUSTED}
        assert [each.received for each in found] == pytest.approx([clocks.wall()] * 9, abs=1e-3)


@pytest.mark.parametrize("step", [2 * YEAR, -86_400.0])
def test_a_clock_that_jumps_is_in_doubt_and_what_came_has_the_time_before_the_jump(step):
    clocks = Clocks()
    bridge, source, log = guarded(clocks)
    passed_on(bridge, source, log, clocks)
    clocks.wrong = step
    found = passed_on(bridge, source, log, clocks)

    assert bridge.guard.doubt
    assert len(found) == 9
    assert {each.clock for each in found} == {IN_DOUBT}
    assert [each.received for each in found] == pytest.approx([START + clocks.passed] * 9, abs=1e-3)
    clocks.wrong = 0.0
    assert {each.clock for each in passed_on(bridge, source, log, clocks)} == {TRUSTED}


def test_a_clock_that_is_ahead_from_the_start_is_unproven():
    clocks = Clocks(2 * YEAR)
    bridge, source, log = guarded(clocks)

    assert {each.clock for each in passed_on(bridge, source, log, clocks)} == {UNPROVEN}


def test_a_clock_that_is_behind_from_the_start_is_in_doubt_by_the_first_messages():
    clocks = Clocks(-86_400.0)
    bridge, source, log = guarded(clocks)
    found = passed_on(bridge, source, log, clocks)

    assert {each.clock for each in found} == {IN_DOUBT}
    assert {abs(each.received - START - clocks.passed) < 5.0 for each in found} == {True}


class SmallLog(Listing):
    """A log that takes no record of more than 200 bytes."""

    def append(self, records):
        small = [each for each in records if len(each[1]) <= 200]
        return super().append(small) + len(records) - len(small)


def test_a_message_that_is_too_large_for_the_log_is_counted_and_acknowledged():
    large = Arrived("monitor/s0/mass/reading", b"x" * 500, 2, b"\0\1", 1)
    source, log = Lined([*arrived(4), large]), SmallLog()
    bridge = bridge_of(source, log)
    bridge.work(0.0)

    assert len(source.acknowledged) == 5
    assert (bridge.passed.records, bridge.passed.oversize) == (4, 1)


# -- with a real log and a real broker ------------------------------------------------------


def records(settings: Path) -> list[LogRecord]:
    """Return all records on the log."""
    loaded = load(settings)
    reader = TopicReader(
        properties(loaded), loaded.cluster.log.topic, loaded.cluster.log.partitions
    )
    try:
        begins, ends = reader.begins(), reader.ends()
        return [
            load_record(body)
            for partition in ends
            for body in reader.read(partition, begins[partition], ends[partition])
        ]
    finally:
        reader.close()
