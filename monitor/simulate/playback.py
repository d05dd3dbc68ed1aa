"""Observations as the messages that carried them, recordings of those, and their paced playback.

Rules of this file: no socket and no clock of its own; numbers are written in their shortest exact
form, so that every decoder gets the same bits.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta, timezone
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import msgspec

from monitor.core.formatting import instant
from monitor.core.model import Collocation, Event, Observation, Reading, Reference, time_of
from monitor.errors import BAD_INPUT, MonitorError

_FIELD: Final = re.compile(r"\{([a-z_][a-z0-9_]*)\}")
_STATUSES: Final = ("", "final", "void")  # by the status part of a revision, see decode.native


class ReplayError(MonitorError):
    """An observation cannot be written as a message; the message says why and what to do."""

    exit_code = BAD_INPUT


class KindTopics(NamedTuple):
    """Topic templates of the kinds of messages."""

    reading: str = "monitor/{sensor}/{quantity}/reading"
    reference: str = "monitor/{subject}/{quantity}/reference"
    event: str = "monitor/{sensor}/event"
    collocation: str = "monitor/{sensor}/collocation"


DEFAULT_TOPICS: Final = KindTopics()
NO_UNITS: Final[Mapping[tuple[str, str], str]] = MappingProxyType({})


def native_message(
    observation: Observation,
    topics: KindTopics = DEFAULT_TOPICS,
    unit: str = "",
    *,
    is_exact: bool = False,
) -> tuple[str, bytes]:
    """Return topic and payload (native JSON, docs/formats) of an observation.

    Values that are not stated are omitted; the payload states ``unit`` unless it is empty. The u of
    a reference is taken as not stated if it is 0, except where ``is_exact`` says that it is. Raises
    ReplayError if the templates need a field that an observation does not have.
    """
    match observation:
        case Reading():
            topic = _topic("reading", topics, observation.sensor, observation.quantity)
            return topic, _payload(_reading(observation, unit))
        case Reference():
            topic = _topic("reference", topics, observation.subject, observation.quantity)
            return topic, _payload(_reference(observation, unit, is_exact=is_exact))
        case Event():
            return _topic("event", topics, observation.sensor), _payload(_event(observation))
        case Collocation():
            topic = _topic("collocation", topics, observation.sensor)
            return topic, _payload(_collocation(observation))


def moved(observation: Observation, seconds: float) -> Observation:
    """Return the observation with each of its times that many seconds later."""
    times = {name: getattr(observation, name, math.nan) for name in ("time", "start", "end")}
    stated = {name: time + seconds for name, time in times.items() if math.isfinite(time)}
    return msgspec.structs.replace(observation, **stated)


class RawMessage(NamedTuple):
    """A message; ``time`` in s since 1970 UTC, NaN if it is not known."""

    time: float
    topic: str
    payload: bytes


class Recording(NamedTuple):
    """Messages in the order of arrival, and the fault of each faulty sensor."""

    messages: list[RawMessage]
    faults: Mapping[str, str]


def recording(messages: Iterable[RawMessage], faults: Mapping[str, str]) -> Recording:
    """Return messages in the order of arrival; with equal times the first made comes first."""
    return Recording(sorted(messages, key=lambda sent: sent.time), faults)


def stated(time: float, topic: str, **fields: Any) -> RawMessage:  # noqa: ANN401 - any JSON
    """Return a message in JSON."""
    return RawMessage(time, topic, json.dumps(fields, separators=(",", ":")).encode())


def local_instant(time: float, offset_hours: float = 0.0) -> str:
    """Return a time in ISO 8601, to the second, in a time zone."""
    zone = UTC if offset_hours == 0.0 else timezone(timedelta(hours=offset_hours))
    text = datetime.fromtimestamp(time, zone).isoformat(timespec="seconds")
    return text.replace("+00:00", "Z")


def worded(
    observations: Iterable[Observation],
    topics: KindTopics = DEFAULT_TOPICS,
    units: Mapping[tuple[str, str], str] = NO_UNITS,
) -> Iterator[RawMessage]:
    """Yield observations as native messages at their event times.

    ``units`` is by (sensor or subject, quantity) and may grow meanwhile, as that of a stream does.
    """
    for observation in observations:
        message = native_message(observation, topics, _unit_of(observation, units))
        yield RawMessage(time_of(observation), *message)


def replay(
    messages: Iterable[RawMessage],
    publish: Callable[[str, bytes], object],
    *,
    speed: float | None,
    clock: Callable[[], float],
    sleep: Callable[[float], object],
) -> int:
    """Publish each message when it is due; return how many there were.

    ``speed`` is recorded seconds per second of ``clock`` (1 is real time, 60 an hour per minute),
    None as fast as ``publish`` accepts them; messages without a time or out of order go at once.
    """
    started = clock()
    first = math.nan
    count = 0
    for message in messages:
        if speed is not None and not math.isnan(message.time):
            first = message.time if math.isnan(first) else first
            wait_seconds = (message.time - first) / speed - (clock() - started)
            if wait_seconds > 0.0:
                sleep(wait_seconds)
        publish(message.topic, message.payload)
        count += 1
    return count


def _unit_of(observation: Observation, units: Mapping[tuple[str, str], str]) -> str:
    match observation:
        case Reading():
            return units.get((observation.sensor, observation.quantity), "")
        case Reference():
            return units.get((observation.subject, observation.quantity), "")
        case Event() | Collocation():
            return ""


def _reading(reading: Reading, unit: str) -> dict[str, str | float]:
    return {
        "time": instant(reading.time),
        "value": reading.value,
        "unit": unit,
        "u": reading.u,
        "lower": reading.lower,
        "upper": reading.upper,
        "p": reading.p,
        "key": reading.key,
        "seq": reading.sequence,
    }


def _reference(reference: Reference, unit: str, *, is_exact: bool) -> dict[str, str | float]:
    revision, rank = divmod(reference.revision, 4)
    if rank >= len(_STATUSES):
        raise ReplayError(
            f"reference {reference.identity or reference.key!r} of {reference.subject}: revision "
            f"{reference.revision} is none of the native payload's; use 4 * rev + (0, 1 or 2)"
        )
    return {
        "time": instant(reference.time),
        "value": reference.value,
        "unit": unit,
        "u": reference.u if reference.u or is_exact else math.nan,
        "key": reference.key,
        "id": reference.identity,
        "reference_id": reference.reference_id,
        "rev": revision or "",
        "status": "void" if reference.void else _STATUSES[rank],
        "start": instant(reference.start),
        "end": instant(reference.end),
    }


def _event(event: Event) -> dict[str, str | float]:
    return {"time": instant(event.time), "event": event.event, "note": event.note}


def _collocation(collocation: Collocation) -> dict[str, str | float]:
    return {
        "subject": collocation.subject,
        "start": instant(collocation.start),
        "end": instant(collocation.end),
        "distance_m": collocation.distance_km * 1000.0,
    }


def _payload(fields: dict[str, str | float]) -> bytes:
    """Return JSON without empty texts and NaN, which mean not stated."""
    return msgspec.json.encode({name: one for name, one in fields.items() if _is_stated(one)})


def _is_stated(one: str | float) -> bool:
    return one != "" if isinstance(one, str) else not math.isnan(one)


def _topic(kind: str, topics: KindTopics, name: str, quantity: str = "") -> str:
    """Return the topic of a kind of messages whose sensor or subject is ``name``."""
    template: str = getattr(topics, kind)
    if not template:
        raise ReplayError(
            f"the settings have no source of kind {kind} with the decoder native to publish on; "
            f"add {{topic: '{getattr(DEFAULT_TOPICS, kind)}', kind: {kind}}} to sources, or for "
            "references and events by_hand: true; see docs/settings.md#sources"
        )
    names = {"sensor": name, "subject": name, "quantity": quantity}
    topic = _FIELD.sub(lambda field: names.get(field[1], field[0]), template)
    if topic != template and not set(topic) & set("+#{}"):
        return topic
    raise ReplayError(
        f"nothing can be published on topic {template!r}: besides plain text it may hold {{sensor}}"
        " (or {subject}) and {quantity} only; give the source such a topic for the replay"
    )
