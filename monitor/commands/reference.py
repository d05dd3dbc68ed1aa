"""``monitor reference``: publish references measured by hand or kept in a table."""

from __future__ import annotations

import argparse
import math
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from monitor.commands.options import config_option, connected, connection_arguments, instant_of
from monitor.commands.publishing import (
    native_topics,
    publish,
    refuse_rejected,
    refuse_unit,
    unknown_names,
)
from monitor.commands.reference_recipe import recipe_arguments, save_recipe, take_recipe
from monitor.commands.watching import watch
from monitor.config import Settings, load
from monitor.config.core_plan import rules_of, supplements_of
from monitor.core.formatting import count_of, instant
from monitor.core.model import Reference
from monitor.decode import REASONS, Rejected
from monitor.decode.checks import (
    SPAN_SECONDS_MAX,
    check_key,
    check_name,
    check_number,
    check_time,
    check_u,
)
from monitor.errors import UsageError
from monitor.files.input_file import FileError
from monitor.files.layout import layout_arguments, layout_of, refuse_layout, typed_number
from monitor.files.pair_fields import listed_parts, unquoted
from monitor.files.reference_table import (
    REFERENCE_FIELDS,
    STATUSES,
    ReferenceRow,
    ReferenceRows,
    TableLayout,
    is_revision,
    read_references,
    revision_of,
)
from monitor.files.sent_rows import SentRows
from monitor.simulate.playback import RawMessage, native_message

_BY_HAND = 3  # words: SUBJECT QUANTITY VALUE
_STDIN = "-"
_CONSTANTS: Final = ("subject", "quantity", "u", "unit", "key", "time", "status", "rev")
_OF_TABLES: Final = ("subject", "quantity", "records", "duration", "stamp", "status_words")
_MEAN: Final = "mean_over_reference_interval"
_DURATION: Final = re.compile(r"(\d+\.?\d*)\s*(s|min|h|hr|d)s?", re.IGNORECASE | re.ASCII)
_SECONDS_OF: Final = {"s": 1.0, "min": 60.0, "h": 3600.0, "hr": 3600.0, "d": 86_400.0}
_EPILOG = """\
A TABLE is CSV (separated by commas, semicolons or tabs), JSON (an object, a list of them, or one a
line) or Parquet, also gzipped; - is standard input. --columns says which column, by its name, its
number or in JSON its path, holds what: subject, quantity, value, u, U (expanded, with k = 2 unless
there is a k), k, unit, time, start and end, key, id, rev, status, reference_id. --subject,
--quantity, --u, --unit, --key, --time, --status and --rev apply where it has none. Either the whole
table is published or, if a row is wrong, nothing. Publishing a table again changes nothing: known
references are recognised. Recipes: docs/references.md.
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.epilog = _EPILOG
    config_option(parser, required=False)
    parser.add_argument(
        "what",
        nargs="*",
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
    table.add_argument(
        "--duration",
        default="",
        metavar="LENGTH",
        help="values are means over this, such as 1h or 15min; needs --stamp",
    )
    table.add_argument(
        "--stamp",
        choices=("start", "middle", "end"),
        help="what of that interval the time of a row is",
    )
    parser.add_argument(
        "--status",
        metavar="STATUS",
        help="prelim, final or void (which withdraws it); of a table that of all rows",
    )
    table.add_argument(
        "--status-words",
        default="",
        metavar="WORD=STATUS,...",
        help="what the words in the column of the status mean, such as P=prelim,R=final,V=void",
    )
    parser.add_argument(
        "--rev",
        metavar="N",
        help="its revision; the highest of a reference counts, so a corrected value needs a higher "
        "one; of a table that of all rows",
    )
    recipe_arguments(parser)
    connection_arguments(parser)


def run(options: argparse.Namespace) -> int:
    """Publish references on the settings' native topic, and wait until the broker has them."""
    if options.recipe:
        take_recipe(options)
    if not options.config:
        raise UsageError("give the settings file as --config FILE, or a --recipe that names it")
    settings = connected(load(options.config), options)
    if options.save_recipe:
        _layout(options)  # a recipe that cannot be meant is not written
        save_recipe(options)
        options.recipe = options.save_recipe
    options.what = [each.strip() for each in options.what]
    if options.watch:
        return _watch(settings, options)
    if len(options.what) == 1:
        return _publish_table(settings, options)
    if not options.what and options.save_recipe:
        return 0
    if len(options.what) != _BY_HAND:
        raise UsageError(
            f"{' '.join(options.what)}: write SUBJECT QUANTITY VALUE, such as cart-03 mass 503.5, "
            "or the name of one table"
        )
    return _publish_one(settings, options)


def _publish_one(settings: Settings, options: argparse.Namespace) -> int:
    subject, quantity, value = options.what
    if not options.recipe:
        refuse_layout(options, "is for a TABLE, not for SUBJECT QUANTITY VALUE", _OF_TABLES)
    now, (revision, is_void) = time.time(), _revision(options)
    try:
        reference = Reference(
            check_name("subject", subject),
            check_name("quantity", quantity),
            now if options.time is None else check_time(instant_of(options.time, "--time"), now),
            check_number("VALUE", _number("VALUE", value, options)),
            _stated_u(options),
            check_key(options.key),
            revision=revision,
        )
    except Rejected as error:
        raise UsageError(f"{REASONS[error.reason]} ({error.detail})") from error
    if is_void:
        reference = replace(reference, void=True, value=math.nan, u=0.0)
    is_exact = options.u is not None and reference.u == 0.0 and not is_void
    messages = _messages(settings, options, [ReferenceRow(reference, options.unit, is_exact)])
    ((_, topic, payload),) = messages
    if options.dry_run:
        print(topic, payload.decode())
        return 0
    publish(settings, options.config, messages)
    sys.stderr.write(_unknown(settings, [ReferenceRow(reference, options.unit)]))
    size = f"{reference.value:.12g} {options.unit}".strip()
    unstated = " (taken as exact; give --u to state its uncertainty)"
    if options.u is None and _has_default_u(settings):
        unstated = ", with the u of its certificate"
    stated = f" (u {reference.u:.12g})" if options.u is not None else unstated
    sentence = f"the reference of {subject} {quantity} is withdrawn"
    if not is_void:
        sentence = f"{subject} {quantity} {size}"
    when = instant(reference.time, "seconds")
    print(f"{sentence} at {when}{'' if is_void else stated}; published on {topic}")
    return 0


def _revision(options: argparse.Namespace) -> tuple[int, bool]:
    """Return the revision that ``--rev`` and ``--status`` state, and whether it is a void."""
    rev, status = options.rev or "0", (options.status or STATUSES[0]).casefold()
    if status not in STATUSES:
        raise UsageError(f"--status {options.status}: write {', '.join(STATUSES)}")
    if not is_revision(rev):
        raise UsageError(f"--rev {rev}: write a whole number from 0")
    return revision_of(int(rev), status), status == STATUSES[-1]


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
    with ExitStack() as stack:
        log = stack.enter_context(SentRows(_log_of(options))) if options.recipe else None
        path = stack.enter_context(_as_file(name))
        _send(settings, options, path, log, name)
    return 0


def _watch(settings: Settings, options: argparse.Namespace) -> int:
    """Publish the rows of a folder's tables that were not sent before, until a signal ends it."""
    if not options.recipe or options.what or options.dry_run:
        raise UsageError(
            "--watch FOLDER needs --recipe FILE, beside which it keeps what was sent, and takes no "
            "table; --save-recipe writes the recipe"
        )
    _layout(options)
    own = {Path(options.recipe).resolve(), _log_of(options).resolve()}
    with SentRows(_log_of(options)) as log:
        watch(Path(options.watch), lambda path: _send(settings, options, path, log), own)
    return 0


def _log_of(options: argparse.Namespace) -> Path:
    """Return the path of the log of what was sent, beside the recipe."""
    return Path(f"{options.recipe}.sent")


def _send(
    settings: Settings,
    options: argparse.Namespace,
    path: Path,
    log: SentRows | None,
    name: str = "",
) -> bool:
    """Publish the references of a table; by a log only those that were not sent before.

    A table that is asked for has a ``name`` and is sent as a whole. Return whether it is done.
    """
    content = _content(path)
    if log is not None and log.has_file(path.name, content) and not name:
        return True
    table = read_references(path, _layout(options), time.time())
    due = [] if log is None else log.due(table.references, again=bool(name))
    rows = table.references if log is None else [each.row for each in due]
    is_news = bool(rows or name or table.is_complete)
    for note in (*table.notes, *_warnings(settings, table)) if is_news else ():
        sys.stderr.write(f"{note.replace(str(path), name or str(path))}\n")
    messages = _messages(settings, options, rows)
    if options.dry_run:
        for each in messages:
            print(each.topic, each.payload.decode())
    elif log is None:
        publish(settings, options.config, messages)
    else:
        log.begin(due)
        if messages:
            publish(settings, options.config, messages)
        log.end(path.name if table.is_complete else "", content)
    if is_news:
        place = "" if name else f"{path}: "
        sentence = _summary(settings, options, table, rows)
        sys.stderr.write(f"{place}{sentence}\n{_unknown(settings, rows)}")
    return table.is_complete


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise FileError(f"{path}: cannot be read: {error.strerror or error}") from error


def _summary(
    settings: Settings,
    options: argparse.Namespace,
    table: ReferenceRows,
    rows: Sequence[ReferenceRow],
) -> str:
    also = [f"{count_of(count, 'row')} {why} left out" for why, count in table.left_out.items()]
    exact = sum(not (row.reference.u or row.is_exact or row.reference.void) for row in rows)
    known = "taken as exact (add a column u, or give --u, to state the uncertainty)"
    if _has_default_u(settings):
        known = "with the u of the certificate"
    also += [f"{exact} {known}"] if exact else []
    if options.watch:
        also += [f"{len(table.references) - len(rows)} not sent again"]
    done = "to be published" if options.dry_run else "published, all acknowledged by the broker"
    return "; ".join([f"{count_of(len(rows), 'reference')} {done}", *also])


def _warnings(settings: Settings, table: ReferenceRows) -> Iterator[str]:
    """Yield what is doubtful in a table before anything of it is published."""
    if repeated := _repeated(table.references):
        yield (
            f"warning: {repeated} of {len(table.references)} rows repeat the subject, quantity, "
            "time and key of an earlier row with another value, and one of them counts, not "
            "always the later: is a column of the time, or of what tells them apart, left out? "
            "A corrected value needs a higher rev"
        )
    of_means = (row.reference for row in table.references if not math.isnan(row.reference.start))
    series = dict.fromkeys((each.subject, each.quantity) for each in of_means)
    modes = {rules_of(settings, *each).pairing.mode for each in series}
    if modes - {_MEAN}:
        yield (
            f"warning: the settings pair by the mode {min(modes - {_MEAN})}, so the values meet "
            f"single readings, not their mean over the interval; see pairing.mode: {_MEAN}"
        )


def _unknown(settings: Settings, rows: Sequence[ReferenceRow]) -> str:
    """Return warnings of subjects that should be sensors and are none."""
    kinds = {source.kind for source in settings.sources}
    if "subject" not in settings.pairing.match_on or "collocation" in kinds:
        return ""
    stations = {area.subject for area in settings.areas}
    named = dict.fromkeys((row.reference.subject, row.reference.quantity) for row in rows)
    return unknown_names(settings, [each for each in named if each[0] not in stations])


def _repeated(rows: Sequence[ReferenceRow]) -> int:
    """Return how many references differ from an earlier one in their value alone."""
    of = [each.reference for each in rows if not each.reference.identity]
    stated = {(each.subject, each.quantity, each.time, each.key, each.value) for each in of}
    return len(stated) - len({each[:-1] for each in stated})


def _messages(
    settings: Settings, options: argparse.Namespace, rows: Sequence[ReferenceRow]
) -> list[RawMessage]:
    """Return references as messages, in their order; raises UsageError for what is rejected."""
    topics = native_topics(settings)
    messages = [
        RawMessage(each.time, *native_message(each, topics, unit, is_exact=is_exact))
        for each, unit, is_exact in rows
    ]
    refuse_rejected(settings, options.config, messages)
    for quantity, stated in dict.fromkeys((each.quantity, unit) for each, unit, _ in rows):
        refuse_unit(settings, options.config, quantity, stated)
    return messages


@contextmanager
def _as_file(name: str) -> Iterator[Path]:
    """Give the path of a table; standard input becomes a file, which mistakes do not name."""
    if name != _STDIN:
        yield Path(name)
        return
    with tempfile.NamedTemporaryFile() as file:
        shutil.copyfileobj(sys.stdin.buffer, file)
        file.flush()
        try:
            yield Path(file.name)
        except FileError as error:
            raise FileError(*(each.replace(file.name, _STDIN) for each in error.mistakes)) from None


def _layout(options: argparse.Namespace) -> TableLayout:
    constants = {name: stated for name in _CONSTANTS if (stated := getattr(options, name))}
    words = _status_words(options.status_words)
    if options.status and options.status.casefold() not in {*STATUSES, *words}:
        raise UsageError(f"--status {options.status}: write {', '.join(STATUSES)}")
    if bool(options.duration) != bool(options.stamp):
        raise UsageError(
            "--duration and --stamp belong together: --duration 1h --stamp start for means over "
            "the hour that begins at the time of the row, --stamp end if it ends there"
        )
    written = layout_of(options, REFERENCE_FIELDS)
    length = _length(options.duration) if options.duration else 0.0
    return TableLayout(written, constants, options.records, length, options.stamp or "", words)


def _length(text: str) -> float:
    """Return a duration such as 1h or 15min in seconds; raises UsageError."""
    match = _DURATION.fullmatch(text.strip())
    seconds = float(match[1]) * _SECONDS_OF[match[2].lower()] if match else 0.0
    if not 0.0 < seconds <= SPAN_SECONDS_MAX:
        raise UsageError(f"--duration {text}: write a length such as 15min, 1h or 1d")
    return seconds


def _status_words(text: str) -> dict[str, str]:
    """Return the status by the word for it in small letters; raises UsageError."""
    words = {}
    for part in listed_parts(text):
        word, _, status = part.rpartition("=")
        if not word or status.strip().lower() not in STATUSES:
            raise UsageError(
                f"--status-words {part}: write WORD=STATUS, where STATUS is one of "
                f"{', '.join(STATUSES)}"
            )
        words[unquoted(word.strip()).casefold()] = status.strip().lower()
    return words


def _number(label: str, text: str, options: argparse.Namespace) -> float:
    """Return a number that a person typed: 21.5 or 21,5."""
    try:
        return typed_number(text, decimal_comma=options.decimal_comma)
    except ValueError as error:
        raise UsageError(f"{label} {error}") from error
