"""Dates as a calendar file (iCalendar, RFC 5545): UTC, folded at 75 octets, with stable UIDs.

An event keeps its ``UID`` when its date changes, so that a calendar which reads the file again
moves it.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Final, NamedTuple

MEDIA_TYPE: Final = "text/calendar; charset=utf-8"
_OCTETS: Final = 75
_LATEST: Final = 253402300799.0  # the last second of the year 9999


class CalendarEvent(NamedTuple):
    """An event of one hour: its name for machines, its beginning (s UTC), and its texts."""

    name: str
    begins: float
    summary: str
    description: str


def icalendar(events: Iterable[CalendarEvent], made: float) -> bytes:
    """Return a calendar file with events; ``made`` is the time of its content (s UTC)."""
    lines = ["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//monitor//references due//EN"]
    lines += ["CALSCALE:GREGORIAN", "METHOD:PUBLISH", "X-WR-CALNAME:References due"]
    for each in events:
        lines += [
            "BEGIN:VEVENT",
            f"UID:{_escaped(each.name)}",
            f"DTSTAMP:{_utc(made)}",
            f"DTSTART:{_utc(each.begins)}",
            "DURATION:PT1H",
            f"SUMMARY:{_escaped(each.summary)}",
            f"DESCRIPTION:{_escaped(each.description)}",
            "TRANSP:TRANSPARENT",
            "END:VEVENT",
        ]
    return b"".join(_folded(line) for line in [*lines, "END:VCALENDAR"])


def _utc(time: float) -> str:
    return datetime.fromtimestamp(min(max(time, 0.0), _LATEST), UTC).strftime("%Y%m%dT%H%M%SZ")


def _escaped(text: str) -> str:
    for mark in ("\\", ";", ","):
        text = text.replace(mark, f"\\{mark}")
    lines = "\\n".join(text.splitlines())
    return "".join(each for each in lines if each.isprintable())


def _folded(line: str) -> bytes:
    """Return a content line as physical lines of at most 75 octets, no character split."""
    pieces, size = [bytearray()], 0
    for character in line:
        octets = character.encode("utf-8", "replace")
        if size + len(octets) > _OCTETS:
            pieces.append(bytearray(b" "))
            size = 1
        pieces[-1] += octets
        size += len(octets)
    return b"\r\n".join(pieces) + b"\r\n"
