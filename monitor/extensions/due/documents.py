"""Who needs a reference next, as a document, as lines of text and as a calendar.

The calendar is a file of dates (iCalendar, RFC 5545): UTC, folded at 75 octets. An event keeps its
``UID`` when its date changes, so that a calendar which reads the file again moves it.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Annotated, Final, Literal, NamedTuple

import numpy as np
from typing_extensions import TypedDict

from monitor.core.formatting import aligned, date_time, finite, probability, significant
from monitor.core.model import Int
from monitor.core.setting import About, Number
from monitor.core.snapshot.snapshot import Snapshot
from monitor.extensions.due.due_dates import DueDates, due_first, due_sentence, wanted_first
from monitor.extensions.due.due_forecasts import due_dates_in

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


DueOrder = Literal["date", "worth"]
OFF = (
    "No settings ask for due dates: set alerts.due to true, for all series or in a group or "
    "override, and alerts.tolerance to the error that is allowed."
)
_LEAST = 1e-3
NOBODY = "No series that settings ask dates for has a pair yet."


class DueSeries(TypedDict):
    """When one series needs a reference, and what one would tell now; times in s UTC."""

    sensor: str
    quantity: str
    unit: str
    group: str
    sentence: Annotated[str, About("What is known, as what follows the sensor's name.")]
    lower: Annotated[Number, About("When it is out of tolerance with a probability of 5 %.")]
    due: Annotated[Number, About("The same with 50 %, the date of a drift's sentence.")]
    upper: Annotated[Number, About("The same with 95 %; null: not within twenty years.")]
    error: Annotated[Number, About("Its error now, in the unit of the quantity.")]
    u_error: Annotated[Number, About("Standard uncertainty of that error.")]
    tolerance: Number
    out_of_tolerance: Annotated[Number, About("Probability that it is out of tolerance now.")]
    worth: Annotated[
        Number, About("How much a reference now lowers the probability of a wrong decision.")
    ]
    bits: Annotated[Number, About("What a reference now takes off the error's entropy, bits.")]


class DueList(TypedDict):
    """Who needs a reference next."""

    time: float
    sentence: str
    order: DueOrder
    series: list[DueSeries]


def due_list(now: Snapshot, order: DueOrder = "date") -> DueList:
    """Return who needs a reference next: by date, or by what one would tell now."""
    dates, rows = due_dates_in(now), _rows(now, order)
    return DueList(
        time=now.time,
        sentence=_summary(now, rows),
        order=order,
        series=[] if dates is None else [_line(now, dates, row) for row in rows.tolist()],
    )


def due_calendar(now: Snapshot) -> bytes:
    """Return the dates at which references are due; an overdue one is due now."""
    listed = due_list(now)["series"]
    return icalendar(
        (
            CalendarEvent(
                f"{each['sensor']}/{each['quantity']}/reference@monitor",
                max(each["lower"], now.time),
                f"Reference for {each['sensor']}, {each['quantity']}",
                f"{each['sensor']} {each['sentence']}.",
            )
            for each in listed
            if each["lower"] is not None
        ),
        now.time,
    )


def due_text(listed: DueList) -> str:
    """Return the list for a terminal."""
    dated = ("needed by, UTC", "leaves tolerance, UTC")
    rows: list[tuple[str, ...]] = [("sensor", "quantity", *dated, "out now", "worth", "bits")]
    for each in listed["series"]:
        dates = (each["lower"], each["due"])
        shares = (each["out_of_tolerance"], each["worth"])
        rows.append(
            (
                each["sensor"],
                each["quantity"],
                *("-" if date is None else date_time(date, "%Y-%m-%d %H:%M") for date in dates),
                *map(chance_words, shares),
                "-" if each["bits"] is None else significant(each["bits"]),
            )
        )
    lines = ["", *aligned(rows)] if listed["series"] else []
    return "\n".join([listed["sentence"], *lines])


def chance_words(share: float | None) -> str:
    """Return a probability for people."""
    if share is None:
        return "-"
    return probability(share) if share >= _LEAST else f"< {100.0 * _LEAST:g} %"


def _rows(now: Snapshot, order: DueOrder) -> Int:
    dates = due_dates_in(now)
    if dates is None:
        return np.zeros(0, np.int64)
    rows = (wanted_first if order == "worth" else due_first)(dates)
    rows = rows[now.present()[rows]]
    is_asked = np.array([bool(_asked(now, row)) for row in rows.tolist()], dtype=np.bool_)
    return np.concatenate([rows[is_asked], rows[~is_asked]])


def _asked(now: Snapshot, row: int) -> str:
    """Return why another extension asks for a reference of a series, empty if none does."""
    additions = (each.asks_reference(now, row) for each in now.additions.values())
    return "; ".join(filter(None, additions))


def _summary(now: Snapshot, rows: Int) -> str:
    dates = due_dates_in(now)
    if dates is None:
        return OFF if now.names else NOBODY
    if not rows.size:
        return NOBODY
    is_overdue = [dates.lower[row] <= now.time or bool(_asked(now, row)) for row in rows.tolist()]
    overdue = sum(is_overdue)
    first, wanted = now.names[int(due_first(dates)[0])], int(wanted_first(dates)[0])
    wants = (
        f"{overdue} of {rows.size} series {'needs' if overdue == 1 else 'need'} a reference now"
        if overdue
        else (f"No series needs a reference yet; {first.sensor} ({first.quantity}) is the next")
    )
    most = now.names[wanted]
    return f"{wants}. A reference is worth most at {most.sensor} ({most.quantity})."


def _line(now: Snapshot, due_dates: DueDates, row: int) -> DueSeries:
    name, asked = now.names[row], _asked(now, row)
    sentence, lower = due_sentence(due_dates, row, name.unit, now.time), due_dates.lower[row]
    if asked:
        sentence, lower = f"needs a reference now: {asked}", np.fmin(lower, now.time)
    return DueSeries(
        sensor=name.sensor,
        quantity=name.quantity,
        unit=name.unit,
        group=name.group,
        sentence=sentence,
        lower=finite(lower),
        due=finite(due_dates.due[row]),
        upper=finite(due_dates.upper[row]),
        error=finite(due_dates.level[row]),
        u_error=finite(due_dates.u_level[row]),
        tolerance=finite(due_dates.tolerance[row]),
        out_of_tolerance=finite(due_dates.out[row]),
        worth=finite(due_dates.worth[row]),
        bits=finite(due_dates.bits[row]),
    )
