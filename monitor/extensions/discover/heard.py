"""Messages received from a broker, parsed: payloads as values, their leaves by path."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Final, NamedTuple

from monitor.decode.checks import Rejected
from monitor.decode.formats.mapped_json import parse
from monitor.decode.paths import below, in_text, number_and_unit, path_of, steps, to_number

_LEAVES_MAX: Final = 300
_PATH_CHARACTERS_MAX: Final = 200
_LISTED: Final = 10
_QUOTES: Final = frozenset("\"'")
# Keys of what `monitor` itself publishes: verdicts, alerts and corrected readings.
_VERDICT: Final = frozenset(("sensor", "quantity", "state", "problem", "sentence", "advice"))
_ALERT: Final = frozenset(("incident", "sensor", "quantity", "alert", "severity", "sentence"))
_CORRECTED: Final = frozenset(("time", "value", "compared"))
# Beside those of a corrected reading.
_BESIDE: Final = frozenset(("u", "lower", "upper", "p", "unit", "quality"))


class Heard(NamedTuple):
    """One message; ``time`` is that of its arrival, s since 1970 UTC."""

    topic: str
    payload: bytes
    time: float
    retained: bool = False


class Said(NamedTuple):
    """A message whose payload is JSON: an object, also in a text, or a number alone."""

    heard: Heard
    content: object
    leaves: Mapping[str, object]


def said(heard: Heard) -> Said | None:
    """Return the content of a message, None if it is neither an object nor a number."""
    try:
        content = parse(heard.payload)
    except Rejected:
        return None
    inside = in_text(content)
    if isinstance(inside, dict):
        return Said(heard, content, dict(_leaves(inside)))
    return Said(heard, content, {"$": content}) if number_of(content) is not None else None


def _leaves(content: dict[str, object], path: str = "") -> Iterator[tuple[str, object]]:
    """Yield the leaves of an object by path, without lists, whose entries have no names."""
    for count, (name, value) in enumerate(content.items()):
        if count >= _LEAVES_MAX or not _is_step(name):
            continue
        at = below(path, name)
        if len(at) > _PATH_CHARACTERS_MAX:
            continue
        inside = in_text(value)
        if isinstance(inside, dict):
            yield from _leaves(inside, at)
        elif not isinstance(inside, list) and value is not None:
            yield at, value


def _is_step(name: str) -> bool:
    """Return whether a path in the settings can name it."""
    return name.isprintable() and not set(name) >= _QUOTES and name not in ("", "$", "@")


def number_of(value: object) -> float | None:
    """Return a number, also from a text, which may name its unit; None for anything else."""
    plain = number_and_unit(value)[0] if isinstance(value, str) else value
    try:
        return to_number("it", plain, texts=True)
    except Rejected:
        return None


def unit_of(value: object) -> str:
    """Return the unit that a text names behind its number, "" for none."""
    return number_and_unit(value)[1] if isinstance(value, str) else ""


def name_at(path: str) -> str:
    """Return the last name of a path."""
    return str(steps(path)[-1]) if path else ""


def above(path: str) -> str:
    """Return the path of the object that contains a path, "" for the payload."""
    return path_of(steps(path)[:-1]) if path else ""


def first_of(names: Collection[str], most: int = _LISTED) -> str:
    """Return names in order, the first of them if there are many."""
    return ", ".join(sorted(names)[:most]) + ", ..." * (len(names) > most)


def is_own(whole: Said | None) -> bool:
    """Return whether ``monitor`` published a message, by its content: all its topics can be set."""
    if whole is None or not isinstance(whole.content, dict):
        return False
    content = whole.content
    keys = content.keys()
    if keys >= _VERDICT or keys >= _ALERT:
        return True
    if keys >= _CORRECTED:
        return isinstance(content["compared"], bool) and keys <= _CORRECTED | _BESIDE
    origin, device = content.get("origin"), content.get("device")
    return (
        isinstance(origin, dict)
        and isinstance(device, dict)
        and origin.get("name") == device.get("manufacturer") == "monitor"
    )
