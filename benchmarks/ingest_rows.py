"""Rows of the table that go through a real mosquitto: the daemon beside peers on one broker.

Each reads the same messages in its turn, some rounds; a figure is processor time (user + system)
a message of the reading process, publishing every two seconds included.
"""

from __future__ import annotations

import atexit
import json
import random
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from firehose import packet, pour, pour_evenly
from harness.broker import Mosquitto
from harness.certificates import Authority
from harness.programs import free_port
from messages import SENSORS, readings_and_references
from rows import Goal, Line, line
from subscribers import (
    PUBLISH_SECONDS,
    Monitor,
    Program,
    Subscriber,
    calm,
    mosquitto_sub,
    mqtt2prometheus,
    mqtt_exporter,
    plain,
    processor_seconds,
    sources,
)

MESSAGES = 200_000
MESSAGES_QOS_1 = 400_000  # of publications there is one at the end, however many these are
# Before it is measured: what is made at the first messages, and loaded at the first pair.
WARMING_READINGS = 2 * SENSORS
MESSAGES_QOS_2 = 4000
ARRAYS, ARRAY = 1500, 100
ROUNDS = 3
RATES = (100, 2000, 20_000)
RATE_SECONDS = 20.0
_STEP_SECONDS = 0.01

Rates = dict[str, list[float]]
Sent = Callable[[int], tuple[list[bytes], list[bytes]]]  # not measured, and measured


def packets(messages: Sequence[tuple[str, bytes]], qos: int = 1) -> list[bytes]:
    """Return messages as packets, numbered from the first."""
    return [packet(topic, payload, at, qos=qos) for at, (topic, payload) in enumerate(messages)]


def in_rounds(
    port: int,
    subscribers: Sequence[Subscriber],
    sent: Sent,
    units: int,
    qos: int = 1,
    rounds: int = ROUNDS,
) -> Rates:
    """Return the seconds a unit of each subscriber in each round."""
    found: Rates = {each.name: [] for each in subscribers}
    for number in range(rounds):
        for at, subscriber in enumerate(subscribers):
            warming, made = sent(number * len(subscribers) + at)
            pid = subscriber.start()
            pour(port, warming, qos=qos)
            calm(pid)
            counted = _received(subscriber)
            before = calm(pid)  # to be asked is not charged
            pour(port, made, qos=qos)
            used = calm(pid) - before
            share = _share_taken(subscriber, counted, made, units)
            subscriber.stop()
            found[subscriber.name].append(used / units / share)
            print(
                f"  {subscriber.name}: {1e6 * used / units / share:.2f} us, {share:.0%} taken",
                file=sys.stderr, flush=True,
            )  # fmt: skip
    return found


def warmed_up(
    port: int, subscribers: Sequence[Subscriber], messages: int = MESSAGES, qos: int = 1
) -> Rates:
    """Do so with readings and references, the first of which are not measured."""

    def sent(number: int) -> tuple[list[bytes], list[bytes]]:
        made = readings_and_references(7000 * number, messages + WARMING_READINGS)
        first = WARMING_READINGS + SENSORS  # a reference to each first reading
        return packets(made[:first], qos), packets(made[first:], qos)

    return in_rounds(port, subscribers, sent, messages, qos)


def _share_taken(
    subscriber: Subscriber, counted: float, made: Sequence[bytes], units: int
) -> float:
    """Return the share of the messages that a subscriber took, 1 for one that does not say."""
    if isinstance(subscriber, Monitor):
        deadline = time.monotonic() + 10.0 * PUBLISH_SECONDS
        while _received(subscriber) - counted < len(made) and time.monotonic() < deadline:
            time.sleep(PUBLISH_SECONDS)
        return (_received(subscriber) - counted) / len(made)
    taken = _received(subscriber) - counted  # the peers that count take readings only
    return taken / units if taken else 1.0


def _received(subscriber: Subscriber) -> float:
    """Return how many messages a subscriber says it took, 0 if it does not."""
    if isinstance(subscriber, Monitor):
        return subscriber.received()
    return (subscriber.taken() if isinstance(subscriber, Program) else None) or 0.0


def against(found: Rates, goals: dict[str, Goal]) -> list[Line]:
    """Return a line for each peer with a goal."""
    return [line(goal, found["monitor"], found[peer], "us", 1e6) for peer, goal in goals.items()]


_WHOLE = "one reading a message: decoded, paired, scored, durable, acknowledged"
_OBJECTS = "caches that are cold after each wait; references one by one; publications"


def qos_1() -> list[Line]:
    """QoS 1, as the settings have it, against three peers."""
    with tempfile.TemporaryDirectory() as name:
        folder, broker = started_broker(name)
        port = broker.port
        peers = [mqtt2prometheus(folder, port), mqtt_exporter(port), mosquitto_sub(port)]
        found = warmed_up(port, [Monitor(folder / "own", port), *peers], MESSAGES_QOS_1)
        broker.stop()
    return against(
        found,
        {
            "mqtt2prometheus": Goal(f"QoS 1, {_WHOLE}", "mqtt2prometheus (Go)", 9, 12, _OBJECTS),
            "mqtt-exporter": Goal("the same", "mqtt-exporter (Python, QoS 0)", 20, 30, _OBJECTS),
            "mosquitto_sub": Goal(
                "the same", "mosquitto_sub (C), which only prints", 4, 5, _OBJECTS
            ),
        },
    )


def qos_0() -> list[Line]:
    """QoS 0: a subscription that may lose messages."""
    with tempfile.TemporaryDirectory() as name:
        folder, broker = started_broker(name)
        own = Monitor(folder / "own", broker.port, sources(0))
        peers = [mqtt2prometheus(folder, broker.port, 0), mosquitto_sub(broker.port, 0)]
        found = warmed_up(broker.port, [own, *peers])
        broker.stop()
    return against(
        found,
        {
            "mqtt2prometheus": Goal(f"QoS 0, {_WHOLE}", "mqtt2prometheus (Go)", limit=_OBJECTS),
            "mosquitto_sub": Goal("the same", "mosquitto_sub (C)", limit=_OBJECTS),
        },
    )


def qos_2() -> list[Line]:
    """QoS 2, published and subscribed."""
    with tempfile.TemporaryDirectory() as name:
        folder, broker = started_broker(name)
        own = Monitor(folder / "own", broker.port, sources(2))
        peers = [mqtt2prometheus(folder, broker.port, 2), mosquitto_sub(broker.port, 2)]
        found = warmed_up(broker.port, [own, *peers], MESSAGES_QOS_2, qos=2)
        broker.stop()
    why = "four packets a message; small reads, since the publisher waits"
    return against(
        found,
        {
            "mqtt2prometheus": Goal(f"QoS 2, {_WHOLE}", "mqtt2prometheus (Go)", limit=why),
            "mosquitto_sub": Goal("the same", "mosquitto_sub (C)", limit=why),
        },
    )


def mqtt_311() -> list[Line]:
    """MQTT 3.1.1, where brokers commonly send twenty messages before an acknowledgement."""
    with tempfile.TemporaryDirectory() as name:
        folder, broker = started_broker(name)
        own = Monitor(folder / "own", broker.port, protocol="3.1.1")
        peer = mqtt2prometheus(folder, broker.port)
        found = warmed_up(broker.port, [own, peer])
        broker.stop()
    why = "as qos-1, and how much the broker sends at a time"
    goal = Goal("MQTT 3.1.1, QoS 1", "mqtt2prometheus (Go)", 7, 12, why)
    return against(found, {"mqtt2prometheus": goal})


def tls() -> list[Line]:
    """TLS between broker and reader."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        authority = Authority(folder / "authority")
        certificate, key = authority.issue("broker", "127.0.0.1", "localhost")
        port = free_port()
        (folder / "broker").mkdir()
        more = f"listener {port} 127.0.0.1\ncertfile {certificate}\nkeyfile {key}"
        broker = _ended_with_us(Mosquitto(folder / "broker", more))
        trust = f'tls: {{ca_file: "{authority.ca_file}"}}'
        own = Monitor(folder / "own", port, mqtt=trust)
        peer = mosquitto_sub(port, 1, authority.ca_file)
        found = warmed_up(broker.port, [own, peer])
        broker.stop()
    goal = Goal("TLS, QoS 1", "mosquitto_sub (C)", 3, 4, _OBJECTS + "; a record of TLS a message")
    return against(found, {"mosquitto_sub": goal})


def _arrays(number: int) -> tuple[list[bytes], list[bytes]]:
    chance, made = random.Random(number), []
    for at in range(ARRAYS):
        sensor, first = at % 100, 10_000 * number + at // 100 * ARRAY
        body = [
            {"time": 1_767_225_600 + first + n, "value": round(chance.gauss(500, 5), 2), "u": 5.0}
            for n in range(ARRAY)
        ]
        made.append(packet(f"monitor/s{sensor}/mass/reading", json.dumps(body).encode(), at))
        body = {"time": 1_767_225_600 + first, "value": 500.0, "u": 0.5}
        made.append(packet(f"monitor/s{sensor}/mass/reference", json.dumps(body).encode(), at))
    return [], made


_ARRAY_SOURCES = """sources:
  - topic: monitor/{sensor}/{quantity}/reading
    kind: reading
    decoder: json
    map: {each: $, time: time, time_unit: s, series: [{value: value, u: u}]}
  - topic: monitor/{sensor}/{quantity}/reference
    kind: reference
    decoder: json
    map: {time: time, time_unit: s, series: [{value: value, u: u}]}
"""


def arrays() -> list[Line]:
    """A hundred readings a message, as a JSON array; the first round, of new series, apart."""
    with tempfile.TemporaryDirectory() as name:
        folder, broker = started_broker(name)
        own = Monitor(folder / "own", broker.port, _ARRAY_SOURCES)
        both, units = [own, plain(broker.port)], ARRAYS * ARRAY
        found = in_rounds(broker.port, both, _arrays, units, rounds=ROUNDS + 1)
        broker.stop()
    peer = "paho + json + deque"
    goal = Goal(
        "a reading, 100 a message (JSON array), decoded, paired, durable",
        f"{peer}, keeps nothing", 2.5, 5,
        "decoding of JSON; the journal; references one by one",
    )  # fmt: skip
    first = Goal(
        f"the same, the first {units:,} of 100 series that are new", peer,
        limit="scipy.special, loaded with the first pair",
    )  # fmt: skip
    return [
        *against({name: rounds[1:] for name, rounds in found.items()}, {peer: goal}),
        *against({name: rounds[:1] for name, rounds in found.items()}, {peer: first}),
    ]


def low_rates() -> list[Line]:
    """Few messages a second: all read the same stream at the same time."""
    lines = []
    with tempfile.TemporaryDirectory() as name:
        folder, broker = started_broker(name)
        everyone: list[Subscriber] = [
            Monitor(folder / "own", broker.port), plain(broker.port), mosquitto_sub(broker.port)
        ]  # fmt: skip
        for number, rate in enumerate(RATES):
            count = int(rate * RATE_SECONDS)
            sent = readings_and_references(5000 * (10 + number), count, spread=True)[:count]
            made = packets(sent)
            pids = {each.name: each.start() for each in everyone}
            warming = readings_and_references(5000 * number, SENSORS)
            pour(broker.port, packets(warming))  # what is made at the first messages, once
            before = {name: calm(pid) for name, pid in pids.items()}
            at_rate(broker.port, made, len(made) / RATE_SECONDS)
            time.sleep(2.0)
            used = {
                name: [(processor_seconds(pid) - before[name]) / count]
                for name, pid in pids.items()
            }
            for each in everyone:
                each.stop()
            floor, aim = (1.0, 2.0) if rate == RATES[0] else (None, None)
            why = "four transactions and half a publication a second, out of cold caches"
            why = why if rate == RATES[0] else "waking up"
            goals = {
                "paho + json + deque": Goal(
                    f"{rate:,} messages a second", "paho + json + deque", floor, aim, why
                ),
                "mosquitto_sub": Goal("the same", "mosquitto_sub (C)", limit=why),
            }
            lines += against(used, goals)
        broker.stop()
    return lines


def at_rate(port: int, made: Sequence[bytes], rate: float) -> None:
    """Send packets evenly."""
    began, sent = time.monotonic(), 0
    stream = pour_evenly(port)
    next(stream)
    while sent < len(made):
        due = min(len(made), int((time.monotonic() - began) * rate) + 1)
        if due > sent:
            stream.send(made[sent:due])
            sent = due
        time.sleep(_STEP_SECONDS if rate > 1.0 / _STEP_SECONDS else 1.0 / rate)
    stream.close()


def started_broker(name: str) -> tuple[Path, Mosquitto]:
    """Return a folder and a broker that works in it until this process ends."""
    folder = Path(name)
    (folder / "broker").mkdir()
    return folder, _ended_with_us(Mosquitto(folder / "broker"))


def _ended_with_us(broker: Mosquitto) -> Mosquitto:
    """Let a broker end with this process, whatever fails before."""
    atexit.register(broker.stop)
    return broker
