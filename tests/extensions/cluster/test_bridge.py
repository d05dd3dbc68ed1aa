"""The bridge: what the broker was told is safe is on the log, through kills of any party."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from collections import Counter, defaultdict
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

import msgspec
import pytest
from harness.broker import Mosquitto
from harness.fleet_messages import APART, START, reading, reference
from harness.kafka import TestLog, need_log
from harness.mqtt_packets import publish
from harness.programs import WAIT_SECONDS, free_port, until, written

from monitor.config import load, parse
from monitor.extensions.cluster.block import Block
from monitor.extensions.cluster.bridge import Bridge
from monitor.extensions.cluster.kafka_log import (
    Appender,
    LogError,
    MissingLibraryError,
    TopicReader,
    properties,
)
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
from monitor.mqtt.publish import BrokerPublisher
from monitor.mqtt.receiver import Receiver

MONITOR = (sys.executable, "-m", "monitor")
SETTINGS = """
mqtt: {{port: {port}, client_id: {client}, receive_maximum: 200}}
pairing: {{tolerance_seconds: 5}}
cluster:
  blocks: 16
  log: {{servers: "127.0.0.1:{log}", topic: readings, partitions: 4, acknowledge_seconds: 3}}
  bridge: {{share: {share}, metrics_port: {metrics}}}
"""


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


class RefusalError(Exception):
    """An error of the log's client, with its code."""

    def code(self):
        return self.args[1]


class Sent(NamedTuple):
    """A record that the client tells of."""

    body: bytes

    def value(self):
        return self.body


class FakeProducer:
    """A client that takes records of up to its limit, for a log that takes less."""

    def __init__(self, options):
        self.limit = int(options["message.max.bytes"])
        self.told = []

    def produce(self, _topic, *, value, partition, on_delivery):
        del partition
        if len(value) > self.limit:
            raise RuntimeError(RefusalError("too large for the client", 10))
        error = None
        if value.startswith(b"away"):
            error = RefusalError("not there", 3)
        elif len(value) > 1_500_000 or value.startswith(b"batch"):
            error = RefusalError("too large for the topic", 10)
        self.told.append((on_delivery, error, Sent(value)))

    def flush(self, _seconds):
        for tell, error, message in self.told:
            tell(error, message)
        self.told = []
        return 0

    def purge(self):
        pass


def test_records_too_large_for_client_or_topic_are_told_of_and_others_tried_again(monkeypatch):
    """Of a batch of small ones that the topic does not take, none is given up."""
    names = SimpleNamespace(topics={"monitor": SimpleNamespace(partitions=range(8))})
    admin = SimpleNamespace(list_topics=lambda **_: names)
    library = SimpleNamespace(
        Producer=FakeProducer,
        KafkaException=RuntimeError,
        KafkaError=SimpleNamespace(MSG_SIZE_TOO_LARGE=10),
    )
    library.admin = SimpleNamespace(AdminClient=lambda _: admin)
    monkeypatch.setitem(sys.modules, "confluent_kafka", library)
    monkeypatch.setitem(sys.modules, "confluent_kafka.admin", library.admin)
    settings = parse(b"mqtt: {max_packet_bytes: 2000000}", "t")
    with contextlib.closing(Appender(settings, properties(settings))) as out:
        assert out.append([(0, b"x" * 1_400_000)]) == 0
        assert out.append([(0, b"a"), (0, b"x" * 1_600_000), (0, b"x" * 2_500_000)]) == 2
        for body in (b"away", b"batch"):
            with pytest.raises(LogError, match="did not accept 1 of 1"):
                out.append([(0, body)])


def test_without_the_extra_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "confluent_kafka", None)
    with pytest.raises(MissingLibraryError, match=r"pip install '\.\[cluster\]'"):
        TopicReader({}, "t", 1)


def test_properties_come_from_a_file_and_a_mistake_has_its_line(tmp_path):
    given = written(tmp_path, "p", "# to the log\nsecurity.protocol=SSL\n\nnonsense\n")
    settings = parse(f"cluster: {{log: {{properties_file: {given}}}}}".encode(), "t")
    with pytest.raises(
        Exception,
        match=r"p:4:1: cluster.log.properties_file: is not of the form "
        r"key=value",
    ):
        properties(settings)
    given.write_text("a=b=c\n")

    assert properties(settings)["a"] == "b=c"


# -- with a real log and a real broker ------------------------------------------------------


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    need_log()
    running = TestLog(tmp_path_factory.mktemp("log"))
    yield running
    running.stop()


@pytest.fixture(scope="module")
def broker(tmp_path_factory):
    running = Mosquitto(tmp_path_factory.mktemp("broker"))
    yield running
    running.stop()


class Bridges:
    """Processes of `monitor cluster bridge` on one settings file."""

    def __init__(self, folder: Path, port: int, log: int, share: str = "null") -> None:
        self.metrics = free_port() if share == "null" else None
        metrics = "null" if self.metrics is None else self.metrics
        client = f"c{os.getpid()}-{folder.name}"
        text = SETTINGS.format(port=port, client=client, log=log, share=share, metrics=metrics)
        self.settings = written(folder, "settings.yaml", text)
        self._folder = folder
        self.running: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, name: str = "1") -> None:
        said = self._folder / f"bridge-{name}.log"
        with said.open("wb") as out:
            self.running[name] = subprocess.Popen(
                [*MONITOR, "cluster", "bridge", "--config", str(self.settings), "--name", name],
                stdout=out,
                stderr=out,
            )
        until(f"bridge {name} is connected", lambda: b"connected to" in said.read_bytes())

    def kill(self, name: str = "1") -> None:
        process = self.running.pop(name)
        process.kill()
        process.wait()

    def stop(self) -> list[int]:
        codes = []
        for process in self.running.values():
            process.send_signal(signal.SIGTERM)
            codes.append(process.wait(WAIT_SECONDS))
        self.running.clear()
        return codes


def on_log(settings: Path) -> list[bytes]:
    """Return the payloads of all records on the log."""
    return [record.message.payload for record in records(settings)]


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


def counted(settings: Path, mark: str) -> Counter[str]:
    """Return what blocks count of the messages with a mark, each block in two batches."""
    recipe, waiting = recipe_of(load(settings)), defaultdict(list)
    for record in records(settings):
        if f"/{mark}" in record.message.topic:
            (block,) = record.blocks
            waiting[block].append(record.message)
    found: Counter[str] = Counter()
    for number, messages in waiting.items():
        block, half = Block(recipe, None, number), len(messages) // 2
        block.apply(messages[:half])
        block = Block(recipe, block.dump(), number)
        found.update(block.apply(messages[half:]).totals)
    return found


def said(mark: str, count: int) -> list[tuple[str, bytes]]:
    made = []
    for at in range(count):
        made.append(reading(f"{mark}{at % 40}", at, 1.0, START))
        made.append(reference(f"{mark}{at % 40}", at, 1.0, START, key=f"{mark}-{at}"))
    return [(message.topic, message.payload) for message in made]


@pytest.mark.parametrize("share", ["null", "all"])
def test_killed_bridges_lose_nothing_that_the_broker_took(tmp_path, broker, log, share):
    bridges = Bridges(tmp_path, broker.port, log.port, share)
    names = ("1",) if share == "null" else ("1", "2")
    for name in names:
        bridges.start(name)
    sent = said(f"k{share}-", 2500)
    with BrokerPublisher("127.0.0.1", broker.port, client_id=f"p{share}") as out:
        for at, (topic, payload) in enumerate(sent):
            out.publish(topic, payload)
            if at in (800, 2600):
                bridges.kill()
                bridges.start()
        out.flush()
    wanted = {payload for _, payload in sent}

    def missing():
        return wanted - set(on_log(bridges.settings))

    until("all is on the log", lambda: not missing())
    if bridges.metrics is not None:
        page = urllib.request.urlopen(f"http://127.0.0.1:{bridges.metrics}/metrics").read().decode()
        assert "monitor_mqtt_connected 1.0" in page
        assert "monitor_bridge_messages_total" in page

    assert bridges.stop() == [0] * len(names)
    totals = counted(bridges.settings, f"k{share}-")
    assert totals["committed"] == len(sent)
    assert totals["received"] == totals["committed"] + totals["duplicate"]


def test_two_bridges_side_by_side_each_pass_on_a_part(tmp_path, broker, log):
    bridges = Bridges(tmp_path, broker.port, log.port, "both")
    bridges.start("1")
    bridges.start("2")
    sent = said("both-", 500)
    with BrokerPublisher("127.0.0.1", broker.port, client_id="both") as out:
        for topic, payload in sent:
            out.publish(topic, payload)
        out.flush()
    wanted = {payload for _, payload in sent}
    until("all is on the log", lambda: wanted <= set(on_log(bridges.settings)))

    assert bridges.stop() == [0, 0]
    passed = [record for record in records(bridges.settings) if "/both-" in record.message.topic]
    assert len(passed) == len(sent)
    assert counted(bridges.settings, "both-")["committed"] == len(sent)
    for name in ("1", "2"):
        text = (tmp_path / f"bridge-{name}.log").read_text(encoding="utf-8")
        (count,) = re.findall(r"in the cluster log: (\d+) messages", text)
        assert 0 < int(count) < len(sent)


def test_a_message_of_two_megabytes_goes_through_a_topic_that_the_bridge_made(log):
    section = {"servers": log.servers, "topic": "large", "partitions": 1}
    text = {"cluster": {"log": section}, "mqtt": {"max_packet_bytes": 3_000_000}}
    settings = parse(json.dumps(text).encode(), "t")
    body = b"x" * 2_000_000
    with contextlib.closing(Appender(settings, properties(settings))) as out:
        assert out.append([(0, b"a"), (0, body), (0, b"b")]) == 0
    reader = TopicReader(properties(settings), "large", 1)

    assert list(reader.read(0, 0, 3)) == [b"a", body, b"b"]
    reader.close()


def test_while_the_log_is_away_the_broker_keeps_what_came(tmp_path, broker):
    own_log = TestLog(tmp_path)
    bridges = Bridges(tmp_path, broker.port, own_log.port)
    bridges.start()
    try:
        _away(own_log, bridges, broker.port)

        assert bridges.stop() == [0]
    finally:
        for name in list(bridges.running):
            bridges.kill(name)
        own_log.stop()


def _away(own_log: TestLog, bridges: Bridges, port: int) -> None:
    """Let the log be away while messages come; wait until it has them all."""
    sent = said("away-", 300)
    with BrokerPublisher("127.0.0.1", port, client_id="away") as out:
        for topic, payload in said("before-", 9):
            out.publish(topic, payload)
        out.flush()
        until("the first are on the log", lambda: len(on_log(bridges.settings)) >= 18)
        own_log.stop()
        for topic, payload in sent:
            out.publish(topic, payload)
        out.flush()
    time.sleep(1.0)
    own_log.start()
    wanted = {payload for _, payload in sent}

    def arrived_all():
        with contextlib.suppress(LogError):  # it has just come back
            return wanted <= set(on_log(bridges.settings))

    until("all is on the log", arrived_all)


def test_a_topic_with_other_partitions_and_records_that_are_gone_are_errors(log):
    one = parse(_log_text(log, "small", 2), "t")
    with contextlib.closing(Appender(one, properties(one))) as out:
        out.append([(0, b"a"), (0, b"b"), (1, b"c")])
    with pytest.raises(LogError, match="has 2 partitions"):
        Appender(parse(_log_text(log, "small", 4), "t"), properties(one))
    reader = TopicReader(properties(one), "small", 2)
    found = list(reader.read(0, 0, 2))
    ends = reader.ends()
    reader.close()

    assert found == [b"a", b"b"]
    assert ends == {0: 2, 1: 1}


def _log_text(log, topic: str, partitions: int) -> bytes:
    section = {"servers": log.servers, "topic": topic, "partitions": partitions}
    return json.dumps({"cluster": {"log": section}}).encode()
