"""``monitor reference``: publish references measured by hand or kept in a table."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from monitor.commands.options import (
    config_option,
    connected,
    connection_arguments,
    instant_of,
)
from monitor.commands.publishing import (
    native_topics,
    publish,
    refuse_rejected,
    refuse_unit,
)
from monitor.config import Settings, load
from monitor.config.core_plan import supplements_of
from monitor.core.formatting import count_of, instant
from monitor.core.model import Reference
from monitor.decode import REASONS, Rejected
from monitor.decode.checks import check_key, check_name, check_number, check_time, check_u
from monitor.errors import UsageError
from monitor.files.input_file import FileError
from monitor.files.layout import layout_arguments, layout_of, typed_number
from monitor.files.reference_table import (
    REFERENCE_FIELDS,
    ReferenceRow,
    TableLayout,
    read_references,
)
from monitor.simulate.playback import RawMessage, native_message

_BY_HAND = 3  # words: SUBJECT QUANTITY VALUE
_STDIN = "-"
_EPILOG = """\
A TABLE is CSV (separated by commas, semicolons or tabs, the header first) or JSON (an object, a
list of them, or one a line), also gzipped; - is standard input. --columns says which column, or
which path in JSON, holds what: subject, quantity, value, u, U (expanded, with k = 2 unless there is
a k), k, unit, time, key, id, rev. --subject, --quantity, --u, --unit, --key and --time apply
where it has none. Either the whole table is published or, if a row is wrong, nothing. Publishing a
table again changes nothing: known references are recognised. Recipes: docs/references.md.
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.epilog = _EPILOG
    config_option(parser)
    parser.add_argument(
        "what",
        nargs="+",
        metavar="SUBJECT QUANTITY VALUE | TABLE",
        help="what was measured (the sensor, unless the settings say otherwise), such as cart-03 "
        "mass 503,5; or a table of references",
    )
    parser.add_argument(
        "--u",
        metavar="U",
        help="its standard uncertainty, 0 for exact (default: negligible beside the sensor's)",
    )
    parser.add_argument("--unit", default="", help="its unit (default: that of the series)")
    parser.add_argument(
        "--key", default="", help="what it is paired by, such as an ear tag or sample"
    )
    parser.add_argument(
        "--time", metavar="TIME", help="when, ISO 8601 with a time zone (default: now)"
    )
    parser.add_argument("--dry-run", action="store_true", help="print the messages instead")
    table = parser.add_argument_group("options for a TABLE")
    layout_arguments(table, "such as value=Ergebnis,time=Probenahme")
    table.add_argument("--subject", metavar="NAME", help="the subject of all rows")
    table.add_argument("--quantity", metavar="NAME", help="the quantity of all rows")
    table.add_argument(
        "--records", default="", metavar="PATH", help="where in JSON the list is: data.values"
    )
    connection_arguments(parser)


def run(options: argparse.Namespace) -> int:
    """Publish references on the settings' native topic, and wait until the broker has them."""
    settings = connected(load(options.config), options)
    options.what = [each.strip() for each in options.what]
    if len(options.what) == 1:
        return _publish_table(settings, options)
    if len(options.what) != _BY_HAND:
        raise UsageError(
            f"{' '.join(options.what)}: write SUBJECT QUANTITY VALUE, such as cart-03 mass 503.5, "
            "or the name of one table"
        )
    return _publish_one(settings, options)


def _publish_one(settings: Settings, options: argparse.Namespace) -> int:
    subject, quantity, value = options.what
    now = time.time()
    try:
        reference = Reference(
            check_name("subject", subject),
            check_name("quantity", quantity),
            now if options.time is None else check_time(instant_of(options.time, "--time"), now),
            check_number("VALUE", _number("VALUE", value, options)),
            _stated_u(options),
            check_key(options.key),
        )
    except Rejected as error:
        raise UsageError(f"{REASONS[error.reason]} ({error.detail})") from error
    is_exact = options.u is not None and reference.u == 0.0
    ((_, topic, payload),) = _publish(
        settings,
        options.config,
        [ReferenceRow(reference, options.unit, is_exact)],
        dry_run=options.dry_run,
    )
    if options.dry_run:
        print(topic, payload.decode())
        return 0
    size = f"{reference.value:.12g} {options.unit}".strip()
    unstated = " (taken as exact; give --u to state its uncertainty)"
    if options.u is None and _has_default_u(settings):
        unstated = ", with the u of its certificate"
    stated = f" (u {reference.u:.12g})" if options.u is not None else unstated
    when = instant(reference.time, "seconds")
    print(
        f"{reference.subject} {reference.quantity} {size} at {when}{stated}; published on {topic}"
    )
    return 0


def _stated_u(options: argparse.Namespace) -> float:
    """Return the u that ``--u`` states, 0 without it."""
    u = 0.0 if options.u is None else _number("--u", options.u, options)
    return check_u("--u", u) if u else 0.0


def _has_default_u(settings: Settings) -> bool:
    """Return whether the source that reads native references has a u for those that state none."""
    topic = native_topics(settings).reference
    numbers = (at for each in supplements_of(settings) for at in each.default_u)
    return any(settings.sources[at].topic == topic for at in numbers)


def _publish_table(settings: Settings, options: argparse.Namespace) -> int:
    (name,) = options.what
    references, skipped = read_references(name, _read(name), _layout(options), time.time())
    if repeated := _repeated(references):
        print(
            f"warning: {repeated} of {len(references)} rows repeat the subject, quantity, time and "
            "key of an earlier row with another value, which they replace: is a column of "
            "the time, or of what tells them apart, left out?",
            file=sys.stderr,
        )
    messages = _publish(settings, options.config, references, dry_run=options.dry_run)
    if options.dry_run:
        for each in messages:
            print(each.topic, each.payload.decode())
    exact = sum(each.reference.u == 0.0 and not each.is_exact for each in references)
    also = [f"{count_of(skipped, 'row')} without a value left out"] if skipped else []
    known = "taken as exact (add a column u, or give --u, to state the uncertainty)"
    if _has_default_u(settings):
        known = "with the u of the certificate"
    also += [f"{exact} {known}"] if exact else []
    done = "to be published" if options.dry_run else "published, all acknowledged by the broker"
    print("; ".join([f"{count_of(len(references), 'reference')} {done}", *also]), file=sys.stderr)
    return 0


def _repeated(rows: Sequence[ReferenceRow]) -> int:
    """Return how many references differ from an earlier one in their value alone."""
    of = [each.reference for each in rows if not each.reference.identity]
    stated = {(each.subject, each.quantity, each.time, each.key, each.value) for each in of}
    return len(stated) - len({each[:-1] for each in stated})


def _publish(
    settings: Settings,
    config: str,
    reference_rows: Sequence[ReferenceRow],
    *,
    dry_run: bool = False,
) -> list[RawMessage]:
    """Publish references with their units, in their order; return the messages."""
    topics = native_topics(settings)
    messages = [
        RawMessage(each.time, *native_message(each, topics, unit, is_exact=is_exact))
        for each, unit, is_exact in reference_rows
    ]
    refuse_rejected(settings, config, messages)
    for quantity, stated in dict.fromkeys(
        (each.quantity, unit) for each, unit, _ in reference_rows
    ):
        refuse_unit(settings, config, quantity, stated)
    if not dry_run:
        publish(settings, config, messages)
    return messages


def _read(name: str) -> bytes:
    if name == _STDIN:
        return sys.stdin.buffer.read()
    try:
        return Path(name).read_bytes()
    except OSError as error:
        raise FileError(f"{name}: cannot be read: {error.strerror or error}") from error


def _layout(options: argparse.Namespace) -> TableLayout:
    constants = {
        name: stated
        for name in ("subject", "quantity", "u", "unit", "key", "time")
        if (stated := getattr(options, name))
    }
    return TableLayout(layout_of(options, REFERENCE_FIELDS), constants, options.records)


def _number(label: str, text: str, options: argparse.Namespace) -> float:
    """Return a number that a person typed: 21.5 or 21,5."""
    try:
        return typed_number(text, decimal_comma=options.decimal_comma)
    except ValueError as error:
        raise UsageError(f"{label} {error}") from error
