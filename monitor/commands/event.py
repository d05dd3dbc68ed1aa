"""``monitor event``: a sensor was adjusted, moved or replaced; its new epoch begins."""

from __future__ import annotations

import argparse
import sys
import time
from typing import Final

from monitor.commands.options import config_option, connected, connection_arguments, instant_of
from monitor.commands.publishing import publish_event, unknown_names
from monitor.config import load
from monitor.core.formatting import instant
from monitor.core.model import Event
from monitor.decode import REASONS, Rejected
from monitor.decode.checks import check_event, check_name, check_time
from monitor.errors import UsageError

_USUAL: Final = "adjusted, moved, replaced, firmware"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    config_option(parser)
    parser.add_argument("sensor", metavar="SENSOR", help="name of the sensor")
    parser.add_argument("event", metavar="EVENT", help=f"what happened: {_USUAL} or any other word")
    parser.add_argument(
        "--time", metavar="TIME", help="time of the event, ISO 8601 with a time zone (default: now)"
    )
    parser.add_argument("--note", default="", metavar="TEXT", help="a note for later readers")
    connection_arguments(parser)


def run(options: argparse.Namespace) -> int:
    """Publish the event on the settings' event topic, and wait until the broker has it."""
    settings = connected(load(options.config), options)
    now = time.time()
    try:
        event = Event(
            check_name("sensor", options.sensor),
            now if options.time is None else check_time(instant_of(options.time, "--time"), now),
            check_event(options.event),
            options.note,
        )
    except Rejected as error:
        raise UsageError(f"{REASONS[error.reason]} ({error.detail})") from error
    topic = publish_event(settings, options.config, event)
    when = instant(event.time, "seconds")
    where = f"published on {topic}"
    print(f"{event.sensor} {event.event} at {when}: a new epoch begins; {where}")
    sys.stderr.write(unknown_names(settings, [(event.sensor, "")]))
    return 0
