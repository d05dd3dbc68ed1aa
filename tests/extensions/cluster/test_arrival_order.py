"""Messages that mean what arrived when: Sparkplug's births, and times that are the arrival."""

from __future__ import annotations

import json
import random

import numpy as np
import pytest
from harness.fleet_messages import START, stamp

from monitor.config import parse
from monitor.decode.formats.sparkplug_payload import Payload
from monitor.extensions.cluster.block import Block
from monitor.extensions.cluster.log_records import LogMessage
from monitor.extensions.cluster.placing import EVERY, Placing, block_of
from monitor.extensions.cluster.recipes import recipe_of
from tests.extensions.cluster.test_block import daemon_facts, facts

SPARKPLUG = """
series: {max_new_per_minute: 100000}
pairing: {tolerance_seconds: 5}
cluster: {blocks: 4, log: {partitions: 2}}
sources:
  - {topic: "monitor/{subject}/{quantity}/reference", kind: reference}
  - topic: "spBv1.0/{group}/{message}/{edge}/{sensor}"
    kind: reading
    decoder: sparkplug
    map: {time: time, series: [{quantity: t, value: values.value, u: values.u}], optional: true}
"""
OWN = block_of("s", 4)


def sparkplug(second: int, message: str, *metrics: dict[str, object]) -> LogMessage:
    content = Payload(timestamp=1000 * (START + second), seq=second % 256)
    for metric in metrics:
        content.metrics.add(**metric)
    topic = f"spBv1.0/g/{message}/e/s"
    return LogMessage(START + second + 1, topic, content.SerializeToString())


def birth(second: int, value: int = 1) -> LogMessage:
    """Return a birth that gives the value one of the aliases 1 and 2, and u the other one."""
    names = {"value": value, "u": 3 - value}
    metrics = ({"name": name, "alias": at, "datatype": 10} for name, at in names.items())
    return sparkplug(second, "DBIRTH", *metrics)


def data(second: int, value: int = 1) -> LogMessage:
    metrics = {"alias": value, "double_value": 20.0}, {"alias": 3 - value, "double_value": 0.5}
    return sparkplug(second, "DDATA", *metrics)


def reference(subject: str, value: float, time: float, came: float) -> LogMessage:
    told = {"time": stamp(time - START), "value": value, "u": 0.01}
    return LogMessage(came, f"monitor/{subject}/t/reference", json.dumps(told).encode())


def block_with(text: str, number: int | None = OWN) -> Block:
    return Block(recipe_of(parse(text.encode(), "t")), None, number)


def test_a_block_reads_sparkplug_and_leaves_out_what_is_of_other_blocks():
    own = block_with(SPARKPLUG).apply([birth(0), data(10)])
    other = block_with(SPARKPLUG, (OWN + 1) % 4).apply([birth(0), data(10)])

    assert own.totals["committed"] == other.totals["committed"] == 2
    assert [each.sensor for each in own.snapshot.names] == ["s"]
    assert not other.snapshot.names


def test_data_before_a_birth_with_other_aliases_mean_what_they_meant_when_they_came():
    """Also within one read: the topic of a birth is before that of data."""
    messages = [birth(0), data(10), data(20), birth(25, 2), data(30, 2)]
    messages += [reference("s", 20.0, START + at, START + at + 1) for at in (10, 20, 30)]
    read = [LogMessage(START + 40.0, each.topic, each.payload) for each in messages]
    together, apart = block_with(SPARKPLUG), block_with(SPARKPLUG)
    together.apply(read)
    for each in read:
        apart.apply([each])
    found = facts(together.network.evaluate(START + 60.0), together.network)

    assert found == facts(apart.network.evaluate(START + 60.0), apart.network)
    assert found["s"]["pairs"] == 3
    assert np.frombuffer(found["s"]["statistics"]["calibration_bias"]) == 0.0


def test_data_by_aliases_that_a_bridge_does_not_know_reach_the_block_that_does():
    """It forgets births when it restarts; a topic may not name the sensor."""
    of_nodes = SPARKPLUG.replace("{edge}/{sensor}", "{edge}")
    of_nodes = of_nodes.replace("time: time,", 'time: time, sensor: "{group}-{edge}",')
    cases = (SPARKPLUG, "spBv1.0/g/DDATA/e/s", (OWN,)), (of_nodes, "spBv1.0/g/NDATA/e", EVERY)
    for text, topic, blocks in cases:
        placing = Placing(parse(text.encode(), "t"))
        decoded = placing.router.decode_all([topic], [data(10).payload], START + 11.0)

        assert decoded.refused
        assert placing.places([topic], decoded) == [blocks]


ARRIVAL = """
series: {max_new_per_minute: 100000}
windows: {pairs: 40}
pairing: {tolerance_seconds: 5, max_wait_hours: 1}
sources:
  - {topic: "monitor/{subject}/{quantity}/reference", kind: reference}
  - topic: "now/{sensor}/{quantity}"
    kind: reading
    decoder: json
    map: {time: arrival, series: [{value: v, u: u}]}
"""


@pytest.mark.parametrize("size", [1, 1000])
def test_a_time_that_is_the_arrival_is_the_daemons_whatever_the_batches(tmp_path, size):
    """Several readings of a minute, and of a second, with references between them."""
    chance, messages = random.Random(3), []
    for at in range(60):
        for number in range(4):
            came = START + 7.25 * at + 0.3 * number
            body = {"v": 20.0 + chance.gauss(0.0, 0.5), "u": 0.5}
            topic = f"now/s{number % 2}/t"
            messages.append(LogMessage(came, topic, json.dumps(body).encode()))
        for sensor in ("s0", "s1"):
            came = START + 7.25 * at + 2.0
            messages.append(reference(sensor, 20.0, came - 1.0, came))
    block = block_with(ARRIVAL, None)
    for at in range(0, len(messages), size):
        block.apply(messages[at : at + size])
    found = facts(block.network.evaluate(messages[-1].received), block.network)

    assert found == daemon_facts(messages, tmp_path, ARRIVAL)
    assert {each["pairs"] for each in found.values()} == {40}
