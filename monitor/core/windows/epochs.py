"""Epochs: each time a sensor is adjusted, moved or replaced, a new one begins.

Rules of this file: the epochs of a sensor are a set in time order, whatever the order of arrival.
"""

from __future__ import annotations

from bisect import bisect_left

from monitor.core.model import Event
from monitor.core.registry import SeriesKey


class Epochs:
    """Events of all sensors."""

    def __init__(self) -> None:
        self._events: dict[str, list[tuple[float, str, str]]] = {}

    def add(self, event: Event) -> bool:
        """Add an event; return False for a duplicate."""
        known = self._events.setdefault(event.sensor, [])
        entry = (event.time, event.event, event.note)
        place = bisect_left(known, entry)
        if known[place : place + 1] == [entry]:
            return False
        known.insert(place, entry)
        return True

    def of(self, key: SeriesKey) -> list[Event]:
        """Return the events of a series' sensor in time order."""
        return [Event(key.sensor, *entry) for entry in self._events.get(key.sensor, ())]

    def start_of(self, key: SeriesKey) -> float:
        """Return when the present epoch of a series began, -inf if there was no event."""
        known = self._events.get(key.sensor)
        return known[-1][0] if known else -float("inf")
