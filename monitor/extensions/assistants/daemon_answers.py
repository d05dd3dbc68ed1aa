"""A daemon's answers to an assistant's questions, in the daemon's own sentences.

The docstrings and the words beside the arguments are what the assistant reads.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Final, Literal
from urllib.parse import urlencode

from pydantic import Field

from monitor.client.client import DaemonClient
from monitor.config import parse
from monitor.core.formatting import series_path
from monitor.core.verdict import REFERENCE_SUSPECT
from monitor.errors import UsageError
from monitor.explain import Message, explain
from monitor.explain.text import explanation_lines

_MOST: Final = 50  # series in an answer
# Of the daemon's settings those that decide nothing about a message, and name files of its machine.
_NOT_OF_MESSAGES: Final = ("mqtt", "http", "journal", "sinks", "log")

Sensor = Annotated[str, Field(description="Name of a sensor, as the daemon shows it.")]
Quantity = Annotated[str, Field(description="What it measures; by default whatever it measures.")]
Other = Annotated[str, Field(description="Another sensor; without it its past is compared.")]
Order = Annotated[
    Literal["date", "worth"], Field(description="Soonest first, or where one tells most.")
]
Topic = Annotated[str, Field(description="Topic of one MQTT message, without wildcards.")]
Payload = Annotated[str, Field(description="Its payload as text.")]


class DaemonAnswers:
    """A daemon's answers; each raises ClientError where it has none."""

    def __init__(self, client: DaemonClient) -> None:
        self._client: Final = client

    def why(self, sensor: Sensor = "", quantity: Quantity = "") -> str:
        """Say what is known of a sensor: whether it is right, since when it is wrong, what helps.

        Without a sensor: of those that need work, the most urgent first.
        """
        if sensor and quantity:
            return "\n".join(_series_lines(self._client.asked(series_path(sensor, quantity)[1:])))
        query = {"text": sensor} if sensor else {"rows": str(_MOST)}
        fleet = self._get("series", **query, sort="state")
        series = [
            each
            for each in fleet["series"]
            if (each["sensor"] == sensor if sensor else _needs_work(each))
        ]
        if sensor and not series:
            near = sorted({each["sensor"] for each in fleet["series"]})[:_MOST]
            hint = f"; there are {', '.join(near)}" if near else ""
            raise UsageError(f"the daemon knows no sensor {sensor!r}{hint}")
        counts = ", ".join(f"{count} {state}" for state, count in fleet["states"].items() if count)
        head = [] if sensor else [f"{self._client.url}: {counts or 'no series'}"]
        return "\n".join([*head, *(line for each in series for line in _series_lines(each))])

    def doctor(self) -> str:
        """Say why there are no pairs: what arrived, what was refused, what waits for a partner."""
        return str(self._client.asked("doctor")["text"])

    def due(self, order: Order = "date") -> str:
        """Say which sensors need a reference next, and when."""
        listed = self._get("due", order=order)
        lines = [f"{_name(each)}: {each['sentence']}" for each in listed["series"][:_MOST]]
        return "\n".join([listed["sentence"], *lines])

    def compare(self, a: Sensor, b: Other = "", quantity: Quantity = "") -> str:
        """Say which of two sensors is better on their common events, or how one has changed."""
        return "\n".join(self._get("compare", a=a, b=b, quantity=quantity)["sentences"])

    def explain(self, topic: Topic, payload: Payload) -> str:
        """Say what becomes of one message: how it is read, what it pairs with, why it is refused.

        Nothing is published: the daemon's settings are tried on it here.
        """
        shown = self._client.asked("settings")["settings"]
        of_messages = {key: each for key, each in shown.items() if key not in _NOT_OF_MESSAGES}
        settings = parse(json.dumps(of_messages).encode(), f"settings of {self._client.url}")
        message = Message(topic, payload.encode())
        return "\n".join(explanation_lines(explain(settings, message, time.time())))

    def _get(self, path: str, **query: str) -> dict[str, Any]:
        given = {key: each for key, each in query.items() if each}
        return self._client.asked(f"{path}?{urlencode(given)}")


def _name(series: dict[str, Any]) -> str:
    return f"{series['sensor']} {series['quantity']}"


def _needs_work(of: Mapping[str, Any]) -> bool:
    """Return whether the pages say so: an alert fires, and no suspect reference explains it."""
    return not of["withdrawn"] and bool({*of["alerts"]} - {REFERENCE_SUSPECT})


def _series_lines(series: dict[str, Any]) -> Iterator[str]:
    """Yield the sentences on a series, those of extensions too."""
    yield f"{_name(series)} ({series['state']}): {series['sentence']}"
    if series["advice"]:
        yield f"  advice: {series['advice']}"
    for key, added in series.items():
        if key != "verdict" and isinstance(added, dict) and added.get("sentence"):
            yield f"  {key}: {added['sentence']}"
