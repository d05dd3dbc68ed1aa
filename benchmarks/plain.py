"""The plain way to watch sensors: paho, json, and a deque of scores a sensor. A peer to measure.

It keeps nothing durable and pairs nothing: each message, or each reading of an array, is held
against a constant. Run: python benchmarks/plain.py PORT QOS
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict, deque
from typing import Any

import paho.mqtt.client as mqtt

WINDOW = 100
TRUE = 500.0

windows: dict[str, deque[tuple[float, ...]]] = defaultdict(lambda: deque(maxlen=WINDOW))
sums: dict[str, list[float]] = defaultdict(lambda: [0.0] * 5)


def take(sensor: str, value: float, u: float) -> None:
    """Score one reading, and keep running sums over its sensor's window."""
    error = value - TRUE
    z = error / u
    scores = (error, error * error, abs(error), z, z * z)
    window, total = windows[sensor], sums[sensor]
    gone = window[0] if len(window) == WINDOW else (0.0,) * 5
    window.append(scores)
    for at, score in enumerate(scores):
        total[at] += score - gone[at]


def on_message(_client: mqtt.Client, _data: Any, message: mqtt.MQTTMessage) -> None:  # noqa: ANN401
    body = json.loads(message.payload)
    sensor = message.topic.split("/")[1]
    for each in body if isinstance(body, list) else [body]:
        take(sensor, each["value"], each["u"])


def main() -> None:
    port, qos = int(sys.argv[1]), int(sys.argv[2])
    client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2, client_id="plain")
    client.on_message = on_message
    client.on_connect = lambda *_: client.subscribe("monitor/#", qos)
    client.connect("127.0.0.1", port)
    client.loop_forever()


if __name__ == "__main__":
    main()
