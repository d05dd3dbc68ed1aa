"""Messages that mean what arrived when: Sparkplug's births, and times that are the arrival."""

from __future__ import annotations

from fleet_messages import START

from monitor.cluster.block import Block
from monitor.cluster.log_records import LogMessage
from monitor.cluster.placing import block_of
from monitor.cluster.recipes import recipe_of
from monitor.config import parse
from monitor.decode.formats.sparkplug_payload import Payload

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


def block_with(text: str, number: int | None = OWN) -> Block:
    return Block(recipe_of(parse(text.encode(), "t")), None, number)


def test_a_block_reads_sparkplug_and_leaves_out_what_is_of_other_blocks():
    own = block_with(SPARKPLUG).apply([birth(0), data(10)])
    other = block_with(SPARKPLUG, (OWN + 1) % 4).apply([birth(0), data(10)])

    assert own.totals["committed"] == other.totals["committed"] == 2
    assert [each.sensor for each in own.snapshot.names] == ["s"]
    assert not other.snapshot.names
