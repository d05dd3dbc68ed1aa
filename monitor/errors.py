"""The errors that end a command, each with an exit code for its cause (sysexits.h).

Also: which page of the documentation helps with which mistake. Addresses are those of files in this
repository; ``tests/test_docs.py`` checks that each exists.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

USAGE: Final = 2
BAD_INPUT: Final = 65
UNAVAILABLE: Final = 69
CANNOT_CREATE: Final = 73
TRY_AGAIN: Final = 75
BAD_SETTINGS: Final = 78


class MonitorError(Exception):
    """An error whose message is meant for the person at the terminal: what, where, what to do."""

    exit_code: int = 1


class UsageError(MonitorError):
    """What was asked for cannot be done; the message says what to ask for instead."""

    exit_code = USAGE


class CannotWriteError(MonitorError):
    """A file or folder cannot be written; the message says which, and why."""

    exit_code = CANNOT_CREATE


def install_hint(extra: str) -> str:
    """Return how to add an optional part: without a package index, since none has this program."""
    return f"pip install '.[{extra}]' in the checkout, or pip install 'WHEEL[{extra}]'"


_FIELDS: Final = "docs/formats.md#paths-fields-times"
_UNCERTAINTY: Final = "docs/formats.md#uncertainty"
_UNITS: Final = "docs/formats.md#units"

SETTINGS: Final = "docs/operations.md#the-settings-cannot-be-used"
CONNECTION: Final = "docs/operations.md#no-connection-to-the-broker"
NOTHING_COMES: Final = "docs/operations.md#nothing-arrives"
TOPIC: Final = "docs/operations.md#no-source-reads-the-topic"
NO_PAIRS: Final = "docs/pairing.md#no-pairs"
ADDRESS: Final = "docs/operations.md#the-port-is-taken"
JOURNAL: Final = "docs/operations.md#the-journal-is-open-elsewhere"

# Those reasons for refusal (``monitor.decode.REASONS``) that the documentation explains.
REFUSALS: Final[Mapping[str, str]] = {
    "bad_payload": "docs/formats.md#what-becomes-of-a-message",
    "bad_field": _FIELDS,
    "missing_field": _FIELDS,
    "no_reading": "docs/formats.md#no-reading",
    "overload": "docs/formats.md#display",
    "retained": "docs/formats.md#retained-messages",
    "naive_time": _FIELDS,
    "future": "docs/operations.md#a-time-is-in-the-future",
    "past": _FIELDS,
    "missing_uncertainty": _UNCERTAINTY,
    "bad_uncertainty": _UNCERTAINTY,
    "inverted_interval": _UNCERTAINTY,
    "zero_width": _UNCERTAINTY,
    "bad_level": _UNCERTAINTY,
    "unit": _UNITS,
    "unknown_topic": TOPIC,
    "not_allowed": "docs/settings.md#series",
    "series_limit": "docs/settings.md#series",
    "new_series_limit": "docs/settings.md#series",
    "quality": _FIELDS,
    "maintenance": "docs/settings.md#maintenance",
    "no_advice": "docs/beyond.md#accepted-advice",
    "unknown_alias": "docs/formats.md#sparkplug",
    "oversize": "docs/settings.md#mqtt",
}
