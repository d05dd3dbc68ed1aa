"""Which sensor needs a reference next: when each error leaves its tolerance, and what one is worth.

``offset_walks`` says how an error moves by its own pairs, ``due_dates`` makes dates and worths of
it, ``due_forecasts`` keeps them up to date in the daemon, for the series whose settings ask
(``alerts.due``). ``documents`` and ``pages`` show them at /due, /due.ics and /api/v1/due.

Invariants: dates are a function of windows, verdicts and the moment; series that do not ask cost
nothing; the verdict's own error and drift come first.

What breaks first: a sensor with few pairs; its dates are as wide as what is known of it.
"""

from __future__ import annotations

from typing import Final

from monitor.extensions import Command, Extension

EXTENSION: Final = Extension(
    name="due",
    summary="which sensor needs a reference next",
    page="beyond.md",
    settings={"alerts.due": "monitor.extensions.due.settings:KEY"},
    commands={
        "due": Command(
            "list which sensors need a reference next, and where one is worth most",
            "monitor.extensions.due.command",
            "every day",
        ),
    },
    plan="monitor.extensions.due.due_forecasts:DueForecasts",
    routes="monitor.extensions.due.pages:due_routes",
    has_pages="monitor.extensions.due.settings:has_pages",
    menu=(("/due", "Due"),),
    metrics="monitor.extensions.due.due_dates:METRICS",
)
