"""``monitor due``: who needs a reference next, from recorded pairs or a running daemon."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Final, cast

from monitor.client.client import client_arguments, client_of
from monitor.commands.options import recorded_or_daemon
from monitor.config import load
from monitor.core.pairing.series_rules import SeriesRules
from monitor.core.snapshot.snapshot import Snapshot
from monitor.errors import UsageError
from monitor.extensions.due.documents import DueList, due_calendar, due_list, due_text
from monitor.extensions.due.due_forecasts import KEY, DueForecasts
from monitor.files.layout import layout_arguments, layout_of, refuse_layout
from monitor.report.recorded import InMemoryNetwork, Recorded, read_with_notes

_WINDOW: Final = 500  # pairs


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    recorded_or_daemon(parser, "settings of a running daemon")
    layout_arguments(parser)
    parser.add_argument(
        "--tolerance",
        type=float,
        help="with FILE: largest error that is allowed, in its unit (default: the typical "
        "standard uncertainty of each series)",
    )
    parser.add_argument(
        "--order",
        choices=("date", "worth"),
        default="date",
        help="soonest first, or where a reference is worth most (default: date)",
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print the list as JSON")
    form.add_argument("--ics", action="store_true", help="print the dates as iCalendar")
    client_arguments(parser)


def run(options: argparse.Namespace) -> int:
    """Print who needs a reference next."""
    sys.stdout.write(_of_daemon(options) if options.config else _of_file(options))
    return 0


def _of_file(options: argparse.Namespace) -> str:
    most = options.tolerance
    if most is not None and not 0.0 < most <= 1e15:
        raise UsageError(f"--tolerance {most}: must be above 0 and at most 1e15")
    if options.ics and options.order != "date":
        raise UsageError("--order is for the list; a calendar has its own order")
    rules = SeriesRules(asks=((KEY, True),), tolerance=most)
    recorded = read_with_notes(Path(options.file), rules, layout_of(options))
    if not recorded.names:
        raise UsageError(f"{options.file}: no reading has a reference; check times and names")
    if not recorded.timed:
        raise UsageError(f"{options.file}: has no column time; without times there are no dates")
    now = due_snapshot(recorded)
    if options.ics:
        return due_calendar(now).decode()
    listed = due_list(now, options.order)
    return f"{json.dumps(listed, allow_nan=False) if options.json else due_text(listed)}\n"


def _of_daemon(options: argparse.Namespace) -> str:
    if options.ics:
        raise UsageError("--ics is for FILE; calendars read /due.ics of a daemon themselves")
    if options.tolerance is not None:
        raise UsageError("--tolerance is for FILE; a daemon's is alerts.tolerance in its settings")
    refuse_layout(options)
    answer = client_of(load(options.config), options).asked(f"due?order={options.order}")
    text = due_text(cast("DueList", answer))
    return f"{json.dumps(answer, allow_nan=False) if options.json else text}\n"


def due_snapshot(recorded: Recorded) -> Snapshot:
    """Return what a daemon with these pairs would publish after the last.

    The rules of the series must ask for due dates.
    """
    rules = dict(
        zip(((each.sensor, each.quantity) for each in recorded.names), recorded.rules, strict=True)
    )
    memory = InMemoryNetwork(
        lambda sensor, quantity: rules[sensor, quantity], _WINDOW, (DueForecasts,)
    )
    for name in recorded.names:
        memory.network.registry.add(name.sensor, name.quantity)
    memory.apply(recorded.pairs)
    return memory.network.evaluate(float(recorded.pairs["time"].max()))
