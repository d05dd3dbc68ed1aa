"""``monitor accept``: somebody accepts the advice on a sensor, and its correction lasts."""

from __future__ import annotations

import argparse
import time
from typing import Any, Final
from urllib.parse import urlencode

from monitor.client.client import ClientError, DaemonClient, client_of
from monitor.commands.options import config_option, connected, connection_arguments
from monitor.commands.publishing import publish_event
from monitor.config import load
from monitor.core.formatting import instant
from monitor.core.model import Event
from monitor.errors import UsageError

_ROWS: Final = 10_000
_OF_BROKER: Final = ("ca", "cert", "key", "user", "password_file")


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    config_option(parser, "settings of the running daemon")
    parser.add_argument("sensor", metavar="SENSOR", help="name of the sensor")
    parser.add_argument("--quantity", help="required if several have advice")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--advice", metavar="ID", help="accept this advice, if it is still in force")
    how.add_argument(
        "--yes", action="store_true", help="accept the advice in force, whatever it is"
    )
    parser.add_argument("--url", help="address of the daemon (default: from the settings)")
    connection_arguments(parser)


def run(options: argparse.Namespace) -> int:
    """Publish that the advice in force is accepted, and wait until the broker has it."""
    settings = connected(load(options.config), options)
    # The options with these names are for the broker; the environment has those for the daemon.
    reader = argparse.Namespace(url=options.url, **dict.fromkeys(_OF_BROKER))
    series = _advised(client_of(settings, reader), options)
    offer, named = series["accept"], f"{series['sensor']} {series['quantity']}"
    again = f"`--advice {offer['advice']}` accepts it"
    if options.advice not in (None, offer["advice"]):
        raise UsageError(f"{named}: the advice has changed: {offer['sentence']}; {again}")
    if not (options.yes or options.advice):
        raise UsageError(f"{named}: {offer['sentence']}; {again}")
    event = Event(series["sensor"], time.time(), offer["event"], offer["note"])
    topic = publish_event(settings, options.config, event)
    when = instant(event.time, "seconds")
    where = f"published on {topic}"
    print(f"{named}: {offer['sentence']} from {when} on, and a new epoch begins; {where}")
    return 0


def _advised(client: DaemonClient, options: argparse.Namespace) -> dict[str, Any]:
    """Return the daemon's entry of the series whose advice is meant; raises MonitorError."""
    answer = client.get(f"series?{urlencode({'text': options.sensor, 'rows': _ROWS})}")
    if answer is None:
        raise ClientError(f"no daemon answers on {client.url}; start it with `monitor run`")
    own = [each for each in answer["series"] if each["sensor"] == options.sensor]
    if options.quantity is not None:
        own = [each for each in own if each["quantity"] == options.quantity]
    asked = " ".join(filter(None, (options.sensor, options.quantity)))
    if not own:
        raise UsageError(f"the daemon at {client.url} knows no {asked!r}; check the spelling")
    if not any("accept" in each for each in own):
        raise UsageError(
            f"the daemon at {client.url} publishes no corrected readings, so nothing would apply "
            "the advice; set correct.publish, or adjust the sensor and say so with `monitor event`"
        )
    advised = [each for each in own if each["accept"]]
    if not advised:
        raise UsageError(f"{asked}: no advice is in force that is not accepted already")
    if len(advised) > 1:
        quantities = ", ".join(each["quantity"] for each in advised)
        raise UsageError(f"{asked}: has advice on {quantities}; name one: --quantity")
    return advised[0]
