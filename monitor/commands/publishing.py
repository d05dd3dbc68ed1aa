"""Messages that a person publishes: tried with the daemon's own decoders, then sent."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Final
from urllib.parse import urlencode

from monitor.client.client import DaemonClient
from monitor.config import Settings, resolve_secret
from monitor.config.core_plan import router_of, units_of, units_of_readings
from monitor.config.mistakes import listed
from monitor.core.model import Event
from monitor.daemon.connecting import publisher_of
from monitor.decode.unit_spellings import unclear
from monitor.decode.units import converts
from monitor.errors import MonitorError, UsageError
from monitor.simulate.playback import KindTopics, RawMessage, native_message

_PATIENCE_SECONDS: Final = 2.0
_ROWS: Final = 10_000
_LOOKED_UP_MAX: Final = 100


def refuse_rejected(settings: Settings, config: str, messages: Sequence[RawMessage]) -> None:
    """Raise UsageError for a message that a daemon with these settings would reject.

    What extensions read, which may be on the daemon's machine alone, rejects nothing.
    """
    router = router_of(settings, units=units_of(settings), supplements=())
    topics, payloads = [each.topic for each in messages], [each.payload for each in messages]
    if refused := router.decode_all(topics, payloads, time.time()).refused:
        place, rejected = refused[0]
        raise UsageError(
            f"a daemon with {config} would reject {topics[place]} {payloads[place].decode()}: "
            f"{rejected.detail}"
        )


def refuse_unit(settings: Settings, config: str, quantity: str, unit: str) -> None:
    """Raise UsageError for a unit in which no readings of ``quantity`` can be kept.

    Where their messages state their units, it must at least mean one thing.
    """
    units = units_of_readings(settings, quantity)
    why = unclear(unit)
    if why:
        why = f"unit {unit!r} {why}"
    elif unit and units and "" not in units and not any(converts(unit, each) for each in units):
        why = f"{unit!r} is not understood or does not convert to {listed(sorted(units))}"
    if why and unit not in units:
        raise UsageError(f"a daemon with {config} would reject references of {quantity}: {why}")


def publish(settings: Settings, config: str, messages: Sequence[RawMessage]) -> None:
    """Publish messages in their order, and wait until the broker has them."""
    with publisher_of(settings, resolve_secret(settings, config)) as publisher:
        for message in messages:
            publisher.publish(message.topic, message.payload)
        publisher.flush()


def publish_event(settings: Settings, config: str, event: Event) -> str:
    """Publish an event as a native message once a daemon would take it; return the topic."""
    message = RawMessage(event.time, *native_message(event, native_topics(settings)))
    refuse_rejected(settings, config, [message])
    publish(settings, config, [message])
    return message.topic


def native_topics(settings: Settings) -> KindTopics:
    """Return the topics of the first native source of each kind; empty where there is none."""
    native = [source for source in settings.sources if source.decoder == "native"]
    return KindTopics(
        **dict.fromkeys(KindTopics._fields, "")
        | {source.kind: source.topic for source in reversed(native)}
    )


def unknown_names(settings: Settings, named: Iterable[tuple[str, str]]) -> str:
    """Return warnings of sensors, or of their quantities, that a daemon which answers knows not.

    ``named`` has sensors and quantities; an empty quantity is any.
    """
    client = DaemonClient.of(settings)._replace(timeout_seconds=_PATIENCE_SECONDS)
    try:
        return "".join(_unknown(client, *each) for each in [*named][:_LOOKED_UP_MAX])
    except MonitorError:
        return ""


def _unknown(client: DaemonClient, sensor: str, quantity: str) -> str:
    known = _series(client, urlencode({"text": sensor, "rows": _ROWS}))
    quantities = sorted(own for name, own in known or () if name == sensor)
    begin = f"warning: the daemon at {client.url} knows no"
    if known is None or (quantity in ("", *quantities) and quantities):
        return ""
    if quantities:
        return f"{begin} {quantity!r} of {sensor!r} (it has {listed(quantities)})\n"
    others = [name for name, _ in _series(client, f"rows={_ROWS}") or ()]
    near = get_close_matches(sensor, others, 1)
    return f"{begin} sensor {sensor!r}{f' (is it {near[0]!r}?)' if near else ''}\n"


def _series(client: DaemonClient, query: str) -> set[tuple[str, str]] | None:
    """Return the sensors and quantities that a daemon lists, None if it does not answer."""
    answer = client.get(f"series?{query}")
    if answer is None:
        return None
    return {(each["sensor"], each["quantity"]) for each in answer["series"]}
