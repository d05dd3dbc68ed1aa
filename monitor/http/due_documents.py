"""Who needs a reference next, as a document, as lines of text and as a calendar."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from typing_extensions import TypedDict

from monitor.core.fleet.due_dates import DueDates, due_first, due_sentence, wanted_first
from monitor.core.formatting import date_time, finite, probability, significant
from monitor.core.model import Int
from monitor.core.snapshot.snapshot import Snapshot
from monitor.http.icalendar import CalendarEvent, icalendar
from monitor.http.models import Number, about

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
    sentence: Annotated[str, about("What is known, as what follows the sensor's name.")]
    lower: Annotated[Number, about("When it is out of tolerance with a probability of 5 %.")]
    due: Annotated[Number, about("The same with 50 %, the date of a drift's sentence.")]
    upper: Annotated[Number, about("The same with 95 %; null: not within twenty years.")]
    error: Annotated[Number, about("Its error now, in the unit of the quantity.")]
    u_error: Annotated[Number, about("Standard uncertainty of that error.")]
    tolerance: Number
    out_of_tolerance: Annotated[Number, about("Probability that it is out of tolerance now.")]
    worth: Annotated[
        Number, about("How much a reference now lowers the probability of a wrong decision.")
    ]
    bits: Annotated[Number, about("What a reference now takes off the error's entropy, bits.")]


class DueList(TypedDict):
    """Who needs a reference next."""

    time: float
    sentence: str
    order: DueOrder
    series: list[DueSeries]


def due_list(now: Snapshot, order: DueOrder = "date") -> DueList:
    """Return who needs a reference next: by date, or by what one would tell now."""
    rows = _rows(now, order)
    return DueList(
        time=now.time,
        sentence=_summary(now, rows),
        order=order,
        series=[] if now.due is None else [_line(now, now.due, row) for row in rows.tolist()],
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


def due_text(found: DueList) -> str:
    """Return the list for a terminal."""
    heads = ("sensor", "quantity", "wanted by", "leaves", "out now", "worth", "bits")
    rows: list[tuple[str, ...]] = [heads]
    for each in found["series"]:
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
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
    return "\n".join([found["sentence"], "", *lines] if found["series"] else [found["sentence"]])


def chance_words(share: float | None) -> str:
    """Return a probability for people."""
    if share is None:
        return "-"
    return probability(share) if share >= _LEAST else f"< {100.0 * _LEAST:g} %"


def _rows(now: Snapshot, order: DueOrder) -> Int:
    if now.due is None:
        return np.zeros(0, np.int64)
    rows = (wanted_first if order == "worth" else due_first)(now.due)
    return rows[now.present()[rows]]


def _summary(now: Snapshot, rows: Int) -> str:
    if now.due is None:
        return OFF
    if not rows.size:
        return NOBODY
    overdue = int((now.due.lower[rows] <= now.time).sum())
    first, told = now.names[int(due_first(now.due)[0])], int(wanted_first(now.due)[0])
    wants = (
        f"{overdue} of {rows.size} series want a reference now"
        if overdue
        else (f"No series wants a reference yet; {first.sensor} ({first.quantity}) is the next")
    )
    most = now.names[told]
    return f"{wants}. A reference is worth most at {most.sensor} ({most.quantity})."


def _line(now: Snapshot, found: DueDates, row: int) -> DueSeries:
    name = now.names[row]
    return DueSeries(
        sensor=name.sensor,
        quantity=name.quantity,
        unit=name.unit,
        group=name.group,
        sentence=due_sentence(found, row, name.unit, now.time),
        lower=finite(found.lower[row]),
        due=finite(found.due[row]),
        upper=finite(found.upper[row]),
        error=finite(found.level[row]),
        u_error=finite(found.u_level[row]),
        tolerance=finite(found.tolerance[row]),
        out_of_tolerance=finite(found.out[row]),
        worth=finite(found.worth[row]),
        bits=finite(found.bits[row]),
    )
