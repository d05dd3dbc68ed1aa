"""Messages without an identity of their own count once, whatever befalls broker and daemon.

A real broker sends again what it has no acknowledgement of: the proxy lets none through, then the
connection is cut, or the daemon is killed, or the broker is restarted.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import paho.mqtt.client as paho
import pytest
from harness.broker import Mosquitto
from harness.cases import further
from harness.daemon import Daemon
from harness.programs import until
from harness.proxy import Proxy
from paho.mqtt.enums import CallbackAPIVersion

from monitor.config import load
from monitor.core.pairing.observations import PackedReadings
from monitor.decode.formats.sparkplug_payload import Payload
from monitor.journal.journal import Journal

MORE = """
sources:
  - {{topic: "monitor/{{subject}}/{{quantity}}/reference", kind: reference, qos: {qos}}}
  - topic: "now/{{sensor}}/{{quantity}}"
    kind: reading
    decoder: json
    qos: {qos}
    map: {{time: arrival, series: [{{value: v, u: u}}]}}
  - topic: "senml/{{sensor}}"
    kind: reading
    decoder: senml
    qos: {qos}
    map: {{time: time, series: [{{quantity: x, value: value, u: 1.0}}]}}
  - topic: "lp/{{sensor}}"
    kind: reading
    decoder: lineprotocol
    qos: {qos}
    map: {{time: time, series: [{{quantity: x, value: fields.x, u: 1.0}}]}}
  - topic: "spBv1.0/{{group}}/{{message}}/{{edge}}/{{sensor}}"
    kind: reading
    decoder: sparkplug
    qos: {qos}
    map: {{time: time, series: [{{quantity: x, value: values.value, u: values.u}}], optional: true}}
"""
PLANT = "spBv1.0/g/{}/e/plant"
MILLISECONDS = 1_767_225_600_000
WAYS = ("cut", "kill", "restart")
ROUNDS = 6


def sparkplug(number: int, *metrics: dict[str, object]) -> bytes:
    found = Payload(timestamp=MILLISECONDS + 1000 * number, seq=number % 256)
    for metric in metrics:
        found.metrics.add(**metric)
    return found.SerializeToString()


def birth(number: int, value: int) -> bytes:
    """Return a birth that gives the value one of the aliases 1 and 2, and u the other one."""
    names = {"value": value, "u": 3 - value}
    return sparkplug(
        number,
        *({"name": name, "alias": alias, "datatype": 10} for name, alias in names.items()),
    )


def told(number: int) -> list[tuple[str, bytes]]:
    """Return the messages of a round: the values are the round's number, u is 1."""
    value = 1 + number % 2
    data = sparkplug(
        number, {"alias": value, "double_value": number}, {"alias": 3 - value, "double_value": 1.0}
    )
    return [
        ("now/json/x", json.dumps({"v": number, "u": 1.0}).encode()),
        ("senml/senml", json.dumps([{"n": "x", "v": number}]).encode()),
        ("lp/line", f"weight x={number}".encode()),
        (PLANT.format("DDATA"), data),
        (PLANT.format("DBIRTH"), birth(number, 3 - value)),
    ]


@pytest.fixture(params=[("3.1.1", 1), ("5", 2), *further(("3.1.1", 2), ("5", 1))], ids=str)
def field(request, tmp_path, mosquitto) -> Iterator[tuple[Mosquitto, Proxy, Daemon, int]]:
    protocol, qos = request.param
    proxy = Proxy(mosquitto.port)
    more = MORE.format(qos=qos)
    daemon = Daemon(tmp_path, proxy.port, more, "once", protocol=protocol)
    daemon.start()
    yield mosquitto, proxy, daemon, qos
    daemon.kill()
    proxy.close()


def publish(port: int, qos: int, *messages: tuple[str, bytes]) -> None:
    client = paho.Client(callback_api_version=CallbackAPIVersion.VERSION2)
    client.connect("127.0.0.1", port)
    client.loop_start()
    for topic, payload in messages:
        client.publish(topic, payload, qos).wait_for_publish(60.0)
    client.disconnect()
    client.loop_stop()


def total(daemon: Daemon, what: str) -> float:
    return daemon.value(f"monitor_messages_{what}_total")


def test_what_comes_again_without_a_time_or_with_other_aliases_counts_once(field):
    broker, proxy, daemon, qos = field
    publish(broker.port, qos, (PLANT.format("DBIRTH"), birth(0, 1)))
    sent = 1
    until("the birth came", lambda: total(daemon, "committed") == sent)
    for number in range(ROUNDS):
        proxy.swallow_questions = True
        messages = told(number)
        publish(broker.port, qos, *messages)
        sent += len(messages)
        until("they are committed", lambda wanted=sent: total(daemon, "committed") >= wanted)
        way = WAYS[number % len(WAYS)]
        if way == "kill":
            daemon.kill()
        if way == "restart":
            broker.stop()
        proxy.swallow_questions = False
        proxy.cut()
        if way == "kill":
            daemon.start()
        if way == "restart":
            broker.start()
        came = sent + (number + 1) * len(messages)
        until("they came again", lambda wanted=came: total(daemon, "received") >= wanted)

    assert total(daemon, "committed") == sent
    assert total(daemon, "duplicate") == ROUNDS * len(told(0))
    assert daemon.stop() == 0
    assert readings(daemon) == Counter(
        {(name, float(number)): 1 for name in NAMES for number in range(ROUNDS)}
    )


NAMES = ("json", "senml", "line", "plant")


def readings(daemon: Daemon) -> Counter:
    """Return how often each value of each sensor is in the journal."""
    journal = Journal(Path(load(str(daemon.settings)).journal.path))
    found: Counter = Counter()
    names = [each.sensor for each in journal.series()]
    for _, observations in journal.observations():
        for each in observations:
            if isinstance(each, PackedReadings):
                rows, _, values, _ = each.columns()
                found.update(zip((names[row] for row in rows), values.tolist(), strict=True))
            else:
                found[each.sensor, each.value] += 1
    journal.close()
    return found
