"""From a file to settings, or to all of its mistakes at once; the hash of settings."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable
from os import PathLike
from pathlib import Path
from typing import Any, Final, NamedTuple

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from monitor.alerts.sinks import SINKS
from monitor.config.document import (
    BYTES_MAX,
    Document,
    Place,
    Value,
    read_document,
)
from monitor.config.mistakes import SHOWN_MAX, Mistake, SettingsError, path_text
from monitor.config.settings import Settings
from monitor.config.sink_settings import secret_keys
from monitor.config.validation_text import sentence
from monitor.core.setting import Contradiction, KeyPath

_CREDENTIALS: Final = {"username", "username_env", "password_file", "password_env"}


def settings_hash(settings: Settings) -> str:
    """Return the SHA-256 (hex) of the settings as canonical JSON, without credentials.

    A key set to its default and a key left out give the same hash, except in groups and overrides,
    where a key left out inherits.
    """
    values = shown_settings(settings)
    canonical = json.dumps(values, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(canonical.encode()).hexdigest()


def shown_settings(settings: Settings) -> dict[str, Any]:
    """Return the settings as plain values, without the settings that name credentials."""
    values: dict[str, Any] = settings.model_dump(mode="json", exclude={"mqtt": _CREDENTIALS})
    for name, kind in SINKS.items():
        for key in (key for secret in kind.secrets for key in secret_keys(secret)):
            (values["sinks"][name] or {}).pop(key, None)
    for key in ("groups", "overrides"):
        values[key] = [
            each.model_dump(mode="json", exclude_unset=True) for each in getattr(settings, key)
        ]
    return values


class _Finding(NamedTuple):
    """A mistake before it is put into words: pydantic's error, or the words themselves."""

    place: Place
    path: KeyPath
    what: ErrorDetails | str


def load(path: str | PathLike[str], *, decoders: Collection[str] | None = None) -> Settings:
    """Return the settings in the file at ``path``; raises SettingsError with every mistake.

    ``decoders`` are the formats that a source may name; None allows any.
    """
    file = str(path)
    try:
        with Path(path).open("rb") as stream:
            raw = stream.read(BYTES_MAX + 1)
    except OSError as error:
        what = f"cannot be read: {error.strerror or error}"
        if isinstance(error, FileNotFoundError):
            what += "; `monitor init` writes one to start from"
        raise SettingsError([Mistake(file, 1, 1, path_text(()), what)]) from error
    return parse(raw, file, decoders=decoders)


def parse(raw: bytes, file: str, *, decoders: Collection[str] | None = None) -> Settings:
    """Return the settings that ``raw``, the content of ``file``, holds; raises SettingsError."""
    document = read_document(raw)
    findings = [_Finding(*flaw) for flaw in document.flaws]
    settings = None
    if document.complete:
        values = {} if document.values is None and not document.missing else document.values
        settings, found = _validated(values, document, decoders)
        findings += found
    if settings is None or findings:
        raise SettingsError(_mistakes(findings, file))
    return settings


def check(path: str | PathLike[str], *, decoders: Collection[str] | None = None) -> list[str]:
    """Return one line per mistake in the file at ``path``, ``file:line:column: path: what``."""
    try:
        load(path, decoders=decoders)
    except SettingsError as error:
        return error.lines()
    return []


def _validated(
    values: Value, document: Document, decoders: Collection[str] | None
) -> tuple[Settings | None, list[_Finding]]:
    context = {"decoders": decoders}
    try:
        return Settings.model_validate(values, context=context), []
    except ValidationError as error:
        errors = error.errors(include_url=False)
    found = [finding for each in errors for finding in _findings(each, document)]
    wrong = {str(each["loc"][0]) for each in errors if each["loc"]}
    if wrong and isinstance(values, dict):
        found += _between_sections(values, wrong, document)
    return None, [each for each in found if not _unreadable(each.path, document)]


def _between_sections(
    values: dict[str, Value], wrong: set[str], document: Document
) -> Iterable[_Finding]:
    """Return the contradictions between sections that are valid by themselves."""
    try:
        Settings.model_validate({key: each for key, each in values.items() if key not in wrong})
    except ValidationError as error:
        for each in error.errors(include_url=False):
            for contradiction in _contradictions(each):
                if not wrong & set(contradiction.needs):
                    path = contradiction.path
                    yield _Finding(document.place(path), path, contradiction.what)


def _findings(error: ErrorDetails, document: Document) -> Iterable[_Finding]:
    path = error["loc"]
    if error["type"] == "too_short" and error["input"]:
        return  # each entry is wrong, and reported by itself
    contradictions = _contradictions(error)
    for each in contradictions:
        compared: list[KeyPath] = [(section,) for section in each.needs] or [path]
        if not any(_unreadable(section, document) for section in compared):
            whole = (*path, *each.path)
            yield _Finding(document.place(whole), whole, each.what)
    if not contradictions:
        of_key = error["type"] == "extra_forbidden"
        yield _Finding(document.place(path, of_key=of_key), path, error)


def _contradictions(error: ErrorDetails) -> list[Contradiction]:
    return list(error.get("ctx", {}).get("found", []))


def _unreadable(path: KeyPath, document: Document) -> bool:
    """Whether the value at ``path``, or a part of it, could not be read and was reported."""
    return any(missing[: len(path)] == path for missing in document.missing)


def _mistakes(findings: list[_Finding], file: str) -> Iterable[Mistake]:
    """Put the first findings into words; that costs time, and every line may be wrong."""
    findings.sort(key=lambda each: each.place)
    for place, path, what in findings[:SHOWN_MAX]:
        text = what if isinstance(what, str) else sentence(what)
        yield Mistake(file, place.line, place.column, path_text(path), text)
    more = len(findings) - SHOWN_MAX
    if more > 0:
        place = findings[SHOWN_MAX].place
        yield Mistake(file, place.line, place.column, path_text(()), f"and {more} more mistakes")
