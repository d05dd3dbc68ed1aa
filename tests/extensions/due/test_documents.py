"""Due dates as JSON and as a calendar."""

from __future__ import annotations

from monitor.extensions.due.documents import CalendarEvent, icalendar
from tests.extensions.due.test_command import unfolded


def test_a_calendar_keeps_characters_whole_and_names_the_same():
    events = [
        CalendarEvent(f"{'ü' * n}@x", 0.0, "a;b,c\\d\r\nBEGIN:VEVENT", "é" * n) for n in range(90)
    ]
    first, later = (icalendar(events, made).decode() for made in (0.0, 9e9))
    found = unfolded(first)
    assert sum(name == "BEGIN" for name, _ in found) == 91
    assert [value for name, value in found if name == "UID"] == [each.name for each in events]
    assert [v for n, v in unfolded(later) if n == "UID"] == [each.name for each in events]
    assert ("SUMMARY", "a\\;b\\,c\\\\d\\nBEGIN:VEVENT") in found
