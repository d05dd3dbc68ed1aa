"""Sinks: whom the daemon tells when an alert begins or ends. One file a channel, one line each.

Rules of this package: what is told is a :class:`Transition`, durable in the journal before any
sink has it; each sink has a bounded queue and a thread of its own (:class:`Outlet`), so that none
can hold up the data or another sink; what a sink has not delivered when the process ends is
delivered after the next start, so a receiver may see an id twice and none is lost.
A new channel: a file with a class that keeps the contract of :class:`Sink`, a section in
``monitor.config.sinks``, and a line in :data:`SINKS`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from monitor.config import Settings
from monitor.sinks.channels import Keys, log_outlet, mqtt_outlet, webhook_outlet
from monitor.sinks.outlet import LaterError, Outlet, RefusedError, Sink
from monitor.transition import Transition

SINKS: Final[dict[str, Callable[[Settings, Keys], Outlet | None]]] = {
    "log": log_outlet,
    "mqtt": mqtt_outlet,
    "webhook": webhook_outlet,
}


def outlets(settings: Settings, keys: Keys) -> list[Outlet]:
    """Return the outlets that the settings ask for; none has begun to work."""
    made = (make(settings, keys) for make in SINKS.values())
    return [outlet for outlet in made if outlet is not None]


__all__ = [
    "SINKS",
    "Keys",
    "LaterError",
    "Outlet",
    "RefusedError",
    "Sink",
    "Transition",
    "outlets",
]
