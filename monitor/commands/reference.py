"""``monitor reference``: a reference measured by hand, published as every reference is."""

from __future__ import annotations

import argparse
import time

from monitor.commands.event import instant_of
from monitor.config import load, resolve_secret
from monitor.core.formatting import instant
from monitor.core.model import Reference
from monitor.daemon.assembly import native_topics, publisher_of
from monitor.decode import REASONS, Rejected
from monitor.decode.checks import check_key, check_name, check_number, check_time, check_u
from monitor.errors import USAGE, MonitorError
from monitor.simulate.playback import native_message


class HandReferenceError(MonitorError):
    """The reference cannot be published; the message says why."""

    exit_code = USAGE


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("--config", required=True, metavar="FILE", help="settings file (YAML)")
    parser.add_argument(
        "subject", metavar="SUBJECT", help="what was measured: the sensor, unless settings differ"
    )
    parser.add_argument("quantity", metavar="QUANTITY", help="such as mass or pm25")
    parser.add_argument("value", metavar="VALUE", help="a number; a decimal comma is understood")
    parser.add_argument(
        "--u", metavar="U", help="its standard uncertainty (default: exact beside the sensor's)"
    )
    parser.add_argument("--unit", default="", help="its unit (default: that of the series)")
    parser.add_argument("--key", default="", help="what pairs it, such as an ear tag or a sample")
    parser.add_argument(
        "--time", metavar="TIME", help="when, ISO 8601 with a time zone (default: now)"
    )


def run(options: argparse.Namespace) -> int:
    """Publish the reference on the settings' native topic, and wait until the broker has it."""
    settings = load(options.config)
    now = time.time()
    try:
        reference = Reference(
            check_name("subject", options.subject),
            check_name("quantity", options.quantity),
            now if options.time is None else check_time(instant_of(options.time), now),
            check_number("VALUE", _number("VALUE", options.value)),
            0.0 if options.u is None else check_u("--u", _number("--u", options.u)),
            check_key(options.key),
        )
    except Rejected as error:
        raise HandReferenceError(f"{REASONS[error.reason]} ({error.detail})") from error
    topics = native_topics(settings)
    if not topics.reference:
        raise HandReferenceError(
            f"{options.config} has no native source of kind reference: add "
            "{topic: monitor/{subject}/{quantity}/reference, kind: reference} to sources"
        )
    topic, payload = native_message(reference, topics, options.unit)
    with publisher_of(settings, resolve_secret(settings, options.config)) as publisher:
        publisher.publish(topic, payload)
        publisher.flush()
    size = f"{reference.value:g} {options.unit}".strip()
    stated = (
        f" (u {reference.u:g})" if reference.u else ", taken as exact: --u states how sure it is"
    )
    when = instant(reference.time, "seconds")
    print(
        f"{reference.subject} {reference.quantity} {size} at {when}{stated}; published on {topic}"
    )
    return 0


def _number(what: str, text: str) -> float:
    """Return a number that a person typed: 21.5 or 21,5."""
    plain = text.replace(",", ".") if text.count(",") == 1 and "." not in text else text
    try:
        return float(plain)
    except ValueError as error:
        raise HandReferenceError(f"{what} {text!r}: is not a number; write 21.5 or 21,5") from error
