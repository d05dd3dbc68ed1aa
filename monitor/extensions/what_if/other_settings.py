"""The settings to try, and those that a journal's daemon ran with."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from monitor.config.document import Value, read_document
from monitor.config.loading import load, parse, shown_settings
from monitor.config.settings import Settings
from monitor.errors import UsageError

# What reaches no replay, and without its secrets may be incomplete.
_OUTSIDE: Final = ("mqtt", "sinks", "http", "log", "publish")


def settings_to_try(file: str, keys: Sequence[str]) -> Settings:
    """Return the settings in ``file`` with each "key.of.section=value"; raises SettingsError."""
    settings = load(file)
    if not keys:
        return settings
    values = read_document(Path(file).read_bytes()).values or {}
    for each in keys:
        _set(values, each)
    folder = Path(file).parent
    return parse(json.dumps(values).encode(), str(folder / f"{Path(file).name} with --settings"))


def _set(values: Value, assignment: str) -> None:
    """Set a key in the values of a settings file; raises UsageError."""
    key, equals, text = assignment.partition("=")
    *path, last = (int(step) if step.isdecimal() else step for step in key.strip().split("."))
    within: Any = values
    try:
        for step in path:
            within = within.setdefault(step, {}) if isinstance(within, dict) else within[step]
        within[last] = read_document(text.encode()).values
    except (IndexError, KeyError, TypeError) as error:
        raise UsageError(_misspelt(assignment)) from error
    if not equals or not key.strip():
        raise UsageError(_misspelt(assignment))


def _misspelt(assignment: str) -> str:
    example = "windows.pairs=200, or groups.0.alerts.tolerance=2 in a list"
    return f"--settings {assignment}: write KEY=VALUE, such as {example}"


def settings_of_note(note: bytes, file: str) -> Settings:
    """Return the settings that a daemon noted in its journal, as far as a replay needs them.

    Relative paths start from the folder of ``file``. Raises SettingsError.
    """
    values = {key: each for key, each in json.loads(note).items() if key not in _OUTSIDE}
    return parse(json.dumps(values).encode(), file)


def changed_settings(was: Settings, then: Settings) -> list[str]:
    """Return which settings differ, as "key: value -> value"; those that reach no replay do not."""
    return [*_changes("", *map(_inside, (was, then)))]


def _inside(settings: Settings) -> dict[str, Any]:
    shown = shown_settings(settings)
    return {key: each for key, each in shown.items() if key not in (*_OUTSIDE, "journal")}


def _changes(path: str, was: object, then: object) -> Iterator[str]:
    if isinstance(was, dict) and isinstance(then, dict):
        for key in {**was, **then}:
            below = f"{path}.{key}" if path else str(key)
            yield from _changes(below, was.get(key), then.get(key))
    elif was != then:
        yield f"{path}: {json.dumps(was)} -> {json.dumps(then)}"
